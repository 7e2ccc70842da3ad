"""The pictures of the documentation are what the screens draw today, from the session that was recorded."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"
sys.path.insert(0, str(DOCS))

import pictures  # noqa: E402
from animation import animated  # noqa: E402
from recording import Replay  # noqa: E402


async def test_no_picture_is_stale() -> None:
    session = json.loads(pictures.SESSION.read_text(encoding="utf-8"))
    drawn = await pictures.drawn(Replay(session), keystrokes=False)
    moving = drawn.pop("wizard")
    assert set(drawn) == {path.stem for path in pictures.FOLDER.glob("*.svg")} - {"wizard"}
    for name, svg in drawn.items():
        there = (pictures.FOLDER / f"{name}.svg").read_text(encoding="utf-8")
        assert there == svg, f"docs/pictures/{name}.svg is stale: make pictures"
    for words in (_texts(moving), _texts((pictures.FOLDER / "wizard.svg").read_text(encoding="utf-8"))):
        assert _texts(drawn["chat"]) <= words, "make pictures"
        assert any("NVIDIA H200" in text.replace("&#160;", " ") for text in words), "make pictures"


def test_every_picture_is_shown_somewhere() -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in (DOCS.parent / "README.md", *DOCS.glob("*.md")))
    assert [path.name for path in pictures.FOLDER.glob("*.svg") if f"pictures/{path.name}" not in pages] == []


def test_lines_that_stay_are_there_once_and_others_come_and_go() -> None:
    svg = (pictures.FOLDER / "welcome.svg").read_text(encoding="utf-8")
    other = svg.replace("Settings</text>", "Einstellungen</text>", 1)
    moving = animated([(svg, 1), (other, 3)])
    assert moving.count("Machine") == 1
    assert moving.count("Einstellungen</text>") == 1
    assert "@keyframes" in moving
    assert "25.000%{visibility:visible}" in moving


def _texts(svg: str) -> set[str]:
    """What can be read; how far an answer is at an instant depends on the machine, what it comes to does not."""
    return {text for text in re.findall(r">([^<]*)</text>", svg) if text.strip()}
