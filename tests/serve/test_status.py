"""The state of a server as a value."""

from __future__ import annotations

from typing import Literal

import pytest

from wizard.plan.ports import Ports
from wizard.serve.endpoint import Endpoint
from wizard.serve.status import Status

ENDPOINT = Endpoint("demo", "demo", "127.0.0.1", Ports(9000, 9001, 9002), 1, "2", "/x/triton.log")


@pytest.mark.parametrize(
    ("state", "url"),
    [("ready", "http://127.0.0.1:9000"), ("starting", "http://127.0.0.1:9000"), ("stopped", None), ("dead", None)],
)
def test_the_url_is_of_a_server_that_runs(
    state: Literal["ready", "starting", "stopped", "dead"], url: str | None
) -> None:
    assert Status("demo", state, None if state == "stopped" else ENDPOINT, "").url == url
