"""The first screen: the machine, and the entries with the recommended one selected."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import events, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.reactive import reactive
from textual.widgets import Static

from wizard.kernel.errors import WizardError
from wizard.kernel.language import mark, tr
from wizard.tui import background
from wizard.tui.screens.stage import StageScreen
from wizard.tui.views.welcome import Row, Server, WelcomeView, best, machine, right, rows
from wizard.tui.widgets.chrome import active_keys, key_name
from wizard.tui.widgets.error import ErrorPanel
from wizard.tui.widgets.picker import Picker

if TYPE_CHECKING:
    from wizard.chat.nearby import Nearby
    from wizard.doctor.finding import Finding
    from wizard.plan.offers import Suggestion
    from wizard.probe.host import Host

ON_THE_SPOT = {"settings": "app.settings", "help": "app.help", "quit": "app.quit"}
"""Rows that lead to no other stage, and what they do."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The user's selection."""

    row: str
    """The chosen `Row.id`."""
    server: Server | None = None
    model: str = ""
    """The recommended model's reference, if it should be served."""


class WelcomeScreen(StageScreen[Selection]):
    """Dismissed with the selection. Results appear when they are known, without moving the cursor.

    Args:
        probe: Describes the machine.
        suggestions: Models for a machine, the recommended one first.
        servers: Running servers, and those being built.
        nearby: Servers of other programs on this machine.
        doctor: What keeps this machine from serving, from the checks that only read files.
        view: The earlier state.
    """

    EVERY: ClassVar[float] = 1.0
    """Seconds between checks of the servers, which are built here, and started and stopped elsewhere."""
    HELP = mark(
        "From here, everything is one or two keys away. If a server is running, you can chat with it right away; "
        "otherwise, the first row serves a model that suits this machine. At every step, you can change your "
        "choices or go back. Nothing is downloaded or started before you have seen the plan."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", mark("Choose"), id="welcome.accept", priority=True, key_display="⏎"),
        Binding("r", "look", mark("Refresh"), id="welcome.look"),
        Binding("d", "app.doctor", mark("Check for problems"), id="welcome.doctor", show=False),
    ]
    view: reactive[WelcomeView] = reactive(WelcomeView())

    def __init__(
        self,
        probe: Callable[[], Host],
        suggestions: Callable[[Host], Sequence[Suggestion]],
        servers: Callable[[], Sequence[Server]],
        nearby: Callable[[], Sequence[Nearby]],
        doctor: Callable[[Host], Sequence[Finding]],
        view: WelcomeView,
    ) -> None:
        super().__init__()
        self._probe, self._suggestions, self._servers, self._nearby = probe, suggestions, servers, nearby
        self._doctor = doctor
        self.rows: list[Row] = []
        """What the list shows."""
        self._touched = False
        """Whether the user has moved the cursor, or may be about to."""
        self.set_reactive(WelcomeScreen.view, view)

    def compose(self) -> ComposeResult:
        """Title, machine, entries."""
        yield from self.framed(
            Static(classes="heading"),
            Static(id="machine-lines", markup=False),
            Static(id="problem", markup=False),
            ErrorPanel(),
            Picker(id="ways"),
        )

    def on_mount(self) -> None:
        """Show the known state and look for the rest."""
        self.mutate_reactive(WelcomeScreen.view)  # it was set before any widget could show it
        self._find()
        self._find_servers()
        self.call_after_refresh(self._find_nearby)

    def on_key(self) -> None:
        """From the first key on the cursor is not moved."""
        self._touched = True

    def on_mouse_down(self, _event: events.MouseDown) -> None:
        """As with a key."""
        self._touched = True

    def relabel(self) -> None:
        """Update all text to the current language; results keep their texts until they are found again."""
        super().relabel()
        self.mutate_reactive(WelcomeScreen.view)
        self._find(again=True)
        self._find_servers()

    def action_look(self) -> None:
        """Probe the machine again."""
        self.view = replace(self.view, host=None, error=None, suggestions=None)
        self._find()
        self._find_servers()
        self._find_nearby()

    @work(exclusive=True, group="find")
    async def _find(self, *, again: bool = False, changed: bool = False) -> None:
        """The machine, if unknown or ``changed``, then the models for it, also ``again``."""
        try:
            host = self.view.host
            if host is None or changed:
                host = await background.call(self._probe)
            self.view = replace(self.view, host=host, error=None)
            if host.is_here:
                findings = await background.call(partial(self._doctor, host))
                self.view = replace(self.view, findings=tuple(findings))
            if again or changed or self.view.suggestions is None:
                suggestions = await background.call(partial(self._suggestions, host))
                self.view = replace(self.view, suggestions=tuple(suggestions))
        except WizardError as error:
            self.view = replace(self.view, error=error)

    @work(exclusive=True, group="servers")
    async def _find_servers(self) -> None:
        """Running servers, and the progress of a build. Started or stopped servers change the free memory."""
        problem = ""
        while True:
            try:
                servers = tuple(await background.call(self._servers))
            except WizardError as error:  # it may succeed with the next check
                servers = self.view.servers or ()
                if error.what != problem:
                    self.notify(f"{error.what}\n{error.todo}", title=error.code, severity="warning", markup=False)
                problem = error.what
            before, ran = self.view.ran, tuple(server.endpoint for server in servers if server.endpoint is not None)
            self.view = replace(self.view, servers=servers, ran=ran)
            if before not in (None, ran):
                self._find(changed=True)
            await asyncio.sleep(self.EVERY)

    @work(exclusive=True, group="nearby")
    async def _find_nearby(self) -> None:
        """Servers of other programs, once: there may be none, and an error here is not worth a word."""
        with suppress(WizardError):
            servers = await background.call(self._nearby)
            self.view = replace(self.view, nearby=tuple(servers))

    async def on_option_list_option_selected(self) -> None:
        """A click on a row chooses it."""
        await self.action_accept()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """There is no previous stage."""
        return action != "back" and super().check_action(action, parameters)

    async def action_accept(self) -> None:
        """Go to the selected entry."""
        at = self.query_one(Picker).highlighted
        if at is None:
            return
        row = self.rows[at].id
        if row in ON_THE_SPOT:
            await self.run_action(ON_THE_SPOT[row])
            return
        self.workers.cancel_node(self)
        recommended = best(self.view)
        name = row.partition(":")[2]
        server = next((row for row in self.view.servers or () if row.name == name), None)
        for other in self.view.nearby:
            if row == f"nearby:{other.address}":
                server = Server(name, "", other.endpoints[0])
        self.dismiss(Selection(row, server, recommended.ref if row == "serve" and recommended else ""))

    def _show_problem(self, findings: Sequence[Finding]) -> None:
        """What is worst, in one line, with the key for all of it, which the user may have changed."""
        self.query_one("#problem").display = False
        if not findings:
            return
        from wizard.texts.doctor.report import SIGNS, headline  # not loaded before there are findings

        if worst := headline(findings):
            status, text = worst
            key = next((each.binding.key for each in active_keys(self) if each.binding.id == "welcome.doctor"), "")
            sign = (f"{SIGNS[status]} ", "bold $error" if status == "fail" else "bold $warning")
            line = Content.assemble((f"[{key_name(key)}] ", "bold $accent"), sign, text)
            self.query_one("#problem", Static).update(line)
            self.query_one("#problem").display = True

    def watch_view(self, view: WelcomeView) -> None:
        """Show the state."""
        self.query_one(".heading", Static).update(
            Content(tr("From a bare machine to chatting with a model that you serve yourself"))
        )
        self.query_one("#machine-lines", Static).update(Content("\n".join(machine(view))))
        self._show_problem(view.findings)
        self.query_one(ErrorPanel).show(view.error)
        picker, before = self.query_one(Picker), self.rows
        here = before[picker.highlighted].id if before and picker.highlighted is not None else ""
        self.rows = rows(view)
        ids = [row.id for row in self.rows]
        selected = here if (self._touched or picker.moved) and here in ids else right(view)
        picker.show([_content(row) for row in self.rows], ids.index(selected))


def _content(row: Row) -> Content:
    parts: list[Content | tuple[str, str]] = [(row.title, "bold")]
    if row.recommended:
        parts.append((tr("   ★ recommended"), "$accent"))
    if row.about:
        parts += [("\n", ""), (row.about, "$text-muted")]
    return Content.assemble(*parts)
