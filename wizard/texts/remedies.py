"""Texts of remedies: code → message, with options as flags or in words."""

from __future__ import annotations

from collections.abc import Sequence

from wizard.advise.reasons import OPTIONS, Remedy, Setting
from wizard.advise.titles import format_title, stack_title
from wizard.kernel.language import mark, tr
from wizard.texts.reasons import fields

REMEDIES = {
    "other-processor": mark("Use a Linux machine with one of these processors: {machines}."),
    "newer-distribution": mark(
        "Use a newer distribution (Ubuntu 22.04, Debian 12 or later), or a container based on one."
    ),
    "newer-processor": mark(
        "Use a machine with an Intel processor from 2013 (Haswell) or later, or an AMD processor from 2017 (Zen) or "
        "later."
    ),
    "install-python": mark("Install one: `uv python install {version}`."),
    "install-python-by": mark("Install one: {ways}."),
    "install-package": mark("install {what} in that environment"),
    "torch-with-cuda": mark("install PyTorch with CUDA"),
    "torch-for-cuda": mark("PyTorch for CUDA {cuda}"),
    "plan-there": mark("Plan on that machine, or omit --engine-python."),
    "newer-driver": mark("NVIDIA driver {branch} or newer"),
    "any-newer-driver": mark("a newer driver"),
    "update-driver": mark("Update the driver; run `triton-wizard probe` to see what is missing."),
    "newer-gpu": mark("a newer GPU"),
    "gpu-capability": mark("a GPU with compute capability {capability} or newer"),
    "larger-gpu": mark("a GPU with at least {size:,} GB"),
    "more-gpus": "{count} × {gpu} (tp {count})",
    "larger-slice": mark("a larger slice"),
    "prerequisites": mark("`triton-wizard prerequisites` shows what to install"),
    "containers-need": mark("`triton-wizard prerequisites` shows what to install"),
    "older-release": mark("an older release"),
    "newer-release": mark("a newer release"),
    "another-release": mark("another release ({oldest} or newer)"),
    "float16": "float16",
    "fp8-cache": "fp8",
    "sixteen-bits": mark("the model's 16-bit repository"),
    "another-stack": mark("another stack"),
    "another-checkpoint": mark("another checkpoint of the model"),
    "other-repository": mark("another repository of this model"),
    "per-tensor-fp8": mark("a per-tensor FP8 repository"),
    "padded-repository": mark("a repository whose weights are padded for this split"),
    "own-repository": mark("Use the model's own repository instead of the GGUF file to serve on the GPU."),
    "whole-repository": mark("Use the whole repository: the headers of its safetensors files are counted."),
    "give-unquantized": mark("Use the model's unquantized repository, or an AWQ or FP8 one."),
    "give-gguf": mark("Use a GGUF of this model, e.g. a Hub repository whose name ends in -GGUF, or a .gguf file."),
    "gguf-or-driver": mark(
        "Use a GGUF file of this model (llama.cpp serves it on the CPU), or fix the driver if there is a GPU."
    ),
    "other-gguf": mark("Use another GGUF file."),
    "other-file": mark("Use the {asked} file of this model instead."),
    "as-reason-says": mark("Fix the problem described above."),
    "free-memory": mark("Free {size} of memory, or choose a smaller model or quantization."),
    "fewer-users": mark("fewer --users"),
    "choose": mark("Use one of {names}."),
    "try-another": mark("Try another --stack, --hardware or model."),
    "try-roofline": mark("Try --provider roofline."),
}
"""Texts of remedies, by code."""
OR = mark(", or ")
"""Separates alternatives."""
ANYWAY, CONTAINERS = "all-the-same", "containers-need"
"""Codes of remedies with a special text: the options, or the alternatives."""
INSIDE = ("give-unquantized", "give-gguf")
"""Codes of sentences that follow other alternatives."""
_WORDS = {
    "max_len": mark("context {value}"),
    "users": mark("{value} users"),
    "max_gpus": mark("{value} GPUs"),
    "kv_dtype": mark("KV cache {value}"),
    "gpu_memory_utilization": mark("{value} of GPU memory"),
}
_REMOVED = {
    "release": mark("the newest release"),
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
        return tr("`triton-wizard prerequisites` shows what containers need, or: {remedy}", remedy=rest)
    each = [remedy(item, flags=flags) for item in remedies]
    for at, item in enumerate(remedies):
        if at and item.code in INSIDE:
            each[at] = each[at][:1].lower() + each[at][1:]
    return tr(OR).join(each)


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
    flag = _dashed(back[0])
    return tr("{way} without {flag}", way=setup, flag=flag) if setup else tr("omit {flag}", flag=flag)


def _dashed(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _flag(name: str, value: Setting) -> str:
    return f"{_dashed(name)} {f'{value:.2f}' if isinstance(value, float) else value}"


def _word(name: str, value: Setting) -> str:
    if name == "quantization":
        return format_title(str(value))
    if name == "stack":
        return stack_title(str(value))
    number = f"{value:.2f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
    if name == "runtime":
        return number
    return tr(_WORDS[name], value=number) if name in _WORDS else f"{name.replace('_', '-')} {number}"
