"""Commands of the chat about conversations of before, and the looks behind it."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from tests.prompts.fake_journey import ENDPOINT, QUESTIONS, nobody
from wizard.chat.commands.session import ChatSession
from wizard.chat.commands.table import command
from wizard.chat.conversation import Conversation, Stats, TokenLogprob
from wizard.chat.history import History
from wizard.chat.served import ServedModel
from wizard.chat.snippet import Request
from wizard.chat.wire import Wire
from wizard.kernel.errors import UsageError, WorkspaceError
from wizard.stacks.trtllm_engine.chat import TEXT

SERVED = ServedModel("demo", None, QUESTIONS, 1024, 0.0)
SAID = (
    Conversation()
    .with_message("system", "Be brief.")
    .with_message("user", "Why?")
    .with_message("assistant", "Because.")
)


@pytest.fixture
def talk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ChatSession:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return ChatSession(
        ENDPOINT, SAID, lambda: SERVED, list, nobody, history=History(tmp_path / "chats" / "chats.sqlite3"), keeps=True
    )


def refusal(talk: ChatSession, line: str) -> str:
    with pytest.raises(UsageError) as raised:
        command(talk, line)
    return raised.value.code


def test_history_open_search_rename_and_delete(talk: ChatSession) -> None:
    assert "No saved conversations" in command(talk, "/history").text
    assert refusal(talk, "/rename Nothing") == "TW-U24"
    talk.keep()
    command(talk, "/rename First one")
    command(talk, "/new")
    assert talk.conversation.messages == SAID.messages[:1]
    talk.conversation = talk.conversation.with_message("user", "What is Triton?").with_message("assistant", "A server.")
    talk.keep()
    listed = command(talk, "/history").text.splitlines()
    assert listed[0].startswith("2  ")
    assert listed[0].endswith("What is Triton? (current)")
    assert listed[1].endswith("First one")
    assert "because" not in command(talk, "/search server").text.lower()
    assert "Because." in command(talk, "/search because").text
    assert "No conversation" in command(talk, "/search nowhere").text
    opened = command(talk, "/open 1").text
    assert opened == "> Why?\nBecause.\nContinuing: First one"
    assert talk.conversation == SAID
    assert "overwritten" in command(talk, "/delete 2").text
    command(talk, "/delete")
    assert talk.kept.id is None
    assert "No saved conversations" in command(talk, "/history").text


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("/open 7", "TW-C23"),
        ("/open x", "TW-U24"),
        ("/open ", "TW-U24"),
        ("/delete 7", "TW-C23"),
        ("/delete", "TW-U24"),
        ("/search", "TW-U24"),
        ("/versions 2", "TW-U24"),
        ("/preset nonsense", "TW-D10"),
        ("/preset remove precise", "TW-D12"),
        ("/snippet curl", "TW-U24"),
        ("/snippet perl", "TW-U24"),
        ("/logprobs many", "TW-U24"),
        ("/copy", "TW-U24"),
        ("/copy cod", "TW-U24"),
        ("/load nowhere.json", "TW-U27"),
        ("/set min_p 2", "TW-U32"),
    ],
)
def test_what_cannot_be_done_is_refused(talk: ChatSession, line: str, code: str) -> None:
    assert refusal(talk, line) == code
    assert talk.conversation == SAID


@pytest.mark.parametrize(
    ("line", "problem", "todo"),
    [
        ("/logprobs 100", "invalid value: 100", "Enter a number from 0 to 20."),
        ("/open", "no conversation was given", "Pass a number from /history, for example: /open 1"),
        ("/history x", "invalid value: x", "Enter a number from 1 to 10000."),
        ("/copy cod", "cannot copy cod", "Type /copy, /copy code or /copy thought."),
        ("/set temperature x", "temperature must be a number", "Use another value."),
    ],
)
def test_what_is_refused_says_what_helps(talk: ChatSession, line: str, problem: str, todo: str) -> None:
    with pytest.raises(UsageError) as raised:
        command(talk, line)
    assert problem in raised.value.what
    assert todo in raised.value.todo


def test_a_private_chat_keeps_nothing_more(talk: ChatSession) -> None:
    talk.keep()
    command(talk, "/private")
    talk.conversation = talk.conversation.with_message("user", "Secret?")
    talk.keep()
    assert talk.history is not None
    assert [entry.messages for entry in talk.history.entries()] == [3]
    assert "1" in command(talk, "/history").text
    with pytest.raises(UsageError, match="this conversation is not being saved\n"):
        command(talk, "/delete")
    talk.history = None
    assert refusal(talk, "/history") == "TW-U26"


def test_a_history_that_cannot_be_saved_is_reported_once(talk: ChatSession, tmp_path: Path) -> None:
    (tmp_path / "chats").touch()
    with pytest.raises(WorkspaceError):
        talk.keep()
    talk.keep()  # the chat goes on


def test_versions(talk: ChatSession) -> None:
    assert command(talk, "/edit What for?").ask == "What for?"
    talk.conversation = talk.conversation.with_message(
        "assistant", "For fun.", stats=Stats(3, 0.05, 0.1, "stop"), at=9.0
    )
    text = command(talk, "/versions").text
    assert text.startswith("Version 1 of 2: Why?\nBecause.\n\nVersion 2 of 2 (current): What for?\nFor fun.")
    assert "Continuing with version 1." in command(talk, "/versions 1").text
    assert talk.conversation.messages[-1].content == "Because."
    assert command(talk, "/edit").edit == "Why?"


def test_presets(talk: ChatSession) -> None:
    assert "precise" in command(talk, "/preset").text
    command(talk, "/preset precise")
    assert talk.conversation.sampling.temperature == 0
    command(talk, "/set stop END|STOP")
    command(talk, "/preset save mine")
    assert command(talk, "/preset").text.startswith("mine ")
    command(talk, "/set stop")
    assert talk.conversation.sampling.stop == ()
    command(talk, "/preset mine")
    assert talk.conversation.sampling.stop == ("END", "STOP")
    command(talk, "/preset remove mine")
    assert refusal(talk, "/preset mine") == "TW-D10"


def test_context_is_an_estimate_without_a_tokenizer(talk: ChatSession) -> None:
    text = command(talk, "/context").text
    assert text.startswith("31 of 1,024 tokens (3 %): estimated")


def test_logprobs(talk: ChatSession) -> None:
    command(talk, "/logprobs 2")
    assert talk.conversation.sampling.logprobs == 2
    assert "No answer" in command(talk, "/logprobs").text
    talk.logprobs = [TokenLogprob(" yes", -0.6931471805599453, ((" yes", -0.6931471805599453), (" no", -1.0)))]
    assert command(talk, "/logprobs").text.splitlines() == [
        "50.0 %  ' yes'  ' yes' 50.0 %  ' no' 36.8 %",
        "Perplexity of the answer: 2.00",
    ]
    talk.logprobs = [TokenLogprob("never", -3.4e38)]
    assert command(talk, "/logprobs").text.startswith("0.0 %  'never'")
    command(talk, "/logprobs off")
    assert talk.conversation.sampling.logprobs is None
    talk.served = lambda: ServedModel("demo", None, (), 1024, 0.0, Wire(TEXT, ()))
    assert refusal(talk, "/logprobs") == "TW-U24"


def test_snippets(talk: ChatSession) -> None:
    talk.request = Request(
        "http://127.0.0.1:8000/v2/models/demo/generate_stream", {"text_input": "Why?"}, "demo", "h:1"
    )
    assert command(talk, "/snippet").data.startswith("curl ")
    assert "tritonclient" in command(talk, "/snippet python").data
    assert "urllib" in command(talk, "/snippet urllib").data


def test_copy_puts_the_answer_or_its_code_into_the_clipboard(
    talk: ChatSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("wizard.chat.commands.inspection.is_terminal", lambda _: True)
    talk.conversation = talk.conversation.with_message("user", "Code?").with_message(
        "assistant", "Here:\n```sh\nls -l\n```\nDone."
    )
    assert refusal(talk, "/copy cod") == "TW-U24"
    for line, wanted in (("/copy", "Here:\n```sh\nls -l\n```\nDone."), ("/copy code", "ls -l\n")):
        raw = command(talk, line).raw
        assert raw.startswith("\x1b]52;c;")
        assert base64.b64decode(raw.removeprefix("\x1b]52;c;").removesuffix("\x07")).decode() == wanted
    talk.conversation = SAID
    assert refusal(talk, "/copy code") == "TW-U24"


def test_load_brings_back_what_was_saved(talk: ChatSession, tmp_path: Path) -> None:
    talk.keep()
    command(talk, "/rename Why indeed")
    command(talk, f"/save {tmp_path}/chat.json")
    command(talk, "/new")
    text = command(talk, f"/load {tmp_path}/chat.json").text
    assert "> Why?\nBecause." in text
    assert (talk.conversation, talk.kept.title, talk.kept.id) == (SAID, "Why indeed", 2)
    (tmp_path / "bad.json").write_text('{"messages": [{"role": "robot", "content": "x"}]}')
    assert refusal(talk, f"/load {tmp_path}/bad.json") == "TW-K01"
    (tmp_path / "worse.json").write_text("{")
    assert refusal(talk, f"/load {tmp_path}/worse.json") == "TW-K02"


def test_details_of_each_message(talk: ChatSession) -> None:
    assert command(talk, "/details").text.splitlines() == [
        "System prompt", "  Be brief.", "You", "  Why?", "Model", "  Because.",
    ]  # fmt: skip
    talk.conversation = Conversation()
    assert command(talk, "/details").text == "No messages yet; ask something."
