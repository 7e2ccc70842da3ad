"""Stages of ``tests/gpu/journey.py`` without GPUs: a real tritonserver, proxy and gateway, and stand-ins as engines.

What needs GPUs is given: how the server is started, and what ``nvidia-smi`` and the memory check see.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_proxy import Served, engines, serving
from tests.gateway.conftest import gateway
from tests.gpu import journey
from wizard.kernel.values import to_data
from wizard.serve.replicas import replicas, trouble

first_tokens = journey.first_tokens
several_gpus, machine_parts = journey.several_gpus, journey.several_gpus.machine_parts

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("proxy")]


class FakeJourney(journey.Journey):
    """Everything but the load, the counters and the killing, which are real."""

    def __init__(self, out: Path, served: Served) -> None:
        given = argparse.Namespace(out=str(out), workspace=None, model="m", shape="", engine_python=None, limit=60)
        super().__init__(given)
        self.served = served

    def free(self, name: str) -> dict[int, int]:
        return {0: 0, 1: 0}

    def up(self, name: str, model: str, stack: str, *more: str) -> dict[str, Any]:
        assert more[2:4] == ("--replicas", "2")
        return {
            "seconds": 1.0,
            "steps": {},
            "endpoint": to_data(self.served.endpoint),
            "choice": {"devices": [0, 1], "replicas": 2},
        }

    def memory(self, name: str, up: dict[str, Any], before: dict[int, int]) -> None:
        """There is none to count."""

    def down(self, name: str, before: dict[int, int]) -> None:
        """The test ends the server."""

    def wizard(self, *words: str, name: str, ok: tuple[int, ...] = (0,)) -> str:
        assert words[:2] == ("chat", "replicas")
        return str(self.served.generated(max_tokens=3)["text_output"])

    def json(self, *words: str, name: str) -> Any:
        return [{"name": "replicas", "detail": trouble(replicas(self.served.endpoint))}]


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeJourney]:
    monkeypatch.setattr(machine_parts, "smi", lambda *_: [["0", "97"], ["1", "88"], ["2", "[N/A]"]])
    for name, less in {"STREAMS": 32, "CLIENTS": 2, "ANSWER": 32}.items():
        monkeypatch.setattr(journey, name, less)
    with serving(tmp_path, replicas=[{"CUDA_VISIBLE_DEVICES": "0"}, {"CUDA_VISIBLE_DEVICES": "1"}]) as served:
        monkeypatch.setattr(several_gpus, "marked", lambda _: [*engines(served).values()])
        yield FakeJourney(tmp_path / "out", served)


def test_the_stage_passes_where_both_replicas_serve(stage: FakeJourney) -> None:
    result = stage.replicas()
    assert stage.wrong == []
    assert result["load"]["most_busy"] == {0: 97, 1: 88}
    assert json.loads(json.dumps(result, default=str))["restart"]["seconds"] > 0


def test_the_stage_fails_where_a_gpu_is_idle(stage: FakeJourney, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_parts, "smi", lambda *_: [["0", "97"], ["1", "0"]])
    stage.replicas()
    assert stage.wrong == ["replicas: both GPUs are busy, together", "replicas: both GPUs are busy, after a restart"]


def test_the_address_is_compared_with_grpc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, less in {"STREAMS": 4, "CLIENTS": 2, "LONG": 16, "PAIRS": 1, "LOSS": 1.0}.items():
        monkeypatch.setattr(journey, name, less)
    with serving(tmp_path, step_s=0.001) as served, gateway(served.endpoint, tmp_path) as address:
        given = FakeJourney(tmp_path / "out", served)
        endpoint = replace(served.endpoint, openai=f"http://127.0.0.1:{address.port}/v1")
        rates = given.shared("vllm", to_data(endpoint), journey.LONG)
    assert given.wrong == []
    assert all(rates[over][0] > 0 for over in ("client", "openai"))


def test_first_tokens_are_measured_for_all_users_at_once_and_in_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_tokens, "USERS", (1, 5))
    monkeypatch.setattr(first_tokens, "LENGTHS", (8,))
    times = ("ttft_ms", "ttft_low_ms", "ttft_high_ms", "ttft_alone_ms", "ttft_last_ms")
    estimate = {**dict.fromkeys(times, 1.0), "ttft_ms": None, "tpot_ms": 4.0}
    monkeypatch.setattr(first_tokens, "predicted", lambda *_: {**estimate, "throughput_tokens_per_s": 5.0})
    with serving(tmp_path, step_s=0.001) as served:
        given = FakeJourney(tmp_path / "out", served)
        single, several = first_tokens.measured(given, to_data(served.endpoint))
    assert given.wrong == []
    assert (single["users"], several["users"]) == (1, 5)
    assert several["tokens"] == 5 * first_tokens.ROUNDS * first_tokens.ANSWER
    assert 0 < several["burst_ms"] <= several["burst_last_ms"]
    assert several["itl_ms"] >= 1
    assert several["steady_ms"] > 0
