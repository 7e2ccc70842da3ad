"""The GPUs' states from NVML. Sources: nvml.h, docs.nvidia.com/deploy/nvml-api (device queries)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from wizard.doctor.facts import GpuState
from wizard.kernel.errors import HostError
from wizard.probe.live import reduced
from wizard.probe.nvml import Device, Nvml, Unknown

_UNCORRECTED, _SINCE_LOAD = 1, 0
"""nvmlMemoryErrorType_t and nvmlEccCounterType_t (VOLATILE) of nvml.h."""


def gpus() -> tuple[GpuState, ...]:
    """Query all GPUs; empty if NVML as a whole is not usable, which the probe reports."""
    with contextlib.closing(Nvml()) as session:
        try:
            devices = session.devices()
            return tuple(_state(session, device) for device in devices if isinstance(device, Device))
        except HostError:
            return ()


def _state(session: Nvml, device: Device) -> GpuState:
    unsupported: list[str] = []
    unknown: dict[str, str] = {}

    def ask(name: str, function: str, *arguments: Any, read: Callable[[Any], Any]) -> Any:
        answer = session.query(function, device, *arguments, read=read)
        if not isinstance(answer, Unknown):
            return answer
        if answer.not_supported:
            unsupported.append(name)
        else:
            unknown[name] = answer.because
        return None

    return GpuState(
        device.index,
        ecc=ask("ecc", "nvmlDeviceGetEccMode", read=_two),
        uncorrected_errors=ask(
            "uncorrected_errors", "nvmlDeviceGetTotalEccErrors", _UNCORRECTED, _SINCE_LOAD, read=int
        ),
        remapping=ask("remapping", "nvmlDeviceGetRemappedRows", read=lambda rows: _two(rows[2:])),
        mig=ask("mig", "nvmlDeviceGetMigMode", read=_two),
        persistence=ask("persistence", "nvmlDeviceGetPersistenceMode", read=bool),
        reduced=ask("reduced", "nvmlDeviceGetCurrentClocksThrottleReasons", read=reduced),
        unsupported=tuple(unsupported),
        unknown=unknown,
    )


def _two(values: list[int]) -> tuple[bool, bool]:
    now, later = values
    return bool(now), bool(later)
