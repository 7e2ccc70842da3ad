"""What a release needs: `.ci/release.py`, and workflows whose actions are pinned."""

from __future__ import annotations

import re
import stat
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

import wizard
from tests.scripts import load

CHECKOUT = Path(__file__).resolve().parent.parent
WORKFLOWS = sorted((CHECKOUT / ".github" / "workflows").glob("*.yml"))
URLS = '[project]\n\n[project.urls]\nRepository = "https://example.org"\n'
CHANGELOG = """# Changelog

## [Unreleased]

## [1.2.3] - 2026-12-01

### Added
- A line.

## [1.2.2] - 2026-11-01
- Older.
"""


@pytest.fixture(scope="module")
def release() -> ModuleType:
    return load(".ci/release.py")


def checkout(folder: Path, *, changelog: str = CHANGELOG, pyproject: str = URLS) -> Path:
    (folder / "wizard").mkdir()
    (folder / "wizard" / "__init__.py").write_text('__version__ = "1.2.3"\n')
    (folder / "pyproject.toml").write_text(pyproject)
    (folder / "CHANGELOG.md").write_text(changelog)
    return folder


def test_the_notes_are_the_section_of_the_version(release: ModuleType, tmp_path: Path) -> None:
    assert release.notes(checkout(tmp_path)) == "### Added\n- A line."
    assert release.version(CHECKOUT) == wizard.__version__


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"changelog": CHANGELOG.replace(" - 2026-12-01", "")}, "YYYY-MM-DD"),
        ({"changelog": CHANGELOG.replace("1.2.3", "1.2.4")}, r"no section '## \[1\.2\.3\]"),
        ({"changelog": CHANGELOG.replace("### Added\n- A line.\n", "")}, "empty"),
        ({"pyproject": "[project]\n"}, "project.urls"),
    ],
)
def test_a_release_is_stopped_when_something_is_missing(
    release: ModuleType, tmp_path: Path, changes: dict[str, str], reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        release.notes(checkout(tmp_path, **changes))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_every_action_is_pinned_by_commit_and_names_its_tag(path: Path) -> None:
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if "uses:" in line]
    assert lines
    for line in lines:
        assert re.search(r"uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line), line


def test_only_the_job_that_needs_it_may_write() -> None:
    jobs: dict[str, Any] = yaml.safe_load((CHECKOUT / ".github/workflows/release.yml").read_text())["jobs"]
    assert {name: job["permissions"] for name, job in jobs.items()} == {
        "build": {"contents": "read"},
        "publish": {"id-token": "write"},
        "tag": {"contents": "write"},
    }
    assert jobs["tag"]["needs"] == ["build", "publish"]


def test_a_release_is_audited_before_it_is_published_and_brings_its_bills_of_materials() -> None:
    jobs: dict[str, Any] = yaml.safe_load((CHECKOUT / ".github/workflows/release.yml").read_text())["jobs"]
    assert ".ci/audit notes/bills" in [step.get("run") for step in jobs["build"]["steps"]]
    assert any("notes/bills/*" in step.get("run", "") for step in jobs["tag"]["steps"])


def test_scripts_can_be_executed() -> None:
    for name in ("run", "check_wheel", "audit"):
        assert (CHECKOUT / ".ci" / name).stat().st_mode & stat.S_IXUSR, name


def test_hooks_use_the_tools_of_the_checkout() -> None:
    hooks = yaml.safe_load((CHECKOUT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    for hook in hooks:
        assert hook["entry"].startswith(".venv/bin/")
