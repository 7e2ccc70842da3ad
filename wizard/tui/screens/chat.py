"""Stage 6: talk to the model that is served now."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from textual import work
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import OptionList, Static

from wizard.chat.conversation import Chunk, Conversation, Message, Stats
from wizard.kernel.errors import WizardError
from wizard.kernel.text import plain
from wizard.kernel.units import duration
from wizard.serve.endpoint import Endpoint
from wizard.serve.status import Status
from wizard.tui import background
from wizard.tui.screens.modal import AskScreen, ReaderScreen
from wizard.tui.screens.settings import Settings, SettingsScreen
from wizard.tui.screens.stage import StageScreen
from wizard.tui.widgets.error import ErrorPanel
from wizard.tui.widgets.picker import Picker
from wizard.tui.widgets.prompt import Prompt
from wizard.tui.widgets.turn import Answer, Question
from wizard.tui.words import one_line

_FENCE = re.compile(r"^```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class ChatEnd:
    """How the chat ended, and what was said in it."""

    next: Literal["restart", "another"]
    conversation: Conversation


@dataclass(frozen=True, slots=True)
class ChatView:
    """What is on the screen beside the transcript."""

    conversation: Conversation
    busy: Literal["", "answering", "stopping"] = ""
    stats: Stats | None = None
    """Of the last answer."""
    stopped: bool = False
    """Whether the last answer was stopped by the user."""
    error: WizardError | None = None
    questions: bool = True
    """Whether the offered questions are shown."""


class ChatScreen(StageScreen[ChatEnd]):
    """Dismissed with how it goes on; quitting leaves the wizard from here."""

    STAGE = 5
    HELP = (
        "You talk to Triton on this machine; nothing leaves it. Enter sends, Esc stops an answer, the settings decide "
        "how the model answers. Figures are measured here: time to the first token, then tokens per second."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "stop", "Stop", priority=True),
        Binding("enter", "ask", "Ask this", key_display="⏎"),
        Binding("escape", "write", "Write"),
        Binding("ctrl+r", "again", "Answer again", priority=True),
        Binding("f5", "restart", "Restart the server"),
        Binding("ctrl+l", "clear", "Clear", priority=True),
        Binding("ctrl+t", "settings", "Settings", priority=True),
        Binding("ctrl+y", "copy", "Copy answer", priority=True),
        Binding("ctrl+b", "copy_code", "Copy code", priority=True),
        Binding("ctrl+o", "elsewhere", "Use elsewhere", priority=True),
        Binding("pageup", "scroll(-1)", "Scroll", priority=True, key_display="PgUp PgDn"),
        Binding("pagedown", "scroll(1)", "Scroll", priority=True, show=False),
    ]
    view: reactive[ChatView] = reactive(ChatView(Conversation()))

    def __init__(
        self,
        endpoint: Endpoint,
        send: Callable[[Conversation], AsyncGenerator[Chunk, None]],
        stop: Callable[[], Status],
        *,
        conversation: Conversation | None = None,
        questions: tuple[str, ...] = (),
    ) -> None:
        super().__init__()
        self._endpoint, self._send, self._stop, self._questions = endpoint, send, stop, questions
        self.set_reactive(ChatScreen.view, ChatView(conversation or Conversation()))

    def body(self) -> list[Widget]:
        """Transcript, offered questions, figures, and the field to write in."""
        name = f"{one_line(self._endpoint.name)} on {self._endpoint.http}"
        picker = Picker(id="questions")
        picker.border_title = "It knows these questions"
        return [
            Static(Content(f"Chat with {name}"), classes="heading"),
            VerticalScroll(id="transcript", can_focus=False),
            ErrorPanel(),
            picker,
            Prompt(),
            Static(id="figures"),
        ]

    async def on_mount(self) -> None:
        """Show what was said before; be ready to write."""
        self.query_one("#questions", Picker).show([Content(plain(text)) for text in self._questions], None)
        for message in self.view.conversation.messages:
            await self._say(message)
        self.query_one(Prompt).focus()

    # What the user does

    def on_prompt_sent(self, message: Prompt.Sent) -> None:
        """Send what was written, unless an answer is under way."""
        if not self.view.busy:
            self.query_one(Prompt).text = ""
            self._ask(message.text)

    def on_prompt_previous(self) -> None:
        """Bring the last question back to be changed."""
        asked = [message.content for message in self.view.conversation.messages if message.role == "user"]
        if asked:
            prompt = self.query_one(Prompt)
            prompt.text = asked[-1]
            prompt.move_cursor(prompt.document.end)

    def on_prompt_offered(self) -> None:
        """Go to the offered questions."""
        if self._questions:
            self.view = replace(self.view, questions=True)
            picker = self.query_one("#questions", Picker)
            picker.highlighted = picker.highlighted or 0
            picker.focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Ask the chosen question."""
        self.query_one(Prompt).focus()
        if not self.view.busy:
            self._ask(self._questions[event.option_index])

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Each key only while it makes sense."""
        view, idle = self.view, not self.view.busy
        answered = any(message.role == "assistant" for message in view.conversation.messages)
        in_list = isinstance(self.focused, Picker)
        return {
            "stop": view.busy == "answering",
            "write": in_list and idle,
            "ask": in_list and idle,
            "back": False,
            "again": idle and any(message.role == "user" for message in view.conversation.messages),
            "clear": idle and bool(view.conversation.messages),
            "settings": idle,
            "copy": answered,
            "copy_code": bool(_code(view.conversation)),
            "restart": idle and view.error is not None,
        }.get(action, True)

    def action_write(self) -> None:
        """Back to the field."""
        self.query_one(Prompt).focus()

    def action_stop(self) -> None:
        """Stop the answer; closing the stream cancels it in the server."""
        self.workers.cancel_group(self, "answer")

    async def action_again(self) -> None:
        """Answer the last question once more."""
        messages = list(self.view.conversation.messages)
        while messages and messages[-1].role != "user":
            messages.pop()
        last = messages.pop().content
        self.view = replace(self.view, conversation=replace(self.view.conversation, messages=tuple(messages)))
        await self._show_all()
        self._ask(last)

    async def action_clear(self) -> None:
        """Forget the conversation; settings and system prompt stay."""
        kept = tuple(message for message in self.view.conversation.messages if message.role == "system")
        self.view = ChatView(replace(self.view.conversation, messages=kept))
        await self._show_all()

    @work(exclusive=True, group="ask")
    async def action_settings(self) -> None:
        """Change how the model answers."""
        conversation = self.view.conversation
        system = next((one.content for one in conversation.messages if one.role == "system"), "")
        new = await self.app.push_screen_wait(SettingsScreen(Settings(conversation.sampling, system)))
        if new is not None:
            rest = tuple(one for one in conversation.messages if one.role != "system")
            first = (Message("system", new.system),) if new.system else ()
            self.view = replace(self.view, conversation=Conversation(first + rest, new.sampling))
            await self._show_all()

    def action_copy(self) -> None:
        """Copy the last answer."""
        answers = [message.content for message in self.view.conversation.messages if message.role == "assistant"]
        self._copy(answers[-1], "answer")

    def action_copy_code(self) -> None:
        """Copy the last block of code."""
        self._copy(_code(self.view.conversation), "code")

    def _copy(self, text: str, what: str) -> None:
        self.app.copy_to_clipboard(text)
        self.notify(f"The last {what} is in the clipboard", timeout=2)

    def action_elsewhere(self) -> None:
        """Show how other programs reach this server."""
        asked = [message.content for message in self.view.conversation.messages if message.role == "user"]
        self.app.push_screen(
            ReaderScreen("Use it from elsewhere on this machine", elsewhere(self._endpoint, (asked or ["Hello"])[-1]))
        )

    def action_scroll(self, pages: int) -> None:
        """Scroll the transcript while the field keeps the focus."""
        transcript = self.query_one("#transcript", VerticalScroll)
        (transcript.scroll_page_up if pages < 0 else transcript.scroll_page_down)(animate=False)

    def action_restart(self) -> None:
        """Start the server again and come back."""
        self.dismiss(ChatEnd("restart", self.view.conversation))

    @work(exclusive=True, group="ask")
    async def leave(self) -> None:  # type: ignore[override]
        """Ask what becomes of the server."""
        answers = [
            ("leave", "Quit and leave the server running (come back with `triton-wizard`)"),
            ("stop", "Quit and stop the server"),
            ("another", "Set up another model; this server goes on running"),
            ("stay", "Stay here"),
        ]
        answer = await self.app.push_screen_wait(AskScreen(f"{self._endpoint.name} is running. What now?", answers))
        if answer == "leave":
            self.app.exit(0)
        elif answer == "another":
            self.dismiss(ChatEnd("another", self.view.conversation))
        elif answer == "stop":
            self.workers.cancel_group(self, "answer")
            self.view = replace(self.view, busy="stopping", error=None)
            try:
                await background.call(self._stop)
            except WizardError as error:
                self.view = replace(self.view, busy="", error=error)
            else:
                self.app.exit(0)

    # What the model does

    @work(exclusive=True, group="answer")
    async def _ask(self, text: str) -> None:
        """Send one more question and show the answer while it comes."""
        asked = self.view.conversation.said("user", text)
        self.view = replace(self.view, conversation=asked, busy="answering", stats=None, stopped=False, error=None, questions=False)
        transcript = self.query_one("#transcript", VerticalScroll)
        await transcript.mount(Question(text))
        answer = Answer()
        await transcript.mount(answer)
        transcript.anchor()
        stats: Stats | None = None
        error: WizardError | None = None
        try:
            async with aclosing(self._send(asked)) as chunks:
                async for chunk in chunks:
                    await answer.add(chunk.text)
                    stats = chunk.stats or stats
        except WizardError as failed:
            error = failed
        finally:
            # also when the user stopped it: this task is cancelled then, so the rest runs in the screen's own
            self.call_later(self._answered, answer, stats, error)

    async def _answered(self, answer: Answer, stats: Stats | None, error: WizardError | None) -> None:
        text = await answer.finish()
        conversation = self.view.conversation
        if text:
            conversation = conversation.said("assistant", text)
        stopped = stats is None and error is None
        busy = "" if self.view.busy == "answering" else self.view.busy
        self.view = replace(self.view, conversation=conversation, busy=busy, stats=stats, stopped=stopped, error=error)

    async def _say(self, message: Message) -> None:
        transcript = self.query_one("#transcript", VerticalScroll)
        if message.role == "user":
            await transcript.mount(Question(message.content))
        elif message.role == "assistant":
            answer = Answer()
            await transcript.mount(answer)
            await answer.add(message.content)
            await answer.finish()
        else:
            await transcript.mount(Static(Content(f"System: {plain(message.content)}"), classes="system"))

    async def _show_all(self) -> None:
        await self.query_one("#transcript").remove_children()
        for message in self.view.conversation.messages:
            await self._say(message)

    def on_descendant_focus(self) -> None:
        """Some keys depend on where the focus is."""
        self.refresh_bindings()

    def watch_view(self, view: ChatView) -> None:
        """Show the state."""
        self.query_one(ErrorPanel).show(view.error)
        self.query_one("#questions").display = view.questions and bool(self._questions)
        self.query_one("#figures", Static).update(_figures(view))
        self.refresh_bindings()


def elsewhere(endpoint: Endpoint, question: str) -> str:
    """How to ask the server from a shell and from Python, as lines to copy."""
    url = f"{endpoint.http}/v2/models/{endpoint.model}/generate_stream"
    body = json.dumps({"text_input": question, "max_tokens": 256}, ensure_ascii=False).replace("'", "'\\''")
    return (
        f"curl -N {url} \\\n  -d '{body}'\n\n"
        f"triton-wizard chat {endpoint.name} -m '…'\n\n"
        f"HTTP  {endpoint.http}\ngRPC  {endpoint.grpc}\n"
        f"Metrics (Prometheus)  http://{endpoint.host}:{endpoint.ports.metrics}/metrics\n"
        f"Log  {endpoint.log}"
    )


def _code(conversation: Conversation) -> str:
    answers = [message.content for message in conversation.messages if message.role == "assistant"]
    blocks = [block for answer in answers for block in _FENCE.findall(answer)]
    return str(blocks[-1]) if blocks else ""


def _figures(view: ChatView) -> Content:
    sampling = view.conversation.sampling
    how = f"temperature {sampling.temperature:g} · top-p {sampling.top_p:g} · at most {sampling.max_tokens} tokens"
    if view.busy == "answering":
        return Content.assemble(("◌ answering …  Esc stops it", "$warning"))
    if view.busy == "stopping":
        return Content.assemble(("◌ stopping the server …", "$warning"))
    if view.stats is not None:
        return Content.assemble((_measured(view.stats), "$accent"), ("  ·  " + how, "$text-muted"))
    if view.stopped and view.conversation.messages:
        return Content.assemble(("■ stopped", "$warning"), ("  ·  " + how, "$text-muted"))
    return Content.assemble((how, "$text-muted"))


def _measured(stats: Stats) -> str:
    rate = f"{stats.tokens_per_s:.1f} tokens/s" if stats.tokens_per_s is not None else ""
    first = f"first token {duration(stats.ttft_s) if stats.ttft_s and stats.ttft_s >= 1 else f'{1000 * (stats.ttft_s or 0):.0f} ms'}"
    end = {"length": "cut at the most tokens allowed", "gate": "answered by the confidence gate", "cancelled": "stopped"}
    parts = [rate, first if stats.ttft_s is not None else "", f"{stats.tokens} tokens", end.get(stats.finish, "")]
    return " · ".join(part for part in parts if part)
