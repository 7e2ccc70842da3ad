"""Stage 1: the machine, its live readings, and whether it can serve a model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.reactive import reactive
from textual.widgets import Static

from wizard.kernel.errors import WizardError
from wizard.kernel.language import mark, ntr, tr
from wizard.kernel.text import one_line, plain
from wizard.kernel.units import size
from wizard.probe.host import Host
from wizard.probe.live import Reading, refreshed
from wizard.probe.report import parts
from wizard.tui import background
from wizard.tui.screens.stage import StageScreen
from wizard.tui.widgets.cards import LiveCards
from wizard.tui.widgets.error import ErrorPanel
from wizard.tui.widgets.facts import Facts
from wizard.tui.widgets.pane import Pane

NO_INTERPRETER = mark(
    "Install Python 3.10, 3.11 or 3.12 with its shared library (libpython3.X.so.1.0); without administrator rights, "
    "run `uv python install 3.12`. Then press r to refresh."
)
ELSEWHERE = (mark("machine"), mark("processor"), mark("memory"))
"""Parts of the probe's report that are in the heading and in the cards."""


@dataclass(frozen=True, slots=True)
class MachineView:
    """The state of the screen."""

    host: Host | None = None
    error: WizardError | None = None
    reading: Reading | None = None
    """The latest reading; None before the first one, and for another machine."""
    silent: WizardError | None = None
    """Why there is no newer reading."""


class MachineScreen(StageScreen[Host]):
    """Dismissed with the host."""

    STAGE = 0
    EVERY: ClassVar[float] = 1.0
    """Seconds between readings."""
    HELP = mark(
        "The wizard checks the GPUs, the processor, memory, disk, container engines and Python interpreters. It "
        "changes nothing. The results decide which models fit and how they are served. GPU memory, utilization, "
        "temperature, power and the processes that use GPU memory are updated every second; memory that other "
        "processes free up in the meantime is taken into account when you continue. A model's weights and the KV "
        "cache for the whole conversation must fit in the free memory."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", mark("Choose a model"), priority=True, key_display="⏎", id="machine.accept"),
        Binding("r", "look", mark("Refresh"), id="machine.look"),
    ]
    view: reactive[MachineView] = reactive(MachineView())

    def __init__(
        self,
        probe: Callable[[], Host],
        host: Host | None = None,
        *,
        first: bool = True,
        read: Callable[[], Reading] | None = None,
    ) -> None:
        """Show a machine.

        Args:
            probe: Describes the machine.
            host: An earlier description.
            first: Whether there is no screen to go back to.
            read: Returns a live reading; None if not available.
        """
        super().__init__()
        self._probe, self._first, self._read = probe, first, read
        self._listed: Host | None = None
        """The host whose facts are on the screen."""
        self.set_reactive(MachineScreen.view, MachineView(host))

    @property
    def is_waiting(self) -> bool:
        """Whether the first reading is still missing."""
        return self._read is not None and self.view.reading is None and self.view.silent is None

    def compose(self) -> ComposeResult:
        """Verdict, cards and facts."""
        yield from self.framed(
            Static(classes="heading"),
            Static(id="verdict"),
            ErrorPanel(),
            Pane(LiveCards(), Facts(), id="machine"),
        )

    def on_mount(self) -> None:
        """Probe the machine, unless that was done before, and follow its readings."""
        self.mutate_reactive(MachineScreen.view)  # it was set before any widget could show it
        if self.view.host is None:
            self.action_look()
        if self._read is not None:
            self._follow(self._read)

    @work(exclusive=True, group="probe")
    async def action_look(self) -> None:
        """Probe in the background."""
        self.view = MachineView(reading=self.view.reading)
        try:
            host = await background.call(self._probe)
        except WizardError as error:
            self.view = replace(self.view, error=error)
        else:
            self.view = replace(self.view, host=host)

    @work(exclusive=True, group="live")
    async def _follow(self, read: Callable[[], Reading]) -> None:
        """Read repeatedly until the screen closes; a failed reading is retried."""
        while True:
            try:
                reading = await background.call(read)
            except WizardError as error:
                self.view = replace(self.view, silent=error)
            else:
                self.view = replace(self.view, reading=reading, silent=None)
            await asyncio.sleep(self.EVERY)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Continuing requires a machine that can serve."""
        if action == "accept":
            return self.view.host is not None and self.view.host.runs_triton
        return not (action == "back" and self._first) and super().check_action(action, parameters)

    def action_accept(self) -> None:
        """Continue with the current state of this machine."""
        host, reading = self.view.host, self.view.reading
        self.dismiss(refreshed(host, reading) if host and reading else host)

    def relabel(self) -> None:
        """Update all text to the current language."""
        super().relabel()
        self._listed = None
        self.mutate_reactive(MachineScreen.view)

    async def watch_view(self, view: MachineView) -> None:
        """Show the state."""
        host = view.host
        self.query_one(LiveCards).show(host, view.reading)
        self.query_one("#verdict", Static).update(verdict_text(view))
        if view.error is not None or self.query_one(ErrorPanel).display:
            self.query_one(ErrorPanel).show(view.error)
        if host is not self._listed or host is None:
            self._listed = host
            source = "" if host is None or host.is_here else f" — {one_line(host.source)}"
            self.query_one(".heading", Static).update(Content(tr("Your machine") + source))
            await self.query_one(Facts).show([] if host is None else rows(host))
            self.refresh_bindings()


def verdict_text(view: MachineView) -> Content:
    """The line below the heading."""
    if view.host is None:
        return Content("" if view.error else tr("◌ Checking this machine …"))
    verdict = judgement(view.host, view.reading)
    if view.silent is None:
        return verdict
    old = tr("These values are out of date: {why}", why=plain(view.silent.what))
    return Content.assemble(verdict, "\n", ("! ", "bold $warning"), f"{old} ({view.silent.code})")


def judgement(host: Host, reading: Reading | None = None) -> Content:
    """Whether this machine can serve, and if not, the remedy."""
    if not host.runs_triton:
        return Content.assemble(
            ("✗ " + tr("No Python on this machine can run Triton's Python backend.") + "\n", "bold $error"),
            ("→ ", "$accent"),
            tr(NO_INTERPRETER),
        )
    now = refreshed(host, reading) if reading else host
    good = (f"✓ {tr('Ready to go.')} ", "bold $success")
    if not host.gpus:
        free = tr("{free} of memory is free.", free=size(now.memory_available_bytes))
        return Content.assemble(good, tr("No NVIDIA GPU was detected: models run on the CPU."), f" {free}")
    count = ntr("{count} NVIDIA GPU found.", "{count} NVIDIA GPUs found.", len(host.gpus), count=len(host.gpus))
    known = [gpu.memory_free_bytes for gpu in now.gpus if gpu.memory_free_bytes is not None]
    free = tr("{free} of GPU memory is free.", free=size(sum(known))) if known else ""
    return Content.assemble(good, f"{count} {free}".rstrip())


def rows(host: Host) -> list[tuple[str, Content]]:
    """The static facts, from the probe's report; remedies are highlighted."""
    elsewhere = [tr(label) for label in ELSEWHERE]
    return [
        (label, Content("\n").join(_line(text) for text in _marked(label, lines, host)))
        for label, lines in parts(host)
        if label not in elsewhere
    ]


def _marked(label: str, lines: list[str], host: Host) -> list[str]:
    if label == "Python" and host.interpreters:
        return [f"{'✓' if each.usable else '✗'} {line}" for each, line in zip(host.interpreters, lines, strict=True)]
    if label == "GPU" and host.gpus:
        return lines[:1]  # the driver; the cards have the rest
    return [line for line in lines if line]


def _line(text: str) -> Content:
    sign, rest = text[:1], plain(text[1:])
    style = {"→": "$accent", "✓": "$success", "✗": "$error"}.get(sign)
    return Content.assemble((sign, style), rest) if style else Content(plain(text))
