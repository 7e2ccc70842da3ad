"""Speculative decoding: what it takes, and what prevents it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from wizard.advise import memory
from wizard.advise.advice import Checkpoint
from wizard.advise.formats import NONE as SIXTEEN_BITS
from wizard.advise.formats import weight_bytes
from wizard.advise.reasons import Obstacle, Reason, because, change, without
from wizard.advise.setup import Draft, Setup
from wizard.catalog.releases import version
from wizard.catalog.stacks import on_gpu
from wizard.model.facts import ModelFacts

NONE = "none"
"""The answer for no speculative decoding."""
ANY = "any"
"""In the table of a method: every architecture."""


def prepared(facts: ModelFacts, setup: Setup) -> Setup:
    """``setup`` with the draft model of its method, if the method has one and it is known.

    Layers for multi-token prediction count in the checkpoint's format only if that is FP8 in blocks, as in DeepSeek-V3,
    else in 16 bits: most quantized checkpoints leave them so, for others that is an upper bound.
    """
    if setup.speculative != "mtp" or facts.prediction is None:
        return setup
    blocks = setup.quantization == "fp8_block" and facts.quantization is not None
    layers = replace(facts, anatomy=facts.prediction, stored=None)
    stored = weight_bytes(layers, facts.prediction, setup.quantization if blocks else SIXTEEN_BITS)
    return replace(setup, draft=Draft(facts.prediction, stored))


def obstacle(facts: ModelFacts, setup: Setup, engine: str) -> Obstacle | None:
    """What prevents the speculative decoding of ``setup`` with the version ``engine``; None if it has none."""
    if not setup.speculative:
        return None
    why = next(_reasons(facts, setup, engine), None)
    if why is None:
        return None
    stages = (change(pp=1),) if why.code == "speculative-stages" else ()
    return Obstacle("speculative", why, (*stages, without("speculative")))


def missing(setup: Setup, fetched: Checkpoint) -> Obstacle | None:
    """The obstacle if the layers that propose tokens may not be in the checkpoint: quantizing often leaves them out."""
    if setup.speculative != "mtp" or fetched.how != "ready":
        return None
    why = because("speculative-checkpoint", ref=fetched.ref)
    return Obstacle("speculative", why, (change(quantization=SIXTEEN_BITS), without("speculative")))


def _reasons(facts: ModelFacts, setup: Setup, engine: str) -> Iterator[Reason]:
    """First those of the model, then of the stack, its release, and the split."""
    known, method = on_gpu(setup.stack).speculative, setup.speculative
    if method == "mtp" and facts.prediction is None:
        yield because("speculative-layers", model=facts.name)
    models = known.methods.get(method) if known else None
    if models is None:
        yield because("speculative-stack", stack=setup.stack, method=method)
        return
    since = models.get(ANY) or models.get(facts.architecture or "")
    if since is None:
        yield because("speculative-model", stack=setup.stack, method=method, architecture=facts.architecture)
    elif version(engine) < version(since):
        yield because("speculative-release", stack=setup.stack, method=method, since=since, engine=engine)
    if setup.pp > 1:
        yield because("speculative-stages")
    if memory.recurrent(facts.anatomy):
        yield because("speculative-states")
