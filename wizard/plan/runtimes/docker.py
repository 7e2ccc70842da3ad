"""The runtime `docker`: each step and the server are a container of the same image; docker or podman, through the
command line.

Containers see the workspace under its path on this machine. They publish their ports on an address of this machine
instead of sharing its network, run as the wizard's user, and have labels that identify them.
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
from wizard.plan.plan import (
    LINK_BYTES_PER_S,
    MADE_FROM,
    Command,
    Container,
    Containers,
    Done,
    Estimate,
    Image,
    Start,
    Step,
)
from wizard.plan.ports import Ports
from wizard.plan.runtimes.runtime import EXIT_TIMEOUT_S

SHM_GB, SHM_GB_PER_GPU = 1.0, 2.56
"""Limits of a container's /dev/shm, whose default of 64 MB is too small. With a single GPU 1 GB is enough: Triton's
Python backend uses 1 MB per model and more for long answers. Ranks on several GPUs exchange tensors in it too (NCCL
without peer access, vLLM's workers): tutorial 004 gives 10.24 GB to 4. It is a limit: only written data uses memory.
"""
LABEL = "triton-wizard"
"""Our labels begin with this; containers without them are never touched."""


@dataclass(frozen=True, slots=True)
class Docker:
    """The containers of an image and a server.

    Attributes:
        workspace: The workspace for all files.
        server: The server's folder.
        image: Name with registry and tag.
        engine: ``docker`` or ``podman``.
        devices: What the engine calls the GPUs that the server gets, or their MIG slices; empty: none.
        image_bytes: Its size according to NVIDIA, which does not state whether it is compressed; 0 if it was already
            pulled, None if unknown.
        memlock: Whether containers may lock any amount of memory, which NCCL over InfiniBand needs; on a machine that
            does not permit it, the container engine would not start at all.
        rootless: Whether the engine runs rootless: root in a container is the wizard's user, and the user's number in
            the container is a different user without write permission.
    """

    workspace: Workspace
    server: ServerFolder
    image: str
    engine: str = "docker"
    devices: tuple[int | str, ...] = ()
    image_bytes: int | None = 0
    memlock: bool = False
    rootless: bool = False

    @property
    def python(self) -> str:
        """The image's own interpreter."""
        return "python3"

    @property
    def checked(self) -> Path:
        """See `Runtime.checked`: images are identified by their tags."""
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
        """Remarks for the user before accepting the plan."""
        return (tr("Everything runs in containers from {image}.", image=self.image),)

    def prepare(self) -> tuple[Step, ...]:
        """Pull the image unless it exists."""
        size = self.image_bytes or 0
        counted = (
            tr(
                " NVIDIA publishes the image size but not whether it is compressed, so the estimate uses it for "
                "both download and disk space."
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
                image=Image(self.engine, self.image),
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
        """``argv`` in a separate container, see `Runtime.command`."""
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
        """The labels that all containers of the server share."""
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
            # SELinux otherwise denies containers access to this user's folders and the GPU devices; relabeling the
            # folders instead would change files that are not ours (docker run, "Security configuration").
            "--security-opt=label=disable",
            *(("--ulimit=memlock=-1",) if self.memlock else ()),
        )

    def _gpus(self, devices: Sequence[int | str]) -> tuple[str, ...]:
        if not devices:
            return ()
        if self.engine == "podman":  # it silently ignores --gpus
            return tuple(f"--device=nvidia.com/gpu={device}" for device in devices)
        return (f'--gpus="device={",".join(map(str, devices))}"',)

    def _mounts(self, reads: Sequence[Path], writes: Sequence[Path]) -> tuple[str, ...]:
        """Bind mounts that fail if the source is missing (``--volume`` would create an empty folder owned by root)."""
        options = {path: ("readonly",) for path in reads} | dict.fromkeys(writes, ())
        return tuple(_mount(path, *mode) for path, mode in options.items())


def mark(server: ServerFolder) -> str:
    """The label of the server's containers; it distinguishes servers with the same name in two workspaces."""
    return fingerprint(str(server.root))[:8]


def _mount(path: Path, *mode: str) -> str:
    """The option; its value is a CSV record, in which a path may contain commas and quotes (docker's opts/mount.go)."""
    fields = ("type=bind", f"source={path}", f"target={path}", *mode)
    return "--mount=" + ",".join(_quoted(field) if set(field) & set(',"\n') else field for field in fields)


def _quoted(field: str) -> str:
    return '"' + field.replace('"', '""') + '"'
