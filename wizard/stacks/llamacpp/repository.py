"""The model repository of the stack ``llamacpp``: one Python-backend model over llama.cpp."""

from __future__ import annotations

import json
from pathlib import Path

from wizard.advise.advice import Choice
from wizard.model.facts import ModelFacts
from wizard.model.special import pattern
from wizard.repository.config_pbtxt import Tensor, config_pbtxt
from wizard.repository.repository import Repository, RepositoryFile

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
"""Names as in Triton's LLM tutorials where there is one; each is explained in ``text_requests.py``."""

OUTPUTS = (
    Tensor("text_output", "STRING"),
    Tensor("finish_reason", "STRING"),
    Tensor("completion_tokens", "INT32"),
)

PENALTIES = ("repetition_penalty", "presence_penalty", "frequency_penalty")
MORE_INPUTS = (
    *(Tensor(name, "FP32", optional=True) for name in ("min_p", *PENALTIES)),
    Tensor("logprobs", "INT32", optional=True),
)
"""What llama.cpp takes beyond the inputs that all of the wizard's own models have."""
LOGPROBS = Tensor("logprobs", "STRING")
"""Only in answers to a request that asked for it."""

REQUESTS = "text_requests.py"
"""What all of the wizard's own models import."""

DEFAULT_TEMPERATURE = 0.7
"""Where the model's makers say nothing. A model with a confidence gate gets 0: the gate judges the greedy answer."""


def repository(model_name: str, *, gguf_path: str, facts: ModelFacts, choice: Choice, threads: int) -> Repository:
    """The repository that serves ``facts`` as ``choice`` under ``model_name``.

    The model's own description (chat template, stop texts, context, questions) is put into its parameters, so that
    ``GET /v2/models/NAME/config`` tells a chat client all that it needs.

    Args:
        model_name: Name in Triton.
        gguf_path: The weights, as the server will see them.
        facts: For the chat format, the questions and the confidence gate.
        choice: For the context of each request (``max_seq_len``) and how many run at once (``max_batch_size``).
        threads: CPU threads of the engine.
    """
    config = config_pbtxt(
        model_name,
        inputs=(*INPUTS, *MORE_INPUTS),
        outputs=(*OUTPUTS, LOGPROBS),
        parameters=_parameters(gguf_path, facts, choice, threads),
        decoupled=True,
    )
    return Repository(
        (RepositoryFile(f"{model_name}/config.pbtxt", config), *programs(model_name, "llamacpp_model.py"))
    )


def programs(model_name: str, model: str) -> tuple[RepositoryFile, ...]:
    """One of the wizard's own models, and beside it the file that it imports.

    Args:
        model_name: Name in Triton.
        model: The model's file in this folder; ``model.py`` in the repository.
    """
    folder = Path(__file__).parent
    return tuple(
        RepositoryFile(f"{model_name}/1/{name}", (folder / source).read_text(encoding="utf-8"))
        for name, source in (("model.py", model), (REQUESTS, REQUESTS))
    )


def described(facts: ModelFacts, choice: Choice) -> dict[str, str]:
    """The parameters by which a served model tells a chat client what it is."""
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


def _parameters(gguf_path: str, facts: ModelFacts, choice: Choice, threads: int) -> dict[str, str]:
    parameters = {"gguf": gguf_path, "threads": str(threads), "slots": str(choice.max_batch_size)}
    parameters.update(described(facts, choice))
    if facts.gate:
        parameters["gate_min_probability"] = str(facts.gate.min_token_probability)
        parameters["gate_refusal"] = facts.gate.refusal
    return parameters
