"""No stage knows a serving stack by its name: what differs between stacks is a fact, or code of the stack itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import wizard
from wizard.catalog import stacks

TOP = Path(wizard.__file__).parent
ROOMS = ("advise", "catalog")
"""The rooms that are held to it so far."""
NAMES = frozenset(stacks.names())


def strings(text: str) -> Iterator[tuple[int, str]]:
    """Line and value of every string constant, those in f-strings and patterns too."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def named(text: str) -> list[tuple[int, str]]:
    """The string constants that are a stack's name, alone or after ``--stack``."""
    return [(line, value) for line, value in strings(text) if value.removeprefix("--stack ") in NAMES]


def files() -> list[Path]:
    return sorted(path for room in ROOMS for path in (TOP / room).rglob("*.py"))


def test_there_are_stacks_and_files_to_look_at() -> None:
    assert len(NAMES) >= 5
    assert len(files()) > 40


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(TOP)))
def test_no_file_names_a_stack(path: Path) -> None:
    assert named(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('if setup.stack == "vllm":\n    pass', [1]),
        ('x = {\n    "vllm": 1,\n    "transformers": 2,\n}', [2, 3]),
        ('f"{a}" + f"llamacpp{b}"', [1]),
        ('match stack:\n    case "trtllm-engine":\n        pass', [2]),
        ('Obstacle(code, text, "--stack vllm")', [1]),
        ('images("trtllm")', []),
        ('"""The stack vllm."""', []),
    ],
)
def test_a_name_would_be_seen(text: str, lines: list[int]) -> None:
    assert [line for line, _ in named(text)] == lines
