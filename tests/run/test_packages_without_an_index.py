"""Packages from a folder instead of an index: what the user sets for the installer reaches a step's installer."""

from __future__ import annotations

import hashlib
import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from tests.run.runs import events_of, outcomes
from tests.values import plan_of
from wizard.catalog.environments import Environment
from wizard.catalog.profiles import PROFILES_VARIABLE
from wizard.plan.plan import Done, Estimate, Step
from wizard.plan.runtimes.venv import Venv
from wizard.probe.host import Interpreter

ENVIRONMENT = Environment(
    *("a test's", "probe.txt", "x86_64", "2.17", "3.10", "3.12"), (), 1, 1, 'import wizard_probe; print("it is there")'
)


def wheel(folder: Path) -> str:
    """A wheel (PyPA, binary distribution format 1.0) in ``folder``; its line of requirements."""
    folder.mkdir()
    path, about = folder / "wizard_probe-1.0-py3-none-any.whl", "wizard_probe-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("wizard_probe.py", "")
        file.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: wizard-probe\nVersion: 1.0\n")
        file.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{about}/RECORD", f"wizard_probe.py,,\n{about}/METADATA,,\n{about}/WHEEL,,\n{about}/RECORD,,\n")
    return f"wizard-probe==1.0 --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"


@pytest.fixture
def step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Step:
    """Makes an environment whose only package lies in ``tmp_path/wheels``, and in no index that is asked."""
    line = wheel(tmp_path / "wheels")
    (tmp_path / "profiles" / "environments").mkdir(parents=True)
    (tmp_path / "profiles" / "environments" / "probe.txt").write_text(line)
    monkeypatch.setenv(PROFILES_VARIABLE, str(tmp_path / "profiles"))
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX"):
        monkeypatch.delenv(name, raising=False)
    python = Interpreter(sys.executable, sys.version_info[:3], None, has_venv=True, usable=True)
    venv = Venv(tmp_path / "w" / "environments", ENVIRONMENT, python)
    actions = (*venv.install(), venv.check())
    return Step("environment", "Make it", "", actions, Done(files=(venv.python,)), Estimate(1))


def variables(installer: str, wheels: Path) -> dict[str, str]:
    """What docs/offline.md says, for each installer."""
    if installer == "uv":
        return {"UV_OFFLINE": "1", "UV_FIND_LINKS": str(wheels)}
    return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)}


@pytest.mark.parametrize(
    "installer",
    ["pip", pytest.param("uv", marks=pytest.mark.skipif(not shutil.which("uv"), reason="uv is not installed"))],
)
async def test_a_folder_of_wheels_is_enough(
    installer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if installer == "pip":
        monkeypatch.setattr(shutil, "which", lambda _: None)
    step: Step = request.getfixturevalue("step")
    plan = plan_of(tmp_path / "w", step)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("UV_OFFLINE", "1")
    events, _ = await events_of(plan)
    assert outcomes(events) == {"environment": "failed"}, "without the folder there is nowhere to take it from"
    for name, value in variables(installer, tmp_path / "wheels").items():
        monkeypatch.setenv(name, value)
    events, error = await events_of(plan)
    assert outcomes(events) == {"environment": "done"}, error
