"""The rules that a setup must meet on a group of GPUs: an obstacle with its reason for each broken rule. Pure.

The abilities of a stack are in ``profiles/stacks``. Sources of the rest: heads, groups and blocks:
vllm/config/model.py, marlin_utils.py; tensorrt_llm/layers/attention.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from wizard.advise.devices import Device
from wizard.advise.reasons import Note, Obstacle, Param, Reason, Remedy, because, change, do, without
from wizard.advise.setup import Setup
from wizard.catalog import stacks
from wizard.catalog.gpu_facts import Capability, Checkpoints, Formats, Models
from wizard.catalog.stacks import on_gpu
from wizard.catalog.trtllm_tools import tools
from wizard.model.anatomy import Anatomy
from wizard.model.facts import ModelFacts
from wizard.model.formats import of

BF16: Capability = (8, 0)
PCIE, WEIGHT_ONLY = "pcie-tp", "weight-only"
"""Codes of the warnings that ranks wait for PCIe, and that the engine only unpacks the weights."""

MULTIPLIED: dict[str, Capability] = {"fp8": (8, 9), "fp8_block": (8, 9), "nvfp4": (10, 0), "mxfp4": (10, 0)}
"""Oldest GPU whose tensor cores multiply the format. On older ones some engines unpack the weights to 16 bits."""


def obstacles(facts: ModelFacts, anatomy: Anatomy, device: Device, setup: Setup) -> Iterator[Obstacle]:
    """Every rule that ``setup`` breaks on ``device``, the most fundamental first."""
    yield from _machine(facts, device, setup)
    yield from _format(facts, anatomy, device, setup)
    yield from _cache(facts, device, setup)
    yield from _split(facts, anatomy, device, setup)


def instead(stack: str) -> tuple[Remedy, ...]:
    """The alternative if ``stack`` cannot serve; empty if there is no other."""
    known = stacks.facts(stack).instead if stack in stacks.names() else ()
    return tuple(change(stack=name) for name in known[:1])


def weight_only(device: Device, setup: Setup) -> bool:
    """Whether the engine only unpacks the weights, because the tensor cores do not multiply their format."""
    old = device.compute_capability < MULTIPLIED.get(setup.quantization, (0, 0))
    return old and bool(on_gpu(setup.stack).formats.unpacked)


def unpacks(device: Device, setup: Setup) -> str:
    """The first version of the engine that unpacks weights on ``device``."""
    rows = on_gpu(setup.stack).formats.unpacked
    return next((row.engine for row in rows if device.compute_capability >= row.capability), "0")


def not_multiplied(device: Device, setup: Setup) -> Obstacle:
    """Why another checkpoint in this format is not recommended where `weight_only` applies, unless it is requested."""
    name = setup.quantization
    why = because("only-unpacked", **_later(name, MULTIPLIED[name], device))
    anyway = Remedy("all-the-same", {"quantization": name})
    return Obstacle("format", why, (_newer_gpu(MULTIPLIED[name]), anyway))


def _later(name: str, oldest: Capability, device: Device) -> dict[str, str | Capability]:
    """The reason for a format that only later GPUs support."""
    return {"format": name, "wanted": oldest, "gpu": device.name, "capability": device.compute_capability}


def _fewer(setup: Setup, there: int) -> Remedy:
    """The remedy if ``there`` GPUs are too few for the stages and ranks of ``setup``, whatever its tp."""
    ranks = there // (setup.tp * setup.pp)
    dp = {} if setup.dp == 1 else {"dp": ranks if ranks > 1 else None}
    return change(**dp) if ranks else change(pp=there, **dp)


def _machine(facts: ModelFacts, device: Device, setup: Setup) -> Iterator[Obstacle]:
    have, oldest = device.compute_capability, on_gpu(setup.stack).oldest.capability
    if have < oldest:
        why = because("stack-capability", stack=setup.stack, wanted=oldest, gpu=device.name, capability=have)
        yield Obstacle("capability", why, (_newer_gpu(oldest),))
    if setup.gpus > 1 and device.mig:
        yield Obstacle("mig", because("mig"), (change(tp=1, pp=1, **({"dp": None} if setup.dp > 1 else {})),))
    elif setup.gpus > len(device.indices):
        there = len(device.indices)
        why = because("few-gpus", **split_of(setup), there=there, gpu=device.name, one_machine=bool(device.named))
        most = there // setup.pp // setup.dp
        yield Obstacle("gpus", why, (change(tp=1 << most.bit_length() - 1) if most else _fewer(setup, there),))
    if setup.dtype == "bfloat16" and have < BF16:
        why = because("no-bfloat16", wanted=BF16, gpu=device.name, capability=have)
        yield Obstacle("dtype", why, (do("float16"),))
    if setup.dtype == "float32":
        yield from _float32(facts, device, setup)


def split_of(setup: Setup) -> dict[str, Param]:
    """The values of messages about the split of ``setup``."""
    ranks: dict[str, Param] = {"dp": setup.dp} if setup.dp > 1 else {}
    return {"tp": setup.tp, "pp": setup.pp, **ranks, "gpus": setup.gpus}


def _float32(facts: ModelFacts, device: Device, setup: Setup) -> Iterator[Obstacle]:
    """What prevents a model that overflows in float16 from running in float32."""
    have, known = device.compute_capability, on_gpu(setup.stack).float32
    about: dict[str, Param] = {"model": facts.name, "wanted": BF16, "gpu": device.name, "capability": have}
    if known is None or have < known.capability:
        why = because("float16-overflow", stack=setup.stack, **about)
        yield Obstacle("dtype", why, (_newer_gpu(BF16), *instead(setup.stack)))
    elif setup.quantization != "none":
        why = because("float32-format", format=setup.quantization, **about)
        yield Obstacle("dtype", why, (_newer_gpu(BF16), do("sixteen-bits")))


def _format(facts: ModelFacts, anatomy: Anatomy, device: Device, setup: Setup) -> Iterator[Obstacle]:
    known = on_gpu(setup.stack).formats
    if known.sixteen_only:
        if (name := setup.quantization) != "none":
            yield Obstacle("format", because("sixteen-only", format=name), (do("sixteen-bits"), do("another-stack")))
    elif not _loads(facts, known, setup.stack):
        why = because("unloaded-method", stack=setup.stack, method=_method(facts))
        yield Obstacle("format", why, (do("sixteen-bits"), *instead(setup.stack)))
    elif known.unpacked:
        yield from _kernels(facts, known, device, setup)
    else:
        yield from _tensor_cores(known, device, setup)
        if known.models:
            yield from _model_format(facts, anatomy, known.models, setup)


def _kernels(facts: ModelFacts, known: Formats, device: Device, setup: Setup) -> Iterator[Obstacle]:
    """An engine that unpacks what tensor cores do not multiply."""
    name, have = setup.quantization, device.compute_capability
    gpus = known.gpus.get(name)
    if gpus is None:
        yield Obstacle("format", because("no-kernels", format=name), (OTHER_CHECKPOINT,))
    elif have < gpus.oldest:
        yield Obstacle("format", because("vllm-format", **_later(name, gpus.oldest, device)), _newer(gpus.oldest))
    elif not gpus.have(have):
        yield _unlisted(device, setup)
    elif (row := exception(facts, known, name)) and have < row.oldest:
        why = because("checkpoint-format", method=_method(facts), **_later(name, row.oldest, device))
        yield Obstacle("format", why, _newer(row.oldest))


def _tensor_cores(known: Formats, device: Device, setup: Setup) -> Iterator[Obstacle]:
    """An engine that needs tensor cores for the format."""
    name, have = setup.quantization, device.compute_capability
    gpus = known.gpus.get(name)
    if gpus and gpus.oldest > have:
        why = because("not-multiplied", **_later(name, gpus.oldest, device))
        yield Obstacle("format", why, _newer(gpus.oldest))
    elif gpus is None or not gpus.have(have):
        yield _unlisted(device, setup)


def _loads(facts: ModelFacts, known: Formats, stack: str) -> bool:
    """Whether the stack reads a stored checkpoint's ``quant_method``; True if that is not known."""
    method = _method(facts)
    if not method or (known.methods and method in known.methods):
        return True
    if known.methods or not stacks.facts(stack).builds_engine or not facts.architecture:
        return not known.methods
    if tools().family(facts.architecture) is None:
        return True  # it has no conversion at all
    reordered = facts.quantization is not None and facts.quantization.desc_act
    return not reordered and tools().reads(method, facts.architecture) is not None


def _unlisted(device: Device, setup: Setup) -> Obstacle:
    """The stack's table does not have the format for this GPU."""
    about: dict[str, Param] = {"stack": setup.stack, "format": setup.quantization}
    why = because("unlisted-format", **about, capability=device.compute_capability, gpu=device.name)
    return Obstacle("format", why, (OTHER_CHECKPOINT,))


def exception(facts: ModelFacts, known: Formats, name: str) -> Checkpoints | None:
    """What the producer of the checkpoint changes about the format ``name``; None: nothing."""
    method = _method(facts)
    rows = (row for row in known.checkpoints if name in row.formats and method.startswith(row.method))
    return next(rows, None)


def _method(facts: ModelFacts) -> str:
    return facts.quantization.method if facts.quantization else ""


def _cache(facts: ModelFacts, device: Device, setup: Setup) -> Iterator[Obstacle]:
    have, oldest = device.compute_capability, on_gpu(setup.stack).cache.fp8
    if setup.kv_cache_dtype == "fp8" and facts.quantization and stacks.facts(setup.stack).builds_engine:
        yield Obstacle("kv-dtype", because("uncalibrated-cache", stack=setup.stack), (change(kv_dtype="auto"),))
    elif setup.kv_cache_dtype == "fp8" and oldest is None:
        yield Obstacle("kv-dtype", because("sixteen-bit-cache"), (change(kv_dtype="auto"),))
    elif setup.kv_cache_dtype == "fp8" and oldest and have < oldest:
        why = because("fp8-cache", stack=setup.stack, wanted=oldest, gpu=device.name, capability=have)
        yield Obstacle("kv-dtype", why, (change(kv_dtype="auto"),))


OTHER_CHECKPOINT = do("another-checkpoint")


def _newer_gpu(oldest: Capability) -> Remedy:
    return do("gpu-capability", capability=oldest)


def _newer(oldest: Capability) -> tuple[Remedy, ...]:
    return _newer_gpu(oldest), OTHER_CHECKPOINT


def _model_format(facts: ModelFacts, anatomy: Anatomy, known: Models, setup: Setup) -> Iterator[Obstacle]:
    name = facts.architecture or ""
    if setup.quantization in ("none", "fp8"):
        return
    others = instead(setup.stack) or (do("another-stack"),)
    # Cases and headers without an architecture name: eight experts of which two are active are Mixtral's.
    mixtral = name in known.not_int4 or (not name and anatomy.experts == 8 and anatomy.experts_per_token == 2)
    if mixtral and setup.quantization in ("int4_awq", "int4_gptq", "int8_sq"):
        yield Obstacle("model", because("mixtral-format", format=setup.quantization), others)
    if name in known.sixteen_only:
        yield Obstacle("model", because("phi-format", format=setup.quantization), others)


def _split(facts: ModelFacts, anatomy: Anatomy, device: Device, setup: Setup) -> Iterator[Obstacle]:
    """Heads, kv heads, widths, groups and blocks must divide evenly among the ranks."""
    if setup.pp > anatomy.layers:
        yield Obstacle("split", because("stages", layers=anatomy.layers, stages=setup.pp), (change(pp=1),))
    yield from _ranks(facts, anatomy, setup)
    splits = on_gpu(setup.stack).splits
    if not splits.ranks and setup.gpus > 1:
        yield Obstacle("split", because("one-gpu"), (change(tp=1, pp=1),))
    if splits.stages == "even" and anatomy.layers % setup.pp:
        why = because("like-stages", layers=anatomy.layers, pp=setup.pp)
        yield Obstacle("split", why, (change(pp=_divisor(anatomy.layers, setup.pp)),))
    if setup.expert_parallel and (setup.dp == 1 or anatomy.experts):
        yield from whole_experts(anatomy, device, setup)
    for code, why in uneven(facts, anatomy, device, setup):
        smaller = (split for split in (8, 4, 2) if split < setup.tp)
        even = next(
            (split for split in smaller if not any(uneven(facts, anatomy, device, replace(setup, tp=split)))), 1
        )
        other = OTHER_GROUPS.get(setup.quantization) if code == "group" else None
        yield Obstacle(code, why, (change(tp=even), *((other,) if other else ())))


def _ranks(facts: ModelFacts, anatomy: Anatomy, setup: Setup) -> Iterator[Obstacle]:
    """What prevents data-parallel ranks: the model, then the stack, then the split."""
    if setup.dp == 1:
        return
    known, off = on_gpu(setup.stack).splits.data, without("dp")
    if not anatomy.experts:
        yield Obstacle("data-parallel", because("dp-dense"), (change(dp=None, replicas=setup.dp), off))
    elif known is None:
        yield Obstacle("data-parallel", because("dp-stack", stack=setup.stack), (*instead(setup.stack), off))
    elif known.models and facts.architecture not in known.models:
        why = because("dp-model", stack=setup.stack, model=facts.name)
        yield Obstacle("data-parallel", why, (*instead(setup.stack), off))
    elif setup.pp > 1:
        yield Obstacle("data-parallel", because("dp-stages"), (change(pp=1), off))
    elif setup.tp > 1 and not known.tensor:
        yield Obstacle("data-parallel", because("dp-tp", stack=setup.stack), (change(tp=1), off))


def whole_experts(anatomy: Anatomy, device: Device, setup: Setup) -> Iterator[Obstacle]:
    """What prevents whole experts on each rank: the model, then the stack, then the GPUs."""
    known, ranks = on_gpu(setup.stack).splits.experts, setup.tp * setup.dp
    parts = without("dp" if setup.dp > 1 else "expert_parallel")
    several = len(device.indices) > 1 and not device.mig
    if not anatomy.experts:
        yield Obstacle("experts", because("no-experts"), (parts,))
    elif known is None:
        other = instead(setup.stack) if several else ()
        yield Obstacle("experts", because("experts-stack", stack=setup.stack), (*other, parts))
    elif setup.quantization in known.without:
        why = because("experts-format", stack=setup.stack, format=setup.quantization)
        yield Obstacle("experts", why, (parts,))
    elif ranks == 1:
        more = (change(tp=2),) if several else ()
        yield Obstacle("experts", because("experts-alone"), (*more, parts))
    elif known.even and anatomy.experts % ranks:
        why = because("experts-uneven", stack=setup.stack, experts=anatomy.experts, tp=ranks)
        fewer = _divisor(anatomy.experts, setup.tp)
        yield Obstacle("experts", why, (*((change(tp=fewer),) if fewer > 1 else ()), parts))


OTHER_GROUPS = {"fp8_block": do("per-tensor-fp8"), "int4_awq": do("padded-repository")}
"""What else helps if groups or blocks do not divide evenly, by format."""


def uneven(facts: ModelFacts, anatomy: Anatomy, device: Device, setup: Setup) -> Iterator[tuple[str, Reason]]:
    """Kind and reason of everything that does not divide evenly among ``setup.tp`` ranks."""
    tp = setup.tp
    if tp == 1:
        return
    if anatomy.heads % tp:
        yield "split", because("heads", heads=anatomy.heads, tp=tp)
    latent = any(attention.latent is not None for attention in anatomy.attention)
    if anatomy.kv_heads and not latent and anatomy.kv_heads % tp and tp % anatomy.kv_heads:
        yield "split", because("kv-heads", heads=anatomy.kv_heads, tp=tp)
    for part, width in _widths(anatomy, setup):
        if width % tp:
            yield "split", because("width", part=part, width=width, tp=tp)
        elif (unit := _unit(facts, device, setup)) > 1 and width // tp % unit:
            values = {"width": width, "tp": tp, "each": width // tp, "unit": unit}
            yield "group", because("group", format=setup.quantization, part=part, **values)


def _widths(anatomy: Anatomy, setup: Setup) -> list[tuple[str, int]]:
    """The widths that are divided among the ranks."""
    widths = [
        ("feed-forward", anatomy.intermediate),
        ("experts", 0 if setup.expert_parallel else anatomy.expert_intermediate),
        ("shared experts", anatomy.shared_intermediate),
    ]
    return [(part, width) for part, width in widths if width]


def _unit(facts: ModelFacts, device: Device, setup: Setup) -> int:
    """Columns of a rank that must stay together: a group of 4-bit weights, a block of FP8, a tile of the kernels."""
    name = setup.quantization
    if name in ("int4_awq", "int4_gptq", "w4a8_awq"):
        return max(128, of(facts, name).group or 0)  # Marlin's tile is 128 deep
    if name in ("fp8", "nvfp4") and weight_only(device, setup):
        return 64  # columns of a tile in which Marlin repacks: "size_n … is not divisible by tile_n_size = 64"
    return {"fp8_block": 128, "fp8": 16, "nvfp4": 16}.get(name, 1)


def _divisor(count: int, most: int) -> int:
    return max(divisor for divisor in range(1, min(count, most) + 1) if count % divisor == 0)


def warnings(facts: ModelFacts, device: Device, setup: Setup) -> list[Note]:
    """What works but the user should know."""
    notes: list[Note] = []
    if setup.tp > 2 and device.link != "nvlink":
        notes.append(Note(PCIE, {"tp": setup.tp, "pp": setup.pp}))
    if weight_only(device, setup):
        notes.append(Note(WEIGHT_ONLY, {"gpu": device.name, "format": setup.quantization}))
    if facts.quantization and facts.quantization.desc_act and setup.tp > 1:
        notes.append(Note("desc-act"))
    if setup.dtype == "float32":
        notes.append(Note("float32", {"model": facts.name, "gpu": device.name}))
    elif device.compute_capability < BF16 and facts.dtype == "bfloat16":
        notes.append(Note("float16"))
    return notes
