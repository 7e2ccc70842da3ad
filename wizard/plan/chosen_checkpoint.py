"""The checkpoint for a choice: the named model, or its pre-quantized repository."""

from __future__ import annotations

from dataclasses import replace

from wizard.advise.advice import Choice
from wizard.advise.checkpoint import METHODS, checkpoint
from wizard.advise.formats import FORMATS
from wizard.kernel.language import tr
from wizard.model.facts import ModelFacts, Quantization


def checkpoint_of(facts: ModelFacts, choice: Choice) -> tuple[ModelFacts, tuple[str, ...]]:
    """The served model, with a note if its repository is not the named one.

    The repository is the choice's, so the plan fetches what the advice describes. The revision of another one, and
    whether it is gated, are only known when it is downloaded.
    """
    fetched = choice.checkpoint or checkpoint(facts, choice.stack, choice.quantization)
    if fetched is None or fetched.how != "ready":
        return facts, ()
    scheme = FORMATS[choice.quantization or "none"]
    chosen = replace(
        facts,
        location=fetched.ref,
        quantization=Quantization(METHODS.get(scheme.name, scheme.name), scheme.bits, format=scheme.name),
        weight_bytes=fetched.bytes,
        weights=(),
        stored=None,
        revision=None,
        gated=None,
    )
    return chosen, (
        tr(
            "The served model is {ref}: {name} in {title}, quantized and published by a third party.",
            ref=fetched.ref,
            name=facts.name,
            title=scheme.title,
        ),
    )
