"""Recorded hosts: written, read back, and refused when they cannot be."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.probe.fake_driver import HOSTS, FakeDriver, readings
from tests.values import CPU_HOST
from wizard.kernel.errors import UsageError, WizardError, WorkspaceError
from wizard.kernel.values import from_json, to_data, to_json
from wizard.probe import gpus
from wizard.probe.hardware import find, save
from wizard.probe.host import Gpu, GpuLink, GpuProcess, Host

amounts = st.integers(0, 1 << 59)
devices = st.builds(
    Gpu,
    index=st.integers(0, 15),
    memory_total_bytes=st.none() | amounts,
    memory_free_bytes=st.none() | amounts,
    compute_capability=st.none() | st.tuples(st.integers(1, 20), st.integers(0, 9)),
    power_limit_watts=st.none() | st.floats(0, 5000),
    processes=st.lists(st.builds(GpuProcess, pid=amounts, used_bytes=st.none() | amounts), max_size=2).map(tuple),
)
hosts = st.builds(Host, gpus=st.lists(devices, max_size=3).map(tuple))


def h200s(driver: FakeDriver, count: int) -> Host:
    """The recorded machine with that many H200, as its NVML says."""
    driver.says(readings(f"nvml-h200-x{count}"))
    part = gpus.find((1 << 40, 1 << 40))
    return replace(
        CPU_HOST,
        gpus=part.gpus,
        gpu_links=part.links,
        driver_version=part.driver_version,
        cuda_driver_version=part.cuda_driver_version,
    )


@given(hosts)
def test_a_host_survives_json(host: Host) -> None:
    assert from_json(Host, to_json(host), where="here") == host


@pytest.mark.parametrize(("name", "count"), [("cpu", 0), ("h200-x1", 1), ("h200-x8", 8)])
def test_recordings_of_real_machines_are_read(name: str, count: int) -> None:
    """Saved by the wizard, names taken out; the GPUs of host-h200-x8 are from nvml-h200-x8."""
    host = find(str(HOSTS / f"host-{name}.json"), Path("/"))
    assert [gpu.name for gpu in host.gpus] == ["NVIDIA H200"] * count
    assert host.source == f"host-{name}.json"
    assert host.gpus or (host.gpu_problem and host.gpu_problem.code == "TW-P14")


@pytest.mark.parametrize("count", [1, 8])
def test_a_saved_host_is_loaded_again(tmp_path: Path, driver: FakeDriver, count: int) -> None:
    host = h200s(driver, count)
    save(host, tmp_path / "host.json")
    assert find(str(tmp_path / "host.json"), tmp_path) == replace(host, source="host.json")
    assert [path.name for path in tmp_path.iterdir()] == ["host.json"]  # nothing half-written stays


def test_saving_replaces_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "host.json").write_text("old")
    save(CPU_HOST, tmp_path / "host.json")
    assert find(str(tmp_path / "host.json"), tmp_path).cpu == CPU_HOST.cpu


def test_a_device_file_is_written_to_and_stays_a_device_file(tmp_path: Path) -> None:
    (tmp_path / "null").symlink_to(os.devnull)
    save(CPU_HOST, tmp_path / "null")
    assert (tmp_path / "null").is_char_device()


def test_saving_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WorkspaceError) as caught:
        save(CPU_HOST, tmp_path / "file" / "host.json")
    assert caught.value.code == "TW-P08"


def test_saving_over_a_folder_loses_nothing(tmp_path: Path) -> None:
    (tmp_path / "host.json").mkdir()
    with pytest.raises(WorkspaceError):
        save(CPU_HOST, tmp_path / "host.json")
    assert [path.name for path in tmp_path.iterdir()] == ["host.json"]


@pytest.mark.parametrize(
    "name", ["missing.json", "no/such/file", "/proc/1/mem.json", "nul\0.json", "folder.json", ".json"]
)
def test_a_file_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(UsageError) as caught:
        find(name, tmp_path)
    assert caught.value.code == "TW-P06"
    assert "--save" in caught.value.todo


def test_a_file_too_large_to_be_a_host(tmp_path: Path) -> None:
    with (tmp_path / "host.json").open("wb") as file:
        file.truncate(64 << 20)
    with pytest.raises(UsageError) as caught:
        find(str(tmp_path / "host.json"), tmp_path)
    assert caught.value.code == "TW-P06"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "\0",
        "\ufeff{}",
        "not json",
        "{'cpu': 1}",
        pytest.param("[" * 100_000, id="deep"),
        pytest.param("9" * 5000, id="long"),
    ],
)
def test_what_is_not_json(tmp_path: Path, text: str) -> None:
    (tmp_path / "host.json").write_text(text)
    with pytest.raises(UsageError) as caught:
        find(str(tmp_path / "host.json"), tmp_path)
    assert caught.value.code in ("TW-K02", "TW-K01")


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        (("cpu",), None, "cpu"),
        (("cpu", "cores"), "many", "cpu.cores"),
        (("cpu", "cores"), float("nan"), "cpu.cores"),
        (("memory_total_bytes",), [], "memory_total_bytes"),
        (("gpus",), {"a": 1}, "gpus"),
        (("gpus", 0, "name"), 7, "gpus.0.name"),
        (("gpus", 0, "compute_capability"), [9], "gpus.0.compute_capability"),
        (("gpu_links", 0, "kind"), None, "gpu_links.0.kind"),
        (("disk", "path"), None, "disk.path"),
        (("unknown",), "all", "unknown"),
    ],
)
def test_a_field_of_the_wrong_kind_is_named(tmp_path: Path, path: tuple[Any, ...], value: Any, field: str) -> None:
    with pytest.raises(UsageError) as caught:
        find(recorded(tmp_path, path, value), tmp_path)
    assert caught.value.code == "TW-K01"
    assert field in caught.value.what


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        (("cpu", "cores"), 0, "host.cpu.cores"),
        (("cpu", "cores"), -4, "host.cpu.cores"),
        (("memory_total_bytes",), -1, "host.memory_total_bytes"),
        (("memory_total_bytes",), 10**30, "host.memory_total_bytes"),
        pytest.param(("disk", "free_bytes"), -(10**400), "host.disk.free_bytes", id="401 digits"),
        (("gpus", 1, "power_limit_watts"), float("inf"), "host.gpus.1.power_limit_watts"),
        (("gpus", 1, "power_limit_watts"), float("nan"), "host.gpus.1.power_limit_watts"),
        (("gpus", 1, "index"), 0, "host.gpus contains a duplicate index"),
        (("gpu_links", 0, "b"), 99, "host.gpu_links.0 connects 0 and 99"),
        (("gpu_links", 0, "b"), 0, "host.gpu_links.0 connects 0 and 0"),
        (("gpu_links", 0, "kind"), "string\nof \x1b[31mmany", "host.gpu_links.0.kind"),
    ],
)
def test_a_value_that_no_machine_has_is_named(tmp_path: Path, path: tuple[Any, ...], value: Any, field: str) -> None:
    with pytest.raises(UsageError) as caught:
        find(recorded(tmp_path, path, value), tmp_path)
    assert caught.value.code == "TW-P07"
    assert field in caught.value.what
    assert "\x1b" not in str(caught.value)


def recorded(folder: Path, path: tuple[Any, ...], value: Any) -> str:
    """A recording of eight H200 in which one value was changed."""
    data = to_data(find(str(HOSTS / "host-h200-x8.json"), folder))
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    (folder / "host.json").write_text(json.dumps(data))
    return str(folder / "host.json")


def test_fields_that_a_later_wizard_adds_do_no_harm(tmp_path: Path) -> None:
    assert find(recorded(tmp_path, ("of_the_future",), 1), tmp_path).gpu_links[0] == GpuLink(0, 1, "NV18")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(st.sampled_from(sorted(to_data(CPU_HOST))), json_values)
def test_no_recording_makes_anything_but_a_host_or_an_error_for_the_user(
    tmp_path_factory: pytest.TempPathFactory, name: str, value: Any
) -> None:
    folder = tmp_path_factory.mktemp("recording")
    (folder / "host.json").write_text(json.dumps(to_data(CPU_HOST) | {name: value}))
    try:
        result = str(find(str(folder / "host.json"), folder).source)
    except WizardError as error:
        result = error.code
    assert result in ("host.json", "TW-K01", "TW-P07")
