"""Models that do not generate text, which no stack here serves. Pure.

Sources of what serves them: vLLM documentation, "Pooling Models" (``--runner pooling``: embedding, scoring,
classification, reward) and "Speech-to-Text (Transcription/Translation) Support"; Text Embeddings Inference, "Supported
models and hardware" (embedding, reranking, sequence classification); TensorRT-LLM, "Use encoder-decoder models with the
PyTorch backend" (T5, BART, mBART, Whisper); vLLM-Omni, "Image Generation API" (``--omni``); Triton, "Deploying Stable
Diffusion Models with Triton and TensorRT".
"""

from __future__ import annotations

from wizard.advise.advice import NO_TEMPLATE
from wizard.advise.reasons import Note, Obstacle, Refused, Remedy, because, do
from wizard.kernel.errors import InfeasibleError
from wizard.model.facts import ModelFacts
from wizard.model.task import Task, named_reranker

NOT_CHAT = "not-chat"
SERVERS: dict[Task, Remedy] = {
    "embedding": do("serve-pooling"),
    "reranker": do("serve-pooling"),
    "score": do("serve-pooling"),
    "classification": do("serve-pooling"),
    "reward": do("serve-reward"),
    "encoder": do("use-encoder"),
    "encoder-decoder": do("serve-encoder-decoder"),
    "speech": do("serve-speech"),
    "diffusion": do("serve-diffusion"),
}
"""Task → the remedy that names what serves it."""


def obstacle(facts: ModelFacts) -> Obstacle | None:
    """Why no stack serves ``facts``; None for a model that generates text."""
    if facts.task is None:
        return None
    return Obstacle(NOT_CHAT, because(NOT_CHAT, model=facts.name, task=facts.task), (SERVERS[facts.task],))


def notes(facts: ModelFacts) -> tuple[Note, ...]:
    """A warning if only the model's name says that it does not generate text."""
    named = facts.task is None and any(named_reranker(name) for name in (facts.name, facts.ref, facts.location))
    return (Note("named-reranker", {"model": facts.name}),) if named else ()


def without_template(facts: ModelFacts) -> tuple[Note, ...]:
    """A warning if the model has no chat template. The Hub reports that of a GGUF file; else only local files tell."""
    reported = "hub" not in facts.unknown and any(file.format == "gguf" for file in facts.weights)
    return (NO_TEMPLATE,) if facts.chat is None and (facts.local or reported) else ()


def check(facts: ModelFacts) -> None:
    """Check that ``facts`` is a model that generates text.

    Raises:
        Refused: TW-A24 if it is not.
    """
    if why := obstacle(facts):
        raise Refused("TW-A24", InfeasibleError, why)
