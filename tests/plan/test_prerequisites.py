from __future__ import annotations

from dataclasses import replace

import pytest

from tests.plan.golden import GOLDEN, compared
from tests.values import CPU_HOST
from wizard.plan.prerequisites import Prerequisite, has_gpu, prerequisites, usable_engine
from wizard.probe.host import NO_GPU, ContainerEngine, Host, Problem, System
from wizard.probe.shorthand import host as shorthand

DOCKER = ContainerEngine("docker", "28.2.2", "28.2.2", nvidia_runtime=True)

WITHOUT_INIT = ContainerEngine(
    "podman", "5", "5.4", True, "catatonit is missing; podman cannot start a server without it", "init"
)


def at(system: str, *engines: ContainerEngine, driver: str | None = None) -> dict[str, tuple[bool, str]]:
    host = replace(
        CPU_HOST,
        system=System(system, "6.1", "glibc 2.36"),
        engines=engines,
        driver_version=driver,
        gpu_problem=None if driver else Problem("TW-P01", "no NVIDIA driver", "install one"),
    )
    return {
        prerequisite.name: (prerequisite.met, "\n".join(prerequisite.commands)) for prerequisite in prerequisites(host)
    }


def test_a_machine_that_has_everything() -> None:
    states = at("Ubuntu 24.04 LTS", DOCKER, driver="580.95")
    assert states == dict.fromkeys(("driver", "engine", "toolkit"), (True, ""))


@pytest.mark.parametrize(
    ("system", "driver", "docker", "toolkit"),
    [
        ("Ubuntu 24.04 LTS", "ubuntu-drivers", "apt-get install -y docker.io", "apt-get install -y nvidia-container"),
        ("Debian GNU/Linux 12 (bookworm)", "nvidia-driver", "docker.io", "apt-get install -y nvidia-container-toolkit"),
        ("Fedora Linux 42", "", "moby-engine", "dnf install -y nvidia-container-toolkit"),
        ("Rocky Linux 9.5", "", "moby-engine", "dnf install -y nvidia-container-toolkit"),
    ],
)
def test_commands_are_those_of_the_distribution(system: str, driver: str, docker: str, toolkit: str) -> None:
    states = at(system)
    for name, text in (("driver", driver), ("engine", docker), ("toolkit", toolkit)):
        assert not states[name][0]
        assert text in states[name][1]
    assert "nvidia-ctk runtime configure --runtime=docker" in states["toolkit"][1]


def test_an_unknown_distribution_gets_no_commands_that_may_be_wrong() -> None:
    states = at("Some Linux 1")
    assert states["driver"] == (False, "")
    assert states["toolkit"] == (False, "")


def test_a_daemon_that_does_not_answer_is_started_and_rights_are_given() -> None:
    stopped = ContainerEngine("docker", "28", None, None, "the Docker daemon does not respond")
    assert "systemctl enable --now docker" in at("Debian", stopped)["engine"][1]
    forbidden = ContainerEngine("docker", "28", None, None, "permission denied on Docker's socket", "rights")
    assert "usermod -aG docker" in at("Debian", forbidden)["engine"][1]


@pytest.mark.parametrize("problem", [None, Problem(NO_GPU, "no NVIDIA GPU on the PCI bus", "")])
def test_without_a_gpu_nothing_is_needed(problem: Problem | None) -> None:
    """`None`: a machine that is only described, without GPUs."""
    host = replace(CPU_HOST, system=System("Ubuntu 24.04 LTS", "6.8", "glibc 2.39"), gpu_problem=problem)
    driver, engine, toolkit = prerequisites(host)
    assert [prerequisite.needed for prerequisite in (driver, engine, toolkit)] == [False] * 3
    assert (driver.commands, toolkit.commands) == ((), ())


@pytest.mark.parametrize("code", ["TW-P01", "TW-P02", "TW-P03"])
def test_a_gpu_whose_driver_does_not_respond_needs_a_driver(code: str) -> None:
    host = replace(CPU_HOST, gpu_problem=Problem(code, "no driver", "install one"))
    assert all(prerequisite.needed for prerequisite in prerequisites(host))


def test_podman_gets_a_cdi_specification() -> None:
    podman = ContainerEngine("podman", "5", "5.4", nvidia_runtime=False)
    states = at("Fedora Linux 42", podman)
    assert states["engine"][0]
    assert "nvidia-ctk cdi generate" in states["toolkit"][1]


@pytest.mark.parametrize(
    ("system", "command"),
    [
        ("Debian GNU/Linux 12 (bookworm)", "apt-get install -y catatonit"),
        ("Ubuntu 24.04 LTS", "apt-get install -y catatonit"),
        ("Fedora Linux 42", "dnf install -y catatonit"),
        ("Some Linux 1", ""),
    ],
)
def test_podman_without_catatonit_gets_it(system: str, command: str) -> None:
    met, commands = at(system, WITHOUT_INIT)["engine"]
    assert not met
    assert command in commands
    assert bool(command) == bool(commands)


def test_the_engine_that_gives_gpus_goes_first() -> None:
    plain = ContainerEngine("docker", "28", "28", nvidia_runtime=False)
    podman = ContainerEngine("podman", "5", "5", nvidia_runtime=True)
    host = replace(CPU_HOST, engines=(plain, podman))
    assert usable_engine(host) == podman
    assert usable_engine(replace(CPU_HOST, engines=(plain,))) == plain
    assert usable_engine(CPU_HOST) is None
    assert usable_engine(replace(CPU_HOST, engines=(WITHOUT_INIT, plain))) == plain
    assert usable_engine(replace(CPU_HOST, engines=(WITHOUT_INIT,))) is None


NO_DRIVER = Problem("TW-P01", "no NVIDIA driver", "install one")
BARE = replace(CPU_HOST, system=System("Fedora Linux 42", "6.1", "glibc 2.41"), gpu_problem=NO_DRIVER)
UNKNOWN = replace(BARE, system=System("Some Linux 1", "6.1", "glibc 2.41"))
STOPPED = ContainerEngine("docker", "28", None, None)
FORBIDDEN = replace(STOPPED, problem="permission denied on Docker's socket", obstacle="rights")
PODMAN = ContainerEngine("podman", "5", "5.4", nvidia_runtime=False)
STATES: dict[str, Host] = {
    "nothing": BARE,
    "nothing-on-an-unknown-system": UNKNOWN,
    "everything": replace(BARE, driver_version="580.95", gpu_problem=None, engines=(DOCKER,)),
    "no-gpu": replace(BARE, gpu_problem=Problem(NO_GPU, "no NVIDIA GPU on the PCI bus", ""), engines=(STOPPED,)),
    "gpus-without-a-driver": replace(BARE, gpus=shorthand("1xL4").gpus, gpu_problem=None),
    "docker-is-stopped": replace(BARE, engines=(STOPPED,)),
    "docker-is-forbidden": replace(BARE, engines=(FORBIDDEN,)),
    "podman-is-stopped": replace(BARE, engines=(replace(STOPPED, name="podman"),)),
    "podman-without-init": replace(BARE, engines=(WITHOUT_INIT,)),
    "podman-without-init-on-an-unknown-system": replace(UNKNOWN, engines=(WITHOUT_INIT,)),
    "podman-without-gpus": replace(BARE, engines=(PODMAN,)),
    "docker-without-gpus": replace(BARE, engines=(replace(DOCKER, nvidia_runtime=False),)),
}


def shown(item: Prerequisite) -> str:
    """All of it, for people who compare two."""
    state = f"{item.name}: {'met' if item.met else 'missing'}, {'needed' if item.needed else 'not needed'}"
    lines = (
        state,
        item.title,
        item.found,
        item.why,
        f"source: {item.source}",
        *(f"$ {line}" for line in item.commands),
    )
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", STATES)
def test_what_a_machine_lacks_is_the_golden_text(name: str) -> None:
    """Word for word, with every command that would be run as root; ``UPDATE_GOLDEN=1`` regenerates them."""
    compared("prerequisites", name, "\n".join(map(shown, prerequisites(STATES[name]))))


def test_no_golden_text_is_left_over() -> None:
    assert {path.stem for path in (GOLDEN / "prerequisites").glob("*.txt")} == set(STATES)


def test_a_gpu_is_there_if_anything_says_so() -> None:
    without = replace(CPU_HOST, gpu_problem=Problem(NO_GPU, "", ""))
    assert not has_gpu(CPU_HOST)
    assert not has_gpu(without)
    assert has_gpu(replace(without, driver_version="580.95"))
    assert has_gpu(replace(without, gpus=shorthand("1xL4").gpus))
    assert has_gpu(BARE)
