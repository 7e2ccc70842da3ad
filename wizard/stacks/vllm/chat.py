"""Request format of Triton's vLLM backend.

Source: ``src/model.py`` of triton-inference-server/vllm_backend, 23.10 to 2026-01.
"""

from __future__ import annotations

import json
from typing import Any

from wizard.chat.ask import Ask
from wizard.chat.conversation import TokenLogprob
from wizard.chat.wire import Format, StackWire

LARGEST_SEED = 2**63 - 1
"""vLLM's seeds are signed."""


def parameters(ask: Ask) -> str:
    """The settings as JSON, with names and ranges of vLLM's ``SamplingParams``."""
    names = ("temperature", "top_k", "min_p", "repetition_penalty", "presence_penalty", "frequency_penalty", "logprobs")
    values: dict[str, Any] = {"max_tokens": ask.max_tokens, "top_p": ask.top_p}
    values |= {name: value for name in names if (value := getattr(ask, name)) is not None}
    if ask.seed is not None:
        values["seed"] = ask.seed & LARGEST_SEED
    if ask.stop:
        values["stop"] = list(ask.stop)
    if ask.special:
        values["skip_special_tokens"] = False
    return json.dumps(values)


def logprobs(text: str) -> tuple[TokenLogprob, ...]:
    """The output ``logprobs`` of Triton's vLLM backend: for each token an object, ID → logprob, rank, decoded token.

    The chosen token is the first in it (``create_response`` in ``src/utils/request.py`` of
    triton-inference-server/vllm_backend; vLLM's ``LogprobsProcessor`` for the order).

    Raises:
        KeyError, TypeError, ValueError, AttributeError: It has another format.
    """
    places = []
    for place in json.loads(text or "null") or ():
        tokens = [(str(entry["decoded_token"] or ""), float(entry["logprob"])) for entry in place.values()]
        if tokens:
            top = sorted(tokens, key=lambda token: token[1], reverse=True) if len(tokens) > 1 else ()
            places.append(TokenLogprob(*tokens[0], tuple(top)))
    return tuple(places)


VLLM = Format(
    "Triton's vLLM backend",
    frozenset({"text_input", "sampling_parameters"}),
    (
        ("text_input", "prompt"),
        ("stream", "stream"),
        ("sampling_parameters", "packed"),
        ("exclude_input_in_output", "yes"),
        ("return_finish_reason", "yes"),
        ("return_num_output_tokens", "yes"),
        ("return_logprobs", "wants_logprobs"),
    ),
    tokens="num_output_tokens",
    finish="finish_reason",
    logprobs="logprobs",
    sums=True,
    greedy=False,
    begins=True,
    echoes=True,
    read_logprobs=logprobs,
    pack=parameters,
)

PORT = StackWire((VLLM,))
