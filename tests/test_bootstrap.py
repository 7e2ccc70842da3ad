"""bootstrap.py, run for real in a small checkout: real virtual environments and installers, no network.

The checkout's project and its tools are tiny wheels made here; `FakeTools` stand in for ruff, mypy, pytest and
import-linter, and print what they were called with.
"""

from __future__ import annotations

import ast
import base64
import fcntl
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import textwrap
import zipfile
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from tests.scripts import load

pytestmark = pytest.mark.xdist_group("bootstrap")  # one small checkout for all of them
CHECKOUT = Path(__file__).resolve().parent.parent
UV = shutil.which("uv")
INSTALLERS = [
    pytest.param(
        "pip",
        marks=pytest.mark.skipif(not importlib.util.find_spec("ensurepip"), reason="this Python has no ensurepip"),
    ),
    pytest.param("uv", marks=pytest.mark.skipif(not UV, reason="uv is not on PATH")),
]

FAKE_TOOLS = {
    "fake_tools.py": """
        import os, sys

        def run(name):
            print("called:", name, *sys.argv[1:], flush=True)
            sys.exit(int(os.environ.get("FAKE_" + name.upper(), "0")))

        def imports():
            run("imports")
        """,
    "ruff/__main__.py": "import fake_tools, sys\nfake_tools.run('lint' if sys.argv[1] == 'check' else 'format')\n",
    "mypy/__main__.py": "import fake_tools\nfake_tools.run('types')\n",
    "pytest/__main__.py": """
        import fake_tools, json, pathlib, sys

        if "--collect-only" in sys.argv:
            pathlib.Path(".venv/collected.json").write_text(json.dumps([sys.argv[1:], sys.dont_write_bytecode]))
            sys.exit(1)  # what is wrong, the tests report
        fake_tools.run("tests")
        """,
}
BACKEND = """
import shutil

def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return shutil.copy("triton_wizard-1.0-py3-none-any.whl", wheel_directory).rpartition("/")[2]
"""
FAKE_WIZARD = """
import json, os, sys

def main():
    print("wizard:", sys.argv[1:], file=sys.stderr if sys.argv[1:2] == ["status"] else sys.stdout)
    if sys.argv[1:2] == ["status"]:
        print(json.dumps([{"name": "one", "state": "ready"}, {"name": "two", "state": "stopped"}]))
    elif sys.argv[1:2] == ["down"]:
        sys.exit(int(os.environ.get("FAKE_DOWN", "0")))
    sys.exit(0 if sys.argv[1:2] == ["status"] else 7)
"""
PROJECT = """\
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "triton-wizard"
version = "1.0"
"""


@dataclass(frozen=True)
class Small:
    """A small checkout with bootstrap.py in it."""

    root: Path
    env: dict[str, str]

    def start(self, *arguments: str, **more: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, str(self.root / "bootstrap.py"), *arguments],
            env={**self.env, **more},
            cwd=self.root.parent,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def run(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        process = self.start(*arguments, **more)
        out, err = process.communicate()
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    @property
    def venv(self) -> Path:
        return self.root / ".venv"


def write_wheel(folder: Path, name: str, files: dict[str, str], scripts: str = "") -> str:
    """Write a wheel; returns its line of a requirements file."""
    path = folder / f"{name}-1.0-py3-none-any.whl"
    info = f"{name}-1.0.dist-info"
    files = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": scripts,
    }
    records = []
    with zipfile.ZipFile(path, "w") as wheel:
        for file, text in files.items():
            data = textwrap.dedent(text).encode()
            wheel.writestr(file, data)
            hashed = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            records.append(f"{file},sha256={hashed},{len(data)}\n")
        wheel.writestr(f"{info}/RECORD", "".join(records) + f"{info}/RECORD,,\n")
    return f"{name.replace('_', '-')}==1.0 --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"


def make_small(folder: Path, installer: str) -> Small:
    root, wheels, programs = folder / "a check out", folder / "wheels", folder / "bin"
    for each in (root / "requirements", wheels, programs):
        each.mkdir(parents=True)
    shutil.copy(CHECKOUT / "bootstrap.py", root)
    (root / "pyproject.toml").write_text(PROJECT)
    (root / "backend.py").write_text(BACKEND)
    command = "[console_scripts]\ntriton-wizard = fake_wizard:main\n"
    write_wheel(root, "triton_wizard", {"fake_wizard.py": FAKE_WIZARD}, command)
    offline = f"--no-index\n--find-links {wheels}\n"
    tiny = write_wheel(wheels, "tiny", {"tiny.py": ""})
    tools = write_wheel(wheels, "fake_tools", FAKE_TOOLS, "[console_scripts]\nlint-imports = fake_tools:imports\n")
    (root / "requirements" / "wizard.txt").write_text(offline + tiny)
    (root / "requirements" / "dev.txt").write_text(offline + tiny + tools)
    if installer == "uv":
        assert UV
        (programs / "uv").symlink_to(UV)
    env = {"PATH": str(programs), "HOME": str(folder), "PIP_CONFIG_FILE": os.devnull, "UV_NO_CONFIG": "1"}
    return Small(root, env)


@pytest.fixture(scope="module", params=INSTALLERS)
def small(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Small:
    """A small checkout after ``check``, so with everything installed. Tests leave it as it is."""
    made = make_small(tmp_path_factory.mktemp(request.param), request.param)
    done = made.run("check")
    assert done.returncode == 0, done.stdout + done.stderr
    return made


@pytest.fixture(scope="module")
def bootstrap() -> ModuleType:
    return load("bootstrap.py")


def test_an_older_python_can_read_it() -> None:
    tree = ast.parse((CHECKOUT / "bootstrap.py").read_text(encoding="utf-8"), feature_version=(3, 8))
    plain = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    chosen = {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert plain | chosen <= sys.stdlib_module_names - {"tomllib"}  # tomllib came with 3.11


@pytest.mark.parametrize(
    ("interpreters", "uv", "chosen"),
    [
        ([("run", (3, 11, 7), True), ("other", (3, 12, 1), True)], None, "run"),
        ([("old", (3, 9, 2), True), ("other", (3, 12, 1), True)], None, "other"),
        ([("new", (3, 13, 0), True), ("other", (3, 10, 0), True)], None, "other"),
        ([("debian", (3, 11, 2), False), ("other", (3, 12, 1), True)], None, "other"),
        ([("debian", (3, 11, 2), False)], "/bin/uv", "debian"),
        ([("new", (3, 14, 0), True)], "/bin/uv", ">=3.10,<3.13"),
        ([], "/bin/uv", ">=3.10,<3.13"),
    ],
)
def test_the_interpreter_is_the_first_that_can_be_used(
    bootstrap: ModuleType, interpreters: list[tuple[str, tuple[int, int, int], bool]], uv: str | None, chosen: str
) -> None:
    assert bootstrap.choose([bootstrap.Interpreter(*each) for each in interpreters], uv) == chosen


def test_debian_without_venv_gets_an_install_command(bootstrap: ModuleType) -> None:
    interpreters = [bootstrap.Interpreter("/usr/bin/python3", (3, 11, 2), False)]
    with pytest.raises(bootstrap.SetupError, match=r"3\.11\.2 \(/usr/bin/python3\).*ensurepip") as caught:
        bootstrap.choose(interpreters, None)
    assert "python3-venv" in caught.value.fixes[0]
    assert "uv" in caught.value.fixes[1]


def test_unfit_versions_are_named(bootstrap: ModuleType) -> None:
    interpreters = [bootstrap.Interpreter("/a", (3, 9, 2), True), bootstrap.Interpreter("/b", (3, 13, 0), True)]
    with pytest.raises(
        bootstrap.SetupError, match=r"3\.10 to 3\.12; found Python 3\.9\.2 \(/a\), Python 3\.13\.0 \(/b\)"
    ):
        bootstrap.choose(interpreters, None)


def test_an_interpreter_that_does_not_run_is_passed_over(
    bootstrap: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "python3.12").write_text("#!/bin/sh\necho 'pyenv: python3.12: command not found' >&2\nexit 127\n")
    (tmp_path / "python3.10").write_text("#!/bin/sh\necho '[\"/opt/ten\", [3, 10, 4], true]'\n")
    for name in ("python3.12", "python3.10"):
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    here = (sys.executable, tuple(sys.version_info[:3]))
    assert [(each.path, each.version) for each in bootstrap.candidates()] == [here, ("/opt/ten", (3, 10, 4))]


def test_a_second_run_does_nothing(small: Small) -> None:
    before = (small.venv / "bootstrap.log").read_bytes()
    done = small.run("setup")
    assert done.returncode == 0
    assert done.stderr.splitlines() == [f"Ready. Open the wizard: '{small.venv}/bin/triton-wizard'"]
    assert (small.venv / "bootstrap.log").read_bytes() == before


def test_the_wizard_gets_its_arguments_and_its_status_is_ours(small: Small) -> None:
    done = small.run("wizard", "--plain", "a b", "-x")
    assert (done.stdout, done.returncode) == ("wizard: ['--plain', 'a b', '-x']\n", 7)


def test_a_path_that_triton_cannot_be_given_is_not_used_for_the_demo(small: Small) -> None:
    done = small.run("demo", "--verbose")
    assert done.stdout == "wizard: ['demo', '--verbose']\n"
    assert "The checkout's path contains ' '" in done.stderr


def test_a_path_that_the_wizard_would_refuse_is_refused_before_the_installation(small: Small) -> None:
    done = small.run("demo", TRITON_WIZARD_HOME="/a b")
    assert done.returncode == 3
    assert "TRITON_WIZARD_HOME" in done.stderr
    assert "Installing" not in done.stderr


@pytest.mark.parametrize(
    ("path", "safe"), [("/a/b-1.0_c+@%=:,", True), ("/größe", True), ("/a b", False), ("/a'", False)]
)
def test_the_demo_works_in_a_folder_of_its_own(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch, path: str, safe: bool
) -> None:
    monkeypatch.setattr(bootstrap, "DEMO", Path(path))
    assert bootstrap.in_demo() == (["--workspace", path] if safe else [])


def test_check_calls_every_tool(small: Small) -> None:
    workers = max(5, os.cpu_count() or 1)
    done = small.run("check", "-k", "some")
    called = [line.removeprefix("called: ") for line in done.stdout.splitlines() if line.startswith("called: ")]
    assert called == [
        "lint check .",
        "format format --check .",
        "types",
        "imports --no-logo",
        f"tests -q -n {workers} -k some",
    ]
    assert done.returncode == 0


def test_check_compiles_what_the_tests_import_before_they_start(small: Small) -> None:
    (small.venv / "collected.json").unlink(missing_ok=True)
    done = small.run("check", "tests/plan", PYTHONDONTWRITEBYTECODE="1")
    assert done.returncode == 0
    collected = json.loads((small.venv / "collected.json").read_text())
    assert collected == [["-q", "--collect-only", "tests/plan"], False]


@pytest.mark.parametrize(("user", "apt"), [(0, True), (0, False), (1000, True)])
def test_dev_installs_the_tools_that_tests_need_or_says_how(
    bootstrap: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    user: int,
    apt: bool,
) -> None:
    there, steps = {"gcc", "google-chrome", "dockerd", *(["apt-get"] if apt else [])}, []
    monkeypatch.setattr(bootstrap, "prepare", lambda wanted: steps.append([wanted]))
    monkeypatch.setattr(bootstrap, "step", lambda _title, command: steps.append(command))
    monkeypatch.setattr(bootstrap.shutil, "which", lambda name: name if name in there else None)
    monkeypatch.setattr(bootstrap.os, "geteuid", lambda: user)
    assert bootstrap.dev() == 0
    install = ["apt-get", "install", "--yes", "--no-install-recommends", "tmux", "iproute2"]
    if user == 0 and apt:
        assert [command[-len(install) :] for command in steps[2:]] == [install]
    else:
        assert steps == [["dev"]]
        assert f"sudo {' '.join(install)}\n" in capsys.readouterr().err


@pytest.mark.parametrize("failing", ["lint", "format", "types", "imports", "tests"])
def test_check_continues_after_a_failure_and_fails(small: Small, failing: str) -> None:
    done = small.run("check", **{f"FAKE_{failing.upper()}": "5"})
    assert done.stdout.count("called: ") == 5
    summary = dict(line.split()[:2] for line in done.stdout.splitlines()[-5:])
    assert summary == {name: "FAILED" if name == failing else "passed" for name in summary}
    assert (len(summary), done.returncode) == (5, 1)


@pytest.mark.parametrize("arguments", [(), ("no-such",), ("setup", "--now"), ("clean", "all")])
def test_wrong_usage_is_refused(small: Small, arguments: tuple[str, ...]) -> None:
    done = small.run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert small.venv.exists()


def test_two_setups_take_turns(small: Small) -> None:
    with (small.root / "bootstrap.py").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = small.start("setup")
        assert process.stderr
        assert process.stderr.readline() == "Waiting for another setup of this checkout to finish …\n"
    _, err = process.communicate()
    assert (process.returncode, err.startswith("Ready.")) == (0, True)


@pytest.mark.parametrize("installer", INSTALLERS)
def test_setup_recovers_from_what_may_happen_to_it(tmp_path: Path, installer: str) -> None:
    small = make_small(tmp_path, installer)
    pins = small.root / "requirements" / "wizard.txt"
    good = pins.read_text()
    pins.write_text(good.rpartition(":")[0] + ":" + "0" * 64 + "\n")
    failed = small.run("setup")
    assert failed.returncode == 3
    assert "failed\n" in failed.stderr
    assert str(small.venv / "bootstrap.log") in failed.stderr
    assert "0" * 64 in (small.venv / "bootstrap.log").read_text()
    pins.write_text(good)
    fixed = small.run("setup")
    assert fixed.returncode == 0, fixed.stderr
    assert "Creating .venv" not in fixed.stderr  # what was done is kept

    changed = tmp_path / "moved"
    small.root.rename(changed)
    moved = Small(changed, small.env)
    assert "Creating .venv" in moved.run("setup").stderr  # its scripts pointed to where it was
    assert moved.run("wizard").returncode == 7

    pins = changed / "requirements" / "dev.txt"
    pins.write_text("# a new pin\n" + pins.read_text())
    assert moved.run("setup").stderr.count("Installing") == 2

    (moved.venv / "bin" / "python").unlink()
    assert "Creating .venv" in moved.run("setup").stderr

    demo = changed / ".demo"
    (demo / "servers" / "one").mkdir(parents=True)
    (demo / "servers" / "one" / "endpoint.json").touch()
    assert moved.run("demo").stdout == f"wizard: {['demo', '--workspace', str(demo)]}\n"
    assert moved.run("wizard", "-x").stdout == f"wizard: {['--workspace', str(demo), '-x']}\n"

    refused = moved.run("clean", FAKE_DOWN="8")
    assert refused.returncode == 3
    assert "could not be stopped" in refused.stderr
    assert demo.exists()
    assert moved.venv.exists()
    cleaned = moved.run("clean")
    assert cleaned.returncode == 0
    assert cleaned.stdout == f"wizard: {['down', 'one', '--workspace', str(demo)]}\n"
    assert (changed / "bootstrap.py").exists()
    assert not (changed / ".demo").exists()
    assert not moved.venv.exists()
