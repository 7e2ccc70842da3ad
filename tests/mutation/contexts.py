"""A plugin of pytest: coverage notes which test executed a line; ``$MUTATION_DURATIONS`` gets what each took."""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from pathlib import Path

import coverage
import pytest

_TARGET = Path(os.environ["MUTATION_DURATIONS"])  # the tests' own environment is empty
_durations: dict[str, float] = {}


def function(nodeid: str) -> str:
    """The test function of a node id: all its parameters together."""
    return nodeid.partition("[")[0]


def processor_time() -> float:
    """Seconds of this process and of the children that it waited for."""
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    name = function(item.nodeid)
    measuring = coverage.Coverage.current()
    assert measuring is not None
    measuring.switch_context(name)
    began = processor_time()
    result = yield
    measuring.switch_context("")
    _durations[name] = _durations.get(name, 0.0) + processor_time() - began
    return result


def pytest_sessionfinish() -> None:
    _TARGET.write_text(json.dumps(_durations), encoding="utf-8")
