"""The runtime `native`: the server is a process of this machine, in a virtual environment made for it.

What makes the wheel's ``tritonserver`` run, each point found out by trial on Triton 2.51.0 (nvidia-pytriton 0.7.0):

- the Python backend and the stub for the interpreter's version must lie together in ``<backend-directory>/python``;
- the copied stub needs the wheel's own libraries and ``libpython3.X.so.1.0`` on ``LD_LIBRARY_PATH``; without them the
  server prints one line and hangs for ever;
- the stub runs the first ``python3`` on ``PATH``, so the environment's ``bin`` comes first;
- without ``--disable-auto-complete-config`` every model is started twice.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wizard.catalog.environments import Environment, pins
from wizard.kernel.paths import ServerFolder, Workspace
from wizard.kernel.values import fingerprint
from wizard.plan.plan import MADE_FROM, Command, Done, Estimate, Ports, Start, Step
from wizard.plan.runtimes.runtime import EXIT_TIMEOUT_S
from wizard.probe.host import Interpreter

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class Native:
    """Paths and commands of one server environment and one server."""

    workspace: Workspace
    server: ServerFolder
    environment: Environment
    interpreter: Interpreter

    @property
    def root(self) -> Path:
        """The environment's folder; its name changes with the pins and the interpreter."""
        mark = fingerprint([pins(self.environment).read_text(encoding="utf-8"), self.interpreter])
        return self.workspace.environments / f"{Path(self.environment.pins).stem}-{mark}"

    @property
    def python(self) -> str:
        """The environment's interpreter."""
        return str(self.root / "bin" / "python")

    @property
    def site_packages(self) -> Path:
        """Where its packages are."""
        major, minor, _ = self.interpreter.version
        return self.root / "lib" / f"python{major}.{minor}" / "site-packages"

    @property
    def backends(self) -> Path:
        """Triton's backend directory."""
        return self.root / "backends"

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know before accepting the plan."""
        version = ".".join(map(str, self.interpreter.version))
        return (f"Python {version} at {self.interpreter.path} runs the server's models.",)

    def prepare(self) -> tuple[Step, ...]:
        """Make the environment, see `Runtime.prepare`."""
        triton = self.site_packages / "pytriton" / "tritonserver"
        major, minor, _ = self.interpreter.version
        stub = triton / "python_backend_stubs" / f"{major}.{minor}" / "triton_python_backend_stub"
        backend = triton / "backends" / "python"
        target = self.backends / "python"
        parts = (backend / "libtriton_python.so", backend / "triton_python_backend_utils.py", stub)
        step = Step(
            id="environment",
            title="Make the server environment",
            why=(
                "Triton and the engine get a virtual environment of their own, so that their pins never meet yours. "
                "The wheel holds NVIDIA's real tritonserver; its Python backend talks to your model through a "
                "small program, the stub, built for one version of Python: backend and stub must lie side by side."
            ),
            actions=(
                *self._install(),
                Command(("mkdir", "-p", str(target))),
                Command(("cp", "--", *map(str, parts), str(target))),
                Command((self.python, "-c", self.environment.check)),
            ),
            done=Done(files=(self.python, str(triton / "bin" / "tritonserver"), str(target / stub.name))),
            estimate=Estimate(20, self.environment.download_bytes, self.environment.disk_bytes),
            identity=str(self.root),
        )
        return (step,)

    def command(
        self,
        step: str,
        argv: Sequence[str],
        *,
        env: Sequence[tuple[str, str]] = (),
        secrets: Sequence[str] = (),
        reads: Sequence[Path] = (),
        writes: Sequence[Path] = (),
        gpus: int = 0,
        cwd: Path | None = None,
    ) -> Command:
        """``argv`` as it is, see `Runtime.command`."""
        return Command(tuple(argv), tuple(env), tuple(secrets), str(cwd) if cwd else None)

    def _install(self) -> tuple[Command, ...]:
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
        """Triton as a process of this machine, see `Runtime.start`."""
        libraries = [str(self.site_packages / "nvidia_pytriton.libs")]
        if self.interpreter.libpython:
            libraries.append(self.interpreter.libpython)
        server = (
            str(self.site_packages / "pytriton" / "tritonserver" / "bin" / "tritonserver"),
            f"--model-repository={self.server.repository}",
            f"--backend-directory={self.backends}",
            f"--backend-config=python,shm-region-prefix-name={shm_prefix(self.server)}",
            *(() if auto_complete else ("--disable-auto-complete-config",)),
            f"--exit-timeout-secs={EXIT_TIMEOUT_S}",
        )
        return Start(
            argv=tuple(argv) if argv else server,
            env=(
                ("LD_LIBRARY_PATH", ":".join(libraries)),
                ("PATH", f"{self.root / 'bin'}:{SYSTEM_PATH}"),
                ("PYTHONNOUSERSITE", "1"),
                *env,
                (MADE_FROM, made),
            ),
            ports=ports,
            model=model,
        )


def shm_prefix(server: ServerFolder) -> str:
    """Prefix of the server's files in ``/dev/shm``: a crash leaves them behind, and only ours may be removed."""
    return f"triton_wizard_{fingerprint(server.root)}_"
