"""The checkpoint that a choice means: the model as it was named, or the ready-quantised repository of it."""

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
    """What is served, and a note on it where that is another repository than was named.

    The repository is one that is known (`wizard.catalog.checkpoints`), the same that the advice names. What the hub
    says of it is learnt when it is fetched: its revision, its size, whether it is gated. Where none is known the
    model is left as it is, and the stack says what it lacks.
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
    """Whether ``stack`` serves checkpoints as they are, and does not quantise them itself."""
    return stack in stacks.gpu_stacks() and not stacks.facts(stack).builds_engine
