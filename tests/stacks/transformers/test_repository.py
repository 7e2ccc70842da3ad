from __future__ import annotations

from dataclasses import replace

from tests.values import CHOICE
from wizard.stacks.transformers.repository import settings


def test_the_engine_gets_the_choice() -> None:
    choice = replace(CHOICE, dtype="bfloat16", max_seq_len=2048, max_batch_size=16, tp=2)
    values = settings("/m", choice)
    assert values == {
        "model": "/m",
        "mode": "continuous",
        "dtype": "bfloat16",
        "max_seq_len": 2048,
        "max_batch_size": 16,
        "tp": 2,
    }
    assert settings("/m", replace(choice, dtype="int4"), unbatched=True) == {
        **values,
        "mode": "unbatched",
        "dtype": "auto",
    }
