"""Reasons as sentences: code → message, and the parameters in it. Those against a setup are in `obstacles`."""

from __future__ import annotations

from collections.abc import Mapping

from wizard.advise.reasons import Param, Reason
from wizard.advise.titles import format_title, stack_title
from wizard.kernel.language import mark, ntr, tr
from wizard.kernel.units import size
from wizard.texts import obstacles, units
from wizard.texts.table import Fields, Text
from wizard.texts.units import gpus, rate, room, users, whole


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
    per_s, copies, load = params["per_s"], whole(params["copies"]), _load(params.get("load"))
    if not isinstance(per_s, (int, float)) or not per_s:
        return (tr("unknown"),)
    text = tr("{rate} tokens/s", rate=rate(per_s))
    if copies > 1:
        text = tr("{rate} tokens/s with {copies} replicas", rate=rate(per_s), copies=copies)
    return (f"{text} ({load})" if load else text,)


def _served(params: Mapping[str, Param], _: Fields) -> tuple[str, ...]:
    where, tpot = tr("on the CPU"), params["tpot_ms"]
    if slices := params.get("slices"):
        where = ntr("on {count} MIG slice", "on {count} MIG slices", whole(slices), count=slices)
    elif params["gpus"] is not None:
        where = ntr("on {count} GPU", "on {count} GPUs", whole(params["gpus"]), count=params["gpus"])
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
            whole(params["users"]),
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
            whole(params["users"]),
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
_TEXTS = {**obstacles.TEXTS, **REASONS}


def text(reason: Reason | str) -> str:
    """The reason in one or more sentences; a text is unchanged."""
    return reason if isinstance(reason, str) else " ".join(_sentences(reason))


def brief(reason: Reason) -> str:
    """Its first sentence, without the period."""
    problem = reason.params.get("problem")
    if reason.code == "and" and isinstance(problem, Reason):
        return brief(problem)
    return _sentences(reason)[0].rstrip(".")


def _sentences(reason: Reason) -> tuple[str, ...]:
    known, values = _TEXTS.get(reason.code, reason.code), fields(reason.params)
    if callable(known):
        return tuple(filter(None, known(reason.params, values)))
    return (tr(known, **values),)


def fields(params: Mapping[str, Param]) -> Fields:
    """The parameters as display texts: ``size_bytes=1024`` is ``size='1.0 KiB'``."""
    return dict(_field(name, value, params) for name, value in params.items())


def _several(value: Reason | tuple[str | int | Reason, ...]) -> str:
    if isinstance(value, Reason):
        return text(value)
    if value and all(isinstance(each, int) for each in value):
        return ".".join(map(str, value))  # a version, a compute capability
    between = "; " if any(isinstance(each, Reason) for each in value) else ", "
    return between.join(text(each) if isinstance(each, (Reason, str)) else str(each) for each in value)


def _field(name: str, value: Param, params: Mapping[str, Param]) -> tuple[str, object]:
    if isinstance(value, (tuple, Reason)):
        return name, _several(value)
    if name.endswith("_bytes"):
        return name.removesuffix("_bytes"), size(value if isinstance(value, int) else None)
    if name == "format":
        dtype = params.get("dtype")
        return name, format_title(None if value is None else str(value), None if dtype is None else str(dtype))
    if name == "stack":
        return name, stack_title(str(value))
    return name, "" if value is None else value
