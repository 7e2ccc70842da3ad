"""The tools of all chats of the app."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wizard.kernel.errors import UsageError

if TYPE_CHECKING:
    from wizard.chat.tools.loop import ToolUse
    from wizard.tui.app import WizardApp
    from wizard.tui.opening import Opening


class ChatTools:
    """Those of the ``opening``, if the app began with a chat; otherwise those of the user's configuration."""

    def __init__(self, app: WizardApp, opening: Opening | None) -> None:
        self._app = app
        self._known = opening is not None
        self._use = opening.tools if opening else None

    def __call__(self) -> ToolUse | None:
        """The tools; a configuration that cannot be used is reported once."""
        if not self._known:
            self._known = True
            try:
                self._use = self._app.journey.tools(self._app.workspace)
            except UsageError as error:
                self._app.notify(str(error), severity="warning", markup=False)
        return self._use
