"""Stage 1: what this machine is, and whether it can serve a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Static

from wizard.kernel.errors import WizardError
from wizard.kernel.text import plain
from wizard.kernel.units import size
from wizard.probe.host import Gpu, Host
from wizard.tui import background
from wizard.tui.screens.stage import StageScreen
from wizard.tui.widgets.error import ErrorPanel
from wizard.tui.widgets.facts import Facts
from wizard.tui.words import one_line

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

    def __init__(self, probe: Callable[[], Host], host: Host | None = None) -> None:
        super().__init__()
        self._probe = probe
        self.set_reactive(MachineScreen.view, MachineView(host))

    def body(self) -> list[Widget]:
        """Facts and a verdict."""
        return [
            Static(classes="heading"),
            VerticalScroll(Facts(), ErrorPanel(), Static(id="verdict"), id="machine"),
        ]

    def on_mount(self) -> None:
        """Look at the machine, unless that was done before."""
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

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Going on needs a machine that can serve."""
        if action == "accept":
            return self.view.host is not None and usable(self.view.host)
        return True

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
    if not host.gpus:
        return Content.assemble(
            ("✓ Good to go. ", "bold $success"), "The CPU will serve: small models answer quickly, big ones slowly."
        )
    return Content.assemble(("✓ Good to go. ", "bold $success"), f"{len(host.gpus)} NVIDIA GPU(s) found.")


def rows(host: Host) -> list[tuple[str, Content]]:
    """Everything found, for people."""
    memory = f"{size(host.memory_total_bytes)}, {size(host.memory_available_bytes)} available"
    cpu = host.cpu
    model = one_line(cpu.model) if cpu.model else "unknown model"
    system = [host.system.name, host.system.kernel, host.system.libc or "", "WSL 2" if host.system.wsl2 else ""]
    system.append(f"inside {host.system.container}" if host.system.container else "")
    found = [
        ("GPU", _gpus(host)),
        ("CPU", _lines(f"{model} · {cpu.cores} cores · {cpu.architecture}", " ".join(cpu.flags))),
        ("Memory", Content(memory)),
        ("Disk", _lines(f"{size(host.disk.free_bytes)} free of {size(host.disk.total_bytes)}", plain(host.disk.path))),
        ("System", Content(" · ".join(one_line(part) for part in system if part))),
        ("Containers", _engines(host)),
        ("Python", _interpreters(host)),
    ]
    if host.busy_ports:
        ports = ", ".join(map(str, host.busy_ports))
        found.append(("Ports", _warning(f"{ports} in use by another program: the server will take others")))
    return found


def _lines(first: str, *more: str) -> Content:
    return Content.assemble(first, *(part for line in more if line for part in ("\n", (line, "$text-muted"))))


def _warning(text: str) -> Content:
    return Content.assemble(("! ", "bold $warning"), text)


def _gpus(host: Host) -> Content:
    if not host.gpus:
        lines = [Content("no NVIDIA GPU found: the CPU will serve")]
        if host.gpu_problem:
            problem = host.gpu_problem
            lines.append(Content.assemble((f"{one_line(problem.what)} ({problem.code})", "$text-muted")))
            lines.append(Content.assemble(("→ ", "$accent"), one_line(problem.todo)))
        return Content("\n").join(lines)
    lines = [Content(f"{count} × {text}") for text, count in Counter(_gpu(gpu) for gpu in host.gpus).items()]
    links = sorted({one_line(link.kind) for link in host.gpu_links})
    about = [
        f"driver {one_line(host.driver_version)}" if host.driver_version else "",
        f"CUDA up to {one_line(host.cuda_driver_version)}" if host.cuda_driver_version else "",
        f"linked by {', '.join(links)}" if links else "",
    ]
    lines.append(Content.assemble((" · ".join(part for part in about if part), "$text-muted")))
    return Content("\n").join(line for line in lines if line.plain)


def _gpu(gpu: Gpu) -> str:
    capability = f" · compute capability {'.'.join(map(str, gpu.compute_capability))}" if gpu.compute_capability else ""
    shared = " shared with the host" if gpu.memory_is_shared_with_host else ""
    return f"{one_line(gpu.name)} · {size(gpu.memory_total_bytes)}{shared}{capability}"


def _engines(host: Host) -> Content:
    lines = []
    for engine in host.engines:
        version = engine.server_version or engine.client_version or ""
        line = f"{one_line(engine.name)} {one_line(version)}".strip()
        if engine.problem:
            lines.append(_warning(f"{line}: {one_line(engine.problem)}"))
        else:
            lines.append(Content(line + (" with the NVIDIA runtime" if engine.nvidia_runtime else "")))
    return Content("\n").join(lines) if lines else Content.assemble(("neither docker nor podman; not needed", "$text-muted"))


def _interpreters(host: Host) -> Content:
    lines = []
    for interpreter in sorted(host.interpreters, key=lambda one: not one.usable):
        name = f"{'.'.join(map(str, interpreter.version))}  {plain(interpreter.path)}"
        if interpreter.usable:
            lines.append(Content.assemble(("✓ usable  ", "$success"), name))
        else:
            why = f"  {one_line(interpreter.why_not or 'not usable')}"
            lines.append(Content.assemble(("✗ no      ", "$error"), name, (why, "$text-muted")))
    return Content("\n").join(lines) if lines else Content("none found")
