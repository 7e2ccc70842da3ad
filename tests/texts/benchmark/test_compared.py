"""What a comparison says in its tables."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.bench.sample import measured
from wizard.bench.measured import GpuUse
from wizard.kernel.units import GIB
from wizard.texts.benchmark.compared import memory


@pytest.mark.parametrize(
    ("gpus", "text"),
    [
        ([(40, 10), (40, 12)], "22.0 GiB"),
        ([(40, None)], "40.0 GiB, all processes"),
        ([(40, 10), (40, None)], "80.0 GiB, all processes"),
        ([(40, None), (None, None)], "unknown"),
        ([(40, 0)], "0 B"),
        ([], "2.0 GiB"),
    ],
)
def test_memory_is_the_server_s_where_it_is_known_and_otherwise_says_whose(
    gpus: list[tuple[int | None, int | None]], text: str
) -> None:
    def size(gib: int | None) -> int | None:
        return None if gib is None else gib * GIB

    uses = tuple(
        GpuUse(at, memory_used_bytes=size(used), server_memory_bytes=size(own)) for at, (used, own) in enumerate(gpus)
    )
    assert memory(replace(measured(4), gpus=uses, memory_bytes=2 * GIB)) == text
