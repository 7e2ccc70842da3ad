"""Checks of GPUs where there is none to check."""

from __future__ import annotations

from wizard.doctor.finding import Finding, inapplicable, unknown
from wizard.plan.prerequisites import has_gpu
from wizard.probe.host import Host


def without_gpus(host: Host, check: str) -> Finding:
    """Nothing to check on a machine without an NVIDIA GPU; unknown if it has one that NVML does not list."""
    return unknown(f"{check}.unreachable") if has_gpu(host) else inapplicable(f"{check}.no-gpu")
