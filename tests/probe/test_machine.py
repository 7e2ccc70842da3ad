"""This machine, really."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pynvml
import pytest

from tests.probe.fake_driver import FakeDriver, error
from tests.probe.programs import script
from wizard.kernel.values import from_json, to_json
from wizard.probe import processor
from wizard.probe.hardware import find
from wizard.probe.host import Cpu, Host
from wizard.probe.report import text


@pytest.fixture
def quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH without the engines of this machine."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path


def test_this_machine_is_described(tmp_path: Path) -> None:
    host = find(None, tmp_path / "workspace")
    assert host.source == "this machine"
    assert host.disk.path == str(tmp_path)
    assert host.cpu.cores >= 1
    assert host.memory_total_bytes
    assert host.interpreters[0].version == sys.version_info[:3]
    assert bool(host.gpus) or host.gpu_problem is not None
    assert from_json(Host, to_json(host), where="here") == host
    assert text(host).startswith("machine     this machine\n")


@pytest.mark.xdist_group("journey")  # whose servers take Triton's own ports, and are looked for there
def test_a_port_of_triton_that_somebody_holds_is_listed(quiet: Path) -> None:
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            server.bind(("127.0.0.1", 8002))
        except OSError:
            assert 8002 in find(None, quiet).busy_ports  # somebody else holds it
            return
        server.listen()
        assert 8002 in find(None, quiet).busy_ports


def test_docker_without_rights_is_part_of_the_description(quiet: Path) -> None:
    script(quiet / "bin/docker", "echo 'permission denied while trying to connect' >&2; exit 1")
    (engine,) = find(None, quiet).engines
    assert engine.problem is not None
    assert engine.problem.startswith("no permission to access the Docker socket")


def test_what_cannot_be_detected_is_unknown_with_its_reason(quiet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor, "memory", lambda: (None, None))
    monkeypatch.setattr(processor, "cpu", lambda: Cpu(None, "x86_64", 1))
    script(quiet / "bin/python3", "").write_text("#!/no/such/shell\n")
    host = find(None, quiet)
    assert set(host.unknown) >= {"cpu.model", "memory_total_bytes", "memory_available_bytes", "interpreters"}
    assert str(quiet / "bin/python3") in host.unknown["interpreters"]


def test_without_a_driver_the_rest_is_described(quiet: Path, driver: FakeDriver) -> None:
    driver.says({"init": error(pynvml.NVML_ERROR_DRIVER_NOT_LOADED)})
    host = find(None, quiet)
    assert host.gpu_problem is not None
    assert host.gpu_problem.code == "TW-P02"
    assert host.memory_total_bytes
    assert host.interpreters
