"""What can be typed in the chat beside questions."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.prompts.fake_journey import ENDPOINT, QUESTIONS, nobody
from wizard.chat.commands.session import ChatSession
from wizard.chat.commands.table import COMMANDS, command, is_command
from wizard.chat.conversation import Conversation, Message
from wizard.chat.served import ServedModel
from wizard.kernel.errors import UsageError
from wizard.kernel.values import from_data
from wizard.model.chat_format import ChatFormat

SERVED = ServedModel("demo", None, QUESTIONS, 1024, 0.0)


@pytest.fixture
def talk() -> ChatSession:
    conversation = (
        Conversation()
        .with_message("system", "Be brief.")
        .with_message("user", "Why?")
        .with_message("assistant", "Because.")
    )
    return ChatSession(ENDPOINT, conversation, lambda: SERVED, list, nobody)


def refusal(talk: ChatSession, line: str) -> UsageError:
    before = talk.conversation
    with pytest.raises(UsageError) as raised:
        command(talk, line)
    assert talk.conversation == before
    return raised.value


def test_help_names_every_command(talk: ChatSession) -> None:
    text = command(talk, "/help").text
    assert all(name in text for name in [*COMMANDS, "/multi"])


def test_unknown_commands_are_refused_with_the_nearest(talk: ChatSession) -> None:
    error = refusal(talk, "/claer")
    assert error.code == "TW-U23"
    assert "Did you mean /clear?" in error.todo


def test_clear_keeps_the_system_prompt(talk: ChatSession) -> None:
    command(talk, "/clear")
    assert talk.conversation.messages == (Message("system", "Be brief."),)


def test_system_is_set_replaced_and_removed(talk: ChatSession) -> None:
    command(talk, "/system Be long. Very long.")
    assert talk.conversation.messages[0] == Message("system", "Be long. Very long.")
    assert len(talk.conversation.messages) == 3
    command(talk, "/system")
    assert [message.role for message in talk.conversation.messages] == ["user", "assistant"]


def test_settings(talk: ChatSession) -> None:
    command(talk, "/set max_tokens 9")
    command(talk, "/set seed 1")
    assert (talk.conversation.sampling.max_tokens, talk.conversation.sampling.seed) == (9, 1)
    command(talk, "/set seed")
    assert talk.conversation.sampling.seed is None
    assert re.search(r"^max_tokens +9 ", command(talk, "/set").text, re.MULTILINE)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("/set colour red", "TW-U24"),
        ("/set seed many", "TW-U31"),
        ("/set top_p 0", "TW-U32"),
        ("/set temperature nan", "TW-U32"),
        ("/questions 3", "TW-U24"),
        ("/questions ²", "TW-U24"),
        ("/save chat.txt", "TW-U24"),
        ("/save", "TW-U24"),
        ("/save no/such/folder/chat.md", "TW-U25"),
    ],
)
def test_what_cannot_be_done_is_refused(talk: ChatSession, line: str, code: str) -> None:
    assert refusal(talk, line).code == code


def test_again_opens_the_last_question_and_keeps_its_answer(talk: ChatSession) -> None:
    outcome = command(talk, "/again")
    assert (outcome.ask, outcome.open) == ("Why?", True)
    assert [message.role for message in talk.conversation.messages] == ["system", "user"]
    assert talk.conversation.without_open_question().messages[-1].content == "Because."
    talk.conversation = Conversation()
    assert refusal(talk, "/regenerate").code == "TW-C18"


def test_a_model_without_known_questions(talk: ChatSession) -> None:
    talk.served = lambda: replace(SERVED, questions=())
    assert "ask it anything" in command(talk, "/questions 1").text


def test_saved_as_markdown_and_json_and_never_over_a_file(talk: ChatSession) -> None:
    command(talk, "/save chat.md")
    assert Path("chat.md").read_text().startswith("# Chat with demo\n")
    assert "## Assistant\n\nBecause." in Path("chat.md").read_text()
    command(talk, "/save chat.json")
    data = json.loads(Path("chat.json").read_text())
    assert data.pop("model") == "demo"
    assert from_data(Conversation, data, where="chat.json") == talk.conversation
    assert refusal(talk, "/save chat.md").code == "TW-U25"


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/help", True),
        ("/typo x", True),
        ("/", True),
        (" /help", False),
        ("/usr/bin/env python\nprint(1)", False),
        ("/system Be\nbrief.", True),
        ("/clear\n", True),
        ("", False),
    ],
)
def test_what_is_a_command(text: str, command: bool) -> None:
    assert is_command(text) is command


def test_a_system_prompt_of_several_lines(talk: ChatSession) -> None:
    command(talk, "/system\nBe\nbrief.")
    assert talk.conversation.system == "Be\nbrief."


def test_bye_ends(talk: ChatSession) -> None:
    assert command(talk, "/bye").end


def test_thinking_is_switched_and_the_last_thought_is_shown(talk: ChatSession) -> None:
    served = ServedModel("m", ChatFormat("{{ messages }}{% if enable_thinking is false %}x{% endif %}"), (), None, None)
    talk.served = lambda: served
    assert command(talk, "/think").text.startswith("No thought yet.")
    with pytest.raises(UsageError, match="no thought yet"):
        command(talk, "/copy thought")
    talk.conversation = talk.conversation.with_message("assistant", "a", thought="Hm.\x1b[2J")
    assert command(talk, "/think").text == "Hm."
    command(talk, "/think off")
    assert talk.conversation.sampling.thinking == "off"
    with pytest.raises(UsageError) as caught:
        command(talk, "/think high")
    assert "off, on" in caught.value.todo
    assert talk.conversation.sampling.thinking == "off"
    command(talk, "/set thinking")
    assert talk.conversation.sampling.thinking is None
