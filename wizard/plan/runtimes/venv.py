"""A virtual environment created from pins: the server's, or an engine's own."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wizard.advise.advice import Choice
from wizard.advise.driver import branch
from wizard.catalog.environments import Environment, pins
from wizard.catalog.wheels import Target, complete
from wizard.kernel import settings
from wizard.kernel.errors import HostError, UsageError
from wizard.kernel.language import tr
from wizard.kernel.values import fingerprint
from wizard.plan.artefacts import ENGINE_ENVIRONMENT
from wizard.plan.plan import LINK_BYTES_PER_S, Command, Done, Estimate, Step
from wizard.probe.host import Host, Interpreter

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class Venv:
    """An environment in the folder of environments."""

    folder: Path
    environment: Environment
    interpreter: Interpreter

    @property
    def root(self) -> Path:
        """The environment's folder; its name changes with the pins and the interpreter."""
        text = pins(self.environment).read_text(encoding="utf-8")
        mark = fingerprint(["".join((text, *self.environment.from_index)), self.interpreter])
        return self.folder / f"{self.environment.name}-{mark}"

    @property
    def python(self) -> str:
        """The environment's interpreter."""
        return str(self.root / "bin" / "python")

    @property
    def site_packages(self) -> Path:
        """The folder of its packages."""
        major, minor, _ = self.interpreter.version
        return self.root / "lib" / f"python{major}.{minor}" / "site-packages"

    @property
    def libraries(self) -> tuple[str, ...]:
        """Folders with libraries that its engine loads."""
        return tuple(str(self.site_packages / folder) for folder in self.environment.libraries)

    def install(self) -> tuple[Command, ...]:
        """The commands that check the machine's requirements, create it and install its packages."""
        before = self.environment.before
        return (*((Command((self.interpreter.path, "-c", before)),) if before else ()), *self._fill())

    def _fill(self) -> tuple[Command, ...]:
        whole = ("--no-deps", "--require-hashes") if self.environment.hashes else ()
        requirements = [(*whole, "-r", str(pins(self.environment)))]
        if self.environment.from_index:  # a second install: another index could offer other files of this version
            requirements.append(("--no-deps", "--index-url", self.environment.index, *self.environment.from_index))
        env = self._from_bundle()
        if uv := shutil.which("uv"):
            return (
                Command((uv, "venv", "--clear", "--no-project", "--python", self.interpreter.path, str(self.root))),
                *(Command((uv, "pip", "install", "--python", self.python, *each), env) for each in requirements),
            )
        options = ("install", "--no-compile", "--no-input", "--disable-pip-version-check")
        if importlib.util.find_spec("pip"):
            # The wizard's own pip installs into the new environment: this needs no second pip, and Debian's Python
            # without ensurepip works.
            return (
                Command((self.interpreter.path, "-m", "venv", "--clear", "--without-pip", str(self.root))),
                *(
                    Command((sys.executable, "-m", "pip", "--python", self.python, *options, *each), env)
                    for each in requirements
                ),
            )
        return (
            Command((self.interpreter.path, "-m", "venv", "--clear", str(self.root))),
            *(Command((self.python, "-m", "pip", *options, *each), env) for each in requirements),
        )

    def _from_bundle(self) -> tuple[tuple[str, str], ...]:
        """Variables with which the installer takes the wheels of a workshop's bundle, if it has all of them."""
        try:
            folder = settings.load().bundle
        except UsageError:  # reported where settings are shown
            return ()
        wheels, version = Path(folder, "wheels"), "{}.{}".format(*self.interpreter.version)
        if not folder or not complete(self.environment, Target(version, platform.machine()), wheels):
            return ()
        place = wheels.as_uri()  # as a path, pip and uv would split it at a space or comma
        return (("PIP_NO_INDEX", "1"), ("PIP_FIND_LINKS", place), ("UV_OFFLINE", "1"), ("UV_FIND_LINKS", place))

    def check(self) -> Command:
        """The command that checks that it works."""
        env = (("LD_LIBRARY_PATH", ":".join(self.libraries)),) if self.libraries else ()
        return Command((self.python, "-c", self.environment.check), env)


def engine_step(venv: Venv) -> Step:
    """The step that creates an engine's environment."""
    made = str(venv.root / "complete")
    return Step(
        id="engine-environment",
        title=tr("Create the engine environment"),
        why=(
            tr(
                "The engine, {engine}, gets its own environment, so its pinned versions never conflict with those of "
                "Triton's stub. Triton starts it as a process and forwards requests.",
                engine=venv.environment.engine,
            )
        ),
        actions=(
            *venv.install(),
            venv.check(),
            Command(("touch", made)),
        ),
        done=Done(files=(venv.python, made)),
        estimate=Estimate(
            10 + venv.environment.download_bytes / LINK_BYTES_PER_S,
            venv.environment.download_bytes,
            venv.environment.disk_bytes,
            unknown=not venv.environment.download_bytes,
        ),
        identity=str(venv.root),
        reads=(venv.interpreter.path,),
        writes=(ENGINE_ENVIRONMENT,),
    )


def visible(devices: Sequence[int | str]) -> dict[str, str]:
    """Environment variables that make only ``devices`` visible: NVML's indices of GPUs, or UUIDs of MIG slices."""
    return {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": ",".join(map(str, devices))}


def replicas(choice: Choice) -> tuple[dict[str, str], ...]:
    """For each replica of ``choice``, what makes only its GPUs visible; in a container GPUs are numbered from 0."""
    if choice.replicas == 1:
        return ({},)
    if choice.slices:  # a slice keeps its UUID in a container
        return tuple(visible([uuid]) for uuid in choice.slices)
    numbers = {index: index if choice.runtime == "native" else at for at, index in enumerate(choice.devices)}
    return tuple(visible([numbers[index] for index in group]) for group in choice.groups)


def environment_changes(python: str, choice: Choice) -> dict[str, str | None]:
    """The differences between the environment of the engine process for ``choice`` and that of the server that starts
    it.

    The server's library path and the first folders of its ``PATH`` are for the stub, and it sees no GPU
    (`WITHOUT_GPUS`). A user's Python may need its current library path (NVIDIA's images set one). None
    removes a variable.

    CUDA's compiler is not on the path: otherwise vLLM uses FlashInfer kernels that are compiled at first use. On two
    H200s (vLLM 0.26.0, no NVLink multicast) that took 55 s, and then FlashInfer's all-reduce failed.
    """
    libraries = os.environ.get("LD_LIBRARY_PATH") if choice.engine_python else None
    path = f"{Path(python).parent}:{SYSTEM_PATH}"
    return {"LD_LIBRARY_PATH": libraries, "PYTHONPATH": None, "PATH": path, **visible(choice.slices or choice.devices)}


def check_driver(host: Host, engine: Environment) -> None:
    """Reject an engine whose CUDA the driver does not support.

    Raises:
        HostError: TW-L01 if the driver is too old.
    """
    have = branch(host)
    if engine.driver and have is not None and have < engine.driver:
        raise HostError(
            "TW-L01",
            tr(
                "{engine} needs NVIDIA driver {driver} or newer; found {driver_version}",
                engine=engine.engine,
                driver=engine.driver,
                driver_version=host.driver_version,
            ),
            tr(
                "Install NVIDIA driver {driver} or newer, or serve from an older image with --stack vllm.",
                driver=engine.driver,
            ),
        )
