"""What a served model is known by."""

from __future__ import annotations

from dataclasses import replace

from wizard.plan.ports import Ports
from wizard.serve.endpoint import Endpoint

SERVED = Endpoint("demo", "chain", "127.0.0.1", Ports(8000, 8001, 8002), 4711, "12", "/logs/triton.log")


def test_a_model_is_the_same_at_its_address_however_it_was_found() -> None:
    by_address = replace(SERVED, name="http://127.0.0.1:8000", pid=0, url="http://127.0.0.1:8000")
    assert by_address.answers_as(SERVED)
    assert not replace(SERVED, model="other").answers_as(SERVED)
    assert not replace(SERVED, ports=Ports(8010, 8011, 8012)).answers_as(SERVED)
