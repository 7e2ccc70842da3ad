"""Documents, messages and public docstrings are plain US English: no worn-out pattern of tests/english/worn.toml."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CHECKOUT = Path(__file__).resolve().parent.parent
FOLDERS = ("docs", "notebooks", "profiles", "requirements", "training", "translations", ".github")
DOCUMENTS = sorted(
    path
    for path in [*CHECKOUT.glob("*.md"), *(page for name in FOLDERS for page in (CHECKOUT / name).rglob("*"))]
    if path.suffix in {".md", ".ipynb", ".yml"} and ".ipynb_checkpoints" not in path.parts
)
PUBLIC = ("wizard/__init__.py", "wizard/notebook/session.py", "wizard/notebook/walk.py")
"""Modules whose docstrings users see, with `help` in a notebook. The help of the command line comes from messages."""
EXAMPLES = re.compile(r"(?m)^ *>>> .*$|^ +\*{0,2}\w+(?=: )")
"""Examples, and names of arguments."""
CODE = re.compile(
    r"""(?msx) ^\ *```.*?^\ *```$ | ``.+?`` | `[^`\n]+(?:\n[^`\n]+)?` | \]\([^)]*\)
    | <!--\ ([a-z ]+)\ -->.*?<!--\ end\ of\ \1\ --> | <!--.*?-->"""
)
"""What is not English prose: code, targets of links, and tables generated from messages, which have their own test."""


@dataclass(frozen=True)
class Worn:
    """A pattern to avoid."""

    pattern: re.Pattern[str]
    instead: str
    allow: tuple[str, ...]

    def matches(self, text: str) -> Iterator[str]:
        """Each match with a little text around it."""
        for match in self.pattern.finditer(text):
            around = " ".join(text[max(0, match.start() - 40) : match.end() + 40].split())
            if not any(phrase in around for phrase in self.allow):
                yield f"“{match[0]}” in “… {around} …”: {self.instead}"


def worn() -> list[Worn]:
    data = tomllib.loads((CHECKOUT / "tests" / "english" / "worn.toml").read_text(encoding="utf-8"))
    return [
        Worn(re.compile(entry["pattern"], re.IGNORECASE), entry["instead"], tuple(entry.get("allow", ())))
        for entry in data["worn"]
    ]


WORN = worn()
TRANSLATIONS = CHECKOUT / "translations"
sys.path.insert(0, str(TRANSLATIONS))

import update  # noqa: E402


def prose(text: str) -> str:
    """A document without what is not English prose; words around it do not become one phrase."""
    return CODE.sub(" … ", text)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(CHECKOUT).as_posix())
def test_a_document_has_no_worn_out_english(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    text = prose(text)
    assert [match for entry in WORN for match in entry.matches(text)] == []


def test_a_message_has_no_worn_out_english() -> None:
    texts = [
        text for message in update.messages() for text in ((message.id,) if isinstance(message.id, str) else message.id)
    ]
    assert len(texts) > 1000
    assert [match for text in texts for entry in WORN for match in entry.matches(prose(text))] == []


def public_docstrings(tree: ast.Module) -> Iterator[str]:
    """The docstrings of a module, its public classes and their public methods, without `EXAMPLES`."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [node for node in ast.walk(tree) if isinstance(node, kinds)]
    for node in nodes:
        text = ast.get_docstring(node)
        if text and (isinstance(node, ast.Module) or not node.name.startswith("_")):
            yield EXAMPLES.sub(" … ", text)


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_docstring_has_no_worn_out_english(name: str) -> None:
    texts = list(public_docstrings(ast.parse((CHECKOUT / name).read_text(encoding="utf-8"))))
    assert texts
    assert [match for text in texts for entry in WORN for match in entry.matches(prose(text))] == []


@pytest.mark.parametrize(
    "sentence",
    [
        "Mend the cause and run it anew.",
        "The wizard is told so.",
        "What is mistyped is told with what is nearest to it.",
        "Whoever read the output has gone.",
        "lists the ready-made journeys",
        "The stack has an environment of its own.",
        "quantisation and licence",
    ],
)
def test_the_patterns_find_what_they_are_for(sentence: str) -> None:
    assert any(list(entry.matches(sentence)) for entry in WORN)


@pytest.mark.parametrize("text", ["run `make recipes` now", "```sh\nmend anew\n```", "[here](recipes/wish.md)"])
def test_code_and_links_are_not_prose(text: str) -> None:
    assert not any(list(entry.matches(prose(text))) for entry in WORN)


def test_the_documents_include_those_for_contributors() -> None:
    names = {path.relative_to(CHECKOUT).as_posix() for path in DOCUMENTS}
    assert {"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs/architecture.md"} <= names
    assert {".github/pull_request_template.md", ".github/ISSUE_TEMPLATE/bug.yml"} <= names
