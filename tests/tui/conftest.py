"""What all tests of the full-screen wizard share."""

from __future__ import annotations

import pytest

from wizard.tui import garbage_collection
from wizard.tui.screens import build


@pytest.fixture(autouse=True)
def no_full_collection(isolated: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """The heap here is that of pytest and all its modules: looking through it takes a fifth of a second per build."""
    monkeypatch.setattr(build, "collect_and_freeze", garbage_collection.collect_rarely)
