"""Render a conversation as a prompt in the model's own chat template, with Jinja.

Chat templates are programs that come with models, so they run in Jinja's sandbox. Beyond Jinja they may use what
transformers provides (huggingface.co/docs/transformers, "Writing a chat template"; ``chat_template_utils.py`` of
transformers 5.20 to 5.23), because they are written for it; `tests/chat/test_rendering.py` compares the two.
transformers itself is not imported: that takes two thirds of a second (`benchmarks/chat_start.py`).
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NoReturn

from wizard.chat import ask
from wizard.chat.conversation import Conversation
from wizard.chat.served import ServedModel
from wizard.model.chat_format import ChatFormat
from wizard.model.special_tokens import broken, pattern

if TYPE_CHECKING:
    from jinja2 import Environment, Template


def render(conversation: Conversation, served: ServedModel) -> str:
    """The prompt for the conversation's next answer.

    Special tokens in the user's text are broken by a space: the server interprets them, and a message must not end its
    own turn. If a template has no system role, the system prompt is put before the first question. A base model, which
    has no template, gets the last message unchanged.

    Raises:
        ModelError: TW-C06 if the template rejects the messages.
    """
    return render_turns([{"role": each.role, "content": each.content} for each in conversation.messages], served)


def render_turns(
    turns: Sequence[Mapping[str, Any]], served: ServedModel, tools: Sequence[Mapping[str, Any]] | None = None
) -> str:
    """As `render`, for messages with all that OpenAI's have, and the functions that the model may call.

    Args:
        turns: Messages: ``role``, ``content`` (a text), and what else the template may read, such as ``tool_calls``.
        served: The model.
        tools: Descriptions of functions in OpenAI's format; None: the model may call none.

    Raises:
        ModelError: TW-C06 if the template rejects the messages.
    """
    if served.chat is None:
        return str(turns[-1]["content"])
    from jinja2 import TemplateError

    special = pattern(served.chat)
    messages = plain_turns(turns, special)
    described = plain_turns(tools, special) if tools else None
    try:
        try:
            return _apply(messages, served.chat, described)
        except TemplateError:
            if messages[0]["role"] != "system" or len(messages) < 2:
                raise
            system, first, *rest = messages
            folded = {"role": first["role"], "content": f"{system['content']}\n\n{first['content']}"}
            return _apply([folded, *rest], served.chat, described)
    except Exception as error:  # a template is third-party code: it may fail in any way
        raise ask.bad_template(error) from error


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


def _apply(messages: Sequence[dict[str, Any]], chat: ChatFormat, tools: Sequence[dict[str, Any]] | None) -> str:
    tokens = {"bos_token": chat.bos_token or "", "eos_token": chat.eos_token or ""}
    return apply(chat.template, messages, **tokens, **({"tools": tools} if tools else {}))


def apply(template: str, messages: Sequence[dict[str, Any]], **variables: Any) -> str:
    """Render ``template``.

    Args:
        template: A Jinja template.
        messages: Plain JSON values only: the template could misuse objects with methods.
        variables: Further JSON values; ``tools`` and ``documents`` default to none, and the prompt ends where the
            answer begins.

    Raises:
        Exception: Any error of the template; ``jinja2.TemplateError`` if it rejects the messages.
    """
    given = {"tools": None, "documents": None, "add_generation_prompt": True, **variables}
    return _compiled(template).render(messages=messages, **given)


@functools.lru_cache(maxsize=8)
def _compiled(template: str) -> Template:
    return _environment().from_string(template)


@functools.cache
def _environment() -> Environment:
    """The sandbox with what transformers adds or removes."""
    from jinja2.ext import loopcontrols
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, _generation_blocks()]
    )
    environment.filters["tojson"] = _to_json
    environment.globals.update(
        raise_exception=_raise_exception, strftime_now=_strftime_now, dict=_Dict(), namespace=_namespaces()
    )
    return environment


def _generation_blocks() -> Any:
    """``{% generation %}`` marks the model's own text, for training; here only its content is kept."""
    from jinja2 import nodes
    from jinja2.ext import Extension
    from jinja2.parser import Parser

    class GenerationBlocks(Extension):
        tags = {"generation"}  # noqa: RUF012 - Jinja declares it without ClassVar

        def parse(self, parser: Parser) -> nodes.Node:
            line = next(parser.stream).lineno
            return nodes.Scope(parser.parse_statements(("name:endgeneration",), drop_needle=True), lineno=line)

    return GenerationBlocks


def _namespaces() -> Any:
    """``namespace()`` without names that begin with an underscore: those lead into Python's internals."""
    from jinja2.exceptions import SecurityError
    from jinja2.utils import Namespace

    def checked(name: str) -> None:
        if name.startswith("_"):
            raise SecurityError(f"a namespace takes no name that begins with an underscore: {name!r}")

    class SafeNamespace(Namespace):
        def __init__(*args: Any, **kwargs: Any) -> None:
            self, *others = args
            values = dict(*others, **kwargs)
            for name in values:
                checked(name)
            Namespace.__init__(self, values)

        def __setitem__(self, name: str, value: Any) -> None:
            checked(name)
            super().__setitem__(name, value)

    return SafeNamespace


class _Dict:
    """``dict`` as a function, without the attributes of a class."""

    def __call__(self, *pairs: Any, **values: Any) -> dict[Any, Any]:
        return dict(*pairs, **values)

    def fromkeys(self, keys: Any, value: Any = None) -> dict[Any, Any]:
        return dict.fromkeys(keys, value)


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """JSON as models are trained on it; Jinja's own filter escapes ``<`` as ``\\u003c``."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _raise_exception(message: str) -> NoReturn:
    from jinja2 import TemplateError

    raise TemplateError(message)


def _strftime_now(format: str) -> str:
    return datetime.now().strftime(format)
