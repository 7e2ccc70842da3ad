"""The notebooks that we ship: clean in the repository, and they run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from wizard import Journey
from wizard.kernel.errors import WizardError

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "notebooks").glob("*.ipynb"))


def test_there_are_notebooks() -> None:
    assert [path.name for path in NOTEBOOKS] == ["01_first_chat.ipynb"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_valid_and_without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3"
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None
            if not cell.source.startswith("%"):
                compile(cell.source, path.name, "exec")


@pytest.fixture
def nothing_left(isolated: Path) -> Iterator[None]:
    yield
    with contextlib.suppress(WizardError):  # it is stopped already, as it should be
        Journey("demo").down()


@pytest.mark.e2e
@pytest.mark.timeout(600)
@pytest.mark.xdist_group("journey")
@pytest.mark.usefixtures("nothing_left")
def test_the_first_chat_runs_from_top_to_bottom() -> None:
    (path,) = (notebook for notebook in NOTEBOOKS if notebook.name == "01_first_chat.ipynb")
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook, timeout=500, kernel_name="python3", resources={"metadata": {"path": str(Path.cwd())}}
    ).execute()
    shown = {cell.source: _html(cell) for cell in notebook.cells if cell.cell_type == "code"}
    assert "[6/6] Send a first question" in shown["endpoint = journey.up()"]
    assert "Triton" in shown['answer = journey.chat("What is Triton?")\nanswer']
    assert "tokens/s" in shown['answer = journey.chat("What is Triton?")\nanswer']
    assert "cache" in shown["%%chat\nWhat is the KV cache?"].lower()
    assert "'stopped'" in shown["journey.down().state"]


def _html(cell: Any) -> str:
    data = [output.get("data", {}) for output in cell.outputs]
    return "\n".join(output.get("text/html", output.get("text/plain", "")) for output in data)
