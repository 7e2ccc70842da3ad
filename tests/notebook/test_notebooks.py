"""The notebooks that we ship: made from their sources, clean in the repository, and they run."""

from __future__ import annotations

import ast
import contextlib
import itertools
import os
import re
import sys
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import nbformat
import pytest
from IPython.core.inputtransformer2 import TransformerManager
from nbclient import NotebookClient

from tests.prompts.terminal import CHECKOUT
from wizard import Journey
from wizard.kernel.errors import WizardError

sys.path.insert(0, str(CHECKOUT / "docs"))

import notebooks as generator

NAMES = [
    *("01_probe_and_advise", "02_build_and_serve", "03_chat_and_openai"),
    *("04_benchmark_and_compare", "05_quality_and_quantization"),
    *(f"tutorial_{number:03}" for number in range(5)),
]
FOLDERS = {"en": CHECKOUT / "notebooks", "ko": CHECKOUT / "notebooks" / "ko"}
PATHS = [FOLDERS[language] / f"{name}.ipynb" for name in NAMES for language in FOLDERS]
HANGUL = re.compile("[가-힣]")
TOKEN = "hf_" + "a1B2" * 8


def test_they_are_what_their_sources_make() -> None:
    assert sorted(generator.files()) == sorted(PATHS)
    assert sorted(PATHS) == sorted(
        path for path in FOLDERS["en"].rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts
    )
    changed = [path for path, text in generator.files().items() if path.read_text(encoding="utf-8") != text]
    assert changed == [], "run `python docs/notebooks.py`"


@pytest.mark.parametrize("path", PATHS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_notebook_is_valid_and_without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3"
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None
            compile(TransformerManager().transform_cell(cell.source), path.name, "exec")


@pytest.mark.parametrize("name", NAMES)
def test_a_source_has_what_a_learner_needs_in_both_languages(name: str) -> None:
    blocks = generator.blocks((generator.SOURCES / f"{name}.txt").read_text(encoding="utf-8"))
    kinds = [kind for kind, _ in blocks]
    for (kind, text), (following, _) in itertools.pairwise(blocks):
        assert bool(HANGUL.search(generator.spoken(text, "en"))) == (kind == "ko"), text
        assert (kind == "en") == (following == "ko"), text
    assert kinds.count("setup") == 1
    assert kinds.count("exercise") == kinds.count("solution") >= 2
    for number, kind in enumerate(kinds):
        if kind == "exercise":
            assert "..." in blocks[number][1]
            assert kinds[number + 1 : number + 3] == ["code", "solution"]
            assert "check(" in blocks[number + 1][1]
            assert "hint=" in blocks[number + 1][1]
    english = [text for kind, text in blocks if kind == "en"]
    assert "**You learn to**" in english[0]
    assert any(text.startswith("## On a GPU") for text in english)


@pytest.mark.parametrize("name", NAMES)
def test_the_languages_of_a_notebook_have_the_same_code(name: str) -> None:
    source = (generator.SOURCES / f"{name}.txt").read_text(encoding="utf-8")
    english, korean = (code_cells(source, language) for language in FOLDERS)
    assert [shape(code) for code in english] == [shape(code) for code in korean]
    for path in re.findall(r'"(\.\./[a-z/]+)', "\n".join(korean)):
        assert (FOLDERS["ko"] / path).exists(), path


def code_cells(source: str, language: str) -> list[str]:
    """The code of each cell that has some, without IPython's own syntax."""
    cells = [cell for cell in generator.cells(source, language) if cell["cell_type"] == "code"]
    return [str(TransformerManager().transform_cell("".join(cell["source"]))) for cell in cells]


class Wordless(ast.NodeTransformer):
    """Takes the texts out of code, and the argument ``language``; values in a text may be in another order."""

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.Constant("") if isinstance(node.value, str) else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        values: list[ast.expr] = [self.visit(value) for value in node.values if isinstance(value, ast.FormattedValue)]
        return ast.Set(sorted(values, key=ast.dump))

    def visit_keyword(self, node: ast.keyword) -> ast.AST | None:
        return None if node.arg == "language" else self.generic_visit(node)


def shape(code: str) -> str:
    """Code without its words."""
    return ast.dump(Wordless().visit(ast.parse(code)))


@pytest.mark.parametrize("name", NAMES)
def test_no_cell_needs_that_an_exercise_is_solved(name: str) -> None:
    """Only its check reads what an exercise sets, so the cells below run either way."""
    source = (generator.SOURCES / f"{name}.txt").read_text(encoding="utf-8")
    exercises = [generator.spoken(text, "en") for kind, text in generator.blocks(source) if kind == "exercise"]
    code = code_cells(source, "en")
    for exercise in exercises:
        answers, at = names(exercise, ast.Store), code.index(exercise + "\n")
        for later in code[at + 2 :]:
            assert not answers & (names(later, ast.Load) - names(later, ast.Store)), later


def names(code: str, context: type[ast.expr_context]) -> set[str]:
    """The names that ``code`` sets or reads."""
    return {
        node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name) and isinstance(node.ctx, context)
    }


def test_a_source_without_its_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="Title"):
        generator.blocks("# Title\n%% code\n1\n")


def test_the_first_cell_installs_where_the_wizard_is_missing() -> None:
    """The real installation is tried by hand: see docs/notebooks.md."""
    for path in PATHS:
        cells = nbformat.read(path, as_version=4).cells
        setup = next(cell for cell in cells if cell.cell_type == "code")
        assert setup.metadata.jupyter.source_hidden
        assert "%pip install --quiet {package} ipywidgets" in setup.source


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """All notebooks share the server's environment, as a learner's do."""
    folder = tmp_path_factory.mktemp("notebooks") / "ws"
    yield folder
    with contextlib.suppress(WizardError):  # it is stopped already, as it should be
        Journey("demo", workspace=folder).down()


@pytest.mark.e2e
@pytest.mark.timeout(600)
@pytest.mark.xdist_group("journey")
@pytest.mark.parametrize(("name", "language"), zip(NAMES, itertools.cycle(FOLDERS), strict=False))
def test_a_notebook_runs_from_top_to_bottom(
    name: str, language: str, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each check runs twice: with its exercise as it is, and with the solution.

    One language is enough, because both have the same code; see the tests above.
    """
    monkeypatch.setenv("TRITON_WIZARD_HOME", str(workspace))
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(CHECKOUT), os.environ.get("PYTHONPATH", "")]))
    path = FOLDERS[language] / f"{name}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    notebook.cells = with_solutions(notebook.cells)
    resources = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, timeout=500, kernel_name="python3", resources=resources).execute()
    checks = [shown(cell) for cell in notebook.cells if "check(" in cell.source and cell.cell_type == "code"]
    marks = [text for text in checks if text.startswith(("✓", "✗"))]
    assert len(marks) >= 4
    assert {text[:1] for text in marks[1::2]} == {"✓"}, marks
    unsolved, hint = {"en": ("✗ Replace the dots", "Hint: "), "ko": ("✗ 위 셀의 점을", "힌트: ")}[language]
    assert all(text.startswith(unsolved) and hint in text for text in marks[::2]), marks
    assert TOKEN not in str(notebook)


def with_solutions(cells: list[Any]) -> list[Any]:
    """After each check, its exercise with the solution, and the check again."""
    solutions = iter([cell.source for cell in cells if "solution" in cell.metadata.get("tags", ())])
    run = cells[:1]
    for before, cell in itertools.pairwise(cells):
        run.append(cell)
        if "exercise" in before.metadata.get("tags", ()):
            solved = deepcopy(before)
            solved.source = next(solutions).split("```python\n")[1].split("\n```")[0]
            run += [solved, deepcopy(cell)]
    return run


def shown(cell: Any) -> str:
    """The text of a cell's result."""
    results = [output.data["text/plain"] for output in cell.outputs if output.output_type == "execute_result"]
    return str(results[0]) if results else ""
