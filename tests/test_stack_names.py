"""A serving stack is named by its own package and its facts, and nowhere else in the wizard."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import wizard
from wizard.catalog import plugins, stacks

TOP = Path(wizard.__file__).parent
OWN = TOP / "stacks"
NOT_YET = {TOP / "advise"}
"""Goes when the advice reads the facts (branch advfacts is merged)."""


def modules() -> Iterator[Path]:
    for path in sorted(TOP.rglob("*.py")):
        if not {OWN, *NOT_YET} & set(path.parents):
            yield path


def named(path: Path) -> list[str]:
    """Where a text is the name of a stack: ``plan/build.py:34 'vllm'``."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [
        f"{path.relative_to(TOP)}:{node.lineno} {node.value!r}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and node.value in stacks.names()
    ]


def test_no_stack_is_named_outside_of_its_package() -> None:
    assert [place for path in modules() for place in named(path)] == []


def test_a_name_would_be_found(tmp_path: Path) -> None:
    assert len(named(OWN / "vllm" / "lint.py")) == 1
    assert len(list(modules())) > 200


def test_every_stack_has_facts_and_code() -> None:
    assert set(plugins.packages()) == set(stacks.names())
