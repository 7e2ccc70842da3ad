"""How long GPUs take to sum their partial results (all-reduce). Pure."""

from __future__ import annotations

from wizard.advise.devices import Device

PCIE_US = {2: 5.0, 4: 13.4, 8: 26.0}
"""A small all-reduce without NVLink, in microseconds by ranks: mean of eight L40S (PCIe 4: 5.5, 13.9, 26.4) and eight
RTX PRO 6000 (PCIe 5: 4.4, 12.8, 25.7). Source of this and the next: ``custom_allreduce_perf`` of vLLM 0.22 and 0.24 in
CUDA graphs, aiconfigurator-core 0.12.0."""
PCIE_SHARE = {2: 0.6, 4: 0.24, 8: 0.15}
"""Share of a slot's bandwidth that a large all-reduce reaches, by ranks: geometric mean of the same machines (19, 4 and
2 of 31.5 GB/s; 37, 28 and 23 of 63). They differ widely for more than two ranks: the host decides.
"""
GROWTH = 0.03
"""How much longer a small all-reduce over NVLink takes for each rank beyond two (H100, H200, B200, A100; same
source).
"""


def all_reduce(size: float, ranks: int, device: Device, *, latency: float, share: float) -> float:
    """Seconds to sum ``size`` bytes over ``ranks`` GPUs: a fixed time, and a ring's traffic of 2 (n-1)/n the bytes.

    Args:
        size: Bytes on each rank.
        ranks: Number of GPUs; 1 takes no time.
        device: The GPUs whose links are used.
        latency: Seconds of a small all-reduce over NVLink.
        share: Share of NVLink's bandwidth that a large all-reduce reaches.
    """
    if ranks == 1:
        return 0.0
    traffic = 2 * (ranks - 1) / ranks * size / device.link_bytes_per_second
    if device.link == "nvlink" or (device.link == "bridge" and ranks == 2):
        return latency * (1 + GROWTH * (ranks - 2)) + traffic / share
    near = max(known for known in PCIE_US if known <= ranks)
    return PCIE_US[near] * 1e-6 + traffic / PCIE_SHARE[near]
