"""The value of the fourth stage: a plan that can be printed, compared, carried out and resumed.

A step is a list of actions. Each action can be shown as the shell line that does the same thing by hand, so that a
learner sees the exact command and an exporter can write a script.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal, TypeAlias

from wizard.advise.advice import Choice
from wizard.kernel import values
from wizard.model.facts import ModelFacts
from wizard.plan.ports import Ports
from wizard.probe.host import HERE


@dataclass(frozen=True, slots=True)
class Containers:
    """All containers of ``engine`` (``docker``, ``podman``) that bear every one of ``labels`` (``name=value``)."""

    engine: str
    labels: tuple[str, ...]

    @property
    def remove(self) -> tuple[str, ...]:
        """Program and arguments that remove them, whatever state they are in."""
        listing = (self.engine, "ps", "--all", "--quiet", *(f"--filter=label={label}" for label in self.labels))
        removal = ("xargs", "--no-run-if-empty", self.engine, "rm", "--force")
        return ("sh", "-c", f"{shlex.join(listing)} | {shlex.join(removal)}")


@dataclass(frozen=True, slots=True)
class Command:
    """Run a program to its end.

    Attributes:
        argv: Program and arguments; never goes through a shell.
        env: Variables added to the wizard's own environment.
        secrets: Names of environment variables that the program needs; their values are never in the plan.
        cwd: Working directory, or None for the server's folder.
        unless: Program and arguments; where they end well there is nothing to run.
        cleanup: The containers that outlive the program's own processes (of a step that was stopped); they are removed
            before the program is run too, for what a killed wizard left.
    """

    argv: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = ()
    secrets: tuple[str, ...] = ()
    cwd: str | None = None
    unless: tuple[str, ...] = ()
    cleanup: Containers | None = None
    kind: Literal["command"] = "command"

    def shell(self) -> str:
        """The same as one shell line."""
        line = " ".join([*(f"{name}={shlex.quote(value)}" for name, value in self.env), shlex.join(self.argv)])
        if self.unless:
            line = f"{shlex.join(self.unless)} >/dev/null 2>&1 || {line}"
        return f"(cd {shlex.quote(self.cwd)} && {line})" if self.cwd else line


@dataclass(frozen=True, slots=True)
class Write:
    """Write a text file whole (UTF-8, its folders made, replaced atomically)."""

    path: str
    text: str
    kind: Literal["write"] = "write"

    def shell(self) -> str:
        """The same as a shell line with a here-document."""
        folder, end = shlex.quote(str(PurePath(self.path).parent)), "END"
        while end in self.text.splitlines():
            end += "_"
        return f"mkdir -p {folder} && cat > {shlex.quote(self.path)} <<'{end}'\n{self.text.rstrip()}\n{end}"


MADE_FROM = "TRITON_WIZARD_MADE_FROM"
"""Variable in a server's environment that says what it was made from, so that a changed plan restarts it."""


@dataclass(frozen=True, slots=True)
class Container:
    """The container that a server runs in; its client process stands for it in the process table.

    Attributes:
        engine: ``docker`` or ``podman``.
        options: Of ``run``.
        image: With its tag.
        labels: By which it is known, each ``name=value``.
    """

    engine: str
    options: tuple[str, ...]
    image: str
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Start:
    """Start the server in the background.

    Attributes:
        argv: ``tritonserver`` and its options, without the ports: those are checked again when it starts, because
            somebody may have taken one since the plan was made.
        ports: The ports to use if they are still free.
        model: The model that it serves.
        host: The address to listen on.
        container: Where it runs if that is not this machine itself; it listens on Triton's own ports in there.
    """

    argv: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    ports: Ports
    model: str
    host: str = "127.0.0.1"
    container: Container | None = None
    kind: Literal["start"] = "start"

    def command(self, ports: Ports | None = None) -> Command:
        """The whole command with ``ports``, or the planned ones."""
        ports = ports or self.ports
        if self.container:
            inside = Ports()
            pairs = ((ports.http, inside.http), (ports.grpc, inside.grpc), (ports.metrics, inside.metrics))
            published = tuple(f"--publish={self.host}:{ours}:{theirs}" for ours, theirs in pairs)
            box = self.container
            argv = (box.engine, "run", *box.options, *published, box.image, *self.argv)
            return Command(argv, self.env, cleanup=Containers(box.engine, box.labels))
        flags = (
            f"--http-address={self.host}",
            f"--http-port={ports.http}",
            f"--grpc-address={self.host}",
            f"--grpc-port={ports.grpc}",
            f"--metrics-address={self.host}",
            f"--metrics-port={ports.metrics}",
        )
        return Command(self.argv + flags, self.env)

    def shell(self) -> str:
        """The same as one shell line."""
        return self.command().shell() + " &"


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait until the server that the plan started says that ``model`` is ready."""

    model: str
    ports: Ports
    seconds: float
    """Give up after this long."""
    host: str = "127.0.0.1"
    kind: Literal["wait"] = "wait"

    def shell(self) -> str:
        """The same as one shell line, which fails (under ``set -e``) when the server started last has ended."""
        url = f"http://{self.host}:{self.ports.http}/v2/models/{self.model}/ready"
        return f"until curl -sf {shlex.quote(url)}; do kill -0 $!; sleep 0.1; done"


Action: TypeAlias = Command | Write | Start | Wait


@dataclass(frozen=True, slots=True)
class Done:
    """When a step needs not be done again (beside: its definition is unchanged and it was finished before).

    A step that promises nothing is done every time.

    Attributes:
        files: They exist with the size and time that the journal noted.
        server: The server runs, made from exactly this plan.
    """

    files: tuple[str, ...] = ()
    server: bool = False


LINK_BYTES_PER_S = 20_000_000
"""At which downloads are counted: an assumption about a fast link, which nobody measured here."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a step takes, roughly: seconds on two CPU cores with `LINK_BYTES_PER_S`, bytes fetched, bytes kept on disk.

    ``unknown``: nobody has measured how long it takes, and ``seconds`` counts only what is known of it.
    """

    seconds: float
    download_bytes: int = 0
    disk_bytes: int = 0
    unknown: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One step: what, why (for a learner), the exact commands, how to tell that it is done, and what it takes.

    What it ``reads`` and ``writes`` are artefacts, see `wizard.plan.artefacts`.
    """

    id: str
    title: str
    why: str
    actions: tuple[Action, ...]
    done: Done
    estimate: Estimate
    identity: str | None = None
    """What the result depends on, where that is less than the commands: any installer makes the same environment."""
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> str:
        """Changes when what the step does changes; a better sentence in ``why`` does not make it run again."""
        return values.fingerprint([self.id, self.identity or self.actions, self.done])


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that will be done to serve ``facts`` as ``choice`` under ``name`` in ``workspace``."""

    name: str
    workspace: str
    model: str
    """Name of the model in Triton."""
    facts: ModelFacts
    choice: Choice
    steps: tuple[Step, ...]
    notes: tuple[str, ...] = ()
    """What the user should know before accepting: a port that was moved, an interpreter that was chosen."""
    host: str = HERE
    """`Host.source` of the machine that the plan was made for; a plan for another machine is shown, not run."""
    machine: str = ""
    """Name of the GPU or processor that will serve, for what is measured there."""

    @property
    def is_for_here(self) -> bool:
        """Whether it can be carried out on the machine that the wizard runs on."""
        return self.host == HERE

    @property
    def fingerprint(self) -> str:
        """Changes when any step's work changes."""
        return values.fingerprint([self.name, self.workspace, [step.fingerprint for step in self.steps]])

    @property
    def estimate(self) -> Estimate:
        """The steps' estimates, added."""
        return Estimate(
            sum(step.estimate.seconds for step in self.steps),
            sum(step.estimate.download_bytes for step in self.steps),
            sum(step.estimate.disk_bytes for step in self.steps),
            any(step.estimate.unknown for step in self.steps),
        )
