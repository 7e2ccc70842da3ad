"""Interpreters: which are found, and which Triton's stub can use; most are played by scripts."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.probe.programs import hanging, script, wait_for, wait_until_gone
from tests.values import CPU_HOST
from wizard.probe import interpreters
from wizard.probe.ask import Answer, asking
from wizard.probe.host import Interpreter


def install(
    prefix: Path, version: str, *, libdir: str = "lib", library: bool = True, venv: bool = True, name: str = "python3"
) -> Path:
    """A made-up installation whose interpreter answers as CPython would."""
    short = ".".join(version.split(".")[:2])
    stdlib = prefix / "lib" / f"python{short}"
    (stdlib / "venv").mkdir(parents=True)
    if venv:
        (stdlib / "ensurepip").mkdir()
    if library:
        (prefix / libdir).mkdir(parents=True, exist_ok=True)
        (prefix / libdir / f"libpython{short}.so.1.0").touch()
    answer = "\\n".join([version, str(prefix), str(prefix / "lib"), "some-linux-gnu", str(stdlib)])
    return script(prefix / "bin" / name, f"printf '{answer}\\n'")


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No interpreters but those of the test, the running one and /usr/bin's."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    monkeypatch.setenv("UV_PYTHON_INSTALL_DIR", str(tmp_path / "uv"))


def described(under: Path, seconds: float = 60) -> tuple[list[Interpreter], str | None]:
    """Interpreters under a folder, and who did not answer."""
    with asking(interpreters.questions(), seconds) as asked:
        usable, silent = interpreters.read({path: each.answer() for path, each in asked.items()})
    return [each for each in usable if Path(each.path).is_relative_to(under)], silent


@pytest.mark.parametrize("version", ["3.10.13", "3.11.7", "3.12.1"])
def test_an_interpreter_with_its_library_is_usable(tmp_path: Path, version: str) -> None:
    path = install(tmp_path, version)
    ((interpreter,), _) = described(tmp_path)
    assert interpreter == Interpreter(
        path=str(path),
        version=tuple(map(int, version.split("."))),  # type: ignore[arg-type]
        libpython=str(tmp_path / "lib"),
        has_venv=True,
        usable=True,
    )


def test_the_library_may_lie_in_the_folder_of_the_architecture(tmp_path: Path) -> None:
    install(tmp_path, "3.11.2", libdir="lib/some-linux-gnu")
    ((interpreter,), _) = described(tmp_path)
    assert interpreter.libpython == str(tmp_path / "lib" / "some-linux-gnu")
    assert interpreter.usable


@pytest.mark.parametrize(
    ("version", "library", "word"),
    [
        ("3.8.18", True, "too old"),
        ("3.9.18", True, "too old"),
        ("3.13.0", True, "numpy < 2"),
        ("3.14.0", True, "numpy < 2"),
        ("3.11.7", False, "libpython3.11.so.1.0"),
    ],
)
def test_others_have_a_reason_and_a_fix(tmp_path: Path, version: str, library: bool, word: str) -> None:
    install(tmp_path, version, library=library)
    ((interpreter,), _) = described(tmp_path)
    assert not interpreter.usable
    assert interpreter.why_not is not None
    assert word in interpreter.why_not
    assert "uv python install" in interpreter.why_not


@pytest.mark.parametrize(
    ("prefix", "fix"),
    [
        ("/usr", "sudo apt install libpython3.11"),
        ("/home/me/.pyenv/versions/3.11.7", "PYTHON_CONFIGURE_OPTS=--enable-shared pyenv install --force 3.11.7"),
        ("/opt/python", "uv python install 3.11"),
    ],
)
def test_the_fix_for_a_missing_library_depends_on_where_the_interpreter_is_from(prefix: str, fix: str) -> None:
    answer = Answer(0, f"3.11.7\n{prefix}\n/nowhere\n\n{prefix}/lib/python3.11\n", "")
    ((interpreter,), _) = interpreters.read({f"{prefix}/bin/python3": answer})
    assert interpreter.why_not is not None
    assert fix in interpreter.why_not


def test_debian_without_python3_venv_is_usable_with_a_note(tmp_path: Path) -> None:
    install(tmp_path, "3.11.2", venv=False)
    ((interpreter,), _) = described(tmp_path)
    assert interpreter.usable
    assert not interpreter.has_venv


def test_pyenv_and_uv_are_searched_and_shims_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pyenv = install(tmp_path / "pyenv/versions/3.12.1", "3.12.1", name="python3.12")
    uv = install(tmp_path / "uv/cpython-3.11.9-linux", "3.11.9", name="python3.11")
    shim = script(tmp_path / "pyenv/shims/python3", f"touch {tmp_path}/shim-was-run")
    monkeypatch.setenv("PATH", str(shim.parent))
    listed, _ = described(tmp_path)
    assert [each.path for each in listed] == [str(pyenv), str(uv)]
    assert not (tmp_path / "shim-was-run").exists()


def test_links_to_one_installation_count_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = install(tmp_path / "opt", "3.11.7", name="python3.11")
    (tmp_path / "bin").mkdir()
    for name in ("python", "python3", "python3.11"):
        (tmp_path / "bin" / name).symlink_to(path)
    copied = script(tmp_path / "venv/bin/python", path.read_text().partition("\n")[2])  # a venv made with --copies
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{copied.parent}:relative:")
    listed, _ = described(tmp_path)
    assert [each.path for each in listed] == [str(path)]


def test_a_hanging_interpreter_is_reported_and_killed(tmp_path: Path) -> None:
    path = str(hanging(tmp_path / "bin/python3"))
    with asking({path: interpreters.questions()[path]}, seconds=0.3) as asked:
        wait_for(path)
        listed, silent = interpreters.read({path: asked[path].answer()})
    assert listed == ()
    assert silent == f"{path}: no response within 0.3 s"
    wait_until_gone(path)


@pytest.mark.parametrize("body", ["exit 127", "exit 0", "echo 3.11.7", "echo garbage; exit 0"])
def test_what_does_not_answer_as_an_interpreter_is_none(tmp_path: Path, body: str) -> None:
    script(tmp_path / "bin/python3", body)
    assert described(tmp_path) == ([], None)


def test_the_running_interpreter_comes_first_and_stands_for_its_environments() -> None:
    with asking(interpreters.questions(), 60) as asked:
        listed, _ = interpreters.read({path: each.answer() for path, each in asked.items()})
    first = listed[0]
    assert first.version == sys.version_info[:3]
    assert Path(first.path) == Path(os.path.realpath(getattr(sys, "_base_executable", sys.executable)))
    others = [each.version for each in listed[1:]]
    assert others == sorted(others, reverse=True)


def interpreter(version: tuple[int, int, int], *, usable: bool = True, venv: bool = True) -> Interpreter:
    return Interpreter(f"/opt/{version}", version, "/opt/lib" if usable else None, venv, usable)


RUNNING, NEW, OLD = (3, 11, 7), (3, 12, 1), (3, 10, 1)


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        ([interpreter(RUNNING), interpreter(NEW)], RUNNING),
        ([interpreter(RUNNING, usable=False), interpreter(NEW), interpreter(OLD)], NEW),
        ([interpreter(RUNNING, venv=False), interpreter(NEW)], NEW),
        ([interpreter(RUNNING, venv=False)], RUNNING),
        ([interpreter(RUNNING, usable=False)], None),
        ([], None),
    ],
)
def test_the_running_one_is_taken_if_it_can_be_else_the_newest(
    there: list[Interpreter], expected: tuple[int, int, int] | None
) -> None:
    chosen = interpreters.usable_interpreter(replace(CPU_HOST, interpreters=tuple(there)))
    assert (chosen and chosen.version) == expected
