"""What the steps of a plan read and write, by name; what follows from it: order, redoing, leaving out, fingerprints.

An artefact is a name from below, a name of a stack's own, or an absolute path. A path that no step writes is given: it
is the user's, such as a folder with weights or a Python.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from wizard.kernel import values
from wizard.plan.plan import Step

IMAGE = "image"
"""The image that everything runs in."""
ENVIRONMENT = "environment"
"""The virtual environment with Triton."""
ENGINE_ENVIRONMENT = "engine-environment"
"""The engine's own packages."""
MODEL = "model"
"""The weights, configuration and tokenizer, where the engine reads them."""
SCRIPTS = "scripts"
"""NVIDIA's scripts of a release."""
CHECKPOINT = "checkpoint"
"""The weights as TensorRT-LLM's own checkpoint."""
ENGINE = "engine"
"""The TensorRT engine, one file for each rank."""
REPOSITORY = "repository"
"""Triton's model repository."""
SERVER = "server"
"""The process or container of Triton."""
ENDPOINT = "endpoint"
"""The wizard's own note of where that server answers."""
READY = "ready"
"""The server's model, loaded."""


def adapter(name: str) -> str:
    """The LoRA adapter ``name``."""
    return f"adapter {name}"


def writers(steps: Sequence[Step], index: int) -> Iterator[Step]:
    """The steps before ``steps[index]`` that write what it reads."""
    reads = set(steps[index].reads)
    return (step for step in steps[:index] if not reads.isdisjoint(step.writes))


def missing(steps: Sequence[Step]) -> list[tuple[str, str]]:
    """Step id and artefact of everything that is read, is not given, and is written by no earlier step."""
    unwritten: list[tuple[str, str]] = []
    written: set[str] = set()
    for step in steps:
        unwritten += [(step.id, name) for name in step.reads if name not in written and not name.startswith("/")]
        written.update(step.writes)
    return unwritten


def dependants(steps: Sequence[Step], chosen: Collection[str]) -> frozenset[str]:
    """The ids in ``chosen``, and of every later step that reads what one of them writes, directly or not."""
    ids = set(chosen)
    for index, step in enumerate(steps):
        if any(writer.id in ids for writer in writers(steps, index)):
            ids.add(step.id)
    return frozenset(ids)


def fingerprints(steps: Sequence[Step]) -> dict[str, str]:
    """Step id → what changes when the step's work changes, or that of any step whose artefacts it reads.

    A step's commands may stay the same: trtllm-build says the same of a checkpoint in FP8 and of one in INT8.
    """
    made: dict[str, str] = {}
    for index, step in enumerate(steps):
        before = [made[writer.id] for writer in writers(steps, index)]
        made[step.id] = values.fingerprint([step.fingerprint, *before]) if before else step.fingerprint
    return made
