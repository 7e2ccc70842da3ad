"""A second model beside the first: it is asked the same from then on, and what is measured is compared."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from textual import events, work
from textual.widgets import Input, Static

from wizard.chat.conversation import Conversation
from wizard.kernel.errors import WizardError
from wizard.kernel.language import mark, tr
from wizard.kernel.text import one_line
from wizard.plan.questions import Question
from wizard.serve.endpoint import Endpoint
from wizard.tui import background
from wizard.tui.screens.chat_reading import ChatReading
from wizard.tui.screens.form import FormScreen
from wizard.tui.screens.modal import AskScreen
from wizard.tui.views.chat import comparison
from wizard.tui.widgets.find import Find
from wizard.tui.widgets.talk import Talk

URL = Question("url", "text", mark("Address"), "", required=True, help=mark("For example: http://127.0.0.1:9000/v1"))
MODEL = Question(
    "model", "text", mark("Model"), "", otherwise=mark("the only one there"), help=mark("Its name on that server.")
)


class ChatComparing(ChatReading):
    """The part of the chat that is about who answers."""

    rival: Talk | None = None
    """The model that answers beside this one."""

    @property
    def talks(self) -> Sequence[Talk]:
        """Everyone who answers."""
        return [self.talk, self.rival] if self.rival else [self.talk]

    @property
    def busy(self) -> bool:
        """Whether somebody answers, or the server is stopped."""
        return any(talk.view.busy for talk in self.talks)

    def talk_with(self, endpoint: Endpoint, conversation: Conversation, name: str) -> Talk:
        """A conversation with the model at ``endpoint``."""
        return Talk(endpoint, partial(self.calls.send, endpoint), conversation, clock=self.calls.clock, id=name)

    def ask(self, text: str, *, again: bool = False) -> None:
        """Ask everybody the same question.

        Args:
            text: The question.
            again: It takes the place of the last one, of those who were asked one.
        """
        for talk in self.talks:
            if again and talk.view.said("user"):
                talk.ask_again(text)
            else:
                talk.ask(text)

    def change(self, conversation: Conversation) -> None:
        """Answer in another way from here on."""
        self.talk.change(conversation)
        if self.rival is not None:
            old = self.rival.view.conversation.with_system(conversation.system)
            self.rival.change(replace(old, sampling=conversation.sampling))
        self.show_state()

    @abstractmethod
    def show_state(self) -> None:
        """Show the state."""

    @work(exclusive=True, group="form")
    async def action_compare(self) -> None:
        """Let a second model answer the same questions beside this one; pressed again, it leaves."""
        if self.rival is not None:
            self._mean(self.talk)
            rival, self.rival = self.rival, None
            await rival.remove()
            await self.keeping.end_second()
        elif (endpoint := await self._choose_server()) is not None:
            rival = self.talk_with(endpoint, self._begun(self.talk.view.conversation), "second")
            await self.query_one("#talks").mount(rival)
            self.rival = rival
            said = tr("Both get the same questions from now on.")
            if not self.keeping.private:
                own = tr("What {name} answers is kept as a conversation of its own.", name=one_line(endpoint.name))
                said = f"{said} {own}"
            self.notify(said, markup=False)
        self.set_class(self.rival is not None, "-compares")
        self.show_state()

    def action_mean(self, at: int) -> None:
        """Let the keys that read mean the first model's answers (0) or the second's (1)."""
        self._mean(self.talks[at])

    def on_click(self, event: events.Click) -> None:
        """Mean those that are clicked."""
        inside = event.widget.ancestors_with_self if event.widget else []
        self._mean(next((talk for talk in self.talks if talk in inside), self.here))

    def _mean(self, talk: Talk) -> None:
        """Find, copy, save and the like are about ``talk`` from here on; what is sought is sought there."""
        if talk is not self.here:
            self.here.transcript.seek("", 0)
            self.here = talk
            if (find := self.query_one(Find)).display:
                find.show(*talk.transcript.seek(find.query_one(Input).value, 0))
            self.show_state()

    def begin_rival(self, conversation: Conversation) -> None:
        """The second model begins anew where another ``conversation`` is gone on with."""
        if self.rival is not None:
            self.rival.show(self._begun(conversation))

    def _begun(self, conversation: Conversation) -> Conversation:
        """Nothing said yet, answered in the same way."""
        return replace(conversation, messages=conversation.messages[: bool(conversation.system)])

    def show_comparison(self) -> None:
        """What is measured of both, once there is something."""
        line = self.query_one("#comparison", Static)
        line.display = self.rival is not None
        if self.rival is not None:
            one, other = self.talk, self.rival
            for talk in self.talks:
                talk.say_name(tr("find, copy, save, log: here") if talk is self.here else "")
            line.update(comparison((one.endpoint.name, one.view), (other.endpoint.name, other.view)))

    async def _choose_server(self) -> Endpoint | None:
        """Ask which model answers beside this one; None if none does."""
        try:
            found = await background.call(self.calls.others)
        except WizardError as error:
            self.tell(error)
            found = []
        others = [one for one in found if one.name != self.endpoint.name]
        choices = [(one.name, tr("{name} on {address}", name=one.name, address=one.http)) for one in others]
        choices.append(("/", tr("Another server, by its address")))
        answer = await self.app.push_screen_wait(AskScreen(tr("Which model answers beside this one?"), choices))
        if answer != "/":
            return next((one for one in others if one.name == answer), None)
        given: dict[str, object] | None = {}
        while given is not None:
            given = await self.app.push_screen_wait(FormScreen(tr("A server elsewhere"), [URL, MODEL], given))
            if given:
                model = given.get("model")
                try:
                    found_there: Endpoint = await background.call(
                        partial(self.calls.at, str(given["url"]), str(model) if model else None)
                    )
                except WizardError as error:
                    self.tell(error)
                    continue
                if not found_there.answers_as(self.endpoint):
                    return found_there
                self.notify(tr("{name} answers already", name=one_line(found_there.name)), severity="warning")
        return None
