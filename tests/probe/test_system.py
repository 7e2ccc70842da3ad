"""Operating system, containers and the workspace's disk."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from wizard.probe.system import container, disk, is_wsl2, system


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        ("5.15.90.1-microsoft-standard-WSL2", True),
        ("6.6.87-custom-WSL2+", True),
        ("4.4.0-19041-Microsoft", False),
        ("6.1.0-18-amd64", False),
    ],
)
def test_wsl2_is_detected_by_its_kernel(kernel: str, expected: bool) -> None:
    assert is_wsl2(kernel) is expected


@pytest.mark.parametrize(
    ("file", "content", "expected"),
    [
        (".dockerenv", "", "docker"),
        ("run/.containerenv", 'engine="podman-4.3.1"\n', "podman"),
        ("run/systemd/container", "systemd-nspawn\n", "systemd-nspawn"),
        ("run/systemd/container", "wsl\n", None),
        ("proc/self/cgroup", "1:cpu:/kubepods/besteffort/pod1\n", "kubernetes"),
        ("proc/self/cgroup", "1:cpu:/docker/abc\n", "docker"),
        ("proc/self/cgroup", "0::/user.slice\n", None),
        ("proc/self/cgroup", "1:cpu:/lxc/one\n", "lxc"),
    ],
)
def test_containers_are_detected_by_their_marks(tmp_path: Path, file: str, content: str, expected: str | None) -> None:
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(content)
    assert container(tmp_path) == expected


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        ("KUBERNETES_SERVICE_HOST", "10.0.0.1", "kubernetes"),
        ("APPTAINER_NAME", "image.sif", "apptainer"),
        ("container", "lxc", "lxc"),
    ],
)
def test_containers_are_detected_by_their_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, expected: str
) -> None:
    assert container(tmp_path) is None
    monkeypatch.setenv(variable, value)
    assert container(tmp_path) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [('NAME="X"\nPRETTY_NAME="Some Linux 12 (bookworm)"\n', "Some Linux 12 (bookworm)"), ("", "Linux")],
)
def test_the_systems_name(tmp_path: Path, content: str, expected: str) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/os-release").write_text(content)
    assert system(tmp_path).name == expected


def test_the_disk_is_measured_at_the_nearest_folder_that_exists(tmp_path: Path) -> None:
    volume = disk(tmp_path / "not" / "there" / "yet")
    assert volume.path == str(tmp_path)
    assert volume.total_bytes == shutil.disk_usage(tmp_path).total
    assert 0 < volume.free_bytes <= volume.total_bytes
