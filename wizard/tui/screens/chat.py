"""Stage 6: chat with the served model. Wiring: the content is in the widgets."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast

from textual import work
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.content import Content
from textual.widgets import Static

from wizard.chat.conversation import Conversation
from wizard.chat.elsewhere import elsewhere
from wizard.chat.saving import file_name
from wizard.chat.settings import with_preset
from wizard.kernel.errors import WizardError
from wizard.kernel.language import mark, tr
from wizard.kernel.text import one_line, plain
from wizard.serve.endpoint import Endpoint
from wizard.tui import background, garbage_collection
from wizard.tui.autosave import Autosave
from wizard.tui.chat_port import ChatPort
from wizard.tui.screens import chat_windows as windows
from wizard.tui.screens import tool_windows
from wizard.tui.screens.chat_commands import Commanding
from wizard.tui.screens.chat_copying import Copying
from wizard.tui.screens.chat_escape import Escaping
from wizard.tui.screens.chat_history import Remembering
from wizard.tui.screens.chat_keys import KEYS, applies
from wizard.tui.screens.chat_servers import NEXT, OPPONENT, SECOND, ask_leaving, ask_model
from wizard.tui.screens.modal import ReaderScreen
from wizard.tui.screens.stage import StageScreen
from wizard.tui.views.chat import ChatEnd, ChatView, NextAction, joined, taking_turns, welcome
from wizard.tui.widgets.asking import Asking
from wizard.tui.widgets.comparison import Comparison
from wizard.tui.widgets.conversations import Conversations
from wizard.tui.widgets.error import errors_shown
from wizard.tui.widgets.model_chat import ModelChat
from wizard.tui.widgets.prompt import Prompt
from wizard.tui.widgets.race import RacePanel
from wizard.tui.widgets.transcript_search import TranscriptSearch

if TYPE_CHECKING:
    from wizard.tui.app import WizardApp

TINY = 12
"""Lines of a terminal below which every optional part is hidden."""


class ChatScreen(Commanding, Remembering, Escaping, Copying, StageScreen[ChatEnd]):
    """Dismissed with the next action; quitting leaves the wizard from here."""

    STAGE = 5
    HELP = mark(
        "You are chatting with a served model. Enter sends, Esc stops an answer, and the settings control how it "
        "answers. Another model can continue the conversation. Speed and time to first token (TTFT) are measured here."
    )
    BINDINGS = KEYS

    def __init__(self, endpoint: Endpoint, calls: ChatPort, conversation: Conversation | None = None) -> None:
        super().__init__()
        self.calls = calls
        if calls.tools:
            calls.tools.decide = tool_windows.Consenting(self).decide
        self.talks = Comparison(calls.send, endpoint, conversation or Conversation(), clock=calls.clock)
        self.asking = Asking(calls.history, endpoint.name)
        self.keeping = Autosave(calls.history, private=calls.private, kept=calls.kept)
        self._files: dict[str, str] = {}
        """Server → where its conversation was saved last, which is offered again."""

    @property
    def endpoint(self) -> Endpoint:
        """The server that answers."""
        return self.talks.first.endpoint

    @property
    def view(self) -> ChatView:
        """The state of the conversation with this server's model."""
        return self.talks.first.view

    def compose(self) -> ComposeResult:
        """Transcript, offered questions, the input field, and figures."""
        yield from self.framed(
            Static(classes="heading"),
            Static(id="welcome"),
            Container(self.talks, id="talk-row"),
            RacePanel(self.calls.clock, id="comparison"),
            Vertical(TranscriptSearch(self.talks.seek), self.asking, id="below"),
        )

    def on_mount(self) -> None:
        """Focus the input field; query the server's model."""
        garbage_collection.collect_rarely()
        self.query_one(Prompt).focus()
        self.relabel()
        self._meet()

    @work(exclusive=True, group="served")
    async def _meet(self) -> None:
        try:
            served = await background.call(partial(self.calls.served, self.endpoint))
        except WizardError as error:
            self.talks.first.view = replace(self.view, error=error)
            return
        self.asking.offer(served.questions)
        self.talks.first.view = replace(self.view, served=served)
        self.asking.measure(await background.call(partial(self.calls.meter, served)))

    # Actions of the keys

    def check_action(self, action: str, _parameters: tuple[object, ...]) -> bool | None:
        """Each key only while it applies."""
        return applies(self, action)

    def on_asking_asked(self, message: Asking.Asked) -> None:
        """Send the question."""
        self.talks.ask(message.text, again=message.again)

    def on_prompt_offered(self) -> None:
        """Show the known questions, and focus them."""
        self.talks.first.view = replace(self.view, questions=True)
        self.asking.choose()

    def action_stop(self) -> None:
        """Stop reading files, or the answer."""
        if self.asking.attaches:
            self.asking.stop_attaching()
        else:
            self.talks.stop()

    def action_again(self) -> None:
        """Send the last question again."""
        self.talks.ask(self.view.texts("user")[-1], again=True)

    def action_edit(self) -> None:
        """Edit the last question; the sent text replaces it."""
        self.asking.edit()
        self.show_state()

    def action_unedit(self) -> None:
        """Cancel editing the last question."""
        self.asking.unedit()
        self.show_state()

    def action_version(self, by: int) -> None:
        """Show another version of the last turn."""
        if self.talks.first.choose(by):
            self._keep(self.talks.first)

    # Models and settings

    @work(exclusive=True, group="form")
    async def action_tune(self) -> None:
        """Change the sampling settings."""
        with errors_shown(self.app):
            self._change(await windows.ask_settings(self.app, self.view, self.guide.workshop.pin))

    @work(exclusive=True, group="form")
    async def action_presets(self) -> None:
        """Choose a preset, or save the current settings as one."""
        with errors_shown(self.app):
            preset = await windows.ask_preset(self.app, self.calls.presets, self.view.conversation)
            if preset is not None:
                self._change(with_preset(self.view.conversation, preset))
                self.notify(tr("Answers now use the preset '{name}'", name=preset.name), markup=False)

    @work(exclusive=True, group="form")
    async def action_tools(self) -> None:
        """Decide which tools the model may use."""
        if self.calls.tools:
            await tool_windows.ask_tools(self.app, self.calls.tools)

    def action_logprobs(self) -> None:
        """Show the probabilities of the last answer's tokens; request them from now on if they were not requested."""
        self._change(windows.show_probabilities(self.app, self.talks.here, self.view.conversation))

    def _change(self, conversation: Conversation | None) -> None:
        if conversation is not None:
            self.talks.change(conversation)

    @work(exclusive=True, group="form")
    async def action_compare(self) -> None:
        """Compare with a second model that answers the same questions; pressed again, it leaves."""
        if self.talks.second is not None:
            await self.part()
        elif endpoint := await ask_model(self.app, self.calls, self.endpoint, tr(SECOND)):
            await self.talks.join(endpoint)
            self.notify(joined(endpoint.title, kept=not self.keeping.private), markup=False)
        self.show_state()

    @work(exclusive=True, group="form")
    async def action_vote(self) -> None:
        """Vote on answers of this model and a second one, without their names."""
        from wizard.tui.voting import vote

        second = self.talks.second.endpoint if self.talks.second else None
        second = second or await ask_model(self.app, self.calls, self.endpoint, tr(OPPONENT))
        if second is not None:
            await vote(cast("WizardApp", self.app), self.calls.voting(self.endpoint, second))

    async def part(self) -> None:
        """End the comparison; only the first model answers from now on."""
        await self.talks.part()
        await self.keeping.end_second()

    def action_turns(self) -> None:
        """Let the second model answer after the first one, or at the same time again."""
        self.talks.turns = not self.talks.turns
        self.notify(taking_turns(self.talks.turns))

    @work(exclusive=True, group="form")
    async def action_switch(self) -> None:
        """Continue the conversation with another model."""
        if endpoint := await ask_model(self.app, self.calls, self.endpoint, tr(NEXT)):
            self.go_on_with(endpoint)

    def go_on_with(self, endpoint: Endpoint) -> None:
        """Continue the conversation with the model at ``endpoint``."""
        self.talks.switch(endpoint)
        self.follow_log()
        self.show_state()
        self._meet()

    def action_mean(self, at: int) -> None:
        """Select the first model's answers (0) or the second's (1) for the reading keys."""
        self.talks.mean(self.talks.chats[at])

    def on_comparison_meant(self) -> None:
        """The search applies to the selected one."""
        self.query_one(TranscriptSearch).again()
        self.follow_log()
        self.show_state()

    # The conversation

    def action_find(self) -> None:
        """Find in this conversation."""
        self.query_one(TranscriptSearch).open()
        self.refresh_bindings()

    def on_search_bar_done(self) -> None:
        """Focus the input field."""
        self.action_write()

    def action_step(self, by: int) -> None:
        """Go to the turn before or after; copying then applies to it."""
        self.talks.here.transcript.step(by)
        self.refresh_bindings()

    @work(exclusive=True, group="form")
    async def action_save(self) -> None:
        """Save the conversation to a file; an existing file is only overwritten after confirmation."""
        server, conversation = self.talks.here.endpoint, self.talks.here.view.conversation
        race = self.talks.race
        if race and race.ended and (subject := await windows.ask_subject(self.app, server)) != "conversation":
            if subject is not None:
                await windows.ask_result_file(self.app, race.result())
            return
        name = self._files.get(server.title, file_name(server.title))
        self._files[server.title] = await windows.ask_file(self.app, name, server, conversation) or name

    def action_elsewhere(self) -> None:
        """Show how other programs can use this server: the last request as commands."""
        here = self.talks.here
        text = elsewhere(here.endpoint, self.calls.chat_command(here.endpoint), here.request)
        self.app.push_screen(ReaderScreen(tr("Use this server elsewhere"), text))

    # Saving

    @work(group="keep")
    async def _keep(self, talk: ModelChat) -> None:
        """Save the conversation of ``talk``; report an error and continue the chat."""
        await self._save(talk)
        for panel in self.query(Conversations):
            panel.find()
        if there := await background.call(partial(self.calls.renewed, self.endpoint)):
            self.go_on_with(there)

    async def _save(self, talk: ModelChat) -> None:
        with errors_shown(self.app):
            await self.keeping.save(talk.so_far, talk.endpoint, "first" if talk is self.talks.first else "second")

    async def _save_what_came(self) -> None:
        for talk in self.talks.answering:
            await self._save(talk)

    # Next actions

    def terminate(self) -> None:
        """Leave without a question; the received part of an answer is saved."""
        self._terminate()

    @work(exclusive=True, group="leave")
    async def _terminate(self) -> None:
        await self._save_what_came()
        super().terminate()

    def action_restart(self) -> None:
        """Restart the server and come back."""
        self.dismiss(self._end("restart"))

    def action_bench(self) -> None:
        """Measure the server and come back."""
        self.dismiss(self._end("bench"))

    def _end(self, how: NextAction) -> ChatEnd:
        return ChatEnd(how, self.talks.first.so_far, self.endpoint, self.keeping.saved)

    def action_leave(self) -> None:
        """Ask for the next action; another model is one of the answers."""
        self.leave()

    def leave(self) -> None:
        """Ask what to do with the server."""
        self._leave()

    @work(exclusive=True, group="leave")
    async def _leave(self) -> None:
        now = await background.call(partial(self.calls.now, self.endpoint))
        offers = {"restarts": self.talks.first.restarts, "measures": "bench" not in self.guide.workshop.hide}
        answer = await ask_leaving(self.app, self.endpoint, now, **offers)
        if answer is None or answer == "stay":
            return
        await self._save_what_came()
        if answer == "leave":
            self.app.exit(0)
        elif answer == "stop":
            self.talks.stop()
            self.talks.first.view = replace(self.view, busy="stopping", error=None)
            try:
                await background.call(partial(self.calls.stop, self.endpoint))
                self.app.exit(0)
            except WizardError as error:
                self.talks.first.view = replace(self.view, busy="", error=error)
        else:
            while self.app.screen is not self:
                await self.app.pop_screen()  # a window that was open at the time
            self.dismiss(self._end(answer))

    # Display

    def on_resize(self) -> None:
        """In a very small terminal the field has no frame."""
        self.set_class(self.size.height < TINY, "-tiny")

    def on_descendant_focus(self) -> None:
        """Some keys depend on the focus."""
        self.refresh_bindings()

    def on_model_chat_changed(self, message: ModelChat.Changed) -> None:
        """Show the state; save the conversation."""
        if message.new.note and message.new.note != message.old.note:
            title = plain(message.talk.endpoint.title) if self.talks.second is not None else ""
            self.notify(message.new.note, title=title, markup=False)
        if message.talk in self.talks.chats and message.old.busy == "answering" and not message.new.busy:
            self._keep(message.talk)
        self.show_state()

    def relabel(self) -> None:
        """Update all text to the current language."""
        super().relabel()
        self.show_state()

    def show_state(self) -> None:
        """Show the state."""
        view, compares = self.view, self.talks.second is not None
        title = tr("Chat with {name} at {address}", name=one_line(self.endpoint.title), address=self.endpoint.http)
        self.query_one(".heading", Static).update(Content(title))
        self.query_one("#welcome", Static).update(Content(welcome(self.endpoint)))
        self.set_class(bool(view.conversation.messages) or compares, "-begun")
        self.set_class(compares, "-compares")
        self.asking.show(view, waits=self.talks.busy, private=self.keeping.private)
        self.query_one(RacePanel).show(self.talks.race)
        self.refresh_bindings()
