"""Random inputs: an error with a code or a value, never a traceback (many more: ``python -m tests.fuzz``)."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.fuzz.inputs import run
from tests.fuzz.parsers import PARSERS

SEED = random.SystemRandom().randrange(10**9)
"""Another one in each session; a failure shows the input's own."""


@pytest.mark.parametrize("parser", PARSERS)
def test_no_input_ends_in_a_traceback(parser: str, tmp_path: Path) -> None:
    inputs = 4 if PARSERS[parser].weight == 1 else 40
    for seed in range(SEED, SEED + inputs):
        outcome = run(seed, tmp_path / "f", parser)
        assert not outcome.fault, f"python -m tests.fuzz --inputs 1 --parser '{parser}' --seed {seed}\n{outcome.fault}"
        assert outcome.seconds < 10
