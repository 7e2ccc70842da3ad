"""``/model`` in plain prompts, and ``chat --url`` as a command, against stand-ins on loopback."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.chat.fake_local_servers import FakeLMStudio, FakeLocalServer, FakeOllama, local_server
from wizard import journey
from wizard.catalog.local_servers import LocalServer, LocalServers
from wizard.chat import nearby
from wizard.chat.commands.session import ChatSession
from wizard.chat.commands.table import command
from wizard.chat.conversation import Conversation, models
from wizard.chat.saving import load
from wizard.cli import main
from wizard.flow.session import begin
from wizard.kernel.errors import ServerError, UsageError
from wizard.kernel.paths import Workspace
from wizard.prompts.chat import run_chat


@pytest.fixture
def ollama() -> Iterator[FakeLocalServer]:
    with local_server(FakeOllama(("a", "b"))) as fake:
        yield fake


@pytest.fixture
def studio(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeLocalServer]:
    """The only server on a usual port."""
    with local_server(FakeLMStudio(("qwen",))) as fake:
        table = LocalServers((LocalServer("LM Studio", (fake.port,), ("organization_owner",), "this test"),))
        monkeypatch.setattr(nearby, "local_servers", lambda: table)
        yield fake


@pytest.fixture
def talk(tmp_path: Path, ollama: FakeLocalServer, studio: FakeLocalServer) -> ChatSession:
    endpoint = journey.at(ollama.url, "a")
    return begin(
        endpoint, Conversation(), journey=journey, workspace=Workspace.at(str(tmp_path)), history=None, keeps=False
    )


def test_all_models_are_listed(talk: ChatSession, ollama: FakeLocalServer, studio: FakeLocalServer) -> None:
    assert command(talk, "/model").text.split("\n") == [
        "a answers now. Others:",
        f"b at {ollama.url}/v1",
        f"qwen at {studio.url}/v1",
        "Switch with /model NAME, or /model URL MODEL.",
    ]


def test_the_conversation_goes_on_with_the_named_one(talk: ChatSession, studio: FakeLocalServer) -> None:
    talk.conversation = talk.conversation.with_message("user", "Hi").with_message("assistant", "Hello", model="a")
    before = talk.conversation
    for name in ("b", "qwen", f"{studio.url} qwen"):
        assert "answers from now on" in command(talk, f"/model {name}").text
        assert talk.endpoint.model == name.split()[-1]
        assert talk.conversation == before


def test_an_unknown_name_changes_nothing(talk: ChatSession) -> None:
    before = talk.endpoint
    for name, error in (("nothing", UsageError), ("http://127.0.0.1:9/v1 x", ServerError), ("x://", UsageError)):
        with pytest.raises(error):
            command(talk, f"/model {name}")
        assert talk.endpoint == before


def test_each_answer_keeps_its_model_and_figures(
    ollama: FakeLocalServer,
    studio: FakeLocalServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "talk.json"
    monkeypatch.setattr("sys.stdin", io.StringIO(f"One\n/model qwen\nTwo\n/save {file}\n"))
    run_chat(journey.at(ollama.url, "a"), json_output=True, workspace=Workspace.at(str(tmp_path)), keep=False)
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert [first["model"], first["tokens"], first["pieces"]] == ["a", 7, None]
    assert [second["model"], second["tokens"], second["pieces"]] == ["qwen", None, 4]
    assert second["pieces_per_s"] > 0
    assert [message["content"] for message in studio.bodies[0]["messages"]] == ["One", first["answer"], "Two"]
    talk = load(file).conversation
    assert models(talk.messages) == ("a", "qwen")
    assert "## Assistant (qwen)" in talk.to_markdown()


@pytest.mark.parametrize(
    ("flags", "term", "terminal", "full"),
    [
        ((), "xterm", True, True),
        (("--seed", "7", "--private"), "xterm", True, True),
        (("--plain", "--model", "a"), "xterm", True, False),
        (("--json", "--model", "a"), "xterm", True, False),
        (("-m", "Hi", "--model", "a"), "xterm", True, False),
        (("--model", "a"), "dumb", True, False),
        (("--model", "a"), "xterm", False, False),
    ],
)
def test_a_url_opens_full_screen_only_in_a_terminal(
    ollama: FakeLocalServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    flags: tuple[str, ...],
    term: str,
    terminal: bool,
    full: bool,
) -> None:
    opened: list[Any] = []
    plain: list[str] = []
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr("wizard.kernel.text.is_terminal", lambda *_: terminal)
    monkeypatch.setattr("wizard.tui.start.run_tui", lambda _, opening: opened.append(opening) or 0)
    monkeypatch.setattr("wizard.prompts.chat.run_chat", lambda endpoint, *_, **__: plain.append(endpoint.model) or 0)
    with pytest.raises(SystemExit) as ended:
        main(["--workspace", str(tmp_path), "chat", "--url", ollama.url, *flags])
    assert ended.value.code in (0, None)
    assert (bool(opened), plain) == (full, [] if full else ["a"])
    if opened:
        assert opened[0].endpoint.model == "a"
        assert (opened[0].kept is None) == ("--private" in flags)
        assert opened[0].conversation.sampling.seed == (7 if "--seed" in flags else None)


def test_without_full_screen_several_models_need_a_name(
    ollama: FakeLocalServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["--workspace", str(tmp_path), "chat", "--url", ollama.url, "-m", "Hi"])
    assert "TW-C16" in capsys.readouterr().err


def test_plain_may_stand_before_the_command(
    ollama: FakeLocalServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain: list[str] = []
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("wizard.kernel.text.is_terminal", lambda *_: True)
    monkeypatch.setattr("wizard.prompts.chat.run_chat", lambda endpoint, *_, **__: plain.append(endpoint.model) or 0)
    with pytest.raises(SystemExit):
        main(["--plain", "--workspace", str(tmp_path), "chat", "--url", ollama.url, "--model", "a"])
    assert plain == ["a"]
