"""Speculative decoding: what it takes, and what prevents it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from wizard.advise import memory
from wizard.advise.advice import Checkpoint, Constraints
from wizard.advise.reasons import Obstacle, Reason, Remedy, because, change, without
from wizard.advise.setup import Draft, Setup
from wizard.catalog.releases import version
from wizard.catalog.stacks import on_gpu
from wizard.model.anatomy import Parts
from wizard.model.facts import ModelFacts
from wizard.model.formats import own, predictor_bytes
from wizard.model.quantization import NONE as SIXTEEN_BITS

NONE = "none"
"""The answer for no speculative decoding."""
ANY = "any"
"""In the table of a method: every architecture."""
EAGLE3 = "LlamaForCausalLMEagle3"
"""Architecture of the draft models that vLLM and SGLang load for EAGLE-3 (``models/registry.py``,
``models/llama_eagle3.py``).
"""


def method(constraints: Constraints) -> str:
    """The method that the user asks for; empty: none."""
    return constraints.speculative if constraints.speculative not in (None, NONE) else ""


def prepared(facts: ModelFacts, setup: Setup) -> Setup:
    """``setup`` with what proposes tokens, if its method needs that and it is known.

    Layers for multi-token prediction count as stored if the headers were read or the format is FP8 in blocks, as in
    DeepSeek-V3, else in 16 bits, which is an upper bound. So is the whole of a draft model on every GPU: engines split
    most of it, and share its embedding if it is the model's.
    """
    layers = facts.anatomy and facts.anatomy.predictor
    if setup.speculative == "mtp" and facts.anatomy and layers:
        alone = replace(facts.anatomy, layers=layers.steps, attention=layers.attention, parts=layers.parts)
        known = setup.quantization == own(facts) and (own(facts) == "fp8_block" or facts.stored_predictor is not None)
        stored = predictor_bytes(facts, facts.anatomy, setup.quantization if known else SIXTEEN_BITS)
        return replace(setup, draft=Draft(alone, stored))
    draft = facts.draft
    if setup.speculative == "eagle3" and draft and draft.anatomy and draft.weight_bytes:
        return replace(setup, draft=Draft(draft.anatomy, Parts(other=draft.weight_bytes)))
    return setup


def obstacle(facts: ModelFacts, setup: Setup, constraints: Constraints, engine: str) -> Obstacle | None:
    """What prevents the speculative decoding of ``setup`` with the version ``engine``; None if it has none."""
    if lone_draft(constraints):
        drafted = not any(_reasons(facts, replace(setup, speculative="eagle3"), engine))
        return lone_draft(constraints, possible=drafted)
    if not setup.speculative:
        return None
    why = next(_reasons(facts, setup, engine), None)
    if why is None:
        return None
    stages = (change(pp=1),) if why.code == "speculative-stages" else ()
    return Obstacle("speculative", why, (*stages, _plain(constraints)))


def _plain(constraints: Constraints) -> Remedy:
    """The remedy that gives up the method, with the draft model if one is named: only the method uses it."""
    return without("speculative", *(("draft",) if constraints.draft else ()))


def lone_draft(constraints: Constraints, *, possible: bool = False) -> Obstacle | None:
    """The obstacle if a draft model is named for a method that needs none; ``possible``: EAGLE-3 can use it."""
    if constraints.draft is None or method(constraints) == "eagle3":
        return None
    why = because("draft-alone", draft=constraints.draft)
    return Obstacle("draft", why, (*((change(speculative="eagle3"),) if possible else ()), without("draft")))


def elsewhere(constraints: Constraints, stack: str) -> Iterator[Obstacle]:
    """The obstacles of a ``stack`` on the CPU, which has no speculative decoding."""
    if asked := method(constraints):
        why = because("speculative-stack", stack=stack, method=asked)
        yield Obstacle("speculative", why, (_plain(constraints),))
    elif lone := lone_draft(constraints):
        yield lone


def missing(setup: Setup, fetched: Checkpoint) -> Obstacle | None:
    """The obstacle if the layers that propose tokens may not be in a checkpoint of another publisher."""
    if setup.speculative != "mtp" or fetched.how != "ready":
        return None
    why = because("speculative-checkpoint", ref=fetched.ref)
    return Obstacle("speculative", why, (change(quantization=SIXTEEN_BITS), without("speculative")))


def _reasons(facts: ModelFacts, setup: Setup, engine: str) -> Iterator[Reason]:
    """First those of the models, then of the stack, its release, and the split."""
    known, method = on_gpu(setup.stack).speculative, setup.speculative
    if method == "mtp" and (facts.anatomy is None or facts.anatomy.predictor is None):
        yield because("speculative-layers", model=facts.name)
    if method == "eagle3":
        yield from _unfit(facts, facts.draft)
    models = known.methods.get(method) if known else None
    if models is None:
        yield because("speculative-stack", stack=setup.stack, method=method)
        return
    if memory.recurrent(facts.anatomy):
        yield because("speculative-states")
    since = models.get(ANY) or models.get(facts.architecture or "")
    if since is None:
        yield because("speculative-model", stack=setup.stack, method=method, architecture=facts.architecture)
    elif version(engine) < version(since):
        yield because("speculative-release", stack=setup.stack, method=method, since=since, engine=engine)
    if setup.pp > 1:
        yield because("speculative-stages")


def _unfit(facts: ModelFacts, draft: ModelFacts | None) -> Iterator[Reason]:
    """Why ``draft`` cannot propose tokens for the model ``facts`` with EAGLE-3."""
    if draft is None:
        yield because("no-draft", model=facts.name)
    elif draft.architecture != EAGLE3:
        yield because("draft-architecture", draft=draft.ref, architecture=draft.architecture, wanted=EAGLE3)
    elif draft.anatomy is None or not draft.weight_bytes:
        yield because("draft-size", draft=draft.ref)
    elif (draft.vocabulary, draft.hidden_size) != (facts.vocabulary, facts.hidden_size):
        yield because(
            "draft-other-model",
            draft=draft.ref,
            model=facts.name,
            vocabulary=draft.vocabulary,
            of=facts.vocabulary,
            hidden=draft.hidden_size,
            width=facts.hidden_size,
        )
