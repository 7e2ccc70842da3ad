"""Speculative decoding: what prevents it. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from wizard.advise import memory
from wizard.advise.reasons import Obstacle, Reason, because, change, without
from wizard.advise.setup import Setup
from wizard.catalog.releases import version
from wizard.catalog.stacks import on_gpu
from wizard.model.anatomy import Anatomy

NONE = "none"
"""The answer for no speculative decoding."""


def obstacle(anatomy: Anatomy, setup: Setup, engine: str) -> Obstacle | None:
    """What prevents the speculative decoding of ``setup`` with the version ``engine``; None if it has none."""
    if not setup.speculative:
        return None
    if setup.pp > 1:
        return Obstacle("speculative", because("speculative-stages"), (change(pp=1), without("speculative")))
    why = next(_reasons(anatomy, setup, engine), None)
    return Obstacle("speculative", why, (without("speculative"),)) if why else None


def _reasons(anatomy: Anatomy, setup: Setup, engine: str) -> Iterator[Reason]:
    known, method = on_gpu(setup.stack).speculative, setup.speculative
    if known is None or method not in known.methods:
        yield because("speculative-stack", stack=setup.stack, method=method)
    elif version(engine) < version(known.methods[method]):
        since = known.methods[method]
        yield because("speculative-release", stack=setup.stack, method=method, since=since, engine=engine)
    elif memory.recurrent(anatomy):
        yield because("speculative-states")
