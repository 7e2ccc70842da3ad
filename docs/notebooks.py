"""Writes the notebooks in every language from their sources: ``python docs/notebooks.py``.

A source (``notebooks/source/NAME.txt``) has both languages side by side, in blocks that begin with a line ``%% KIND``:

- ``en``, ``ko``: Markdown in that language.
- ``setup``: the cell that installs the wizard where it is missing.
- ``code``: a cell of code. ``{{English|한국어}}`` is a text in it.
- ``exercise``: a cell that the learner changes; ``solution`` is what it can become, folded in a cell below.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"
SOURCES = NOTEBOOKS / "source"
LANGUAGES = ("en", "ko")
BLOCK = re.compile(r"(?m)^%% (en|ko|setup|code|exercise|solution)$\n")
TEXT = re.compile(r"\{\{(.*?)\|(.*?)\}\}")
SETUP = """\
# @title {{Install the wizard, where it is missing (Colab, VS Code …)|마법사가 없는 곳(Colab, VS Code 등)에 설치}}
try:
    import wizard
except ModuleNotFoundError:
    import os

    # {{A wheel or a checkout, or the package index|wheel 파일이나 체크아웃, 또는 패키지 인덱스}}
    package = os.environ.get("TRITON_WIZARD_PACKAGE", "triton-wizard")
    %pip install --quiet {package} ipywidgets"""
SOLUTION = "<details><summary>{{Solution|풀이}}</summary>\n\n```python\n%s\n```\n\n</details>"


def blocks(source: str) -> list[tuple[str, str]]:
    """The kind and the text of each block."""
    before, *parts = BLOCK.split(source)
    if before.strip() or not parts:
        raise ValueError(f"no block begins with {source.strip().splitlines()[0]!r}")
    return [(kind, text.strip("\n")) for kind, text in zip(parts[::2], parts[1::2], strict=True)]


def cells(source: str, language: str) -> list[dict[str, Any]]:
    """The cells of a notebook in ``language``."""
    made: list[dict[str, Any]] = []
    for kind, text in blocks(source):
        if kind in LANGUAGES:
            if kind == language:
                made.append(_cell("markdown", text))
        elif kind == "setup":
            hidden = {"cellView": "form", "jupyter": {"source_hidden": True}, "tags": ["hide-input"]}
            made.append(_cell("code", spoken(SETUP, language), hidden))
        elif kind == "solution":
            made.append(_cell("markdown", spoken(SOLUTION, language) % spoken(text, language), {"tags": ["solution"]}))
        else:
            made.append(_cell("code", spoken(text, language), {"tags": [kind]} if kind == "exercise" else {}))
    return [{"id": f"cell-{number:02}", **cell} for number, cell in enumerate(made)]


def spoken(code: str, language: str) -> str:
    """``code`` with its texts in ``language``."""
    return TEXT.sub(lambda match: match[1 + LANGUAGES.index(language)], code)


def _cell(kind: str, source: str, metadata: dict[str, Any] | None = None) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": kind, "metadata": metadata or {}, "source": source.splitlines(keepends=True)}
    return cell if kind == "markdown" else {**cell, "execution_count": None, "outputs": []}


def notebook(source: str, language: str) -> str:
    """The notebook as a file's text."""
    metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    data = {"cells": cells(source, language), "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def files() -> dict[Path, str]:
    """Every notebook's path and text."""
    folders = {"en": NOTEBOOKS, "ko": NOTEBOOKS / "ko"}
    return {
        folders[language] / f"{source.stem}.ipynb": notebook(source.read_text(encoding="utf-8"), language)
        for source in sorted(SOURCES.glob("*.txt"))
        for language in LANGUAGES
    }


def main() -> None:
    """Write them; remove those that have no source any more."""
    made = files()
    for path in NOTEBOOKS.rglob("*.ipynb"):
        if path not in made and ".ipynb_checkpoints" not in path.parts:
            path.unlink()
    for path, text in made.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
