"""The runtime `docker`: each step and the server are a container of one image; docker or podman, by command line.

Containers see the workspace under the path that it has here. They publish their ports on one address of this machine
instead of sharing its network, belong to whoever runs the wizard, and bear labels by which they are found again.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wizard.kernel.language import tr
from wizard.kernel.paths import ServerFolder, Workspace
from wizard.kernel.values import fingerprint
from wizard.plan.artefacts import IMAGE
from wizard.plan.plan import LINK_BYTES_PER_S, MADE_FROM, Command, Container, Containers, Done, Estimate, Start, Step
from wizard.plan.ports import Ports
from wizard.plan.runtimes.runtime import EXIT_TIMEOUT_S

SHM_GB, SHM_GB_PER_GPU = 1.0, 2.56
"""Limits of a container's /dev/shm, whose own 64 MB are too few. With one GPU 1 GB does: Triton's Python backend takes
1 MB for each model and more for long answers. Ranks on several GPUs hand tensors over in it too (NCCL without peer
access, vLLM's workers): tutorial 004 gives 10.24 GB to 4. It is a limit: only what is written there takes memory."""
LABEL = "triton-wizard"
"""Labels of ours begin with this; nothing without them is ever touched."""


@dataclass(frozen=True, slots=True)
class Docker:
    """One image and one server.

    Attributes:
        workspace: Where everything is made.
        server: The server's folder.
        image: With its registry and tag.
        engine: ``docker`` or ``podman``.
        devices: Indices of the GPUs that the server gets; empty: none.
        image_bytes: Its size as NVIDIA states it, which does not say whether compressed; 0 if it is here already, None
            where it is not known.
        memlock: Containers may lock any amount of memory, as NCCL over InfiniBand wants it; where this machine gives
            nobody that right, an engine that is told so starts no container at all.
        rootless: The engine runs without root's rights: root in a container is whoever runs the wizard, and the same
            number in there is somebody else who may not write here.
    """

    workspace: Workspace
    server: ServerFolder
    image: str
    engine: str = "docker"
    devices: tuple[int, ...] = ()
    image_bytes: int | None = 0
    memlock: bool = False
    rootless: bool = False

    @property
    def python(self) -> str:
        """The image's own interpreter."""
        return "python3"

    @property
    def checked(self) -> Path:
        """See `Runtime.checked`: images are known by their tags."""
        return self.workspace.environments / self.image.rpartition(":")[2] / "checked"

    @property
    def needs(self) -> tuple[str, ...]:
        """See `Runtime.needs`."""
        return (IMAGE,)

    @property
    def server_needs(self) -> tuple[str, ...]:
        """See `Runtime.server_needs`."""
        return (IMAGE,)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know before accepting the plan."""
        return (tr("Everything runs in containers from {image}.", image=self.image),)

    def prepare(self) -> tuple[Step, ...]:
        """Pull the image unless it is there."""
        size = self.image_bytes or 0
        counted = (
            tr(
                " NVIDIA states its size but not whether it is compressed, so that size counts as both the "
                "download and the disk space."
            )
            if size
            else ""
        )
        return (
            Step(
                id="image",
                title=tr("Get the serving image"),
                why=(
                    tr(
                        "NVIDIA's image contains Triton, the engine, and all libraries in matching versions. Other "
                        "programs that the setup needs run in the same image.{counted}",
                        counted=counted,
                    )
                ),
                actions=(
                    Command((self.engine, "pull", self.image), unless=(self.engine, "image", "inspect", self.image)),
                ),
                done=Done(),
                estimate=Estimate(size / LINK_BYTES_PER_S + 1, size, size, unknown=self.image_bytes is None),
                identity=self.image,
                writes=(IMAGE,),
            ),
        )

    def command(
        self,
        step: str,
        argv: Sequence[str],
        *,
        env: Sequence[tuple[str, str]] = (),
        reads: Sequence[Path] = (),
        writes: Sequence[Path] = (),
        gpus: int = 0,
    ) -> Command:
        """``argv`` in a container of its own, see `Runtime.command`."""
        labels = self._labels("step", step)
        options = [
            *self._options(f"{self._name}-{step}", labels, gpus),
            *self._gpus(self.devices[:gpus]),
            *self._mounts((self.workspace.models, *reads), (self.server.root, *writes)),
            *(f"--env={name}={value}" for name, value in env),
            f"--workdir={self.server.root}",
        ]
        argv = (self.engine, "run", *options, self.image, *argv)
        return Command(argv, cleanup=Containers(self.engine, labels))

    def start(
        self,
        model: str,
        ports: Ports,
        made: str,
        *,
        argv: Sequence[str] | None = None,
        env: Sequence[tuple[str, str]] = (),
        reads: Sequence[Path] = (),
        auto_complete: bool = False,
    ) -> Start:
        """``tritonserver`` in a container, see `Runtime.start`."""
        labels = self._labels("role", "server")
        options = (
            *self._options(self._name, labels, len(self.devices)),
            *self._gpus(self.devices),
            *self._mounts((self.workspace.models, self.server.root, *reads), ()),
            *(f"--env={name}={value}" for name, value in env),
        )
        default = ("tritonserver", f"--model-repository={self.server.repository}")
        strict = () if auto_complete else ("--disable-auto-complete-config",)
        return Start(
            argv=tuple(argv) if argv else (*default, *strict, f"--exit-timeout-secs={EXIT_TIMEOUT_S}"),
            env=((MADE_FROM, made),),
            ports=ports,
            model=model,
            container=Container(self.engine, options, self.image, labels),
        )

    @property
    def _name(self) -> str:
        return f"{LABEL}-{self.server.name}-{self._mark}"

    @property
    def _mark(self) -> str:
        return mark(self.server)

    def _labels(self, name: str, value: str) -> tuple[str, ...]:
        """The labels of the server's containers that are alike."""
        return (f"{LABEL}.server={self._mark}", f"{LABEL}.{name}={value}")

    def _options(self, name: str, labels: Sequence[str], gpus: int) -> tuple[str, ...]:
        shared = SHM_GB_PER_GPU * gpus if gpus > 1 else SHM_GB
        return (
            "--rm",
            "--init",
            f"--name={name}",
            *(f"--label={label}" for label in labels),
            "--user=0:0" if self.rootless else f"--user={os.getuid()}:{os.getgid()}",
            "--env=HOME=/tmp",
            f"--shm-size={shared:g}g",
            "--ulimit=stack=67108864",
            # SELinux lets a container neither at this user's folders nor at the GPUs' devices otherwise; relabelling
            # the folders instead would change files that are not ours (docker run, "Security configuration").
            "--security-opt=label=disable",
            *(("--ulimit=memlock=-1",) if self.memlock else ()),
        )

    def _gpus(self, devices: Sequence[int]) -> tuple[str, ...]:
        if not devices:
            return ()
        if self.engine == "podman":  # it ignores --gpus without a word
            return tuple(f"--device=nvidia.com/gpu={device}" for device in devices)
        return (f'--gpus="device={",".join(map(str, devices))}"',)

    def _mounts(self, reads: Sequence[Path], writes: Sequence[Path]) -> tuple[str, ...]:
        """Bind mounts that fail where the source is missing (``--volume`` would make an empty folder of root's)."""
        options = {path: ("readonly",) for path in reads} | dict.fromkeys(writes, ())
        return tuple(_mount(path, *mode) for path, mode in options.items())


def mark(server: ServerFolder) -> str:
    """The label of the server's containers; it tells servers of the same name in two workspaces apart."""
    return fingerprint(str(server.root))[:8]


def _mount(path: Path, *mode: str) -> str:
    """The option; its value is a record of CSV, in which a path may have commas and quotes (docker's opts/mount.go)."""
    fields = ("type=bind", f"source={path}", f"target={path}", *mode)
    return "--mount=" + ",".join(_quoted(field) if set(field) & set(',"\n') else field for field in fields)


def _quoted(field: str) -> str:
    return '"' + field.replace('"', '""') + '"'
