"""The engine versions that a model, its format and the GPU need, and which are too old for them. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from wizard.advise import rules
from wizard.advise.devices import Device
from wizard.advise.reasons import Obstacle, Param, Reason, because, do
from wizard.advise.rules import instead
from wizard.advise.setup import Setup
from wizard.catalog.releases import NONE, Release, architectures, floor, version
from wizard.catalog.stacks import facts as stack_facts
from wizard.catalog.trtllm_tools import tools
from wizard.model.facts import ModelFacts


@dataclass(frozen=True, slots=True)
class Need:
    """A minimum version of the engine.

    Attributes:
        code: Code of the obstacle if it is not met.
        subject: What needs it.
        first: The first such version; `NONE` if there is none.
        without: The reason if there is no such version.
    """

    code: str
    subject: Reason
    first: str
    without: Reason


def needed(facts: ModelFacts, device: Device, setup: Setup) -> tuple[Need, ...]:
    """All minimum versions of the engine: for the model, its format, and the GPU."""
    table, name, stack = architectures(), facts.architecture, setup.stack
    have = dots(device.compute_capability)
    gpu = next((gpu_needs for gpu_needs in table.gpus if gpu_needs.name == have), None)
    firsts = [
        ("architecture", because("needs-name", name=name), floor(table.models, name, stack)),
        ("architecture", because("needs-rope", model=name, kind=facts.rope), floor(table.ropes, facts.rope, stack)),
        (
            "format",
            because("needs-name", name=setup.quantization),
            floor(table.formats, setup.quantization, stack),
        ),
        ("format", because("needs-name", name=setup.quantization), _quantised(facts, setup)),
        (
            "image",
            because("needs-capability", capability=device.compute_capability),
            gpu.first.get(_family(setup)) if gpu else None,
        ),
    ]
    if rules.weight_only(device, setup):
        subject = because("needs-unpacked", name=setup.quantization, capability=device.compute_capability)
        firsts.append(("format", subject, rules.unpacks(device, setup)))
    listed = because("not-listed", engine=engine(setup), model=name)
    needs = [Need(code, subject, first, listed) for code, subject, first in firsts if first]
    if first := _converted(facts, setup):
        made = because("no-conversion", model=name)
        needs.append(Need("architecture", because("needs-conversion", model=name), first, made))
    return tuple(needs)


def too_old(needs: tuple[Need, ...], setup: Setup, has: str, release: Release | None) -> Iterator[Obstacle]:
    """Obstacles of the engine's version ``has``, which is in ``release``, or in the environment without one."""
    others = instead(setup.stack)
    for need in needs:
        if need.first == NONE:
            yield Obstacle(need.code, need.without, others or (do("another-stack"),))
        elif version(has) < version(need.first):
            values: dict[str, Param] = {
                "what": need.subject,
                "engine": engine(setup),
                "version": need.first,
                "has": has,
            }
            why = because("release-too-old", release=release.tag, **values) if release else because("too-old", **values)
            yield Obstacle(need.code, why, (do("newer-release"), *others))


def _family(setup: Setup) -> str:
    """The family of images that contain the stack's engine; empty if there is none."""
    image = stack_facts(setup.stack).image
    return image.family if image and not image.own_packages else ""


def _converted(facts: ModelFacts, setup: Setup) -> str | None:
    """First TensorRT-LLM with a known conversion of the model; `NONE` if no conversion is known."""
    if not stack_facts(setup.stack).builds_engine or facts.architecture is None:
        return None
    family = tools().family(facts.architecture)
    return family.architectures[facts.architecture] if family else NONE


def _quantised(facts: ModelFacts, setup: Setup) -> str | None:
    """First TensorRT-LLM that produces the format."""
    if not stack_facts(setup.stack).builds_engine or facts.quantization:
        return None
    made = tools().format(setup.quantization)
    return made.since if made else None


def engine(setup: Setup) -> Reason:
    """Name of a stack's engine."""
    known = stack_facts(setup.stack)
    return because("pytorch-backend" if known.pytorch_backend else "engine", engine=known.engine or known.title)


def dots(parts: tuple[int, ...]) -> str:
    """A version as text: ``8.9``."""
    return ".".join(map(str, parts))
