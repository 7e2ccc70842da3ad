"""What is served is what the Hub published: the real ``hf download`` from a hub that damages, cuts and lies."""

from __future__ import annotations

import json
import os
import random
import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.model.fake_hub import COMMIT, FakeHub, FakeRepo
from tests.model.gguf_bytes import LLAMA_CONFIG, safetensors
from tests.run.runs import events_of, outcomes
from tests.values import plan_of
from wizard.kernel.errors import StepError
from wizard.kernel.paths import Workspace
from wizard.model import manifest
from wizard.model.source import find
from wizard.plan.fetch import fetch
from wizard.plan.plan import Plan
from wizard.run.diagnose import CommandError
from wizard.run.events import Event, Output

SIZE = 40_000_000
"""More than the chunk that huggingface_hub writes at once (10 MiB)."""
WEIGHTS = safetensors({"a": {"dtype": "BF16", "shape": [1000, SIZE // 2000], "data_offsets": [0, SIZE]}}, 0)
WEIGHTS += random.Random(1).randbytes(SIZE)
TOKENIZER = json.dumps({"model": {"vocab": {"a": 0}}}).encode()
FILES = {
    "config.json": json.dumps(LLAMA_CONFIG).encode(),
    "model.safetensors": WEIGHTS,
    "tokenizer.json": TOKENIZER,
    "pytorch_model.bin": b"never downloaded",
}
ZEROED = WEIGHTS[:20_000_000] + bytes(100_000) + WEIGHTS[20_100_000:]


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    with FakeHub({"org/llama": FakeRepo(dict(FILES))}) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        yield hub


@pytest.fixture
def plan(hub: FakeHub, tmp_path: Path) -> Plan:
    workspace = Workspace(tmp_path / "w")
    plan = plan_of(workspace.root, fetch(find("org/llama"), workspace).step)
    hub.requests.clear()
    return plan


def folder_of(plan: Plan) -> Path:
    return Path(plan.steps[0].done.files[0]).parent


def spoken(events: list[Event]) -> str:
    return "\n".join(line for event in events if isinstance(event, Output) for line in event.lines)


def ranges(hub: FakeHub) -> list[str]:
    asked = [headers for method, path, headers in hub.requests if method == "GET" and path.startswith("/cdn/")]
    return [value for headers in asked for name, value in headers.items() if name.lower() == "range"]


async def done(plan: Plan) -> str:
    """Run it; what it said."""
    events, _ = await events_of(plan)
    assert outcomes(events) == {"model": "done"}
    assert (folder_of(plan) / "model.safetensors").read_bytes() == WEIGHTS
    return spoken(events)


async def refused(plan: Plan) -> CommandError:
    events, error = await events_of(plan)
    assert outcomes(events) == {"model": "failed"}
    assert isinstance(error, CommandError)
    return error


async def test_a_download_is_proven_and_its_manifest_kept(hub: FakeHub, plan: Plan) -> None:
    assert f"3 files verified against org/llama at revision {COMMIT[:12]}" in await done(plan)
    path = manifest.path_of(folder_of(plan))
    made = manifest.read(path)
    assert made is not None
    assert (made.repo, made.revision) == ("org/llama", COMMIT)
    kinds = {name: file.published.kind for name, file in made.files.items() if file.published}
    assert kinds == {"config.json": "git", "model.safetensors": "sha256", "tokenizer.json": "git"}
    hub.requests.clear()
    assert outcomes((await events_of(plan))[0]) == {"model": "skipped"}
    assert hub.requests == []
    assert COMMIT in plan.steps[0].actions[0].shell()


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
async def test_a_damaged_download_is_refused_and_its_remedy_works(hub: FakeHub, plan: Plan, name: str) -> None:
    hub.stored[name] = {"model.safetensors": ZEROED, "tokenizer.json": bytes(len(TOKENIZER))}[name]
    error = await refused(plan)
    path = folder_of(plan) / name
    assert f"TW-M60: {path} is damaged" in error.what
    assert f"rm {shlex.quote(str(path))}" in error.todo
    assert manifest.read(manifest.path_of(folder_of(plan))) is None
    hub.stored.clear()
    assert "TW-M60" in (await refused(plan)).what  # not even if it is run again
    command = error.todo.split("`")[1]
    subprocess.run(shlex.split(command), check=True)  # noqa: ASYNC221
    await done(plan)
    assert outcomes((await events_of(plan))[0]) == {"model": "skipped"}


async def test_a_file_that_changed_later_is_hashed_again(hub: FakeHub, plan: Plan) -> None:
    """Also one that the step does not name; a new date alone is no damage."""
    await done(plan)
    tokenizer = folder_of(plan) / "tokenizer.json"
    os.utime(tokenizer, ns=(1, 1))
    await done(plan)
    assert outcomes((await events_of(plan))[0]) == {"model": "skipped"}
    stat = tokenizer.stat()
    tokenizer.write_bytes(bytes(len(TOKENIZER)))
    os.utime(tokenizer, ns=(stat.st_atime_ns, stat.st_mtime_ns - 1))  # huggingface_hub trusts it
    assert "TW-M60" in (await refused(plan)).what


async def test_a_hub_without_hashes_is_reported(hub: FakeHub, plan: Plan) -> None:
    hub.hashes = False
    assert "no published hashes of org/llama" in await done(plan)
    made = manifest.read(manifest.path_of(folder_of(plan)))
    assert made is not None
    assert {file.published for file in made.files.values()} == {None}


async def test_a_cut_download_is_resumed_by_range(hub: FakeHub, plan: Plan) -> None:
    hub.cuts = [SIZE // 2]
    assert "verified" in await done(plan)
    (asked,) = ranges(hub)
    assert 0 < int(asked.removeprefix("bytes=").removesuffix("-")) <= SIZE // 2


async def test_storage_that_ignores_range_sends_the_whole_file(hub: FakeHub, plan: Plan) -> None:
    hub.cuts, hub.ranges = [SIZE // 2], False
    assert "verified" in await done(plan)
    assert len(ranges(hub)) == 1


async def test_storage_that_trickles(hub: FakeHub, plan: Plan) -> None:
    hub.trickles = True
    assert "verified" in await done(plan)


async def test_a_file_that_changes_while_it_is_downloaded(hub: FakeHub, plan: Plan) -> None:
    """Two halves of two files make no third."""
    hub.cuts, hub.on_cut = [SIZE // 2], lambda: hub.stored.update({"model.safetensors": WEIGHTS[::-1]})
    assert "TW-M60" in (await refused(plan)).what


def _refuses_the_rest(hub: FakeHub) -> None:
    hub.cuts, hub.on_cut = [SIZE // 2], lambda: hub.answers.append(416)


def _claims(size: int) -> Callable[[FakeHub], None]:
    return lambda hub: hub.sizes.update({"model.safetensors": size})


TROUBLES = {"416": _refuses_the_rest, "more": _claims(len(WEIGHTS) + 1000), "less": _claims(len(WEIGHTS) - 1000)}


@pytest.mark.parametrize("trouble", TROUBLES.values(), ids=TROUBLES)
async def test_what_the_hub_refuses_or_contradicts_is_no_model(
    hub: FakeHub, plan: Plan, trouble: Callable[[FakeHub], None]
) -> None:
    trouble(hub)
    events, error = await events_of(plan)
    assert outcomes(events) == {"model": "failed"}
    assert isinstance(error, StepError)
    assert manifest.read(manifest.path_of(folder_of(plan))) is None
    hub.sizes.clear()
    await done(plan)
