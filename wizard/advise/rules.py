"""What a setup may not do on a group of GPUs, and why: one obstacle for each rule that it breaks. Pure.

What a stack can do is in ``profiles/stacks``. Sources of the rest: heads, groups and blocks: vllm/config/model.py,
marlin_utils.py; tensorrt_llm/layers/attention.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from wizard.advise.advice import Note
from wizard.advise.compatibility import Obstacle, either
from wizard.advise.devices import Device
from wizard.advise.formats import FORMATS, of
from wizard.advise.setup import Setup
from wizard.catalog import stacks
from wizard.catalog.stack_facts import Capability, Formats, Models
from wizard.catalog.stacks import on_gpu
from wizard.kernel.language import mark, tr
from wizard.model.anatomy import Anatomy
from wizard.model.facts import ModelFacts

BF16: Capability = (8, 0)
PCIE, WEIGHT_ONLY = "pcie-tp", "weight-only"
"""Codes of the warnings that ranks wait for PCIe, and that the engine only unpacks the weights."""

MULTIPLIED: dict[str, Capability] = {"fp8": (8, 9), "fp8_block": (8, 9), "nvfp4": (10, 0), "mxfp4": (10, 0)}
"""Oldest GPU whose tensor cores multiply the format. On older ones some engines unpack the weights to 16 bits."""


def obstacles(facts: ModelFacts, anatomy: Anatomy, device: Device, setup: Setup) -> Iterator[Obstacle]:
    """Every rule that ``setup`` breaks on ``device``, the most fundamental first."""
    yield from _machine(device, setup)
    yield from _format(facts, anatomy, device, setup)
    yield from _cache(device, setup)
    yield from _split(facts, anatomy, device, setup)


def instead(stack: str) -> tuple[str, ...]:
    """The flag of the stack to take where ``stack`` cannot serve; empty if there is no other."""
    known = stacks.facts(stack).instead if stack in stacks.names() else ()
    return tuple(f"--stack {name}" for name in known[:1])


def weight_only(device: Device, setup: Setup) -> bool:
    """Whether the engine only unpacks the weights, because the tensor cores do not multiply their format."""
    old = device.compute_capability < MULTIPLIED.get(setup.quantization, (0, 0))
    return old and bool(on_gpu(setup.stack).formats.unpacked)


def unpacks(device: Device, setup: Setup) -> str:
    """The first version of the engine that unpacks weights on ``device``."""
    rows = on_gpu(setup.stack).formats.unpacked
    return next((one.engine for one in rows if device.compute_capability >= one.capability), "0")


def not_multiplied(device: Device, setup: Setup) -> Obstacle:
    """Why another checkpoint in this format is not recommended where `weight_only` holds, unless it is asked for."""
    name = setup.quantization
    text = _too_old(FORMATS[name].title, MULTIPLIED[name], device)
    remedy = either(_newer_gpu(MULTIPLIED[name]), tr("{way} all the same", way=f"--quantization {name}"))
    return Obstacle("format", " ".join((text, tr("vLLM would only unpack it."))), remedy)


def _dotted(capability: Capability) -> str:
    return f"{capability[0]}.{capability[1]}"


def _machine(device: Device, setup: Setup) -> Iterator[Obstacle]:
    have, oldest = device.compute_capability, on_gpu(setup.stack).oldest.capability
    if have < oldest:
        text = tr(
            "{what} needs compute capability {wanted}; the {gpu} has {capability}.",
            what=stacks.facts(setup.stack).title,
            wanted=_dotted(oldest),
            gpu=device.name,
            capability=_dotted(have),
        )
        yield Obstacle("capability", text, _newer_gpu(oldest))
    if setup.gpus > 1 and device.mig:
        text = tr(
            "MIG slices reach each other neither by NVLink nor peer to peer, so a model cannot be split over them."
        )
        yield Obstacle("mig", text, either("--tp 1 --pp 1", tr("a larger slice")))
    elif setup.gpus > len(device.indices):
        there = len(device.indices)
        where = tr("{gpu} in one machine", gpu=device.name) if device.named else device.name
        text = tr(
            "tp {tp} × pp {pp} needs {gpus} like GPUs; here: {there} × {where}.",
            tp=setup.tp,
            pp=setup.pp,
            gpus=setup.gpus,
            there=there,
            where=where,
        )
        most = there // setup.pp
        yield Obstacle("gpus", text, f"--tp {1 << most.bit_length() - 1}" if most else f"--pp {there}")
    if setup.dtype == "bfloat16" and have < BF16:
        text = tr(
            "{what} needs compute capability {wanted}; the {gpu} has {capability}.",
            what="bfloat16",
            wanted=_dotted(BF16),
            gpu=device.name,
            capability=_dotted(have),
        )
        yield Obstacle("dtype", text, "float16")


def _format(facts: ModelFacts, anatomy: Anatomy, device: Device, setup: Setup) -> Iterator[Obstacle]:
    name, have = setup.quantization, device.compute_capability
    title, stack = of(facts, name).title, stacks.facts(setup.stack).title
    known = on_gpu(setup.stack).formats
    gpus = known.gpus.get(name)
    if known.sixteen_only:
        if name != "none":
            text = tr("The transformers baseline runs 16-bit weights, not {format}.", format=title)
            yield Obstacle("format", text, either(tr("the model's 16-bit repository"), tr("another stack")))
    elif known.unpacked:
        if gpus is None:
            yield Obstacle("format", tr("vLLM has no kernels for {format}.", format=title), tr(OTHER_CHECKPOINT))
        elif have < gpus.oldest:
            text = tr(
                "vLLM runs {format} from compute capability {wanted} on; the {gpu} is {capability}.",
                format=title,
                wanted=_dotted(gpus.oldest),
                gpu=device.name,
                capability=_dotted(have),
            )
            yield Obstacle("format", text, _newer(gpus.oldest))
        elif (oldest := _exception(facts, known, name)) and have < oldest:
            text = tr(
                "vLLM loads ModelOpt's {format} from compute capability {wanted} on only. The {gpu} has {capability}.",
                format=title,
                wanted=_dotted(oldest),
                gpu=device.name,
                capability=_dotted(have),
            )
            yield Obstacle("format", text, _newer(oldest))
    else:
        if gpus is None or not gpus.have(have):
            if gpus and gpus.oldest > have:
                yield Obstacle("format", _too_old(title, gpus.oldest, device), _newer(gpus.oldest))
            else:
                text = tr(
                    "{stack} does not list {format} for compute capability {capability} ({gpu}).",
                    stack=stack,
                    format=title,
                    capability=_dotted(have),
                    gpu=device.name,
                )
                yield Obstacle("format", text, tr(OTHER_CHECKPOINT))
        if known.models:
            yield from _model_format(facts, anatomy, known.models, setup, title)


def _exception(facts: ModelFacts, known: Formats, name: str) -> Capability | None:
    """The oldest GPU for the format ``name`` where it depends on who made the checkpoint."""
    method = facts.quantization.method if facts.quantization else ""
    rows = (one for one in known.checkpoints if name in one.formats and method.startswith(one.method))
    return next((one.oldest for one in rows), None)


def _cache(device: Device, setup: Setup) -> Iterator[Obstacle]:
    have, stack = device.compute_capability, stacks.facts(setup.stack).title
    oldest = on_gpu(setup.stack).cache.fp8
    if setup.kv_cache_dtype == "fp8" and oldest is None:
        text = tr("The transformers baseline keeps its KV cache in 16 bits.")
        yield Obstacle("kv-dtype", text, "--kv-dtype auto")
    elif setup.kv_cache_dtype == "fp8" and oldest and have < oldest:
        text = tr(
            "An FP8 KV cache in {stack} needs a newer GPU than compute capability {capability}.",
            stack=stack,
            capability=_dotted(have),
        )
        yield Obstacle("kv-dtype", text, "--kv-dtype auto")
    if setup.quantization == "int4_gptq" and setup.dtype != "float16":
        yield Obstacle("dtype", tr("GPTQ checkpoints are made for float16."), "float16")


def _too_old(title: str, oldest: Capability, device: Device) -> str:
    have = _dotted(device.compute_capability)
    return tr(
        "Tensor cores multiply {format} from compute capability {wanted} on; the {gpu} has {capability}.",
        format=title,
        wanted=_dotted(oldest),
        gpu=device.name,
        capability=have,
    )


OTHER_CHECKPOINT = mark("another checkpoint of the model")


def _newer_gpu(oldest: Capability) -> str:
    return tr("a GPU of compute capability {capability} or newer", capability=_dotted(oldest))


def _newer(oldest: Capability) -> str:
    return either(_newer_gpu(oldest), tr(OTHER_CHECKPOINT))


def _model_format(facts: ModelFacts, anatomy: Anatomy, known: Models, setup: Setup, title: str) -> Iterator[Obstacle]:
    name = facts.architecture or ""
    if setup.quantization in ("none", "fp8"):
        return
    remedy = either(*instead(setup.stack)) or tr("another stack")
    # Cases and headers without an architecture's name: eight experts that answer two at a time are Mixtral's.
    mixtral = name in known.not_int4 or (not name and anatomy.experts == 8 and anatomy.experts_per_token == 2)
    if mixtral and setup.quantization in ("int4_awq", "int4_gptq", "int8_sq"):
        yield Obstacle("model", tr("TensorRT-LLM's table has no {format} for Mixtral.", format=title), remedy)
    if name in known.sixteen_only:
        yield Obstacle("model", tr("TensorRT-LLM's table has Phi in 16 bits only, not {format}.", format=title), remedy)


def _split(facts: ModelFacts, anatomy: Anatomy, device: Device, setup: Setup) -> Iterator[Obstacle]:
    """Heads, kv heads, widths, groups and blocks must come out even on every rank."""
    if setup.pp > anatomy.layers:
        text = tr("{layers} layers cannot be split into {stages} stages.", layers=anatomy.layers, stages=setup.pp)
        yield Obstacle("split", text, "--pp 1")
    splits = on_gpu(setup.stack).splits
    if not splits.ranks and setup.gpus > 1:
        yield Obstacle("split", tr("The transformers baseline runs on one GPU."), "--tp 1 --pp 1")
    if splits.stages == "even" and anatomy.layers % setup.pp:
        text = tr(
            "Engines want like stages: {layers} layers are not divisible by pp {pp}.",
            layers=anatomy.layers,
            pp=setup.pp,
        )
        yield Obstacle("split", text, f"--pp {_divisor(anatomy.layers, setup.pp)}")
    for code, text in _uneven(facts, anatomy, device, setup):
        smaller = (one for one in (8, 4, 2) if one < setup.tp)
        even = next((one for one in smaller if not any(_uneven(facts, anatomy, device, replace(setup, tp=one)))), 1)
        other = OTHER_GROUPS.get(setup.quantization) if code == "group" else None
        yield Obstacle(code, text, either(f"--tp {even}", tr(other)) if other else f"--tp {even}")


OTHER_GROUPS = {"fp8_block": mark("a per-tensor FP8 repository"), "int4_awq": mark("a repository padded for it")}
"""What else helps where groups or blocks do not come out even, by format."""


def _uneven(facts: ModelFacts, anatomy: Anatomy, device: Device, setup: Setup) -> Iterator[tuple[str, str]]:
    """Code and text of everything that does not come out even on ``setup.tp`` ranks."""
    tp = setup.tp
    if tp == 1:
        return
    if anatomy.heads % tp:
        yield "split", tr("{heads} attention heads are not divisible by tp {tp}.", heads=anatomy.heads, tp=tp)
    latent = any(one.latent is not None for one in anatomy.attention)
    if anatomy.kv_heads and not latent and anatomy.kv_heads % tp and tp % anatomy.kv_heads:
        yield "split", tr("{heads} kv heads and tp {tp} do not divide each other.", heads=anatomy.kv_heads, tp=tp)
    for what, width in _widths(anatomy):
        if width % tp:
            yield (
                "split",
                tr("The {part}'s width {width} is not divisible by tp {tp}.", part=tr(what), width=width, tp=tp),
            )
        elif (unit := _unit(facts, device, setup)) > 1 and width // tp % unit:
            title = of(facts, setup.quantization).title
            yield (
                "group",
                tr(
                    "{format}: {width} ÷ tp {tp} = {each} of the {part} is not a multiple of {unit}.",
                    format=title,
                    width=width,
                    tp=tp,
                    each=width // tp,
                    part=tr(what),
                    unit=unit,
                ),
            )


def _widths(anatomy: Anatomy) -> list[tuple[str, int]]:
    widths = [
        (mark("feed-forward"), anatomy.intermediate),
        (mark("experts"), anatomy.expert_intermediate),
        (mark("shared experts"), anatomy.shared_intermediate),
    ]
    return [(what, width) for what, width in widths if width]


def _unit(facts: ModelFacts, device: Device, setup: Setup) -> int:
    """Columns of a rank that must stay together: a group of 4-bit weights, a block of FP8, a tile of the kernels."""
    name = setup.quantization
    if name in ("int4_awq", "int4_gptq", "w4a8_awq"):
        return max(128, of(facts, name).group or 0)  # Marlin's tile is 128 deep
    if name in ("fp8", "nvfp4") and weight_only(device, setup):
        return 64  # columns of a tile in which Marlin repacks: "size_n … is not divisible by tile_n_size = 64"
    return {"fp8_block": 128, "fp8": 16, "nvfp4": 16}.get(name, 1)


def _divisor(count: int, most: int) -> int:
    return max(one for one in range(1, max(2, min(count, most) + 1)) if count % one == 0)


def warnings(facts: ModelFacts, device: Device, setup: Setup) -> list[Note]:
    """What works but should be known."""
    found: list[Note] = []
    if setup.tp > 2 and device.link != "nvlink":
        text = tr(
            "tp {tp} without NVLink: every layer waits for PCIe twice, most of all in long prompts. Many people at "
            "once are served better by pipeline stages ({flags}) or copies.",
            tp=setup.tp,
            flags=f"--tp {setup.tp // 2} --pp {2 * setup.pp}",
        )
        source = tr(
            "aiconfigurator-core 0.12: all-reduce on PCIe 4 falls from 19 to 2 GB/s between 2 and 8 GPUs; vLLM "
            "docs/serving/parallelism_scaling.md: pipeline stages without NVLink"
        )
        found.append(Note(PCIE, text, source))
    if weight_only(device, setup):
        title = of(facts, setup.quantization).title
        text = tr(
            "Weight-only: the {gpu} does not multiply {format}, so vLLM unpacks the weights to 16 bits. That saves "
            "memory and reads less for each token; long prompts are no faster than with 16 bits.",
            gpu=device.name,
            format=title,
        )
        source = tr("vLLM docs, FP8 W8A8: W8A16 through Marlin; its log: weight-only FP8 (FP4) compression")
        found.append(Note(WEIGHT_ONLY, text, source))
    if facts.quantization and facts.quantization.desc_act and setup.tp > 1:
        text = tr(
            "GPTQ with desc_act: split over GPUs, each of them keeps all scales, which takes a little more memory."
        )
        found.append(Note("desc-act", text, "vLLM, marlin_utils.py: marlin_repeat_scales_on_all_ranks"))
    if device.compute_capability < BF16 and facts.dtype == "bfloat16":
        text = tr("The weights are bfloat16 and this GPU is not: they run as float16 (dtype half).")
        found.append(Note("float16", text))
    return found
