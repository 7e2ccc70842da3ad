"""Instance groups: the hardware of a model's instances."""

from __future__ import annotations

from wizard.kernel.language import ntr, tr
from wizard.repository.linting.finding import Finding, Server
from wizard.repository.linting.model import Model

AUTO, GPU, CPU, MODEL = range(4)
"""``ModelInstanceGroup.Kind`` of the schema."""


def instances(model: Model, server: Server) -> list[Finding]:
    """The kinds of instances must match the available GPUs."""
    groups = model.config.instance_group
    if model.is_ensemble:
        return []  # see ensembles
    findings = []
    for group in groups:
        if group.kind == CPU and group.gpus:
            message = tr("an instance group on the CPU lists GPUs {gpus}", gpus=list(group.gpus))
            findings.append(model.finding("R403", message, tr("Use KIND_GPU, or list no GPUs."), at="gpus"))
        if server.gpus is None:
            continue
        if group.kind == GPU and not server.gpus:
            message = tr("the instance group is KIND_GPU, but there is no GPU")
            fix = tr("Use KIND_CPU, or choose the target machine with --hardware.")
            findings.append(model.finding("R401", message, fix, at="KIND_GPU"))
        missing = [number for number in group.gpus if number >= server.gpus]
        if group.kind in (GPU, AUTO) and server.gpus and missing:
            message = ntr(
                "the instance group requires GPU {missing}, but there is only GPU 0",
                "the instance group requires GPU {missing}, but there are only {gpus} GPUs, numbered from 0",
                server.gpus,
                missing=missing[0],
                gpus=server.gpus,
            )
            findings.append(model.finding("R402", message, tr("Use only GPUs that exist."), at="gpus"))
    return findings
