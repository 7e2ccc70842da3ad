"""The setups on GPUs that are tried: stack × format × split × type of the KV cache. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from wizard.advise import checkpoint, data_parallel, rules, speculation
from wizard.advise.advice import Constraints
from wizard.advise.devices import Device
from wizard.advise.setup import Setup
from wizard.catalog.float16 import overflows
from wizard.catalog.gpu_facts import Cache
from wizard.catalog.stacks import on_gpu
from wizard.model.facts import ModelFacts
from wizard.model.formats import FORMATS

TRIED = ("none", "fp8", "nvfp4", "int4_awq")
"""Formats to try for an unquantized checkpoint: those that ready-made repositories use."""
SPLITS = (1, 2, 4, 8, 16)
STAGES = (1, 2, 4)
"""Usual numbers of pipeline stages."""


def setups(facts: ModelFacts, device: Device, constraints: Constraints, stacks: list[str]) -> Iterator[Setup]:
    """All setups worth considering on ``device``."""
    stored = facts.quantization
    most = 1 if device.mig else len(device.indices)
    there = most if constraints.max_gpus is None else min(constraints.max_gpus, most)
    copies = constraints.replicas if constraints.replicas and constraints.replicas <= there else 1
    tps = (constraints.tp,) if constraints.tp else tuple(split for split in SPLITS if split <= max(1, there // copies))
    if constraints.dp and not constraints.tp:  # only as many GPUs as there are, or a single one for the reason
        tps = tuple(split for split in tps if split * constraints.dp <= there // copies) or tps[:1]
    elif constraints.expert_parallel and not constraints.tp:
        tps = tps[1:] or tps  # experts are distributed over ranks
    names: tuple[str, ...]
    if stored is not None:
        names = (stored.format or "none",)
    elif constraints.as_published:
        names = (constraints.quantization if constraints.quantization in FORMATS else "none",)
    else:
        names = (constraints.quantization,) if constraints.quantization in FORMATS else checkpoint.tried(facts, TRIED)
    method = speculation.method(constraints)
    for stack in stacks:
        known = on_gpu(stack)
        kv = constraints.kv_dtype or _cache_dtype(facts, device, known.cache)
        for name in names if not known.formats.sixteen_only or constraints.quantization or stored else ("none",):
            for tp in tps if known.splits.ranks or constraints.tp else (1,):
                for dp in data_parallel.sizes(facts.anatomy, device, stack, tp, there // copies, constraints):
                    stages = _stages(facts, device, stack, tp, there) if dp == 1 else (1,)
                    for pp in (constraints.pp,) if constraints.pp else stages:
                        setup = Setup(stack, _dtype(facts, device, name), name, kv, tp, pp, dp, speculative=method)
                        yield speculation.prepared(facts, setup)


def _cache_dtype(facts: ModelFacts, device: Device, cache: Cache) -> str:
    """The checkpoint's type of the KV cache, unless the GPU lacks it and the engine can be told to use 16 bits."""
    stored = (facts.quantization and facts.quantization.kv_dtype) or "auto"
    lacking = stored == "fp8" and (cache.fp8 is None or device.compute_capability < cache.fp8)
    return "auto" if lacking and cache.named else stored


def _stages(facts: ModelFacts, device: Device, stack: str, tp: int, there: int) -> tuple[int, ...]:
    """Pipeline stages to try: without NVLink, where they transfer less over the links than ranks do; and as many as use
    all GPUs if their number is no power of two, because layers can be dealt out unevenly, unlike heads.
    """
    layers = facts.layers or 0
    if device.mig or on_gpu(stack).splits.stages == "none":
        return (1,)
    can = [pp for pp in STAGES[1:] if tp * pp <= there and pp <= layers and device.link != "nvlink"]
    if (rest := there // tp) not in (0, *SPLITS) and rest <= layers:
        can.append(rest)
    return (1, *(pp for pp in can if on_gpu(stack).splits.stages != "even" or layers % pp == 0))


def _dtype(facts: ModelFacts, device: Device, name: str) -> str:
    """The dtype of unquantized parts: the checkpoint's; float16 before Ampere and for GPTQ, unless it overflows."""
    old = device.compute_capability < rules.BF16
    packed = facts.quantization is not None and facts.quantization.method == "compressed-tensors"  # keeps its dtype
    if (name == "int4_gptq" and not packed) or old or facts.dtype == "float16":
        if not overflows(facts.architecture):
            return "float16"
        return "float32" if old else "bfloat16"
    return "bfloat16"
