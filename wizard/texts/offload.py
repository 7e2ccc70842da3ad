"""Texts of notes about a GGUF file with layers on GPUs: code → message."""

from __future__ import annotations

from collections.abc import Mapping

from wizard.advise.reasons import Param
from wizard.kernel.language import mark, ntr, tr
from wizard.texts.table import Fields, Text
from wizard.texts.units import whole


def _offload(params: Mapping[str, Param], fields: Fields) -> tuple[str, ...]:
    if whole(params.get("gpus")) > 1:
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
    free = whole(params["count"])
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


NOTES: dict[str, Text] = {
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
}
"""Notes by code."""
