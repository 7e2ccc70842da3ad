"""Before the journey: servers of this workspace that run already."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from wizard.kernel.text import one_line
from wizard.serve.endpoint import Endpoint
from wizard.tui.screens.stage import StageScreen
from wizard.tui.widgets.picker import Picker


class ServersScreen(StageScreen["Endpoint | str"]):
    """Dismissed with the server to chat with, or with ``"new"``."""

    STAGE = -1
    HELP = "A server that was left running can be used again at once. Setting up another model leaves it running."
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", "Choose", priority=True, key_display="⏎"),
        Binding("escape", "another", "Another model"),
    ]

    def __init__(self, running: Sequence[Endpoint], measured: Callable[[str], str]) -> None:
        """``measured`` says what the server of a name took beside what was predicted, in a few words."""
        super().__init__()
        self._endpoints, self._measured = running, measured

    def compose(self) -> ComposeResult:
        """A list with the servers and the way on."""
        count = len(self._endpoints)
        heading = "A server of yours is" if count == 1 else f"{count} servers of yours are"
        yield from self.framed(Static(f"{heading} running already", classes="heading"), Picker())

    def on_mount(self) -> None:
        """Fill the list."""
        rows = [
            Content.assemble(
                (f"Chat with {one_line(endpoint.name)}", "bold"),
                "\n",
                (" · ".join(filter(None, (where, self._measured(endpoint.name)))), "$text-muted"),
            )
            for endpoint in self._endpoints
            for where in (f"model {one_line(endpoint.model)} on {endpoint.http}",)
        ]
        new = Content.assemble(
            ("Set up another model", "bold"),
            "\n",
            ("look at the machine first; what runs goes on running", "$text-muted"),
        )
        self.query_one(Picker).show([*rows, new])

    def action_another(self) -> None:
        """Go on to the machine; what runs goes on running."""
        self.dismiss("new")

    def action_accept(self) -> None:
        """Take the row under the cursor."""
        at = self.query_one(Picker).highlighted or 0
        self.dismiss(self._endpoints[at] if at < len(self._endpoints) else "new")
