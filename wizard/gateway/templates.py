"""Prompts from chat templates, each rendered by a process of its own, while other requests are answered."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from wizard.chat.rendering import failed
from wizard.chat.templates import process
from wizard.kernel.fenced import FencedError
from wizard.kernel.fenced_process import FencedProcess, RejectedError

MOST = 8
"""Processes: that of the template that was used least recently ends first."""


@dataclass(frozen=True, slots=True)
class _Template:
    process: FencedProcess
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(frozen=True, slots=True)
class Templates:
    """The processes of all templates."""

    _templates: dict[str, _Template] = field(default_factory=dict)

    async def prompt(self, template: str, question: bytes) -> str:
        """The prompt that ``template`` makes for a question of `wizard.chat.rendering.question`.

        Raises:
            ModelError: TW-C06 if the template rejects the messages, TW-C50 if it takes too much time or memory.
        """
        used = self._templates.pop(template, None) or _Template(process(template))
        self._templates[template] = used  # the most recent one is the last
        if len(self._templates) > MOST:
            self._templates.pop(next(iter(self._templates)))  # with its last question it ends
        try:
            async with used.turn:
                return str((await used.process.ask_aside(question))["text"])
        except (RejectedError, FencedError) as error:
            raise failed(error) from error

    def end(self) -> None:
        """End all processes."""
        for each in self._templates.values():
            each.process.end()
