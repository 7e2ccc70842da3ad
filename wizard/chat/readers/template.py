"""Chat templates as Jinja runs them: a program that renders one template, again and again, within limits.

Templates are programs that come with models, so they run in Jinja's sandbox, and in this process, which ends if one
takes too long or too much memory (`wizard.kernel.fenced_process` starts it again). It is told the template, and then
answers with the results of `answer`.

Beyond Jinja they may use what transformers
provides (huggingface.co/docs/transformers, "Writing a chat template"; ``chat_template_utils.py`` of transformers 5.20
to 5.23), because they are written for it; `tests/chat/test_rendering.py` compares the two. transformers itself is not
imported: that takes two thirds of a second (`benchmarks/chat_start.py`).
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from wizard.chat.readers.serving import serve

if TYPE_CHECKING:
    from jinja2 import Environment, Template

MEMORY = 256 << 20
"""Bytes of address space: Python with Jinja takes 27 MiB."""
SECONDS = 0.75
"""Of processor time, to render a conversation; the largest ones take a tenth of it."""
LONGEST = 32 << 20
"""Characters of a prompt."""


def prepare(template: str) -> Any:
    """The function that answers, for ``template``."""
    _environment()  # while the conversation is still being written
    return partial(answer, template)


def answer(
    template: str,
    do: Literal["render", "apply", "compared", "try"],
    messages: Sequence[dict[str, Any]] = (),
    variables: Mapping[str, Any] | None = None,
    conversations: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    """``{"text": …}``, ``{"names": …}`` for ``compared``, or nothing for ``try``.

    ``render`` is ``apply``, and if the template has no system role, the system prompt before the first question.
    ``try`` renders each of ``conversations`` (``messages`` and other variables): only limits matter, and they are those
    of a single question.

    Raises:
        Exception: Any error of the template.
    """
    from jinja2 import TemplateError

    if do == "compared":
        return {"names": {name: sorted(texts) for name, texts in compared(template).items()}}
    if do == "try":
        for each in conversations:
            _try(template, each)
        return {}
    try:
        text = apply(template, messages, **(variables or {}))
    except TemplateError:
        if do == "apply" or len(messages) < 2 or messages[0]["role"] != "system":
            raise
        system, first, *rest = messages
        folded = {"role": first["role"], "content": f"{system['content']}\n\n{first['content']}"}
        text = apply(template, [folded, *rest], **(variables or {}))
    if len(text) > LONGEST:
        raise MemoryError
    return {"text": text}


def _try(template: str, conversation: dict[str, Any]) -> None:
    """Render ``conversation``; that the template rejects it does not matter.

    Raises:
        MemoryError: It takes too much memory.
    """
    try:
        text = apply(template, **conversation)
    except MemoryError:
        raise
    except Exception:
        return
    if len(text) > LONGEST:
        raise MemoryError


def compared(template: str) -> Mapping[str, frozenset[str]]:
    """The variables that ``template`` reads, and the texts with which it compares each.

    Raises:
        jinja2.TemplateError: It is not a template.
    """
    from jinja2 import meta, nodes

    tree = _environment().parse(template)
    texts: dict[str, set[str]] = {name: set() for name in meta.find_undeclared_variables(tree)}
    for comparison in tree.find_all(nodes.Compare):
        for name in {each.name for each in comparison.find_all(nodes.Name)} & texts.keys():
            for each in comparison.find_all(nodes.Const):  # a list of constants is one constant
                values = each.value if isinstance(each.value, list) else [each.value]
                texts[name] |= {value for value in values if isinstance(value, str)}
    return {name: frozenset(values) for name, values in texts.items()}


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


if __name__ == "__main__":
    serve(prepare, memory=MEMORY, seconds=SECONDS)
