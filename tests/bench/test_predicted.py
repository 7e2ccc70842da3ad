"""The estimate in a report is the advice's own, for the very server and load; where there is none, it is missing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.tui.values import LLAMA
from wizard.advise.advice import Choice, Constraints
from wizard.advise.calibration import NOTHING
from wizard.advise.ranking import advise
from wizard.bench.dataset import Dataset
from wizard.bench.load import Load, Point
from wizard.bench.predicted import predicted
from wizard.probe.host import Host
from wizard.probe.shorthand import host as described

HOST = described("1xH100")
GENERATED = Dataset(isl=512, osl=128)


def served(users: int = 16, host: Host = HOST) -> Choice:
    asked = Constraints(users=users, isl=512, osl=128, stack="vllm")
    return advise(host, LLAMA, asked).choices[0]


def levels(*numbers: int) -> Load:
    return Load(tuple(map(Point, numbers)))


def test_at_the_advised_load_it_is_the_advised_speed() -> None:
    choice = served()
    assert choice.speed
    assert predicted(HOST, LLAMA, choice, levels(16), GENERATED, NOTHING) == {"c16": choice.speed}


def test_each_level_has_an_estimate_for_it_up_to_the_servers_slots() -> None:
    estimates = predicted(HOST, LLAMA, served(), levels(1, 4, 16, 64), GENERATED, NOTHING)
    assert [*estimates] == ["c1", "c4", "c16"]
    assert [speed.users for speed in estimates.values()] == [1, 4, 16]
    assert {(speed.isl, speed.osl) for speed in estimates.values()} == {(512, 128)}
    rates = [speed.throughput_tokens_per_s or 0 for speed in estimates.values()]
    assert rates == sorted(rates)


def test_the_memory_that_the_server_itself_uses_counts_as_free() -> None:
    choice = served()
    (gpu,) = HOST.gpus
    assert gpu.memory_free_bytes
    left = max(0, gpu.memory_free_bytes - choice.memory.total_bytes)
    busy = replace(HOST, gpus=(replace(gpu, memory_free_bytes=left),))
    assert predicted(busy, LLAMA, choice, levels(4), GENERATED, NOTHING)


@pytest.mark.parametrize("dataset", [Dataset(isl=None), Dataset("cnn", isl=512, path="a.json")])
def test_without_known_lengths_there_is_none(dataset: Dataset) -> None:
    assert predicted(HOST, LLAMA, served(), levels(4), dataset, NOTHING) == {}


def test_an_arrival_rate_has_none() -> None:
    assert predicted(HOST, LLAMA, served(), Load((Point(rate=2.5),)), GENERATED, NOTHING) == {}


def test_where_the_advice_knows_no_speed_there_is_none() -> None:
    odd = replace(LLAMA, unknown={"speed": "its names are odd"})
    assert predicted(HOST, odd, served(), levels(4), GENERATED, NOTHING) == {}


def test_a_machine_that_could_not_serve_it_has_none() -> None:
    assert predicted(described("cpu"), LLAMA, served(), levels(4), GENERATED, NOTHING) == {}
