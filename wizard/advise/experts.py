"""Expert parallelism: when each rank holds whole experts instead of a part of every expert. Pure."""

from __future__ import annotations

from dataclasses import replace

from wizard.advise.advice import Choice, Constraints
from wizard.advise.devices import Device
from wizard.advise.reasons import Note, Obstacle, because, without
from wizard.advise.release import Resolved
from wizard.advise.rules import uneven, whole_experts
from wizard.advise.setup import Setup
from wizard.catalog.releases import version
from wizard.catalog.stacks import on_gpu
from wizard.model.facts import ModelFacts


def divided(
    facts: ModelFacts, device: Device, setup: Setup, constraints: Constraints, release: Resolved | Obstacle
) -> Setup:
    """``setup`` with whole experts on each rank if the user asks for it or ``dp`` spreads them, or if experts cannot be
    split otherwise.

    No estimate was fitted to it, so it is the last resort (`as_needed`).
    """
    if constraints.expert_parallel or setup.dp > 1:
        return replace(setup, expert_parallel=True)
    if isinstance(release, Resolved) and _needed(facts, device, setup, release.engine_version):
        return replace(setup, expert_parallel=True)
    return setup


def _needed(facts: ModelFacts, device: Device, setup: Setup, engine: str) -> bool:
    """Whether ``setup`` divides evenly only with whole experts, and the engine's version can hold them."""
    whole = replace(setup, expert_parallel=True)
    if facts.anatomy is None or any(whole_experts(facts.anatomy, device, whole)) or too_old(whole, engine):
        return False
    return any(uneven(facts, facts.anatomy, device, setup)) and not any(uneven(facts, facts.anatomy, device, whole))


def too_old(setup: Setup, engine: str) -> Obstacle | None:
    """The obstacle if the engine's version cannot hold whole experts on each rank."""
    known = on_gpu(setup.stack).splits.experts
    if not setup.expert_parallel or known is None or version(engine) >= version(known.since):
        return None
    why = because("experts-release", stack=setup.stack, since=known.since, engine=engine)
    return Obstacle("experts", why, (without("expert_parallel"),))


def as_needed(choices: list[Choice], constraints: Constraints) -> list[Choice]:
    """``choices`` without those with whole experts, unless nothing else fits or the user's own split needs them."""
    if constraints.tp is not None or all(choice.expert_parallel for choice in choices):
        return choices
    return [choice for choice in choices if not choice.expert_parallel or choice.dp > 1]


def note(experts: int, setup: Setup, constraints: Constraints) -> Note:
    """How ``experts`` routed experts of a layer are distributed, and whether the user asked for it."""
    held = {"experts": -(-experts // (setup.tp * setup.dp)), "of": experts, "tp": setup.tp}
    return Note("experts" if constraints.expert_parallel or setup.dp > 1 else "experts-needed", held)
