"""What models, servers, logs and tools say never reaches the terminal raw, in any command and on any protocol."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench.sample import REPORT
from tests.chat.fake_openai import DONE, ROLE, STOP, FakeOpenAI, event, serving
from tests.cli.test_cli import wizard, wizard_inside
from tests.model.gguf_bytes import LLAMA_CONFIG, folder
from tests.values import plan_of, python_step
from wizard.kernel.paths import Workspace
from wizard.kernel.values import mapped, to_json
from wizard.model import manifest
from wizard.notebook.html import answer_html, progress_html, status_html
from wizard.plan.ports import Ports
from wizard.serve.endpoint import Endpoint
from wizard.serve.status import Status

EVIL = "\x1b]0;title\x07\x1b[2J\x1b[8mx\x9b31m\x08\x7f\u202e\u2066\r\x1bP+q\x1b\\\x1b]52;c;AAAA\x1b\\end"
RAW = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Control characters and direction marks, but no line breaks and tabs."""


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "w")


def printed(*words: str) -> str:
    done = wizard_inside(*words)
    return done.stdout + done.stderr


@pytest.fixture
def server() -> Iterator[FakeOpenAI]:
    events = event({"reasoning_content": EVIL}) + event({"content": EVIL[:9]}) + event({"content": EVIL[9:]})
    with serving(FakeOpenAI(body=ROLE + events + STOP + DONE, models=(f"m{EVIL}",))) as fake:
        yield fake


@pytest.mark.parametrize("more", [(), ("--json",)], ids=["plain", "json"])
def test_an_answer(server: FakeOpenAI, more: tuple[str, ...]) -> None:
    shown = printed("chat", "--url", server.url, "-m", "Hello", *more)
    assert "end" in shown
    assert not RAW.search(shown)


def test_answers_to_a_pipe(server: FakeOpenAI) -> None:
    done = wizard("chat", "--url", server.url, text="Hello\nAgain\n")
    assert done.stdout.count("end") >= 2
    assert not RAW.search(done.stdout + done.stderr)


@pytest.mark.parametrize("status", [400, 401, 500])
def test_an_error_of_a_server(server: FakeOpenAI, status: int) -> None:
    server.status, server.body = status, json.dumps({"error": {"message": f"no {EVIL}"}}).encode()
    shown = printed("chat", "--url", server.url, "-m", "Hello")
    assert "TW-" in shown
    assert not RAW.search(shown)


def test_the_names_of_models(server: FakeOpenAI) -> None:
    server.models = (f"a{EVIL}", f"b{EVIL}")
    shown = printed("chat", "--url", server.url, "-m", "Hello")
    assert "TW-" in shown
    assert not RAW.search(shown)


@pytest.mark.parametrize("more", [(), ("--raw",), ("--step", "repository"), ("--json",)], ids=" ".join)
def test_logs(workspace: Workspace, more: tuple[str, ...]) -> None:
    server = workspace.server("test")
    server.logs.mkdir(parents=True)
    for name in ("triton", "repository"):
        (server.logs / f"{name}.log").write_text(f"begin {EVIL}\n", encoding="utf-8")
    shown = printed("--workspace", str(workspace.root), "logs", *more)
    assert "end" in shown
    assert not RAW.search(shown)


@pytest.mark.parametrize("more", [(), ("--verbose",), ("--json",)], ids=" ".join)
@pytest.mark.parametrize("code", ["", "; raise SystemExit(1)"], ids=["works", "fails"])
def test_the_output_of_a_step(workspace: Workspace, code: str, more: tuple[str, ...]) -> None:
    """While it runs, and as the cause of its failure."""
    step = python_step("repository", f"print({EVIL!r}, flush=True); print({'error: ' + EVIL!r}){code}")
    plan = workspace.root.parent / "plan.json"
    plan.write_text(to_json(plan_of(workspace.root, step)), encoding="utf-8")
    shown = printed("run", str(plan), "--yes", *more)
    assert "TW-" in shown
    assert not RAW.search(shown)


@pytest.mark.parametrize("more", [(), ("--json",)], ids=["plain", "json"])
def test_status_of_a_model_with_an_odd_origin(workspace: Workspace, more: tuple[str, ...]) -> None:
    path = workspace.models / f"m{manifest.SUFFIX}"
    path.parent.mkdir(parents=True)
    manifest.write(path, manifest.Manifest({}, f"org/{EVIL}", EVIL))
    server = workspace.server("test")
    server.root.mkdir(parents=True)
    step = python_step("model", "", path)
    server.plan.write_text(to_json(plan_of(workspace.root, step)), encoding="utf-8")
    shown = printed("--workspace", str(workspace.root), "status", *more)
    assert "test" in shown
    assert not RAW.search(shown)


def test_a_notebook() -> None:
    endpoint = Endpoint("n", "m", "127.0.0.1", Ports(), 1, "", "")
    pages = (
        status_html(Status(f"n{EVIL}", "ready", endpoint, EVIL)),
        answer_html(EVIL, EVIL),
        progress_html([(EVIL, EVIL)], EVIL, None, [EVIL]),
    )
    assert [page for page in pages if RAW.search(page) or "end" not in page] == []


@pytest.mark.parametrize("more", [(), ("--json",)], ids=["plain", "json"])
@pytest.mark.parametrize("pipe", [False, True], ids=["file", "pipe"])
def test_the_cause_in_a_log(tmp_path: Path, pipe: bool, more: tuple[str, ...]) -> None:
    log = tmp_path / f"log{EVIL[:9]}.log"
    text = f"E1120 unable to find backend library for backend '{EVIL}', try specifying runtime {EVIL}\n"
    log.write_text(text, encoding="utf-8")
    done = wizard("diagnose", "-", *more, text=text) if pipe else wizard("diagnose", str(log), *more)
    assert "backend-not-in-image" in done.stdout
    assert not RAW.search(done.stdout + done.stderr)


@pytest.mark.parametrize("more", [(), ("--plain",), ("--json",)], ids=" ".join)
def test_a_benchmark(tmp_path: Path, more: tuple[str, ...]) -> None:
    evil = mapped(REPORT, lambda text: text if text in ("runs", "openai", "generated") else f"{EVIL} {text}")
    (tmp_path / "report.json").write_text(to_json(evil), encoding="utf-8")
    shown = printed("bench", "--open", str(tmp_path), *more)
    assert "end" in shown
    assert not RAW.search(shown)


@pytest.mark.parametrize("command", [("advise",), ("plan",), ("model",)], ids=" ".join)
@pytest.mark.parametrize("more", [(), ("--json",)], ids=["plain", "json"])
def test_a_model_and_a_machine(tmp_path: Path, command: tuple[str, ...], more: tuple[str, ...]) -> None:
    host = json.loads((Path(__file__).parents[1] / "cases/hosts/host-h200-x1.json").read_text())
    host["system"]["name"], host["cpu"]["name"] = EVIL, EVIL
    host["gpus"][0]["name"] += EVIL
    (tmp_path / "host.json").write_text(json.dumps(host))
    config = LLAMA_CONFIG | {"architectures": [f"A{EVIL}"], "model_type": f"llama{EVIL}", EVIL: EVIL}
    made = folder(tmp_path / "m", config, README__md=f"---\nlicense: mit{EVIL}\n---\n".encode())
    hardware = () if command == ("model",) else ("--hardware", str(tmp_path / "host.json"))
    shown = printed(*command, str(made), *hardware, *more)
    assert shown
    assert not RAW.search(shown)


@pytest.mark.parametrize("more", [(), ("--json",)], ids=["plain", "json"])
def test_a_repository(tmp_path: Path, more: tuple[str, ...]) -> None:
    model = tmp_path / "m\x1b[31m\x9b2J"
    model.mkdir()
    (model / "config.pbtxt").write_text(f"name: '{EVIL}' {EVIL}", encoding="utf-8")
    shown = printed("lint", str(tmp_path), *more)
    assert "config.pbtxt" in shown
    assert not RAW.search(shown)
