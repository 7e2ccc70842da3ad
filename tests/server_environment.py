"""A real server environment and a real tritonserver for the tests that are marked ``e2e``."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import http.client
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.ports import reserved
from wizard.catalog import profiles
from wizard.plan.ports import Ports
from wizard.repository.repository import Repository

GIVEN = os.environ.get("TRITON_WIZARD_TEST_ENV")
"""A ready server environment (a virtual environment's folder), so that none is made."""

LISTENS = "Started Metrics Service"
"""Triton 2.51.0 logs this last, when all models are loaded and all ports are open."""

CHECKOUT = Path(__file__).resolve().parent.parent
SECONDS = 60
"""Bounds a wait in vain."""


def server_environment() -> Path:
    """The virtual environment of the stack ``llamacpp``, made once and kept in ``.venv-server-tests``.

    Its name holds a hash of the pins, so a changed pin makes a new one. Several test processes may call this.
    """
    if GIVEN:
        return Path(GIVEN)
    pins = profiles.find("environments/llamacpp.txt")
    key = hashlib.sha256(pins.read_bytes() + sys.version.encode()).hexdigest()[:12]
    folder = CHECKOUT / ".venv-server-tests"
    folder.mkdir(exist_ok=True)
    environment = folder / key
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (environment / "complete").exists():
            shutil.rmtree(environment, ignore_errors=True)
            subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
            pip = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet"]
            subprocess.run([*pip, "--no-deps", "--require-hashes", "-r", str(pins)], check=True)
            (environment / "complete").touch()
    return environment


@dataclass(frozen=True)
class RunningTriton:
    """A tritonserver of a test."""

    process: subprocess.Popen[bytes]
    ports: Ports
    log: Path
    written: threading.Condition
    """Notified when the server has logged something more, or closed its log."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.ports.http}"

    def status(self, path: str) -> int:
        """HTTP status of GET ``path``; 0 if nobody answers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.ports.http, timeout=SECONDS)
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        except OSError:
            return 0
        finally:
            connection.close()

    def logged(self) -> str:
        return self.log.read_text(errors="replace")

    def wait_for_log(self, condition: Callable[[str], bool], seconds: float = SECONDS) -> str:
        """Wait until ``condition`` is true of the log, and return that; fails after ``seconds``."""
        with self.written:
            assert self.written.wait_for(lambda: condition(self.logged()), seconds), self.logged()[-4000:]
            return self.logged()


@contextlib.contextmanager
def running_triton(
    repository: Path, scratch: Path, *, ready: bool = True, environment: Path | None = None, options: Sequence[str] = ()
) -> Iterator[RunningTriton]:
    """Serve the folder ``repository``; stopped at the end by its process id.

    Args:
        repository: A model repository.
        scratch: A folder for the log and the backend's files.
        ready: Wait until the server is ready, and fail if it never is.
        environment: The server environment, `server_environment` if None.
        options: More options of tritonserver.
    """
    environment = environment or server_environment()
    packages, libraries, version = _python(environment)
    log = scratch / "triton.log"
    with reserved() as port:
        ports = Ports(port, port + 1, port + 2)
        memory = f"test-{os.getpid()}-{ports.http}-"
        command = [
            *(str(packages / "pytriton/tritonserver/bin/tritonserver"), f"--model-repository={repository}"),
            *(f"--backend-directory={_backends(packages, version, scratch)}", "--disable-auto-complete-config"),
            *("--http-address=127.0.0.1", f"--http-port={ports.http}"),
            *("--grpc-address=127.0.0.1", f"--grpc-port={ports.grpc}"),
            *("--metrics-address=127.0.0.1", f"--metrics-port={ports.metrics}"),
            *("--exit-timeout-secs=5", f"--backend-config=python,shm-region-prefix-name={memory}"),
            *options,
        ]
        library = f"{packages / 'nvidia_pytriton.libs'}:{libraries}"
        env = {**os.environ, "LD_LIBRARY_PATH": library, "PATH": f"{environment / 'bin'}:{os.environ['PATH']}"}
        process = subprocess.Popen(
            command,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        server = RunningTriton(process, ports, log, threading.Condition())
        log.touch()
        reader = threading.Thread(target=_copy, args=(server,))
        reader.start()
        try:
            if ready:
                server.wait_for_log(lambda text: LISTENS in text or process.poll() is not None, 2 * SECONDS)
                assert server.status("/v2/health/ready") == 200, server.logged()
            yield server
        finally:
            _stop(process)
            reader.join()
            for left in Path("/dev/shm").glob(f"{memory}*"):  # a server that was killed leaves them behind
                left.unlink(missing_ok=True)


def write(repository: Repository, root: Path) -> Path:
    """Write a repository's files under ``root`` and return ``root``."""
    for file in repository.files:
        path = root / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text, encoding="utf-8")
    return root


def _copy(server: RunningTriton) -> None:
    """Copy what the server prints to its log, line by line, until the last process that prints has ended."""
    assert server.process.stdout is not None
    with server.process.stdout as lines, server.log.open("ab", buffering=0) as log:
        for line in lines:
            with server.written:
                log.write(line)
                server.written.notify_all()
    with server.written:
        server.written.notify_all()


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    # A stub whose server was killed during an answer waits for it for ever, some of them holding Python's lock.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _python(environment: Path) -> tuple[Path, str, str]:
    """Of the environment's interpreter: its packages, the folder of its libpython, its version as ``3.X``."""
    code = "import sysconfig as s; print(s.get_path('purelib'), s.get_config_var('LIBDIR'), s.get_python_version())"
    output = subprocess.run([str(environment / "bin/python"), "-c", code], check=True, capture_output=True, text=True)
    packages, libraries, version = output.stdout.split()
    return Path(packages), libraries, version


def _backends(packages: Path, version: str, scratch: Path) -> Path:
    """The Python backend with the stub of the interpreter's version, which the wheel keeps apart."""
    source = packages / "pytriton/tritonserver"
    backend = scratch / "backends" / "python"
    backend.mkdir(parents=True, exist_ok=True)
    for file in ("libtriton_python.so", "triton_python_backend_utils.py"):
        shutil.copy2(source / "backends/python" / file, backend)
    shutil.copy2(source / "python_backend_stubs" / version / "triton_python_backend_stub", backend)
    return backend.parent
