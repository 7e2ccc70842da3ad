"""Comparisons, searches and quality in the notebook interface, as a script would use them."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

from tests.bench.fake_bench import BENCHMARK, COMPARISON, QUALITY, SUBJECT
from tests.prompts.fake_journey import ENDPOINT, FakeJourney
from tests.values import GGUF
from wizard import Journey, journey
from wizard.bench.folder import Folder
from wizard.bench.order import Wanted
from wizard.bench.quality.tasks import OWN, Evaluation
from wizard.kernel.errors import UsageError
from wizard.model.facts import ModelFacts
from wizard.notebook.ballot import Ballot
from wizard.notebook.values import Benchmark


@pytest.fixture
def fake(tmp_path: Path) -> FakeJourney:
    return FakeJourney(tmp_path / "notes", running="demo")


@pytest.fixture
def session(fake: FakeJourney, tmp_path: Path) -> Journey:
    return Journey("demo", workspace=tmp_path / "ws", journey=fake)


def test_a_comparison_takes_journeys_names_and_addresses(
    session: Journey, fake: FakeJourney, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    single = Journey("demo", name="one", workspace=tmp_path / "ws", journey=fake)
    made = session.compare(
        single, "http://127.0.0.1:1/v1", concurrency=(1, 4), per_gpu_hour=2.5, folder=tmp_path / "out"
    )
    assert fake.measured == (("demo", "one", "http://127.0.0.1:1/v1"), Wanted(concurrency=(1, 4)), 2.5)
    assert made.command == "journey.compare('one', 'http://127.0.0.1:1/v1', concurrency=(1, 4), per_gpu_hour=2.5)"
    assert "[1/1] 4 concurrent requests, run 1 of 1 … done in 8.0 s\n" in capsys.readouterr().out
    assert journey.compared(tmp_path / "out") == made
    with pytest.raises(UsageError, match="Did you mean quick"):
        session.compare(single, quik=True)


def test_after_a_search_the_plan_has_the_best_settings(session: Journey, fake: FakeJourney) -> None:
    made = session.tune(ttft=500, quick=True)
    assert fake.measured == ("demo", Wanted(quick=True, ttft=500))
    assert made.order == "search"
    assert session._state.plan is not None, "which `up` runs"
    assert session._state.plan.choice.max_batch_size == 16


def test_quality_is_compared_with_a_server_or_with_an_earlier_report(
    session: Journey, fake: FakeJourney, tmp_path: Path
) -> None:
    made = session.quality(limit=2)
    assert fake.measured == (("demo",), Evaluation(OWN, limit=2), None)
    assert made.command == "journey.quality(limit=2)"
    other = Journey("demo", name="other", workspace=tmp_path / "ws", journey=fake)
    for reference in (other, "other"):
        session.quality(reference, task_path=tmp_path)
        assert fake.measured == (("demo", "other"), Evaluation(OWN, str(tmp_path)), None)
    session.quality(folder=tmp_path / "out")
    session.quality(tmp_path / "out")
    assert fake.measured == (("demo",), Evaluation(), SUBJECT)
    with pytest.raises(UsageError, match="Did you mean limit"):
        session.quality(limt=3)


@pytest.mark.parametrize(
    ("method", "options", "why"),
    [
        ("bench", {"concurrency": 4}, "concurrency: must be a list, not 4"),
        ("compare", {"seconds": "ten"}, "seconds: must be a number, not 'ten'"),
        ("tune", {"ttft": "fast"}, "ttft: must be a number, not 'fast'"),
        ("quality", {"tasks": "gsm8k"}, "tasks: must be a list, not 'gsm8k'"),
    ],
)
def test_an_invalid_option_is_refused(session: Journey, method: str, options: dict[str, object], why: str) -> None:
    with pytest.raises(UsageError) as raised:
        getattr(session, method)(**options)
    assert (raised.value.code, raised.value.what) == ("TW-K01", f"{method}() is invalid: {why}")


def test_a_report_without_scores_is_no_reference(session: Journey, tmp_path: Path) -> None:
    Folder(tmp_path).keep(replace(QUALITY, subjects=()))
    with pytest.raises(UsageError, match="TW-C98"):
        session.quality(tmp_path)


def test_perplexity_is_of_the_models_file(
    session: Journey, fake: FakeJourney, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (program := tmp_path / "llama-perplexity").touch(mode=0o755)
    with pytest.raises(UsageError, match="perplexity needs a GGUF file on this machine, and demo is not one") as raised:
        session.perplexity()
    assert raised.value.code == "TW-N20"
    (path := tmp_path / "small.gguf").touch()

    def model(ref: str, *, offline: bool = False) -> ModelFacts:
        return replace(GGUF, location=str(path))

    monkeypatch.setattr(fake, "model", model)
    session.model()
    session.perplexity("full.gguf", program=program)
    (files,) = fake.measured
    assert (files.file, files.reference, files.program) == (path, Path("full.gguf"), str(program))
    session.perplexity(session, program=program)
    assert fake.measured[0].reference == path


def test_a_vote_shows_pairs_without_names_and_then_the_result(
    session: Journey, fake: FakeJourney, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="both are the same server"):
        session.vote("demo")
    other = replace(ENDPOINT, name="other", model="other")
    monkeypatch.setattr(fake, "endpoint", lambda workspace, name=None: other if name == "other" else ENDPOINT)
    ballot = session.vote("other", count=3, folder=tmp_path / "out", seed=1)
    assert isinstance(ballot, Ballot)
    assert "Prompt 2 of 3: " in repr(ballot), "the pair of equal answers is a tie"
    first, second = ballot.answers
    assert {first.split(":")[0], second.split(":")[0]} == {"<b>first</b>", "second"}
    assert f"Answer 1\n\n{first}\n\nAnswer 2\n\n{second}" in repr(ballot)
    html = ballot._repr_html_()
    assert "<b>first" not in html
    assert "&lt;b&gt;first" in html
    assert not {"demo", "other"} & set(html.replace(">", " ").split()), "no names"
    with pytest.raises(UsageError, match="there is no answer 3") as raised:
        ballot.choose(3)
    assert raised.value.code == "TW-N21"
    ballot.choose(1 if "second" in first else 2)
    again = Ballot(tmp_path / "out")
    assert (again.prompt, again.report.votes) == (ballot.prompt, ballot.report.votes), "each vote is on disk"
    assert "demo was better 0 times, other 1 times; 2 ties." in repr(again.choose(0))
    assert "Votes" in again._repr_html_()
    with pytest.raises(UsageError, match="all pairs have a vote"):
        again.choose(1)


def test_a_folder_without_answers_has_no_vote(tmp_path: Path) -> None:
    for report in (None, QUALITY):
        if report:
            Folder(tmp_path).keep(report)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="there are no answers to vote on") as raised:
            Ballot(str(tmp_path))
        assert raised.value.code == "TW-N22"


def test_every_kind_of_report_is_read_and_shown(session: Journey, tmp_path: Path) -> None:
    for number, report in enumerate((BENCHMARK, COMPARISON, QUALITY)):
        Folder(tmp_path / str(number)).make()
        Folder(tmp_path / str(number)).keep(report)  # type: ignore[arg-type]
        shown = Benchmark.read(tmp_path / str(number))
        assert shown.report == report
        assert "<figure" in shown._repr_html_()
        title = str(shown).splitlines()[0]
        assert title in shown._repr_html_()
    shutil.copytree(tmp_path / "1", session.workspace.bench / "compare")
    assert "Comparison of demo, other" in str(session.benchmarks())


def test_reports_are_tables_where_there_is_no_html(session: Journey) -> None:
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    try:
        shell.run_line_magic("load_ext", "wizard.notebook")
        for report in (BENCHMARK, COMPARISON, QUALITY):
            data, _ = shell.display_formatter.format(report)
            assert data["text/plain"] == str(Benchmark(report))
            assert data["text/html"].startswith("<div>")
    finally:
        InteractiveShell.clear_instance()
