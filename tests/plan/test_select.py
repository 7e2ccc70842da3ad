"""Which runtime a choice gets on a machine, and what keeps it from running there."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.values import CHOICE, CPU_HOST, PYTHON
from wizard.advise.advice import Choice
from wizard.kernel.errors import HostError, InfeasibleError
from wizard.kernel.paths import Workspace
from wizard.plan.plan import Ports
from wizard.plan.runtimes.docker import Docker
from wizard.plan.runtimes.native import Native
from wizard.plan.runtimes.runtime import Runtime
from wizard.plan.runtimes.select import runtime_of
from wizard.probe.host import ContainerEngine, Host
from wizard.probe.shorthand import host as shorthand

DOCKER = ContainerEngine("docker", "28.2.2", "28.2.2", nvidia_runtime=True)
PODMAN = ContainerEngine("podman", "5.0", "5.0", nvidia_runtime=True)
STOPPED = ContainerEngine("docker", "28.2.2", None, None, "the Docker daemon does not answer")
PLAIN = replace(DOCKER, nvidia_runtime=False)
IN_IMAGE = replace(CHOICE, stack="vllm", runtime="docker", release="24.05-vllm-python-py3", devices=(0, 1), tp=2)
NATIVE = replace(CHOICE, stack="vllm", runtime="native", release="vLLM", devices=(1,))


def selected(host: Host, choice: Choice) -> Runtime:
    workspace = Workspace(Path("/w"))
    return runtime_of(host, choice, workspace, workspace.server("s"))


def docker(host: Host, choice: Choice = IN_IMAGE) -> Docker:
    found = selected(host, choice)
    assert isinstance(found, Docker)
    return found


def native(choice: Choice, host: Host = CPU_HOST) -> Native:
    found = selected(host, choice)
    assert isinstance(found, Native)
    return found


def test_limits_and_user_are_those_that_the_engine_here_can_give(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "docker"
    script.write_text("#!/bin/sh\necho '[name=rootless]'\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    here = docker(replace(CPU_HOST, engines=(DOCKER,)))
    assert (here.rootless, here.memlock) == (True, False)
    described = docker(replace(shorthand("2xL4"), engines=()))
    assert (described.rootless, described.memlock) == (False, True)


@pytest.mark.parametrize("address", ["ssh://me@gpu-box", "tcp://10.0.0.7:2375"])
def test_an_engine_on_another_machine_is_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", address)
    with pytest.raises(HostError) as caught:
        selected(replace(CPU_HOST, engines=(DOCKER,)), IN_IMAGE)
    assert caught.value.code == "TW-L24"
    assert "me@" not in caught.value.what


@pytest.mark.parametrize("address", ["unix:///run/user/1000/docker.sock", "tcp://127.0.0.1:2375"])
def test_an_engine_on_this_machine_is_used(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", address)
    assert docker(replace(CPU_HOST, engines=(DOCKER,))).engine == "docker"


def test_the_image_is_nvidias_with_the_choices_tag() -> None:
    found = docker(replace(CPU_HOST, engines=(DOCKER,)))
    assert found.image == "nvcr.io/nvidia/tritonserver:24.05-vllm-python-py3"
    assert (found.engine, found.devices) == ("docker", (0, 1))


@pytest.mark.parametrize(
    ("engines", "name"),
    [((DOCKER, PODMAN), "docker"), ((STOPPED, PODMAN), "podman"), ((PLAIN, PODMAN), "podman")],
)
def test_the_first_engine_that_can_give_gpus(engines: tuple[ContainerEngine, ...], name: str) -> None:
    assert docker(replace(CPU_HOST, engines=engines)).engine == name


@pytest.mark.parametrize(
    ("engines", "code", "what", "todo"),
    [
        ((), "TW-L20", "neither docker nor podman", "docker.com"),
        ((STOPPED,), "TW-L21", "does not answer", "systemctl enable --now docker"),
        ((PLAIN,), "TW-L22", "no NVIDIA runtime", "nvidia"),
    ],
)
def test_what_an_engine_lacks_is_said_with_what_to_do(
    engines: tuple[ContainerEngine, ...], code: str, what: str, todo: str
) -> None:
    with pytest.raises(HostError, match=what) as caught:
        selected(replace(CPU_HOST, engines=engines), IN_IMAGE)
    assert caught.value.code == code
    assert todo in caught.value.todo


def test_without_gpus_no_nvidia_runtime_is_asked_for() -> None:
    assert docker(replace(CPU_HOST, engines=(PLAIN,)), replace(IN_IMAGE, devices=())).engine == "docker"


def test_the_engines_of_a_machine_that_is_only_described_count_as_usable() -> None:
    assert docker(shorthand("2xA6000")).engine == "docker"
    assert docker(replace(CPU_HOST, source="recorded.json")).engine == "docker"
    assert docker(replace(CPU_HOST, source="recorded.json", engines=(PODMAN,))).engine == "podman"


@pytest.mark.parametrize(
    "choice",
    [
        replace(IN_IMAGE, release="transformers"),
        replace(IN_IMAGE, release="24.05/../x"),
        replace(NATIVE, stack="trtllm-engine"),
    ],
)
def test_what_has_no_image_or_no_wheel_is_tw_l23(choice: Choice) -> None:
    with pytest.raises(InfeasibleError) as caught:
        selected(replace(CPU_HOST, engines=(DOCKER,)), choice)
    assert caught.value.code == "TW-L23"


def test_an_engine_has_an_environment_of_its_own_beside_tritons() -> None:
    found = native(NATIVE)
    environment, engine = found.prepare()
    assert (environment.id, engine.id) == ("environment", "engine-environment")
    assert Path(found.python).parent.parent.name.startswith("vllm-")
    assert found.triton.root.name.startswith("front-")
    assert engine.estimate.download_bytes > environment.estimate.download_bytes > 0
    assert found.python in engine.done.files


def test_two_stacks_share_the_environment_of_triton() -> None:
    one, other = native(NATIVE), native(replace(NATIVE, stack="transformers"))
    assert one.triton.root == other.triton.root
    assert one.python != other.python


def test_engine_and_server_see_the_chosen_gpus_only() -> None:
    def visible(devices: tuple[int, ...]) -> str | None:
        start = native(replace(NATIVE, devices=devices)).start("m", Ports(), "made")
        return dict(start.env).get("CUDA_VISIBLE_DEVICES")

    assert visible((2, 3)) == "2,3"
    assert visible(()) == ""  # the CPU computes, whatever GPUs there are
    assert "CUDA_VISIBLE_DEVICES" not in dict(native(CHOICE).start("m", Ports(), "made").env)


def test_llamacpp_lives_in_tritons_environment() -> None:
    found = native(CHOICE)
    (step,) = found.prepare()
    assert step.id == "environment"
    assert found.python == found.triton.python
    assert step.identity == str(found.triton.root)


def test_a_driver_that_is_too_old_is_said_while_planning() -> None:
    with pytest.raises(HostError, match=r"branch 580.*535\.1") as caught:
        selected(replace(CPU_HOST, driver_version="535.1"), NATIVE)
    assert caught.value.code == "TW-L01"
    assert native(NATIVE, replace(CPU_HOST, driver_version="580.95.05"))
    assert native(replace(NATIVE, stack="transformers", devices=()), replace(CPU_HOST, driver_version="535.1"))


def test_the_choice_names_the_environment() -> None:
    older = replace(NATIVE, environment="vllm-cuda12")
    found = native(older, replace(CPU_HOST, driver_version="535.1"))
    assert Path(found.python).parent.parent.name.startswith("vllm-cuda12-")
    assert native(NATIVE).engine == native(replace(NATIVE, environment="vllm")).engine  # of an earlier plan


def test_another_python_makes_another_environment() -> None:
    other = replace(PYTHON, version=(3, 12, 1), path="/opt/python3.12")
    before, after = native(NATIVE), native(NATIVE, replace(CPU_HOST, interpreters=(other,)))
    assert before.python != after.python
