"""Artifacts: what the steps of a plan read and write, by name. They determine order, reruns, skipping, and
fingerprints.

An artifact is one of the names below, a stack's own name, or an absolute path. A path that no step writes is an input:
it belongs to the user, such as a folder with weights or a Python.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from wizard.kernel import values
from wizard.plan.plan import Step

IMAGE = "image"
"""The image that all steps run in."""
ENVIRONMENT = "environment"
"""The virtual environment with Triton."""
ENGINE_ENVIRONMENT = "engine-environment"
"""The engine's own packages."""
MODEL = "model"
"""The weights, configuration and tokenizer, where the engine reads them."""
DRAFT = "draft"
"""The draft model of speculative decoding, where the engine reads it."""
SCRIPTS = "scripts"
"""NVIDIA's scripts of a release."""
CHECKPOINT = "checkpoint"
"""The weights in TensorRT-LLM's own checkpoint format."""
ENGINE = "engine"
"""The TensorRT engine, one file per rank."""
REPOSITORY = "repository"
"""Triton's model repository."""
SERVER = "server"
"""Triton's process or container."""
ENDPOINT = "endpoint"
"""The wizard's own file with the address of that server."""
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
    """Step ID and artifact for everything that is read, is not an input, and is written by no earlier step."""
    unwritten: list[tuple[str, str]] = []
    written: set[str] = set()
    for step in steps:
        unwritten += [(step.id, name) for name in step.reads if name not in written and not name.startswith("/")]
        written.update(step.writes)
    return unwritten


def dependants(steps: Sequence[Step], chosen: Collection[str]) -> frozenset[str]:
    """The IDs in ``chosen``, and those of all later steps that read what one of them writes, directly or indirectly."""
    ids = set(chosen)
    for index, step in enumerate(steps):
        if any(writer.id in ids for writer in writers(steps, index)):
            ids.add(step.id)
    return frozenset(ids)


def fingerprints(steps: Sequence[Step], image: str = "") -> dict[str, str]:
    """Step ID → fingerprint that changes when the step's work changes, or that of any step whose artifacts it reads.

    A step's commands may stay the same: trtllm-build is called the same for a checkpoint in FP8 and one in INT8.
    So do the names of images, whose tags can be moved: ``image`` is the ID of the image that a step gets, if known.
    """
    made: dict[str, str] = {}
    for index, step in enumerate(steps):
        before = [made[writer.id] for writer in writers(steps, index)]
        before += [image for writer in writers(steps, index) if writer.image and image]
        made[step.id] = values.fingerprint([step.fingerprint, *before]) if before else step.fingerprint
    return made
