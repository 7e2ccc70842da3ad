from __future__ import annotations

import json
from dataclasses import replace

import pytest

from wizard.kernel.errors import UsageError
from wizard.plan.ports import Ports
from wizard.run.events import (
    Event,
    Output,
    Progress,
    Ready,
    StepFinished,
    StepStarted,
    event_data,
    read_event,
)
from wizard.serve.endpoint import Endpoint

ENDPOINT = Endpoint("demo", "demo", "127.0.0.1", Ports(), 1234, "5678", "/x/triton.log")
EVENTS: list[Event] = [
    StepStarted("a", "A", 1, 2, 0.5),
    Output("a", ("x", "y"), 0.5),
    Progress("a", None, None, "…", 0.5),
    StepFinished("a", "done", 1.0, "", 0.5, "f", {"/x": (1, 2)}, None),
    Ready(ENDPOINT, 0.5),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_is_one_json_line_and_can_be_read_back(event: Event) -> None:
    line = json.dumps(event_data(event))
    assert "\n" not in line
    assert read_event(json.loads(line), where="a test") == event


def test_ready_says_where_to_ask() -> None:
    assert event_data(Ready(ENDPOINT, 0.5))["url"] == "http://127.0.0.1:8000"
    elsewhere = replace(ENDPOINT, protocol="openai", url="http://127.0.0.1:9000/v1")
    assert event_data(Ready(elsewhere, 0.5))["url"] == "http://127.0.0.1:9000/v1"


@pytest.mark.parametrize("data", [{}, {"event": "Surprise"}, {"event": "StepFinished", "outcome": "maybe"}])
def test_an_event_that_is_none_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        read_event(data, where="a test")
