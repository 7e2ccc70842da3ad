"""How long GPUs take to add up what each has computed (all-reduce). Pure."""

from __future__ import annotations

from wizard.advise.devices import Device

PCIE_US = {2: 5.7, 4: 16.2, 8: 27.5}
"""A small all-reduce without NVLink, in microseconds by ranks: mean of an L40S (PCIe 4) and an RTX PRO 6000 (PCIe 5).
Source: ``custom_allreduce_perf`` of vLLM in CUDA graphs, aiconfigurator-core 0.12."""
PCIE_SHARE = {2: 0.7, 4: 0.35, 8: 0.25}
"""Share of a slot's bandwidth that a large one reaches by ranks (the same tables: 19 of 32 GB/s and 39 of 64 for two;
for more ranks 4 to 30: the two machines differ, so this is between them)."""


def all_reduce(size: float, ranks: int, device: Device, *, latency: float, share: float) -> float:
    """Seconds to add up ``size`` bytes over ``ranks`` GPUs: a fixed time and the ring's traffic, 2 (n-1)/n of the bytes.

    Args:
        size: Bytes on each rank.
        ranks: GPUs; 1 takes no time.
        device: Whose links they use.
        latency: Seconds of a small one over NVLink.
        share: Share of NVLink's bandwidth that a large one reaches.
    """
    if ranks == 1:
        return 0.0
    traffic = 2 * (ranks - 1) / ranks * size / device.link_bytes_per_second
    if device.link == "nvlink" or (device.link == "bridge" and ranks == 2):
        return latency * (1 + 0.1 * (ranks - 2) / 2) + traffic / share
    near = max(known for known in PCIE_US if known <= max(2, ranks))
    return PCIE_US[near] * 1e-6 + traffic / PCIE_SHARE[near]
