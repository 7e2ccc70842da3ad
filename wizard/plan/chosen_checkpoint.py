"""The checkpoint for a choice: the named model, or its pre-quantized repository."""

from __future__ import annotations

from dataclasses import replace

from wizard.advise.advice import Choice
from wizard.advise.formats import FORMATS
from wizard.catalog import stacks
from wizard.catalog.checkpoints import ready
from wizard.kernel.language import tr
from wizard.model.facts import ModelFacts, Quantization

METHODS = {"int4_awq": "awq", "int4_gptq": "gptq"}


def checkpoint_of(facts: ModelFacts, choice: Choice) -> tuple[ModelFacts, tuple[str, ...]]:
    """The served model, with a note if its repository is not the named one.

    The repository is a known one (`wizard.catalog.checkpoints`), the same that the advice names. Its revision, its size
    and whether it is gated are only known when it is downloaded. If none is known the model is unchanged, and the stack
    reports what is missing.
    """
    if facts.quantization or facts.local or not _as_stored(choice.stack):
        return facts, ()
    known = next((checkpoint for checkpoint in ready(facts.location) if checkpoint.format == choice.quantization), None)
    if known is None:
        return facts, ()
    scheme = FORMATS[known.format]
    chosen = replace(
        facts,
        location=known.ref,
        quantization=Quantization(METHODS.get(known.format, known.format), scheme.bits, format=known.format),
        weight_bytes=choice.memory.weights_bytes * choice.tp * choice.pp,
        weights=(),
        stored=None,
        revision=None,
        gated=None,
    )
    return chosen, (
        tr(
            "The served model is {ref}: {name} in {title}, quantized and published by a third party.",
            ref=known.ref,
            name=facts.name,
            title=scheme.title,
        ),
    )


def _as_stored(stack: str) -> bool:
    """Whether ``stack`` serves checkpoints in their stored format, and does not quantize them itself."""
    return stack in stacks.gpu_stacks() and not stacks.facts(stack).builds_engine
