"""The source of questions: the input field, with the context gauge, the waiting messages and the offered questions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, Static

from wizard.chat.attachments import mentions
from wizard.chat.commands.table import is_command
from wizard.chat.conversation import Conversation
from wizard.chat.drafts import Draft, Drafts
from wizard.chat.history import History
from wizard.chat.meter import Meter, Usage
from wizard.kernel.language import join, ntr, tr
from wizard.kernel.text import one_line, plain
from wizard.tui import attaching, background
from wizard.tui.attaching import Preview
from wizard.tui.views.chat import ChatView, gauge
from wizard.tui.widgets.completions import Completions
from wizard.tui.widgets.error import errors_shown
from wizard.tui.widgets.picker import Picker
from wizard.tui.widgets.prompt import Prompt
from wizard.tui.widgets.waiting import Waiting

READING_S = 0.3
"""Seconds after which a line shows that files are being read: a PDF may take a minute."""
DRAFT_S = 0.3
"""Seconds after which a changed text is stored."""


class Asking(Vertical):
    """Posts questions as `Asked`; those that come during an answer wait for its end.

    What was not sent to ``server`` is stored beside its saved conversations, unless they are private.
    """

    DEFAULT_CSS = """
    Asking { height: auto; }
    Asking > #attached { height: auto; max-height: 4; padding: 0 2; color: $accent; display: none; }
    """

    class Asked(Message):
        """A question to send; if ``again``, it replaces the last one."""

        def __init__(self, text: str, again: bool) -> None:
            super().__init__()
            self.text, self.again = text, again

    class Told(Message):
        """A ``line`` that is a command."""

        def __init__(self, line: str) -> None:
            super().__init__()
            self.line = line

    def __init__(self, history: History, server: str) -> None:
        super().__init__()
        self._drafts = Drafts.of(history, server)
        self._private: bool | None = None
        """None before the first `show`."""
        self._storing = False
        self.edits = False
        """Whether what is written takes the place of the last question."""
        self._meter: Meter | None = None
        self._usage: Usage | None = None
        self._view, self._waits = ChatView(Conversation()), False
        self._on_its_way = ""
        """The question whose files are being attached, possibly after a question to the user."""
        self._sent: Conversation | None = None
        """The conversation that the last question was sent in: until it changes, the question is on its way."""
        self._named: list[str] = []
        """The files in the text, when they were looked at last."""
        self._seen: frozenset[str] = frozenset()
        """Names of files that were shown as attached."""
        self._waiting, self._prompt = Waiting(), Prompt()
        self._completions = Completions(self._prompt)

    def compose(self) -> ComposeResult:
        """The offered questions and the waiting messages above the field."""
        yield Picker(id="questions")
        yield self._waiting
        yield Static(id="attached")
        yield self._completions
        yield self._prompt

    def show(self, view: ChatView, *, waits: bool, private: bool) -> None:
        """Show the state for the next question.

        Args:
            view: The conversation.
            waits: Whether messages have to wait now; when it ends, the next one is sent, except after an error or a
                stopped answer.
            private: Whether saving is off.
        """
        self._keep_draft(private=private)
        waits = waits or view.conversation is self._sent
        ended = self._waits and not waits
        self._view, self._waits = view, waits
        offered = len(view.served.questions) if view.served else 0
        questions, prompt = self.query_one(Picker), self._prompt
        questions.display = view.questions and bool(offered)
        questions.border_title = ntr(
            "{count} suggested question", "{count} suggested questions", offered, count=offered
        )
        self._offer_keys()
        titles = [Content(tr("Edit the last question"))] * self.edits
        titles += [Content.styled(tr("◉ private: nothing is saved"), "$warning")] * private
        prompt.border_title = Content(" · ").join(titles)
        self._count()
        if ended and view.error is None and not view.stopped:
            self._send_next()

    def _waiting_changed(self) -> None:
        self._offer_keys()
        self._store()

    def _offer_keys(self) -> None:
        view = self._view
        self._prompt.set_offers(
            waiting=bool(self._waiting.texts),
            back=bool(view.texts("user")),
            offered=bool(view.served and view.served.questions),
        )

    def measure(self, meter: Meter) -> None:
        """Show how full the context is, with ``meter`` counting its tokens."""
        self._meter = meter
        self._count()

    def _count(self) -> None:
        """During an answer, the gauge is not updated."""
        prompt = self._prompt
        if self._meter is not None and not self._waits:
            self._usage = self._meter.usage(self._view.conversation, prompt.written)
        if self._usage is not None:
            prompt.border_subtitle = gauge(self._usage, self.screen.size.width)

    def on_prompt_written(self) -> None:
        """Update the gauge; store the text."""
        self._count()
        self._store()
        self._completions.look()
        text = self._prompt.written
        if (named := mentions(text)) != self._named:
            self._named = named
            self._show_files(text if named else "")

    def on_resize(self) -> None:
        """With little room, show less."""
        self._count()

    def on_prompt_sent(self, message: Prompt.Sent) -> None:
        """Send the text, or carry out a command; from an empty field, send the next waiting message."""
        if is_command(message.text):
            self.post_message(self.Told(message.text))
        elif text := message.text.strip():
            self._take(text)
        elif not self._waits and not self.edits:
            self._send_next()

    def _take(self, text: str) -> None:
        """Send it, or let it wait."""
        if self._waits:
            self._waiting.add(text)
            self._waiting_changed()
        else:
            self._ask(text)

    def _ask(self, text: str) -> None:
        self._sent, self._waits = self._view.conversation, True
        if mentions(text):
            self._send_with_files(text)
        else:
            self._post(text)

    def _post(self, text: str) -> None:
        again, self.edits = self.edits, False
        self.post_message(self.Asked(text, again))

    # Completion, and commands that are not possible

    def give_back(self, text: str) -> None:
        """``text`` is in the field again, unless something else was typed by now."""
        if not self._prompt.text:
            self._prompt.write(text)

    @property
    def completes(self) -> bool:
        """Whether completions are shown."""
        return bool(self._completions.display)

    def dismiss_completions(self) -> None:
        """Hide them until the text changes."""
        self._completions.dismiss()

    def on_prompt_completed(self) -> None:
        """Complete the text."""
        self._completions.take()

    # Files

    @work(exclusive=True, group="files")
    async def _show_files(self, text: str) -> None:
        meter = self._meter or Meter()
        with self._reading(text):
            shown = await attaching.preview(text, self._before, meter, self._view.served) if text else Preview()
            self._say_files(shown.line)
            self._seen |= shown.names

    @contextmanager
    def _reading(self, text: str, hint: str = "") -> Iterator[None]:
        """Show which files are being read, with a ``hint``, if it takes long."""
        names = ", ".join(one_line(each.lstrip("@").strip('"')) for each in mentions(text))
        shown = join(" · ", tr("reading {names} …", names=names), hint)
        timer = self.set_timer(READING_S, lambda: self._say_files(shown), pause=not text)
        try:
            yield
        finally:
            timer.stop()

    def _say_files(self, text: str) -> None:
        line = self.query_one("#attached", Static)
        line.update(Content(text))
        line.display = bool(text)

    @work(exclusive=True, group="attach")
    async def _send_with_files(self, text: str) -> None:
        """Send the text with the files that it names; if that is not possible, it is in the field again."""
        whole: str | None = None
        self._on_its_way = text
        self.screen.refresh_bindings()
        with errors_shown(self.app), self._reading(text, tr("Esc to stop")):
            meter, served = self._meter or Meter(), self._view.served
            typed = self._prompt.insert
            whole = await attaching.with_files(self.app, text, self._before, meter, served, self._seen, typed)
        self._say_files("")
        if whole is None:
            self._take_back()
        else:
            self._on_its_way = ""
            self.screen.refresh_bindings()
            self._post(whole)

    @property
    def attaches(self) -> bool:
        """Whether the files of a question are being read."""
        return bool(self._on_its_way)

    def stop_attaching(self) -> None:
        """Do not send the question whose files are being read; the reading itself may go on until its limits."""
        self.workers.cancel_group(self, "attach")
        self._say_files("")
        self._take_back()

    def _take_back(self) -> None:
        """The question on its way is in the field again; its files are looked at again."""
        self._named, self._seen = [], frozenset()
        back, self._on_its_way = self._draft, ""
        self._sent, self._waits = None, False
        self._waiting.texts = back.waiting
        self._prompt.write(back.text)
        self._waiting_changed()
        self.screen.refresh_bindings()

    @property
    def _before(self) -> Conversation:
        """The conversation that the next question continues."""
        conversation = self._view.conversation
        if self.edits:
            return replace(conversation, messages=conversation.asked_again().messages[:-1])
        return conversation

    # Waiting messages

    def _send_next(self) -> None:
        if self._waiting.texts:
            self._ask(self._waiting.take(0))
            self._waiting_changed()

    def on_prompt_recalled(self, message: Prompt.Recalled) -> None:
        """Take back the last waiting message."""
        if self._waiting.texts:
            text = self._waiting.take(-1)
            self._waiting_changed()
            if message.edit:
                self._prompt.write(text)

    # The draft

    def _keep_draft(self, *, private: bool) -> None:
        """Bring back at first what was not sent; forget it when the chat becomes ``private``."""
        before, self._private = self._private, private
        if private and before is False:
            self._drafts.save(Draft())
        elif before is None and not private:
            draft = self._drafts.load()
            self._waiting.texts = draft.waiting
            if draft.text:
                self._prompt.write(draft.text)

    def _store(self) -> None:
        if not self._storing and self._private is False:
            self._storing = True
            self.set_timer(DRAFT_S, self._store_now)

    async def _store_now(self) -> None:
        self._storing = False
        if not self._private:
            await background.call(partial(self._drafts.save, self._draft))

    @property
    def _draft(self) -> Draft:
        """With the question on its way in the field again, before everything that was written after it."""
        texts = [text for text in (self._on_its_way, self._prompt.written) if text]
        return Draft(texts[0] if texts else "", (*texts[1:], *self._waiting.texts))

    def on_unmount(self) -> None:
        """Store what was not sent."""
        if self._private is False:
            self._drafts.save(self._draft)

    # The last question

    def on_prompt_previous(self) -> None:
        """Edit the last question and send it again."""
        self._bring_back()

    def edit(self) -> None:
        """Edit the last question; the sent text replaces it."""
        self.edits = True
        self._bring_back()

    def _bring_back(self) -> None:
        if questions := self._view.texts("user"):
            self._prompt.write(questions[-1])

    def unedit(self) -> None:
        """Cancel editing."""
        self.edits = False
        self._prompt.text = ""

    # Offered questions

    def offer(self, questions: Iterable[str]) -> None:
        """Offer these questions."""
        self.query_one(Picker).show([Content(plain(text)) for text in questions], None)

    def choose(self) -> None:
        """Focus them."""
        picker = self.query_one(Picker)
        picker.highlighted = picker.highlighted or 0
        picker.focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Send the chosen one."""
        self._prompt.focus()
        if self._view.served:
            self._take(self._view.served.questions[event.option_index])
