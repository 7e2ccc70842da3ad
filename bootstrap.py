"""Everything from a fresh clone to a running wizard, with the standard library alone.

``python3 bootstrap.py setup|demo|check|wizard|clean`` (or ``make demo`` and so on) makes ``.venv`` in the checkout
with the wizard installed editable from hash-pinned requirements, then does what was asked. It uses ``uv`` when that is
on PATH, ``python -m venv`` and pip otherwise. A second run finds everything in place and adds next to nothing.

The syntax stays at Python 3.8 so that an interpreter outside 3.10-3.12 can still look for a better one, or say so.
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
"""Versions that Triton's Python backend in the server environment can use, and so the ones that are tested."""

WIZARD, DEV = "wizard", "dev"
"""The two sets of packages: ``requirements/SET.txt``; the second contains the first."""

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
    """Set-up cannot go on.

    Args:
        what: What happened, one sentence.
        ways: Ways out, each one line.
    """

    def __init__(self, what: str, *ways: str) -> None:
        super().__init__(what)
        self.what = what
        self.ways = ways


class Interpreter(NamedTuple):
    """A Python found on this machine."""

    path: str
    version: tuple[int, int, int]
    makes_environments: bool
    """Whether it has ``venv`` and an ``ensurepip`` that works; Debian keeps the latter in a package of its own."""

    @property
    def fits(self) -> bool:
        """Whether its version is one that the wizard is tested with."""
        return OLDEST <= self.version[:2] <= NEWEST

    def __str__(self) -> str:
        return "Python {}.{}.{} ({})".format(*self.version, self.path)


def say(text: str, end: str = "\n") -> None:
    """Talk goes to standard error, so that what the wizard prints can be piped."""
    print(text, end=end, file=sys.stderr, flush=True)


def inspect(executable: str) -> Interpreter | None:
    """Ask an interpreter about itself; None if it does not run (a pyenv shim without that version, for example)."""
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
    """The running Python first, then every other one on PATH, the version most used by servers first."""
    names = ["python3.11", "python3.12", "python3.10", "python3"]
    paths = [sys.executable, *filter(None, map(shutil.which, names))]
    found: list[Interpreter] = []
    for path in dict.fromkeys(paths):
        interpreter = inspect(path)
        if interpreter and interpreter not in found:
            found.append(interpreter)
    return found


def choose(found: list[Interpreter], uv: str | None) -> str:
    """The interpreter for ``.venv``: a path, or a version range that uv is to look for (and may download).

    Raises:
        SetupError: If none can be used.
    """
    for interpreter in found:
        if interpreter.fits and (uv or interpreter.makes_environments):
            return interpreter.path
    if uv:
        return ">={}.{},<{}.{}".format(*OLDEST, NEWEST[0], NEWEST[1] + 1)
    fitting = [interpreter for interpreter in found if interpreter.fits]
    if fitting:
        raise SetupError(
            f"{fitting[0]} cannot make virtual environments: its 'ensurepip' or 'venv' module is missing",
            "On Debian and Ubuntu: apt-get install python3-venv   (as root), then run this command again.",
            "Or put uv (https://docs.astral.sh/uv) on PATH; it needs neither module.",
        )
    have = ", ".join(map(str, found)) or "no Python that runs"
    raise SetupError(
        "the wizard needs Python {}.{} to {}.{}; found {}".format(*OLDEST, *NEWEST, have),
        "Install one of them, for example with your system's packages or pyenv, so that python3.12 is on PATH.",
        "Or put uv (https://docs.astral.sh/uv) on PATH; it fetches a Python by itself.",
    )


def step(title: str, command: list[str], *ways: str) -> None:
    """Run one command of the set-up: a single line for people, everything else in the log.

    Args:
        title: What is being done.
        command: Program and arguments.
        ways: What may help if it fails.

    Raises:
        SetupError: If it fails, after its last lines were shown.
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
        raise SetupError(f"the last step ended with status {code}", f"The whole output is in {LOG}", *ways)
    say(f"{time.monotonic() - start:.1f} s")


def digest() -> str:
    """Changes whenever ``.venv`` has to be looked at again: with the pins, the project's declaration and its place."""
    state = hashlib.sha256(str(ROOT).encode())
    for path in (ROOT / "pyproject.toml", ROOT / "requirements" / "wizard.txt", ROOT / "requirements" / "dev.txt"):
        state.update(path.read_bytes())
    return state.hexdigest()


def stamp() -> dict[str, str]:
    """What the last complete set-up left; empty if there was none."""
    try:
        return {str(key): str(value) for key, value in json.loads(STAMP.read_text(encoding="utf-8")).items()}
    except (OSError, ValueError, AttributeError):
        return {}


def usable(uv: str | None, last: dict[str, str]) -> bool:
    """Whether packages can be put into the ``.venv`` that is there."""
    if last.get("root", str(ROOT)) != str(ROOT):
        return False  # moved: the scripts in bin/ point to where it was
    interpreter = inspect(str(PYTHON))
    if interpreter is None or not interpreter.fits:
        return False
    if uv:
        return True
    return subprocess.run([str(PYTHON), "-c", "import pip"], stderr=subprocess.DEVNULL, check=False).returncode == 0


def install(wanted: str, uv: str | None) -> None:
    """Put the packages of the set ``wanted``, all pinned with hashes, and the project itself into ``.venv``.

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
        f"Where the package index does not answer, name a mirror or a folder of wheels: {variables} (see README.md).",
    )
    step("Installing the wizard from this checkout", [*pip, "--no-deps", "--no-build-isolation", "-e", str(ROOT)])


def prepare(wanted: str) -> None:
    """Make ``.venv`` hold the set ``wanted``; does nothing if it already does.

    Raises:
        SetupError: If no Python fits or a command fails.
    """
    with Path(__file__).open("rb") as lock:  # two set-ups at once would write into one another's files
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            say("Waiting for another set-up of this checkout to finish …")
            fcntl.flock(lock, fcntl.LOCK_EX)
        last, now = stamp(), digest()
        if last.get("digest") == now and last.get("set") in (wanted, DEV) and PYTHON.exists():
            return
        uv = shutil.which("uv")
        if not usable(uv, last):
            python = choose(candidates(), uv)
            shutil.rmtree(str(VENV), ignore_errors=True)
            maker = [uv, "venv", "--python", python] if uv else [python, "-m", "venv"]
            step(f"Making .venv with {python}", [*maker, str(VENV)])
        elif last:
            wanted = DEV if last.get("set") == DEV else wanted
            STAMP.unlink()  # until the end the environment is neither the old one nor the new one
        install(wanted, uv)
        STAMP.write_text(json.dumps({"digest": now, "set": wanted, "root": str(ROOT)}), encoding="utf-8")


def become_wizard(arguments: list[str]) -> None:
    """Replace this process by ``triton-wizard ARGUMENTS``."""
    script = str(VENV / "bin" / "triton-wizard")
    os.execv(script, [script, *arguments])


def setup() -> int:
    """Make .venv and say how to go on."""
    prepare(WIZARD)
    say("Ready. Open the wizard: {}".format(shlex.quote(str(VENV / "bin" / "triton-wizard"))))
    return 0


def odd(path: str) -> str:
    """The characters of a path that Triton cannot be given, to be shown; empty if there are none."""
    return " ".join(map(repr, sorted(set(re.findall(r"[^\w./+@%=:,-]", path)))))


def in_demo() -> list[str]:
    """The flag that names .demo as the workspace; nothing, and so the default one, where Triton cannot be given it.

    Triton's Python backend starts its stub by an unquoted shell line; the wizard refuses such a path too (TW-L03).

    Raises:
        SetupError: If it cannot be given the default one either.
    """
    signs = odd(str(DEMO))
    if not signs:
        return ["--workspace", str(DEMO)]
    if wrong := odd(os.environ.get("TRITON_WIZARD_HOME", "")):
        raise SetupError(
            f"TRITON_WIZARD_HOME and the checkout's path have {signs} and {wrong}, which Triton cannot be given",
            "Set TRITON_WIZARD_HOME to a folder without spaces and shell characters, or unset it.",
        )
    say(f"The checkout's path has {signs}, which Triton cannot be given: the wizard's default workspace is used.")
    return []


def demo(arguments: list[str]) -> int:
    """The whole journey without a screen, in .demo: build, serve, ask one question, stop."""
    where = in_demo()  # before the minutes of an installation
    prepare(WIZARD)
    become_wizard(["demo", *where, *arguments])
    return 0


def wizard(arguments: list[str]) -> int:
    """Open the full-screen wizard, in .demo if the demo has made it."""
    prepare(WIZARD)
    become_wizard([*(in_demo() if DEMO.exists() else []), *arguments])
    return 0


def pictures(arguments: list[str]) -> int:
    """Record a session with the real Triton and draw the documentation's pictures from it; --draw only draws."""
    prepare(DEV)
    return subprocess.run([str(PYTHON), str(ROOT / "docs" / "pictures.py"), *arguments], check=False).returncode


def check(arguments: list[str]) -> int:
    """Lint, format, types, import contracts and tests; all of them run even if one fails.

    Arguments go to pytest, whose report lists what was skipped and why. No test at all is a failure too: pytest then
    ends with status 5.
    """
    prepare(DEV)
    workers = max(4, os.cpu_count() or 1)  # half of the time they wait: for servers, programs, screens at rest
    tests = ("tests", [str(PYTHON), "-m", "pytest", "-q", "-n", str(workers), *arguments])
    summary = []
    for name, command in (*CHECKS, tests):
        print(f"── {name}", flush=True)
        start = time.monotonic()
        code = subprocess.run(command, cwd=str(ROOT), stdin=subprocess.DEVNULL, check=False).returncode
        summary.append((name, code, time.monotonic() - start))
    print()
    for name, code, seconds in summary:
        print("{:<8} {:<20} {:>6.1f} s".format(name, f"FAILED (status {code})" if code else "passed", seconds))
    return 1 if any(code for _, code, _ in summary) else 0


def stop_servers() -> None:
    """Stop the servers that run in .demo.

    Raises:
        SetupError: If it cannot be told whether they run, or one cannot be stopped.
    """
    if not list(DEMO.glob("servers/*/endpoint.json")):  # what a started server leaves until it is stopped
        return
    script, where = str(VENV / "bin" / "triton-wizard"), ["--workspace", str(DEMO)]
    try:
        found = subprocess.run([script, "status", *where, "--json"], stdout=subprocess.PIPE, check=True)
        for name in [one["name"] for one in json.loads(found.stdout.decode()) if one["state"] != "stopped"]:
            subprocess.run([script, "down", name, *where], check=True)
    except (OSError, ValueError, KeyError, TypeError, subprocess.SubprocessError) as error:
        raise SetupError(
            f"the servers of {DEMO} could not be stopped ({error}); nothing was removed",
            "Stop them with `triton-wizard down`, after `python3 bootstrap.py setup` if .venv is gone.",
            "If none runs, remove it yourself: {}".format(shlex.join(["rm", "-r", str(DEMO)])),
        ) from error


def clean() -> int:
    """Stop the demo's servers and remove .venv, .demo and the server environment that the tests keep."""
    stop_servers()
    for folder in (VENV, DEMO, ROOT / ".venv-server-tests"):
        if folder.exists():
            shutil.rmtree(str(folder))
            say(f"Removed {folder}")
    return 0


ALONE = {"setup": setup, "clean": clean}
PASSING_ON = {"demo": demo, "wizard": wizard, "check": check, "pictures": pictures}
"""Commands whose further arguments go to the wizard, to pytest or to the script."""


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
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="for " + ", ".join(PASSING_ON) + ": passed on")
    options = parser.parse_args(argv)
    if options.command in ALONE and options.arguments:
        parser.error(f"{options.command} takes no arguments")
    try:
        return ALONE[options.command]() if options.command in ALONE else PASSING_ON[options.command](options.arguments)
    except SetupError as error:
        say(f"\nSet-up stopped: {error.what}")
        for way in error.ways:
            say(f"  → {way}")
        return 3  # the status that the wizard itself gives when the machine lacks something
    except KeyboardInterrupt:
        say("\nStopped. What is done is kept; run the same command again to go on.")
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
