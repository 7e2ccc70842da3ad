"""Data parallelism: ranks of a replica with the whole attention and the cache of their users, which share the
experts. Pure.

Replicas do the same for a model without experts. With them it spares copies of the experts, and with multi-head latent
attention copies of the cache, which tensor parallelism does not divide.
"""

from __future__ import annotations

from wizard.advise import service
from wizard.advise.advice import Choice, Constraints
from wizard.advise.devices import Device
from wizard.advise.reasons import Note, Obstacle, because, without
from wizard.advise.setup import Setup
from wizard.catalog.releases import version
from wizard.catalog.stacks import on_gpu
from wizard.model.anatomy import Anatomy

SIZES = (2, 4, 8)
"""Numbers of ranks to try."""


def sizes(
    anatomy: Anatomy | None, device: Device, stack: str, tp: int, gpus: int, constraints: Constraints
) -> list[int]:
    """The data parallel sizes to try with ``tp`` on at most ``gpus`` GPUs.

    Without a size that was asked for, only where tensor parallelism would copy the whole cache to each GPU.
    """
    if constraints.dp:
        return [constraints.dp]
    latent = anatomy is not None and anatomy.experts and all(each.latent for each in anatomy.attention)
    split = tp > 1 and not constraints.tp
    if not latent or split or device.mig or constraints.pp or on_gpu(stack).splits.data is None:
        return [1]
    return [1, *(size for size in SIZES if size * tp <= gpus)]


def too_old(setup: Setup, engine: str) -> Obstacle | None:
    """The obstacle if the engine's version has no data-parallel ranks."""
    known = on_gpu(setup.stack).splits.data
    if setup.dp == 1 or known is None or version(engine) >= version(known.since):
        return None
    why = because("dp-release", stack=setup.stack, since=known.since, engine=engine)
    return Obstacle("data-parallel", why, (without("dp"),))


def as_needed(choices: list[Choice], constraints: Constraints) -> list[Choice]:
    """``choices`` without data-parallel ones that were not asked for and have no more room than another."""

    def roomy(other: Choice, choice: Choice) -> bool:
        like = (other.stack, other.quantization) == (choice.stack, choice.quantization)
        users = min(choice.users, service.all_users(constraints, choice.shares))
        return like and other.dp == 1 and other.users >= users and other.max_seq_len >= choice.max_seq_len

    if constraints.dp:
        return choices
    return [choice for choice in choices if choice.dp == 1 or not any(roomy(each, choice) for each in choices)]


def note(setup: Setup, users: int) -> Note:
    """What each rank has, with room for ``users``."""
    return Note("data-parallel", {"dp": setup.dp, "tp": setup.tp, "users": users})
