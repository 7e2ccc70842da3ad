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

from wizard.doctor.finding import Finding, Status
from wizard.kernel.errors import WizardError
from wizard.kernel.language import mark, tr
from wizard.kernel.text import plain, wrap
from wizard.texts.doctor.report import lines, problems_first, report, summary, wrapped
from wizard.tui import background
from wizard.tui.clipboard import copy
from wizard.tui.widgets.chrome import KeyBar
from wizard.tui.widgets.lines import Lines
from wizard.tui.widgets.pane import Pane

TITLE = mark("Check for problems")
COPIED = 100
"""Columns of the text that is copied."""
STYLES: dict[Status, str] = {
    "pass": "$success",
    "warn": "$warning",
    "fail": "bold $error",
    "unknown": "$text-muted",
    "not_applicable": "$text-muted",
}


class Report(Lines):
    """The findings, made for the available width."""

    findings: Sequence[Finding] = ()
    note = ""
    """Instead of them."""

    def lines(self, width: int) -> list[Content]:
        """How many passed and failed, the problems, then the rest."""
        if self.note:
            return [Content(piece) for piece in wrap(self.note, max(width, 20)).split("\n")]
        rows = [Content.styled(summary(self.findings), "bold"), Content("")]
        for depth, line, status in lines(problems_first(self.findings)):
            first, *rest = wrapped(depth, plain(line), max(width, 20)).split("\n")
            rows += [_first(first, depth, status), *(Content.styled(piece, _style(depth, status)) for piece in rest)]
        return rows


def _style(depth: int, status: Status | None) -> str:
    return "bold" if depth == 0 else "$text-muted" if status in (None, "not_applicable") else ""


def _first(line: str, depth: int, status: Status | None) -> Content:
    """With the sign of a finding in the color of its status."""
    sign = len(line) - len(line.lstrip()) + 1 if status else 0
    return Content.assemble((line[:sign], STYLES[status] if status else ""), (line[sign:], _style(depth, status)))


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
            window.border_title = Content(tr(TITLE))
            with Pane():
                yield Report()
            yield KeyBar()

    def on_mount(self) -> None:
        """Begin."""
        self.query_one(Pane).focus()
        self.action_look()

    @work(exclusive=True)
    async def action_look(self) -> None:
        """Run the checks in the background; closing the window drops their result."""
        self._show(None, tr("◌ Checking this machine and the network …"))
        try:
            self._show(await background.call(self._examine))
        except WizardError as error:
            self._show(None, plain(str(error)))

    def _show(self, findings: Sequence[Finding] | None, note: str = "") -> None:
        report = self.query_one(Report)
        self.findings, report.findings, report.note = findings, findings or (), note
        report.changed()
        self.refresh_bindings()

    def relabel(self) -> None:
        """Show the findings in the current language."""
        self.query_one(".window").border_title = Content(tr(TITLE))
        self.query_one(Report).changed()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only findings can be copied."""
        return self.findings is not None if action == "copy" else super().check_action(action, parameters)

    def action_copy(self) -> None:
        """Copy the report."""
        copy(self.app, report(self.findings or (), COPIED), tr("Copied"))

    def action_close(self) -> None:
        """Go back to the stage."""
        self.dismiss(None)
