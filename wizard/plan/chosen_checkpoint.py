"""The checkpoint for a choice: the named model, or its pre-quantized repository."""

from __future__ import annotations

from dataclasses import replace

from wizard.advise.advice import Checkpoint, Choice
from wizard.advise.checkpoint import METHODS, checkpoint
from wizard.kernel.language import tr
from wizard.model import gguf_files
from wizard.model.facts import ModelFacts, Quantization
from wizard.model.formats import FORMATS


def checkpoint_of(facts: ModelFacts, choice: Choice) -> tuple[ModelFacts, tuple[str, ...]]:
    """The served model, with a note if its repository is not the named one.

    The repository is the choice's, so the plan fetches what the advice describes. The revision of another one, and
    whether it is gated, are only known when it is downloaded.
    """
    fetched = choice.checkpoint or checkpoint(facts, choice.stack, choice.quantization)
    if fetched is None or fetched.how != "ready":
        return facts, ()
    if fetched.file is not None:
        return _file(facts, fetched)
    scheme = FORMATS[choice.quantization or "none"]
    chosen = replace(
        facts,
        location=fetched.ref,
        quantization=Quantization(METHODS.get(scheme.name, scheme.name), scheme.bits, format=scheme.name),
        weight_bytes=fetched.bytes,
        anatomy=facts.anatomy and replace(facts.anatomy, predictor=None),  # not known to be in it
        weights=(),
        stored=None,
        stored_predictor=None,
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


def _file(facts: ModelFacts, fetched: Checkpoint) -> tuple[ModelFacts, tuple[str, ...]]:
    """``facts`` as a GGUF file; with a note if it is in another repository."""
    chosen = gguf_files.as_named(facts, fetched.ref, fetched.file or "", fetched.bytes)
    if fetched.ref == facts.location:
        return chosen, ()
    return chosen, (
        tr(
            "The served file is {file} of {ref}, a GGUF version of {name}.",
            file=fetched.file,
            ref=fetched.ref,
            name=facts.name,
        ),
    )
