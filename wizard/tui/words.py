"""Values of the journey in a few words, for lists and headings. Pure functions; foreign text is made harmless."""

from __future__ import annotations

from wizard.advise.advice import Choice
from wizard.kernel.text import plain
from wizard.kernel.units import count, duration, size
from wizard.model.facts import ModelFacts
from wizard.plan.plan import Estimate

STACKS = {
    "llamacpp": "llama.cpp",
    "transformers": "Transformers",
    "vllm": "vLLM",
    "trtllm-engine": "TensorRT-LLM engine",
    "trtllm-llmapi": "TensorRT-LLM",
}


def stack(name: str) -> str:
    """The serving stack's name as its makers write it."""
    return STACKS.get(name, plain(name))


def one_line(text: str) -> str:
    """``text`` made harmless and without line breaks."""
    return " ".join(plain(text).split())


def weights(choice: Choice) -> str:
    """How the weights are stored: the quantisation if there is one, else the dtype."""
    return one_line(choice.quantization or choice.dtype)


def choice_title(choice: Choice) -> str:
    """One way to serve, in a list."""
    gpus = choice.tp * choice.pp
    return f"{stack(choice.stack)} · {weights(choice)}" + (f" · {gpus} GPUs" if gpus > 1 else "")


def choice_room(choice: Choice) -> str:
    """How many people are served at a time, and how long their conversations may be."""
    return f"{choice.max_batch_size} at a time, {choice.max_seq_len:,} tokens each"


def model_line(facts: ModelFacts) -> str:
    """A model in one line: parameters, size, context, licence; what is unknown is left out."""
    parts = [
        f"{count(facts.parameters)} parameters" if facts.parameters else "",
        size(facts.weight_bytes) if facts.weight_bytes else "",
        one_line(facts.quantization.detail or facts.quantization.method) if facts.quantization else facts.dtype or "",
        f"{facts.max_context:,} tokens of context" if facts.max_context else "",
        one_line(facts.licence) if facts.licence else "licence unknown",
    ]
    return " · ".join(part for part in parts if part)


def cost(estimate: Estimate) -> str:
    """What a step or plan takes: time, download, disk."""
    parts = [f"about {duration(estimate.seconds)}"]
    if estimate.download_bytes:
        parts.append(f"{size(estimate.download_bytes)} to download")
    if estimate.disk_bytes:
        parts.append(f"{size(estimate.disk_bytes)} of disk")
    return " · ".join(parts)
