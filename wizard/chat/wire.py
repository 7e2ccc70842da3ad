"""The formats of served models: how an `Ask` becomes a request, and how to read a response.

A model's format is recognized by the inputs in its description (``GET /v2/models/NAME/config``). Names differ between
releases (``random_seed`` to TensorRT-LLM 0.19, ``seed`` later; ``exclude_input_in_output`` for each request from 0.16
on, before as the model's parameter), so a format lists them all, and a request contains those that the model declares,
with the declared types.

The serving stacks provide the formats (`StackWire`); the one of the wizard's own models is here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from wizard.catalog import plugins
from wizard.chat.ask import Ask
from wizard.chat.conversation import TokenLogprob
from wizard.chat.logprobs import of_own
from wizard.chat.text_filters import ResponseMode

MOST_LOGPROBS = 20
"""vLLM's default limit (``max_logprobs``), OpenAI's, and that of the wizard's own models."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """An input of a request.

    Attributes:
        name: As the model declares it.
        kind: Triton's data type: ``BYTES``, ``INT32``, ``FP32`` …
        values: Values of a row.
        shape: With the batch dimension if the model has one.
        single: Whether the declared row has a single value.
    """

    name: str
    kind: str
    values: tuple[Any, ...]
    shape: tuple[int, ...]
    single: bool


@dataclass(frozen=True, slots=True)
class Format:
    """A request format of models.

    Attributes:
        name: Display name.
        marks: Inputs or outputs that identify it: a model must have all of them.
        inputs: Name of an input → its content (a key of `_carried`).
        tokens: The output that counts tokens; empty if there is none.
        prompt: The output with the number of tokens of the prompt; empty if there is none.
        finish: The output with the finish reason; empty if there is none.
        logprobs: The output with the tokens' log probabilities; empty if there is none (the LLM API returns their sum).
        calls: The output with the functions that the model calls; empty if there is none.
        sums: Whether ``tokens`` counts those of each response, not all so far.
        greedy: Whether temperature 0 is sent as top-k 1, because the engine divides by it.
        cancels: Whether closing the stream stops the engine.
        ids: Whether requests and responses use token IDs, so that the client needs the tokenizer.
        begins: Whether the server's tokenizer adds the begin token to every prompt.
        echoes: Whether the prompt precedes the answer unless excluded.
        mode: Whether responses are deltas or cumulative, unless the model's description sets it.
        alternatives: Maximum number of alternatives per token.
        read_logprobs: Reads the text of the output ``logprobs``; not needed with ``ids``.
        pack: Packs all settings of a request into a single text, the content ``packed`` of `inputs`; None: each setting
            has its own input.
        behind: Names of models behind one with this description (in addition to an ensemble's steps).
    """

    name: str
    marks: frozenset[str]
    inputs: tuple[tuple[str, str], ...]
    tokens: str = ""
    prompt: str = ""
    finish: str = ""
    logprobs: str = ""
    calls: str = ""
    sums: bool = False
    greedy: bool = True
    cancels: bool = True
    ids: bool = False
    begins: bool = False
    echoes: bool = False
    mode: ResponseMode = "delta"
    alternatives: int = MOST_LOGPROBS
    read_logprobs: Callable[[str], tuple[TokenLogprob, ...]] = of_own
    pack: Callable[[Ask], str] | None = None
    behind: Callable[[Mapping[str, Any]], tuple[str, ...]] | None = None


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
        ("json_schema", "json_schema"),
        ("tools", "tools"),
    ),
    tokens="completion_tokens",
    prompt="prompt_tokens",
    finish="finish_reason",
    logprobs="logprobs",
    calls="tool_calls",
    greedy=False,
)

OPENAI = Format("an OpenAI-compatible server", frozenset(), ())
"""Not recognized by a model's description: `wizard.chat.openai` implements it."""


@dataclass(frozen=True, slots=True)
class StackWire:
    """A serving stack's port for this stage: the value ``PORT`` of its module ``chat`` (`wizard.catalog.plugins`).

    Attributes:
        formats: Formats of its models; the wizard's own need none.
    """

    formats: tuple[Format, ...]


def formats() -> tuple[Format, ...]:
    """All formats; the first whose marks all match is used.

    Raises:
        UsageError: TW-D30 if the code of a stack cannot be loaded.
    """
    return (WIZARD, *(form for stack in plugins.ports("chat", StackWire).values() for form in stack.formats))


@dataclass(frozen=True, slots=True)
class Wire:
    """A format, as declared by a served model.

    Attributes:
        format: The format.
        kinds: Input → Triton's data type; None: it declares all inputs of the format, as the wizard's own models do.
        single: Inputs whose row has a single value.
        required: Mandatory inputs.
        batched: Whether tensors begin with a batch dimension.
        streams: Whether the model sends several responses.
        echoes: Whether the prompt precedes the answer.
        mode: Whether responses are deltas or cumulative.
    """

    format: Format = WIZARD
    kinds: tuple[tuple[str, str], ...] | None = None
    single: frozenset[str] = frozenset()
    required: frozenset[str] = frozenset()
    batched: bool = False
    streams: bool = True
    echoes: bool = False
    mode: ResponseMode = "delta"

    def tensors(self, ask: Ask, end: int | None = None) -> list[Tensor]:
        """The inputs of the request ``ask``; ``end`` is the end token's ID for a format with token IDs."""
        carried = _carried(ask, self, end)
        tensors = []
        for name, key in self.format.inputs:
            kind = dict(self.kinds).get(name) if self.kinds is not None else OWN_KINDS[name]
            values = carried.get(key, ())
            if kind is None or not (values or name in self.required):
                continue
            row = values or (("",) if kind == "BYTES" else (0,))
            shape = (1, len(row)) if self.batched else (len(row),)
            tensors.append(Tensor(name, kind, row, shape, name in self.single))
        return tensors

    @property
    def outputs(self) -> frozenset[str]:
        """Names of the outputs to read; a response may have many more."""
        form = self.format
        own = (form.tokens, form.prompt, form.finish, form.logprobs, form.calls)
        return frozenset({"text_output", "output_ids", "sequence_length", *own})

    @property
    def reasons(self) -> bool:
        """Whether the model reports finish reasons, so that an answer without one was cut short."""
        return self.kinds is None or self.format is WIZARD or "return_finish_reason" in dict(self.kinds)

    @property
    def logprobs(self) -> int | None:
        """Maximum number of alternatives per token; None if the model reports no log probabilities."""
        if self.format is OPENAI:
            return MOST_LOGPROBS
        if not {"logprobs", "wants_logprobs"} & self._taken():
            return None
        return self.format.alternatives

    def lacks(self, ask: Ask) -> list[str]:
        """Settings of ``ask`` that this model does not support."""
        if self.format is OPENAI:
            return []
        there = self._taken() | (set(SAMPLING) if self.format.pack else set())
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
        """Contents that the model has an input for."""
        names = dict(self.kinds) if self.kinds is not None else OWN_KINDS
        return {key for name, key in self.format.inputs if name in names}


SAMPLING = (
    *("temperature", "seed", "top_p", "top_k", "min_p"),
    *("repetition_penalty", "presence_penalty", "frequency_penalty"),
)
SETTINGS = (*SAMPLING, "json_schema", "tools")
"""Fields of `Ask` that a model may not support."""

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
    "json_schema": "BYTES",
    "tools": "BYTES",
}
"""Inputs of the wizard's own models."""

OWN = Wire(single=frozenset(OWN_KINDS) - {"stop_words"})


def _carried(ask: Ask, wire: Wire, end: int | None) -> dict[str, tuple[Any, ...]]:
    """Key in `Format.inputs` → values; empty if it is not sent."""
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
        "packed": (wire.format.pack(ask),) if wire.format.pack else (),
        "ids": ask.ids,
        "length": (len(ask.ids),),
        "end": () if end is None else (end,),
    }


def wire_of(config: Mapping[str, Any], engine: Mapping[str, Any] | None = None) -> Wire | None:
    """The format of the model with this description, or None if the wizard does not know it.

    Args:
        config: The description from Triton.
        engine: The description of the engine behind an ensemble or a BLS model, which has more details about its
            answers.

    Raises:
        KeyError, TypeError, AttributeError: It is not a model description.
    """
    inputs = {each["name"]: each for each in config["input"]}
    names = {*inputs, *(each["name"] for each in config["output"])}
    form = next((each for each in formats() if each.marks <= names), None)
    if form is None:
        return None
    own = parameters(config)
    behind = {**(parameters(engine) if engine else {}), **own}
    streams = any(bool((each or {}).get("model_transaction_policy", {}).get("decoupled")) for each in (config, engine))
    excluded = "exclude_input_in_output" in inputs or _true(behind.get("exclude_input_in_output"))
    mode: ResponseMode = "cumulative" if form.mode == "delta" and _true(own.get("accumulate_tokens")) else form.mode
    return Wire(
        form,
        tuple((name, _kind(each["data_type"])) for name, each in inputs.items()),
        frozenset(name for name, each in inputs.items() if list(each["dims"]) in ([1], ["1"])),
        frozenset(name for name, each in inputs.items() if not each.get("optional")),
        int(config.get("max_batch_size", 0)) > 0,
        streams,
        form.echoes and not excluded,
        mode,
    )


def engine_of(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of models behind this one that may be its engine: an ensemble's steps, and those that formats name."""
    steps = (config.get("ensemble_scheduling") or {}).get("step") or []
    named = (name for form in formats() if form.behind for name in form.behind(config))
    return (*(str(step["model_name"]) for step in steps), *named)


def parameters(config: Mapping[str, Any]) -> dict[str, str]:
    """The parameters of a model's description."""
    return {key: str(item.get("string_value", "")) for key, item in (config.get("parameters") or {}).items()}


def _true(value: str | None) -> bool:
    return (value or "").lower() in ("true", "1")


def _kind(data_type: str) -> str:
    return "BYTES" if data_type == "TYPE_STRING" else data_type.removeprefix("TYPE_")
