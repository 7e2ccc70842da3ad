"""The formats that served models speak: how a request is made of an `Ask`, and what a response says.

Which one a model speaks is seen in its own description (``GET /v2/models/NAME/config``): the inputs that it declares.
Names differ between releases (``random_seed`` to TensorRT-LLM 0.19, ``seed`` later; ``exclude_input_in_output`` for
each request from 0.16 on, before as the model's parameter), so a format lists them all and a request has those that
the model declares, with the types that it declares.

Sources: ``all_models`` of triton-inference-server/tensorrtllm_backend 0.5 to 0.19 and ``triton_backend/all_models`` of
NVIDIA/TensorRT-LLM for the ensemble, the BLS model, ``tensorrt_llm`` and the LLM API's model; ``src/model.py`` of
triton-inference-server/vllm_backend 23.10 to 2026-01 for vLLM.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wizard.chat.ask import Ask
from wizard.chat.text_filters import Way


@dataclass(frozen=True, slots=True)
class Tensor:
    """One input of a request.

    Attributes:
        name: As the model declares it.
        kind: Triton's data type: ``BYTES``, ``INT32``, ``FP32`` …
        values: Of one row.
        shape: With the batch's dimension where the model has one.
        single: The declared row holds one value.
    """

    name: str
    kind: str
    values: tuple[Any, ...]
    shape: tuple[int, ...]
    single: bool


@dataclass(frozen=True, slots=True)
class Format:
    """One way in which models are asked.

    Attributes:
        name: For people.
        marks: Inputs, or outputs, by which it is recognised: all of them are there.
        inputs: Name of an input → what it carries (a key of `_carried`).
        tokens: The output that counts tokens; empty if there is none.
        finish: The output with the reason of the end; empty if there is none.
        logprobs: The output with the tokens' log-probabilities; empty if there is none (the LLM API gives their sum).
        sums: ``tokens`` counts those of each response, not all so far.
        greedy: Temperature 0 is said as "the likeliest token only" (top-k 1), because the engine divides by it.
        cancels: Closing the stream stops the engine.
    """

    name: str
    marks: frozenset[str]
    inputs: tuple[tuple[str, str], ...]
    tokens: str = ""
    finish: str = ""
    logprobs: str = ""
    sums: bool = False
    greedy: bool = True
    cancels: bool = True


WIZARD = Format(
    "the wizard's own models",
    frozenset({"text_input", "completion_tokens", "finish_reason"}),
    (
        ("text_input", "prompt"),
        ("apply_chat_template", "no"),
        ("max_tokens", "max_tokens"),
        ("top_p", "top_p"),
        ("temperature", "temperature"),
        ("random_seed", "seed"),
        ("stop_words", "stop"),
        ("top_k", "top_k"),
        ("min_p", "min_p"),
        ("repetition_penalty", "repetition_penalty"),
        ("presence_penalty", "presence_penalty"),
        ("frequency_penalty", "frequency_penalty"),
        ("logprobs", "logprobs"),
    ),
    tokens="completion_tokens",
    finish="finish_reason",
    logprobs="logprobs",
    greedy=False,
)

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
)

LLM_API = Format(
    "TensorRT-LLM's LLM API",
    frozenset({"text_input", "sampling_param_max_tokens"}),
    (
        ("text_input", "prompt"),
        ("streaming", "stream"),
        ("sampling_param_max_tokens", "max_tokens"),
        ("sampling_param_temperature", "temperature"),
        ("sampling_param_top_p", "top_p"),
        ("sampling_param_top_k", "top_k"),
        ("sampling_param_presence_penalty", "presence_penalty"),
        ("sampling_param_frequency_penalty", "frequency_penalty"),
        ("sampling_param_seed", "seed"),
        ("sampling_param_stop", "stop"),
        ("sampling_param_exclude_input_from_output", "yes"),
        ("return_finish_reason", "yes"),
    ),
    finish="finish_reason",
)

VLLM = Format(
    "Triton's vLLM backend",
    frozenset({"text_input", "sampling_parameters"}),
    (
        ("text_input", "prompt"),
        ("stream", "stream"),
        ("sampling_parameters", "parameters"),
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
)

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
)

OPENAI = Format("an OpenAI-compatible server", frozenset(), ())
"""Not found in a model's description: `wizard.chat.openai` speaks it."""

FORMATS = (WIZARD, TOKEN_IDS, LLM_API, VLLM, TEXT)
"""The first whose marks are all there is the one."""

VLLM_LARGEST_SEED = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Wire:
    """A format, as one served model speaks it.

    Attributes:
        format: Which.
        kinds: Input → Triton's data type; None declares all that the format has, as the wizard's own models do.
        single: Inputs whose row holds one value.
        required: Inputs that have to be there.
        batched: Tensors have a batch's dimension in front.
        streams: The model answers in several responses.
        echoes: The prompt comes in front of the answer.
        way: What the responses hold.
    """

    format: Format = WIZARD
    kinds: tuple[tuple[str, str], ...] | None = None
    single: frozenset[str] = frozenset()
    required: frozenset[str] = frozenset()
    batched: bool = False
    streams: bool = True
    echoes: bool = False
    way: Way = "delta"

    def tensors(self, ask: Ask, end: int | None = None) -> list[Tensor]:
        """The inputs of the request ``ask``; ``end`` is the end token's id for `TOKEN_IDS`."""
        carried = _carried(ask, self, end)
        found = []
        for name, key in self.format.inputs:
            kind = dict(self.kinds).get(name) if self.kinds is not None else OWN_KINDS[name]
            values = carried.get(key, ())
            if kind is None or not (values or name in self.required):
                continue
            row = values or (("",) if kind == "BYTES" else (0,))
            shape = (1, len(row)) if self.batched else (len(row),)
            found.append(Tensor(name, kind, row, shape, name in self.single))
        return found

    @property
    def outputs(self) -> frozenset[str]:
        """Names of the outputs that are read; a response may have many more."""
        form = self.format
        return frozenset({"text_output", "output_ids", "sequence_length", form.tokens, form.finish, form.logprobs})

    @property
    def reasons(self) -> bool:
        """The model says why an answer ended, so one without a reason was cut short."""
        return self.kinds is None or self.format is WIZARD or "return_finish_reason" in dict(self.kinds)

    @property
    def logprobs(self) -> int | None:
        """Most alternatives that come with a token's log-probability; None if the model gives nothing of the kind."""
        if self.format is OPENAI:
            return MOST_LOGPROBS
        if not {"logprobs", "wants_logprobs"} & self._taken():
            return None
        return 0 if self.format is TOKEN_IDS else MOST_LOGPROBS

    def lacks(self, ask: Ask) -> list[str]:
        """Settings of ``ask`` that this model has no input for."""
        if self.format is OPENAI:
            return []
        there = self._taken() | (set(SETTINGS) if self.format is VLLM else set())
        greedy = self.format.greedy and ask.temperature == 0
        lacking = [
            name
            for name in SETTINGS
            if getattr(ask, name) is not None
            and ("top_k" if greedy and name == "temperature" else name) not in there
            and not (greedy and name == "top_k")
        ]
        return lacking + (["logprobs"] if ask.logprobs is not None and self.logprobs is None else [])

    def _taken(self) -> set[str]:
        """Keys of what the model has an input for."""
        names = dict(self.kinds) if self.kinds is not None else OWN_KINDS
        return {key for name, key in self.format.inputs if name in names}


SETTINGS = (
    *("temperature", "seed", "top_p", "top_k", "min_p"),
    *("repetition_penalty", "presence_penalty", "frequency_penalty"),
)
"""Fields of `Ask` that a model may not take."""
MOST_LOGPROBS = 20
"""vLLM's default limit (``max_logprobs``) and OpenAI's, and what the wizard's own models take."""

OWN_KINDS = {
    "text_input": "BYTES",
    "apply_chat_template": "BOOL",
    "max_tokens": "INT32",
    "top_p": "FP32",
    "temperature": "FP32",
    "random_seed": "UINT64",
    "stop_words": "BYTES",
    "top_k": "INT32",
    "min_p": "FP32",
    "repetition_penalty": "FP32",
    "presence_penalty": "FP32",
    "frequency_penalty": "FP32",
    "logprobs": "INT32",
}
"""Inputs of the wizard's own models."""

OWN = Wire(single=frozenset(OWN_KINDS) - {"stop_words"})


def _carried(ask: Ask, wire: Wire, end: int | None) -> dict[str, tuple[Any, ...]]:
    """Key in `Format.inputs` → values; what is not to be sent is empty."""
    greedy = wire.format.greedy and ask.temperature == 0
    given = {name: () if (value := getattr(ask, name)) is None else (value,) for name in (*SETTINGS, "logprobs")}
    return {
        **given,
        **({"temperature": (), "top_k": (1,)} if greedy else {}),
        "prompt": (ask.prompt,),
        "max_tokens": (ask.max_tokens,),
        "wants_logprobs": () if ask.logprobs is None else (True,),
        "stop": ask.stop,
        "nothing": (),
        "stream": (wire.streams,),
        "yes": (True,),
        "no": (False,),
        "parameters": (json.dumps(_vllm_parameters(ask)),),
        "ids": ask.ids,
        "length": (len(ask.ids),),
        "end": () if end is None else (end,),
    }


def _vllm_parameters(ask: Ask) -> dict[str, Any]:
    """Names and ranges of vLLM's ``SamplingParams``."""
    names = ("temperature", "top_k", "min_p", "repetition_penalty", "presence_penalty", "frequency_penalty", "logprobs")
    values: dict[str, Any] = {"max_tokens": ask.max_tokens, "top_p": ask.top_p}
    values |= {name: value for name in names if (value := getattr(ask, name)) is not None}
    if ask.seed is not None:
        values["seed"] = ask.seed & VLLM_LARGEST_SEED  # vLLM's seeds are signed
    if ask.stop:
        values["stop"] = list(ask.stop)
    return values


def wire_of(config: Mapping[str, Any], engine: Mapping[str, Any] | None = None) -> Wire | None:
    """How the model with this description is asked, or None if it speaks nothing that the wizard knows.

    Args:
        config: As Triton gives it.
        engine: The description of the engine behind an ensemble or a BLS model, which knows more of its answers.

    Raises:
        KeyError, TypeError, AttributeError: It is no description of a model.
    """
    inputs = {each["name"]: each for each in config["input"]}
    names = {*inputs, *(each["name"] for each in config["output"])}
    form = next((each for each in FORMATS if each.marks <= names), None)
    if form is None:
        return None
    own = _parameters(config)
    behind = {**(_parameters(engine) if engine else {}), **own}
    streams = any(bool((each or {}).get("model_transaction_policy", {}).get("decoupled")) for each in (config, engine))
    excluded = "exclude_input_in_output" in inputs or _true(behind.get("exclude_input_in_output"))
    way: Way = "either" if form is LLM_API else "cumulative" if _true(own.get("accumulate_tokens")) else "delta"
    return Wire(
        form,
        tuple((name, _kind(each["data_type"])) for name, each in inputs.items()),
        frozenset(name for name, each in inputs.items() if list(each["dims"]) in ([1], ["1"])),
        frozenset(name for name, each in inputs.items() if not each.get("optional")),
        int(config.get("max_batch_size", 0)) > 0,
        streams,
        not excluded and form in (TOKEN_IDS, VLLM, TEXT),
        way,
    )


def engine_of(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of models behind this one, of which one may be its engine: an ensemble's steps, a BLS model's engine."""
    steps = (config.get("ensemble_scheduling") or {}).get("step") or []
    name = _parameters(config).get("tensorrt_llm_model_name", "")
    if name.startswith("${") or ("accumulate_tokens" in _parameters(config) and not name):
        name = "tensorrt_llm"  # what the BLS model takes if it is told nothing
    return (*(str(step["model_name"]) for step in steps), *((name,) if name else ()))


def _parameters(config: Mapping[str, Any]) -> dict[str, str]:
    return {key: str(item.get("string_value", "")) for key, item in (config.get("parameters") or {}).items()}


def _true(value: str | None) -> bool:
    return (value or "").lower() in ("true", "1")


def _kind(data_type: str) -> str:
    return "BYTES" if data_type == "TYPE_STRING" else data_type.removeprefix("TYPE_")
