"""The search for settings: what it tries, what it takes, and what is left if it is stopped. FakeAiperf measures."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.bench.test_bench import PROMPTS, order, rig
from tests.tui.values import LLAMA
from wizard.advise.advice import Constraints
from wizard.advise.calibration import NOTHING
from wizard.advise.ranking import advise
from wizard.bench import comparison, tune
from wizard.bench.bench import Outlook, Subject
from wizard.bench.comparison import Comparison
from wizard.bench.folder import Folder
from wizard.bench.load import Load, ServiceLevel
from wizard.bench.order import Wanted
from wizard.bench.settings import Setting, Variants, setting_of
from wizard.bench.turns import Turns
from wizard.kernel.errors import ServerError, UsageError
from wizard.kernel.paths import Workspace
from wizard.kernel.values import from_json
from wizard.plan.plan import Plan
from wizard.plan.server_plan import replan
from wizard.probe.shorthand import host as described
from wizard.run.events import Event

HOST = described("1xH100")
TTFT_MS = 10.0
"""About that of the recorded requests, which a server with a single stream is measured to have."""


class FakeTurns(Turns):
    """In place of servers: it remembers which plans were started; those with the cache ``fails`` do not start."""

    def __init__(self, workspace: Workspace, fails: str = "") -> None:
        super().__init__(workspace)
        self.started: list[Plan] = []
        self.ended = False
        self.fails = fails

    async def start(self, plan: Plan) -> AsyncGenerator[Event, None]:
        self.serving = plan
        self.started.append(plan)
        if plan.choice.kv_cache_dtype == self.fails:
            raise ServerError("TW-S03", "it does not start", "Look at its log.")
        for event in ():
            yield event

    async def end(self) -> None:
        self.ended = True


def own_plan(workspace: Workspace) -> Plan:
    choice = advise(HOST, LLAMA, Constraints(users=4, max_len=2048, stack="vllm", quantization="none")).choices[0]
    return replan(HOST, LLAMA, choice, workspace, name="llama", on_purpose=True)


def search_in(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    full: Callable[[Plan], float],
    *,
    ttft: float | None,
    agree: bool = True,
) -> tuple[tune.Search, FakeTurns]:
    """A search whose server is ``full`` with so many streams: then each is twice as slow."""
    workspace = Workspace(folder / "workspace")
    turns, variants = FakeTurns(workspace), Variants(HOST, own_plan(workspace), workspace, NOTHING)

    def subject(plan: Plan, where: Path) -> Subject:
        return Subject(replace(order(), level=ServiceLevel(ttft)), PROMPTS, Folder(where))

    def serve(subject: Subject, plan: Plan) -> None:
        monkeypatch.setenv("FAKE_AIPERF_FULL", str(full(plan)))
        subject.rig = rig()
        subject.begin()

    async def agreed(outlook: Outlook) -> Load | None:
        return outlook.shorter if agree else None

    return tune.Search(variants, subject, serve, turns, folder / "out", agreed, Load((), requests=96, warmup=0)), turns


async def searched(search: tune.Search, most: int) -> Comparison:
    result = None
    async with aclosing(tune.tune(search, most, "again")) as items:
        async for item in items:
            result = item if isinstance(item, Comparison) else result
    assert result is not None
    return result


def base_ttft() -> float:
    from tests.bench.fake_aiperf import GOOD

    return float(GOOD["metrics"]["time_to_first_token"]["value"])


async def test_the_largest_batch_that_meets_the_level_is_found_with_one_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1 + N/8 times as slow with N streams: a limit of 2.6 times allows 12, not 16."""
    search, turns = search_in(tmp_path, monkeypatch, lambda plan: 8.0, ttft=2.6 * base_ttft())
    result = await searched(search, 64)
    assert result.chosen is not None
    assert search.best
    assert search.best.setting == replace(setting_of(search.variants.plan.choice), batch=12)
    assert [plan.choice.max_batch_size for plan in turns.started][:1] == [64]
    assert [each.point.concurrency for each in result.reports[0].points] == [1, 2, 4, 8, 16, 12]
    caches = [plan.choice.kv_cache_dtype for plan in turns.started]
    assert caches == ["auto", "fp8", "auto", "auto", "auto"], (
        "the batch, a cache, larger and smaller steps, confirmation"
    )
    last = result.reports[result.chosen].points[-1]
    assert (last.point.concurrency, len(last.runs)) == (12, 3)
    written = from_json(Plan, (search.folder / "plan.json").read_bytes(), where="plan.json")
    assert written.choice.max_batch_size == 12
    assert written.name == "llama"
    assert turns.ended
    assert comparison.read(search.folder) == result


async def test_a_cache_and_steps_that_are_faster_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(plan: Plan) -> float:
        own = own_plan(Workspace(tmp_path)).choice.step_tokens
        return (
            8.0 * (2 if plan.choice.kv_cache_dtype == "fp8" else 1) * (plan.choice.step_tokens == 2 * (own or 0) or 0.5)
        )

    search, _ = search_in(tmp_path, monkeypatch, full, ttft=3.5 * base_ttft())
    result = await searched(search, 8)
    own = search.variants.plan.choice.step_tokens
    assert search.best
    assert search.best.setting == Setting(8, "fp8", 2 * (own or 0))
    assert result.chosen == len(result.reports) - 1


async def test_settings_that_do_not_start_are_passed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    search, turns = search_in(tmp_path, monkeypatch, lambda plan: 8.0, ttft=3 * base_ttft())
    turns.fails = "fp8"
    result = await searched(search, 4)
    assert "fp8" in [plan.choice.kv_cache_dtype for plan in turns.started]
    assert result.chosen is not None
    assert search.best
    assert search.best.setting.cache == "auto"
    turns.fails, turns.serving = "auto", None
    with pytest.raises(ServerError):
        await searched(replace(search, folder=tmp_path / "second", subjects=[], plans={}, best=None), 4)


async def test_a_level_that_is_missed_at_the_end_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(plan: Plan) -> float:
        return 8.0 if plan.choice.max_batch_size == 16 else 0.5

    search, _ = search_in(tmp_path, monkeypatch, full, ttft=2.2 * base_ttft())
    result = await searched(search, 16)
    assert [note.code for note in result.warnings] == ["tune-missed"]
    assert result.chosen is not None


async def test_a_level_that_cannot_be_met_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    search, turns = search_in(tmp_path, monkeypatch, lambda plan: 8.0, ttft=0.1 * base_ttft())
    with pytest.raises(UsageError) as caught:
        await searched(search, 8)
    assert caught.value.code == "TW-C87"
    assert "0% of the requests keep it" in caught.value.what
    assert turns.ended
    kept = comparison.read(search.folder)
    assert kept is not None
    assert kept.chosen is None
    assert not (search.folder / "plan.json").exists()


async def test_what_was_measured_is_kept_when_it_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    search, turns = search_in(tmp_path, monkeypatch, lambda plan: 8.0, ttft=9 * base_ttft())
    async with aclosing(tune.tune(search, 64, "again")) as items:
        async for item in items:
            if not isinstance(item, Comparison) and search.runs == 3:
                break
    assert turns.ended
    kept = comparison.read(search.folder)
    assert kept is not None
    assert [each.point.concurrency for each in kept.reports[0].points][:2] == [1, 2]
    written = from_json(Plan, (search.folder / "plan.json").read_bytes(), where="plan.json")
    assert written.choice.max_batch_size == 2


@pytest.mark.parametrize(("agree", "starts"), [(True, 2), (False, 1)])
async def test_a_long_search_offers_a_shorter_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agree: bool, starts: int
) -> None:
    monkeypatch.setattr(tune, "LONG_S", 0.0)
    search, turns = search_in(tmp_path, monkeypatch, lambda plan: 8.0, ttft=2 * base_ttft(), agree=agree)
    result = await searched(search, 16)
    assert len(turns.started) == starts
    assert (result.chosen is not None) is agree


def test_settings_that_this_machine_cannot_serve_have_no_plan(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    variants = Variants(HOST, own_plan(workspace), workspace, NOTHING)
    assert variants.plan_of(Setting(100_000, "auto", 8192)) is None
    assert variants.plan_of(Setting(8, "int3", 8192)) is None
    largest = variants.largest(100_000)
    assert largest is not None
    assert 64 <= largest.batch < 100_000
    made = variants.plan_of(Setting(8, "fp8", 1024))
    assert made is not None
    assert "1024" in str(made.steps), "it is in the repository's arguments"


@pytest.mark.parametrize(
    ("wanted", "code"), [(Wanted(), "TW-C86"), (Wanted(rates=(1.0,), ttft=1.0), "TW-C67"), (Wanted(ttft=1.0), None)]
)
def test_a_search_needs_a_service_level(wanted: Wanted, code: str | None) -> None:
    if code is None:
        tune.check(wanted)
        return
    with pytest.raises(UsageError) as caught:
        tune.check(wanted)
    assert caught.value.code == code
