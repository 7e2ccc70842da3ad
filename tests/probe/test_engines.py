"""docker and podman, played by scripts on PATH that print what the real ones do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.probe.programs import hanging, script
from wizard.probe import engines
from wizard.probe.ask import Answer, asking
from wizard.probe.host import ContainerEngine

DOCKER_VERSION = 'if [ "$1" = --version ]; then echo "Docker version 28.2.2, build e6534b4"; exit 0; fi\n'
PODMAN_VERSION = 'if [ "$1" = --version ]; then echo "podman version 4.3.1"; exit 0; fi\n'


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is the whole PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def described(root: Path, seconds: float = 60) -> tuple[ContainerEngine, ...]:
    with asking(engines.questions(), seconds) as asked:
        return engines.read({key: each.answer() for key, each in asked.items()}, root)


def test_neither_is_installed(programs: Path) -> None:
    assert described(programs) == ()


@pytest.mark.parametrize(
    ("info", "nvidia"),
    [
        ({"ServerVersion": "20.10.24", "Runtimes": {"runc": {}, "nvidia": {}}}, True),
        ({"ServerVersion": "20.10.24", "Runtimes": {"runc": {}}}, False),
        ({"ServerVersion": "29.0.0", "DiscoveredDevices": [{"Source": "cdi", "ID": "nvidia.com/gpu=all"}]}, True),
        ({"ServerVersion": "29.0.0", "Runtimes": None, "DiscoveredDevices": None}, False),
    ],
)
def test_docker_that_answers(programs: Path, info: dict[str, object], nvidia: bool) -> None:
    script(programs / "docker", DOCKER_VERSION + f"echo '{json.dumps(info)}'")
    (engine,) = described(programs)
    assert engine == ContainerEngine("docker", "28.2.2", str(info["ServerVersion"]), nvidia)


def test_nvidias_hook_is_enough_for_docker(programs: Path) -> None:
    script(programs / "docker", DOCKER_VERSION + """echo '{"ServerVersion": "28.2.2", "Runtimes": {"runc": {}}}'""")
    script(programs / "nvidia-container-runtime-hook", "")
    assert described(programs)[0].nvidia_runtime is True


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock",
            "no permission to access the Docker socket: run `sudo usermod -aG docker $USER`",
        ),
        (
            "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
            "the Docker daemon does not respond: start it",
        ),
        ("\x1b[31mfirst\x1b[0m\nthe last line says it", "the last line says it"),
        ("", "the container engine returned no readable response"),
    ],
)
@pytest.mark.parametrize("status", [0, 1])  # releases differ in it
def test_docker_that_does_not_answer_says_why(programs: Path, message: str, expected: str, status: int) -> None:
    body = f"""echo '{{"ServerVersion": "", "Runtimes": null}}'; printf '%s\\n' '{message}' >&2; exit {status}"""
    script(programs / "docker", DOCKER_VERSION + body)
    (engine,) = described(programs)
    assert (engine.client_version, engine.server_version, engine.nvidia_runtime) == ("28.2.2", None, None)
    assert engine.problem is not None
    assert engine.problem.startswith(expected)


def test_errors_inside_the_answer_count_too() -> None:
    info = json.dumps({"ServerErrors": ["permission denied while trying to connect to the Docker daemon socket"]})
    (engine,) = engines.read(
        {("docker", "version"): Answer(0, "Docker version 20.10.24\n", ""), ("docker", "info"): Answer(0, info, "")}
    )
    assert engine.problem is not None
    assert engine.problem.startswith("no permission to access the Docker socket")


def test_docker_host_is_respected_and_named(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://user:secretword@192.0.2.1:2375")
    script(
        programs / "docker", DOCKER_VERSION + 'echo "Cannot connect to the Docker daemon at $DOCKER_HOST" >&2; exit 1'
    )
    (engine,) = described(programs)
    assert engine.problem is not None
    assert "DOCKER_HOST=tcp://" in engine.problem
    assert "secretword" not in engine.problem


def test_a_hanging_docker_keeps_its_version(programs: Path) -> None:
    hanging(programs / "docker", DOCKER_VERSION)
    with asking(engines.questions(), seconds=1) as asked:
        slow = asked["docker", "info"].answer()
    assert slow.status is None
    (engine,) = engines.read(
        {("docker", "version"): Answer(0, "Docker version 28.2.2, build e6534b4\n", ""), ("docker", "info"): slow}
    )
    assert engine == ContainerEngine("docker", "28.2.2", None, None, "no response within 1 s")


@pytest.mark.parametrize("answer", ["[]", "no json", '{"ServerVersion": 5'])
def test_docker_with_invalid_output(programs: Path, answer: str) -> None:
    script(programs / "docker", f"echo '{answer}'")
    (engine,) = described(programs)
    assert (engine.client_version, engine.server_version) == (None, None)
    assert engine.problem == "the container engine returned no readable response"


def test_podman_under_dockers_name_is_listed_once(programs: Path) -> None:
    body = PODMAN_VERSION + """echo '{"version": {"Version": "4.3.1"}}'"""
    script(programs / "docker", body)
    script(programs / "podman", body)
    assert [engine.name for engine in described(programs)] == ["podman"]


@pytest.mark.parametrize(
    ("file", "content", "nvidia"),
    [
        ("etc/cdi/nvidia.yaml", "kind: nvidia.com/gpu\n", True),
        ("var/run/cdi/x.json", '{"kind": "nvidia.com/gpu"}', True),
        ("etc/cdi/other.yaml", "kind: vendor.com/net\n", False),
        ("etc/cdi/readme.txt", "nvidia.com/gpu", False),
    ],
)
def test_podman_needs_a_cdi_specification_for_gpus(
    programs: Path, tmp_path: Path, file: str, content: str, nvidia: bool
) -> None:
    script(programs / "podman", PODMAN_VERSION + """echo '{"version": {"Version": "4.3.1"}}'""")
    script(programs / "catatonit", "")
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(content)
    assert described(tmp_path) == (ContainerEngine("podman", "4.3.1", "4.3.1", nvidia),)


@pytest.mark.parametrize("place", ["usr/libexec/podman/catatonit", "bin/catatonit", "tini"])
def test_podman_needs_catatonit_for_init(programs: Path, tmp_path: Path, place: str) -> None:
    """Its package only recommends it; a setting may name another program."""
    script(programs / "podman", PODMAN_VERSION + """echo '{"version": {"Version": "4.3.1"}}'""")
    (lacking,) = described(tmp_path)
    assert lacking.problem == "catatonit is missing; podman cannot start a server without it"
    assert (lacking.server_version, lacking.works) == ("4.3.1", False)
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    script(tmp_path / place, "")
    (tmp_path / "etc/containers").mkdir(parents=True)
    settings = tmp_path / "etc/containers/containers.conf"
    settings.write_text(f'[containers]\n# init_path = "{tmp_path / place}"\n')
    assert described(tmp_path)[0].works == (place != "tini")
    settings.write_text(f'[containers]\ninit_path = "{tmp_path / place}"\n')
    assert described(tmp_path)[0].works


def test_podman_that_does_not_work(programs: Path) -> None:
    script(programs / "podman", PODMAN_VERSION + "echo 'Error: cgroups in hybrid mode not supported' >&2; exit 125")
    (engine,) = described(programs)
    assert engine == ContainerEngine("podman", "4.3.1", None, None, "Error: cgroups in hybrid mode not supported")


@pytest.mark.parametrize(
    ("engine", "output", "rootless"),
    [
        ("docker", "[name=seccomp,profile=builtin name=rootless name=cgroupns]", True),
        ("docker", "[name=apparmor name=seccomp,profile=default]", False),
        ("podman", "rootless=true", True),
        ("podman", "rootless=false", False),
    ],
)
def test_whose_rights_an_engine_has(programs: Path, engine: str, output: str, rootless: bool) -> None:
    script(programs / engine, f"echo '{output}'")
    assert engines.is_rootless(engine) is rootless


@pytest.mark.parametrize(("bounds", "lifts"), [("000001ffffffffff", True), ("000001fffeffffff", False)])
def test_who_may_lift_limits(tmp_path: Path, bounds: str, lifts: bool) -> None:
    assert engines.lifts_limits(tmp_path) is False
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/status").write_text(f"Name:\tx\nCapBnd:\t{bounds}\nCapAmb:\t0000000000000000\n")
    assert engines.lifts_limits(tmp_path) is lifts
