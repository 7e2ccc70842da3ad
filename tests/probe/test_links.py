"""How GPUs are joined: recorded machines, changed; and libraries that say it in another way, or only a part of it."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pynvml
import pytest

from tests.probe.fake_driver import FakeDriver, error, readings
from wizard.probe.gpus import GpuPart, find
from wizard.probe.host import GpuLink
from wizard.probe.links import TOPOLOGY

NOT_SUPPORTED = error(pynvml.NVML_ERROR_NOT_SUPPORTED)


def joined(driver: FakeDriver, data: dict[str, Any], *, without: tuple[str, ...] = ()) -> GpuPart:
    driver.says(data, without=without)
    return find((128 << 30, 100 << 30))


def test_eight_h200_are_joined_by_eighteen_links_through_switches(driver: FakeDriver) -> None:
    part = joined(driver, readings("nvml-h200-x8"))
    assert len(part.gpus) == 8
    assert part.links == tuple(GpuLink(a, b, "NV18") for a in range(8) for b in range(a + 1, 8))


@pytest.mark.parametrize("level", TOPOLOGY)
def test_without_nvlink_the_bus_determines_how_near_two_gpus_are(level: int, driver: FakeDriver) -> None:
    data = readings("nvml-h200-x8")
    data["gpus"] = data["gpus"][:2]
    for gpu in data["gpus"]:
        gpu["NvLink"] = [{"State": NOT_SUPPORTED}]
    data["pairs"] = [{"a": 0, "b": 1, "topology": level}]
    assert joined(driver, data).links == (GpuLink(0, 1, TOPOLOGY[level]),)


def test_direct_links_are_counted_by_pair(driver: FakeDriver) -> None:
    """Four GPUs as in a DGX-1: two links to one neighbour, one to another, none to the third."""
    data = readings("nvml-h200-x8")
    data["gpus"] = data["gpus"][:3]
    first, second, third = (gpu["PciInfo"]["busId"] for gpu in data["gpus"])

    def link(to: str) -> dict[str, object]:
        return {"State": 1, "RemoteDeviceType": 0, "RemotePciInfo": {"busId": to}}

    inactive = {"State": 0}
    data["gpus"][0]["NvLink"] = [link(second), inactive, link(second), link(third.lower())]
    data["gpus"][1]["NvLink"] = [link(first), link(first)]
    data["gpus"][2]["NvLink"] = [link(first)]
    data["pairs"] = [{"a": 1, "b": 2, "topology": 50}]
    assert joined(driver, data).links == (
        GpuLink(0, 1, "NV2"),
        GpuLink(0, 2, "NV1"),
        GpuLink(1, 2, "SYS"),
    )


def test_links_that_nvml_cannot_read_are_unknown_with_the_reason(driver: FakeDriver) -> None:
    data = readings("nvml-h200-x8")
    data["gpus"] = data["gpus"][:2]
    for gpu in data["gpus"]:
        gpu["NvLink"] = [{"State": NOT_SUPPORTED}]
    data["pairs"] = [{"a": 0, "b": 1, "topology": NOT_SUPPORTED}]
    part = joined(driver, data)
    assert part.links == ()
    assert "Not Supported" in part.unknown["gpu_links"]


def pairs_of_a6000() -> dict[str, Any]:
    """Four RTX A6000 on two processors, two and two joined by an NVLink bridge of four links (NVIDIA's data sheet)."""
    gpu = readings("nvml-h200-x1")["gpus"][0] | {"Name": "NVIDIA RTX A6000", "CudaComputeCapability": [8, 6]}
    buses = ("00000000:01:00.0", "00000000:25:00.0", "00000000:C1:00.0", "00000000:E1:00.0")
    gpus = [
        gpu
        | {"PciInfo": {"busId": bus}}
        | {"NvLink": [{"State": 1, "RemoteDeviceType": 0, "RemotePciInfo": {"busId": buses[index ^ 1]}}] * 4}
        for index, bus in enumerate(buses)
    ]
    pairs = [{"a": a, "b": b, "topology": 40 if b == a ^ 1 else 50} for a, b in combinations(range(4), 2)]
    return readings("nvml-h200-x1") | {"gpus": gpus, "pairs": pairs}


IN_PAIRS = tuple(GpuLink(a, b, "NV4" if b == a ^ 1 else "SYS") for a, b in combinations(range(4), 2))


def test_bridges_join_pairs(driver: FakeDriver) -> None:
    part = joined(driver, pairs_of_a6000())
    assert [gpu.name for gpu in part.gpus] == ["NVIDIA RTX A6000"] * 4
    assert part.links == IN_PAIRS
    assert part.unknown == {}


def in_small_letters(bus: str) -> dict[str, Any]:
    return {"busId": bus.lower()}


def with_a_short_domain(bus: str) -> dict[str, Any]:
    return {"busId": bus[4:]}


def in_the_old_field(bus: str) -> dict[str, Any]:
    return {"busId": bus, "only": "legacy"}


def in_numbers(bus: str) -> dict[str, Any]:
    return {"busId": bus, "only": "numbers"}


@pytest.mark.parametrize("far", [in_small_letters, with_a_short_domain, in_the_old_field, in_numbers])
@pytest.mark.parametrize("near", [dict, in_the_old_field, in_numbers])
def test_an_address_is_the_same_however_it_is_written(driver: FakeDriver, near: Any, far: Any) -> None:
    data = pairs_of_a6000()
    for gpu in data["gpus"]:
        if near is not dict:
            gpu["PciInfo"] = near(**{"bus": gpu["PciInfo"]["busId"]})
        gpu["NvLink"] = [link | {"RemotePciInfo": far(link["RemotePciInfo"]["busId"])} for link in gpu["NvLink"]]
    assert joined(driver, data).links == IN_PAIRS


def test_one_end_is_enough_for_both(driver: FakeDriver) -> None:
    data = pairs_of_a6000()
    data["gpus"][1]["NvLink"] = data["gpus"][2]["NvLink"] = [NOT_SUPPORTED]
    assert joined(driver, data).links == IN_PAIRS


def test_a_library_without_the_kind_of_the_far_end(driver: FakeDriver) -> None:
    assert joined(driver, pairs_of_a6000(), without=("nvmlDeviceGetNvLinkRemoteDeviceType",)).links == IN_PAIRS


def test_a_link_that_is_not_supported_does_not_hide_the_next(driver: FakeDriver) -> None:
    data = pairs_of_a6000()
    for gpu in data["gpus"]:
        gpu["NvLink"] = [{"State": NOT_SUPPORTED}, {"State": 0}, *gpu["NvLink"]]
    assert joined(driver, data).links == IN_PAIRS


UNTOLD = ("nvmlDeviceGetNvLinkRemotePciInfo_v2", "nvmlDeviceGetNvLinkRemoteDeviceType")


def test_two_gpus_that_reach_only_each_other_have_all_their_links_between_them(driver: FakeDriver) -> None:
    data = pairs_of_a6000()
    for pair in data["pairs"]:
        pair["p2p_nvlink"] = 0 if pair["b"] == pair["a"] ^ 1 else 5  # NVML_P2P_STATUS_NOT_SUPPORTED
    part = joined(driver, data, without=UNTOLD)
    assert part.links == IN_PAIRS
    assert part.unknown == {}


def test_how_many_links_join_which_of_three_gpus_is_not_guessed(driver: FakeDriver) -> None:
    data = pairs_of_a6000()
    for pair in data["pairs"]:
        pair["p2p_nvlink"] = 0
    part = joined(driver, data, without=UNTOLD)
    assert {link.kind for link in part.links} == {"NODE", "SYS"}
    assert "does not report how many links connect each pair" in part.unknown["gpu_links"]


def test_links_to_a_gpu_that_this_container_does_not_see_join_nothing(driver: FakeDriver) -> None:
    data = pairs_of_a6000()
    data["gpus"] = [data["gpus"][0], data["gpus"][2]]
    data["pairs"] = [{"a": 0, "b": 1, "topology": 50, "p2p_nvlink": 5}]
    assert joined(driver, data).links == (GpuLink(0, 1, "SYS"),)


def test_addresses_that_are_no_readable_text_join_nothing(driver: FakeDriver) -> None:
    data = pairs_of_a6000()
    for gpu in data["gpus"]:
        gpu["PciInfo"] = {"busId": "\udcff" * 31, "busIdLegacy": "\udcff" * 15, "only": "text"}
    part = joined(driver, data)
    assert {link.kind for link in part.links} == {"NODE", "SYS"}
    assert len(part.gpus) == 4
