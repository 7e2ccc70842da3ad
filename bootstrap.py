"""From a fresh clone to a running wizard, with the standard library alone.

``python3 bootstrap.py COMMAND`` (or ``make COMMAND``) creates ``.venv`` in the checkout, installs the wizard there in
editable mode from hash-pinned requirements, and runs the command. It uses ``uv`` if that is on PATH, and
``python -m venv`` with pip otherwise. If everything is in place already, it only runs the command.

The syntax stays at Python 3.8, so that an interpreter outside 3.10 to 3.12 can still find a suitable one or report it.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "bootstrap.json"
LOG = VENV / "bootstrap.log"
DEMO = ROOT / ".demo"

OLDEST, NEWEST = (3, 10), (3, 12)
"""Versions that Triton's Python backend in the server environment supports, and so the tested ones."""

WIZARD, DEV = "wizard", "dev"
"""The two sets of packages: ``requirements/SET.txt``; the second contains the first."""

TEST_TOOLS = {
    ("cc", "gcc"): ("gcc", "libc6-dev"),  # compile a stand-in for NVIDIA's driver library
    ("tmux",): ("tmux",),
    ("chromium", "google-chrome"): ("chromium",),
    ("dockerd",): ("docker.io",),  # the container tests start a Docker engine of their own, as root
    ("ip",): ("iproute2",),
}
"""Programs that some tests need, any of each row → Debian's packages. Without them those tests are skipped."""

CHECKS = (
    ("lint", [str(PYTHON), "-m", "ruff", "check", "."]),
    ("format", [str(PYTHON), "-m", "ruff", "format", "--check", "."]),
    ("types", [str(PYTHON), "-m", "mypy"]),
    ("imports", [str(VENV / "bin" / "lint-imports"), "--no-logo"]),
)
"""What ``check`` runs before the tests: name and command."""

PROBE = """\
import json, sys
try:
    import ensurepip, venv
    works = bool(ensurepip.version())
except Exception:
    works = False
print(json.dumps([sys.executable, sys.version_info[:3], works]))
"""


class SetupError(Exception):
    """Setup cannot continue.

    Args:
        problem: What happened, one sentence.
        fixes: What to do, one line each.
    """

    def __init__(self, problem: str, *fixes: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.fixes = fixes


class Interpreter(NamedTuple):
    """A Python found on this machine."""

    path: str
    version: tuple[int, int, int]
    makes_environments: bool
    """Whether it has ``venv`` and a working ``ensurepip``, which Debian packages separately."""

    @property
    def fits(self) -> bool:
        """Whether the wizard is tested with its version."""
        return OLDEST <= self.version[:2] <= NEWEST

    def __str__(self) -> str:
        return "Python {}.{}.{} ({})".format(*self.version, self.path)


def say(text: str, end: str = "\n") -> None:
    """Print a message to standard error, so that the wizard's output can be piped."""
    print(text, end=end, file=sys.stderr, flush=True)


def inspect(executable: str) -> Interpreter | None:
    """Query an interpreter; None if it does not run (a pyenv shim without that version, for example)."""
    try:
        answer = subprocess.run(
            [executable, "-c", PROBE],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=30,
            check=True,
        )
        path, version, makes = json.loads(answer.stdout.decode())
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return Interpreter(path, tuple(version), makes)


def candidates() -> list[Interpreter]:
    """The running Python, then the others on PATH, starting with the version that servers use most."""
    names = ["python3.11", "python3.12", "python3.10", "python3"]
    paths = [sys.executable, *filter(None, map(shutil.which, names))]
    interpreters: list[Interpreter] = []
    for path in dict.fromkeys(paths):
        interpreter = inspect(path)
        if interpreter and interpreter not in interpreters:
            interpreters.append(interpreter)
    return interpreters


def choose(interpreters: list[Interpreter], uv: str | None) -> str:
    """The interpreter for ``.venv``: a path, or a version range for uv to find (or download).

    Raises:
        SetupError: If there is none.
    """
    for interpreter in interpreters:
        if interpreter.fits and (uv or interpreter.makes_environments):
            return interpreter.path
    if uv:
        return ">={}.{},<{}.{}".format(*OLDEST, NEWEST[0], NEWEST[1] + 1)
    fitting = [interpreter for interpreter in interpreters if interpreter.fits]
    if fitting:
        raise SetupError(
            f"{fitting[0]} cannot create virtual environments: its 'ensurepip' or 'venv' module is missing",
            "On Debian and Ubuntu, run as root: apt-get install python3-venv   Then rerun this command.",
            "Or put uv (https://docs.astral.sh/uv) on PATH; it needs neither module.",
        )
    have = ", ".join(map(str, interpreters)) or "no working Python"
    raise SetupError(
        "the wizard requires Python {}.{} to {}.{}; found {}".format(*OLDEST, *NEWEST, have),
        "Install one, for example with your system's package manager or pyenv, so that python3.12 is on PATH.",
        "Or put uv (https://docs.astral.sh/uv) on PATH; it downloads a suitable Python.",
    )


def step(title: str, command: list[str], *fixes: str) -> None:
    """Run one setup command: print one line, write everything else to the log.

    Args:
        title: What the command does.
        command: Program and arguments.
        fixes: What to try if it fails.

    Raises:
        SetupError: If it fails, after printing its last lines.
    """
    say(f"{title} … ", end="")
    start = time.monotonic()
    try:
        done = subprocess.run(
            command,
            cwd=str(ROOT),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        code, output = done.returncode, done.stdout.decode("utf-8", "replace")
    except OSError as error:
        code, output = 127, f"{error}\n"
    VENV.mkdir(exist_ok=True)
    with LOG.open("a", encoding="utf-8") as log:
        log.write("$ {}\n{}exit status {}\n\n".format(" ".join(map(shlex.quote, command)), output, code))
    if code:
        say("failed")
        telling = [line for line in output.splitlines() if not line.startswith("Ignoring ")]  # markers, one line each
        say("\n".join("    " + line for line in telling[-20:]))
        raise SetupError(f"the last step failed with status {code}", f"Full output: {LOG}", *fixes)
    say(f"{time.monotonic() - start:.1f} s")


def digest() -> str:
    """Changes whenever ``.venv`` may be out of date: with the pins, pyproject.toml and the checkout's path."""
    state = hashlib.sha256(str(ROOT).encode())
    for path in (ROOT / "pyproject.toml", ROOT / "requirements" / "wizard.txt", ROOT / "requirements" / "dev.txt"):
        state.update(path.read_bytes())
    return state.hexdigest()


def stamp() -> dict[str, str]:
    """The record of the last complete setup; empty if there was none."""
    try:
        return {str(key): str(value) for key, value in json.loads(STAMP.read_text(encoding="utf-8")).items()}
    except (OSError, ValueError, AttributeError):
        return {}


def usable(uv: str | None, last: dict[str, str]) -> bool:
    """Whether packages can be installed into the existing ``.venv``."""
    if last.get("root", str(ROOT)) != str(ROOT):
        return False  # moved: the scripts in bin/ point to where it was
    interpreter = inspect(str(PYTHON))
    if interpreter is None or not interpreter.fits:
        return False
    if uv:
        return True
    return subprocess.run([str(PYTHON), "-c", "import pip"], stderr=subprocess.DEVNULL, check=False).returncode == 0


def install(wanted: str, uv: str | None) -> None:
    """Install the packages of the set ``wanted``, all pinned with hashes, and the project itself into ``.venv``.

    The build backend is among the pins, so building the project needs no isolated environment and no network.
    """
    if uv:
        pip, tool = [uv, "pip", "install", "--python", str(PYTHON)], "uv"
        variables = "UV_DEFAULT_INDEX or UV_FIND_LINKS"
    else:
        pip = [str(PYTHON), "-m", "pip", "install", "--no-compile", "--no-input", "--disable-pip-version-check"]
        tool, variables = "pip, up to a minute", "PIP_INDEX_URL or PIP_FIND_LINKS"
    pins = ROOT / "requirements" / f"{wanted}.txt"
    step(
        f"Installing requirements/{wanted}.txt ({tool})",
        [*pip, "--require-hashes", "-r", str(pins)],
        f"If the package index is unreachable, set a mirror or a folder of wheels: {variables} (docs/offline.md).",
    )
    step("Installing the wizard from this checkout", [*pip, "--no-deps", "--no-build-isolation", "-e", str(ROOT)])


def prepare(wanted: str) -> None:
    """Install the set ``wanted`` in ``.venv``; does nothing if it is installed already.

    Raises:
        SetupError: If no Python fits or a command fails.
    """
    with Path(__file__).open("rb") as lock:  # two setups at once would overwrite each other's files
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            say("Waiting for another setup of this checkout to finish …")
            fcntl.flock(lock, fcntl.LOCK_EX)
        last, now = stamp(), digest()
        if last.get("digest") == now and last.get("set") in (wanted, DEV) and PYTHON.exists():
            return
        uv = shutil.which("uv")
        if not usable(uv, last):
            python = choose(candidates(), uv)
            shutil.rmtree(str(VENV), ignore_errors=True)
            maker = [uv, "venv", "--python", python] if uv else [python, "-m", "venv"]
            step(f"Creating .venv with {python}", [*maker, str(VENV)])
        elif last:
            wanted = DEV if last.get("set") == DEV else wanted
            STAMP.unlink()  # until the end the environment is neither the old one nor the new one
        install(wanted, uv)
        STAMP.write_text(json.dumps({"digest": now, "set": wanted, "root": str(ROOT)}), encoding="utf-8")


def become_wizard(arguments: list[str]) -> None:
    """Replace this process with ``triton-wizard ARGUMENTS``."""
    script = str(VENV / "bin" / "triton-wizard")
    os.execv(script, [script, *arguments])


def setup() -> int:
    """Install the wizard in .venv."""
    prepare(WIZARD)
    say("Ready. Open the wizard: {}".format(shlex.quote(str(VENV / "bin" / "triton-wizard"))))
    return 0


def dev() -> int:
    """Install everything that the checks and tests need; system packages too, as root on Debian or Ubuntu."""
    prepare(DEV)
    packages = [
        name for programs, names in TEST_TOOLS.items() if not any(map(shutil.which, programs)) for name in names
    ]
    if packages:
        command = ["apt-get", "install", "--yes", "--no-install-recommends", *packages]
        if shutil.which("apt-get") and os.geteuid() == 0:
            quiet = ["env", "DEBIAN_FRONTEND=noninteractive"]
            step("Updating the list of system packages", [*quiet, "apt-get", "update"])
            step("Installing {}".format(", ".join(packages)), [*quiet, *command])
        else:
            say("Missing: {}. Tests that need them are skipped.".format(", ".join(packages)))
            say("On Debian and Ubuntu: {}".format(shlex.join(["sudo", *command])))
    say(f"Ready. Run the tests of one package: {shlex.quote(str(PYTHON))} -m pytest tests/plan -n 2")
    return 0


def odd(path: str) -> str:
    """The characters of a path that Triton does not support, for display; empty if there are none."""
    return " ".join(map(repr, sorted(set(re.findall(r"[^\w./+@%=:,-]", path)))))


def in_demo() -> list[str]:
    """The flag that makes .demo the workspace; none, so the default one, if Triton does not support the path.

    Triton's Python backend starts its stub with an unquoted shell line; the wizard rejects such a path too (TW-L03).

    Raises:
        SetupError: If Triton does not support the default workspace either.
    """
    signs = odd(str(DEMO))
    if not signs:
        return ["--workspace", str(DEMO)]
    if wrong := odd(os.environ.get("TRITON_WIZARD_HOME", "")):
        raise SetupError(
            f"Triton does not support {wrong} in TRITON_WIZARD_HOME, nor {signs} in the checkout's path",
            "Set TRITON_WIZARD_HOME to a folder without spaces or shell characters, or unset it.",
        )
    say(f"The checkout's path contains {signs}, which Triton does not support. Using the default workspace.")
    return []


def demo(arguments: list[str]) -> int:
    """Serve the offline demo model in .demo, ask it one question, stop it."""
    where = in_demo()  # before an installation that takes minutes
    prepare(WIZARD)
    become_wizard(["demo", *where, *arguments])
    return 0


def wizard(arguments: list[str]) -> int:
    """Open the full-screen wizard, in .demo if that exists."""
    prepare(WIZARD)
    become_wizard([*(in_demo() if DEMO.exists() else []), *arguments])
    return 0


def pictures(arguments: list[str]) -> int:
    """Record a session with the real Triton and render the pictures in docs/ from it; --draw only renders."""
    prepare(DEV)
    return subprocess.run([str(PYTHON), str(ROOT / "docs" / "pictures.py"), *arguments], check=False).returncode


def compile_tests(collect: list[str]) -> subprocess.Popen[bytes]:
    """Start ``collect``, which leaves the bytecode of all that the tests import, beside checks that use one core.

    Every worker imports all of it: without bytecode that takes 18 s of processor time each, with it 4 s. What is wrong
    with a file, the tests report.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    null = subprocess.DEVNULL
    return subprocess.Popen(collect, cwd=str(ROOT), env=environment, stdin=null, stdout=null, stderr=null)


def check(arguments: list[str]) -> int:
    """Run lint, format, types, import contracts and tests; a failure does not stop the others.

    Arguments go to pytest, whose report lists skipped tests and why. Running no test is a failure too: pytest then
    exits with status 5.
    """
    prepare(DEV)
    workers = max(5, os.cpu_count() or 1)  # tests wait half of the time: for servers, programs, idle screens
    pytest = [str(PYTHON), "-m", "pytest", "-q"]
    tests = ("tests", [*pytest, "-n", str(workers), *arguments])
    compiling = compile_tests([*pytest, "--collect-only", *arguments])
    summary = []
    for name, command in (*CHECKS, tests):
        print(f"── {name}", flush=True)
        start = time.monotonic()
        if name == "tests":
            compiling.wait()
        code = subprocess.run(command, cwd=str(ROOT), stdin=subprocess.DEVNULL, check=False).returncode
        summary.append((name, code, time.monotonic() - start))
    print()
    for name, code, seconds in summary:
        print("{:<8} {:<20} {:>6.1f} s".format(name, f"FAILED (status {code})" if code else "passed", seconds))
    return 1 if any(code for _, code, _ in summary) else 0


def stop_servers() -> None:
    """Stop the servers in .demo.

    Raises:
        SetupError: If their state is unknown or one cannot be stopped.
    """
    if not list(DEMO.glob("servers/*/endpoint.json")):  # written when a server starts, removed when it stops
        return
    script, where = str(VENV / "bin" / "triton-wizard"), ["--workspace", str(DEMO)]
    try:
        status = subprocess.run([script, "status", *where, "--json"], stdout=subprocess.PIPE, check=True)
        for name in [server["name"] for server in json.loads(status.stdout.decode()) if server["state"] != "stopped"]:
            subprocess.run([script, "down", name, *where], check=True)
    except (OSError, ValueError, KeyError, TypeError, subprocess.SubprocessError) as error:
        raise SetupError(
            f"the servers in {DEMO} could not be stopped ({error}); nothing was removed",
            "Stop them with `triton-wizard down`. If .venv is gone, run `python3 bootstrap.py setup` first.",
            "If no server is running, remove the folder: {}".format(shlex.join(["rm", "-r", str(DEMO)])),
        ) from error


def clean() -> int:
    """Stop the demo's servers; remove .venv, .demo and the server environment of the tests."""
    stop_servers()
    for folder in (VENV, DEMO, ROOT / ".venv-server-tests"):
        if folder.exists():
            shutil.rmtree(str(folder))
            say(f"Removed {folder}")
    return 0


ALONE = {"setup": setup, "dev": dev, "clean": clean}
PASSING_ON = {"demo": demo, "wizard": wizard, "check": check, "pictures": pictures}
"""Commands whose arguments are passed to the wizard, to pytest or to the script."""


def main(argv: list[str]) -> int:
    """Run one command; returns the exit status."""
    commands = {**PASSING_ON, **ALONE}
    lines = ["  {:<10}{}".format(name, (run.__doc__ or "").splitlines()[0]) for name, run in commands.items()]
    parser = argparse.ArgumentParser(
        prog="bootstrap.py",
        usage="python3 bootstrap.py command [arguments ...]",
        description="From a fresh clone to a running wizard.",
        epilog="\n".join(["commands:", *lines]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=commands, metavar="command", help=" | ".join(commands))
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="passed on by " + ", ".join(PASSING_ON))
    options = parser.parse_args(argv)
    if options.command in ALONE and options.arguments:
        parser.error(f"{options.command} takes no arguments")
    try:
        return ALONE[options.command]() if options.command in ALONE else PASSING_ON[options.command](options.arguments)
    except SetupError as error:
        say(f"\nSetup failed: {error.problem}")
        for fix in error.fixes:
            say(f"  → {fix}")
        return 3  # the wizard's own exit code for a machine that lacks something
    except KeyboardInterrupt:
        say("\nStopped. Rerun the command to continue where it stopped.")
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
