"""Parameters of a request."""

from __future__ import annotations

from dataclasses import dataclass, field, make_dataclass
from typing import TYPE_CHECKING, Any

from tensorrt_llm import VERSION

NONE = (
    *("end_id", "pad_id", "bad", "bad_token_ids", "stop", "stop_token_ids", "embedding_bias", "logits_processor"),
    *("best_of", "top_k", "top_p", "top_p_min", "top_p_reset_ids", "top_p_decay", "seed", "temperature", "min_tokens"),
    *("beam_search_diversity_rate", "repetition_penalty", "presence_penalty", "frequency_penalty", "length_penalty"),
    *("early_stopping", "no_repeat_ngram_size", "min_p", "beam_width_array", "logprobs", "prompt_logprobs"),
    *("additional_model_outputs", "lookahead_config", "guided_decoding", "truncate_prompt_tokens"),
    *(("prompt_ignore_length",) if VERSION == "1.2.1" else ()),
)
"""Fields that are None if they are left out."""
FALSE = (
    *("include_stop_str_in_output", "apply_batched_logits_processor", "use_beam_search", "return_context_logits"),
    *("return_generation_logits", "return_encoder_output", "return_perf_metrics", "ignore_eos"),
)
TRUE = (
    *("exclude_input_from_output", "detokenize", "add_special_tokens", "skip_special_tokens"),
    "spaces_between_special_tokens",
)

if TYPE_CHECKING:
    Fields: Any = object
else:
    Fields = make_dataclass(
        "Fields",
        [
            ("max_tokens", int, field(default=32)),
            ("n", int, field(default=1)),
            *((name, Any, field(default=None)) for name in NONE),
            *((name, bool, field(default=False)) for name in FALSE),
            *((name, bool, field(default=True)) for name in TRUE),
        ],
        kw_only=True,
    )


@dataclass(kw_only=True)
class GuidedDecodingParams:
    """Those of both releases (docs, features/guided-decoding)."""

    json: Any = None
    regex: str | None = None
    grammar: str | None = None
    json_object: bool = False
    structural_tag: str | None = None


@dataclass(kw_only=True)
class SamplingParams(Fields):  # type: ignore[misc]  # the fields depend on the release
    """All fields of the release."""

    def __post_init__(self) -> None:
        if self.pad_id is None:
            self.pad_id = self.end_id
        self.best_of = self.best_of or self.n
        if VERSION == "1.2.1":
            if self.top_p is not None and not 0 <= self.top_p <= 1:
                raise ValueError(f"require 0 <= top_p <= 1, got top_p={self.top_p}")
            if self.temperature is not None and self.temperature < 0:
                raise ValueError(f"require temperature >= 0, got temperature={self.temperature}")

    @property
    def _greedy_decoding(self) -> bool:
        """1.0 does not look at the temperature, and takes what is left out for off."""
        if VERSION == "1.0.0":
            return self.top_k in (None, 1) and self.top_p in (None, 0.0)
        nothing = self.temperature is None and self.top_p is None and self.top_k is None
        return nothing or self.top_k == 1 or self.top_p == 0.0 or self.temperature == 0
