"""Containers for real: an engine of the tests' own runs steps and a real tritonserver from an image made here."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import urllib.request
from collections.abc import Iterator
from contextlib import aclosing, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from tests.docker_engine import FIRST_PORT, docker, engine, standin_image, why_not
from tests.e2e.fake_registry import digest, registry
from tests.values import CHOICE, plan_of
from wizard.kernel.errors import ServerError, StepError
from wizard.kernel.paths import Workspace
from wizard.plan.artefacts import IMAGE as IMAGE_ARTIFACT
from wizard.plan.artefacts import REPOSITORY
from wizard.plan.plan import Command, Done, Estimate, Image, Plan, Step
from wizard.plan.ports import Ports, free
from wizard.plan.runtimes.docker import Docker
from wizard.plan.serving import repository_step, serve_steps
from wizard.probe.engines import has_image
from wizard.repository.config_pbtxt import Tensor, config_pbtxt
from wizard.repository.repository import Repository, RepositoryFile
from wizard.run.engine import run
from wizard.run.events import Event, Output, Progress, Ready, StepFinished
from wizard.run.image import exact
from wizard.serve import find, proof
from wizard.serve.care import Care
from wizard.serve.keeper import Keeper
from wizard.serve.status import status
from wizard.serve.stop import stop
from wizard.serve.symptoms import Symptoms

IMAGE = "nvcr.io/nvidia/tritonserver:24.09-trtllm-python-py3"
FAKE_MODEL = """
import numpy
import triton_python_backend_utils as pb_utils

class TritonPythonModel:  # FakeModel: says what it is asked
    def execute(self, requests):
        asked = [pb_utils.get_input_tensor_by_name(one, "text_input").as_numpy() for one in requests]
        return [pb_utils.InferenceResponse([pb_utils.Tensor("text_output", one)]) for one in asked]
"""

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.xdist_group("docker"),
    pytest.mark.skipif(why_not() is not None, reason=why_not() or ""),
]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("docker")
    with engine() as address:
        standin_image(address, folder, IMAGE)
        yield address


@pytest.fixture(autouse=True)
def nothing_left(address: str) -> Iterator[None]:
    yield
    if left := docker(address, "ps", "--all", "--quiet").stdout.split():
        docker(address, "rm", "--force", *left)


@pytest.fixture
def runtime(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Docker:
    monkeypatch.setenv("DOCKER_HOST", address)
    workspace = Workspace.at(tmp_path / "work")
    workspace.models.mkdir(parents=True)
    server = workspace.server("test")
    server.root.mkdir(parents=True)
    return Docker(workspace, server, IMAGE, devices=(0,))


def python(runtime: Docker, step: str, code: str, *files: Path) -> Step:
    command = runtime.command(step, ("python3", "-c", code), gpus=1)
    return Step(step, step, "For a test.", (command,), Done(files=tuple(map(str, files))), Estimate(1))


def plan(runtime: Docker, *steps: Step) -> Plan:
    return replace(plan_of(runtime.workspace.root, *steps), choice=replace(CHOICE, runtime="docker"))


async def events(made: Plan) -> list[Event]:
    async with aclosing(run(made)) as stream:
        return [event async for event in stream]


async def reached(made: Plan) -> list[Event]:
    """The events of a plan that starts no server, and so cannot end with one that is ready."""
    recorded: list[Event] = []
    async with aclosing(run(made)) as going:
        with suppress(ServerError):
            async for event in going:
                recorded.append(event)
    return recorded


def fetched(request: urllib.request.Request) -> dict[str, str]:
    with urllib.request.urlopen(request, timeout=60) as answer:
        data: dict[str, str] = json.load(answer)
    return data


def output_text(recorded: list[Event]) -> str:
    return "\n".join(line for event in recorded if isinstance(event, Output) for line in event.lines)


def ours(address: str) -> list[str]:
    return docker(address, "ps", "--all", "--quiet", "--filter=label=triton-wizard.server").stdout.split()


def runs(address: str) -> str:
    """The ID of the image that the only container runs."""
    return docker(address, "inspect", "--format={{.Image}}", *ours(address)).stdout.strip()


def moved(address: str) -> None:
    """Give the tag to another image, as a pull may."""
    container = docker(address, "create", IMAGE, "python3").stdout.strip()
    assert docker(address, "commit", "--change=LABEL moved=yes", container, IMAGE).returncode == 0
    docker(address, "rm", container)


def serving(runtime: Docker, tmp_path: Path) -> tuple[Step, ...]:
    text = Tensor("text_input", "STRING"), Tensor("text_output", "STRING")
    config = config_pbtxt("test", inputs=text[:1], outputs=text[1:], parameters={})
    files = (RepositoryFile("test/config.pbtxt", config), RepositoryFile("test/1/model.py", FAKE_MODEL))
    write = repository_step(runtime, Repository(files), "A stand-in.")
    ports, _ = free(Ports(FIRST_PORT, FIRST_PORT + 1, FIRST_PORT + 2))
    start = runtime.start("test", ports, "made")
    return (*runtime.prepare(), write, *serve_steps(start, (*runtime.server_needs, REPOSITORY), 240))


async def test_a_whole_journey(address: str, runtime: Docker, tmp_path: Path) -> None:
    engine_file = runtime.server.root / "engine" / "config.json"
    code = f"import os; os.makedirs({str(engine_file.parent)!r}); open({str(engine_file)!r}, 'w').write('{{}}')"
    image, *rest = serving(runtime, tmp_path)
    made = plan(runtime, image, python(runtime, "build", code, engine_file), *rest)
    recorded = await events(made)
    assert isinstance(recorded[-1], Ready)
    assert "Pull" not in output_text(recorded)
    endpoint = recorded[-1].endpoint
    published = docker(address, "port", *ours(address)).stdout.splitlines()
    assert f"8000/tcp -> 127.0.0.1:{endpoint.ports.http}" in published
    assert all("-> 127.0.0.1:" in line for line in published)
    request = urllib.request.Request(
        f"{endpoint.http}/v2/models/test/generate", data=json.dumps({"text_input": "hello"}).encode()
    )
    assert (await asyncio.to_thread(fetched, request))["text_output"] == "hello"
    assert engine_file.stat().st_uid == os.getuid()
    again = await events(made)
    outcomes = {event.step: event.outcome for event in again if isinstance(event, StepFinished)}
    assert outcomes["build"] == outcomes["start"] == "skipped"
    assert await stop(runtime.server)
    assert ours(address) == []
    assert status(runtime.server).state == "stopped"


async def test_a_server_whose_client_is_killed_is_stopped_all_the_same(
    address: str, runtime: Docker, tmp_path: Path
) -> None:
    recorded = await events(plan(runtime, *serving(runtime, tmp_path)))
    assert isinstance(recorded[-1], Ready)
    os.kill(recorded[-1].endpoint.pid, signal.SIGKILL)
    assert len(ours(address)) == 1
    await stop(runtime.server)
    assert ours(address) == []


async def test_a_step_that_is_stopped_leaves_no_container(address: str, runtime: Docker) -> None:
    long = python(runtime, "build", "import signal; print('begun', flush=True); signal.pause()")
    async with aclosing(run(plan(runtime, long))) as stream:
        async for event in stream:
            if isinstance(event, Output) and "begun" in event.lines:
                break
    assert ours(address) == []


async def killed_when_begun(address: str, made: Plan) -> None:
    async with aclosing(run(made)) as stream:
        async for event in stream:
            if isinstance(event, Output) and "begun" in event.lines:
                docker(address, "kill", *ours(address))


async def test_a_container_that_is_killed_fails_its_step(address: str, runtime: Docker) -> None:
    long = python(runtime, "build", "import signal; print('begun', flush=True); signal.pause()")
    with pytest.raises(StepError) as caught:
        await killed_when_begun(address, plan(runtime, long))
    assert caught.value.code == "TW-R03"
    assert "137" in caught.value.what
    assert ours(address) == []


async def test_what_a_killed_wizard_left_is_removed_before_the_step_runs_again(address: str, runtime: Docker) -> None:
    command = runtime.command("build", ("python3", "-c", "import signal; print('begun', flush=True); signal.pause()"))
    client = await asyncio.create_subprocess_exec(*command.argv, stdout=asyncio.subprocess.PIPE)
    assert client.stdout is not None
    await client.stdout.readline()
    client.kill()
    await client.wait()
    assert len(ours(address)) == 1
    # The plan starts no server, and the engine says so after the step.
    with pytest.raises(ServerError, match="not running"):
        await events(plan(runtime, python(runtime, "build", "print('done')")))
    assert ours(address) == []


async def test_somebody_elses_container_of_that_name_is_left_alone(address: str, runtime: Docker) -> None:
    command = runtime.command("build", ("python3", "-c", "print(1)"))
    name = next(argument for argument in command.argv if argument.startswith("--name="))
    made = docker(address, "create", name, IMAGE, "python3").stdout.strip()
    with pytest.raises(StepError, match="already in use"):
        await events(plan(runtime, python(runtime, "build", "print(1)")))
    assert docker(address, "inspect", made).returncode == 0


async def test_an_image_that_cannot_be_had(runtime: Docker) -> None:
    missing = replace(runtime, image="127.0.0.1:9/nobody/nothing:1")
    with pytest.raises(StepError) as caught:
        await events(plan(missing, *missing.prepare()))
    assert caught.value.code == "TW-R03"
    assert "refused" in caught.value.what


async def test_an_image_is_pulled_layer_by_layer(address: str, runtime: Docker) -> None:
    with registry(layers=3) as where:
        made = replace(runtime, image=f"{where}/triton:1")
        recorded = await reached(plan(made, *made.prepare()))
        fractions = [event.fraction for event in recorded if isinstance(event, Progress)]
        assert fractions == sorted(fractions)
        assert fractions[-1] == 1
        assert "Status: Downloaded newer image" in output_text(recorded)
        assert docker(address, "image", "inspect", made.image).returncode == 0
        assert "Pull" not in output_text(await reached(plan(made, *made.prepare())))
        pulled = await exact(Image("docker", made.image))
        assert pulled.reference == f"{made.image}@{digest(layers=3)}"
        assert pulled.size == 3 << 20
        pinned = replace(runtime, image=pulled.reference)  # what `status` shows can be pulled
        docker(address, "image", "rm", "--force", pulled.id)
        await reached(plan(pinned, *pinned.prepare()))
        assert await exact(Image("docker", pulled.reference)) == replace(pulled, name=pulled.reference)


async def test_a_tag_that_was_moved_is_another_image(address: str, runtime: Docker, tmp_path: Path) -> None:
    """What was built in the old image is built again, and the server starts from the new one; no run mixes them."""
    made_file = runtime.server.root / "made"
    build = python(runtime, "build", f"open({str(made_file)!r}, 'a').write('x')", made_file)
    image, *rest = serving(runtime, tmp_path)
    made = plan(runtime, image, replace(build, reads=(IMAGE_ARTIFACT,)), *rest)
    first = (await events(made))[-1]
    old = await exact(Image("docker", IMAGE))
    assert isinstance(first, Ready)
    assert (first.endpoint.image, first.endpoint.image_id) == (IMAGE, old.id)
    assert runs(address) == old.id
    assert first.proof == f"local image {IMAGE}, ID {old.id[:19]}"

    moved(address)
    new = await exact(Image("docker", IMAGE))
    assert new.id != old.id
    try:
        recorded = await events(made)
        outcomes = {event.step: event.outcome for event in recorded if isinstance(event, StepFinished)}
        assert outcomes["build"] == outcomes["start"] == "done"
        assert made_file.read_text() == "xx"
        assert output_text(recorded).count("is not the image of the last run") == 1
        assert runs(address) == new.id
        assert (now := find.note(runtime.server))
        assert now.image_id == new.id

        again = await events(made)
        outcomes = {event.step: event.outcome for event in again if isinstance(event, StepFinished)}
        assert outcomes["build"] == outcomes["start"] == "skipped"
        assert "is not the image" not in output_text(again)
    finally:
        docker(address, "tag", old.id, IMAGE)


async def test_a_kept_server_is_restarted_from_the_image_that_it_had(
    address: str, runtime: Docker, tmp_path: Path
) -> None:
    recorded = await events(made := plan(runtime, *serving(runtime, tmp_path)))
    last = recorded[-1]
    assert isinstance(last, Ready)
    moved(address)
    seen = Symptoms(runtime.server, last.endpoint)
    try:
        assert await Keeper(runtime.server, made, None, Care(0, ""))._restarted(last.endpoint, seen) == ""
        assert runs(address) == last.endpoint.image_id
        assert find.note(runtime.server) != last.endpoint
        assert (proof.proof(runtime.server)) == last.proof
    finally:
        docker(address, "tag", last.endpoint.image_id, IMAGE)


async def test_an_image_that_is_not_there_cannot_be_skipped(runtime: Docker) -> None:
    missing = replace(runtime, image="127.0.0.1:9/nobody/nothing:1")
    made = plan(missing, *missing.prepare(), python(missing, "build", "print(1)"))
    with pytest.raises(
        StepError, match=r"cannot identify the image 127.0.0.1:9/nobody/nothing:1: .*No such image"
    ) as caught:
        async for _ in run(made, skip={"image"}):
            pass
    assert caught.value.code == "TW-R110"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("triton:2", "manifest unknown"),
        ("triton-401:1", "unauthorized"),
        ("triton-429:1", "pull rate limit"),
    ],
)
async def test_a_refusal_of_the_registry_is_reported(runtime: Docker, name: str, why: str) -> None:
    with registry(layers=1) as where:
        made = replace(runtime, image=f"{where}/{name}")
        with pytest.raises(StepError, match=why) as caught:
            await events(plan(made, *made.prepare()))
    assert caught.value.code == "TW-R03"


async def test_a_context_is_respected(
    address: str, runtime: Docker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which engine is meant is docker's own affair: nothing of it is in a plan."""
    monkeypatch.delenv("DOCKER_HOST")
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
    assert docker(address, "context", "create", "tests", f"--docker=host={address}").returncode == 0
    monkeypatch.setenv("DOCKER_CONTEXT", "tests")
    assert has_image("docker", IMAGE)
    recorded = await reached(plan(runtime, python(runtime, "build", "print('in the context')")))
    assert "in the context" in output_text(recorded)


async def test_an_engine_that_does_not_run(runtime: Docker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nothing.sock")
    with pytest.raises(StepError, match="Cannot connect to the Docker daemon"):
        await events(plan(runtime, python(runtime, "build", "print(1)")))


async def test_an_engine_without_the_nvidia_runtime(
    runtime: Docker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with engine(gpus=False) as plain:
        standin_image(plain, tmp_path, IMAGE)
        monkeypatch.setenv("DOCKER_HOST", plain)
        with pytest.raises(StepError, match="could not select device driver"):
            await events(plan(runtime, python(runtime, "build", "print(1)")))
        assert ours(plain) == []


async def test_a_missing_folder_is_not_made_by_docker(runtime: Docker, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    command = runtime.command("build", ("python3", "-c", "print(1)"), reads=(gone,))
    step = Step("build", "build", "For a test.", (command,), Done(), Estimate(1))
    with pytest.raises(StepError, match="does not exist"):
        await events(plan(runtime, step))
    assert not gone.exists()


def test_commands_are_arguments_not_text(runtime: Docker) -> None:
    command = runtime.command("build", ("python3", "-c", "print('a b')"), env=(("A", "b c"),))
    assert isinstance(command, Command)
    assert "--env=A=b c" in command.argv
    assert command.argv[-1] == "print('a b')"
