"""Models that think before they answer: their thoughts, as ``reasoning_content`` (vLLM, DeepSeek), and how much they
think: OpenAI's ``reasoning_effort`` and vLLM's ``chat_template_kwargs``.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from wizard.chat.ask import Ask, Piece
from wizard.chat.conversation import thinking_problem
from wizard.chat.served import ServedModel
from wizard.chat.thinking import Splitter
from wizard.chat.thinking_modes import modes, variables
from wizard.gateway.checked import Checked
from wizard.gateway.faults import Fault, unsupported

EFFORT = "reasoning_effort"


class TemplateVariables(Checked, extra="forbid"):
    """``chat_template_kwargs``: only the variables that switch thinking, in any of the names that programs send."""

    enable_thinking: bool | None = None
    thinking: bool | None = None
    thinking_budget: int | None = None
    reasoning_effort: str | None = None


def mode_of(effort: str | None, given: TemplateVariables | None) -> str | None:
    """How much the model shall think, as in `wizard.chat.conversation.Sampling`; None: the client gave nothing.

    Raises:
        Fault: TW-G03 two values contradict each other, or one is none that any model knows.
    """
    given = given or TemplateVariables()
    wanted = {"off" if each == "none" else each for each in (effort, given.reasoning_effort) if each is not None}
    wanted |= {"on" if each else "off" for each in (given.enable_thinking, given.thinking) if each is not None}
    wanted |= {str(given.thinking_budget)} if given.thinking_budget is not None else set()
    if len(wanted) > 1:
        wanted.discard("on")  # a level and a budget imply it
    if len(wanted) > 1:
        raise Fault("TW-G03", 400, f"{EFFORT} and chat_template_kwargs contradict each other", EFFORT)
    mode = next(iter(wanted), None)
    if mode is not None and (wrong := thinking_problem(mode)):
        raise Fault("TW-G03", 400, f"{EFFORT} {mode[:40]!r} is out of range. {wrong}", EFFORT)
    return mode


def switched(served: ServedModel, mode: str | None) -> dict[str, Any]:
    """The variables of the model's template for ``mode``.

    Raises:
        Fault: TW-G04 the template has no such mode. ``off`` needs none if the model has no thoughts.
    """
    given = variables(served.chat, mode) if served.chat else {}
    if mode is None or given or (mode == "off" and not served.formats):
        return given
    names = modes(served.chat).names if served.chat else ""
    why = f"this model's chat template has no thinking mode {mode!r}"
    raise unsupported(EFFORT, f"{why}, only: {names}" if names else why)


def splitter_of(ask: Ask, served: ServedModel) -> Splitter | None:
    """What splits the answer to ``ask``; None if there is no thought: a schema guides the answer from its beginning.

    Raises:
        UsageError: See `wizard.chat.thinking.formats_of`.
    """
    return Splitter(served.formats, ask.prompt) if served.formats and ask.json_schema is None else None


async def split(pieces: AsyncGenerator[Piece, None], splitter: Splitter) -> AsyncGenerator[Piece, None]:
    """``pieces`` with the thought apart from the text."""
    async with aclosing(pieces) as stream:
        async for piece in stream:
            new = splitter.feed(piece.text)
            if piece.finish:
                new += splitter.end()
            yield replace(piece, text=new.answer, thought=piece.thought + new.thought)
