"""The commands that are typed in the chat: those of plain prompts; some do what a key does."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

from textual import work
from textual.screen import Screen

from wizard.chat.commands.session import ChatSession, Outcome
from wizard.chat.commands.table import command, split
from wizard.kernel.language import tr
from wizard.kernel.text import plain
from wizard.tui import background, slash
from wizard.tui.screens.modal import ReaderScreen
from wizard.tui.views.chat import ChatEnd
from wizard.tui.widgets.asking import Asking
from wizard.tui.widgets.error import errors_shown

if TYPE_CHECKING:
    from wizard.tui.screens.chat import ChatScreen

LONGEST_NOTE = 200
"""Characters; longer texts, and those of several lines, are shown in a window."""


class Commanding(Screen[ChatEnd]):
    """A command that is not possible stays in the field."""

    async def on_asking_told(self, message: Asking.Told) -> None:
        """Carry out the command: as its key if that applies now, otherwise as plain prompts."""
        chat = cast("ChatScreen", self)
        name, argument = split(message.line)
        action = slash.ACTIONS.get(" ".join(filter(None, (name, argument))))
        if action and self.check_action(action, ()):
            await self.app.run_action(action, self)
        elif chat.talks.busy:
            self.notify(tr("{name} is not possible now", name=plain(name)), severity="warning", markup=False)
            chat.asking.give_back(message.line)
        elif name == "/multi":
            self.notify(tr("Ctrl+J inserts a line break; pasted text keeps its own."))
        elif name == "/search":
            chat.search(argument)
        else:
            self._carry_out(message.line)

    @work(group="command")
    async def _carry_out(self, line: str) -> None:
        chat, done = cast("ChatScreen", self), False
        with errors_shown(self.app):
            talk = chat.calls.session(chat.endpoint, chat.view.conversation)
            self._prepare(talk)
            async with chat.keeping.turn:
                before, kept = talk.conversation, talk.kept
                outcome = await background.call(partial(command, talk, line))
                if talk.kept is not kept:
                    chat.keeping.adopt(talk.kept)
            changed = talk.conversation != before
            await self._follow(talk, outcome, changed=changed)
            self._tell(line, outcome, brief=changed)  # the chat shows the conversation
            done = True
        if not done:
            chat.asking.give_back(line)

    def _prepare(self, talk: ChatSession) -> None:
        """The state of the chat, as the commands see it."""
        chat = cast("ChatScreen", self)
        talks = chat.talks
        talk.kept, talk.keeps, talk.tools = chat.keeping.kept, not chat.keeping.private, chat.calls.tools
        talk.request, talk.logprobs, talk.race = talks.here.request, talks.here.logprobs, talks.race
        if talks.second is not None:
            talk.rival = chat.calls.session(talks.second.endpoint, talks.second.view.conversation)

    async def _follow(self, talk: ChatSession, outcome: Outcome, *, changed: bool) -> None:
        """Bring the chat into the state that the command has led to."""
        chat = cast("ChatScreen", self)
        if outcome.ask is not None:
            chat.talks.ask(outcome.ask, again=outcome.open)
        elif talk.another:
            chat.talks.go_on(talk.conversation)
        elif changed:
            chat.talks.change(talk.conversation)
        if talk.endpoint != chat.endpoint:
            chat.go_on_with(talk.endpoint)
        if talk.rival is None and chat.talks.second is not None:
            await chat.part()
        elif talk.rival is not None and chat.talks.second is None:
            await chat.talks.join(talk.rival.endpoint)
        if outcome.edit is not None:
            chat.asking.give_back(outcome.edit)
        chat.show_state()

    def _tell(self, line: str, outcome: Outcome, *, brief: bool) -> None:
        """Show what the command says: in a window if it is long; only the last line if ``brief``."""
        text = (outcome.data or outcome.text).strip("\n") if outcome.edit is None else ""
        if brief and text:
            text = text.splitlines()[-1]
        if "\n" in text or len(text) > LONGEST_NOTE:
            self.app.push_screen(ReaderScreen(plain(line), text))
        elif text:
            self.notify(plain(text), markup=False)
