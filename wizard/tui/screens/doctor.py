"""The machine's problems, in a window over any stage: what was checked, what is wrong, and how to fix it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from wizard.doctor.finding import Finding, Status
from wizard.kernel.errors import WizardError
from wizard.kernel.language import mark, tr
from wizard.kernel.text import plain
from wizard.texts.doctor.report import lines
from wizard.tui import background
from wizard.tui.clipboard import copy
from wizard.tui.widgets.chrome import KeyBar
from wizard.tui.widgets.pane import Pane

STYLES: dict[Status, str] = {
    "pass": "$success",
    "warn": "$warning",
    "fail": "bold $error",
    "unknown": "$text-muted",
    "not_applicable": "$text-muted",
}
_DETAIL = "$text-muted"


class DoctorScreen(ModalScreen[None]):
    """Runs all checks, which takes some seconds, and shows their findings.

    Args:
        examine: Runs them.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,q", "close", mark("Close"), id="doctor.close", key_display="Esc"),
        Binding("r", "look", mark("Check again"), id="doctor.look"),
        Binding("c", "copy", mark("Copy"), id="doctor.copy"),
    ]

    def __init__(self, examine: Callable[[], Sequence[Finding]]) -> None:
        super().__init__()
        self._examine = examine
        self.findings: Sequence[Finding] | None = None
        """None until they are known."""

    def compose(self) -> ComposeResult:
        """A framed, scrolling report."""
        with Vertical(classes="window") as window:
            window.border_title = Content(tr("Check for problems"))
            with Pane():
                yield Static(id="findings", markup=False)
            yield KeyBar()

    def on_mount(self) -> None:
        """Begin."""
        self.query_one(Pane).focus()
        self.action_look()

    @work(exclusive=True)
    async def action_look(self) -> None:
        """Run the checks in the background; closing the window drops their result."""
        self.findings = None
        self.query_one("#findings", Static).update(Content(tr("◌ Checking this machine and the network …")))
        try:
            self.findings = await background.call(self._examine)
        except WizardError as error:
            self.query_one("#findings", Static).update(Content(plain(str(error))))
        else:
            self.relabel()
        self.refresh_bindings()

    def relabel(self) -> None:
        """Show the findings in the current language."""
        if self.findings is not None:
            self.query_one("#findings", Static).update(Content("\n").join(map(_shown, lines(self.findings))))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only findings can be copied."""
        return self.findings is not None if action == "copy" else super().check_action(action, parameters)

    def action_copy(self) -> None:
        """Copy the report."""
        copy(self.app, "\n".join("  " * depth + line for depth, line, _ in lines(self.findings or ())), tr("Copied"))

    def action_close(self) -> None:
        """Go back to the stage."""
        self.dismiss(None)


def _shown(row: tuple[int, str, Status | None]) -> Content:
    depth, line, status = row
    style = "bold" if depth == 0 else STYLES[status] if status else _DETAIL
    sign, rest = (line[:1], line[1:]) if status else ("", line)
    if status is None:
        return Content.assemble("  " * depth, (plain(rest), style))
    return Content.assemble("  " * depth, (sign, style), plain(rest))
