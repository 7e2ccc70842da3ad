"""Notes on a setup on GPUs: its reasons and warnings. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from wizard.advise import data_parallel, experts, memory, not_chat, rules
from wizard.advise.advice import GATED, Checkpoint, Constraints, Memory
from wizard.advise.devices import Device
from wizard.advise.fit import Fit
from wizard.advise.reasons import Note, Param
from wizard.advise.setup import Setup
from wizard.catalog.stacks import on_gpu
from wizard.model.anatomy import Anatomy
from wizard.model.facts import ModelFacts


def warnings(facts: ModelFacts, device: Device, setup: Setup, best: Fit, fetched: Checkpoint) -> Iterator[Note]:
    """What to know before it is served."""
    yield from not_chat.notes(facts)
    yield from rules.warnings(facts, device, setup)
    if best.cut:
        yield Note("few-users", {"users": best.users, "tokens": best.length})
    if device.named:
        yield Note("one-machine", {"count": device.named, "gpu": device.name, "here": len(device.indices)})
    if device.holders:
        yield Note("busy", {"holders": device.holders})
    if fetched.how != "stored":
        values: dict[str, Param] = {"format": setup.quantization, "ref": fetched.ref, "size_bytes": fetched.bytes}
        yield Note(_NOTES[fetched.how], {**values, "stack": setup.stack}, fetched.source)
    if facts.gated and fetched.how != "ready":  # whether a ready repository is gated is not known
        yield GATED
    yield from not_chat.without_template(facts)


_NOTES = {
    "ready": "checkpoint-ready",
    "loading": "checkpoint-loading",
    "building": "checkpoint-building",
    "assumed": "checkpoint-assumed",
}
"""Code of the note about a checkpoint that is not served as it is stored."""


def _weights_note(anatomy: Anatomy, setup: Setup, bill: Memory, fetched: Checkpoint) -> Note:
    values: dict[str, Param] = {
        "format": setup.quantization,
        "how": fetched.how,
        "ref": fetched.ref,
        "size_bytes": bill.weights_bytes,
        "parameters": anatomy.parts.total,
    }
    if setup.dtype == "float32":
        values["dtype"] = setup.dtype
    return Note("weights", values)


def _memory_note(device: Device, setup: Setup, best: Fit) -> Note:
    bill = best.memory
    cache = on_gpu(setup.stack).cache
    values: dict[str, Param] = {
        "used_bytes": bill.total_bytes,
        "budget_bytes": bill.budget_bytes,
        "total_bytes": device.total_bytes,
        "counts_of": cache.counts_of,
    }
    if cache.counts_of == "total":
        values |= {"share": best.utilization, "outside_bytes": best.outside}
    elif cache.counts_of == "free":
        values |= {"share": memory.kv_fraction(device, setup, bill), "fraction": cache.knob}
    return Note("memory", values, cache.source if cache.knob else None)


def reasons(
    anatomy: Anatomy, device: Device, setup: Setup, best: Fit, fetched: Checkpoint, constraints: Constraints
) -> Iterator[Note]:
    """Why it is as it is."""
    bill = best.memory
    yield _weights_note(anatomy, setup, bill, fetched)
    if setup.replicas > 1:
        code = "replicas-on-slices" if device.mig else "replicas"
        yield Note(code, {"replicas": setup.replicas, "gpus": setup.gpus, "users": best.users * setup.dp})
    if setup.gpus > 1:
        yield Note("split", {**rules.split_of(setup), "link": device.link})
    if setup.dp > 1:
        yield data_parallel.note(setup, best.users)
    if setup.expert_parallel:
        yield experts.note(anatomy.experts, setup, constraints)
    if setup.speculative:
        yield Note("speculative", {"method": setup.speculative, "tokens": setup.lookahead})
    if setup.draft:
        values: dict[str, Param] = {"size_bytes": memory.draft_weights(setup, setup.draft)}
        yield Note("draft", {**values, "ref": constraints.draft}) if constraints.draft else Note("draft-layers", values)
    values = {
        "users": best.users,
        "length": best.length,
        "need_bytes": bill.kv_bytes_per_token * best.users * best.length,
        "cache_bytes": bill.kv_bytes_per_token * bill.kv_capacity_tokens,
        "tokens": bill.kv_capacity_tokens,
        "longest": best.longest,
    }
    yield Note("context", values)
    yield _memory_note(device, setup, best)
