"""The questions in a terminal, and where they keep what they are told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.prompts.terminal import Flow, Terminal
from wizard.kernel.paths import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "work space")


@pytest.fixture
def flow(workspace: Workspace) -> Iterator[Flow]:
    """Begins the questions in a terminal of their own, with these answers given."""
    with ExitStack() as stack:
        yield lambda *given, **more: stack.enter_context(Terminal("flow", str(workspace.root), *given, **more))
