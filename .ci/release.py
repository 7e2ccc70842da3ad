"""Check that this checkout can be released and print its release notes: ``python .ci/release.py``.

Ends with status 1 and the reason if something is missing. Standard library only; used by .github/workflows/release.yml.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def version(root: Path) -> str:
    """The version, from its one place."""
    text = (root / "wizard" / "__init__.py").read_text(encoding="utf-8")
    return re.findall(r'(?m)^__version__ = "(.+)"$', text)[0]


def notes(root: Path) -> str:
    """The changelog section of the version.

    Raises:
        ValueError: If the section or its date, or the project's URLs, are missing.
    """
    if "\n[project.urls]\n" not in (root / "pyproject.toml").read_text(encoding="utf-8"):
        raise ValueError("pyproject.toml has no [project.urls]. Add at least Repository, Issues and Changelog.")
    name = version(root)
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    heading = re.search(rf"(?m)^## \[{re.escape(name)}\] - \d{{4}}-\d\d-\d\d\n", changelog)
    if not heading:
        raise ValueError(f"CHANGELOG.md has no section '## [{name}] - YYYY-MM-DD'. Create it from Unreleased.")
    section = re.split(r"(?m)^## \[", changelog[heading.end() :])[0].strip()
    if not section:
        raise ValueError(f"The section of {name} in CHANGELOG.md is empty.")
    return section


if __name__ == "__main__":
    try:
        print(version(ROOT) if "--version" in sys.argv else notes(ROOT))
    except ValueError as error:
        sys.exit(str(error))
