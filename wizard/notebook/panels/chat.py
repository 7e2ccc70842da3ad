"""A chat box: the conversation, a line for the question, Send and Stop."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import Future
from contextlib import aclosing
from typing import Any

from wizard.chat.chunk import Chunk, Text
from wizard.chat.conversation import Message, Stats
from wizard.kernel.errors import WizardError
from wizard.kernel.language import tr
from wizard.notebook.background import Background
from wizard.notebook.html import TAIL, answer_html, error_html, stats_html, turn_html
from wizard.notebook.panels.panel import Panel, html_place


class ChatPanel(Panel):
    """The panel.

    Args:
        background: Where answers are streamed.
        ask: Streams the answer to a question, and remembers both.
        forget: Begins a new conversation.
        before: The conversation so far.
        suggested: Questions to offer.
    """

    def __init__(
        self,
        background: Background,
        ask: Callable[[str], AsyncGenerator[Chunk, None]],
        forget: Callable[[], None],
        before: Sequence[Message],
        suggested: Sequence[str],
    ) -> None:
        from ipywidgets import Button, Combobox, HBox, Layout, VBox

        self._background, self._ask, self._forget = background, ask, forget
        self._turns = _turns(before)
        self._shown, self._place = html_place()
        self._question = Combobox(placeholder=tr("Your question"), options=suggested, layout=Layout(width="24em"))
        self._question.on_msg(self._message)
        self._send = Button(description=tr("Send"), icon="paper-plane", button_style="primary")
        self._stop = Button(description=tr("Stop"), icon="stop", disabled=True)
        self._new = Button(description=tr("New chat"), icon="plus")
        self._send.on_click(lambda _: self.send())
        self._stop.on_click(lambda _: self._future.cancel())
        self._new.on_click(lambda _: self._begin())
        line = HBox([self._question, self._send, self._stop, self._new], layout=Layout(flex_flow="row wrap"))
        super().__init__(VBox([self._shown, line]), self._html, 'journey.chat("What is Triton?")')
        self._place.show(self._html(), now=True)

    def send(self) -> None:
        """Send the question of the input line, unless an answer is streaming or there is none."""
        question = self._question.value.strip()
        if question and not self._send.disabled:
            self._question.value = ""
            self._answering(True)
            self._future: Future[None] = self._background.spawn(self._answer(question))

    def _message(self, _widget: Any, content: dict[str, Any], _buffers: Any) -> None:
        """Enter, as the widget's front end reports it."""
        if content.get("event") == "submit":
            self.send()

    def _begin(self) -> None:
        if not self._send.disabled:
            self._forget()
            self._turns = []
            self._place.show("", now=True)

    async def _answer(self, question: str) -> None:
        text, stats, end = Text(), None, ""
        self._turns.append(turn_html(question, ""))
        self._place.show(self._html(), now=True)
        try:
            async with aclosing(self._ask(question)) as chunks:
                async for chunk in chunks:
                    text.add(chunk)
                    stats = chunk.stats or stats
                    self._turns[-1] = turn_html(question, answer_html(text.answer, text.thought))
                    self._place.show(self._html(), now=False)
        except WizardError as error:
            end = error_html(error)
        finally:
            self._finish(question, text, stats, end)

    def _finish(self, question: str, text: Text, stats: Stats | None, error: str) -> None:
        answer = answer_html(text.answer, text.thought, stats)
        self._turns[-1] = turn_html(question, answer + (error or stats_html(stats)))
        self._place.show(self._html(), now=True)
        self._answering(False)

    def _answering(self, answering: bool) -> None:
        self._send.disabled, self._stop.disabled = answering, not answering

    def _html(self) -> str:
        return f'<div style="{TAIL}28em"><div>{"".join(self._turns)}</div></div>'


def _turns(messages: Sequence[Message]) -> list[str]:
    pairs = zip(messages[::2], messages[1::2], strict=False)
    return [turn_html(asked.content, answer_html(answer.content, answer.thought)) for asked, answer in pairs]
