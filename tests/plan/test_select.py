"""Which runtime a choice gets on a machine, and what keeps it from running there."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.engine_environment import VLLM, make
from tests.plan import stack_values
from tests.plan.stack_values import engine, planned
from tests.values import CHOICE, CPU_HOST, PYTHON
from wizard.advise.advice import Choice
from wizard.advise.compatibility import obstacles
from wizard.catalog.environments import environment
from wizard.kernel.errors import HostError, InfeasibleError, UsageError
from wizard.kernel.paths import Workspace
from wizard.plan.plan import Command, Step
from wizard.plan.runtimes import select
from wizard.plan.runtimes.docker import Docker
from wizard.plan.runtimes.native import Native
from wizard.plan.runtimes.runtime import Runtime
from wizard.plan.runtimes.select import runtime_of
from wizard.plan.runtimes.venv import SYSTEM_PATH, environment_changes
from wizard.probe.host import ContainerEngine, EnginePython, Host
from wizard.probe.shorthand import host as shorthand
from wizard.texts.errors import user_errors

DOCKER = ContainerEngine("docker", "28.2.2", "28.2.2", nvidia_runtime=True)
PODMAN = ContainerEngine("podman", "5.0", "5.0", nvidia_runtime=True)
STOPPED = ContainerEngine("docker", "28.2.2", None, None, "the Docker daemon does not respond")
PLAIN = replace(DOCKER, nvidia_runtime=False)
IN_IMAGE = replace(CHOICE, stack="vllm", runtime="docker", release="24.05-vllm-python-py3", devices=(0, 1), tp=2)
NATIVE = replace(CHOICE, stack="vllm", runtime="native", release="vLLM", devices=(1,))


def selected(host: Host, choice: Choice) -> Runtime:
    workspace = Workspace(Path("/w"))
    return runtime_of(host, choice, workspace, workspace.server("s"))


def docker(host: Host, choice: Choice = IN_IMAGE) -> Docker:
    runtime = selected(host, choice)
    assert isinstance(runtime, Docker)
    return runtime


def native(choice: Choice, host: Host = CPU_HOST) -> Native:
    runtime = selected(host, choice)
    assert isinstance(runtime, Native)
    return runtime


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


def answering(folder: Path, monkeypatch: pytest.MonkeyPatch, *, security: str = "", images: str = "false") -> None:
    """A docker of this machine that says ``security`` of itself and has images where the command ``images`` ends well.

    Made from docker's command line: ``docker info --format {{.SecurityOptions}}``, ``docker image inspect IMAGE``.
    """
    script = folder / "docker"
    script.write_text(f"#!/bin/sh\ncase $1 in info) echo '[{security}]';; image) {images};; *) exit 1;; esac\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


@pytest.mark.parametrize(
    ("security", "lifts", "rootless", "memlock"),
    [
        ("name=seccomp", True, False, True),
        ("name=seccomp", False, False, False),
        ("name=rootless", True, True, False),
        ("name=rootless", False, True, False),
    ],
)
def test_memory_may_be_locked_where_root_may_lift_limits(
    security: str, lifts: bool, rootless: bool, memlock: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(tmp_path, monkeypatch, security=security)
    monkeypatch.setattr(select, "lifts_limits", lambda: lifts)
    made = docker(replace(CPU_HOST, engines=(DOCKER,)))
    assert (made.rootless, made.memlock) == (rootless, memlock)


def test_an_image_that_is_here_is_not_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = replace(CPU_HOST, engines=(DOCKER,))
    size = docker(replace(here, source="2xL4")).image_bytes
    assert size
    assert size > 10**9
    for images, expected in (("true", 0), ("false", size)):
        answering(tmp_path, monkeypatch, images=images)
        assert docker(here).image_bytes == expected
    assert docker(replace(here, source="2xL4")).image_bytes == size  # whatever this machine has


@pytest.mark.parametrize("address", ["ssh://me@gpu-box", "tcp://10.0.0.7:2375"])
def test_an_engine_on_another_machine_is_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", address)
    with pytest.raises(HostError) as caught, user_errors():
        selected(replace(CPU_HOST, engines=(DOCKER,)), IN_IMAGE)
    assert caught.value.code == "TW-L24"
    assert "me@" not in caught.value.what


@pytest.mark.parametrize("address", ["unix:///run/user/1000/docker.sock", "tcp://127.0.0.1:2375"])
def test_an_engine_on_this_machine_is_used(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", address)
    assert docker(replace(CPU_HOST, engines=(DOCKER,))).engine == "docker"


def test_the_image_is_nvidias_with_the_choices_tag() -> None:
    runtime = docker(replace(CPU_HOST, engines=(DOCKER,)))
    assert runtime.image == "nvcr.io/nvidia/tritonserver:24.05-vllm-python-py3"
    assert (runtime.engine, runtime.devices) == ("docker", (0, 1))


@pytest.mark.parametrize(
    ("engines", "name"),
    [((DOCKER, PODMAN), "docker"), ((STOPPED, PODMAN), "podman"), ((PLAIN, PODMAN), "podman")],
)
def test_the_first_engine_that_can_give_gpus(engines: tuple[ContainerEngine, ...], name: str) -> None:
    assert docker(replace(CPU_HOST, engines=engines)).engine == name


@pytest.mark.parametrize(
    ("engines", "code", "problem", "todo"),
    [
        ((), "TW-L20", "neither docker nor podman", "docker.com"),
        ((STOPPED,), "TW-L21", "does not respond", "systemctl enable --now docker"),
        ((PLAIN,), "TW-L22", "no NVIDIA runtime", "nvidia"),
        ((replace(PODMAN, problem="catatonit is missing", obstacle="init"),), "TW-L21", "catatonit", "catatonit"),
    ],
)
def test_what_an_engine_lacks_is_an_error_with_a_fix(
    engines: tuple[ContainerEngine, ...], code: str, problem: str, todo: str
) -> None:
    with pytest.raises(HostError, match=problem) as caught, user_errors():
        selected(replace(CPU_HOST, engines=engines, driver_version="580.95.05"), IN_IMAGE)
    assert caught.value.code == code
    assert todo in caught.value.todo


def test_a_fix_has_its_commands_where_they_are_known() -> None:
    def todo(system: str) -> str:
        host = replace(CPU_HOST, system=replace(CPU_HOST.system, name=system), driver_version="580.95.05")
        with pytest.raises(HostError) as caught, user_errors():
            selected(replace(host, engines=(PLAIN,)), IN_IMAGE)
        assert "docker does not give containers access to GPUs: docker has no NVIDIA runtime" in caught.value.what
        return caught.value.todo

    assert "Run `triton-wizard prerequisites --run toolkit`" in todo("Some Linux 1")
    assert todo("Some Linux 1").endswith("install-guide.html.")
    known = "sudo nvidia-ctk runtime configure --runtime=docker && sudo systemctl restart docker`."
    assert todo("Debian GNU/Linux 12").endswith(known)


def test_the_first_obstacle_is_named() -> None:
    three = replace(CPU_HOST, cpu=replace(CPU_HOST.cpu, architecture="riscv64"), interpreters=())
    assert len(obstacles(replace(three, system=replace(CPU_HOST.system, libc="musl")), environment("front"))) == 3
    with pytest.raises(HostError, match="riscv64") as caught, user_errors():
        selected(replace(three, system=replace(CPU_HOST.system, libc="musl")), NATIVE)
    assert caught.value.code == "TW-L01"


def test_an_older_driver_will_do_for_the_users_python(tmp_path: Path) -> None:
    """What the driver says counts forward compatibility in; nothing of the wizard's environment is installed."""
    chosen = replace(NATIVE, engine_python=make(tmp_path / "venv", VLLM, cuda="12.8"))
    host = replace(GPU_HOST, driver_version="570.86.15", cuda_driver_version="12.8")
    assert native(chosen, host).python == chosen.engine_python
    with pytest.raises(HostError, match=r"NVIDIA driver 580 or newer; found 570\.86\.15"), user_errors():
        selected(host, NATIVE)


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
    with pytest.raises(InfeasibleError) as caught, user_errors():
        selected(replace(CPU_HOST, engines=(DOCKER,)), choice)
    assert caught.value.code == "TW-L23"


def test_an_engine_has_an_environment_of_its_own_beside_tritons() -> None:
    runtime = native(NATIVE)
    environment, engine = runtime.prepare()
    assert (environment.id, engine.id) == ("environment", "engine-environment")
    assert Path(runtime.python).parent.parent.name.startswith("vllm-")
    assert runtime.triton.root.name.startswith("front-")
    assert engine.estimate.download_bytes > environment.estimate.download_bytes > 0
    assert runtime.python in engine.done.files


def test_two_stacks_share_the_environment_of_triton() -> None:
    first, other = native(NATIVE), native(replace(NATIVE, stack="transformers"))
    assert first.triton.root == other.triton.root
    assert first.python != other.python


@pytest.mark.parametrize("stack", ["vllm", "transformers"])
@pytest.mark.parametrize(("devices", "seen"), [((2, 3), "2,3"), ((), "")])
def test_the_engine_sees_the_chosen_gpus_and_triton_none(stack: str, devices: tuple[int, ...], seen: str) -> None:
    steps = planned(replace(stack_values.VLLM, stack=stack, devices=devices))
    assert dict(stack_values.start(steps).env)["CUDA_VISIBLE_DEVICES"] == ""  # it would hold a context on every GPU
    _, _, env = engine(steps)
    assert env["CUDA_VISIBLE_DEVICES"] == seen
    assert env["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"  # as NVML counts


def test_in_a_container_too_the_engine_has_the_gpus_and_triton_none() -> None:
    steps = planned(replace(stack_values.IN_IMAGE, stack="transformers"))
    assert "--env=CUDA_VISIBLE_DEVICES=" in stack_values.start(steps).container.options  # type: ignore[union-attr]
    _, _, env = engine(steps)
    assert env["CUDA_VISIBLE_DEVICES"] is None


def test_llamacpp_lives_in_tritons_environment() -> None:
    runtime = native(CHOICE)
    (step,) = runtime.prepare()
    assert step.id == "environment"
    assert runtime.python == runtime.triton.python
    assert step.identity == str(runtime.triton.root)


def test_a_driver_that_is_too_old_is_an_error_while_planning() -> None:
    with pytest.raises(HostError, match=r"NVIDIA driver 580 or newer; found 535\.1") as caught, user_errors():
        selected(replace(CPU_HOST, driver_version="535.1"), NATIVE)
    assert caught.value.code == "TW-L01"
    assert native(NATIVE, replace(CPU_HOST, driver_version="580.95.05"))
    assert native(replace(NATIVE, stack="transformers", devices=()), replace(CPU_HOST, driver_version="535.1"))


def test_an_engine_gets_a_python_that_its_wheels_are_for() -> None:
    """TensorRT-LLM has none for 3.11, which Triton's stub and the other engines may go on with."""
    chosen = replace(NATIVE, stack="trtllm-llmapi")
    newer = replace(PYTHON, version=(3, 12, 1), path="/opt/python3.12")
    both = replace(CPU_HOST, interpreters=(PYTHON, newer))
    runtime = native(chosen, both)
    environment, engine = runtime.prepare()
    assert commands(environment)[0][0] == PYTHON.path
    assert commands(engine)[0][0] == newer.path
    assert runtime.python == str(Path(runtime.python).parents[1] / "bin" / "python")
    assert native(NATIVE, both).python == native(NATIVE).python


def test_no_python_for_the_engines_wheels_is_an_error_while_planning() -> None:
    with pytest.raises(HostError, match=r"only Python 3\.10 or 3\.12; found 3\.11") as caught, user_errors():
        selected(CPU_HOST, replace(NATIVE, stack="trtllm-llmapi"))
    assert caught.value.code == "TW-L01"
    assert "uv python install 3.12" in caught.value.todo


def test_only_pins_without_hashes_are_installed_without() -> None:
    def installed(stack: str) -> tuple[str, ...]:
        newer = replace(PYTHON, version=(3, 12, 1), path="/opt/python3.12")
        runtime = native(replace(NATIVE, stack=stack), replace(CPU_HOST, interpreters=(newer,)))
        (argv,) = [command for command in commands(runtime.prepare()[1]) if "-r" in command]
        return argv

    assert {"--no-deps", "--require-hashes"} <= set(installed("vllm"))
    assert not {"--no-deps", "--require-hashes"} & set(installed("trtllm-llmapi"))


def commands(step: Step) -> list[tuple[str, ...]]:
    return [action.argv for action in step.actions if isinstance(action, Command)]


def test_the_choice_names_the_environment() -> None:
    older = replace(NATIVE, environment="vllm-cuda12")
    runtime = native(older, replace(CPU_HOST, driver_version="535.1"))
    assert Path(runtime.python).parent.parent.name.startswith("vllm-cuda12-")
    assert native(NATIVE).engine == native(replace(NATIVE, environment="vllm")).engine  # of an earlier plan


def test_another_python_makes_another_environment() -> None:
    other = replace(PYTHON, version=(3, 12, 1), path="/opt/python3.12")
    before, after = native(NATIVE), native(NATIVE, replace(CPU_HOST, interpreters=(other,)))
    assert before.python != after.python


# -- the user's own Python ---------------------------------------------------------------------------------------------


@pytest.fixture
def own(tmp_path: Path) -> Choice:
    return replace(NATIVE, engine_python=make(tmp_path / "venv", VLLM))


GPU_HOST = replace(CPU_HOST, gpus=shorthand("2xH200").gpus, driver_version="580.95.05", cuda_driver_version="13.0")


def test_the_users_python_is_checked_and_nothing_is_installed(own: Choice) -> None:
    runtime = native(own, GPU_HOST)
    assert runtime.python == own.engine_python
    assert any("nothing is installed there" in note for note in runtime.notes)
    environment, check = runtime.prepare()
    assert (environment.id, check.id) == ("environment", "engine-environment")
    assert environment.estimate.download_bytes == 73_319_986
    assert (check.estimate.download_bytes, check.estimate.disk_bytes) == (0, 0)
    commands = [action for action in check.actions if isinstance(action, Command)]
    assert {command.argv[0] for command in commands} == {own.engine_python, "mkdir", "touch"}
    assert all(command.argv[1:3] == ("-I", "-c") for command in commands if command.argv[0] == own.engine_python)
    assert any("cuda.is_available" in command.argv[-1] for command in commands)
    assert any("vllm.v1.engine.async_llm" in command.argv[-1] for command in commands)


def test_its_commands_see_what_the_server_will_see(own: Choice) -> None:
    python = own.engine_python or ""
    command = native(own, GPU_HOST).command("check", (python, "-c", "pass"), env=(("A", "1"),))
    assert dict(command.env) == {"A": "1", "PYTHONPATH": "", "PYTHONNOUSERSITE": "1"}
    assert native(NATIVE, GPU_HOST).command("check", (python,)).env == ()


def test_without_gpus_none_are_looked_for(own: Choice) -> None:
    _, check = native(replace(own, stack="transformers", devices=()), CPU_HOST).prepare()
    assert not any("cuda" in action.argv[-1] for action in check.actions if isinstance(action, Command))


def test_the_check_is_one_for_all_servers_and_another_when_a_package_changes(own: Choice, tmp_path: Path) -> None:
    workspace = Workspace(Path("/w"))
    first, other = (runtime_of(GPU_HOST, own, workspace, workspace.server(name)) for name in ("s", "t"))
    assert first.prepare()[1].fingerprint == other.prepare()[1].fingerprint
    site = next((tmp_path / "venv").glob("lib/python3*/site-packages"))
    (site / "vllm-0.26.0.dist-info").rename(site / "vllm-0.27.0.dist-info")
    about = site / "vllm-0.27.0.dist-info" / "METADATA"
    about.write_text(about.read_text().replace("0.26.0", "0.27.0"))
    assert native(own, GPU_HOST).prepare()[1].fingerprint != first.prepare()[1].fingerprint


@pytest.mark.parametrize(
    ("packages", "driver", "cuda", "code"),
    [
        ({"torch": "2.11.0"}, "580.95.05", "13.0", "TW-A21"),
        ({"vllm": "0.8.5", "torch": "2.6.0"}, "580.95.05", "13.0", "TW-A22"),
        (VLLM, "570.86.15", "12.8", "TW-A23"),
    ],
)
def test_what_changed_since_the_advice_is_refused_while_planning(
    packages: dict[str, str], driver: str, cuda: str, code: str, tmp_path: Path
) -> None:
    choice = replace(NATIVE, engine_python=make(tmp_path / "venv", packages))
    # What the machine's description says of it is old.
    recorded = EnginePython(choice.engine_python or "", (3, 11, 7), str(tmp_path / "venv"), VLLM, "12.8")
    with pytest.raises(HostError) as caught, user_errors():
        native(choice, replace(GPU_HOST, driver_version=driver, cuda_driver_version=cuda, engine_pythons=(recorded,)))
    assert caught.value.code == code


def test_a_python_that_is_gone_is_refused_while_planning(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught, user_errors():
        native(replace(NATIVE, engine_python=str(tmp_path / "gone")), GPU_HOST)
    assert caught.value.code == "TW-P15"


def test_on_another_machine_the_recorded_one_counts() -> None:
    python = EnginePython("/opt/venv/bin/python", (3, 12, 3), "/opt/venv", VLLM, "13.0")
    host = replace(GPU_HOST, source="host.json", engine_pythons=(python,))
    assert native(replace(NATIVE, engine_python=python.path), host).python == python.path


def test_an_engine_in_the_users_python_keeps_the_library_path_that_it_has_here(
    own: Choice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/libraries")
    monkeypatch.setenv("PATH", "/usr/local/cuda/bin:/usr/bin")
    python = own.engine_python or ""
    env = environment_changes(python, own)
    assert env["LD_LIBRARY_PATH"] == "/opt/libraries"
    assert env["PATH"] == f"{Path(python).parent}:{SYSTEM_PATH}"  # with its compiler FlashInfer compiles at each start
    assert environment_changes(python, replace(own, engine_python=None))["LD_LIBRARY_PATH"] is None


def test_the_runtime_that_was_asked_for_is_the_engine_that_is_taken() -> None:
    host = replace(CPU_HOST, engines=(DOCKER, PODMAN))
    for name in ("docker", "podman"):
        assert docker(host, replace(IN_IMAGE, runtime=name)).engine == name
    assert docker(replace(CPU_HOST, engines=(PODMAN,))).engine == "podman"


def test_llama_cpps_openmp_library_is_looked_for_before_anything_is_fetched() -> None:
    """xllamacpp's wheels link libgomp.so.1 without bringing it (``readelf -d``)."""
    (step,) = native(CHOICE).prepare()
    look = step.actions[0]
    assert isinstance(look, Command)
    assert look.argv[:2] == (PYTHON.path, "-c")
    lacking = "import ctypes\ndef refuse(name): raise OSError(name)\nctypes.CDLL = refuse\n" + look.argv[2]
    done = subprocess.run([sys.executable, "-c", lacking], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "libgomp.so.1: `sudo apt install libgomp1`" in done.stderr


def test_a_choice_with_layers_on_a_gpu_gets_the_environment_for_it() -> None:
    on_gpu = replace(CHOICE, environment="llamacpp-cuda12", devices=(0,))
    runtime = native(on_gpu)
    assert (runtime.environment.name, runtime.engine, runtime.devices) == ("llamacpp-cuda12", None, (0,))
    assert native(CHOICE).environment.name == "llamacpp"
