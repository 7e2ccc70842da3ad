"""Instance groups: on which processor a model's copies run."""

from __future__ import annotations

import re
from typing import Any

from wizard.kernel.language import tr
from wizard.repository.linting.finding import Finding, Server
from wizard.repository.linting.model import Model

AUTO, GPU, CPU, MODEL = range(4)
"""``ModelInstanceGroup.Kind`` of the schema."""


def instances(model: Model, server: Server) -> list[Finding]:
    """Kinds of instances against the GPUs that there are."""
    groups = model.config.instance_group
    if model.is_ensemble:
        return []  # see ensembles
    found = []
    for group in groups:
        if group.kind == CPU and group.gpus:
            what = tr("an instance group on the CPU names GPUs {gpus}", gpus=list(group.gpus))
            found.append(model.finding("R403", what, tr("Say KIND_GPU, or name none."), at="gpus"))
        if server.gpus is None:
            continue
        if group.kind == GPU and not server.gpus:
            what = tr("the instance group is of KIND_GPU and there is no GPU")
            fix = tr("Say KIND_CPU; or name the machine that is meant with --hardware.")
            found.append(model.finding("R401", what, fix, at="KIND_GPU"))
        missing = [number for number in group.gpus if number >= server.gpus]
        if group.kind in (GPU, AUTO) and server.gpus and missing:
            what = tr(
                "the instance group wants GPU {missing} and there are {gpus}, from 0",
                missing=missing[0],
                gpus=server.gpus,
            )
            found.append(model.finding("R402", what, tr("Name GPUs that there are."), at="gpus"))
    return found


def several_gpus(model: Model, engine: dict[str, Any]) -> list[Finding]:
    """vLLM over several GPUs must choose them itself."""
    world = 1
    for key in ("tensor_parallel_size", "pipeline_parallel_size"):
        value = engine.get(key, 1)
        world *= value if isinstance(value, int) and value > 0 else 1
    # Triton's default where there are GPUs is KIND_GPU, but the backend's own is completed before.
    if world == 1 or not any(group.kind == GPU for group in model.config.instance_group):
        return []
    what = tr(
        "vLLM runs on {world} GPUs (tensor × pipeline parallel) and the instance group is of KIND_GPU, one GPU each",
        world=world,
    )
    at = "KIND_GPU" if re.search("KIND_GPU", model.text or "") else None
    return [model.finding("R404", what, tr("Say KIND_MODEL: vLLM takes the GPUs itself."), at=at)]
