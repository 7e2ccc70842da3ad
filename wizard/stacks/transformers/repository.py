"""The settings of the engine program of the stack ``transformers``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wizard.advise.advice import Choice
from wizard.repository.proxy import Engine

ENGINE = Engine(Path(__file__).parent / "engine" / "transformers_engine.py")


def settings(model: str, choice: Choice, *, unbatched: bool = False) -> dict[str, Any]:
    """The settings of ``transformers_engine.py``.

    Args:
        model: The model's folder, as seen by the engine.
        choice: The choice: dtype, context, concurrent requests and GPUs.
        unbatched: The plain pipeline, one request at a time.
    """
    return {
        "model": model,
        "mode": "unbatched" if unbatched else "continuous",
        "dtype": choice.dtype if choice.dtype in ("bfloat16", "float16", "float32") else "auto",
        "max_seq_len": choice.max_seq_len,
        "max_batch_size": choice.max_batch_size,
        "tp": choice.tp,
    }
