"""The source of questions: the input field, with the context gauge, and the offered questions."""

from __future__ import annotations

from collections.abc import Iterable

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList

from wizard.chat.conversation import Conversation
from wizard.chat.meter import Meter, Usage
from wizard.kernel.language import ntr, tr
from wizard.kernel.text import plain
from wizard.tui.views.chat import ChatView, gauge
from wizard.tui.widgets.picker import Picker
from wizard.tui.widgets.prompt import Prompt


class Asking(Vertical):
    """Posts questions as `Asked`."""

    DEFAULT_CSS = """
    Asking { height: auto; }
    """

    class Asked(Message):
        """A question to send; if ``again``, it replaces the last one."""

        def __init__(self, text: str, again: bool) -> None:
            super().__init__()
            self.text, self.again = text, again

    def __init__(self) -> None:
        super().__init__()
        self.edits = False
        """Whether what is written takes the place of the last question."""
        self._meter: Meter | None = None
        self._usage: Usage | None = None
        self._view, self._waits = ChatView(Conversation()), False

    def compose(self) -> ComposeResult:
        """The offered questions above the field."""
        yield Picker(id="questions")
        yield Prompt()

    def show(self, view: ChatView, *, waits: bool, private: bool) -> None:
        """Show the state for the next question.

        Args:
            view: The conversation.
            waits: Whether no question can be sent now.
            private: Whether saving is off.
        """
        self._view, self._waits = view, waits
        offered = len(view.served.questions) if view.served else 0
        questions, prompt = self.query_one(Picker), self.query_one(Prompt)
        questions.display = view.questions and bool(offered)
        questions.border_title = ntr(
            "{count} suggested question", "{count} suggested questions", offered, count=offered
        )
        prompt.set_arrows(back=bool(view.texts("user")), offered=bool(offered))
        prompt.waits = waits
        titles = [Content(tr("Edit the last question"))] * self.edits
        titles += [Content.styled(tr("◉ private: nothing is saved"), "$warning")] * private
        prompt.border_title = Content(" · ").join(titles)
        self._count()

    def measure(self, meter: Meter) -> None:
        """Show how full the context is, with ``meter`` counting its tokens."""
        self._meter = meter
        self._count()

    def _count(self) -> None:
        """During an answer, the gauge is not updated."""
        prompt = self.query_one(Prompt)
        if self._meter is not None and not self._waits:
            self._usage = self._meter.usage(self._view.conversation, prompt.written)
        if self._usage is not None:
            prompt.border_subtitle = gauge(self._usage, self.screen.size.width)

    def on_prompt_written(self) -> None:
        """Update the gauge."""
        self._count()

    def on_resize(self) -> None:
        """With little room, show less."""
        self._count()

    def on_prompt_sent(self, message: Prompt.Sent) -> None:
        """Send the text."""
        self.query_one(Prompt).waits = True
        self._ask(message.text)

    def _ask(self, text: str) -> None:
        again, self.edits = self.edits, False
        self.post_message(self.Asked(text, again))

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
            self.query_one(Prompt).write(questions[-1])

    def unedit(self) -> None:
        """Cancel editing."""
        self.edits = False
        self.query_one(Prompt).text = ""

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
        self.query_one(Prompt).focus()
        if not self._waits and self._view.served:
            self._ask(self._view.served.questions[event.option_index])
