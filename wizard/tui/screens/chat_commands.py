"""The chat's commands that are followed by a text: another model by its name, and how much the model thinks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

from textual import work
from textual.screen import Screen

from wizard.chat.settings import with_thinking
from wizard.kernel.language import tr
from wizard.tui import background
from wizard.tui.views.chat import ChatEnd
from wizard.tui.widgets.asking import Asking
from wizard.tui.widgets.error import errors_shown

if TYPE_CHECKING:
    from wizard.tui.screens.chat import ChatScreen


class Commanding(Screen[ChatEnd]):
    """As the commands of the same names in plain prompts."""

    def on_asking_told(self, message: Asking.Told) -> None:
        """Carry out the command."""
        chat = cast("ChatScreen", self)
        if chat.talks.busy:
            chat.notify(tr("{name} is not possible now", name=message.name), severity="warning")
        elif message.name == "/model":
            self._take_model(message.text)
        else:
            self._set_thinking(message.text)

    @work(exclusive=True, group="form")
    async def _take_model(self, text: str) -> None:
        """Continue with the model named ``text``, or ``URL MODEL``; ask which one if there is none."""
        chat = cast("ChatScreen", self)
        name, _, which = text.partition(" ")
        with errors_shown(self.app):
            if "://" in name:
                chat.go_on_with(await background.call(partial(chat.calls.at, name, which.strip() or None)))
                return
            others = await background.call(partial(chat.calls.others, chat.endpoint))
            if there := next((each for each in others if text in (each.title, each.model)), None):
                chat.go_on_with(there)
            else:
                chat.action_switch()

    @work(exclusive=True, group="form")
    async def _set_thinking(self, mode: str) -> None:
        chat = cast("ChatScreen", self)
        with errors_shown(self.app):
            served = await background.call(partial(chat.calls.served, chat.endpoint))
            chat.talks.change(with_thinking(chat.view.conversation, served, mode))
            self.notify(tr("Thinking: {mode}, starting with the next answer.", mode=mode), markup=False)
