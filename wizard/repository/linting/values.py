"""Values of a configuration that Triton rejects before it loads anything (seen with 2.51.0)."""

from __future__ import annotations

import math
from typing import Any

from wizard.catalog.releases import families, images
from wizard.kernel.language import tr
from wizard.repository.linting.finding import Finding, Server
from wizard.repository.linting.model import PLATFORMS, Model

PLAIN = {
    "py3": frozenset(
        (
            *("dali", "fil", "identity", "onnxruntime", "openvino", "python", "pytorch", "repeat", "square"),
            *("tensorflow", "tensorrt"),
        )
    ),
}
"""Tag suffix of images without a supported engine → their backends (names in triton-inference-server/server,
build.py; no image was opened).
"""


def backends() -> dict[str, frozenset[str]]:
    """Suffix of an image's tag → its backends."""
    return {each.suffix: frozenset(each.backends) for each in map(images, families())} | PLAIN


def backend(model: Model, server: Server) -> list[Finding]:
    """The backend's name must be an available one."""
    config = model.config
    if config.platform and config.platform not in PLATFORMS:
        message = tr("unknown Triton platform: {platform!r}", platform=config.platform)
        return [
            model.finding(
                "R301",
                message,
                tr('Use backend: "{platform}" instead.', platform=config.platform),
                at=f'"{config.platform}"',
            )
        ]
    if model.is_ensemble:
        return []
    name = model.backend
    if not name:
        return [
            model.finding(
                "R301", tr("no backend is set to run the model"), tr('Set one, for example backend: "python".')
            )
        ]
    known = server.backends if server.backends is not None else frozenset().union(*backends().values())
    if name in known or model.file(1, "libtriton_" + name + ".so").exists():
        return []
    homes = [f"{suffix} ({', '.join(sorted(names))})" for suffix, names in backends().items()]
    where = ", ".join(sorted(known)) if server.backends is not None else "; ".join(homes)
    message = tr(
        "{server} has no backend {backend!r}; available: {where}", server=tr(server.name), backend=name, where=where
    )
    return [
        model.finding("R301", message, tr("Use an image that has it, or correct the name."), at=f'backend: "{name}"')
    ]


def values(model: Model) -> list[Finding]:
    """Types, dimensions, batch sizes."""
    config = model.config
    findings = [*_tensors(model, "input", config.input), *_tensors(model, "output", config.output)]
    if config.max_batch_size < 0:
        findings.append(
            _refused(model, tr("max_batch_size is negative"), tr("Use 0 for no batching."), "max_batch_size")
        )
    too_large = [size for size in config.dynamic_batching.preferred_batch_size if size > config.max_batch_size]
    if any(size < 1 for size in config.dynamic_batching.preferred_batch_size):
        findings.append(
            _refused(model, tr("a preferred_batch_size is less than 1"), tr("Use 1 or more."), "preferred_batch_size")
        )
    if too_large:
        message = tr(
            "preferred_batch_size {too_large} exceeds max_batch_size {max_batch_size}",
            too_large=too_large[0],
            max_batch_size=config.max_batch_size,
        )
        findings.append(
            _refused(model, message, tr("Lower preferred_batch_size, or raise max_batch_size."), "preferred_batch_size")
        )
    if config.response_cache.enable and config.model_transaction_policy.decoupled:
        message = tr("responses of a decoupled model cannot be cached")
        findings.append(_refused(model, message, tr("Remove response_cache."), "response_cache"))
    return findings


def _refused(model: Model, message: str, fix: str, at: str | None = None) -> Finding:
    return model.finding("R302", message, fix, at=at)


def _tensors(model: Model, kind: str, tensors: Any) -> list[Finding]:
    findings = []
    seen = set()
    for tensor in tensors:
        name, at = tensor.name, f'"{tensor.name}"'
        if not name:
            findings.append(_refused(model, tr("an {kind} has no name", kind=kind), tr("Add a name.")))
        if name in seen:
            message = tr("the {kind} {name!r} is declared twice", kind=kind, name=name)
            findings.append(model.finding("R303", message, tr("Keep one of them."), severity="warning", at=at))
        seen.add(name)
        if not tensor.data_type:
            findings.append(
                _refused(
                    model,
                    tr("the {kind} {name!r} has no data_type", kind=kind, name=name),
                    tr("Set it, for example TYPE_FP32."),
                    at,
                )
            )
        if not tensor.dims:
            findings.append(
                _refused(
                    model,
                    tr("the {kind} {name!r} has no dims", kind=kind, name=name),
                    tr("Set them; [ -1 ] means any length."),
                    at,
                )
            )
        if any(size < 1 and size != -1 for size in tensor.dims):
            message = tr("the {kind} {name!r} has invalid dims: {dims}", kind=kind, name=name, dims=list(tensor.dims))
            findings.append(_refused(model, message, tr("Each must be 1 or more, or -1 for any."), at))
        elif tensor.HasField("reshape") and not _same_size(tensor.dims, tensor.reshape.shape):
            message = tr(
                "the {kind} {name!r} cannot be reshaped from {dims} to {shape}",
                kind=kind,
                name=name,
                dims=list(tensor.dims),
                shape=list(tensor.reshape.shape),
            )
            findings.append(_refused(model, message, tr("Both must have the same number of elements."), at))
    return findings


def _same_size(dims: Any, shape: Any) -> bool:
    if -1 in dims or -1 in shape:
        return list(dims).count(-1) == list(shape).count(-1)
    return bool(math.prod(dims) == math.prod(shape))
