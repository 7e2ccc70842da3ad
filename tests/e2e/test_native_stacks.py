"""The repositories that native plans write, in a real tritonserver; a stand-in is the engine's interpreter."""

from __future__ import annotations

import json
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.plan.stack_values import FACTS, TRANSFORMERS, VLLM, engine, machine, planned, written
from tests.server_environment import RunningTriton, running_triton
from tests.stacks.trtllm_values import WORKSPACE
from wizard.advise.advice import Choice
from wizard.kernel.paths import Workspace
from wizard.plan.options import Options
from wizard.plan.runtimes.docker import Docker
from wizard.stacks.transformers.plan import beside

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("proxy")]

FAKE_ENGINE = Path(__file__).parent / "fake_engine.py"


def put(files: dict[str, str], folder: Path) -> None:
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def ask(triton: RunningTriton, model: str) -> dict[str, Any]:
    body = json.dumps({"text_input": "hello", "max_tokens": 3, "stream": False}).encode()
    with urllib.request.urlopen(f"{triton.url}/v2/models/{model}/generate", body, timeout=60) as response:
        reply: dict[str, Any] = json.load(response)
    return reply


def fake_interpreter(python: Path, log: Path) -> None:
    """A program at ``python`` that runs the fake engine, whatever its arguments name."""
    settings = json.dumps({"log": str(log)})
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\necho \"$@\" > {log}.argv\nexec {sys.executable} {FAKE_ENGINE} '{settings}'\n")
    python.chmod(0o755)


@pytest.fixture(scope="module", params=[VLLM, TRANSFORMERS], ids=["vllm", "transformers"])
def served(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[RunningTriton, Choice, Path]]:
    folder = tmp_path_factory.mktemp("native")
    steps = planned(request.param, workspace=Workspace.at(folder / "w"))
    argv, _, _ = engine(steps)
    fake_interpreter(Path(argv[0]), folder / "engine.log")
    put(written(steps), folder / "models")
    with running_triton(folder / "models", folder) as triton:
        yield triton, request.param, folder


def test_what_the_plan_writes_answers(served: tuple[RunningTriton, Choice, Path]) -> None:
    triton, _, _ = served
    assert ask(triton, "demo")["finish_reason"] == "length"


def test_the_engine_gets_its_program_its_settings_and_its_environment(
    served: tuple[RunningTriton, Choice, Path],
) -> None:
    _, choice, folder = served
    arguments = (folder / "engine.log.argv").read_text()
    assert arguments.startswith(f"engines/{choice.stack}_engine.py ")
    assert '"model": ' in arguments
    environment = json.loads((folder / "engine.log").read_text().splitlines()[0])["env"]
    assert "LD_LIBRARY_PATH" not in environment
    assert environment["PATH"].startswith(f"{folder}/w/environments/{choice.stack}-")
    assert environment["HF_HUB_OFFLINE"] == "1"


def test_beside_another_stacks_models(tmp_path: Path) -> None:
    """Tutorial 003: the second model loads beside an ensemble's; here beside another proxy."""
    fake_interpreter(tmp_path / "bin" / "python3", tmp_path / "engine.log")
    runtime = Docker(WORKSPACE, WORKSPACE.server("demo"), "image", devices=(0,))
    choice = replace(TRANSFORMERS, stack="trtllm-engine", runtime="docker", release="24.09-trtllm-python-py3")
    second = beside(choice, machine(), FACTS, runtime, Options(beside="transformers", batching="none"), tmp_path)
    assert second
    files = {
        file.path: file.text.replace("python3", str(tmp_path / "bin" / "python3")) for file in second.repository.files
    }
    steps = planned(TRANSFORMERS, workspace=Workspace.at(tmp_path / "w"))
    python = Path(engine(steps)[0][0])
    fake_interpreter(python, tmp_path / "first")
    put({**files, **written(steps)}, tmp_path / "models")
    with running_triton(tmp_path / "models", tmp_path) as triton:
        assert ask(triton, "transformers")["finish_reason"] == ask(triton, "demo")["finish_reason"] == "length"
    assert '"mode": "unbatched"' in (tmp_path / "engine.log.argv").read_text()
