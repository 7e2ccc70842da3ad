"""The value of the fourth stage: a plan that can be printed, compared, run and resumed.

A step is a list of actions. Each action can be shown as the equivalent shell line, so that a learner sees the exact
command and an exporter can write a script.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Literal, TypeAlias

from wizard.advise.advice import Choice
from wizard.kernel import values
from wizard.kernel.language import tr
from wizard.model.facts import ModelFacts
from wizard.plan.ports import Ports
from wizard.probe.host import HERE


@dataclass(frozen=True, slots=True)
class Containers:
    """All containers of ``engine`` (``docker``, ``podman``) that have all ``labels`` (``name=value``)."""

    engine: str
    labels: tuple[str, ...]

    @property
    def remove(self) -> tuple[str, ...]:
        """Program and arguments that remove them in any state."""
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
        unless: Program and arguments; if they succeed the command is skipped.
        cleanup: Containers that outlive the program's own processes (of a stopped step); they are also removed before
            the program runs, in case a killed wizard left some.
    """

    argv: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = ()
    secrets: tuple[str, ...] = ()
    cwd: str | None = None
    unless: tuple[str, ...] = ()
    cleanup: Containers | None = None
    kind: Literal["command"] = "command"

    def __post_init__(self) -> None:
        """A plan can come from anywhere.

        Raises:
            ValueError: There is no program, or a text that no program can be given.
        """
        if not self.argv or not self.argv[0]:
            raise ValueError(tr("`argv` has no program"))
        words = (*self.argv, *self.unless, *(word for pair in self.env for word in pair))
        if any("\0" in word for word in words):
            raise ValueError(tr("a text of a command contains a NUL byte"))

    def shell(self) -> str:
        """The command as a shell line."""
        line = " ".join([*(f"{name}={shlex.quote(value)}" for name, value in self.env), shlex.join(self.argv)])
        if self.unless:
            line = f"{shlex.join(self.unless)} >/dev/null 2>&1 || {line}"
        return f"(cd {shlex.quote(self.cwd)} && {line})" if self.cwd else line

    def naming(self, image: str, identity: str) -> Command:
        """The command with the image ``identity`` instead of that named ``image``."""
        return replace(self, argv=tuple(identity if word == image else word for word in self.argv))


@dataclass(frozen=True, slots=True)
class Write:
    """Write a complete text file (UTF-8; creates its folders, replaces it atomically)."""

    path: str
    text: str
    kind: Literal["write"] = "write"

    def shell(self) -> str:
        """The action as a shell line with a here-document."""
        folder, end = shlex.quote(str(PurePath(self.path).parent)), "END"
        while end in self.text.splitlines():
            end += "_"
        return f"mkdir -p {folder} && cat > {shlex.quote(self.path)} <<'{end}'\n{self.text.rstrip()}\n{end}"


MADE_FROM = "TRITON_WIZARD_MADE_FROM"
"""Variable in a server's environment with the fingerprint of its plan, so that a changed plan restarts it."""


@dataclass(frozen=True, slots=True)
class Container:
    """The container that a server runs in; its client process represents it in the process table.

    Attributes:
        engine: ``docker`` or ``podman``.
        options: Options of ``run``.
        image: With its tag.
        labels: Labels that identify it, each ``name=value``.
    """

    engine: str
    options: tuple[str, ...]
    image: str
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Image:
    """An image by the name that the plan gives it, and the container engine that has it, ``docker`` or ``podman``."""

    engine: str
    name: str

    def __post_init__(self) -> None:
        """A plan can come from anywhere, and the engine is run without being shown.

        Raises:
            ValueError: It is no container engine, or the name would be an option of it.
        """
        if self.engine not in ("docker", "podman") or not self.name or self.name.startswith("-") or "\0" in self.name:
            raise ValueError(tr("`image` is not the name of an image of docker or podman"))


@dataclass(frozen=True, slots=True)
class Start:
    """Start the server in the background.

    Attributes:
        argv: ``tritonserver`` and its options, without the ports: those are checked again at the start, because one may
            be in use by then.
        ports: The ports to use if they are still free.
        model: The model that it serves.
        host: The address to listen on.
        container: Its container if it runs in one, in which it listens on Triton's default ports.
    """

    argv: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    ports: Ports
    model: str
    host: str = "127.0.0.1"
    container: Container | None = None
    kind: Literal["start"] = "start"

    def command(self, ports: Ports | None = None) -> Command:
        """The complete command with ``ports``, or the planned ones."""
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
        """The action as a shell line."""
        return self.command().shell() + " &"

    def naming(self, image: str, identity: str) -> Start:
        """See `Command.naming`."""
        if self.container is None or self.container.image != image:
            return self
        return replace(self, container=replace(self.container, image=identity))


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait until the server that the plan started reports ``model`` as ready."""

    model: str
    ports: Ports
    seconds: float
    """Timeout."""
    host: str = "127.0.0.1"
    kind: Literal["wait"] = "wait"

    def shell(self) -> str:
        """The action as a shell line, which fails (under ``set -e``) when the last started server has exited."""
        url = f"http://{self.host}:{self.ports.http}/v2/models/{self.model}/ready"
        return f"until curl -sf {shlex.quote(url)}; do kill -0 $!; sleep 0.1; done"


Action: TypeAlias = Command | Write | Start | Wait


@dataclass(frozen=True, slots=True)
class Done:
    """When a step can be skipped (in addition: its definition is unchanged and it was completed before).

    A step without conditions runs every time.

    Attributes:
        files: They exist with the size and time recorded in the journal.
        server: The server is running, from exactly this plan.
    """

    files: tuple[str, ...] = ()
    server: bool = False


LINK_BYTES_PER_S = 20_000_000
"""Assumed download speed, that of a fast link; not measured."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Rough cost of a step: seconds on two CPU cores with `LINK_BYTES_PER_S`, bytes downloaded, bytes kept on disk.

    ``unknown``: the duration was not measured, and ``seconds`` is only the known part.
    """

    seconds: float
    download_bytes: int = 0
    disk_bytes: int = 0
    unknown: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """A step: title, reason (for learners), the exact commands, when it is done, and its cost.

    ``reads`` and ``writes`` are artifacts, see `wizard.plan.artefacts`.
    """

    id: str
    title: str
    why: str
    actions: tuple[Action, ...]
    done: Done
    estimate: Estimate
    identity: str | None = None
    """What the result depends on, if that is less than the commands: any installer creates the same environment."""
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    image: Image | None = None
    """The image that it gets. Once it has, the run replaces the name with the image's ID in all later actions: a tag
    can be moved at any time."""

    @property
    def fingerprint(self) -> str:
        """Changes when the step's work changes; a better sentence in ``why`` does not rerun it."""
        return values.fingerprint([self.id, self.identity or self.actions, self.done])


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan to serve ``facts`` as ``choice`` under ``name`` in ``workspace``."""

    name: str
    workspace: str
    model: str
    """Name of the model in Triton."""
    facts: ModelFacts
    choice: Choice
    steps: tuple[Step, ...]
    notes: tuple[str, ...] = ()
    """Remarks for the user before accepting: a different port, the selected interpreter."""
    host: str = HERE
    """`Host.source` of the machine that the plan was made for; a plan for another machine is shown, not run."""
    machine: str = ""
    """Name of the GPU or processor that serves, for measurements."""

    @property
    def is_for_here(self) -> bool:
        """Whether it can run on the machine that the wizard runs on."""
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
