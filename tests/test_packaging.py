"""What is pinned, and what a built wheel holds. Nothing here needs a network."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import wizard
from wizard.catalog import profiles
from wizard.catalog.environments import environment

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CHECKOUT = Path(__file__).resolve().parent.parent
PINS = sorted([*(CHECKOUT / "requirements").glob("*.txt"), *(CHECKOUT / "profiles" / "environments").glob("*.txt")])
PROJECT: dict[str, Any] = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
GIT = (CHECKOUT / ".git").exists()
TARGETS = [
    {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "sys_platform": "linux",
        "platform_machine": machine,
    }
    for python in ("3.10", "3.11", "3.12")
    for machine in ("x86_64", "aarch64")
]
"""The environments that the pins are for, as variables of environment markers."""


def pinned(name: str) -> list[Requirement]:
    """The requirements of ``requirements/NAME.txt``, hashes left out."""
    text = (CHECKOUT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    return [Requirement(line.rstrip("\\ ")) for line in text.splitlines() if re.match(r"[a-z0-9]", line)]


def tracked() -> list[str]:
    """The files that git tracks; in an unpacked source distribution, those that belong into the wheel."""
    if GIT:
        done = subprocess.run(["git", "ls-files"], cwd=CHECKOUT, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()
    paths = (path for folder in ("wizard", "profiles") for path in (CHECKOUT / folder).rglob("*") if path.is_file())
    return [path.relative_to(CHECKOUT).as_posix() for path in paths if "__pycache__" not in path.parts]


@pytest.mark.parametrize("path", PINS, ids=lambda path: path.stem)
def test_every_pin_is_exact_and_hashed(path: Path) -> None:
    text = re.sub(r"(?m)^#.*\n", "", path.read_text(encoding="utf-8")).replace("\\\n", "")
    lines = text.splitlines()
    assert lines
    if path.parent.name == "environments" and not environment(path.stem).hashes:
        assert all(re.fullmatch(r"[a-z0-9_-]+==[\w.+]+", line) for line in lines)
        return
    for line in lines:
        assert re.match(r"[a-z0-9-]+==\S+( ; [^-]*)?\s+--hash=sha256:[0-9a-f]{64}", line), line


@pytest.mark.parametrize("path", PINS, ids=lambda path: path.stem)
def test_pins_name_no_host(path: Path) -> None:
    assert "://" not in path.read_text(encoding="utf-8")
    assert "--index-url" not in path.read_text(encoding="utf-8")


def test_the_version_is_written_in_one_place() -> None:
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert wizard.__version__ == version("triton-wizard"), "the editable install is older: run make setup"
    text = (CHECKOUT / "wizard" / "__init__.py").read_text(encoding="utf-8")
    assert re.findall(r'(?m)^__version__ = "(.+)"$', text) == [wizard.__version__]


def test_no_lock_file_with_hosts_is_tracked() -> None:
    assert [name for name in tracked() if name.endswith(("uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock"))] == []


@pytest.mark.parametrize(
    "target", TARGETS, ids=lambda target: f"{target['python_version']}-{target['platform_machine']}"
)
@pytest.mark.parametrize("name", ["wizard", "dev"])
def test_the_pins_are_what_the_project_declares(name: str, target: dict[str, str]) -> None:
    versions = {
        pin.name: next(iter(pin.specifier)).version
        for pin in pinned(name)
        if not pin.marker or pin.marker.evaluate(target)
    }
    wanted = [*PROJECT["project"]["dependencies"], *PROJECT["build-system"]["requires"], "editables"]
    if name == "dev":
        wanted += PROJECT["project"]["optional-dependencies"]["dev"]
    for text in wanted:
        requirement = Requirement(text)
        if not requirement.marker or requirement.marker.evaluate(target):
            version = versions.get(canonicalize_name(requirement.name))
            assert version, f"{text} is not pinned; see requirements/README.md"
            assert requirement.specifier.contains(version), f"{text}: pinned is {version}; see requirements/README.md"


def test_dev_holds_the_pins_of_wizard() -> None:
    wizard, dev = ({(pin.name, str(pin.specifier)) for pin in pinned(name)} for name in ("wizard", "dev"))
    assert wizard <= dev


def test_a_seat_has_the_pins_of_the_wizard_and_its_notebooks() -> None:
    seat = {(pin.name, str(pin.specifier)) for pin in pinned("../profiles/environments/seat")}
    build = {"hatchling", "editables", "pathspec", "pluggy", "tomlkit", "trove-classifiers"}
    assert {(pin.name, str(pin.specifier)) for pin in pinned("wizard") if pin.name not in build} <= seat
    wanted = {Requirement(text).name for text in PROJECT["project"]["optional-dependencies"]["notebook"]}
    assert {*wanted, "pip"} <= {name for name, _ in seat}


def test_no_server_package_is_among_the_pins() -> None:
    names = {pin.name for pin in pinned("dev")}
    assert names & {"torch", "vllm", "tensorrt-llm", "nvidia-pytriton", "xllamacpp"} == set()


def test_an_editable_install_finds_the_profiles_of_the_checkout() -> None:
    assert profiles.find("environments/llamacpp.txt") == CHECKOUT / "profiles" / "environments" / "llamacpp.txt"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project's wheel, built by the backend that is installed here."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(build, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(folder.glob("*.whl"))


def test_the_wheel_holds_all_profiles_and_the_demo_model(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        shipped = {name.removeprefix("wizard/_profiles/") for name in archive.namelist() if "/_profiles/" in name}
    there = {name.removeprefix("profiles/") for name in tracked() if name.startswith("profiles/")}
    assert there <= shipped
    assert any(name.startswith("models/triton-wizard-demo/") and name.endswith(".gguf") for name in shipped)


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.split("/")[0] for name in names} == {
        "wizard",
        f"triton_wizard-{wizard.__version__}.dist-info",
    }
    assert "wizard/py.typed" in names
    assert {name for name in tracked() if name.startswith("wizard/")} <= set(names)
    assert [name for name in names if "__pycache__" in name or name.endswith(".pyc")] == []


@pytest.mark.skipif(not GIT, reason="this is a source distribution: git's list of files is missing")
def test_the_source_distribution_holds_every_file(tmp_path: Path) -> None:
    """So that whoever packages it can run the tests from it; PKG-INFO is the build backend's."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path)]
    subprocess.run(build, cwd=CHECKOUT, capture_output=True, check=True)
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert set(tracked()) <= names
    assert not {name for name in names if name.startswith(".venv")}


def test_nothing_is_imported_before_ctrl_c_is_looked_after() -> None:
    """What a script for the entry point imports: `wizard.__main__`, and by that `wizard`, which add nothing."""
    assert PROJECT["project"]["scripts"] == {"triton-wizard": "wizard.__main__:main"}
    code = "import sys; before = set(sys.modules); import wizard.__main__; print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {"wizard", "wizard.__main__", "_signal", "os"}


def test_the_wheel_weighs_little(wheel: Path) -> None:
    assert wheel.stat().st_size < 20e6  # the demo model may take 16 MB of it


def test_the_wheel_works_apart_from_the_checkout(wheel: Path, tmp_path: Path) -> None:
    target = tmp_path / "site packages"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    code = (
        f"import sys; sys.path.insert(0, {str(target)!r})\n"
        "import wizard\n"
        "from importlib.metadata import distribution\n"
        "from wizard.catalog import profiles\n"
        "script = next(e for e in distribution('triton-wizard').entry_points if e.name == 'triton-wizard')\n"
        "assert callable(script.load())\n"
        "print(wizard.__file__, wizard.__version__, profiles.find('environments/llamacpp.txt'), sep='\\n')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    module, shown, pins = done.stdout.splitlines()
    assert Path(module) == target / "wizard" / "__init__.py"
    assert shown == wizard.__version__
    assert Path(pins) == target / "wizard" / "_profiles" / "environments" / "llamacpp.txt"
