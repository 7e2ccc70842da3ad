"""A plugin of pytest: coverage notes which test executed a line; ``$MUTATION_DURATIONS`` gets how long each took."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Generator
from pathlib import Path

import coverage
import pytest

_TARGET = Path(os.environ["MUTATION_DURATIONS"])  # the tests' own environment is empty
_durations: dict[str, float] = {}


def function(nodeid: str) -> str:
    """The test function of a node id: all its parameters together."""
    return nodeid.partition("[")[0]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    name = function(item.nodeid)
    measuring = coverage.Coverage.current()
    assert measuring is not None
    measuring.switch_context(name)
    began = time.monotonic()
    result = yield
    measuring.switch_context("")
    _durations[name] = _durations.get(name, 0.0) + time.monotonic() - began
    return result


def pytest_sessionfinish() -> None:
    _TARGET.write_text(json.dumps(_durations), encoding="utf-8")
