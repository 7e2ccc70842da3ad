"""What the served model says of itself, and its chat template applied to a conversation.

The server's own description (``GET /v2/models/NAME/config``) has all that a client needs, so a chat needs no file
of the model, only an address and a name.
"""

from __future__ import annotations

import http.client
import json
import os
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from wizard.chat import ask
from wizard.chat.conversation import Conversation
from wizard.model.facts import ChatFormat
from wizard.model.special import broken, pattern

TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A served model's description. ``chat`` is None for a base model, which continues texts."""

    name: str
    chat: ChatFormat | None
    questions: tuple[str, ...]
    max_seq_len: int
    """Tokens of prompt plus answer."""
    default_temperature: float


def served_model(url: str, model: str) -> ServedModel:
    """Ask the server at ``url`` what ``model`` is; blocks for up to `TIMEOUT_S`.

    Raises:
        ServerError: TW-C01 if nobody answers, TW-C02 if the model is not served, TW-C07 if it is no Triton server or
            the model is not one that the wizard made.
    """
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port or 8000, timeout=TIMEOUT_S)
    try:
        connection.request("GET", f"/v2/models/{quote(model, safe='')}/config")
        response = connection.getresponse()
        body = response.read()
    except http.client.HTTPException as error:
        raise ask.not_triton(url, repr(error)) from error
    except OSError as error:
        raise ask.unreachable(url, error) from error
    finally:
        connection.close()
    try:
        data = json.loads(body)
        if response.status != 200:
            raise ask.no_model(model, str(data["error"]))
        return _served(model, {key: item["string_value"] for key, item in data["parameters"].items()})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ask.not_triton(url, repr(error)) from error


def _served(name: str, said: dict[str, Any]) -> ServedModel:
    chat = None
    if template := said.get("chat_template"):
        chat = ChatFormat(template, said.get("bos_token"), said.get("eos_token"), tuple(json.loads(said["stop"])))
    return ServedModel(
        name,
        chat,
        tuple(str(question) for question in json.loads(said["questions"])),
        int(said["max_seq_len"]),
        float(said["default_temperature"]),
    )


def render(conversation: Conversation, served: ServedModel) -> str:
    """The prompt for the conversation's next answer.

    Special tokens that somebody typed are broken by a space: the server reads the prompt's as such, and a message must
    not end its own turn. Where a template has no system role, the system prompt goes before the first question. A base
    model, which has no template, gets the last message as it is.

    The first call imports transformers and takes about a second.

    Raises:
        ModelError: TW-C06 if the template refuses the messages.
    """
    if served.chat is None:
        return conversation.messages[-1].content
    from jinja2 import TemplateError

    special = pattern(served.chat)
    messages = [{"role": each.role, "content": broken(each.content, special)} for each in conversation.messages]
    try:
        try:
            return _apply(messages, served.chat)
        except TemplateError:
            if messages[0]["role"] != "system" or len(messages) < 2:
                raise
            system, first, *rest = messages
            folded = {"role": first["role"], "content": f"{system['content']}\n\n{first['content']}"}
            return _apply([folded, *rest], served.chat)
    except Exception as error:  # a template is a foreign program: it may fail in any way
        raise ask.bad_template(error) from error


def _apply(messages: list[dict[str, str]], chat: ChatFormat) -> str:
    # Without PyTorch, which the wizard never has, transformers gives advice on standard error when it is imported.
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
    from transformers.utils.chat_template_utils import render_jinja_template

    rendered, _ = render_jinja_template(
        conversations=[messages],
        chat_template=chat.template,
        add_generation_prompt=True,
        bos_token=chat.bos_token or "",
        eos_token=chat.eos_token or "",
    )
    return str(rendered[0])
