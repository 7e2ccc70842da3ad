"""A download that is cut off or refused: the real ``hf download`` and a hub on the loopback interface."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.model.fake_hub import COMMIT, FakeHub, FakeRepo
from tests.model.gguf_bytes import LLAMA_CONFIG, safetensors
from tests.plan.stack_values import IN_IMAGE, machine
from tests.run.runs import DRIVER, events_of, outcomes
from tests.values import plan_of
from wizard.kernel import proctable
from wizard.kernel.errors import StepError
from wizard.kernel.paths import Workspace
from wizard.kernel.values import to_json
from wizard.model import manifest, verify
from wizard.model.facts import ModelFacts
from wizard.model.source import find
from wizard.plan.build import build
from wizard.plan.fetch import fetch
from wizard.plan.plan import Step
from wizard.probe.host import HERE

pytestmark = pytest.mark.usefixtures("roomy_disk")
SIZE = 4_000_000
WEIGHTS = safetensors({"a": {"dtype": "BF16", "shape": [1000, SIZE // 2000], "data_offsets": [0, SIZE]}})
FILES = {"config.json": json.dumps(LLAMA_CONFIG).encode(), "model.safetensors": WEIGHTS}


def download(facts: ModelFacts, workspace: Workspace) -> Step:
    """The step as a plan for this machine, were there a GPU, has it."""
    steps = build(replace(machine("1xL4"), source=HERE), facts, IN_IMAGE, workspace).steps
    return next(step for step in steps if step.id == "model")


async def test_after_kill_9_in_a_download_a_new_run_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a model is never taken for one: not by a plan that says what is still to be fetched, nor by a run."""
    workspace = Workspace(tmp_path / "w")
    with FakeHub({"org/llama": FakeRepo(FILES)}) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        facts = find("org/llama")
        folder = fetch(facts, workspace).path
        plan = plan_of(workspace.root, download(facts, workspace))
        (tmp_path / "plan.json").write_text(to_json(plan))
        hub.half = True
        wizard = subprocess.Popen(  # noqa: ASYNC220 -- the wizard that will be killed
            [sys.executable, "-c", DRIVER, str(tmp_path / "plan.json")],
            stdout=subprocess.DEVNULL,
            cwd=Path(__file__).parents[2],
        )
        assert hub.at_half.wait(60)
        wizard.kill()
        wizard.wait()
        assert not (folder / "model.safetensors").exists()
        (folder / "config.json").write_bytes(FILES["config.json"])  # it may have come first, or not
        assert download(facts, workspace).estimate.download_bytes == facts.weight_bytes
        hub.half = False
        events, _ = await events_of(plan)
        assert outcomes(events) == {"model": "done"}
        assert proctable.marked(proctable.STEP_MARK, str(workspace.root)) == []
        assert {name: (folder / name).read_bytes() for name in FILES} == FILES
        assert download(facts, workspace).estimate.download_bytes == 0
        assert outcomes((await events_of(plan))[0]) == {"model": "skipped"}


async def test_a_token_that_opens_nothing_any_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Known when the plan is made; where that was earlier, the download says so at once and leaves no model."""
    workspace = Workspace(tmp_path / "w")
    with FakeHub({"org/gated": FakeRepo(FILES, {"gated": "manual"}, gated_files=True)}) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        monkeypatch.setenv("HF_TOKEN", "right")
        step = download(find("org/gated"), workspace)
        monkeypatch.setenv("HF_TOKEN", "hf_wrongwrongwrongwrong")
        events, error = await events_of(plan_of(workspace.root, step))
    assert isinstance(error, StepError)
    assert error.code == "TW-R03"
    assert "requires approval" in error.what
    assert "license" in error.todo
    assert "hf_wrong" not in str(error) + repr(events)
    assert not any(Path(name).exists() for name in step.done.files)


@pytest.mark.parametrize("name", ["model.gguf", "-model.gguf"])
def test_the_proof_of_a_single_file_of_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """As a GGUF file's download runs it: with the repository, its commit and the file."""
    (tmp_path / name).write_bytes(b"GGUF")
    with FakeHub({"org/gguf": FakeRepo({name: b"GGUF"})}) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        argv = verify.command(tmp_path, (name,), repo="org/gguf", revision=COMMIT)
        done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert (done.returncode, done.stderr) == (0, "")
    assert manifest.path_of(tmp_path).is_file()
