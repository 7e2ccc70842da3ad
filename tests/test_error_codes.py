"""Every error code means one thing, belongs to its stage, and is exercised by a test that names it."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from wizard.kernel import errors

CHECKOUT = Path(__file__).resolve().parent.parent
CODE = re.compile(r"TW-[A-Z]\d{2,3}")
LETTERS = {
    "P": "probe",
    "M": "model",
    "A": "advise",
    "L": "plan repository export stacks",
    "R": "run",
    "S": "serve",
    "G": "gateway",
    "B": "workshop",
    "C": "chat bench",
    "D": "catalog",
    "K": "kernel",
    "N": "",  # only the interface of that name
    "U": "",
}
"""Letter → stages whose errors have it; those of usage (U) and of the kernel (K) may come from anywhere."""

INTERFACES = {"cli", "journey", "tui", "prompts", "notebook"}
"""Not stages: they speak of whichever stage they are showing."""


@cache
def raised() -> dict[str, set[tuple[str, str]]]:
    """Code → (class, part) of every place that makes an error with it."""
    places: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for path in sorted((CHECKOUT / "wizard").rglob("*.py")):
        part = path.relative_to(CHECKOUT / "wizard").parts[0].removesuffix(".py")
        tree = ast.parse(path.read_text(encoding="utf-8"))
        base = {  # an error class of its own gives its code to the class above it
            node: ast.unparse(definition.bases[0])
            for definition in ast.walk(tree)
            if isinstance(definition, ast.ClassDef) and definition.bases
            for node in ast.walk(definition)
        }
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant)):
                continue
            code = node.args[0].value
            if isinstance(code, str) and CODE.fullmatch(code):
                name = ast.unparse(node.func).rsplit(".", 1)[-1]
                if name == "Fault":  # an answer of the gateway: no command ends with it
                    name = "UsageError"
                if name == "Refused":  # it becomes an error of the class that it names
                    name = ast.unparse(node.args[1])
                places[code].add((base[node] if name == "__init__" else name, part))
    return places


def mentions(folder: str, suffixes: tuple[str, ...]) -> dict[str, set[str]]:
    """Code → files under ``folder`` that name it."""
    files: dict[str, set[str]] = defaultdict(set)
    for path in (CHECKOUT / folder).rglob("*"):
        if path.suffix in suffixes and path != Path(__file__).resolve():
            for code in CODE.findall(path.read_text(encoding="utf-8")):
                files[code].add(path.relative_to(CHECKOUT).as_posix())
    return files


def test_there_are_codes() -> None:
    assert len(raised()) >= 100


def test_a_code_has_one_class() -> None:
    classes = {code: {name for name, _ in places} for code, places in raised().items()}
    assert {code: names for code, names in classes.items() if len(names) != 1} == {}
    assert [name for (name,) in classes.values() if not issubclass(getattr(errors, name), errors.WizardError)] == []


def test_a_code_belongs_to_the_stage_that_raises_it() -> None:
    assert {code for code in raised() if code[3] not in LETTERS} == set()  # see wizard/kernel/errors.py
    parts = {
        code: {part for _, part in places} - INTERFACES for code, places in raised().items() if code[3] not in "KU"
    }
    assert {code: names for code, names in parts.items() if not names <= set(LETTERS[code[3]].split())} == {}


def test_every_code_is_exercised_by_a_test() -> None:
    tested = mentions("tests", (".py", ".toml", ".json", ".yaml"))
    assert sorted(set(raised()) - set(tested)) == []


@pytest.mark.parametrize("folder", ["wizard", "profiles", "notebooks"])
def test_no_text_names_a_code_that_nothing_raises(folder: str) -> None:
    named = mentions(folder, (".py", ".toml", ".md", ".ipynb", ".json"))
    assert {code: files for code, files in named.items() if code not in raised()} == {}


def test_every_exit_code_is_explained() -> None:
    classes = [
        each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, errors.WizardError)
    ]
    assert {each.exit_code for each in classes} <= set(errors.EXIT_CODES)
