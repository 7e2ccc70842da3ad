"""The links between the GPUs of a machine, from NVML, in the words of ``nvidia-smi topo -m``."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from wizard.kernel.errors import HostError
from wizard.kernel.language import tr
from wizard.probe import nvml
from wizard.probe.host import GpuLink
from wizard.probe.nvml import Device, Nvml, Unknown

TOPOLOGY = {0: "PIX", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
"""``nvmlGpuTopologyLevel_t`` → the word of ``nvidia-smi topo -m``; two GPUs on a board (0) are at least that close."""

Address = tuple[int, int, int, int]
"""PCI domain, bus, device, function."""
_ADDRESS = re.compile(r"(?:([0-9a-f]{1,8}):)?([0-9a-f]{1,2}):([0-9a-f]{1,2})(?:\.([0-7]))?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Ends:
    """The far ends of a GPU's active NVLinks."""

    gpus: tuple[Address, ...]
    switches: int
    """Links to switches, which connect all GPUs behind them."""
    unknown_ends: int
    """Links without a known GPU at the other end."""


def find(session: Nvml, devices: list[Device], unknown: dict[str, str]) -> tuple[GpuLink, ...]:
    """The best link of each pair of ``devices``.

    Raises:
        HostError: See `Nvml.query`.
    """
    if len(devices) < 2:
        return ()
    try:
        return _links(session, devices, unknown)
    except HostError:
        raise
    except Exception as error:  # the machine is described without them
        unknown["gpu_links"] = f"{type(error).__name__}: {error}"
        return ()


def _links(session: Nvml, devices: list[Device], unknown: dict[str, str]) -> tuple[GpuLink, ...]:
    addresses = {device: session.query("nvmlDeviceGetPciInfo", device, read=_address) for device in devices}
    ends = {device: _ends(session, device, set(addresses.values())) for device in devices}
    bonded: dict[tuple[Device, Device], int] = {}
    for a, b in combinations(devices, 2):
        direct = max(ends[a].gpus.count(addresses[b]), ends[b].gpus.count(addresses[a]))
        bonded[a, b] = direct + min(ends[a].switches, ends[b].switches)
    bonded |= _partners(session, [pair for pair, links in bonded.items() if not links], ends, unknown)
    links = (
        GpuLink(a.index, b.index, f"NV{links}") if links else _by_bus(session, a, b, unknown)
        for (a, b), links in bonded.items()
    )
    return tuple(link for link in links if link)


def _ends(session: Nvml, device: Device, addresses: set[Any]) -> _Ends:
    gpus: list[Address] = []
    switches = unknown_ends = 0
    for link in range(nvml.NVLINK_MAX_LINKS):
        state = session.query("nvmlDeviceGetNvLinkState", device, link)
        if isinstance(state, Unknown) and not state.not_supported:
            break  # past the last link
        if isinstance(state, Unknown) or not state:
            continue
        kind = session.query("nvmlDeviceGetNvLinkRemoteDeviceType", device, link)
        if kind == nvml.NVLINK_TO_SWITCH:
            switches += 1
        elif kind != nvml.NVLINK_TO_NPU:
            far = session.query("nvmlDeviceGetNvLinkRemotePciInfo", device, link, read=_address)
            if isinstance(far, Unknown) or far not in addresses:
                unknown_ends += 1
            else:
                gpus.append(far)
    return _Ends(tuple(gpus), switches, unknown_ends)


def _partners(
    session: Nvml, pairs: list[tuple[Device, Device]], ends: dict[Device, _Ends], unknown: dict[str, str]
) -> dict[tuple[Device, Device], int]:
    """Pairs of GPUs that are only connected to each other by NVLinks with unknown far ends; with the number of
    links.
    """
    joined = [
        (a, b)
        for a, b in pairs
        if ends[a].unknown_ends
        and ends[b].unknown_ends
        and session.query("nvmlDeviceGetP2PStatus", a, b, nvml.P2P_NVLINK) == nvml.P2P_OK
    ]
    met = Counter(device for pair in joined for device in pair)
    alone = {(a, b): min(ends[a].unknown_ends, ends[b].unknown_ends) for a, b in joined if met[a] == met[b] == 1}
    if len(alone) < len(joined):
        unknown["gpu_links"] = tr(
            "the GPUs are connected by NVLink, but NVML does not report how many links connect each pair"
        )
    return alone


def _by_bus(session: Nvml, a: Device, b: Device, unknown: dict[str, str]) -> GpuLink | None:
    level = session.query("nvmlDeviceGetTopologyCommonAncestor", a, b)
    if isinstance(level, Unknown):
        unknown["gpu_links"] = level.because
        return None
    return GpuLink(a.index, b.index, TOPOLOGY.get(level, "SYS"))


def _address(pci: dict[str, Any]) -> Address:
    """Of nvmlPciInfo_t; drivers write the domain with four digits or eight, letters in either case."""
    for text in (pci["busId"], pci["busIdLegacy"]):
        if match := _ADDRESS.fullmatch((text or "").strip()):
            domain, bus, device, function = (int(part or "0", 16) for part in match.groups())
            return domain, bus, device, function
    if not any(pci[part] for part in ("domain", "bus", "device")):
        raise ValueError(pci["busId"])
    return pci["domain"], pci["bus"], pci["device"], 0
