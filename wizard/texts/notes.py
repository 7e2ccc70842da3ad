"""Texts of notes: why a choice was made, and warnings. Code → message; the reasons inside are in `reasons`."""

from __future__ import annotations

from collections.abc import Mapping

from wizard.advise import engines, rules
from wizard.advise.reasons import Param, Reason
from wizard.kernel.language import mark, ntr, tr
from wizard.kernel.units import count, size
from wizard.model.formats import FORMATS
from wizard.texts import bench, encoders, offload, units
from wizard.texts.table import Fields, Text
from wizard.texts.units import gpus, users, whole

LINKS = {"nvlink": "NVLink", "bridge": mark("NVLink bridges between pairs"), "pcie": "PCIe"}
"""Display name of the link between GPUs, by `Device.link`."""


def _weights(params: Mapping[str, Param], fields: Fields) -> tuple[str, ...]:
    values = {**fields, "flag": f"--quantization {params['format']}", "parameters": count(whole(params["parameters"]))}
    return (tr(_WIDENED if "dtype" in params else _WEIGHTS[str(params["how"])], **values),)


_WIDENED = mark("{format}, converted from the checkpoint: {size} of weights per GPU for {parameters} parameters.")


_WEIGHTS = {
    "stored": mark(
        "{format} ({flag}), as stored in the checkpoint: {size} of weights per GPU for {parameters} parameters."
    ),
    "assumed": mark(
        "{format} ({flag}), from a different checkpoint: {size} of weights per GPU for {parameters} parameters."
    ),
    "ready": mark("{format} ({flag}), from {ref}: {size} of weights per GPU for {parameters} parameters."),
    "loading": mark(
        "{format} ({flag}), quantized while loading: {size} of weights per GPU for {parameters} parameters."
    ),
    "building": mark(
        "{format} ({flag}), quantized for the engine: {size} of weights per GPU for {parameters} parameters."
    ),
}


def _memory(params: Mapping[str, Param], fields: Fields) -> tuple[str, ...]:
    if "needed_bytes" in params:  # on the CPU
        return (tr("{needed} required, {allowed} available (90% of free memory).", **fields),)
    total = tr("{used} of {budget} usable, {total} in total", **fields)
    if params["counts_of"] == "free":
        how = tr("{fraction} {share:.2f} of the memory free after loading", **fields)
    elif params["counts_of"] == "total":
        text = mark("gpu_memory_utilization {share:.2f} of the total, and {outside} that the engine does not count")
        how = tr(text, **fields)
    else:
        return (f"{total}.",)
    return (f"{total}: {how}.",)


def _few_users(params: Mapping[str, Param], fields: Fields) -> tuple[str, ...]:
    text = ntr(
        "Only one user at a time, with {tokens:,} tokens: there is no room for more KV cache.",
        "Only {count:,} users at a time, with {tokens:,} tokens each: there is no room for more KV cache.",
        whole(params["users"]),
        count=params["users"],
        **fields,
    )
    return (text,)


def _assumed(params: Mapping[str, Param], fields: Fields) -> tuple[str, ...]:
    word = FORMATS[str(params["format"])].label.split()[-1]
    return (tr(_SEARCH, word=word, **fields),)


_SEARCH = mark("This needs the weights in {format}: search the Hub for the model's name and {word}.")


def _calibrated(params: Mapping[str, Param], fields: Fields) -> tuple[str, ...]:
    correction = whole(params["correction_bytes"])
    text = _CALIBRATED[(correction > 0) - (correction < 0)]
    return (tr(text, **{**fields, "size": size(abs(correction))}),)


_CALIBRATED = {
    1: mark(
        "Measured on this machine when {server} was started on {date}: working memory and server overhead were "
        "{size} higher than predicted. The memory breakdown includes this."
    ),
    -1: mark(
        "Measured on this machine when {server} was started on {date}: working memory and server overhead were "
        "{size} lower than predicted. The memory breakdown includes this."
    ),
    0: mark(
        "Measured on this machine when {server} was started on {date}: working memory and server overhead were "
        "as predicted."
    ),
}


def _untried_engine(params: Mapping[str, Param], fields: Fields) -> tuple[str, ...]:
    bare = mark(
        "Without containers, {stack} was tested only with a stand-in made from the source code of versions "
        "{versions}; the real package was not run on a GPU."
    )
    checked = mark(
        "Without containers, {stack} was tested only with a stand-in made from the source code of versions "
        "{versions}; the real package was not run on a GPU. Its environment needs software that the wizard does "
        "not install, such as the CUDA toolkit; the plan checks for it before downloading anything."
    )
    return (tr(checked if params["needs_more"] else bare, **fields),)


def _config_library(params: Mapping[str, Param], fields: Fields) -> tuple[str, ...]:
    pinned = mark(
        "{engine} {has} reads the configuration of {model} with {library}, which supports it since {wanted}. The "
        "environment has {library} {pinned}, so loading may fail."
    )
    required = mark(
        "{engine} {has} reads the configuration of {model} with {library}, which supports it since {wanted}. "
        "{engine} {has} requires {library} {requirement}, so loading may fail unless a newer one is installed."
    )
    return (tr(pinned if params["pinned"] else required, **fields),)


def _untried(params: Mapping[str, Param], fields: Fields) -> tuple[str, ...]:
    if "image" not in params:
        return (tr(_EMULATED, **fields),)
    return (tr(_NO_IMAGE, command=f"docker manifest inspect {params['image']}", **fields),)


_EMULATED = mark(
    "All packages of the environment are available for {machine} but were tested on it only under emulation. "
    "Memory and speed figures are from {tried}."
)
_NO_IMAGE = mark(
    "Not every Triton image is available for {machine}, and none was tested on it. Run `{command}` to list the "
    "architectures that this image supports."
)


def _ended(params: Mapping[str, Param], _: Fields) -> tuple[str, ...]:
    stacks = params["stacks"]
    first, *others = map(str, stacks if isinstance(stacks, tuple) else ())
    return (engines.end(tr("--stack {stack}", stack=first), *others),)


def _pcie(params: Mapping[str, Param], fields: Fields) -> tuple[str, ...]:
    split = f"--tp {whole(params['tp']) // 2} --pp {2 * whole(params['pp'])}"
    return (tr(_PCIE, flags=split, **fields),)


_PCIE = mark(
    "tp {tp} without NVLink: every layer waits for PCIe twice, most noticeably with long prompts. For many concurrent "
    "users, pipeline stages ({flags}) or replicas are better."
)


def _cpu(params: Mapping[str, Param], _: Fields) -> tuple[str, ...]:
    only = mark("The model runs on the CPU with {cores}: llama.cpp, behind Triton's Python backend.")
    none = mark(
        "No NVIDIA GPU was detected, so the model runs on the CPU: llama.cpp uses {cores} behind Triton's Python "
        "backend."
    )
    cores = ntr("{count} core", "{count} cores", whole(params["cores"]), count=params["cores"])
    return (tr(only if params["gpus"] else none, cores=cores),)


def _behind(params: Mapping[str, Param], fields: Fields) -> tuple[str, ...]:
    if params["though"] is None:
        return (f"{fields['why']}.",)
    return (tr("{why}, though {though}.", **fields),)


def _idle(params: Mapping[str, Param], fields: Fields) -> tuple[str, ...]:
    count = whole(params["count"])
    if params["count"] == params["gpus"]:
        return (ntr("{count} × {gpu} stays free: {why}.", "{count} × {gpu} stay free: {why}.", count, **fields),)
    return (
        ntr(
            "{count} of {gpus} × {gpu} stays free: {why}.",
            "{count} of {gpus} × {gpu} stay free: {why}.",
            count,
            **fields,
        ),
    )


def _speculative(params: Mapping[str, Param], fields: Fields) -> tuple[str, ...]:
    text = ntr(
        "Speculative decoding ({method}): one token is proposed per step and verified. Each sequence reserves memory "
        "for it; answers do not change.",
        "Speculative decoding ({method}): up to {tokens} tokens are proposed per step and verified together. Each "
        "sequence reserves memory for them; answers do not change.",
        whole(params["tokens"]),
        **fields,
    )
    return (text,)


NOTES: dict[str, Text] = {
    **offload.NOTES,
    **encoders.NOTES,
    **bench.NOTES,
    "gated": mark("The model is gated: accept its license on its page, then log in with `hf auth login`."),
    "no-template": mark("The model has no chat template: it continues text instead of answering."),
    "limit": lambda _, fields: (str(fields["why"]),),
    "behind": _behind,
    "release": lambda _, fields: (str(fields["why"]),),
    "weights": _weights,
    "memory": _memory,
    "split": lambda params, fields: (
        tr(
            "{split}: {gpus} GPUs, connected by {link}, share the weights.",
            **{**fields, "split": units.split(params), "link": tr(LINKS[str(params["link"])])},
        ),
    ),
    "data-parallel": lambda params, fields: (
        tr(
            "Data parallelism: each of {dp} ranks has the whole attention and the KV cache of its users, with room "
            "for {people}; the experts are spread over all GPUs.",
            **{**fields, "people": users(params["users"])},
        ),
    ),
    "experts": mark(
        "Each GPU holds {experts} of a layer's {of} experts as a whole (expert parallelism) instead of a part of every "
        "expert."
    ),
    "experts-needed": mark(
        "Each GPU holds {experts} of a layer's {of} experts as a whole (expert parallelism), because tp {tp} does not "
        "divide them evenly."
    ),
    "speculative": _speculative,
    "draft": mark(
        "Of the weights, {size} per GPU are the draft model {ref}, counted as a whole on every GPU. Its KV cache "
        "counts too (not measured)."
    ),
    "draft-layers": mark(
        "Of the weights, {size} per GPU are layers for multi-token prediction, which only speculative decoding loads. "
        "Their KV cache counts too (not measured)."
    ),
    "replicas-on-slices": lambda params, fields: (
        tr(
            "{replicas} replicas share the requests, each on a MIG slice and with room for {people}; all have the same "
            "address.",
            **{**fields, "people": users(params["users"])},
        ),
    ),
    "replicas": lambda params, fields: (
        tr(
            "{replicas} replicas share the requests, each on {gpus} and with room for {people}; all have the same "
            "address.",
            **{**fields, "gpus": gpus(params["gpus"]), "people": users(params["users"])},
        ),
    ),
    "idle": _idle,
    "context": mark(
        "{users:,} × {length:,} tokens need {need} of KV cache; {cache} is available, enough for {tokens:,} "
        "tokens ({longest:,} per user)."
    ),
    "cpu": _cpu,
    "format": lambda params, _: (
        tr(
            "The GGUF file ({stored}, {parameters} parameters) is loaded directly.",
            stored=params["stored"],
            parameters=count(params["parameters"] if isinstance(params["parameters"], int) else None),
        ),
    ),
    "users": lambda params, fields: (
        ntr(
            "One request at a time, with {context:,} tokens of prompt plus answer.",
            "{users:,} concurrent requests, with {context:,} tokens of prompt plus answer each.",
            whole(params["users"]),
            **fields,
        ),
    ),
    "shorter-requests": mark(
        "Figures are for shorter requests than --goal {goal} stands for: {isl:,} tokens in and {osl:,} out instead of "
        "{goal_isl:,} and {goal_osl:,}. {why}."
    ),
    "context-cut": mark("The context was reduced from {wanted:,} to {context:,} tokens to fit."),
    "gpu-unused": mark("This machine's {gpu} is not used: {why}"),
    "cpu-unmeasured": mark(
        "No speed estimate for this CPU yet. To get one, run `triton-wizard probe --measure` (measures memory "
        "bandwidth and cores, 5 s)."
    ),
    "other-gpu": mark(
        "The {vendors} GPU of this machine is not used: Triton and the wizard's builds of its engines support NVIDIA "
        "GPUs only."
    ),
    "no-gpu-used": mark("No GPU is used: --max-gpus and --gpu-memory-utilization have no effect."),
    "speed": mark("Speed unknown: {why}."),
    "few-users": _few_users,
    "one-machine": mark(
        "{count} × {gpu} do not fit in one machine. This recommendation is for a machine with {here} of them; "
        "identical machines can run the same setup. A model is not split across machines: the wizard sets up "
        "one machine, not the cluster that engines need for that (vLLM: Ray)."
    ),
    "busy": mark("Other processes use GPU memory: {holders}. The plan uses only free memory."),
    "gguf-file": mark("The download is {file} of {ref}, {size} ({flag})."),
    "gguf-others": mark("For another file of the model, change --quantization, or name the model as {ref}:{type}."),
    "checkpoint-assumed": _assumed,
    "checkpoint-ready": mark("The download is {ref}: this model in {format}, {size}."),
    "checkpoint-loading": mark(
        "The download is {ref} in 16 bits, {size}; {stack} quantizes it to {format} while loading, which takes longer "
        "than loading {format} weights."
    ),
    "checkpoint-building": mark(
        "The download is {ref} in 16 bits, {size}; it is quantized here, before the engine is built."
    ),
    "benchmarked": mark(
        "Speed measured on this machine on {date}, at a concurrency of {users}, with {isl} tokens in and {osl} out."
    ),
    "benchmarked-near": mark(
        "Speed corrected by a measurement on this machine on {date}, at a concurrency of {users}, with {isl} tokens in "
        "and {osl} out: the estimate is multiplied by measured ÷ estimated under that load."
    ),
    "calibrated": _calibrated,
    "calibration-damaged": lambda _, fields: (str(fields["damage"]),),
    "untried-processor": _untried,
    "untried": _untried_engine,
    "config-library": _config_library,
    "attention": mark(
        "Without containers, vLLM's attention does not use this GPU's tensor cores, so long prompts take longer."
    ),
    "forward-compatibility": mark(
        "Release {release} targets driver {wanted}. Driver {driver} runs it only with the forward-compatibility "
        "package in the image, which NVIDIA documents for data center GPUs."
    ),
    "engine-end": _ended,
    rules.PCIE: _pcie,
    rules.WEIGHT_ONLY: mark(
        "Weight-only: the {gpu} has no native {format} support, so vLLM unpacks the weights to 16 bits. The "
        "format still saves memory and bandwidth, but long prompts are no faster than with 16 bits."
    ),
    "unlisted": mark(
        "No list of supported models in the wizard names {model} for {engine}. If the engine does not support it, "
        "loading fails."
    ),
    "named-reranker": mark(
        "{model} is named like a reranker, which scores documents, but its files describe a model that writes text: "
        "its answers may be meaningless."
    ),
    "desc-act": mark(
        "GPTQ with desc_act: when the model is split, every GPU keeps all scales, which takes slightly more memory."
    ),
    "float32": mark(
        "{model} overflows in float16 and the {gpu} does not support bfloat16, so the model runs in float32: twice the "
        "memory, and slower."
    ),
    "float16": mark(
        "The weights are bfloat16, which this GPU does not support, so the model runs in float16 (dtype half)."
    ),
}
"""Notes by code."""

SOURCES = {
    "behind": mark("ranking for --goal {goal}"),
    "weights": mark("parameters × bits ÷ 8 ÷ ranks"),
    "context": mark("2 × layers × KV heads × head dimension × bytes, per token"),
    "format": "https://github.com/ggml-org/ggml/blob/master/docs/gguf.md",
    rules.PCIE: mark(
        "aiconfigurator-core 0.12: all-reduce on PCIe 4 drops from 19 GB/s with 2 GPUs to 2 GB/s with 8; vLLM "
        "docs/serving/parallelism_scaling.md: pipeline stages without NVLink"
    ),
    rules.WEIGHT_ONLY: mark("vLLM docs, FP8 W8A8: W8A16 through Marlin; its log: weight-only FP8 (FP4) compression"),
    "desc-act": "vLLM, marlin_utils.py: marlin_repeat_scales_on_all_ranks",
}
"""Source of a fact by the note's code, if it is the same for all."""


def source(code: str, params: Mapping[str, Param]) -> str | None:
    """The source of the fact if the note itself has none."""
    if code == "release" and isinstance(why := params["why"], Reason) and "prefix" in why.params:
        return tr("package metadata in {prefix}", prefix=why.params["prefix"])
    return tr(SOURCES[code], **params) if code in SOURCES else None
