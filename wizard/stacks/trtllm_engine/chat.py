"""Request formats of TensorRT-LLM's engines: ``tensorrt_llm`` with token IDs, the ensemble or the BLS model in front of
it with text.

Sources: ``all_models`` of triton-inference-server/tensorrtllm_backend 0.5 to 0.19 and ``triton_backend/all_models`` of
NVIDIA/TensorRT-LLM.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wizard.chat.wire import Format, StackWire, parameters

TOKEN_IDS = Format(
    "TensorRT-LLM's engine, in token ids",
    frozenset({"input_ids", "input_lengths", "request_output_len"}),
    (
        ("input_ids", "ids"),
        ("input_lengths", "length"),
        ("request_output_len", "max_tokens"),
        ("end_id", "end"),
        ("pad_id", "end"),
        ("temperature", "temperature"),
        ("runtime_top_p", "top_p"),
        ("runtime_top_k", "top_k"),
        ("repetition_penalty", "repetition_penalty"),
        ("presence_penalty", "presence_penalty"),
        ("frequency_penalty", "frequency_penalty"),
        ("random_seed", "seed"),
        ("seed", "seed"),
        ("streaming", "stream"),
        ("exclude_input_in_output", "yes"),
        ("return_log_probs", "wants_logprobs"),
    ),
    logprobs="output_log_probs",
    ids=True,
    echoes=True,
    alternatives=0,
)


def engine(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The engine of a BLS model."""
    values = parameters(config)
    name = values.get("tensorrt_llm_model_name", "")
    if name.startswith("${") or ("accumulate_tokens" in values and not name):
        name = "tensorrt_llm"  # the BLS model's default
    return (name,) if name else ()


TEXT = Format(
    "TensorRT-LLM's ensemble or BLS model",
    frozenset({"text_input", "max_tokens"}),
    (
        ("text_input", "prompt"),
        ("max_tokens", "max_tokens"),
        ("bad_words", "nothing"),
        ("stop_words", "stop"),
        ("temperature", "temperature"),
        ("top_p", "top_p"),
        ("top_k", "top_k"),
        ("repetition_penalty", "repetition_penalty"),
        ("presence_penalty", "presence_penalty"),
        ("frequency_penalty", "frequency_penalty"),
        ("random_seed", "seed"),
        ("seed", "seed"),
        ("stream", "stream"),
        ("exclude_input_in_output", "yes"),
    ),
    cancels=False,
    begins=True,
    echoes=True,
    behind=engine,
)

PORT = StackWire((TOKEN_IDS, TEXT))
