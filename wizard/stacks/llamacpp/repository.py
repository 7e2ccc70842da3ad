"""The model repository of the stack ``llamacpp``: one Python-backend model over llama.cpp."""

from __future__ import annotations

from pathlib import Path

from wizard.advise.advice import Choice
from wizard.model.facts import ModelFacts
from wizard.repository.config_pbtxt import config_pbtxt
from wizard.repository.python_models import INPUTS, LOGPROBS, MORE_INPUTS, OUTPUTS, abilities, described, programs
from wizard.repository.repository import Repository, RepositoryFile

MODEL = Path(__file__).parent / "engine" / "llamacpp_model.py"


def repository(model_name: str, *, gguf_path: str, facts: ModelFacts, choice: Choice, threads: int) -> Repository:
    """The repository that serves ``facts`` as ``choice`` under ``model_name``.

    The model's own description (chat template, stop texts, context, questions) is stored in its parameters, so that a
    chat client gets everything it needs from ``GET /v2/models/NAME/config``.

    Args:
        model_name: Name in Triton.
        gguf_path: Path of the weights in the server.
        facts: The model: chat format, questions and confidence gate.
        choice: The choice: context of each request (``max_seq_len``), number of concurrent requests
            (``max_batch_size``) and layers on GPUs (``offload``).
        threads: CPU threads of the engine.
    """
    more = abilities(facts, choice)
    config = config_pbtxt(
        model_name,
        inputs=(*INPUTS, *MORE_INPUTS, *more.inputs),
        outputs=(*OUTPUTS, LOGPROBS, *more.outputs),
        parameters={**_parameters(gguf_path, facts, choice, threads), **more.parameters},
        decoupled=True,
    )
    return Repository((RepositoryFile(f"{model_name}/config.pbtxt", config), *programs(model_name, MODEL)))


def _parameters(gguf_path: str, facts: ModelFacts, choice: Choice, threads: int) -> dict[str, str]:
    parameters = {"gguf": gguf_path, "threads": str(threads), "slots": str(choice.max_batch_size)}
    if choice.offload:
        parameters["gpu_layers"] = str(choice.offload.gpu_layers)
        parameters["expert_layers"] = str(choice.offload.expert_layers)
        if choice.offload.shares:
            parameters["gpu_shares"] = ",".join(str(share.layers) for share in choice.offload.shares)
    parameters.update(described(facts, choice))
    if facts.gate:
        parameters["gate_min_probability"] = str(facts.gate.min_token_probability)
        parameters["gate_refusal"] = facts.gate.refusal
    return parameters
