"""Options of containers: shared memory, limits, GPUs, mounts; and the folders that a local model brings with it."""

from __future__ import annotations

import csv
import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.stacks.trtllm_values import LLAMA, WORKSPACE, choice, runtime
from tests.values import GGUF
from wizard.kernel.paths import Workspace
from wizard.model.facts import WeightFile
from wizard.plan.fetch import fetch
from wizard.plan.plan import Containers, Estimate, Image
from wizard.plan.ports import Ports
from wizard.plan.runtimes.docker import Docker

ONE = runtime(choice("0.13.0"))
FOUR = runtime(choice("0.13.0", tp=4))
PODMAN = replace(FOUR, engine="podman")


def option(argv: tuple[str, ...], name: str) -> list[str]:
    return [word.removeprefix(f"{name}=") for word in argv if word.startswith(f"{name}=")]


@pytest.mark.parametrize(
    ("made", "gpus", "size"), [(ONE, 0, "1g"), (ONE, 1, "1g"), (FOUR, 1, "1g"), (FOUR, 2, "5.12g"), (FOUR, 4, "10.24g")]
)
def test_shared_memory_grows_with_the_gpus_of_a_step(made: Docker, gpus: int, size: str) -> None:
    assert option(made.command("engine", ("true",), gpus=gpus).argv, "--shm-size") == [size]


def test_a_server_has_shared_memory_for_all_its_gpus() -> None:
    (argv,) = (runtime.start("m", Ports(), "made").command().argv for runtime in [FOUR])
    assert option(argv, "--shm-size") == ["10.24g"]


def test_locked_memory_is_unlimited_only_where_that_can_be_given() -> None:
    assert "memlock=-1" not in option(ONE.command("s", ("true",)).argv, "--ulimit")
    assert "memlock=-1" in option(replace(ONE, memlock=True).command("s", ("true",)).argv, "--ulimit")
    assert "memlock=-1" in option(replace(ONE, memlock=True).start("m", Ports(), "").command().argv, "--ulimit")


def test_whoever_runs_the_wizard_owns_what_a_container_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 1000)
    monkeypatch.setattr(os, "getgid", lambda: 1001)
    assert option(ONE.command("s", ("true",)).argv, "--user") == ["1000:1001"]
    assert option(replace(ONE, rootless=True).command("s", ("true",)).argv, "--user") == ["0:0"]


def test_a_command_of_podman_word_for_word() -> None:
    made = replace(PODMAN, memlock=True).command("engine", ("trtllm-build", "--help"), gpus=2, env=(("A", "b"),))
    (user,) = option(made.argv, "--user")
    mark = option(made.argv, "--label")[0].split("=")[1]
    assert made.argv == (
        *("podman", "run", "--rm", "--init", f"--name=triton-wizard-demo-{mark}-engine"),
        *(f"--label=triton-wizard.server={mark}", "--label=triton-wizard.step=engine"),
        *(f"--user={user}", "--env=HOME=/tmp", "--shm-size=5.12g", "--ulimit=stack=67108864"),
        *(
            "--security-opt=label=disable",
            "--ulimit=memlock=-1",
            "--device=nvidia.com/gpu=0",
            "--device=nvidia.com/gpu=1",
        ),
        "--mount=type=bind,source=/w/models,target=/w/models,readonly",
        "--mount=type=bind,source=/w/servers/demo,target=/w/servers/demo",
        *("--env=A=b", "--workdir=/w/servers/demo"),
        *("nvcr.io/nvidia/tritonserver:24.09-trtllm-python-py3", "trtllm-build", "--help"),
    )
    assert made.cleanup == Containers("podman", (f"triton-wizard.server={mark}", "triton-wizard.step=engine"))
    assert made.cleanup.remove[2] == (
        f"podman ps --all --quiet --filter=label=triton-wizard.server={mark} --filter=label=triton-wizard.step=engine "
        "| xargs --no-run-if-empty podman rm --force"
    )
    (pull,) = PODMAN.prepare()[0].actions
    assert made.naming(PODMAN.image, "sha256:1").argv == tuple(
        "sha256:1" if word == PODMAN.image else word for word in made.argv
    )
    image = "nvcr.io/nvidia/tritonserver:24.09-trtllm-python-py3"
    assert pull.shell() == f"podman image inspect {image} >/dev/null 2>&1 || podman pull {image}"


def test_a_command_of_docker_gets_no_gpu_unasked() -> None:
    argv = FOUR.command("s", ("true",)).argv
    assert not any("gpu" in word for word in argv)
    assert '--gpus="device=0,1,2"' in FOUR.command("s", ("true",), gpus=3).argv


def test_a_server_in_a_container_word_for_word() -> None:
    """Every word between ``docker run`` and the image, and Triton's own, but for the user's number."""
    start = FOUR.start("demo", Ports(), "mark", env=(("A", "b"),), reads=(Path("/data"),))
    box = start.container
    assert box
    assert start.env == (("TRITON_WIZARD_MADE_FROM", "mark"),)
    assert start.argv == (
        *("tritonserver", "--model-repository=/w/servers/demo/repository", "--disable-auto-complete-config"),
        "--exit-timeout-secs=5",
    )
    named = start.naming(FOUR.image, "sha256:1").container
    assert named
    assert (named.image, named.options) == ("sha256:1", box.options)
    assert start.naming("another", "sha256:1") == start
    labels = ("triton-wizard.server=9bf95a1d", "triton-wizard.role=server")
    assert (box.engine, box.image, box.labels) == ("docker", FOUR.image, labels)
    assert [word for word in box.options if not word.startswith("--user=")] == [
        *("--rm", "--init", "--name=triton-wizard-demo-9bf95a1d", *(f"--label={label}" for label in labels)),
        *("--env=HOME=/tmp", "--shm-size=10.24g", "--ulimit=stack=67108864", "--security-opt=label=disable"),
        '--gpus="device=0,1,2,3"',
        "--mount=type=bind,source=/w/models,target=/w/models,readonly",
        "--mount=type=bind,source=/w/servers/demo,target=/w/servers/demo,readonly",
        "--mount=type=bind,source=/data,target=/data,readonly",
        "--env=A=b",
    ]


def test_backends_that_complete_their_configuration_may() -> None:
    start = ONE.start("demo", Ports(), "mark", auto_complete=True)
    assert start.argv == ("tritonserver", "--model-repository=/w/servers/demo/repository", "--exit-timeout-secs=5")
    assert ONE.start("demo", Ports(), "mark", argv=("mpirun", "x")).argv == ("mpirun", "x")


def test_an_image_that_is_here_is_the_rule() -> None:
    plain = Docker(WORKSPACE, ONE.server, "registry:5000/image:tag")
    (step,) = plain.prepare()
    assert (step.id, step.identity, step.writes) == ("image", "registry:5000/image:tag", ("image",))
    assert step.estimate == Estimate(1)
    assert step.image == Image("docker", "registry:5000/image:tag")
    assert plain.checked == Path("/w/environments/tag/checked")
    assert plain.needs == plain.server_needs == ("image",)
    assert plain.notes == ("Everything runs in containers from registry:5000/image:tag.",)
    assert (plain.engine, plain.devices, plain.memlock, plain.rootless) == ("docker", (), False, False)


def test_an_image_of_unknown_size_takes_unknown_time() -> None:
    (step,) = replace(ONE, image_bytes=None).prepare()
    assert step.estimate == Estimate(1, unknown=True)
    (step,) = replace(ONE, image_bytes=2 * 10**9).prepare()
    assert step.estimate == Estimate(101, 2 * 10**9, 2 * 10**9)


@example('a,"b"\nc')
@given(st.text(st.characters(codec="utf-8", exclude_characters="\0/\r"), min_size=1))
def test_any_path_is_one_field_of_a_mount(name: str) -> None:
    path = Path("/data") / name
    value = next(
        mount for mount in option(ONE.command("s", ("true",), reads=(path,)).argv, "--mount") if "/data" in mount
    )
    assert list(csv.reader([value], strict=True)) == [["type=bind", f"source={path}", f"target={path}", "readonly"]]


def test_image_steps_do_not_speak_of_engines_that_nobody_builds() -> None:
    assert "build" not in ONE.prepare()[0].why


def test_an_images_size_has_its_caveat_where_it_counts() -> None:
    (step,) = replace(ONE, image_bytes=10**10).prepare()
    assert step.estimate.download_bytes == step.estimate.disk_bytes == 10**10
    assert "not whether it is compressed" in step.why
    assert "compressed" not in ONE.prepare()[0].why  # it is here already


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    """A model as the hub's cache keeps it: a folder of links to blobs, one of them by way of another disk."""
    folder = tmp_path / "hub" / "snapshots" / "1"
    folder.mkdir(parents=True)
    (tmp_path / "hub" / "blobs").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "big").write_text("weights")
    (tmp_path / "hub" / "blobs" / "a").write_text("{}")
    (tmp_path / "hub" / "blobs" / "b").symlink_to(tmp_path / "other" / "big")
    (folder / "config.json").symlink_to("../../blobs/a")
    (folder / "model.safetensors").symlink_to("../../blobs/b")
    (folder / "tokenizer.json").write_text("{}")
    (folder / "copy.json").symlink_to("tokenizer.json")
    (folder / "gone").symlink_to("../../blobs/gone")
    return folder


def test_what_a_models_links_lead_to_is_readable(snapshot: Path, tmp_path: Path) -> None:
    fetched = fetch(replace(LLAMA, local=True, location=str(snapshot)), WORKSPACE)
    assert fetched.reads == (snapshot, tmp_path / "hub" / "blobs", tmp_path / "other")


def test_a_model_named_by_a_link_is_read_where_it_is(snapshot: Path, tmp_path: Path) -> None:
    (tmp_path / "model").symlink_to(snapshot)
    fetched = fetch(replace(LLAMA, local=True, location=str(tmp_path / "model")), WORKSPACE)
    assert fetched.reads[0] == snapshot
    (tmp_path / "x.gguf").symlink_to(tmp_path / "other" / "big")
    file = replace(GGUF, location=str(tmp_path / "x.gguf"), weights=(WeightFile("x.gguf", None, "gguf"),))
    fetched = fetch(file, Workspace(tmp_path))
    assert fetched.reads == (tmp_path / "other" / "big",)
    assert fetched.path.suffix == ".gguf"


def test_links_in_a_circle_are_no_folder_to_read(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "a").symlink_to("b")
    (folder / "b").symlink_to("a")
    (folder / "up").symlink_to("..")
    assert fetch(replace(LLAMA, local=True, location=str(folder)), WORKSPACE).reads == (folder, tmp_path)
