"""What all of the wizard's own Python-backend models declare, describe and include."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from wizard.advise.advice import Choice
from wizard.catalog import tool_calls
from wizard.catalog.stacks import facts as stack
from wizard.model.facts import ModelFacts
from wizard.model.special_tokens import pattern
from wizard.repository.config_pbtxt import Tensor
from wizard.repository.repository import RepositoryFile

INPUTS = (
    Tensor("text_input", "STRING"),
    Tensor("max_tokens", "INT32", optional=True),
    Tensor("temperature", "FP32", optional=True),
    Tensor("top_p", "FP32", optional=True),
    Tensor("top_k", "INT32", optional=True),
    Tensor("random_seed", "UINT64", optional=True),
    Tensor("stop_words", "STRING", (-1,), optional=True),
    Tensor("stream", "BOOL", optional=True),
    Tensor("apply_chat_template", "BOOL", optional=True),
)
"""Names as in Triton's LLM tutorials if possible; each is explained in ``text_requests.py``."""

OUTPUTS = (
    Tensor("text_output", "STRING"),
    Tensor("finish_reason", "STRING"),
    Tensor("completion_tokens", "INT32"),
    Tensor("prompt_tokens", "INT32"),
)

PENALTIES = ("repetition_penalty", "presence_penalty", "frequency_penalty")
MORE_INPUTS = (
    *(Tensor(name, "FP32", optional=True) for name in ("min_p", *PENALTIES)),
    Tensor("logprobs", "INT32", optional=True),
)
"""Inputs that some engines support beyond those of all of the wizard's own models."""
LOGPROBS = Tensor("logprobs", "STRING")
"""Only in answers to a request for it."""

JSON_SCHEMA = Tensor("json_schema", "STRING", optional=True)
TOOLS = Tensor("tools", "STRING", optional=True)
TOOL_CALLS = Tensor("tool_calls", "STRING")
"""Only in responses to a request with ``tools``."""

SHARED = ("text_requests.py", "work_gauges.py")
"""The modules that all of the wizard's own models import."""

DEFAULT_TEMPERATURE = 0.7
"""Used if the model's developers recommend none. A model with a confidence gate gets 0: the gate checks the greedy
answer.
"""


def programs(
    model_name: str, model: Path, engines: Iterable[Path] = (), modules: Iterable[Path] = ()
) -> tuple[RepositoryFile, ...]:
    """One of the wizard's own models, with the files that it needs.

    Args:
        model_name: Name in Triton.
        model: The model's file; ``model.py`` in the repository.
        engines: Programs that it starts, for the folder ``engines`` of the repository.
        modules: Further files that it imports.
    """
    shared = (Path(__file__).with_name(name) for name in SHARED)
    beside = ((path.name, path) for path in (*shared, *modules))
    sources = (("model.py", model), *beside)
    files = (*sources, *((f"engines/{path.name}", path) for path in engines))
    return tuple(RepositoryFile(f"{model_name}/1/{name}", path.read_text(encoding="utf-8")) for name, path in files)


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a model declares because its stack can guide or read answers (`wizard.catalog.stack_facts.Answers`).

    Attributes:
        inputs: Further inputs.
        outputs: Further outputs.
        parameters: Further parameters: ``tool_calls`` is JSON, what `wizard.catalog.tool_calls.parser` returns.
    """

    inputs: tuple[Tensor, ...] = ()
    outputs: tuple[Tensor, ...] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)


def abilities(facts: ModelFacts, choice: Choice) -> Abilities:
    """The abilities of ``facts``, served as ``choice``; none with a confidence gate, which judges free answers only."""
    answers = stack(choice.stack).answers
    if answers is None or facts.gate:
        return Abilities()
    guided = (JSON_SCHEMA,) if answers.json_schema else ()
    parser = tool_calls.parser(facts.chat.template, answers.tool_calls) if facts.chat else None
    if parser is None:
        return Abilities(guided)
    return Abilities((*guided, TOOLS), (TOOL_CALLS,), {"tool_calls": json.dumps(parser, ensure_ascii=False)})


def described(facts: ModelFacts, choice: Choice) -> dict[str, str]:
    """The parameters that describe a served model to a chat client."""
    parameters = {
        "max_seq_len": str(choice.max_seq_len),
        "default_temperature": str(0.0 if facts.gate else DEFAULT_TEMPERATURE),
        "questions": json.dumps(facts.questions, ensure_ascii=False),
        "special_tokens": pattern(facts.chat),
    }
    if facts.chat:
        parameters["chat_template"] = facts.chat.template
        parameters["stop"] = json.dumps(facts.chat.stop, ensure_ascii=False)
        if facts.chat.bos_token is not None:
            parameters["bos_token"] = facts.chat.bos_token
        if facts.chat.eos_token is not None:
            parameters["eos_token"] = facts.chat.eos_token
    return parameters
