"""The GPUs' settings and health. NVML's functions and their meaning: nvml.h, docs.nvidia.com/deploy/nvml-api."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wizard.doctor.checks.without import without_gpus
from wizard.doctor.facts import Facts, GpuState
from wizard.doctor.finding import Finding, failed, inapplicable, passed, unknown, warned

HOT = ("HwThermalSlowdown", "SwThermalSlowdown", "HwSlowdown", "HwPowerBrakeSlowdown")
"""Reasons for lower clocks that are a fault of cooling or power supply (nvml.h, ``nvmlClocksEventReason…``); a power
cap is ordinary under load.
"""


def mig(facts: Facts) -> Finding:
    """MIG: a GPU without an instance cannot be used; a change of the mode waits for a reset
    (docs.nvidia.com/datacenter/tesla/mig-user-guide).
    """
    gpus = facts.host.gpus
    if not gpus:
        return without_gpus(facts.host, "mig")
    if empty := tuple(gpu.index for gpu in gpus if gpu.mig_enabled and not gpu.mig_slices):
        return failed("mig.empty", *(f"sudo nvidia-smi -i {index} -mig 0" for index in empty), gpus=empty)
    if waiting := tuple(each.index for each in facts.gpus or () if each.mig and each.mig[0] != each.mig[1]):
        return warned("mig.pending", *_resets(waiting), gpus=waiting)
    if unclear := tuple(gpu.index for gpu in gpus if gpu.mig_enabled is None):
        return unknown("mig.unknown", gpus=unclear)
    divided = tuple(gpu.index for gpu in gpus if gpu.mig_enabled)
    if divided:
        return passed("mig.on", gpus=divided, count=sum(len(gpu.mig_slices) for gpu in gpus))
    return passed("mig.off")


def ecc(facts: Facts) -> Finding:
    """Memory errors (docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt): a failed row remapping is a reason to replace
    the GPU; a pending one takes effect at the next reset.
    """
    states = facts.gpus
    if not states:
        return without_gpus(facts.host, "ecc")
    if broken := tuple(each.index for each in states if each.remapping and each.remapping[1]):
        return failed("ecc.broken", gpus=broken)
    if wrong := tuple(each.index for each in states if each.uncorrected_errors):
        count = sum(each.uncorrected_errors or 0 for each in states)
        return failed("ecc.errors", *_resets(wrong), gpus=wrong, count=count)
    changing = tuple(each.index for each in states if each.ecc and each.ecc[0] != each.ecc[1])
    if waiting := tuple(each.index for each in states if each.remapping and each.remapping[0]) or changing:
        return warned("ecc.pending", *_resets(waiting), gpus=waiting)
    counts = (_all(states, "ecc", name, lambda _: passed("ecc.on")) for name in ("uncorrected_errors", "remapping"))
    unclear = next((each for each in counts if each.status == "unknown"), None)
    return unclear or _all(states, "ecc", "ecc", _of_ecc)


def _of_ecc(states: list[tuple[bool, bool]]) -> Finding:
    return passed("ecc.on") if all(now for now, _ in states) else passed("ecc.off")


def persistence(facts: Facts) -> Finding:
    """Persistence mode (docs.nvidia.com/deploy/driver-persistence): without it the driver releases a GPU that no
    program uses, and the next program waits for its initialization. WSL has no such mode.
    """
    states = facts.gpus
    if not states:
        return without_gpus(facts.host, "persistence")
    if off := tuple(each.index for each in states if each.persistence is False):
        return warned("persistence.off", "sudo nvidia-smi -pm 1", gpus=off)
    return _all(states, "persistence", "persistence", lambda _: passed("persistence.on"))


def throttling(facts: Facts) -> Finding:
    """Clocks that heat or the power supply lowers now."""
    states = facts.gpus
    if not states:
        return without_gpus(facts.host, "throttling")
    slow = {each.index: reasons for each in states if (reasons := [name for name in each.reduced or () if name in HOT])}
    if slow:
        names = tuple(dict.fromkeys(name for reasons in slow.values() for name in reasons))
        return warned("throttling.slow", "nvidia-smi -q -d PERFORMANCE,TEMPERATURE", gpus=tuple(slow), reasons=names)
    return _all(states, "throttling", "reduced", lambda _: passed("throttling.none"))


def processes(facts: Facts) -> Finding:
    """Other programs that hold GPU memory; the wizard's own servers are not among them."""
    gpus = facts.host.gpus
    if not gpus:
        return without_gpus(facts.host, "gpu-processes")
    if any("processes" in gpu.unknown for gpu in gpus):
        return unknown("gpu-processes.unknown")
    others = {each.pid: each for gpu in gpus for each in gpu.processes if each.pid not in facts.servers.processes}
    if not others:
        return passed("gpu-processes.none")
    held = [each.used_bytes for gpu in gpus for each in gpu.processes if each.pid in others]
    names = tuple(f"{each.name or '?'} ({each.pid})" for each in others.values())
    if facts.servers.in_containers:
        return unknown("gpu-processes.unclear", names=names, servers=facts.servers.in_containers)
    sizes = [size for size in held if size is not None]
    if len(sizes) < len(held):
        return warned("gpu-processes.unsized", names=names)
    return warned("gpu-processes.others", names=names, used_bytes=sum(sizes))


def _all(states: Sequence[GpuState], check: str, name: str, judged: Callable[[list[Any]], Finding]) -> Finding:
    """``judged`` of the field ``name`` of all GPUs that support it; unknown if one of them does not report it."""
    supported = [state for state in states if name not in state.unsupported]
    if not supported:
        return inapplicable(f"{check}.unsupported")
    values = [getattr(state, name) for state in supported]
    if None in values:
        reasons = (state.unknown.get(name, "") for state in supported if getattr(state, name) is None)
        return unknown(f"{check}.unknown", why=next(reasons))
    return judged(values)


def _resets(indexes: tuple[int, ...]) -> tuple[str, ...]:
    """A reset needs a GPU that no program uses; a reboot does the same."""
    return tuple(f"sudo nvidia-smi --gpu-reset -i {index}" for index in indexes)
