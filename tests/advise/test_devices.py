"""GPUs in groups: what is alike, what is free, how fast, and how they reach one another."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from wizard.advise.devices import Rates, devices, rates
from wizard.catalog.gpus import match
from wizard.kernel.units import GIB, MIB
from wizard.kernel.values import from_data
from wizard.probe.host import Gpu, GpuLink, GpuProcess, Host, MigSlice
from wizard.probe.shorthand import RESERVED_BYTES, host
from wizard.texts import reasons

HOSTS = Path(__file__).parent.parent / "cases" / "hosts"
UNKNOWN = "NVIDIA Something New"


def recorded(name: str) -> Host:
    return from_data(Host, json.loads((HOSTS / name).read_text()), where=name)


def around(*gpus: Gpu, links: tuple[GpuLink, ...] = ()) -> Host:
    return replace(host("cpu"), gpus=gpus, gpu_links=links)


CLOCKED = Gpu(
    0,
    UNKNOWN,
    compute_capability=(9, 0),
    memory_bus_bits=256,
    memory_clock_mhz=1000,
    cuda_cores=1000,
    sm_clock_mhz=1000,
)
"""A GPU of no profile with round figures."""


def test_a_recorded_host_of_eight() -> None:
    (device,) = devices(recorded("host-h200-x8.json"))
    assert device.indices == tuple(range(8))
    assert 143771 * MIB - 615 * MIB <= device.total_bytes < 143771 * MIB - 614 * MIB
    assert device.total_bytes - MIB < device.free_bytes <= device.total_bytes
    assert device.link == "nvlink"
    assert device.link_bytes_per_second == 450e9
    assert device.holders == ()
    assert device.rates is not None
    assert device.rates.known
    assert (device.rates.fp16, device.rates.fp8, device.rates.fp4) == (989e12, 1979e12, None)


def test_no_gpu_no_device() -> None:
    assert devices(recorded("host-cpu.json")) == []


def test_different_gpus_are_different_groups_the_larger_first() -> None:
    small, large = host("2xL4"), host("2xA100")
    mixed = (*small.gpus, *(replace(gpu, index=gpu.index + 2) for gpu in large.gpus))
    assert [device.indices for device in devices(around(*mixed))] == [(2, 3), (0, 1)]


def test_a_gpu_in_use_is_kept_apart_and_its_process_named() -> None:
    idle = host("4xA6000")
    process = GpuProcess(4242, "python", 30 * GIB)
    busy = replace(
        idle.gpus[1], memory_free_bytes=(idle.gpus[1].memory_free_bytes or 0) - 30 * GIB, processes=(process,)
    )
    first, second = devices(replace(idle, gpus=(idle.gpus[0], busy, *idle.gpus[2:])))
    assert first.indices == (0, 2, 3)
    assert second.indices == (1,)
    assert second.free_bytes == second.total_bytes - 30 * GIB
    assert [reasons.text(holder) for holder in second.holders] == ["python (pid 4242): 30.0 GiB"]


def test_memory_of_processes_that_are_not_visible_is_reported() -> None:
    (gpu,) = host("A100").gpus
    (device,) = devices(around(replace(gpu, memory_free_bytes=(gpu.memory_free_bytes or 0) - 40 * GIB)))
    assert [reasons.text(holder) for holder in device.holders] == ["processes that are not visible from here: 40.0 GiB"]
    assert device.total_bytes == (gpu.memory_total_bytes or 0) - 615 * MIB


@pytest.mark.parametrize(("more", "lines"), [(0, 0), (1, 1)])
def test_hidden_processes_are_reported_from_a_twentieth_of_the_memory_on(more: int, lines: int) -> None:
    total = 80 * GIB
    free = total - total // 20 - RESERVED_BYTES - more
    silent = GpuProcess(1, "python", None)
    gpus = [
        replace(gpu, memory_total_bytes=total, memory_free_bytes=free, processes=(silent,)) for gpu in host("A100").gpus
    ]
    (device,) = devices(around(*gpus))
    assert [reason.code for reason in device.holders] == ["holder", *["hidden-holders"] * lines]


def test_unknown_free_memory_counts_as_free() -> None:
    (gpu,) = host("A100").gpus
    (device,) = devices(around(replace(gpu, memory_free_bytes=None)))
    assert (device.free_bytes, device.holders) == (device.total_bytes, ())


def test_a_small_share_taken_does_not_part_like_gpus_and_the_fullest_counts() -> None:
    first, second = host("2xL4").gpus
    used = replace(second, memory_free_bytes=(second.memory_free_bytes or 0) - GIB)
    (device,) = devices(around(first, used))
    assert device.indices == (0, 1)
    assert device.free_bytes == (first.memory_free_bytes or 0) - GIB


def test_a_gpu_that_fell_off_the_bus_is_left_out() -> None:
    lost = Gpu(1, "unknown GPU", unknown={"memory_total_bytes": "GPU is lost"})
    (device,) = devices(around(host("H100").gpus[0], lost))
    assert device.indices == (0,)


@pytest.mark.parametrize(
    ("kinds", "link", "speed"),
    [
        (("NV4", "NODE", "NODE", "NODE", "NODE", "NV4"), "bridge", 100e9),
        (("PIX", "NODE", "NODE", "NODE", "NODE", "PIX"), "pcie", 31.52e9),
        (("NV4",) * 6, "nvlink", 100e9),
    ],
)
def test_links_are_what_the_host_says(kinds: tuple[str, ...], link: str, speed: float) -> None:
    pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    links = tuple(GpuLink(a, b, kind) for (a, b), kind in zip(pairs, kinds, strict=True))
    (device,) = devices(replace(host("4xA6000"), gpu_links=links))
    assert device.link == link
    assert device.link_bytes_per_second == pytest.approx(speed)


def test_blackwells_links_are_twice_as_fast() -> None:
    (device,) = devices(host("8xB200"))
    assert device.link_bytes_per_second == 900e9


def test_fewer_lanes_are_slower() -> None:
    (gpu,) = host("L4").gpus
    (device,) = devices(around(replace(gpu, pcie_width=8)))
    assert device.link_bytes_per_second == pytest.approx(15.76e9)


@pytest.mark.parametrize(
    ("generation", "giga"), [(1, 4.0), (2, 8.0), (3, 15.76), (4, 31.52), (5, 63.04), (6, 120.96), (None, 25.0)]
)
def test_sixteen_lanes_of_every_generation(generation: int | None, giga: float) -> None:
    """Bytes per second in one direction, after encoding; where it is unknown, between generations 3 and 4."""
    gpus = [replace(gpu, index=index, pcie_generation=generation) for index, gpu in enumerate(host("2xL4").gpus)]
    (device,) = devices(around(*(replace(gpu, name=UNKNOWN) for gpu in gpus)))
    assert device.link_bytes_per_second == giga * 1e9


@pytest.mark.parametrize(
    ("capability", "operations"),
    [
        *(((7, 0), 16), ((7, 5), 16), ((8, 0), 32), ((8, 6), 8), ((8, 7), 16), ((8, 9), 8)),
        *(((9, 0), 32), ((10, 0), 64), ((10, 3), 64), ((12, 0), 8)),
    ],
)
def test_every_format_of_a_gpu_of_no_profile(capability: tuple[int, int], operations: int) -> None:
    derived = rates(replace(CLOCKED, compute_capability=capability), None)
    assert derived is not None
    fp16 = 1000 * 1e9 * operations
    assert (derived.fp16, derived.bandwidth) == (fp16, 64e9)
    assert derived.int8 == (2 * fp16 if capability != (7, 0) else None)
    assert derived.fp8 == (2 * fp16 if capability >= (8, 9) else None)
    assert derived.fp4 == (4 * fp16 if capability >= (10, 0) else None)


@pytest.mark.parametrize(
    "name", ["compute_capability", "memory_bus_bits", "memory_clock_mhz", "cuda_cores", "sm_clock_mhz"]
)
def test_without_one_of_the_clocks_nothing_is_derived(name: str) -> None:
    assert rates(CLOCKED, None)
    assert rates(replace(CLOCKED, **{name: None}), None) is None


def test_mig_slices_stand_alone_with_their_share() -> None:
    (gpu,) = host("A100").gpus
    slices = tuple(MigSlice(f"MIG-{n}", "1g.10gb", 9856 * MIB) for n in range(7))
    (device,) = devices(around(replace(gpu, mig_enabled=True, mig_slices=slices)))
    assert device.mig
    assert device.name == "NVIDIA A100-SXM4-80GB MIG 1g.10gb"
    assert device.indices == (0,) * 7
    assert device.total_bytes == device.free_bytes == 9856 * MIB
    assert device.rates is not None
    assert device.rates.fp16 == pytest.approx(312e12 / 7)
    assert device.rates.bandwidth == pytest.approx(2.039e12 / 8)
    assert not device.rates.known


def test_a_slice_that_is_all_a_container_sees() -> None:
    name = "NVIDIA A100-SXM4-80GB MIG 3g.40gb"
    seen = Gpu(0, name, memory_total_bytes=40192 * MIB, memory_free_bytes=30000 * MIB, compute_capability=(8, 0))
    (device,) = devices(around(seen))
    assert (device.mig, device.name, device.free_bytes) == (True, name, 30000 * MIB)
    assert device.rates is not None
    assert device.rates.fp16 == pytest.approx(312e12 * 3 / 7)
    assert device.rates.bandwidth == pytest.approx(2.039e12 / 2)


def test_a_gpu_with_mig_on_and_no_slice_is_no_device() -> None:
    (gpu,) = host("H100").gpus
    assert devices(around(replace(gpu, mig_enabled=True))) == []


def test_unified_memory_is_the_hosts() -> None:
    (device,) = devices(host("gb10"))
    assert device.unified
    assert device.total_bytes == 127_600_748 * 1024
    assert device.free_bytes < device.total_bytes


@pytest.mark.parametrize(
    ("like", "bits", "memory_mhz", "cores", "sm_mhz", "capability"),
    [
        ("NVIDIA H200", 6016, 3201, 16896, 1830, (9, 0)),
        ("NVIDIA A100-SXM4-80GB", 5120, 1593, 6912, 1410, (8, 0)),
        ("NVIDIA L4", 192, 6251, 7424, 2040, (8, 9)),
        ("Tesla T4", 256, 5001, 2560, 1590, (7, 5)),
        ("NVIDIA GeForce RTX 4090", 384, 10501, 16384, 2520, (8, 9)),
        ("NVIDIA RTX A6000", 384, 8001, 10752, 1800, (8, 6)),
    ],
)
def test_a_gpu_of_no_profile_is_derived_from_its_clocks(
    like: str, bits: int, memory_mhz: int, cores: int, sm_mhz: int, capability: tuple[int, int]
) -> None:
    """Boost clocks as published; what is derived agrees with what the table says of the same GPU."""
    geforce = "GeForce " if "GeForce" in like else ""
    gpu = Gpu(
        0,
        f"NVIDIA {geforce}Unheard Of",
        compute_capability=capability,
        memory_bus_bits=bits,
        memory_clock_mhz=memory_mhz,
        cuda_cores=cores,
        sm_clock_mhz=sm_mhz,
    )
    assert match(gpu.name) is None
    derived, known = rates(gpu, None), rates(gpu, match(like))
    assert derived is not None
    assert known is not None
    assert derived.bandwidth == pytest.approx(known.bandwidth, rel=0.01)
    assert derived.fp16 == pytest.approx(known.fp16, rel=0.03)
    assert derived.memory == known.memory
    assert (derived.fp8 is None) == (known.fp8 is None)
    assert not derived.known
    assert "derived from NVML" in derived.source


def test_the_kind_of_memory_is_that_of_the_profile_or_of_its_bus() -> None:
    known = devices(host("2xRTX4090"))[0], devices(host("1xH100"))[0], devices(host("gb10"))[0]
    assert [each.rates and each.rates.memory for each in known] == ["gddr", "hbm", "lpddr"]
    shared = replace(CLOCKED, memory_is_shared_with_host=True)
    assert [each and each.memory for each in (rates(CLOCKED, None), rates(shared, None))] == ["gddr", "lpddr"]


def test_without_clocks_or_tensor_cores_nothing_is_derived() -> None:
    assert rates(Gpu(0, UNKNOWN, compute_capability=(9, 0)), None) is None
    pascal = Gpu(
        0,
        "Tesla P40",
        compute_capability=(6, 1),
        memory_bus_bits=384,
        memory_clock_mhz=3615,
        cuda_cores=3840,
        sm_clock_mhz=1531,
    )
    assert rates(pascal, None) is None


def test_a_profile_goes_before_the_clocks() -> None:
    gpu = replace(recorded("host-h200-x1.json").gpus[0], memory_clock_mhz=1)
    rated = rates(gpu, match(gpu.name))
    assert isinstance(rated, Rates)
    assert rated.bandwidth == 4.8e12


def of_memory(total: int, free: int | None, *processes: GpuProcess, index: int = 0) -> Gpu:
    (gpu,) = host("A100").gpus
    return replace(gpu, index=index, memory_total_bytes=total, memory_free_bytes=free, processes=processes)


@pytest.mark.parametrize(("more", "groups"), [(0, [(0, 1)]), (1, [(0,), (1,)])])
def test_a_gpu_is_kept_apart_from_a_tenth_of_its_memory_on(more: int, groups: list[tuple[int, ...]]) -> None:
    total = 80 * GIB
    used = of_memory(total, total - total // 10 - RESERVED_BYTES - more, index=1)
    assert [device.indices for device in devices(around(of_memory(total, total - RESERVED_BYTES), used))] == groups


@pytest.mark.parametrize(
    ("free", "held", "reserved"),
    [
        (80 * GIB, 0, 0),
        (80 * GIB + 1, 0, 0),
        (80 * GIB - 1, 0, 1),
        (79 * GIB, GIB, 0),
        (79 * GIB, GIB - 1, 1),
        (80 * GIB - RESERVED_BYTES - 1, 0, RESERVED_BYTES),
        (None, 0, RESERVED_BYTES),
    ],
)
def test_used_memory_of_no_process_is_the_drivers_up_to_what_it_can_use(
    free: int | None, held: int, reserved: int
) -> None:
    (device,) = devices(around(of_memory(80 * GIB, free, GpuProcess(1, "python", held))))
    assert device.total_bytes == 80 * GIB - reserved
    assert device.free_bytes == min(device.total_bytes, free or device.total_bytes)


def test_the_driver_reserves_as_much_as_on_the_gpu_where_it_reserves_most() -> None:
    first, second = of_memory(80 * GIB, 80 * GIB), of_memory(80 * GIB, 80 * GIB - MIB, index=1)
    (device,) = devices(around(first, second))
    assert (device.total_bytes, device.free_bytes) == (80 * GIB - MIB, 80 * GIB - MIB)


def test_larger_groups_come_first_and_slices_last() -> None:
    first, second = host("2xL4").gpus
    large, sliced = host("H100").gpus[0], host("B200").gpus[0]
    sliced = replace(sliced, index=3, mig_enabled=True, mig_slices=(MigSlice("MIG-0", "7g.180gb", 180 * GIB),))
    order = [device.indices for device in devices(around(sliced, first, second, replace(large, index=2)))]
    assert order == [(2,), (0, 1), (3,)]


@pytest.mark.parametrize(
    ("limits", "watts"), [((700.0, 600.0), 700.0), ((700.0, None), None), ((0.0, 700.0), None), ((None, None), None)]
)
def test_the_power_limit_is_the_highest_if_all_are_known(
    limits: tuple[float | None, float | None], watts: float | None
) -> None:
    gpus = [replace(gpu, power_limit_watts=limit) for gpu, limit in zip(host("2xH100").gpus, limits, strict=True)]
    assert [device.watts for device in devices(around(*gpus))] == [watts]


def test_of_several_gpus_holders_name_theirs() -> None:
    total = 80 * GIB
    held = [of_memory(total, total - RESERVED_BYTES - GIB, GpuProcess(7, "a", GIB), index=n) for n in (0, 1)]
    (device,) = devices(around(*held))
    assert [reason.params["index"] for reason in device.holders] == [0, 1]
    assert [reason.params["index"] for reason in devices(around(held[0]))[0].holders] == [None]


@pytest.mark.parametrize(("count", "here", "named"), [(7, 7, None), (8, 8, None), (9, 8, 9)])
def test_of_a_shorthand_only_the_gpus_of_one_machine_work_together(count: int, here: int, named: int | None) -> None:
    (device,) = devices(host(f"{count}xH100"))
    assert (len(device.indices), device.named) == (here, named)
    real = [replace(gpu, uuid=f"GPU-{gpu.index}") for gpu in host(f"{count}xH100").gpus]
    assert [(len(group.indices), group.named) for group in devices(around(*real))] == [(count, None)]


@pytest.mark.parametrize(
    ("gpu", "profile", "gib", "compute", "bandwidth"),
    [
        ("H100", "1g.10gb", 10, 1 / 7, 1 / 8),
        ("H100", "1g.20gb", 20, 1 / 7, 2 / 8),
        ("H100", "7g.80gb", 79, 1.0, 1.0),
        ("H100", "1g.5gb", 4, 1 / 7, 1 / 8),  # less than half of an eighth
        ("A30", "1g.6gb", 6, 1 / 4, 2 / 8),
        ("A30", "4g.24gb", 23, 1.0, 1.0),
        ("H100", "half", 40, 4 / 8, 4 / 8),  # no profile that is known
    ],
)
def test_a_slice_computes_by_its_profile_and_reads_by_its_memory(
    gpu: str, profile: str, gib: int, compute: float, bandwidth: float
) -> None:
    (whole,) = host(gpu).gpus
    known = rates(whole, match(whole.name))
    (part,) = devices(around(replace(whole, mig_enabled=True, mig_slices=(MigSlice("MIG-0", profile, gib * GIB),))))
    assert known
    assert part.rates
    assert (part.rates.fp16, part.rates.bandwidth) == pytest.approx((compute * known.fp16, bandwidth * known.bandwidth))
    assert part.rates.int8 == pytest.approx((known.int8 or 0) * compute)
    assert (part.rates.fp8 is None) == (known.fp8 is None)
    assert f"{compute:.0%} of the GPU's compute rate and {bandwidth:.0%} of its bandwidth" in part.rates.source


def test_slices_are_as_large_as_the_smallest_and_of_unknown_size_are_no_device() -> None:
    (gpu,) = host("A100").gpus
    parts = [MigSlice(f"MIG-{n}", "1g.10gb", size) for n, size in enumerate((10 * GIB, 9 * GIB))]
    (device,) = devices(around(replace(gpu, mig_enabled=True, mig_slices=tuple(parts))))
    assert device.total_bytes == 9 * GIB
    unknown = replace(gpu, mig_enabled=True, mig_slices=(*parts, MigSlice("MIG-2", "1g.10gb", None)))
    assert devices(around(unknown)) == []
    nameless = replace(gpu, name=UNKNOWN, compute_capability=None, mig_enabled=True, mig_slices=tuple(parts))
    assert devices(around(nameless)) == []


def test_a_slice_of_a_gpu_of_no_profile_has_its_share_of_the_memory_that_nvml_reports() -> None:
    gpu = replace(CLOCKED, memory_total_bytes=80 * GIB, mig_enabled=True, mig_slices=(MigSlice("M", "x", 20 * GIB),))
    (device,) = devices(around(gpu))
    assert device.rates
    assert (device.rates.fp16, device.rates.bandwidth) == (32e12 / 4, 64e9 / 4)
    alone = replace(gpu, memory_total_bytes=None)  # then it may be all of it
    assert devices(around(alone))[0].rates.bandwidth == 64e9  # type: ignore[union-attr]
