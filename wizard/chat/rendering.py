"""Render a conversation as a prompt in the model's own chat template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wizard.chat import ask
from wizard.chat.conversation import Conversation
from wizard.chat.image_references import without
from wizard.chat.served import ServedModel
from wizard.chat.templates import process_of
from wizard.chat.thinking_modes import variables
from wizard.chat.trial import TRIAL
from wizard.kernel.errors import ModelError
from wizard.kernel.fenced import FencedError
from wizard.kernel.fenced_process import RejectedError, frame
from wizard.kernel.language import tr
from wizard.model import chat_format
from wizard.model.chat_format import ChatFormat
from wizard.model.special_tokens import broken, pattern


def render(conversation: Conversation, served: ServedModel) -> str:
    """The prompt for the conversation's next answer.

    Special tokens in the user's text are broken by a space: the server interprets them, and a message must not end its
    own turn. If a template has no system role, the system prompt is put before the first question. A base model, which
    has no template, gets the last message unchanged. Thinking is switched by the template's own variables.

    Raises:
        ModelError: TW-C06 if the template rejects the messages, TW-C50 if it takes too much time or memory.
    """
    turns = [{"role": each.role, "content": without(each.content)} for each in conversation.messages]
    given = variables(served.chat, conversation.sampling.thinking) if served.chat else {}
    return render_turns(turns, served, given)


def render_turns(turns: Sequence[Mapping[str, Any]], served: ServedModel, given: Mapping[str, Any]) -> str:
    """As `render`, for messages with all that OpenAI's have.

    Args:
        turns: Messages: ``role``, ``content`` (a text), and what else the template may read, such as ``tool_calls``.
        served: The model.
        given: Further variables of the template, such as ``tools``.

    Raises:
        ModelError: TW-C06 if the template rejects the messages, TW-C50 if it takes too much time or memory.
    """
    if served.chat is None:
        return str(turns[-1]["content"])
    try:
        return str(process_of(served.chat.template).ask(question(turns, served.chat, given))["text"])
    except (RejectedError, FencedError) as error:
        raise failed(error) from error


def try_out(model: str, chat: ChatFormat | None) -> None:
    """Render conversations of every kind (`wizard.chat.trial`), together within the limits of one: a server renders
    them without any limit.

    Raises:
        ModelError: TW-M80 if it takes too much time or memory. A template that rejects conversations raises nothing.
    """
    if chat is None:
        return
    try:
        tokens = {"bos_token": chat.bos_token or "", "eos_token": chat.eos_token or ""}
        process_of(chat.template).ask(frame({"do": "try", "conversations": [{**each, **tokens} for each in TRIAL]}))
    except RejectedError:
        return
    except FencedError as error:
        raise chat_format.unusable(model, tr(ask.STOPPED[error.why])) from error


def question(turns: Sequence[Mapping[str, Any]], chat: ChatFormat, given: Mapping[str, Any]) -> bytes:
    """What the template's process gets (`wizard.chat.templates`) to answer with the prompt for ``turns``."""
    messages = plain_turns(turns, pattern(chat))
    variables = {"bos_token": chat.bos_token or "", "eos_token": chat.eos_token or "", **given}
    return frame({"do": "render", "messages": messages, "variables": variables})


def failed(error: RejectedError | FencedError) -> ModelError:
    """The error for a template that gave no prompt."""
    return ask.hostile_template(error.why) if isinstance(error, FencedError) else ask.bad_template(error)


def plain_turns(values: Sequence[Mapping[str, Any]], special: str) -> list[dict[str, Any]]:
    """JSON objects with every match of ``special`` in their texts broken (`wizard.model.special_tokens.broken`)."""
    return [{name: _plain(value, special) for name, value in each.items()} for each in values]


def _plain(value: Any, special: str) -> Any:
    if isinstance(value, str):
        return broken(value, special)
    if isinstance(value, list):
        return [_plain(each, special) for each in value]
    if isinstance(value, dict):
        return {broken(name, special): _plain(each, special) for name, each in value.items()}
    return value
