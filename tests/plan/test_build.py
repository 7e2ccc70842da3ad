"""The plan of the default recipe: given these facts, exactly these commands."""

from __future__ import annotations

import os
import shlex
import socket
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.advise.worlds import LLAMA_8B, facts_of
from tests.values import CHOICE, CPU_HOST, GGUF
from wizard.catalog import plugins
from wizard.kernel.errors import HostError, InfeasibleError, ModelError, UsageError, WorkspaceError
from wizard.kernel.paths import Workspace
from wizard.kernel.values import from_json, to_json
from wizard.plan import build as build_module
from wizard.plan.build import build
from wizard.plan.plan import Command, Estimate, Plan, Start, Step, Write
from wizard.plan.ports import Ports
from wizard.probe.host import ContainerEngine
from wizard.texts.errors import user_errors

HOSTILE = "/models/a;rm -rf ~ $(x) ${y} 'q' \"d\" ü.gguf"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "w")


def steps_of(plan: Plan) -> dict[str, tuple[object, ...]]:
    return {step.id: step.actions for step in plan.steps}


def test_the_steps_are_those_of_the_default_recipe(workspace: Workspace) -> None:
    plan = build(CPU_HOST, GGUF, CHOICE, workspace)
    assert [step.id for step in plan.steps] == ["environment", "model", "repository", "start", "ready", "question"]
    assert (plan.name, plan.model, plan.workspace, plan.host) == ("demo", "demo", str(workspace.root), CPU_HOST.source)
    assert plan.notes[0] == "The server runs its models with Python 3.11.7 at /opt/python3.11/bin/python3.11."
    assert all("is in use" in note for note in plan.notes[1:])  # other tests may hold its ports
    assert build(CPU_HOST, GGUF, CHOICE, workspace, name="mine").name == "mine"
    assert all(step.title and step.why and step.actions for step in plan.steps)
    assert plan.estimate.download_bytes > 0
    assert not workspace.root.exists()  # planning touches nothing


def test_the_server_environment_by_pip(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    _look, first, install, *_, check = steps_of(build(CPU_HOST, GGUF, CHOICE, workspace))["environment"]
    assert isinstance(first, Command)
    assert first.argv[:4] == ("/opt/python3.11/bin/python3.11", "-m", "venv", "--clear")
    assert isinstance(install, Command)
    assert {"pip", "install", "--require-hashes", "--no-deps"} <= set(install.argv)
    assert isinstance(check, Command)
    assert "import numpy, xllamacpp" in check.argv[-1]


def test_uv_is_used_when_it_is_there(workspace: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    uv = tmp_path / "bin" / "uv"
    uv.parent.mkdir()
    uv.write_text("#!/bin/sh\n")
    uv.chmod(0o755)
    monkeypatch.setenv("PATH", str(uv.parent))
    _look, first, install, *_ = steps_of(build(CPU_HOST, GGUF, CHOICE, workspace))["environment"]
    assert isinstance(first, Command)
    assert isinstance(install, Command)
    assert first.argv[:2] == (str(uv), "venv")
    assert install.argv[:3] == (str(uv), "pip", "install")


def test_triton_is_started_as_the_wheel_needs_it(workspace: Workspace) -> None:
    (start,) = steps_of(build(CPU_HOST, GGUF, CHOICE, workspace))["start"]
    assert isinstance(start, Start)
    env = dict(start.env)
    libraries = env["LD_LIBRARY_PATH"].split(":")
    assert libraries[0].endswith("nvidia_pytriton.libs")
    assert libraries[1] == "/opt/python3.11/lib"
    assert env["PATH"].startswith(str(workspace.environments))
    argv = start.command().argv
    assert "--disable-auto-complete-config" in argv
    assert {"--http-address=127.0.0.1", "--grpc-address=127.0.0.1", "--metrics-address=127.0.0.1"} <= set(argv)


def test_a_local_file_is_linked_not_copied(workspace: Workspace) -> None:
    _, there, link, proof = steps_of(build(CPU_HOST, GGUF, CHOICE, workspace))["model"]
    assert isinstance(there, Command)
    assert isinstance(link, Command)
    assert there.argv == ("ls", "-d", GGUF.location)  # fails, and says of what, if it has gone since it was advised on
    assert link.argv[:3] == ("ln", "-sfn", GGUF.location)
    assert isinstance(proof, Command)
    assert "wizard.model.verify" in proof.argv


def test_hostile_names_stay_single_arguments(workspace: Workspace) -> None:
    facts = replace(GGUF, ref=HOSTILE, location=HOSTILE)
    plan = build(CPU_HOST, facts, CHOICE, workspace)
    for step in plan.steps:
        for action in step.actions:
            if isinstance(action, Command):
                assert HOSTILE not in " ".join(action.argv) or HOSTILE in action.argv
                arguments = shlex.split(action.shell())
                assert arguments[-len(action.argv) :] == list(action.argv)
    assert plan.name == "a-rm--rf-x-y-q-d"


def test_a_plan_can_be_written_and_read_back(workspace: Workspace) -> None:
    plan = build(CPU_HOST, GGUF, CHOICE, workspace)
    again = from_json(Plan, to_json(plan), where="plan.json")
    assert again == plan
    assert again.fingerprint == plan.fingerprint


@pytest.mark.parametrize("name", ["a b", "a;b", "$(x)", "it's", 'say "x"', "a*b", "a:b"])
def test_a_path_that_triton_cannot_be_given_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError) as caught, user_errors():
        build(CPU_HOST, GGUF, CHOICE, Workspace(tmp_path / name))
    assert caught.value.code == "TW-L03"


def test_another_installer_makes_the_same_environment(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name == "pip")
    before = build(CPU_HOST, GGUF, CHOICE, workspace).steps[0]
    monkeypatch.setattr("sys.executable", "/another/python")
    after = build(CPU_HOST, GGUF, CHOICE, workspace).steps[0]
    assert before.actions != after.actions
    assert before.fingerprint == after.fingerprint


def test_what_is_there_already_takes_nothing(workspace: Workspace) -> None:
    step = build(CPU_HOST, GGUF, CHOICE, workspace).steps[0]
    for file in step.done.files:
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).touch()
    again = build(CPU_HOST, GGUF, CHOICE, workspace).steps[0]
    assert again.estimate == Estimate(0.1)
    assert again.fingerprint == step.fingerprint


def test_two_models_of_one_name_do_not_share_a_file(workspace: Workspace) -> None:
    files = {
        build(CPU_HOST, replace(GGUF, ref=f"{owner}/foo", location=f"/m/{owner}/foo.gguf"), CHOICE, workspace)
        .steps[1]
        .done.files
        for owner in ("a", "b")
    }
    assert len(files) == 2


def test_a_full_disk_matters_only_here(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build_module, "HEADROOM_BYTES", 2**62)
    assert build(replace(CPU_HOST, source="4xA6000"), GGUF, CHOICE, workspace)


def test_the_same_question_gives_the_same_plan_and_another_choice_another(workspace: Workspace) -> None:
    plan = build(CPU_HOST, GGUF, CHOICE, workspace)
    assert build(CPU_HOST, GGUF, CHOICE, workspace) == plan
    other = build(CPU_HOST, GGUF, replace(CHOICE, max_seq_len=512), workspace)
    changed = {a.id for a, b in zip(plan.steps, other.steps, strict=True) if a.fingerprint != b.fingerprint}
    assert changed == {"repository", "start"}  # the server must be restarted, the environment stays


def test_a_port_in_use_is_moved_with_a_note(workspace: Workspace) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        plan = build(CPU_HOST, GGUF, CHOICE, workspace, http_port=port)
    (start,) = steps_of(plan)["start"]
    assert isinstance(start, Start)
    assert port not in (start.ports.http, start.ports.grpc, start.ports.metrics)
    assert any(str(port) in note for note in plan.notes)


def test_what_is_held_or_made_on_this_machine_says_nothing_of_another(workspace: Workspace) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        there = replace(CPU_HOST, source="cpu")
        plan = build(there, GGUF, CHOICE, workspace, http_port=port)
        (start,) = steps_of(plan)["start"]
        assert isinstance(start, Start)
        assert start.ports == Ports(port, port + 1, port + 2)
        assert not any("is in use" in note for note in plan.notes)
    environment = plan.steps[0]
    for file in environment.done.files:
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).touch()
    assert build(CPU_HOST, GGUF, CHOICE, workspace).steps[0].estimate.download_bytes == 0
    assert build(there, GGUF, CHOICE, workspace).steps[0].estimate == environment.estimate


def test_the_ports_of_the_server_itself_are_kept(workspace: Workspace) -> None:
    ports = Ports(9100, 9101, 9102)
    (start,) = steps_of(build(CPU_HOST, GGUF, CHOICE, workspace, keep_ports=ports))["start"]
    assert isinstance(start, Start)
    assert start.ports == ports


@pytest.mark.parametrize(
    ("given", "ports"),
    [
        ({}, Ports(8000, 8001, 8002)),
        ({"http_port": 9300}, Ports(9300, 9301, 9302)),
        ({"keep_ports": Ports(9100, 9105, 9107)}, Ports(9100, 9105, 9107)),
        ({"keep_ports": Ports(9100, 9105, 9107), "http_port": 9100}, Ports(9100, 9105, 9107)),
        ({"keep_ports": Ports(9100, 9105, 9107), "http_port": 9300}, Ports(9300, 9301, 9302)),
    ],
)
def test_the_ports_follow_the_first_and_a_servers_own_are_kept(
    workspace: Workspace, given: dict[str, Any], ports: Ports
) -> None:
    (start,) = steps_of(build(replace(CPU_HOST, source="cpu"), GGUF, CHOICE, workspace, **given))["start"]
    assert isinstance(start, Start)
    assert start.ports == ports


def test_a_folder_without_weights_cannot_be_served(workspace: Workspace) -> None:
    bare = replace(GGUF, source="folder", location="/m", local=False)
    with pytest.raises(ModelError) as caught:
        build(CPU_HOST, bare, CHOICE, workspace)
    assert (caught.value.code, caught.value.what) == ("TW-L07", "/m contains a config.json but no weights")
    assert build(CPU_HOST, replace(bare, local=True), CHOICE, workspace)
    assert build(CPU_HOST, replace(bare, source="hub"), CHOICE, workspace)


@pytest.mark.parametrize(("room", "enough"), [(0, True), (-1, False)])
def test_200_mib_stay_free(workspace: Workspace, room: int, enough: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    needed = build(replace(CPU_HOST, source="cpu"), GGUF, CHOICE, workspace).estimate.disk_bytes
    disks(monkeypatch, {workspace.root.parent: needed + 200 * 1024**2 + room})
    if enough:
        assert build(CPU_HOST, GGUF, CHOICE, workspace)
        return
    with pytest.raises(WorkspaceError) as caught:
        build(CPU_HOST, GGUF, CHOICE, workspace)
    assert "plus 200 MiB of headroom" in caught.value.what
    assert caught.value.todo == "Free up some space, or choose another folder with --workspace DIR."


def disks(monkeypatch: pytest.MonkeyPatch, free: dict[Path, int]) -> None:
    """Free bytes by folder; of any other nobody asks."""
    monkeypatch.setattr(build_module.shutil, "disk_usage", lambda path: SimpleNamespace(free=free[path]))


def test_a_machine_without_a_usable_interpreter_is_refused_before_anything(workspace: Workspace) -> None:
    with pytest.raises(HostError) as caught, user_errors():
        build(replace(CPU_HOST, interpreters=()), GGUF, CHOICE, workspace)
    assert caught.value.code == "TW-L01"


@pytest.mark.parametrize(
    ("package", "problem", "todo"),
    [({"mlc": "tests.plan"}, "cannot set up mlc", "Choose another"), ({}, "no installed package", "entry point mlc")],
)
def test_a_stack_that_cannot_be_set_up_is_refused_before_anything(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, package: dict[str, str], problem: str, todo: str
) -> None:
    known = {**plugins.packages(), **package}
    monkeypatch.setattr(plugins, "packages", lambda: known)
    with pytest.raises(InfeasibleError, match=problem) as caught, user_errors():
        build(CPU_HOST, GGUF, replace(CHOICE, stack="mlc", runtime="docker"), workspace)
    assert caught.value.code == "TW-L05"
    assert todo in caught.value.todo
    assert "vllm" in caught.value.todo
    assert not workspace.root.exists()


def test_a_full_disk_is_detected_before_anything(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build_module, "HEADROOM_BYTES", 2**62)
    with pytest.raises(WorkspaceError) as caught, user_errors():
        build(CPU_HOST, GGUF, CHOICE, workspace)
    assert caught.value.code == "TW-L02"


def test_an_odd_name_is_refused(workspace: Workspace) -> None:
    with pytest.raises(UsageError) as caught, user_errors():
        build(CPU_HOST, GGUF, CHOICE, workspace, name="../up")
    assert caught.value.code == "TW-U01"


def test_the_repository_is_files_with_their_whole_text(workspace: Workspace) -> None:
    files = steps_of(build(CPU_HOST, GGUF, CHOICE, workspace))["repository"]
    assert all(isinstance(file, Write) for file in files)
    names = [Path(file.path).name for file in files if isinstance(file, Write)]
    assert names == ["config.pbtxt", "model.py", "text_requests.py", "work_gauges.py"]


GATED = replace(
    GGUF,
    source="hub",
    location="org/gated-GGUF",
    gated=True,
    local=False,
)


def test_a_gated_model_needs_a_token_before_anything_is_done(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    host = replace(CPU_HOST, source="this machine")
    monkeypatch.setenv("HF_TOKEN", "")
    monkeypatch.setenv("HF_TOKEN_PATH", str(tmp_path / "none"))
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "none"))
    with pytest.raises(ModelError) as caught, user_errors():
        build(host, GATED, CHOICE, workspace)
    assert caught.value.code == "TW-L06"
    assert "https://huggingface.co/org/gated-GGUF" in caught.value.todo
    monkeypatch.setenv("HF_TOKEN", "hf_notshown")
    plan = build(host, GATED, CHOICE, workspace)
    assert len([note for note in plan.notes if "is in use" not in note]) == 2  # other tests may hold ports
    assert "https://huggingface.co/org/gated-GGUF" in " ".join(plan.notes)
    assert "hf_notshown" not in to_json(plan)
    for free in (replace(GATED, gated=False), replace(GATED, gated=None), replace(GATED, local=True)):
        notes = build(host, free, CHOICE, workspace).notes
        assert len([note for note in notes if "is in use" not in note]) == 1


def test_a_gated_model_that_is_there_needs_no_token(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_x")
    host = replace(CPU_HOST, source="this machine")
    (step,) = (earlier for earlier in build(host, GATED, CHOICE, workspace).steps if earlier.id == "model")
    monkeypatch.setenv("HF_TOKEN", "")
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "none"))
    for name in step.done.files:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).touch()
    assert build(host, GATED, CHOICE, workspace).steps
    elsewhere = replace(CPU_HOST, source="cpu")  # a plan that is only shown
    assert build(elsewhere, GATED, CHOICE, Workspace(tmp_path / "other")).steps


DOCKER = ContainerEngine("docker", "28.2.2", "28.2.2", nvidia_runtime=True)
IN_AN_IMAGE = replace(CHOICE, stack="vllm", runtime="docker", release="25.11-vllm-python-py3", quantization="none")
LLAMA = replace(facts_of(LLAMA_8B), local=True, location="/models/llama", weights=())


def image_step(plan: Plan) -> Step:
    (image,) = (step for step in plan.steps if step.id == "image")
    return image


def engine_that_has(folder: Path, *images: str, monkeypatch: pytest.MonkeyPatch, root: str = "") -> None:
    """A docker that knows ``images`` and keeps them in ``root``."""
    script = folder / "bin" / "docker"
    script.parent.mkdir(parents=True, exist_ok=True)
    known = " ".join(f'"{image}") exit 0;;' for image in images)
    script.write_text(f'#!/bin/sh\n[ "$1" = info ] && echo "{root}" && exit 0\ncase "$3" in {known} esac\nexit 1\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:{os.environ['PATH']}")


def test_the_image_counts_where_it_is_not_there_yet(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    host = replace(CPU_HOST, engines=(DOCKER,), source="1xL4")
    described = image_step(build(host, LLAMA, IN_AN_IMAGE, workspace))
    assert (described.estimate.download_bytes, described.estimate.disk_bytes) == (8_720_000_000, 8_720_000_000)
    here = replace(host, source="this machine")
    engine_that_has(tmp_path, "nvcr.io/nvidia/tritonserver:25.11-vllm-python-py3", monkeypatch=monkeypatch)
    assert image_step(build(here, LLAMA, IN_AN_IMAGE, workspace)).estimate.disk_bytes == 0


def test_a_disk_without_room_for_the_image(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    usage = build_module.shutil.disk_usage(tmp_path)
    monkeypatch.setattr(build_module.shutil, "disk_usage", lambda _: usage._replace(free=8_720_000_000))
    here = replace(CPU_HOST, engines=(DOCKER,), source="this machine")
    engine_that_has(tmp_path, monkeypatch=monkeypatch, root=str(tmp_path))
    with pytest.raises(WorkspaceError) as caught, user_errors():
        build(here, LLAMA, IN_AN_IMAGE, workspace)
    assert caught.value.code == "TW-L02"
    assert "plus 200 MiB of headroom" in caught.value.what  # else what is needed would seem to be there
    engine_that_has(tmp_path, monkeypatch=monkeypatch, root="/dev/shm")  # a disk of its own
    with pytest.raises(WorkspaceError) as caught, user_errors():
        build(here, LLAMA, IN_AN_IMAGE, workspace)
    assert "for the image in /dev/shm" in caught.value.what


IMAGE_BYTES, HEADROOM = 8_720_000_000, 200 * 1024**2


@pytest.mark.parametrize(
    ("images", "there", "room", "full"),
    [
        ("/dev/shm", False, (0, 0), ""),
        ("/dev/shm", False, (-1, 0), "images"),
        ("/dev/shm", False, (0, -1), "workspace"),
        ("/dev/shm", True, (-IMAGE_BYTES - HEADROOM, 0), ""),  # nothing is pulled
        ("workspace", False, (0, 0), ""),
        ("workspace", False, (0, -1), "workspace"),
        ("/nowhere", False, (0, 0), ""),  # on another machine's disk
    ],
)
def test_every_disk_holds_what_comes_to_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    images: str,
    there: bool,
    room: tuple[int, int],
    full: str,
) -> None:
    """``room`` is left on the disks of the images and of the workspace; /dev/shm is one of its own."""
    workspace = Workspace(tmp_path / "workspace")
    workspace.root.mkdir()
    here = replace(CPU_HOST, engines=(DOCKER,), source="this machine")
    own = build(replace(here, source="1xL4"), LLAMA, IN_AN_IMAGE, workspace).estimate.disk_bytes - IMAGE_BYTES
    assert own > 0
    apart = images == "/dev/shm"
    known = ("nvcr.io/nvidia/tritonserver:25.11-vllm-python-py3",) if there else ()
    engine_that_has(tmp_path, *known, monkeypatch=monkeypatch, root=images.replace("workspace", str(workspace.root)))
    both = own if apart else own + IMAGE_BYTES
    free = {Path("/dev/shm"): IMAGE_BYTES + HEADROOM + room[0], workspace.root: both + HEADROOM + room[1]}
    disks(monkeypatch, free)
    if not full:
        assert build(here, LLAMA, IN_AN_IMAGE, workspace)
        return
    with pytest.raises(WorkspaceError) as caught:
        build(here, LLAMA, IN_AN_IMAGE, workspace)
    assert ("for the image in /dev/shm: needs" in caught.value.what) == (full == "images")
    remedy = (
        "move the container engine's image folder" if full == "images" else "choose another folder with --workspace DIR"
    )
    assert caught.value.todo == f"Free up some space, or {remedy}."
