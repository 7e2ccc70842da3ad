"""Pythons with an engine: what they have is found without importing it, and what is none is said."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.engine_environment import VLLM, make
from tests.probe.programs import hanging, script, wait_until_gone
from tests.values import CPU_HOST
from wizard.kernel.errors import UsageError
from wizard.kernel.values import from_json, to_json
from wizard.probe import engine_python
from wizard.probe.ask import asking
from wizard.probe.engine_python import inspect, known, packages, questions, read, with_python
from wizard.probe.hardware import find
from wizard.probe.host import EnginePython, Host
from wizard.probe.report import text


@pytest.fixture(autouse=True)
def inactive(monkeypatch: pytest.MonkeyPatch) -> None:
    """No active environment but the test's own."""
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)


def test_what_an_environment_has_is_read_without_importing_it(tmp_path: Path) -> None:
    path = make(tmp_path / "venv", VLLM)
    environment = inspect(path)
    assert environment == EnginePython(path, sys.version_info[:3], str(tmp_path / "venv"), VLLM, "13.0")
    assert from_json(EnginePython, to_json(environment), where="here") == environment


def test_links_stay_because_they_make_the_environment(tmp_path: Path) -> None:
    path = make(tmp_path / "venv", VLLM)
    assert Path(path).is_symlink()
    assert inspect(path).packages == VLLM
    assert inspect(os.path.realpath(path)).packages.get("vllm") is None


def test_torch_without_cuda_and_no_torch_have_none(tmp_path: Path) -> None:
    assert inspect(make(tmp_path / "cpu", VLLM, cuda=None)).cuda is None
    assert inspect(make(tmp_path / "bare", {"vllm": "0.26.0"})).cuda is None


def test_variables_of_the_wizards_own_python_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make(tmp_path / "venv", {})
    make(tmp_path / "other", VLLM)
    monkeypatch.setenv("PYTHONPATH", str(next((tmp_path / "other").glob("lib/python3*/site-packages"))))
    assert inspect(path).packages == {}


def test_no_secret_is_in_its_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_" + "x" * 20)
    output = tmp_path / "output"
    odd = script(tmp_path / "python", f"env > {output}; exit 1")
    with pytest.raises(UsageError):
        inspect(str(odd))
    assert "PATH=" in output.read_text()
    assert "HF_TOKEN" not in output.read_text()


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("exit 0", "exit status 0"),
        ("echo hello", "exit status 0"),
        ("echo '[]'", "exit status 0"),
        ("echo '{\"version\": [3, 12]}'", "exit status 0"),
        ("echo oh dear >&2; exit 3", "oh dear"),
        ("printf '\\nunknown option -I\\nusage: it [-h]\\n' >&2; exit 2", "unknown option -I"),
        ("printf 'Traceback (most recent call last):\\n  File x\\nOSError: broken\\n' >&2; exit 1", "OSError: broken"),
    ],
)
def test_what_is_no_python_is_tw_p15(tmp_path: Path, body: str, why: str) -> None:
    with pytest.raises(UsageError, match=why) as caught:
        inspect(str(script(tmp_path / "python", body)))
    assert caught.value.code == "TW-P15"


def test_a_missing_file_and_a_folder_are_tw_p15_and_the_folders_interpreter_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file") as caught:
        inspect(str(tmp_path / "nothing"))
    assert caught.value.code == "TW-P15"
    path = make(tmp_path / "venv", VLLM)
    with pytest.raises(UsageError) as caught:
        inspect(str(tmp_path / "venv"))
    assert f"--engine-python {path}" in caught.value.todo


def test_a_folder_without_an_interpreter_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="this is a folder without bin/python") as caught:
        inspect(str(tmp_path))
    assert caught.value.code == "TW-P15"


def test_a_path_that_is_too_long_is_tw_p15_and_is_cut() -> None:
    with pytest.raises(UsageError, match="File name too long") as caught:
        inspect("/" + "a/" * 3000)
    assert caught.value.code == "TW-P15"
    assert len(caught.value.what) < 600


def test_a_folder_that_others_may_not_enter_is_tw_p15(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may enter all, so the refusal is the operating system's, given in its place."""

    def refused(path: object, **_: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    packages()  # our own files can be read
    monkeypatch.setattr(Path, "stat", refused)
    monkeypatch.setattr(os, "stat", refused)
    with pytest.raises(UsageError) as caught:
        inspect(str(tmp_path / "venv"))
    assert caught.value.code == "TW-P15"


def test_one_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_python, "SECONDS", 0.3)
    path = hanging(tmp_path / "python")
    with pytest.raises(UsageError, match="no response within"):
        inspect(str(path))
    wait_until_gone(str(path))


def test_a_bare_name_is_looked_for_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make(tmp_path / "venv", VLLM)
    monkeypatch.setenv("PATH", str(Path(path).parent))
    assert inspect("python").path == path
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UsageError):
        inspect("python")


def test_an_unknown_users_home_is_a_file_that_is_not_there() -> None:
    with pytest.raises(UsageError) as caught:
        inspect("~nobody-of-that-name/bin/python")
    assert caught.value.code == "TW-P15"


def described(container: str | None = None) -> tuple[tuple[EnginePython, ...], str | None]:
    with asking(questions(container), 60) as asked:
        return read({path: each.answer() for path, each in asked.items()})


@pytest.mark.parametrize("variable", ["VIRTUAL_ENV", "CONDA_PREFIX"])
def test_the_active_environment_is_detected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    path = make(tmp_path / "venv", VLLM)
    monkeypatch.setenv(variable, str(tmp_path / "venv"))
    (python,), silent = described()
    assert (python.path, python.packages, silent) == (path, VLLM, None)


def test_one_without_an_engine_is_not_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path / "venv", {"torch": "2.11.0"})
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "venv"))
    assert described() == ((), None)


@pytest.mark.parametrize(
    ("packages", "listed"),
    [({"transformers": "5.17.0"}, False), ({"transformers": "5.17.0", "torch": "2.11.0"}, True), (VLLM, True)],
)
def test_transformers_is_an_engine_with_torch_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packages: dict[str, str], listed: bool
) -> None:
    make(tmp_path / "venv", packages)
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "venv"))
    assert bool(described()[0]) == listed


@pytest.mark.parametrize(("packages", "listed"), [({"transformers": "5.17.0", "torch": "2.11.0"}, False), (VLLM, True)])
def test_the_wizards_own_environment_counts_with_a_server_for_models_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packages: dict[str, str], listed: bool
) -> None:
    make(tmp_path / "venv", packages)
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "venv"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    assert bool(described()[0]) == listed


def test_in_a_container_the_python_on_path_is_detected_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path / "venv", VLLM)
    monkeypatch.setenv("PATH", str(tmp_path / "venv" / "bin"))
    assert described() == ((), None)
    (python,), _ = described("docker")
    assert python.path == str(tmp_path / "venv" / "bin" / "python3")
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "venv"))
    assert len(described("docker")[0]) == 1  # the same environment


def test_this_machine_lists_it_and_says_who_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make(tmp_path / "venv", VLLM)
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "venv"))
    monkeypatch.setenv("CONDA_PREFIX", str(tmp_path / "conda"))
    monkeypatch.setenv("PATH", "/nowhere")
    script(tmp_path / "conda" / "bin" / "python", "echo broken >&2; exit 1")
    host = find(None, tmp_path)
    assert [python.path for python in host.engine_pythons] == [path]
    assert host.unknown["engine_pythons"] == f"{tmp_path / 'conda' / 'bin' / 'python'}: broken"
    assert from_json(Host, to_json(host), where="here") == host
    assert "vllm0.26.0,transformers5.17.0,torch2.11.0+cu130,CUDA13.0" in "".join(text(host).split())


def test_a_named_python_is_asked_once_and_never_of_another_machine(tmp_path: Path) -> None:
    path = make(tmp_path / "venv", VLLM)
    host = with_python(CPU_HOST, path)
    assert known(host, path) == inspect(path)
    assert with_python(host, path) is host
    elsewhere = replace(CPU_HOST, source="host.json")
    assert with_python(elsewhere, path) is elsewhere
    assert with_python(CPU_HOST, None) is CPU_HOST
