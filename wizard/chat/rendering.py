"""A conversation as the prompt that a model was trained with: its chat template, rendered by Jinja.

Chat templates are programs that come with models, so they run in Jinja's sandbox. What they may use beyond Jinja is
what transformers gives them (huggingface.co/docs/transformers, "Writing a chat template"; ``chat_template_utils.py`` of
transformers 5.20 to 5.23), because they are written against that; `tests/chat/test_rendering.py` holds both against
each other. transformers itself is not imported: that takes two thirds of a second (`benchmarks/chat_start.py`).
"""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NoReturn

from wizard.chat import ask
from wizard.chat.conversation import Conversation
from wizard.chat.served import ServedModel
from wizard.model.facts import ChatFormat
from wizard.model.special_tokens import broken, pattern

if TYPE_CHECKING:
    from jinja2 import Environment, Template


def render(conversation: Conversation, served: ServedModel) -> str:
    """The prompt for the conversation's next answer.

    Special tokens that somebody typed are broken by a space: the server reads the prompt's as such, and a message must
    not end its own turn. Where a template has no system role, the system prompt goes before the first question. A base
    model, which has no template, gets the last message as it is.

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


def _apply(messages: Sequence[dict[str, str]], chat: ChatFormat) -> str:
    return apply(chat.template, messages, bos_token=chat.bos_token or "", eos_token=chat.eos_token or "")


def apply(template: str, messages: Sequence[dict[str, Any]], **variables: Any) -> str:
    """Render ``template``.

    Args:
        template: Jinja's language.
        messages: Plain values only (those of JSON): what has methods could be misused by the template.
        variables: More of them, and of the same kind; ``tools`` and ``documents`` are none if left out, and the
            prompt ends where the answer begins.

    Raises:
        Exception: Whatever the template does; ``jinja2.TemplateError`` if it refuses the messages.
    """
    given = {"tools": None, "documents": None, "add_generation_prompt": True, **variables}
    return _compiled(template).render(messages=messages, **given)


@functools.lru_cache(maxsize=8)
def _compiled(template: str) -> Template:
    return _environment().from_string(template)


@functools.cache
def _environment() -> Environment:
    """The sandbox with what transformers adds to it, or takes from it."""
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
    """``{% generation %}`` marks what the model itself says, for training; here it is only its content."""
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
    """``namespace()`` that keeps no name with an underscore in front: those lead into Python's own objects."""
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
    """JSON as models are trained on it; Jinja's own filter would write ``<`` as ``\\u003c``."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _raise_exception(message: str) -> NoReturn:
    from jinja2 import TemplateError

    raise TemplateError(message)


def _strftime_now(format: str) -> str:
    return datetime.now().strftime(format)
