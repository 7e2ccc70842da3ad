"""Every command that takes ``--json``, in a world where each has something to print."""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import AsyncGenerator, Iterator
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.bench.installed import install
from tests.chat.fake_openai import DONE, ROLE, STOP, FakeOpenAI, event, serving
from tests.model.gguf_bytes import LLAMA_CONFIG, folder
from tests.values import CHOICE, plan_of, python_step
from wizard import journey
from wizard.cli import main
from wizard.kernel.language import tr
from wizard.kernel.paths import Workspace
from wizard.kernel.values import to_json
from wizard.plan.plan import Plan
from wizard.plan.ports import Ports
from wizard.probe.live import Monitor, Reading
from wizard.prompts import live_readings
from wizard.run.events import Event, Output, Progress, Ready, StepFinished, StepStarted
from wizard.serve.endpoint import Endpoint
from wizard.serve.status import Status
from wizard.workshop import progress
from wizard.workshop.bundle import Entry, Manifest

HOST = str(Path(__file__).parents[1] / "cases" / "hosts" / "host-h200-x1.json")
SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"
COMMANDS = (
    "probe",
    f"probe --hardware {HOST}",
    "probe --watch 1",
    "model demo --offline",
    "model nothing --offline",
    "model",
    "model ./wrong.gguf",
    "model ./wrong-config",
    "model ./wrong-weights",
    f"advise demo --offline --hardware {HOST}",
    f"advise demo --offline --hardware {HOST} --tp 3",
    f"advise demo --offline --pareto --hardware {HOST}",
    "advise --cases cases.yaml",
    f"speed demo --offline --hardware {HOST}",
    f"plan demo --offline --hardware {HOST}",
    "plan demo --offline --answers wrong.toml",
    "plan demo --offline --hardware wrong.toml",
    "plan tutorial-000 --offline --hardware 1xL4",
    f"plan tutorial-004 --offline --hardware {HOST}",
    "lint nothing",
    "lint repository",
    "run plan.json --yes",
    "run failing.json --yes",
    "up demo --offline --yes",
    "demo --offline",
    "attach",
    "cancel",
    "status",
    "logs other",
    "logs",
    "diagnose failed.log",
    "doctor --quick",
    "doctor --offline",
    "doctor --hardware cpu",
    "diagnose nowhere.log",
    "service status other",
    "service remove nothing",
    "down other",
    "down",
    "chat --url URL -m Hello",
    "chat --url URL -m Hello --max-tokens many",
    "chat --nonsense",
    "chat --url URL -m Hello --temperature 9",
    "chat --url URL -m Hello --set logprobs=1",
    "bench URL --concurrency 1 --requests 8 --repeats 1",
    "bench URL --concurrency 1 --request-rate 1",
    "bundle verify class",
    "bundle install class --to seat",
    "bundle verify nothing",
    "bundle --out class --python 3.4",
    "workshop status room",
    "workshop status nothing",
    "workshop join nothing",
    "recipes",
    "recipes tutorial-002",
    "prerequisites",
    "prerequisites --hardware 1xL4",
    "clean",
    "nonsense",
)
DEAD = Endpoint("other", "other", "127.0.0.1", Ports(), 2**22 + 1, "0", "/nowhere/triton.log")
"""Of a process that there cannot be: Linux gives no larger number than 2²²."""
TOKEN = {"token": "Hi", "logprob": -0.5, "top_logprobs": [{"token": "Hi", "logprob": -0.5}]}
ANSWER = {"index": 0, "delta": {"content": "Hi"}, "finish_reason": None, "logprobs": {"content": [TOKEN]}}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a server to chat with; servers and logs are in the workspace, files in the working directory."""
    workspace = Workspace.at(os.environ["TRITON_WIZARD_HOME"])
    for name in ("other", "idle"):
        server = workspace.server(name)
        server.logs.mkdir(parents=True)
        server.plan.write_text(to_json(plan_of(workspace.root, name=name)), encoding="utf-8")
        (server.logs / "triton.log").write_text("I0000 started\n", encoding="utf-8")
    workspace.server("other").endpoint.write_text(to_json(DEAD), encoding="utf-8")
    _files(workspace)
    install(workspace)
    monkeypatch.setattr(live_readings, "readings", _one_reading)
    look = journey.statuses
    ready = Status("ready", "ready", replace(DEAD, name="ready"), "", "", CHOICE.memory, CHOICE.memory)
    monkeypatch.setattr(journey, "statuses", lambda workspace: [*look(workspace), ready])
    content = b"data: " + json.dumps({"choices": [ANSWER]}).encode() + b"\n\n"
    with serving(FakeOpenAI(body=ROLE + content + event({"content": "!"}) + STOP + DONE)) as fake:
        carry_out = journey.run
        monkeypatch.setattr(
            journey, "run", lambda plan, **asked: carry_out(plan, **asked) if plan.name == "test" else _fake_run(plan)
        )
        monkeypatch.setattr(journey, "endpoint", lambda *_: journey.at(fake.url))
        yield fake.url


def _files(workspace: Workspace) -> None:
    """A model repository with mistakes, a plan that fails, one that does not, and cases of which one is wrong."""
    model = Path("repository", "broken")
    model.mkdir(parents=True)
    (model / "config.pbtxt").write_text('backend: "none"\nmax_batch_size: x\n', encoding="utf-8")
    for file, code in (("plan.json", "print('made')"), ("failing.json", "print('no space left on device'); exit(1)")):
        plan = plan_of(workspace.root, python_step("repository", code))
        Path(file).write_text(to_json(plan), encoding="utf-8")
    Path("wrong.gguf").write_bytes(b"GGUF\x03\0\0\0" + b"\xff" * 16)
    Path("wrong.toml").write_text("users = \n", encoding="utf-8")
    Path("failed.log").write_text("ok\nOSError: [Errno 28] No space left on device\n", encoding="utf-8")
    Path("wrong-config").mkdir()
    Path("wrong-config", "config.json").write_text("{", encoding="utf-8")
    folder(Path("wrong-weights"), LLAMA_CONFIG, model__safetensors=b"\xff" * 16)
    example = Path(__file__).parents[2] / "profiles" / "examples" / "fleet.yaml"
    _bundle(Path("class"))
    Path("room").mkdir()
    seat = progress.Progress("seat-1", "run", "failed", "start", "TW-S03", 1.0)
    Path("room", "seat-1.0.json").write_text(to_json(seat), encoding="utf-8")
    cases = example.read_text(encoding="utf-8") + "\n- {id: wrong}\n"
    Path("cases.yaml").write_text(cases, encoding="utf-8")


def _bundle(folder: Path) -> None:
    """A bundle with a notebook and a file that is not as it was bundled, which nothing on a seat needs."""
    (folder / "notebooks").mkdir(parents=True)
    (folder / "notebooks" / "lab.ipynb").write_text("{}", encoding="utf-8")
    (folder / "slides.pdf").touch()
    entry = Entry("notebooks/lab.ipynb", 2, hashlib.sha256(b"{}").hexdigest())
    manifest = Manifest(1, "0", "wheels/x", "now", ("3.11",), "x86_64", (), (), (), (), (entry,))
    (folder / "bundle.json").write_text(to_json(manifest), encoding="utf-8")


def _one_reading(monitor: Monitor, _interval_s: float) -> Iterator[Reading]:
    yield monitor.read()
    monitor.close()


async def _fake_run(plan: Plan) -> AsyncGenerator[Event, None]:
    """A run in which everything happens that can, and nothing is done."""
    for index, step in enumerate(plan.steps, 1):
        yield StepStarted(step.id, step.title, index, len(plan.steps), 1.0)
    yield Output("model", (tr("Stopped the server that was running with older settings."),), 1.0)
    yield Progress("model", 0.5, 2.0, "1 of 2", 1.0)
    yield Progress("model", None, None, "", 1.0)
    yield StepFinished("environment", "skipped", 0.0, tr("already done and unchanged"), 1.0, "0" * 16)
    yield StepFinished("model", "done", 1.0, "", 1.0, "0" * 16, {"/models/demo.gguf": (1, 2)})
    yield Ready(replace(DEAD, pid=1), 1.0)


def invalid(command: str, line: Any) -> list[str]:
    """What the schema of ``command`` says against a line of its output; an error is checked as one."""
    name = "error" if isinstance(line, dict) and set(line) == {"error"} else command
    schema = json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
    problems = Draft202012Validator(schema).iter_errors(line)
    return [f"{problem.json_path}: {problem.message}"[:500] for problem in problems]


def printed(command: str, url: str, *options: str) -> list[Any]:
    """What ``command`` prints with ``--json``, line by line."""
    with redirect_stdout(io.StringIO()) as out, pytest.raises(SystemExit):
        main([*options, *command.replace("URL", url).split(), "--json"])
    return [json.loads(line) for line in out.getvalue().splitlines()]
