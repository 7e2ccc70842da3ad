"""Which repository a setup is served from, and who quantizes it. Pure: advice and plan ask the same function."""

from __future__ import annotations

from dataclasses import replace

from wizard.advise import rules
from wizard.advise.advice import Checkpoint
from wizard.advise.reasons import Obstacle, because, change, do
from wizard.advise.rules import instead
from wizard.catalog import checkpoints, stacks
from wizard.catalog.gpu_facts import Capability, Formats
from wizard.catalog.releases import version
from wizard.catalog.stack_facts import StackFacts
from wizard.model.anatomy import Anatomy
from wizard.model.facts import ModelFacts
from wizard.model.formats import disk_bytes, weight_bytes
from wizard.model.quantization import NONE

METHODS = {
    "int4_awq": "awq",
    "int4_gptq": "gptq",
    "int4_wo": "bitsandbytes",
    "fp8_block": "fp8",
    "int8_sq": "compressed-tensors",
}
"""``quant_method`` of a repository in a format if it has another name and the table of checkpoints does not tell."""
INSTEAD = {"int4_awq": "int4_gptq", "fp8": "fp8_block"}
"""Format that ready-made repositories usually have → the one that a publisher may have instead."""
ANY_FORMAT = "compressed-tensors"
"""``quant_method`` that a repository in any format may have: llm-compressor writes it whatever the algorithm."""


def checkpoint(
    facts: ModelFacts, stack: str, format_name: str | None, capability: Capability | None = None
) -> Checkpoint | None:
    """What is fetched to serve ``facts`` with ``stack`` in a format; None if no known repository has it.

    Args:
        facts: The named model.
        stack: The serving stack.
        format_name: Format of the weights; None or ``none``: 16 bits.
        capability: Of the GPU, if known: some engines load a producer's checkpoints on newer GPUs only.
    """
    name = format_name or NONE
    own = Checkpoint(facts.location, disk_bytes(facts))
    sixteen = replace(own, bytes=own.bytes or _bytes(facts, NONE))
    if facts.quantization is not None or name == NONE or (known := _formats(stack)) is None:
        return own
    if stacks.facts(stack).builds_engine:
        return replace(sixteen, how="building")
    if (other := ready(facts, known, name, capability)) is not None:
        return other
    if described(facts):
        return Checkpoint(facts.location, _bytes(facts, name), "assumed")
    if known.online and name in known.online.formats:
        return replace(sixteen, how="loading")
    return None


def tried(facts: ModelFacts, formats: tuple[str, ...]) -> tuple[str, ...]:
    """``formats``, and those in which ``facts`` is known to be published `INSTEAD`."""
    known = {row.format for row in checkpoints.ready(facts.location)}
    others = (other for usual, other in INSTEAD.items() if other in known and usual not in known)
    return (*formats, *others)


def described(facts: ModelFacts) -> bool:
    """Whether only a configuration describes the model, so that there is nothing to fetch (a plan is then refused)."""
    return facts.source == "case" or (facts.source == "folder" and not facts.local)


def ready(facts: ModelFacts, known: Formats, name: str, capability: Capability | None) -> Checkpoint | None:
    """The known repository of ``facts`` in the format ``name`` that an engine with ``known`` formats loads."""
    if facts.local:
        return None
    for row in checkpoints.ready(facts.location):
        methods = (row.method,) if row.method else (METHODS.get(name, name), ANY_FORMAT)
        if row.format == name and _loads(known, methods, name, capability):
            return Checkpoint(row.ref, _bytes(facts, name), "ready", row.source)
    return None


def _loads(known: Formats, methods: tuple[str, ...], name: str, capability: Capability | None) -> bool:
    """Whether an engine with ``known`` formats loads a repository of the first of ``methods``; the GPU must be new
    enough for each of them, because it is not known which one the repository has.
    """
    rows = [
        row for row in known.checkpoints if any(each.startswith(row.method) for each in methods) and name in row.formats
    ]
    # Whether the release at hand unpacks them is only judged where the producer is known.
    first = [rules.MULTIPLIED.get(name, row.oldest) if row.engine else row.oldest for row in rows]
    old = capability is not None and any(capability < oldest for oldest in first)
    return not old and (not known.methods or methods[0] in known.methods)


def _bytes(facts: ModelFacts, name: str) -> int | None:
    return weight_bytes(facts, facts.anatomy, name).total if facts.anatomy else None


def _formats(stack: str) -> Formats | None:
    known: StackFacts | None = stacks.facts(stack) if stack in stacks.names() else None
    return known.gpu.formats if known and known.gpu else None


def unknown(facts: ModelFacts, stack: str, name: str) -> Obstacle:
    """No repository in the format ``name`` is known that ``stack`` loads, and it does not quantize while loading."""
    rows = () if facts.local else checkpoints.ready(facts.location)
    if row := next((row for row in rows if row.format == name), None):
        why = because("unloaded-checkpoint", ref=row.ref, format=name, stack=stack)
        return Obstacle("checkpoint", why, (*instead(stack), change(quantization=NONE)))
    why = because("no-checkpoint", model=facts.name, format=name, stack=stack)
    return Obstacle("checkpoint", why, (do("find-checkpoint", format=name), change(quantization=NONE)))


def whole_while_loading(stack: str, engine: tuple[int, ...]) -> bool:
    """Whether this version of the engine first loads all 16-bit weights into the GPUs, and then quantizes them."""
    known = _formats(stack)
    first = known.online.layer_by_layer if known and known.online else ""
    return first == NONE or version(first) > engine


def too_large_to_load(facts: ModelFacts, anatomy: Anatomy, name: str, gpus: int, free_bytes: int) -> Obstacle | None:
    """Why the 16-bit weights do not fit into ``gpus`` GPUs with ``free_bytes`` each; None if they do."""
    each = weight_bytes(facts, anatomy, NONE).total // gpus
    if each <= free_bytes:
        return None
    why = because("sixteen-while-loading", size_bytes=each, format=name, free_bytes=free_bytes)
    return Obstacle("memory", why, (do("find-checkpoint", format=name), do("newer-release")))
