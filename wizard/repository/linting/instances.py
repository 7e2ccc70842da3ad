"""Instance groups: on which processor a model's copies run."""

from __future__ import annotations

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
