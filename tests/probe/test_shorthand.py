"""Machines given as a phrase."""

from __future__ import annotations

from pathlib import Path

import pytest

from wizard.catalog.gpus import gpus
from wizard.kernel.errors import UsageError
from wizard.probe.hardware import find
from wizard.probe.host import GpuLink
from wizard.probe.interpreters import usable_interpreter

HERE = Path("/")
GIB = 1024**3


@pytest.mark.parametrize(
    ("text", "count", "name"),
    [
        ("4xA6000", 4, "NVIDIA RTX A6000"),
        ("1xH100", 1, "NVIDIA H100 80GB HBM3"),
        ("8xh200", 8, "NVIDIA H200"),
        ("A100", 1, "NVIDIA A100-SXM4-80GB"),
        ("2 X a100-40GB", 2, "NVIDIA A100-SXM4-40GB"),
        ("2×rtx 4090", 2, "NVIDIA GeForce RTX 4090"),
        ("NVIDIA GeForce RTX 3090", 1, "NVIDIA GeForce RTX 3090"),
        ("t4", 1, "Tesla T4"),
        ("16xV100", 16, "Tesla V100-SXM2-32GB"),
        ("8 H100", 8, "NVIDIA H100 80GB HBM3"),
        ("2 4090", 2, "NVIDIA GeForce RTX 4090"),
        ("2x 4090", 2, "NVIDIA GeForce RTX 4090"),
        ("4090x2", 2, "NVIDIA GeForce RTX 4090"),
        ("RTX 4090 x 2", 2, "NVIDIA GeForce RTX 4090"),
        ("H100 x8", 8, "NVIDIA H100 80GB HBM3"),
        ("RTX 3060 12GB", 1, "NVIDIA GeForce RTX 3060"),
        ("2x RTX 4090 24 GB", 2, "NVIDIA GeForce RTX 4090"),
        ("V100 32GB", 1, "Tesla V100-SXM2-32GB"),
        ("v100 16 gb", 1, "Tesla V100-SXM2-16GB"),
        ("a100 40 GB x4", 4, "NVIDIA A100-SXM4-40GB"),
        ("b200 192gb", 1, "NVIDIA B200"),
        ("4070 mobile", 1, "NVIDIA GeForce RTX 4070 Laptop GPU"),
        ("RTX 4060 Laptop", 1, "NVIDIA GeForce RTX 4060 Laptop GPU"),
        ("T4 GPU", 1, "Tesla T4"),
    ],
)
def test_a_phrase_names_a_machine(text: str, count: int, name: str) -> None:
    host = find(text, HERE)
    assert [gpu.name for gpu in host.gpus] == [name] * count
    assert [gpu.index for gpu in host.gpus] == list(range(count))
    assert host.source == text
    assert "assumed" in host.unknown["everything except the GPUs"]
    assert len(host.gpu_links) == count * (count - 1) // 2
    assert usable_interpreter(host) is not None


@pytest.mark.parametrize("text", ["CPU", "cpu only", "no GPU"])
def test_cpu_is_a_machine_without_gpus(text: str) -> None:
    host = find(text, HERE)
    assert host.gpus == ()
    assert host.gpu_problem is None
    assert host.driver_version is None
    assert host.memory_total_bytes == 32 * GIB


@pytest.mark.parametrize("profile", gpus())
def test_every_alias_of_every_profile_works(profile: str) -> None:
    wanted = gpus()[profile]
    for alias in (*wanted.aliases, *wanted.names):
        (gpu,) = find(alias, HERE).gpus
        assert gpu.name == wanted.names[0]
        assert gpu.compute_capability == wanted.compute_capability
        assert gpu.memory_total_bytes == wanted.memory.bytes
        assert gpu.memory_free_bytes is not None
        assert 0 < gpu.memory_free_bytes < wanted.memory.bytes


def test_links_are_the_usual_ones() -> None:
    assert find("2xh200", HERE).gpu_links == (GpuLink(0, 1, "NV18"),)
    kinds = {(link.a, link.b): link.kind for link in find("5xl4", HERE).gpu_links}
    assert kinds[0, 3] == "NODE"
    assert kinds[3, 4] == "SYS"


def test_unified_memory_is_the_hosts() -> None:
    host = find("dgx-spark", HERE)
    (gpu,) = host.gpus
    assert gpu.memory_is_shared_with_host
    assert (gpu.memory_total_bytes, gpu.memory_free_bytes) == (host.memory_total_bytes, host.memory_available_bytes)
    assert host.cpu.architecture == "aarch64"


@pytest.mark.parametrize(
    ("text", "near"),
    [("4xA600", "a6000"), ("h10", "h100"), ("8xh20", "h200"), ("rtx409", "rtx4090"), ("gb2oo", "gb200")],
)
def test_an_unknown_gpu_is_refused_with_the_nearest_names(text: str, near: str) -> None:
    with pytest.raises(UsageError) as caught:
        find(text, HERE)
    assert caught.value.code == "TW-P05"
    assert near in caught.value.todo.split("?")[0]


@pytest.mark.parametrize(
    ("text", "vendor"),
    [
        ("mi300x", "AMD"),
        ("8xMI325X", "AMD"),
        ("8 MI300X", "AMD"),
        ("Radeon RX 7900 XTX", "AMD"),
        ("rx 9070", "AMD"),
        ("m3 max", "Apple"),
        ("Apple M4", "Apple"),
        ("MacBook Pro", "Apple"),
        ("Intel Arc B580", "Intel"),
        ("gaudi3", "Intel"),
    ],
)
def test_a_gpu_of_another_vendor_is_named_as_one(text: str, vendor: str) -> None:
    with pytest.raises(UsageError, match=f"of {vendor}") as caught:
        find(text, HERE)
    assert caught.value.code == "TW-P05"
    assert "NVIDIA" in caught.value.what
    assert "`cpu`" in caught.value.todo
    assert "Did you mean" not in caught.value.todo


@pytest.mark.parametrize(("text", "near"), [("RTX 3060 8GB", "rtx3060"), ("4090 laptop", "4070 laptop"), ("m60", "")])
def test_a_gpu_without_a_profile_is_not_a_similar_one(text: str, near: str) -> None:
    with pytest.raises(UsageError, match="unknown GPU") as caught:
        find(text, HERE)
    assert caught.value.code == "TW-P05"
    assert near in caught.value.todo
    assert "probe --save host.json" in caught.value.todo


@pytest.mark.parametrize("text", ["24GB", "2x24 GB", "8gib"])
def test_memory_alone_is_no_gpu(text: str) -> None:
    """GPUs of one size differ in speed and formats: none is suggested for looking alike (``24GB`` and ``h200``)."""
    with pytest.raises(UsageError, match="is an amount of memory, not a GPU") as caught:
        find(text, HERE)
    assert caught.value.code == "TW-P05"
    assert "Did you mean" not in caught.value.todo


@pytest.mark.parametrize("text", ["2xL4,1xA100", "2xL4+1xA100"])
def test_several_kinds_of_gpu_need_a_recorded_host(text: str) -> None:
    with pytest.raises(UsageError, match="names GPUs of several kinds") as caught:
        find(text, HERE)
    assert caught.value.code == "TW-P05"
    assert "probe --save host.json" in caught.value.todo


@pytest.mark.parametrize(
    "text", ["", "x", "4x", "qqqqqqqq", "MI300X", pytest.param("é" * 300, id="long"), "$(rm)", "4xA6000;ls", "\n"]
)
def test_what_names_no_gpu(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        find(text, HERE)
    assert caught.value.code == "TW-P05"
    assert "host.json" in caught.value.todo


@pytest.mark.parametrize(
    "text",
    [
        "0xH100",
        "17xH100",
        "H100x17",
        "999999999999999999999xH100",
        pytest.param("9" * 5000 + "xH100", id="5000 digits"),
    ],
)
def test_a_number_of_gpus_that_cannot_be(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        find(text, HERE)
    assert caught.value.code == "TW-P10"
    assert len(str(caught.value)) < 300
