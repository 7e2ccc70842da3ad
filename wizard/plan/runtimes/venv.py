"""A virtual environment that is made from pins: the server's, or an engine's own."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from wizard.advise.driver import branch
from wizard.catalog.environments import Environment, pins
from wizard.kernel.errors import HostError
from wizard.kernel.language import tr
from wizard.kernel.values import fingerprint
from wizard.plan.plan import LINK_BYTES_PER_S, Command, Done, Estimate, Step
from wizard.probe.host import Host, Interpreter

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class Venv:
    """One environment in the folder of environments."""

    folder: Path
    environment: Environment
    interpreter: Interpreter

    @property
    def root(self) -> Path:
        """The environment's folder; its name changes with the pins and the interpreter."""
        mark = fingerprint([pins(self.environment).read_text(encoding="utf-8"), self.interpreter])
        return self.folder / f"{self.environment.name}-{mark}"

    @property
    def python(self) -> str:
        """The environment's interpreter."""
        return str(self.root / "bin" / "python")

    @property
    def site_packages(self) -> Path:
        """Where its packages are."""
        major, minor, _ = self.interpreter.version
        return self.root / "lib" / f"python{major}.{minor}" / "site-packages"

    def install(self) -> tuple[Command, ...]:
        """The commands that make it and fill it."""
        requirements = ("--no-deps", "--require-hashes", "-r", str(pins(self.environment)))
        if uv := shutil.which("uv"):
            return (
                Command((uv, "venv", "--clear", "--no-project", "--python", self.interpreter.path, str(self.root))),
                Command((uv, "pip", "install", "--python", self.python, *requirements)),
            )
        options = ("install", "--no-compile", "--no-input", "--disable-pip-version-check", *requirements)
        if importlib.util.find_spec("pip"):
            # The wizard's own pip installs into the new environment: no second pip, and Debian's Python, which
            # comes without ensurepip, will do.
            return (
                Command((self.interpreter.path, "-m", "venv", "--clear", "--without-pip", str(self.root))),
                Command((sys.executable, "-m", "pip", "--python", self.python, *options)),
            )
        return (
            Command((self.interpreter.path, "-m", "venv", "--clear", str(self.root))),
            Command((self.python, "-m", "pip", *options)),
        )

    def check(self) -> Command:
        """The command that shows that it works."""
        return Command((self.python, "-c", self.environment.check))


def engine_step(venv: Venv) -> Step:
    """The step that makes an engine's environment."""
    made = str(venv.root / "complete")
    before = venv.environment.before
    return Step(
        id="engine-environment",
        title=tr("Make the engine environment"),
        why=(
            tr(
                "The engine, {engine}, gets an environment of its own: its pins cannot live "
                "beside those of Triton's stub (numpy 2 here, numpy 1 there). Triton starts it "
                "as a process and passes requests on.",
                engine=venv.environment.engine,
            )
        ),
        actions=(
            *((Command((venv.interpreter.path, "-c", before)),) if before else ()),
            *venv.install(),
            venv.check(),
            Command(("touch", made)),
        ),
        done=Done(files=(venv.python, made)),
        estimate=Estimate(
            10 + venv.environment.download_bytes / LINK_BYTES_PER_S,
            venv.environment.download_bytes,
            venv.environment.disk_bytes,
        ),
        identity=str(venv.root),
    )


def of_its_own(python: str) -> dict[str, str | None]:
    """What is different for a process of the environment of ``python`` from the server that starts it.

    The server's library path and the first folders of its ``PATH`` are meant for the stub. None takes a variable away.
    """
    return {"LD_LIBRARY_PATH": None, "PYTHONPATH": None, "PATH": f"{Path(python).parent}:{SYSTEM_PATH}"}


def check_driver(host: Host, engine: Environment) -> None:
    """Refuse an engine whose CUDA the driver cannot run.

    Raises:
        HostError: TW-L01 if the driver is too old.
    """
    have = branch(host)
    if engine.driver and have is not None and have < engine.driver:
        raise HostError(
            "TW-L01",
            tr(
                "{engine} needs an NVIDIA driver of branch {driver}; here is {driver_version}",
                engine=engine.engine,
                driver=engine.driver,
                driver_version=host.driver_version,
            ),
            tr(
                "Install a driver of branch {driver} or newer, or serve from an older image with --stack vllm.",
                driver=engine.driver,
            ),
        )
