"""The runtime `native`: the server is a process on this machine, in a virtual environment created for it.

Requirements of the wheel's ``tritonserver``, each found by testing Triton 2.51.0 (nvidia-pytriton 0.7.0):

- the Python backend and the stub for the interpreter's version must be together in ``<backend-directory>/python``;
- the copied stub needs the wheel's own libraries and ``libpython3.X.so.1.0`` on ``LD_LIBRARY_PATH``; without them the
  server prints one line and hangs forever;
- the stub runs the first ``python3`` on ``PATH``, so the environment's ``bin`` comes first;
- without ``--disable-auto-complete-config`` every model is started twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wizard.catalog.environments import Environment
from wizard.kernel.language import tr
from wizard.kernel.paths import ServerFolder, Workspace
from wizard.kernel.values import fingerprint
from wizard.plan.artefacts import ENGINE_ENVIRONMENT, ENVIRONMENT
from wizard.plan.plan import MADE_FROM, Command, Done, Estimate, Start, Step
from wizard.plan.ports import Ports
from wizard.plan.runtimes.engine_python import check_step, kept
from wizard.plan.runtimes.runtime import EXIT_TIMEOUT_S
from wizard.plan.runtimes.venv import SYSTEM_PATH, Venv, engine_step, visible
from wizard.probe.host import EnginePython, Interpreter

SHM_PREFIX = "triton_wizard_"
"""Files in ``/dev/shm`` of all servers of the wizard."""
WITHOUT_POOLS = (
    "--pinned-memory-pool-byte-size=0",
    "--cuda-memory-pool-byte-size=0:0",
    "--allow-gpu-metrics=false",
)
"""Options with which Triton itself allocates nothing on a GPU that it sees: 2.51.0 then logs that both pools are
disabled.
"""


@dataclass(frozen=True, slots=True)
class Native:
    """Paths and commands of a server environment and a server.

    Attributes:
        workspace: The workspace for all files.
        server: The server's folder.
        environment: Triton's environment, which may include the engine.
        interpreter: The Python that creates the environments.
        engine: The engine's own environment, if it has one.
        devices: Indices of the engine's GPUs, or UUIDs of its MIG slices; empty: none.
        own: The user's Python that has the engine; no engine environment is created then.
        engine_interpreter: The Python that creates its environment, if different.
    """

    workspace: Workspace
    server: ServerFolder
    environment: Environment
    interpreter: Interpreter
    engine: Environment | None = None
    devices: tuple[int | str, ...] = ()
    own: EnginePython | None = None
    engine_interpreter: Interpreter | None = None

    @property
    def triton(self) -> Venv:
        """The environment of Triton."""
        return Venv(self.workspace.environments, self.environment, self.interpreter)

    @property
    def packages(self) -> Venv:
        """The environment with the engine's packages."""
        if self.engine is None:
            return self.triton
        return Venv(self.workspace.environments, self.engine, self.engine_interpreter or self.interpreter)

    @property
    def python(self) -> str:
        """The interpreter with the engine's packages."""
        return self.own.path if self.own else self.packages.python

    @property
    def checked(self) -> Path:
        """See `Runtime.checked`."""
        folder = kept(self.workspace.environments, self.own) if self.own else self.packages.root
        return folder / "checked"

    @property
    def backends(self) -> Path:
        """Triton's backend directory."""
        return self.triton.root / "backends"

    @property
    def needs(self) -> tuple[str, ...]:
        """See `Runtime.needs`."""
        return (ENGINE_ENVIRONMENT,) if self.engine else (ENVIRONMENT,)

    @property
    def server_needs(self) -> tuple[str, ...]:
        """See `Runtime.server_needs`."""
        return (ENVIRONMENT, ENGINE_ENVIRONMENT) if self.engine else (ENVIRONMENT,)

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks for the user before accepting the plan."""
        version = ".".join(map(str, self.interpreter.version))
        return (
            tr(
                "The server runs its models with Python {version} at {path}.",
                version=version,
                path=self.interpreter.path,
            ),
            *self._about_own(),
        )

    def _about_own(self) -> tuple[str, ...]:
        if self.own is None:
            return ()
        return (tr("Uses the engine in {path}; nothing is installed there.", path=self.own.path),)

    def prepare(self) -> tuple[Step, ...]:
        """Create the environments, see `Runtime.prepare`."""
        if self.engine is None:
            return (self._triton_step(),)
        if self.own is not None:
            gpus = visible(self.devices) if self.devices else {}
            return (self._triton_step(), check_step(self.workspace.environments, self.engine, self.own, gpus=gpus))
        return (self._triton_step(), engine_step(self.packages))

    def _triton_step(self) -> Step:
        venv = self.triton
        triton = venv.site_packages / "pytriton" / "tritonserver"
        major, minor, _ = self.interpreter.version
        stub = triton / "python_backend_stubs" / f"{major}.{minor}" / "triton_python_backend_stub"
        backend = triton / "backends" / "python"
        target = self.backends / "python"
        parts = (backend / "libtriton_python.so", backend / "triton_python_backend_utils.py", stub)
        return Step(
            id="environment",
            title=tr("Create the server environment"),
            why=(
                tr(
                    "Triton gets its own virtual environment, so its pinned versions never conflict with yours. "
                    "The nvidia-pytriton wheel contains NVIDIA's tritonserver. Its Python backend talks to your "
                    "model through the stub, a small program built for one Python version; the backend and the "
                    "stub must be in the same folder."
                )
            ),
            actions=(
                *venv.install(),
                Command(("mkdir", "-p", str(target))),
                Command(("cp", "--", *map(str, parts), str(target))),
                venv.check(),
            ),
            done=Done(files=(venv.python, str(triton / "bin" / "tritonserver"), str(target / stub.name))),
            estimate=Estimate(20, self.environment.download_bytes, self.environment.disk_bytes),
            identity=str(venv.root),
            reads=(self.interpreter.path,),
            writes=(ENVIRONMENT,),
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
        """``argv`` unchanged, see `Runtime.command`; the user's Python runs without the variables that the server does
        not pass either.
        """
        alone = (("PYTHONPATH", ""), ("PYTHONNOUSERSITE", "1")) if self.own else ()
        return Command(tuple(argv), (*env, *alone))

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
        """Triton as a process on this machine, see `Runtime.start`."""
        venv = self.triton
        libraries = [str(venv.site_packages / "nvidia_pytriton.libs"), *venv.libraries]
        gpus = self.devices if self.engine is None else ()  # of an engine in Triton's own stub
        if self.interpreter.libpython:
            libraries.append(self.interpreter.libpython)
        server = (
            str(venv.site_packages / "pytriton" / "tritonserver" / "bin" / "tritonserver"),
            f"--model-repository={self.server.repository}",
            f"--backend-directory={self.backends}",
            f"--backend-config=python,shm-region-prefix-name={shm_prefix(self.server)}",
            *(() if auto_complete else ("--disable-auto-complete-config",)),
            f"--exit-timeout-secs={EXIT_TIMEOUT_S}",
            *(WITHOUT_POOLS if gpus else ()),
        )
        return Start(
            argv=tuple(argv) if argv else server,
            env=(
                ("LD_LIBRARY_PATH", ":".join(libraries)),
                ("PATH", f"{venv.root / 'bin'}:{SYSTEM_PATH}"),
                ("PYTHONNOUSERSITE", "1"),
                *(visible(gpus).items() if gpus else ()),
                *env,
                (MADE_FROM, made),
            ),
            ports=ports,
            model=model,
        )


def shm_prefix(server: ServerFolder) -> str:
    """Prefix of the server's files in ``/dev/shm``: a crash leaves them behind, and only ours may be removed."""
    return f"{SHM_PREFIX}{fingerprint(server.root)}_"
