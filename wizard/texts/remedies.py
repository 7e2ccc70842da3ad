"""Texts of remedies: code → message, with options as flags or in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from wizard.advise.reasons import OPTIONS, Remedy, Setting
from wizard.advise.titles import format_title, stack_title
from wizard.kernel.language import mark, tr
from wizard.texts.reasons import fields
from wizard.texts.units import users

REMEDIES = {
    "other-processor": mark("Use a Linux machine with one of these processors: {machines}."),
    "newer-distribution": mark(
        "Use a newer distribution (Ubuntu 22.04, Debian 12 or later), or a container based on one."
    ),
    "newer-processor": mark(
        "Use a machine with an Intel processor from 2013 (Haswell) or later, or an AMD processor from 2017 (Zen) or "
        "later."
    ),
    "install-python": mark("Install Python: `uv python install {version}`."),
    "install-python-by": mark("Install Python: {ways}."),
    "install-package": mark("install {what} in that environment"),
    "torch-with-cuda": mark("install PyTorch with CUDA"),
    "torch-for-cuda": mark("PyTorch for CUDA {cuda}"),
    "plan-there": mark("Plan on that machine, or omit --engine-python."),
    "newer-driver": mark("NVIDIA driver {branch} or newer"),
    "any-newer-driver": mark("a newer driver"),
    "update-driver": mark("Update the driver; run `triton-wizard probe` to see what is missing."),
    "newer-gpu": mark("a newer GPU"),
    "gpu-capability": mark("a GPU with compute capability {capability} or higher"),
    "larger-gpu": mark("a GPU with at least {size:,} GB"),
    "smaller-model": mark("a smaller model"),
    "more-gpus": "{count} × {gpu} (tp {count})",
    "make-slices": mark(
        "Create an instance (`sudo nvidia-smi mig -cgi PROFILE -C`) or disable MIG (`sudo nvidia-smi -mig 0`)."
    ),
    "slice-in-container": mark("a container (`--runtime docker`), which has only the slice that it is given"),
    "prerequisites": mark("run `triton-wizard prerequisites` to see what to install"),
    "containers-need": mark("run `triton-wizard prerequisites` to see what to install"),
    "older-release": mark("an older release"),
    "newer-release": mark("a newer release"),
    "another-release": mark("another release ({oldest} or newer)"),
    "float16": "float16",
    "fp8-cache": "fp8",
    "sixteen-bits": mark("the model's 16-bit repository"),
    "another-stack": mark("another stack"),
    "another-checkpoint": mark("another checkpoint of the model"),
    "find-checkpoint": mark("a repository of this model in {format}: pass its ID instead"),
    "other-repository": mark("another repository for this model"),
    "per-tensor-fp8": mark("a per-tensor FP8 repository"),
    "padded-repository": mark("a repository whose weights are padded for this split"),
    "own-repository": mark("To use another stack, give the model's original repository instead of the GGUF file."),
    "whole-repository": mark(
        "Use the whole repository: the wizard computes the memory from the headers of its safetensors files."
    ),
    "give-unquantized": mark("Use the model's unquantized repository, or an AWQ or FP8 one."),
    "give-gguf": mark(
        "Use a GGUF version of this model, e.g. a Hub repository whose name ends in -GGUF, or a .gguf file."
    ),
    "gguf-or-driver": mark(
        "Use a GGUF file of this model (llama.cpp serves it on the CPU) or, if this machine has a GPU, fix its driver."
    ),
    "other-model": mark("{model}, which fits this machine"),
    "other-gguf": mark("Use another GGUF file."),
    "other-file": mark("Use the {asked} file of this model instead."),
    "relax": mark("Remove options, or choose another model."),
    "as-reason-says": mark("Fix the problem described above."),
    "free-memory": mark("Free {size} of memory, or choose a smaller model or quantization."),
    "shorter-requests": mark("Use a smaller --isl or --osl."),
    "fewer-users": mark("fewer users (--users)"),
    "choose": mark("Use one of {names}."),
    "serve-pooling": mark(
        "The wizard serves models that generate text. Serve this one with vLLM (`vllm serve MODEL --runner pooling`) "
        "or, if it supports the architecture, with Hugging Face's Text Embeddings Inference."
    ),
    "serve-reward": mark(
        "The wizard serves models that generate text. Serve this one with vLLM (`vllm serve MODEL --runner pooling`)."
    ),
    "use-encoder": mark("The wizard serves models that generate text. Run this one with transformers."),
    "serve-encoder-decoder": mark(
        "The wizard serves decoder-only models. TensorRT-LLM's LLM API serves T5, BART and mBART; run others with "
        "transformers."
    ),
    "serve-speech": mark(
        "The wizard serves models that read and write text. vLLM (`vllm serve MODEL`) and TensorRT-LLM serve Whisper."
    ),
    "serve-diffusion": mark(
        "The wizard serves models that generate text. Serve this one with vLLM-Omni (`vllm serve MODEL --omni`) or see "
        "Triton's Stable Diffusion tutorial."
    ),
    "try-another": mark("Try another --stack, --hardware or model."),
    "try-roofline": mark("Try --provider roofline."),
}
"""Texts of remedies, by code."""
OR = mark(", or ")
"""Separates alternatives."""
ANYWAY, CONTAINERS = "all-the-same", "containers-need"
"""Codes of remedies with a special text: the options, or the alternatives."""
_WORDS = {
    "max_len": mark("context {value}"),
    "max_gpus": mark("{value} GPUs"),
    "replicas": mark("{value} replicas"),
    "ttft": mark("first token within {value} ms"),
    "tpot": mark("{value} ms per token"),
    "kv_dtype": mark("KV cache {value}"),
    "gpu_memory_utilization": mark("{value} of GPU memory"),
}
_REMOVED = {
    "release": mark("a setup without a fixed release"),
    "runtime": mark("the runtime chosen by the wizard"),
    "engine_python": mark("an engine installed by the wizard"),
}
"""Removed option → its effect."""


def text(remedies: Sequence[Remedy], *, flags: bool = True) -> str:
    """The alternatives in a sentence, the easiest first.

    Args:
        remedies: All of them.
        flags: Whether options are flags, ``--max-len 8192``, or words, ``context 8,192``.
    """
    if remedies and remedies[0].code == CONTAINERS:
        rest = text(remedies[1:], flags=flags)
        return tr("Run `triton-wizard prerequisites` to see what to install for containers, or: {remedy}", remedy=rest)
    each = [remedy(item, flags=flags) for item in remedies]
    for at, item in enumerate(remedies):
        english = REMEDIES.get(item.code, "")
        if at and english.endswith(".") and english[:1] == each[at][:1]:  # a sentence, which follows another remedy
            each[at] = each[at][:1].lower() + each[at][1:]
    each[:-1] = [before.rstrip(".") for before in each[:-1]]  # a sentence that others follow
    return tr(OR).join(each)


def changed(answers: Mapping[str, object]) -> str:
    """Changed answers, each a `Setting`, in words."""
    return _options(Remedy(OPTIONS, cast("Mapping[str, Setting]", answers)), flags=False)


def remedy(remedy: Remedy, *, flags: bool = True) -> str:
    """One alternative; see `text`."""
    if remedy.code == OPTIONS:
        return _options(remedy, flags=flags)
    if remedy.code == ANYWAY:
        return tr("{way} anyway", way=_options(remedy, flags=flags))
    values = fields(remedy.params)
    if remedy.code == "install-package":
        values["what"] = f"`{remedy.params['requirement']}`"
    if remedy.code == "install-python-by" and isinstance(commands := remedy.params["ways"], tuple):
        values["ways"] = tr(OR).join(f"`{command}`" for command in commands)
    return tr(REMEDIES.get(remedy.code, remedy.code), **values)


def _options(remedy: Remedy, *, flags: bool) -> str:
    back = [name for name, value in remedy.changes.items() if value is None or value is False]
    parts = [(_flag if flags else _word)(name, value) for name, value in remedy.changes.items() if name not in back]
    setup = (" " if flags else " · ").join(parts)
    if not back:
        return setup
    if not setup and not flags and back[0] in _REMOVED:
        return tr(_REMOVED[back[0]])
    flag = ", ".join(map(_dashed, back))
    return tr("{way} without {flag}", way=setup, flag=flag) if setup else tr("omit {flag}", flag=flag)


def _dashed(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _flag(name: str, value: Setting) -> str:
    return f"{_dashed(name)} {_number(value, '') if isinstance(value, (int, float)) else value}"


def _number(value: float, thousands: str) -> str:
    """A number as one types it: whole milliseconds without decimals, a share with two."""
    whole = isinstance(value, int) or (value.is_integer() and value > 1)
    return f"{value:{thousands}.{0 if whole else 2}f}"


def _word(name: str, value: Setting) -> str:
    if name == "quantization":
        return format_title(str(value))
    if name == "stack":
        return stack_title(str(value))
    number = _number(value, ",") if isinstance(value, (int, float)) else str(value)
    if name == "runtime":
        return number
    if name == "users":
        return users(value)
    return tr(_WORDS[name], value=number) if name in _WORDS else f"{name.replace('_', '-')} {number}"
