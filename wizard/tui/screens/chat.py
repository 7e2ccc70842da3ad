"""Stage 6: talk to the model that is served now."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import OptionList, Static

from wizard.chat.conversation import Chunk, Conversation, Message, Sampling, Stats
from wizard.chat.saving import FILE, save, target
from wizard.chat.template import ServedModel
from wizard.kernel.errors import WizardError
from wizard.kernel.text import one_line, plain
from wizard.kernel.values import to_data
from wizard.plan.questions import CHAT
from wizard.serve.endpoint import Endpoint
from wizard.serve.status import Status
from wizard.tui import background
from wizard.tui.chat_view import ChatEnd, ChatView, code, elsewhere, figures
from wizard.tui.screens.form import FormScreen
from wizard.tui.screens.modal import AskScreen, ReaderScreen
from wizard.tui.screens.stage import StageScreen
from wizard.tui.widgets.error import ErrorPanel
from wizard.tui.widgets.picker import Picker
from wizard.tui.widgets.prompt import Prompt
from wizard.tui.widgets.turn import Answer, Question


class ChatScreen(StageScreen[ChatEnd]):
    """Dismissed with how it goes on; quitting leaves the wizard from here."""

    STAGE = 5
    HELP = (
        "You talk to Triton on this machine; nothing leaves it. Enter sends, Esc stops an answer, the settings decide "
        "how the model answers. Figures are measured here: tokens per second, and the time to the first token."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "stop", "Stop", priority=True),
        Binding("escape", "write", "Write"),
        Binding("escape", "back", "Back"),
        Binding("ctrl+r", "again", "Again", priority=True),
        Binding("f5", "restart", "Restart the server"),
        Binding("ctrl+l", "clear", "Clear", priority=True),
        Binding("ctrl+t", "settings", "Settings", priority=True),
        Binding("ctrl+s", "save", "Save", priority=True),
        Binding("ctrl+y", "copy", "Copy", priority=True),
        Binding("ctrl+b", "copy_code", "Code", priority=True),
        Binding("ctrl+o", "elsewhere", "Endpoint", priority=True),
        Binding("pageup", "scroll(-1)", "Scroll", priority=True, key_display="PgUp/Dn"),
        Binding("pagedown", "scroll(1)", "Scroll", priority=True, show=False),
    ]
    view: reactive[ChatView] = reactive(ChatView(Conversation()))

    def __init__(
        self,
        endpoint: Endpoint,
        send: Callable[[Conversation], AsyncGenerator[Chunk, None]],
        stop: Callable[[], Status],
        served: Callable[[], ServedModel],
        conversation: Conversation | None = None,
    ) -> None:
        super().__init__()
        self._endpoint, self._send, self._stop, self._served = endpoint, send, stop, served
        self._file = f"{endpoint.name}.md"
        """Where the conversation is saved; what the user typed last time is offered again."""
        self.set_reactive(ChatScreen.view, ChatView(conversation or Conversation()))

    def compose(self) -> ComposeResult:
        """Transcript, offered questions, the field to write in, and figures."""
        name = f"{one_line(self._endpoint.name)} on {self._endpoint.http}"
        welcome = "This is your own model: Triton serves it on this machine, and nothing that you write leaves it."
        yield from self.framed(
            Static(Content(f"Chat with {name}"), classes="heading"),
            VerticalScroll(Static(welcome, id="welcome"), id="transcript", classes="reading", can_focus=False),
            ErrorPanel(),
            Picker(id="questions"),
            Prompt(),
            Static(id="figures"),
        )

    async def on_mount(self) -> None:
        """Show what was said before; be ready to write; find out what is served."""
        self.mutate_reactive(ChatScreen.view)  # it was set before anything was there to show it
        self.query_one("#transcript", VerticalScroll).anchor()
        self.query_one(Prompt).focus()
        self._meet()
        for message in self.view.conversation.messages:
            await self._say(message)

    @work(exclusive=True, group="served")
    async def _meet(self) -> None:
        try:
            served = await background.call(self._served)
        except WizardError as error:
            self.view = replace(self.view, error=error)
            return
        picker = self.query_one("#questions", Picker)
        picker.border_title = f"{len(served.questions)} questions that it knows"
        picker.show([Content(plain(text)) for text in served.questions], None)
        self.view = replace(self.view, served=served)

    # What the user does

    def on_prompt_sent(self, message: Prompt.Sent) -> None:
        """Send what was written, unless an answer is under way."""
        if not self.view.busy:
            self.query_one(Prompt).text = ""
            self._ask(message.text)

    def on_prompt_previous(self) -> None:
        """Bring the last question back to be changed."""
        if asked := self.view.said("user"):
            prompt = self.query_one(Prompt)
            prompt.text = asked[-1]
            prompt.move_cursor(prompt.document.end)

    def on_prompt_offered(self) -> None:
        """Go to the offered questions."""
        if self.view.served and self.view.served.questions:
            self.view = replace(self.view, questions=True)
            picker = self.query_one("#questions", Picker)
            picker.highlighted = picker.highlighted or 0
            picker.focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Ask the chosen question."""
        self.query_one(Prompt).focus()
        if not self.view.busy and self.view.served:
            self._ask(self.view.served.questions[event.option_index])

    def check_action(self, action: str, _parameters: tuple[object, ...]) -> bool | None:
        """Each key only while it makes sense."""
        view, idle = self.view, not self.view.busy
        in_list = isinstance(self.focused, Picker)
        return {
            "stop": view.busy == "answering",
            "write": in_list and idle,
            "back": idle and not in_list,
            "again": idle and bool(view.said("user")),
            "clear": idle and bool(view.said("user")),
            "settings": idle,
            "save": idle and bool(view.said("user")),
            "copy": bool(view.said("assistant")),
            "copy_code": bool(code(view)),
            "restart": idle and view.error is not None,
            "scroll": bool(view.conversation.messages) or self.hides_something,
        }.get(action, True)

    def action_write(self) -> None:
        """Back to the field."""
        self.query_one(Prompt).focus()

    def action_back(self) -> None:
        """Ask how it goes on; another model is one of the answers."""
        self.leave()

    def action_stop(self) -> None:
        """Stop the answer; closing the stream cancels it in the server."""
        self.workers.cancel_group(self, "answer")

    async def action_again(self) -> None:
        """Answer the last question once more."""
        messages = self.view.conversation.messages
        last = max(index for index, message in enumerate(messages) if message.role == "user")
        self.view = replace(self.view, conversation=replace(self.view.conversation, messages=messages[:last]))
        await self._show_all()
        self._ask(messages[last].content)

    async def action_clear(self) -> None:
        """Forget the conversation; settings and system prompt stay."""
        kept = tuple(message for message in self.view.conversation.messages if message.role == "system")
        self.view = ChatView(replace(self.view.conversation, messages=kept), self.view.served)
        await self._show_all()

    @work(exclusive=True, group="form")
    async def action_settings(self) -> None:
        """Change how the model answers."""
        old = self.view.conversation
        system = next((message.content for message in old.messages if message.role == "system"), None)
        answers = await self.app.push_screen_wait(
            FormScreen("How the model answers", CHAT, {**to_data(old.sampling), "system": system})
        )
        if answers is None:
            return
        first = answers.pop("system", None)
        rest = tuple(message for message in old.messages if message.role != "system")
        messages = (Message("system", str(first)), *rest) if first else rest
        self.view = replace(self.view, conversation=Conversation(messages, Sampling(**answers)))  # type: ignore[arg-type]
        await self._show_all()

    @work(exclusive=True, group="form")
    async def action_save(self) -> None:
        """Write the conversation to a file; one that is there is written over only after a question."""
        answers = await self.app.push_screen_wait(FormScreen("Save the conversation", [FILE], {"file": self._file}))
        if not answers:
            return
        self._file = str(answers[FILE.name])
        path, there = target(self._file)
        if there:
            choices = [("keep", "Keep it"), ("overwrite", "Write over it")]
            question = AskScreen(f"{path} is there already. Write over it?", choices)
            if await self.app.push_screen_wait(question) != "overwrite":
                return
        saving = partial(save, path, self._endpoint.model, self.view.conversation, overwrite=there)
        try:
            await background.call(saving)
        except WizardError as error:
            self.app.notify(f"{error.what}\n{error.todo}", title=error.code, severity="error", markup=False)
        else:
            self.notify(f"Saved to {plain(str(path))}", markup=False)

    def action_copy(self) -> None:
        """Copy the last answer."""
        self._copy(self.view.said("assistant")[-1], "answer")

    def action_copy_code(self) -> None:
        """Copy the last block of code."""
        self._copy(code(self.view), "code")

    def _copy(self, text: str, what: str) -> None:
        self.app.copy_to_clipboard(text)
        self.notify(f"The last {what} is in the clipboard", timeout=2)

    def action_elsewhere(self) -> None:
        """Show how other programs reach this server."""
        text = elsewhere(self._endpoint, (self.view.said("user") or ["What is Triton?"])[-1])
        self.app.push_screen(ReaderScreen("Use it from elsewhere", text))

    def action_restart(self) -> None:
        """Start the server again and come back."""
        self.dismiss(ChatEnd("restart", self.view.conversation))

    def leave(self) -> None:
        """Ask what becomes of the server."""
        self._leave()

    @work(exclusive=True, group="form")
    async def _leave(self) -> None:
        answers = [
            ("leave", "Quit; the server goes on running"),
            ("stop", "Quit and stop the server"),
            ("another", "Set up another model; the server goes on running"),
            ("stay", "Stay here"),
        ]
        question = f"What becomes of the server {one_line(self._endpoint.name)}?"
        answer = await self.app.push_screen_wait(AskScreen(question, answers))
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
        alternating = self.view.conversation.without_open_question()
        if alternating != self.view.conversation:
            self.view = replace(self.view, conversation=alternating)
            await self._show_all()
        asked = alternating.said("user", text)
        self.view = ChatView(asked, self.view.served, busy="answering", questions=False)
        transcript = self.query_one("#transcript", VerticalScroll)
        answer = Answer()
        await transcript.mount_all([Question(text), answer])
        transcript.anchor()
        stats: Stats | None = None
        error: WizardError | None = None
        try:
            async with aclosing(self._send(asked)) as chunks:
                async for chunk in chunks:
                    await answer.add(chunk.text)
                    stats = chunk.stats or stats
                    self.view = replace(self.view, tokens=chunk.tokens, note=chunk.note or self.view.note)
        except WizardError as failed:
            error = failed
        finally:
            # Esc cancels this task: what is left to do is done by the screen's own.
            self.call_later(self._answered, answer, stats, error)

    async def _answered(self, answer: Answer, stats: Stats | None, error: WizardError | None) -> None:
        text = await answer.finish()
        if not text:
            await answer.remove()
        view = self.view
        self.view = replace(
            view,
            conversation=view.conversation.said("assistant", text) if text else view.conversation,
            busy="" if view.busy == "answering" else view.busy,
            stats=stats,
            stopped=stats is None and error is None,
            error=error,
        )

    async def _say(self, message: Message) -> None:
        turn: Widget
        if message.role == "user":
            turn = Question(message.content)
        elif message.role == "assistant":
            turn = Answer(message.content)
        else:
            turn = Static(Content(f"System: {plain(message.content)}"), classes="system")
        await self.query_one("#transcript").mount(turn)

    async def _show_all(self) -> None:
        await self.query_one("#transcript").remove_children("Question, Answer, .system")
        for message in self.view.conversation.messages:
            await self._say(message)

    def on_descendant_focus(self) -> None:
        """Some keys depend on where the focus is."""
        self.refresh_bindings()

    def watch_view(self, old: ChatView, view: ChatView) -> None:
        """Show the state."""
        self.query_one("#figures", Static).update(figures(view))
        if replace(old, tokens=view.tokens) == view and old != view:
            return  # a token came: nothing else changed
        self.query_one(ErrorPanel).show(view.error)
        self.query_one("#welcome").display = not view.conversation.messages
        self.query_one("#questions").display = view.questions and bool(view.served and view.served.questions)
        self.query_one(Prompt).set_arrows(
            back=bool(view.said("user")), offered=bool(view.served and view.served.questions)
        )
        if view.note and view.note != old.note:
            self.notify(view.note, markup=False)
        self.refresh_bindings()
