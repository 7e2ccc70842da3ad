"""The runtime `native`: what it makes, checks and starts, word for word, and what that takes."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path

import pytest

from tests.advise.worlds import VENV
from tests.values import PYTHON
from wizard.catalog.environments import environment
from wizard.kernel.paths import Workspace
from wizard.plan.plan import Command, Estimate
from wizard.plan.ports import Ports
from wizard.plan.runtimes import native as native_module
from wizard.plan.runtimes.engine_python import SEES_GPUS
from wizard.plan.runtimes.native import Native
from wizard.plan.runtimes.venv import Venv, engine_step

WORKSPACE = Workspace(Path("/w"))
SERVER = WORKSPACE.server("demo")
TOGETHER = Native(WORKSPACE, SERVER, environment("llamacpp"), PYTHON)
"""Triton and the engine in one environment."""
APART = replace(TOGETHER, environment=environment("front"), engine=environment("vllm"), devices=(2, 3))
OWN = replace(APART, own=VENV)
"""With the user's Python."""
SYSTEM = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def test_tritons_environment_has_backend_and_stub_in_a_folder() -> None:
    (step,) = TOGETHER.prepare()
    root = TOGETHER.triton.root
    assert root.parent == Path("/w/environments")
    triton = f"{root}/lib/python3.11/site-packages/pytriton/tritonserver"
    stub = "triton_python_backend_stub"
    *_, folder, copied, check = (action.argv for action in step.actions if isinstance(action, Command))
    assert folder == ("mkdir", "-p", f"{root}/backends/python")
    assert copied == (
        *("cp", "--", f"{triton}/backends/python/libtriton_python.so"),
        f"{triton}/backends/python/triton_python_backend_utils.py",
        f"{triton}/python_backend_stubs/3.11/{stub}",
        f"{root}/backends/python",
    )
    assert check == (f"{root}/bin/python", "-c", environment("llamacpp").check)
    made = (f"{root}/bin/python", f"{triton}/bin/tritonserver", f"{root}/backends/python/{stub}")
    assert step.done.files == made
    assert (step.identity, step.reads, step.writes) == (str(root), (PYTHON.path,), ("environment",))


def test_triton_word_for_word() -> None:
    start = TOGETHER.start("m", Ports(1, 2, 3), "mark", env=(("A", "b"),))
    root, packages = TOGETHER.triton.root, TOGETHER.triton.site_packages
    argv = (
        f"{packages}/pytriton/tritonserver/bin/tritonserver",
        "--model-repository=/w/servers/demo/repository",
        f"--backend-directory={root}/backends",
        "--backend-config=python,shm-region-prefix-name=triton_wizard_9bf95a1dacaeb0b1_",
        "--disable-auto-complete-config",
        "--exit-timeout-secs=5",
    )
    assert start.argv == argv
    assert start.env == (
        ("LD_LIBRARY_PATH", f"{packages}/nvidia_pytriton.libs:/opt/python3.11/lib"),
        ("PATH", f"{root}/bin:{SYSTEM}"),
        ("PYTHONNOUSERSITE", "1"),
        ("A", "b"),
        ("TRITON_WIZARD_MADE_FROM", "mark"),
    )
    assert (start.ports, start.model, start.container, start.host) == (Ports(1, 2, 3), "m", None, "127.0.0.1")
    completing = TOGETHER.start("m", Ports(), "mark", auto_complete=True)
    assert completing.argv == (*argv[:4], argv[5])
    assert TOGETHER.start("m", Ports(), "mark", argv=("mpirun", "x")).argv == ("mpirun", "x")


def test_a_python_with_its_library_built_in_needs_no_folder_for_it() -> None:
    static = replace(TOGETHER, interpreter=replace(PYTHON, libpython=None))
    assert dict(static.start("m", Ports(), "").env)["LD_LIBRARY_PATH"].count(":") == 0


def test_an_engine_apart_has_its_own_step_packages_and_notes_of_checks() -> None:
    front, engine = APART.prepare()
    packages = Venv(WORKSPACE.environments, environment("vllm"), PYTHON)
    assert (front.id, engine) == ("environment", engine_step(packages))
    assert APART.python == packages.python == f"{packages.root}/bin/python"
    assert APART.checked == packages.root / "checked"
    assert (APART.needs, APART.server_needs) == (("engine-environment",), ("environment", "engine-environment"))
    assert (TOGETHER.needs, TOGETHER.server_needs) == (("environment",), ("environment",))
    assert TOGETHER.checked == TOGETHER.triton.root / "checked"
    newer = replace(PYTHON, version=(3, 12, 1), path="/opt/python3.12")
    assert replace(APART, engine_interpreter=newer).packages.interpreter == newer


def test_an_engines_environment_is_done_when_it_was_tried() -> None:
    packages = Venv(WORKSPACE.environments, environment("vllm"), PYTHON)
    step = engine_step(packages)
    *_, check, complete = step.actions
    assert check == Command((packages.python, "-c", environment("vllm").check))
    assert complete == Command(("touch", f"{packages.root}/complete"))
    assert step.done.files == (packages.python, f"{packages.root}/complete")
    assert (step.reads, step.writes) == ((PYTHON.path,), ("engine-environment",))


def test_an_environment_of_packages_takes_what_they_take() -> None:
    def takes(download: int, disk: int) -> Estimate:
        sized = replace(environment("vllm"), download_bytes=download, disk_bytes=disk)
        return engine_step(Venv(WORKSPACE.environments, sized, PYTHON)).estimate

    assert takes(2 * 10**9, 3 * 10**9) == Estimate(110, 2 * 10**9, 3 * 10**9)
    assert takes(0, 0) == Estimate(10, unknown=True)
    (step,) = replace(TOGETHER, environment=replace(environment("llamacpp"), download_bytes=7, disk_bytes=8)).prepare()
    assert step.estimate == Estimate(20, 7, 8)


def test_the_users_python_is_tried_with_its_gpus_and_left_as_it_is() -> None:
    front, check = OWN.prepare()
    assert front == APART.prepare()[0]
    gpus = (("CUDA_DEVICE_ORDER", "PCI_BUS_ID"), ("CUDA_VISIBLE_DEVICES", "2,3"))
    vllm = environment("vllm")
    codes = [code for code in (vllm.before, SEES_GPUS, vllm.check) if code]
    *tries, folder, touch = check.actions
    assert tries == [Command((VENV.path, "-I", "-c", code), env=gpus) for code in codes]
    note = Path(check.done.files[1])
    assert note.parent.parent == WORKSPACE.environments
    assert note.name.startswith("imports-")
    assert (folder, touch) == (Command(("mkdir", "-p", str(note.parent))), Command(("touch", str(note))))
    assert check.done.files[0] == VENV.path
    assert check.estimate == Estimate(30)
    assert (check.identity, check.reads, check.writes) == (str(note), (VENV.path,), ("engine-environment",))
    _, without = replace(OWN, devices=()).prepare()
    tries = [Command((VENV.path, "-I", "-c", code)) for code in (vllm.before, vllm.check) if code]
    assert list(without.actions[:-2]) == tries


def test_the_users_python_runs_what_has_the_engine() -> None:
    assert OWN.python == VENV.path
    assert OWN.checked == Path(OWN.prepare()[1].done.files[1]).parent / "checked"
    runs = "The server runs its models with Python 3.11.7 at /opt/python3.11/bin/python3.11."
    assert OWN.notes == (runs, "Uses the engine in /opt/venv/bin/python; nothing is installed there.")
    assert APART.notes == (runs,)
    alone = (("A", "1"), ("PYTHONPATH", ""), ("PYTHONNOUSERSITE", "1"))
    assert OWN.command("s", ("true",), env=(("A", "1"),)) == Command(("true",), alone)
    assert APART.command("s", ("true",), env=(("A", "1"),)) == Command(("true",), (("A", "1"),))


def test_files_in_shared_memory_are_the_servers_own() -> None:
    assert native_module.shm_prefix(SERVER) != native_module.shm_prefix(WORKSPACE.server("other"))


@pytest.mark.parametrize(("has_pip", "hashes"), [(True, True), (True, False), (False, True)])
def test_pip_fills_an_environment(has_pip: bool, hashes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: has_pip and name == "pip")
    monkeypatch.setattr("sys.executable", "/wizard/python")
    venv = Venv(WORKSPACE.environments, replace(environment("vllm"), before="", hashes=hashes), PYTHON)
    make, fill = (command.argv for command in venv.install())
    without, program = ((), (venv.python, "-m", "pip"))
    if has_pip:
        without, program = ("--without-pip",), ("/wizard/python", "-m", "pip", "--python", venv.python)
    assert make == (PYTHON.path, "-m", "venv", "--clear", *without, str(venv.root))
    whole = ("--no-deps", "--require-hashes") if hashes else ()
    quiet = ("--no-compile", "--no-input", "--disable-pip-version-check")
    assert fill[:-1] == (*program, "install", *quiet, *whole, "-r")
    assert Path(fill[-1]).name == "vllm.txt"
    looking = replace(venv, environment=replace(venv.environment, before="import x"))
    assert looking.install() == (Command((PYTHON.path, "-c", "import x")), *venv.install())


ON_GPU = replace(TOGETHER, environment=environment("llamacpp-cuda12"), devices=(1,))
"""An engine in Triton's own stub, on a GPU."""


def test_an_engine_in_tritons_stub_sees_its_gpu_and_libraries_and_triton_takes_nothing_of_it() -> None:
    start, packages = ON_GPU.start("m", Ports(), "mark"), ON_GPU.triton.site_packages
    env = dict(start.env)
    assert env["CUDA_VISIBLE_DEVICES"] == "1"
    nvidia = [str(packages / "nvidia" / name / "lib") for name in ("cuda_runtime", "cublas")]
    assert env["LD_LIBRARY_PATH"].split(":")[1:3] == nvidia
    assert start.argv[-3:] == native_module.WITHOUT_POOLS
    assert "CUDA_VISIBLE_DEVICES" not in dict(TOGETHER.start("m", Ports(), "mark").env)
    *_, check = ON_GPU.prepare()[0].actions
    assert isinstance(check, Command)
    assert check.env == (("LD_LIBRARY_PATH", ":".join(nvidia)),)


@pytest.mark.parametrize("uv", [True, False])
def test_a_wheel_of_a_publishers_index_is_installed_from_there_alone(uv: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}" if uv else None)
    env = environment("llamacpp-cuda12")
    _, _, pinned, from_index = (command.argv for command in ON_GPU.triton.install())
    assert Path(pinned[-1]).name == "llamacpp-cuda12.txt"
    assert "--require-hashes" in pinned
    assert from_index[-4:] == ("--no-deps", "--index-url", env.index, *env.from_index)
    assert ("uv" in from_index[0]) == uv
    other = replace(ON_GPU.triton, environment=replace(env, from_index=("xllamacpp==1",)))
    assert other.root != ON_GPU.triton.root
