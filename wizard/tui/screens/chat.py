"""Stage 6: talk to the model that is served now. Wiring: what is shown is in the widgets."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.content import Content
from textual.widgets import OptionList, Static

from wizard.chat.conversation import Conversation
from wizard.chat.meter import Meter, Usage
from wizard.kernel.errors import ServerError, WizardError
from wizard.kernel.language import mark, ntr, tr
from wizard.kernel.text import one_line, plain
from wizard.serve.endpoint import Endpoint
from wizard.tui import background, garbage
from wizard.tui.chat_calls import Calls
from wizard.tui.keeping import Keeping
from wizard.tui.screens.chat_kept import ChatKept
from wizard.tui.screens.modal import AskScreen
from wizard.tui.views.chat import ChatEnd, ChatView, gauge
from wizard.tui.widgets.find_here import FindHere
from wizard.tui.widgets.picker import Picker
from wizard.tui.widgets.prompt import Prompt
from wizard.tui.widgets.talk import Talk

TINY = 12
"""Lines of a terminal below which everything that can go goes."""


class ChatScreen(ChatKept):
    """Dismissed with how it goes on; quitting leaves the wizard from here."""

    STAGE = 5
    HELP = mark(
        "You talk to Triton on this machine; nothing leaves it. Enter sends, Esc stops an answer, the settings decide "
        "how the model answers. Figures are measured here: tokens per second, and the time to the first token."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "stop", mark("Stop"), priority=True, id="chat.stop"),
        Binding("escape", "write", mark("Write"), id="chat.write"),
        Binding("escape", "unedit", mark("Leave it as it was"), id="chat.unedit"),
        Binding("escape", "back", mark("Back"), id="chat.back"),
        Binding("ctrl+r", "again", mark("Again"), priority=True, id="chat.again"),
        Binding("ctrl+e", "edit", mark("Edit"), priority=True, id="chat.edit"),
        Binding("f5", "restart", mark("Restart the server"), id="chat.restart"),
        Binding("ctrl+y", "copy", mark("Copy"), priority=True, id="chat.copy"),
        Binding("ctrl+b", "copy_code", mark("Code"), priority=True, id="chat.copy_code"),
        Binding("ctrl+n,ctrl+l", "new", mark("New"), priority=True, key_display="^N", id="chat.new"),
        Binding("f4", "conversations", mark("Conversations"), priority=True, id="chat.conversations"),
        Binding("f6", "compare", mark("Compare"), priority=True, id="chat.compare"),
        Binding("ctrl+t", "tune", mark("Answering"), priority=True, id="chat.tune"),
        Binding("f9", "presets", mark("Presets"), priority=True, show=False, id="chat.presets"),
        Binding("ctrl+f", "find", mark("Find"), priority=True, show=False, id="chat.find"),
        Binding("ctrl+s", "save", mark("Save"), priority=True, show=False, id="chat.save"),
        Binding("ctrl+o", "elsewhere", mark("As curl or Python"), priority=True, show=False, id="chat.elsewhere"),
        Binding("f7", "log", mark("Server's log"), priority=True, show=False, id="chat.log"),
        Binding("f8", "logprobs", mark("Probabilities"), priority=True, show=False, id="chat.logprobs"),
        Binding("ctrl+g", "private", mark("Private"), priority=True, show=False, id="chat.private"),
        Binding("ctrl+up", "step(-1)", mark("Turn before"), priority=True, show=False, id="chat.turn_before"),
        Binding("ctrl+down", "step(1)", mark("Turn after"), priority=True, show=False, id="chat.turn_after"),
        Binding(
            "alt+left",
            "version(-1)",
            mark("Other answer"),
            priority=True,
            key_display="Alt+←→",
            id="chat.version_before",
        ),
        Binding("alt+right", "version(1)", mark("Other answer"), priority=True, show=False, id="chat.version_after"),
        Binding("alt+left", "mean(0)", mark("Other model"), priority=True, key_display="Alt+←→", id="chat.first_model"),
        Binding("alt+right", "mean(1)", mark("Other model"), priority=True, show=False, id="chat.second_model"),
    ]

    def __init__(self, endpoint: Endpoint, calls: Calls, conversation: Conversation | None = None) -> None:
        super().__init__()
        self.endpoint, self.calls = endpoint, calls
        self.here = self.talk = self.talk_with(endpoint, conversation or Conversation(), "first")
        self.keeping = Keeping(calls.history, private=calls.private, kept=calls.kept)
        self._files = {}
        """Server → where its conversation was saved last, which is offered again."""
        self._edits = False
        """Whether what is written takes the place of the last question."""
        self._meter: Meter | None = None
        self._usage: Usage | None = None

    @property
    def view(self) -> ChatView:
        """The state of the conversation with this server's model."""
        return self.talk.view

    @view.setter
    def view(self, view: ChatView) -> None:
        self.talk.view = view

    def compose(self) -> ComposeResult:
        """Transcript, offered questions, the field to write in, and figures."""
        yield from self.framed(
            Static(classes="heading"),
            Static(id="welcome"),
            Container(Container(self.talk, id="talks"), id="talk-row"),
            Static(id="comparison"),
            Vertical(FindHere(), Picker(id="questions"), Prompt(), id="below"),
        )

    def on_mount(self) -> None:
        """Be ready to write; find out what is served."""
        garbage.rarely()
        self.query_one(Prompt).focus()
        self.relabel()
        self._meet()

    @work(exclusive=True, group="served")
    async def _meet(self) -> None:
        try:
            served = await background.call(partial(self.calls.served, self.endpoint))
        except WizardError as error:
            self.view = replace(self.view, error=error)
            return
        self.query_one("#questions", Picker).show([Content(plain(text)) for text in served.questions], None)
        self.view = replace(self.view, served=served)
        self._meter = await background.call(partial(self.calls.meter, served))
        self._count()

    # What the user writes

    def on_prompt_sent(self, message: Prompt.Sent) -> None:
        """Send what was written."""
        self.query_one(Prompt).waits = True
        self._send(message.text)

    def _send(self, text: str) -> None:
        again, self._edits = self._edits, False
        self.ask(text, again=again)

    def on_prompt_previous(self) -> None:
        """Bring the last question back to be changed and asked anew."""
        if asked := self.view.said("user"):
            self.query_one(Prompt).write(asked[-1])

    def on_prompt_written(self) -> None:
        """Count it."""
        self._count()

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
        if not self.busy and self.view.served:
            self._send(self.view.served.questions[event.option_index])

    # What the keys do

    def check_action(self, action: str, _parameters: tuple[object, ...]) -> bool | None:
        """Each key only while it makes sense."""
        view, idle, prompt = self.view, not self.busy, self.query_one(Prompt)
        away = self.focused is not None and self.focused is not prompt
        asked = any(message.role == "user" for message in view.conversation.messages)
        here = self.here.view
        does: dict[str, object] = {
            "stop": any(talk.view.busy == "answering" for talk in self.talks),
            "write": away and idle,
            "unedit": self._edits and not away,
            "back": idle and not away,
            "again": idle and asked,
            "edit": idle and asked and not prompt.text,
            "new": idle and asked,
            "tune": idle,
            "presets": idle,
            "private": idle,
            "compare": idle,
            "save": idle and here.said("user"),
            "copy": here.said("assistant"),
            "copy_code": any("```" in text for text in here.said("assistant")),
            "restart": idle and isinstance(view.error, ServerError),
            "find": asked,
            "step": asked,
            "version": idle and asked and self.rival is None and len(view.conversation.versions()[0]) > 1,
            "scroll": bool(view.conversation.messages) or self.hides_something,
            "mean": self.rival is not None,
        }
        return bool(does.get(action, True))

    def action_back(self) -> None:
        """Ask how it goes on; another model is one of the answers."""
        self.leave()

    def action_stop(self) -> None:
        """Stop the answer."""
        for talk in self.talks:
            talk.stop()

    def action_again(self) -> None:
        """Answer the last question once more."""
        self.ask(self.view.said("user")[-1], again=True)

    def action_edit(self) -> None:
        """Bring the last question back; what is sent then takes its place."""
        self._edits = True
        self.query_one(Prompt).write(self.view.said("user")[-1])
        self.show_state()

    def action_unedit(self) -> None:
        """Leave the last question as it was."""
        self._edits = False
        self.query_one(Prompt).text = ""
        self.show_state()

    def action_version(self, by: int) -> None:
        """Show another way in which the last turn went."""
        every, now = self.view.conversation.versions()
        if 0 <= now + by < len(every):
            self.talk.choose(now + by)
            self.keep(self.talk)

    def action_restart(self) -> None:
        """Start the server again and come back."""
        self.dismiss(self._end("restart"))

    def _end(self, how: str) -> ChatEnd:
        kept = None if self.keeping.private else self.keeping.kept
        return ChatEnd("restart" if how == "restart" else "another", self.talk.so_far, kept)

    def leave(self) -> None:
        """Ask what becomes of the server."""
        self._leave()

    @work(exclusive=True, group="leave")
    async def _leave(self) -> None:
        answers = [
            ("leave", tr("Quit; the server goes on running")),
            ("stop", tr("Quit and stop the server")),
            ("another", tr("Set up another model; the server goes on running")),
            ("stay", tr("Stay here")),
        ]
        question = tr("What becomes of the server {name}?", name=one_line(self.endpoint.name))
        answer = await self.app.push_screen_wait(AskScreen(question, answers, leaves=True))
        if answer in ("leave", "another", "stop"):
            await self.keep_what_came()
        if answer == "leave":
            self.app.exit(0)
        elif answer == "another":
            while self.app.screen is not self:
                await self.app.pop_screen()  # a window that was open when it was asked
            self.dismiss(self._end("another"))
        elif answer == "stop":
            self.action_stop()
            self.view = replace(self.view, busy="stopping", error=None)
            try:
                await background.call(self.calls.stop)
            except WizardError as error:
                self.view = replace(self.view, busy="", error=error)
            else:
                self.app.exit(0)

    # What is shown

    def on_resize(self) -> None:
        """Where there is hardly any room, the field has no frame."""
        self.set_class(self.size.height < TINY, "-tiny")
        self._count()

    def on_descendant_focus(self) -> None:
        """Some keys depend on where the focus is."""
        self.refresh_bindings()

    def on_talk_changed(self, message: Talk.Changed) -> None:
        """Show the state; keep what was said."""
        if message.new.note and message.new.note != message.old.note:
            title = plain(message.talk.endpoint.name) if self.rival is not None else ""
            self.notify(message.new.note, title=title, markup=False)
        if message.talk in self.talks and message.old.busy == "answering" and not message.new.busy:
            self.keep(message.talk)
        self.show_state()

    def relabel(self) -> None:
        """Say everything in the present language."""
        super().relabel()
        said = tr("This is your own model: Triton serves it on this machine, and nothing that you write leaves it.")
        self.query_one("#welcome", Static).update(said)
        self.show_state()

    def show_state(self) -> None:
        """Show the state."""
        view, prompt = self.view, self.query_one(Prompt)
        name = tr("Chat with {name} on {address}", name=one_line(self.endpoint.name), address=self.endpoint.http)
        self.query_one(".heading", Static).update(Content(name))
        self.set_class(bool(view.conversation.messages) or self.rival is not None, "-begun")
        offered = len(view.served.questions) if view.served else 0
        questions = self.query_one("#questions", Picker)
        questions.display = view.questions and bool(offered)
        questions.border_title = ntr(
            "{count} question that it knows", "{count} questions that it knows", offered, count=offered
        )
        prompt.set_arrows(back=bool(view.said("user")), offered=bool(offered))
        prompt.waits = self.busy
        titles = [Content(tr("Edit the last question"))] * self._edits
        titles += [Content.styled(tr("◉ private: nothing is kept"), "$warning")] * self.keeping.private
        prompt.border_title = Content(" · ").join(titles)
        self.show_comparison()
        self._count()
        self.refresh_bindings()

    def _count(self) -> None:
        """How full the context is; while an answer comes, how full it was."""
        prompt = self.query_one(Prompt)
        if self._meter is not None and not self.busy:
            self._usage = self._meter.usage(self.view.conversation, prompt.written)
        if self._usage is not None:
            prompt.border_subtitle = gauge(self._usage, self.size.width)
