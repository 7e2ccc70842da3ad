"""Stage 1: what this machine is, and whether it can serve a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.reactive import reactive
from textual.widgets import Static

from wizard.kernel.errors import WizardError
from wizard.kernel.text import one_line, plain
from wizard.probe.host import Host
from wizard.probe.report import parts
from wizard.tui import background
from wizard.tui.screens.stage import StageScreen
from wizard.tui.widgets.error import ErrorPanel
from wizard.tui.widgets.facts import Facts
from wizard.tui.widgets.pane import Pane

NO_INTERPRETER = (
    "Install Python 3.10, 3.11 or 3.12 together with its shared library (libpython3.X.so.1.0); without administrator "
    "rights `uv python install 3.12` does it. Then press r to look again."
)


@dataclass(frozen=True, slots=True)
class MachineView:
    """What is on the screen."""

    host: Host | None = None
    error: WizardError | None = None


def usable(host: Host) -> bool:
    """Whether Triton's Python backend finds an interpreter there.

    Other machines (a recording, a shorthand) are planned for, not run on; nothing is missing there.
    """
    return host.source != "this machine" or any(interpreter.usable for interpreter in host.interpreters)


class MachineScreen(StageScreen[Host]):
    """Dismissed with the host."""

    STAGE = 0
    HELP = (
        "The wizard looks at the graphics processors, the processor, memory, disk, container engines and Python "
        "interpreters. Nothing is changed. What it finds decides which models fit and how they are served."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", "Choose a model", priority=True, key_display="⏎"),
        Binding("r", "look", "Look again"),
    ]
    view: reactive[MachineView] = reactive(MachineView())

    def __init__(self, probe: Callable[[], Host], host: Host | None = None, *, first: bool = True) -> None:
        """``host`` was probed before; ``first``: there is nothing to go back to."""
        super().__init__()
        self._probe, self._first = probe, first
        self.set_reactive(MachineScreen.view, MachineView(host))

    def compose(self) -> ComposeResult:
        """Facts and a verdict."""
        yield from self.framed(
            Static(classes="heading"),
            Static(id="verdict"),
            ErrorPanel(),
            Pane(Facts(), id="machine"),
        )

    def on_mount(self) -> None:
        """Look at the machine, unless that was done before."""
        self.mutate_reactive(MachineScreen.view)  # it was set before anything was there to show it
        if self.view.host is None:
            self.action_look()

    @work(exclusive=True)
    async def action_look(self) -> None:
        """Probe in the background."""
        self.view = MachineView()
        try:
            self.view = MachineView(await background.call(self._probe))
        except WizardError as error:
            self.view = MachineView(error=error)

    def check_action(self, action: str, _parameters: tuple[object, ...]) -> bool | None:
        """Going on needs a machine that can serve."""
        if action == "accept":
            return self.view.host is not None and usable(self.view.host)
        return action != "back" or not self._first

    def action_accept(self) -> None:
        """Go on with this machine."""
        self.dismiss(self.view.host)

    async def watch_view(self, view: MachineView) -> None:
        """Show the state."""
        host = view.host
        source = "" if host is None or host.source == "this machine" else f" — {one_line(host.source)}"
        self.query_one(".heading", Static).update(Content(f"Your machine{source}"))
        self.query_one(ErrorPanel).show(view.error)
        verdict = self.query_one("#verdict", Static)
        if host is None:
            await self.query_one(Facts).show([])
            verdict.update("" if view.error else "◌ Looking at this machine …")
        else:
            await self.query_one(Facts).show(rows(host))
            verdict.update(judgement(host))
        self.refresh_bindings()


def judgement(host: Host) -> Content:
    """Can this machine serve, and if not, what to do."""
    if not usable(host):
        return Content.assemble(
            ("✗ No Python here can run Triton's Python backend.\n", "bold $error"), ("→ ", "$accent"), NO_INTERPRETER
        )
    serves = (
        f"{len(host.gpus)} NVIDIA GPU{'s' * (len(host.gpus) > 1)} found."
        if host.gpus
        else ("No NVIDIA GPU was found: the CPU will serve.")
    )
    return Content.assemble(("✓ Good to go. ", "bold $success"), serves)


def rows(host: Host) -> list[tuple[str, Content]]:
    """Everything found, in the words of the probe's report; remedies stand out, and so does what Triton can use."""
    return [
        (label, Content("\n").join(_line(text) for text in _marked(label, lines, host)))
        for label, lines in parts(host)
        if label != "machine"  # that is in the heading
    ]


def _marked(label: str, lines: list[str], host: Host) -> list[str]:
    if label == "Python" and host.interpreters:
        return [f"{'✓' if each.usable else '✗'} {line}" for each, line in zip(host.interpreters, lines, strict=True)]
    return [line for line in lines if line]


def _line(text: str) -> Content:
    mark, rest = text[:1], plain(text[1:])
    style = {"→": "$accent", "✓": "$success", "✗": "$error"}.get(mark)
    return Content.assemble((mark, style), rest) if style else Content(plain(text))
