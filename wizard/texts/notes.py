"""Texts of reasons for a choice, of warnings, of limits and of ranks: code → message."""

from __future__ import annotations

from collections.abc import Mapping

from wizard.advise import engines, rules
from wizard.advise.reasons import Param, Reason
from wizard.kernel.language import join, mark, ntr, tr
from wizard.kernel.units import count, size
from wizard.model.formats import FORMATS
from wizard.texts import units
from wizard.texts.table import Fields, Text
from wizard.texts.units import gpus, rate, room, users

LINKS = {"nvlink": "NVLink", "bridge": mark("NVLink bridges between pairs"), "pcie": "PCIe"}
"""Display name of the link between GPUs, by `Device.link`."""


def _weights(params: Mapping[str, Param], fields: Fields) -> tuple[str, ...]:
    values = {**fields, "flag": f"--quantization {params['format']}", "parameters": count(_whole(params["parameters"]))}
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
        _whole(params["users"]),
        count=params["users"],
        **fields,
    )
    return (text,)


def _assumed(params: Mapping[str, Param], fields: Fields) -> tuple[str, ...]:
    word = FORMATS[str(params["format"])].label.split()[-1]
    return (tr(_SEARCH, word=word, **fields),)


_SEARCH = mark("This needs the weights in {format}: search the Hub for the model's name and {word}.")


def _calibrated(params: Mapping[str, Param], fields: Fields) -> tuple[str, ...]:
    correction = _whole(params["correction_bytes"])
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


ENCODERS = {"vision": mark("image"), "audio": mark("audio")}
"""What an encoder reads, by its name among `ModelFacts.encoders`."""


def _named_encoders(params: Mapping[str, Param]) -> str:
    names = params["encoders"]
    return join(tr(" and "), *(tr(ENCODERS[str(name)]) for name in (names if isinstance(names, tuple) else ())))


def _text_only(params: Mapping[str, Param], fields: Fields) -> tuple[str, ...]:
    return (
        tr(
            "The model is served for text only ({argument}): its {encoders} encoder is not loaded.",
            argument=fields["argument"],
            encoders=_named_encoders(params),
        ),
    )


def _encoders(params: Mapping[str, Param], fields: Fields) -> tuple[str, ...]:
    names = {"stack": fields["stack"], "encoders": _named_encoders(params)}
    return (tr(_ENCODERS[str(params["work"]), bool(params["counted"])], **names),)


_ENCODERS = {
    ("profiled", True): mark(
        "{stack} also loads the model's {encoders} encoder. Its weights are counted; the memory that it works in is "
        "not."
    ),
    ("profiled", False): mark(
        "{stack} also loads the model's {encoders} encoder. Neither its weights nor the memory that it works in "
        "are counted."
    ),
    ("reserved", True): mark(
        "{stack} also loads the model's {encoders} encoder. Its weights are counted; the memory that {stack} keeps "
        "free for the encoder is not, so the KV cache may be smaller than estimated."
    ),
    ("reserved", False): mark(
        "{stack} also loads the model's {encoders} encoder. Neither its weights nor the memory that {stack} keeps free "
        "for the encoder are counted, so the KV cache may be smaller than estimated."
    ),
    ("idle", True): mark(
        "{stack} also loads the model's {encoders} encoder. Its weights are counted; text does not run it."
    ),
    ("idle", False): mark(
        "{stack} also loads the model's {encoders} encoder. Its weights are not counted; text does not run it."
    ),
}


def _pcie(params: Mapping[str, Param], fields: Fields) -> tuple[str, ...]:
    split = f"--tp {_whole(params['tp']) // 2} --pp {2 * _whole(params['pp'])}"
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
    cores = ntr("{count} core", "{count} cores", _whole(params["cores"]), count=params["cores"])
    return (tr(only if params["gpus"] else none, cores=cores),)


def _behind(params: Mapping[str, Param], fields: Fields) -> tuple[str, ...]:
    if params["though"] is None:
        return (f"{fields['why']}.",)
    return (tr("{why}, though {though}.", **fields),)


def _whole(value: Param) -> int:
    return value if isinstance(value, int) else 0


def _offload(params: Mapping[str, Param], fields: Fields) -> tuple[str, ...]:
    if _whole(params.get("gpus")) > 1:
        fields = {**fields, "gpu": tr("{gpus} GPUs ({gpu})", **fields)}
    if params["on_gpu"] != params["layers"]:
        rest = tr(
            "llama.cpp runs {on_gpu} of {layers} layers on the {gpu}: all that fit, {weights} of weights.", **fields
        )
        return (rest, tr("The CPU runs the others, {host} of weights.", **fields))
    if params["experts"]:
        text = tr("llama.cpp runs all {layers} layers on the {gpu}, {weights} of weights.", **fields)
        return (text, tr("The experts of the first {experts} layers stay in host memory ({host}).", **fields))
    return (tr("llama.cpp runs all {layers} layers on the {gpu}, {weights} of weights.", **fields),)


def _gpus_free(params: Mapping[str, Param], fields: Fields) -> tuple[str, ...]:
    free = _whole(params["count"])
    return (
        ntr(
            "{count} more GPU stays free: it would not put more layers on GPUs, and layers take turns.",
            "{count} more GPUs stay free: they would not put more layers on GPUs, and layers take turns.",
            free,
            **fields,
        ),
    )


def _users_cut(params: Mapping[str, Param], fields: Fields) -> tuple[str, ...]:
    if params["whole"]:
        return (tr("Planned for {users} users, not {wanted}, so that all layers fit on the GPU.", **fields),)
    return (tr("Planned for {users} users, not {wanted}, so that more layers fit on the GPU.", **fields),)


def _idle(params: Mapping[str, Param], fields: Fields) -> tuple[str, ...]:
    count = _whole(params["count"])
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
        _whole(params["tokens"]),
        **fields,
    )
    return (text,)


NOTES: dict[str, Text] = {
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
            _whole(params["users"]),
            **fields,
        ),
    ),
    "shorter-requests": mark(
        "Figures are for shorter requests than --goal {goal} stands for: {isl:,} tokens in and {osl:,} out instead of "
        "{goal_isl:,} and {goal_osl:,}. {why}."
    ),
    "context-cut": mark("The context was reduced from {wanted:,} to {context:,} tokens to fit."),
    "gpu-unused": mark("This machine's {gpu} is not used: {why}"),
    "offload": _offload,
    "offload-memory": mark(
        "GPU: {used} of {budget} usable, {free} free now; host: {needed} of {allowed} usable (90% of free memory)."
    ),
    "offload-idle": mark("The GPU stays idle; it could hold layers of this model."),
    "offload-share": mark("GPU {index} ({gpu}) has {free} free now."),
    "offload-gpus-free": _gpus_free,
    "offload-untried": mark("Layers on a GPU were tested on one kind of GPU only, an H200; `up` checks the split."),
    "offload-several-untried": mark("A GGUF file on several GPUs was never tested; `up` checks the split."),
    "offload-estimated": mark(
        "The file was not read: sizes of its layers are estimated from the model's configuration, so the split is too."
    ),
    "offload-users-cut": _users_cut,
    "offload-users-limit": mark("Planned for --users {users}, the only load with an estimate to compare with --tpot."),
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
    "text-only": _text_only,
    "encoders": _encoders,
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
"""Reasons and warnings by code."""

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


def _in_image(params: Mapping[str, Param], fields: Fields) -> tuple[str, ...]:
    serving = tr("release {release}", **fields)
    if params["cuda"]:
        serving = tr("release {release} (CUDA {cuda})", **fields)
    if params["driver"]:
        runs = tr("Driver {driver} supports {what}", what=serving, **fields)
        if params["minor"]:
            runs = tr("With CUDA minor-version compatibility, driver {driver} supports {what}", what=serving, **fields)
    else:
        runs = tr("The driver is unknown; assuming it supports {what}", what=serving)
    has = tr("includes {engine}", engine=f"{fields['engine']} {fields['version']}")
    if params["environment"]:
        has = tr("runs {engine} in its own environment", engine=params["environment"])
    return (tr("{runs}, which {has} and {serves}.", runs=runs, has=has, serves=fields["serves"]),)


def _driver(params: Mapping[str, Param]) -> str:
    if params["driver"]:
        return tr("driver {driver} supports its CUDA version", driver=params["driver"])
    return tr("the driver is unknown")


def _in_environment(params: Mapping[str, Param], fields: Fields) -> tuple[str, ...]:
    why = str(fields["why"])
    values = {**fields, "why": f"{why[0].upper()}{why[1:]}", "driver": _driver(params)}
    text = mark(
        "{why}, so {engine} runs in its own environment behind Triton {version}: {driver}, and the engine {serves}."
    )
    return (tr(text, **values),)


def _in_own(params: Mapping[str, Param], fields: Fields) -> tuple[str, ...]:
    text = mark(
        "You chose the engine in {path}: {engine} runs behind Triton {version}, {driver}, and the engine {serves}."
    )
    return (tr(text, **{**fields, "driver": _driver(params)}),)


def _paces(params: Mapping[str, Param]) -> str:
    mine, theirs = (
        rate(1000 / ms) if isinstance(ms := params[name], (int, float)) and ms else tr("unknown")
        for name in ("mine_ms", "theirs_ms")
    )
    loads = [_load(params.get(name)) for name in ("mine_load", "theirs_load")]
    if loads[0] != loads[1]:
        mine, theirs = (f"{each} ({load})" if load else each for each, load in zip((mine, theirs), loads, strict=True))
    text = tr("{mine} vs. {theirs} tokens/s per user", mine=mine, theirs=theirs)
    return f"{text} ({loads[0]})" if loads[0] and loads[0] == loads[1] else text


def _load(load: Param) -> str:
    """The load of a speed; empty if unknown."""
    if not isinstance(load, Reason):
        return ""
    return units.load(load.params["users"], load.params["isl"], load.params["osl"])


def _tokens(params: Mapping[str, Param], _: Fields) -> tuple[str, ...]:
    per_s, copies, load = params["per_s"], _whole(params["copies"]), _load(params.get("load"))
    if not isinstance(per_s, (int, float)) or not per_s:
        return (tr("unknown"),)
    text = tr("{rate} tokens/s", rate=rate(per_s))
    if copies > 1:
        text = tr("{rate} tokens/s with {copies} replicas", rate=rate(per_s), copies=copies)
    return (f"{text} ({load})" if load else text,)


def _served(params: Mapping[str, Param], _: Fields) -> tuple[str, ...]:
    where, tpot = tr("on the CPU"), params["tpot_ms"]
    if slices := params.get("slices"):
        where = ntr("on {count} MIG slice", "on {count} MIG slices", _whole(slices), count=slices)
    elif params["gpus"] is not None:
        where = ntr("on {count} GPU", "on {count} GPUs", _whole(params["gpus"]), count=params["gpus"])
    if not isinstance(tpot, (int, float)) or not tpot:
        return (where,)
    per_s = 1000 / tpot
    shown = f"{per_s:.0f}" if per_s >= 9.95 else f"{per_s:.1f}"
    text, load = tr("{where}, about {rate} tokens/s", where=where, rate=shown), _load(params.get("load"))
    return (tr("{text} each with {load}", text=text, load=load) if load else text,)


REASONS: dict[str, Text] = {
    # -- GPUs that stay free
    "idle-enough": mark(
        "more replicas (up to --replicas {most}) would not make answers noticeably faster or conversations longer"
    ),
    "idle-alone": mark("{stack} ({runtime}) starts one replica"),
    "idle-rest": mark("a replica needs {gpus} of them"),
    "idle-slices": mark("{stack} {version} cannot be started on them beside others"),
    "idle-size": mark("replicas need slices of one size, and theirs differs"),
    "idle-kind": mark("only identical GPUs share a model or its users"),
    "idle-busy": lambda params, fields: (
        tr("other processes use GPU memory, and the fullest GPU of a group limits all ({holders})", **fields)
        if params["holders"]
        else tr("its free memory differs, and the fullest GPU of a group limits all"),
    ),
    "idle-no-slice": mark("MIG is enabled and it has no slice"),
    "idle-unknown": mark("the driver reports neither its memory nor its compute capability"),
    # -- what serves
    "in-image": _in_image,
    "in-environment": _in_environment,
    "in-own": _in_own,
    "in-wheel": mark("Triton {version} is available as a wheel, so neither Docker nor a GPU is needed."),
    "in-wheels": mark("Triton {version} and {engine} are available as wheels, so Docker is not needed."),
    "serves": mark("serves {model} on compute capability {capability}"),
    "runs-unknown": lambda params, fields: (
        tr(
            "runs on compute capability {capability} (whether it serves {model} is not in the wizard's tables)",
            **{**fields, "model": params["model"] or tr("a model with no architecture name")},
        ),
    ),
    # -- what limits it
    "limit-room": lambda params, fields: (
        ntr(
            "Memory is the limit: with {weights} of weights loaded, there is room for {tokens:,} tokens of "
            "conversation.",
            "Memory is the limit: with {weights} of weights loaded, there is room for {tokens:,} tokens of "
            "conversation, {each:,} for each of {users:,} users.",
            _whole(params["users"]),
            **fields,
        ),
    ),
    "limit-offload": mark("GPU memory is the limit: {total} usable, so a part of the model stays in host memory."),
    "limit-memory": mark(
        "Bottleneck: memory bandwidth. For every token, the GPU reads all active weights and the KV cache."
    ),
    "limit-compute": mark("Bottleneck: tensor cores. Multiplying takes longer than reading the weights."),
    "limit-launch": mark(
        "Bottleneck: kernel launches. Each layer does so little work that launching its kernels takes the longest."
    ),
    "limit-interconnect": mark(
        "Bottleneck: the links between the GPUs. The GPUs combine their results twice in every layer."
    ),
    "limit-model": mark("The model is the limit: it was trained for {tokens:,} tokens of context."),
    "no-limit": lambda params, fields: (
        ntr(
            "Memory is not a limit here: there is room for {each:,} tokens of conversation.",
            "Memory is not a limit here: there is room for {each:,} tokens for each of {users:,} users.",
            _whole(params["users"]),
            **fields,
        ),
    ),
    # -- why it comes after the first
    "equal": mark("It is equal in every comparison"),
    "not-tested": mark("Not tested with the real engine"),
    "pace-unknown": mark("Its speed is unknown"),
    "more-on-host": mark("More of its layers stay in host memory"),
    "gpu-idle": mark("It does not use the GPU"),
    "pace-rough": mark("Its speed is only roughly known"),
    "less-room": lambda params, _: (tr("It has room for only {room}", room=room(params["users"], params["tokens"])),),
    "slower": lambda params, _: (tr("It is slower: {paces}", paces=_paces(params)),),
    "slower-plain": mark("It is slower without speculative decoding; with it, speeds are unknown"),
    "less-simple": mark("It is harder to set up than {stack}"),
    "less-precise": mark("It is less precise than {format}"),
    "quantized-while-loading": mark("It downloads 16-bit weights, and {stack} quantizes them while loading"),
    "larger": mark("Its weights take {mine} instead of {theirs} for little more precision than {format}"),
    "more-gpus": lambda params, _: (
        tr("It uses {mine} instead of {theirs}", mine=gpus(params["mine"]), theirs=gpus(params["theirs"])),
    ),
    "replica-count": mark("It starts {mine} instead of {theirs} replicas"),
    "over-pcie": mark("Its GPUs exchange data over PCIe in every layer"),
    "fewer-tokens": mark("It has lower throughput: {mine} vs. {theirs}"),
    "tokens": _tokens,
    "more-bytes": mark("Its weights take {mine} instead of {theirs}"),
    "faster": lambda params, _: (tr("it is faster: {paces}", paces=_paces(params)),),
    "fewer-gpus": lambda params, _: (tr("it uses only {gpus}", gpus=gpus(params["count"])),),
    "more-room": mark("it has room for {tokens:,} tokens per user"),
    "cpu-speed-unknown": mark(
        "the memory bandwidth of the CPU is unknown; on this machine, `triton-wizard probe --measure` measures it"
    ),
    # -- why figures are for shorter requests
    "shorter-asked": mark("You set {tokens:,} tokens per user"),
    "shorter-trained": mark("The model was trained for {tokens:,} tokens"),
    "shorter-memory": lambda params, fields: (
        tr("There is room for only {tokens:,} tokens per user with {people}", people=users(params["users"]), **fields)
        + (tr("; full-length requests fit with --users {fitting}", **fields) if params["fitting"] else ""),
    ),
    # -- whether a model fits
    "served": _served,
    "load": lambda params, _: (units.load(params["users"], params["isl"], params["osl"]),),
    "only-as": mark("only as {format}, from a different, less precise checkpoint"),
    "partly-on-gpu": lambda params, fields: (
        tr("on the GPU without the experts of {experts} layers", **fields)
        if params["experts"] and params["layers"] == params["whole"]
        else tr("{layers} of {whole} layers on the GPU", **fields),
    ),
    "at-most": lambda params, fields: (
        tr("{people} with up to {tokens:,} tokens", people=users(params["users"]), **fields),
    ),
    "weights-and-free": mark("{weights} of weights, {free} free"),
}
"""Reasons inside notes and verdicts, by code."""
