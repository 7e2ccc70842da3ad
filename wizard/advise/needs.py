"""The engine versions that a model, its format and the GPU need, and which are too old or too new. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from wizard.advise import rules
from wizard.advise.checkpoint import METHODS
from wizard.advise.devices import Device
from wizard.advise.reasons import Obstacle, Param, Reason, because, do
from wizard.advise.rules import instead
from wizard.advise.setup import Setup
from wizard.catalog.releases import NONE, Release, architectures, ceiling, floor, version
from wizard.catalog.stacks import facts as stack_facts
from wizard.catalog.stacks import on_gpu
from wizard.catalog.trtllm_tools import tools
from wizard.model.facts import ModelFacts


@dataclass(frozen=True, slots=True)
class Need:
    """A minimum version of the engine, and of a model that a release dropped, the last one.

    Attributes:
        code: Code of the obstacle if it is not met.
        subject: What needs it.
        first: The first such version; `NONE` if there is none.
        without: The reason if there is no such version.
        last: The last such version; None if no release dropped it.
        read: The newest version known not to be such a one if ``first`` is `NONE`; None if it holds for all.
    """

    code: str
    subject: Reason
    first: str
    without: Reason
    last: str | None = None
    read: str | None = None


def needed(facts: ModelFacts, device: Device, setup: Setup) -> tuple[Need, ...]:
    """All versions of the engine that are needed: for the model, its format, and the GPU."""
    table, name, stack = architectures(), facts.architecture, setup.stack
    listed = because("not-listed", engine=engine(setup), model=name)
    last, read = ceiling(table.models, name, stack), table.read.get(stack_facts(stack).floors)
    model = Need(
        "architecture", because("needs-name", name=name), floor(table.models, name, stack) or "", listed, last, read
    )
    have = dots(device.compute_capability)
    gpu = next((gpu_needs for gpu_needs in table.gpus if gpu_needs.name == have), None)
    firsts = [
        ("architecture", because("needs-rope", model=name, kind=facts.rope), floor(table.ropes, facts.rope, stack)),
        (
            "format",
            because("needs-format", format=setup.quantization),
            floor(table.formats, setup.quantization, stack),
        ),
        ("format", because("needs-format", format=setup.quantization), _quantised(facts, setup)),
        (
            "image",
            because("needs-capability", capability=device.compute_capability),
            gpu.first.get(_family(setup)) if gpu else None,
        ),
    ]
    if (gpus := on_gpu(stack).formats.gpus.get(setup.quantization)) and (since := gpus.since.get(have)):
        subject = because("needs-unpacked", format=setup.quantization, capability=device.compute_capability)
        firsts.append(("format", subject, since))
    if rules.weight_only(device, setup):
        subject = because("needs-unpacked", format=setup.quantization, capability=device.compute_capability)
        firsts.append(("format", subject, rules.unpacks(device, setup)))
        row = rules.exception(facts, on_gpu(setup.stack).formats, setup.quantization)
        firsts.append(("format", subject, row.engine if row else None))
    needs = [model] if model.first else []
    if method := _method(facts, setup):
        since = floor(table.methods, method, stack)
        lacking = because("no-method", engine=engine(setup), method=method)
        needed_for = because("needs-method", name=method)
        until = ceiling(table.methods, method, stack)
        needs += [Need("format", needed_for, since, lacking, until, read)] if since else []
    needs += [Need(code, subject, first, listed) for code, subject, first in firsts if first]
    if first := _converted(facts, setup):
        made = because("no-conversion", model=name)
        needs.append(Need("architecture", because("needs-conversion", model=name), first, made))
    return tuple(needs)


def too_old(needs: tuple[Need, ...], setup: Setup, has: str, release: Release | None) -> Iterator[Obstacle]:
    """Obstacles of the engine's version ``has``, which is in ``release``, or in the environment without one; also
    that it is too new.
    """
    others = instead(setup.stack)
    numbers = version(has.partition("+")[0])
    for need in needs:
        if need.first == NONE:
            if need.read is None or numbers <= version(need.read):
                yield Obstacle(need.code, need.without, others or (do("another-stack"),))
        elif numbers < version(need.first):
            about = _versions(need, need.first, setup, has)
            why = because("release-too-old", release=release.tag, **about) if release else because("too-old", **about)
            yield Obstacle(need.code, why, (do("newer-release"), *others))
        elif need.last and numbers > version(need.last):
            about = _versions(need, need.last, setup, has)
            why = because("release-too-new", release=release.tag, **about) if release else because("too-new", **about)
            yield Obstacle(need.code, why, (do("older-release"), *others))


def _versions(need: Need, wanted: str, setup: Setup, has: str) -> dict[str, Param]:
    """Parameters of the reason that a version does not meet ``need``."""
    return {"what": need.subject, "engine": engine(setup), "version": wanted, "has": has}


def _family(setup: Setup) -> str:
    """The family of images that contain the stack's engine; empty if there is none."""
    image = stack_facts(setup.stack).image
    return image.family if image and not image.own_packages else ""


def _method(facts: ModelFacts, setup: Setup) -> str:
    """``quant_method`` of the checkpoint that the engine loads; empty if none is loaded or it is not known."""
    if facts.quantization:
        return facts.quantization.method
    known = on_gpu(setup.stack).formats
    online = known.online is not None and setup.quantization in known.online.formats
    return "" if online or stack_facts(setup.stack).builds_engine else METHODS.get(setup.quantization, "")


def _converted(facts: ModelFacts, setup: Setup) -> str | None:
    """First TensorRT-LLM with a known conversion of the model; `NONE` if no conversion is known."""
    if not stack_facts(setup.stack).builds_engine or facts.architecture is None:
        return None
    family = tools().family(facts.architecture)
    return family.architectures[facts.architecture] if family else NONE


def _quantised(facts: ModelFacts, setup: Setup) -> str | None:
    """First TensorRT-LLM that produces the format, or reads the stored checkpoint."""
    if not stack_facts(setup.stack).builds_engine:
        return None
    if facts.quantization:
        return tools().reads(facts.quantization.method, facts.architecture or "")
    made = tools().format(setup.quantization)
    return made.since if made else None


def engine(setup: Setup) -> Reason:
    """Name of a stack's engine."""
    known = stack_facts(setup.stack)
    return because("pytorch-backend" if known.pytorch_backend else "engine", engine=known.engine or known.title)


def dots(parts: tuple[int, ...]) -> str:
    """A version as text: ``8.9``."""
    return ".".join(map(str, parts))
