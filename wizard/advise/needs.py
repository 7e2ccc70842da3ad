"""Which version of an engine a model, its format and the GPU need, and what is too old for them. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from wizard.advise import rules
from wizard.advise.compatibility import Obstacle, either
from wizard.advise.devices import Device
from wizard.advise.rules import instead
from wizard.advise.setup import Setup
from wizard.catalog.releases import NONE, Floors, Release, architectures, version
from wizard.catalog.stacks import facts as stack_facts
from wizard.catalog.trtllm_tools import tools
from wizard.kernel.language import tr
from wizard.model.facts import ModelFacts


@dataclass(frozen=True, slots=True)
class Need:
    """A version of the engine that something needs.

    Attributes:
        code: Of the obstacle if it is not met.
        what: Needs it, as the subject of a sentence.
        first: The version; `NONE` if there is none.
        without: Says so if there is none.
    """

    code: str
    what: str
    first: str
    without: str = ""


def needed(facts: ModelFacts, device: Device, setup: Setup) -> tuple[Need, ...]:
    """Everything that asks for a version of the engine: the model, its format, the GPU."""
    table, name = architectures(), facts.architecture
    have = dots(device.compute_capability)
    gpu = next((one for one in table.gpus if one.name == have), None)
    found = [
        ("architecture", name, floor(table.models, name, setup)),
        (
            "architecture",
            tr("{model} with {kind} rotary embeddings", model=name, kind=facts.rope),
            floor(table.ropes, facts.rope, setup),
        ),
        ("format", setup.quantization, floor(table.formats, setup.quantization, setup)),
        ("format", setup.quantization, _quantised(facts, setup)),
        (
            "image",
            tr("Compute capability {capability}", capability=have),
            gpu.first.get(_family(setup)) if gpu else None,
        ),
    ]
    if rules.weight_only(device, setup):
        what = tr("{format} on compute capability {capability}", format=setup.quantization, capability=have)
        found.append(("format", what, rules.unpacks(device, setup)))
    listed = tr(
        "{engine} does not list {model} among the models that it serves.", engine=engine_title(setup), model=name
    )
    needs = [Need(code, what or "", first, listed) for code, what, first in found if first]
    if first := _converted(facts, setup):
        made = tr("The wizard has no conversion of {model} into an engine.", model=name)
        needs.append(Need("architecture", tr("The conversion of {model}", model=name), first, made))
    return tuple(needs)


def too_old(needs: tuple[Need, ...], setup: Setup, engine: str, release: Release | None) -> Iterator[Obstacle]:
    """What the engine's version ``engine`` is too old for, which ``release`` has, or the environment without one."""
    others = instead(setup.stack)
    for one in needs:
        if one.first == NONE:
            yield Obstacle(one.code, one.without, either(*others) or tr("another stack"))
        elif version(engine) < version(one.first):
            wanted = f"{engine_title(setup)} {one.first}"
            if release:
                text = tr(
                    "{what} needs {wanted}; release {release} has {has}.",
                    what=one.what,
                    wanted=wanted,
                    release=release.tag,
                    has=engine,
                )
            else:
                text = tr("{what} needs {wanted}; here is {has}.", what=one.what, wanted=wanted, has=engine)
            yield Obstacle(one.code, text, either(tr("a newer release"), *others))


def floor(table: tuple[Floors, ...], name: str | None, setup: Setup) -> str | None:
    """The first version of the stack's engine that has ``name``; None if nobody says."""
    found = next((one for one in table if one.name == name), None)
    return found.first.get(stack_facts(setup.stack).floors) if found else None


def _family(setup: Setup) -> str:
    """The family of images that has the stack's engine; empty if there is none."""
    image = stack_facts(setup.stack).image
    return image.family if image and not image.own_packages else ""


def _converted(facts: ModelFacts, setup: Setup) -> str | None:
    """First TensorRT-LLM whose conversion the wizard knows for the model; `NONE` if it knows none."""
    if not stack_facts(setup.stack).builds_engine or facts.architecture is None:
        return None
    family = tools().family(facts.architecture)
    return family.architectures[facts.architecture] if family else NONE


def _quantised(facts: ModelFacts, setup: Setup) -> str | None:
    """First TensorRT-LLM that makes the format."""
    if not stack_facts(setup.stack).builds_engine or facts.quantization:
        return None
    made = tools().format(setup.quantization)
    return made.since if made else None


def engine_title(setup: Setup) -> str:
    """The engine of a stack for people."""
    known = stack_facts(setup.stack)
    title = known.engine or known.title
    return tr("{engine}'s PyTorch backend", engine=title) if known.pytorch_backend else title


def dots(parts: tuple[int, ...]) -> str:
    """A version in words: ``8.9``."""
    return ".".join(map(str, parts))
