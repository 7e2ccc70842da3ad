"""The stack trtllm-engine in real containers with a real tritonserver; TensorRT-LLM itself is a stand-in.

The plans are the wizard's own, of tutorials 000 and 002, for a model in a local folder on a recorded machine. See
``fake_trtllm.py`` for what is not NVIDIA's.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import aclosing, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from tests.chain_folder import write_chain_folder
from tests.chain_model import CHAT
from tests.docker_engine import FIRST_PORT, docker, engine, standin_image, why_not
from tests.e2e import fake_trtllm
from tests.e2e.test_docker import IMAGE, events, ours, output_text
from tests.ports import reserved
from tests.stacks.trtllm_values import LLAMA, choice
from wizard.advise.advice import Choice
from wizard.chat.client import described
from wizard.chat.conversation import Conversation, Sampling
from wizard.chat.stream import answer
from wizard.kernel.errors import ServerError, StepError, WizardError
from wizard.kernel.paths import ServerFolder, Workspace
from wizard.kernel.values import to_json
from wizard.model.facts import ModelFacts, WeightFile
from wizard.plan.build import build
from wizard.plan.plan import Plan, Start
from wizard.plan.runtimes.docker import LABEL
from wizard.probe.host import ContainerEngine
from wizard.probe.shorthand import host
from wizard.run.clean import items
from wizard.run.engine import run
from wizard.run.events import Event, Output, Ready, StepFinished
from wizard.serve.endpoint import Endpoint
from wizard.serve.status import status
from wizard.serve.stop import stop

IMAGE_24_04 = "nvcr.io/nvidia/tritonserver:24.04-trtllm-python-py3"
IMAGE_23_12 = "nvcr.io/nvidia/tritonserver:23.12-trtllm-python-py3"
VERSION, VERSION_0_9 = "0.13.0.dev2024090300", "0.9.0"
DOCKER = ContainerEngine("docker", "1", "1", nvidia_runtime=True)
L4 = replace(host("1xL4"), source="this machine", engines=(DOCKER,))
A100S = replace(host("2xA100"), source="this machine", engines=(DOCKER,))
TUTORIAL_000 = choice("0.13.0", "int4_awq", dtype="bfloat16", batch=1, length=2560)
TUTORIAL_002 = replace(choice("0.9.0", tp=2), release="24.04-trtllm-python-py3")
KILL_TRITON = """
import os, pathlib
for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
    if path.read_bytes().startswith(b"/opt/tritonserver/bin/tritonserver"):
        os.kill(int(path.parts[2]), 9)
"""

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.xdist_group("docker"),
    pytest.mark.usefixtures("roomy_disk"),
    pytest.mark.skipif(why_not() is not None, reason=why_not() or ""),
]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    versions = {IMAGE: VERSION, IMAGE_24_04: VERSION_0_9, IMAGE_23_12: VERSION_0_9}
    with engine() as address:
        for name, version in versions.items():
            folder, extra = tmp_path_factory.mktemp("docker"), tmp_path_factory.mktemp("extra")
            tag = name.partition(":")[2].partition("-")[0]
            standin_image(address, folder, name, extra=fake_trtllm.in_image(extra, tag, version))
        yield address


def test_an_image_lacks_what_the_real_tag_lacks(address: str) -> None:
    lookup = ("sh", "-c", "command -v trtllm-build")
    assert docker(address, "run", "--rm", IMAGE_24_04, *lookup).returncode == 0
    assert docker(address, "run", "--rm", IMAGE_23_12, *lookup).returncode != 0


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What git is told, so that NVIDIA's addresses lead to local repositories."""
    return fake_trtllm.repositories(tmp_path_factory.mktemp("git"), {"v0.9.0": VERSION_0_9, "v0.13.0": VERSION})


@pytest.fixture
def facts(
    address: str, sources: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ModelFacts]:
    """A model in a snapshot as the hub's cache has it: files that are links to blobs; afterwards nothing is left."""
    for name, value in {**sources, "DOCKER_HOST": address}.items():
        monkeypatch.setenv(name, value)
    cache = tmp_path / "hub, of 'mine'"
    folder, blobs = write_chain_folder(cache / "snapshots" / "1"), cache / "blobs"
    blobs.mkdir()
    for path in sorted(folder.iterdir()):
        path.rename(blobs / path.name)
        path.symlink_to(Path("../../blobs") / path.name)
    weights = (WeightFile("model.safetensors", 1000, "safetensors"),)
    yield replace(
        LLAMA, ref=str(folder), source="folder", location=str(folder), local=True, chat=CHAT, weights=weights, heads=2
    )
    if left := docker(address, "ps", "--all", "--quiet").stdout.split():
        docker(address, "rm", "--force", *left)


def plan(facts: ModelFacts, workspace: Path, chosen: Choice = TUTORIAL_000, port: int | None = None) -> Plan:
    on = A100S if chosen.tp > 1 else L4
    return build(
        on, facts, chosen, Workspace.at(workspace), name="demo", http_port=port or FIRST_PORT, question="Say: hello"
    )


def server_of(made: Plan) -> ServerFolder:
    return Workspace.at(made.workspace).server("demo")


def switch(made: Plan, name: str) -> Path:
    """Signal a stand-in by the file ``name``."""
    path = server_of(made).root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def outcomes(recorded: list[Event]) -> dict[str, str]:
    return {event.step: event.outcome for event in recorded if isinstance(event, StepFinished)}


def asked(url: str, **body: object) -> str:
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode()), timeout=60) as response:
        return str(json.load(response)["text_output"])


def wizard(made: Plan, command: str, *arguments: str) -> str:
    argv = [sys.executable, "-m", "wizard", command, *arguments, "--workspace", made.workspace]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


async def first_pieces(endpoint: Endpoint, pieces: int) -> str:
    """A chat that is stopped after a few pieces of a long answer."""
    served = await asyncio.to_thread(described, endpoint)
    assert served.name == "tensorrt_llm"
    talk = Conversation(sampling=Sampling(max_tokens=100_000)).with_message("user", "hello")
    text = ""
    async with aclosing(answer(endpoint, talk, served=served)) as chunks:
        async for chunk in chunks:
            text += chunk.text
            pieces -= 1
            if not pieces:
                break
    return text


async def test_a_whole_journey(address: str, facts: ModelFacts, tmp_path: Path) -> None:
    made = plan(facts, tmp_path / "work")
    recorded = await events(made)
    assert isinstance(recorded[-1], Ready)
    assert set(outcomes(recorded).values()) == {"done"}
    text = output_text(recorded)
    assert "Pull" not in text
    assert "trtllm-build: all 8 flags are supported" in text
    assert "FakeQuantize: int4_awq of LlamaForCausalLM" in text
    endpoint = recorded[-1].endpoint

    url = f"{endpoint.http}/v2/models/ensemble/generate"
    assert await asyncio.to_thread(asked, url, text_input="Hello, Triton", max_tokens=5) == "Hello"
    assert "hello" in await first_pieces(endpoint, 40)
    assert "ready" in wizard(made, "status")
    assert wizard(made, "logs", "demo", "--step", "checkpoint")
    assert set(outcomes(await events(made)).values()) >= {"skipped"}

    wizard(made, "down", "demo")
    assert "the client gave the request up" in Path(endpoint.log).read_text(encoding="utf-8")
    assert ours(address) == []
    assert f"docker image rm {IMAGE}" in wizard(made, "clean", "--yes")
    assert items(Workspace.at(made.workspace)) == []
    assert docker(address, "image", "inspect", IMAGE).returncode == 0
    assert Path(facts.location, "model.safetensors").exists()


async def when_begun(made: Plan, act: Callable[[], object]) -> None:
    """Run the plan; once a stand-in has begun, ``act``."""
    async with aclosing(run(made)) as stream:
        async for event in stream:
            if isinstance(event, Output) and "begun" in event.lines:
                act()


async def test_a_build_whose_container_is_killed_resumes_from_there(
    address: str, facts: ModelFacts, tmp_path: Path
) -> None:
    made = plan(facts, tmp_path / "work")
    hold = switch(made, "hold.trtllm-build")
    with pytest.raises(StepError, match="exit status 137") as caught:
        await when_begun(made, lambda: docker(address, "kill", *ours(address)))
    assert caught.value.code == "TW-R03"
    root = server_of(made).root
    assert (root / "engine.partial" / "rank0.engine").exists()  # all that a whole engine has
    assert not (root / "engine").exists()
    hold.unlink()
    recorded = await events(made)
    assert outcomes(recorded)["checkpoint"] == "skipped"
    assert outcomes(recorded)["engine"] == outcomes(recorded)["question"] == "done"
    await stop(server_of(made))


async def test_quantisation_that_is_stopped_leaves_no_container_and_no_checkpoint(
    address: str, facts: ModelFacts, tmp_path: Path
) -> None:
    made = plan(facts, tmp_path / "work")
    switch(made, "hold.quantize.py")
    async with aclosing(run(made)) as stream:
        async for event in stream:
            if isinstance(event, Output) and "begun" in event.lines:
                break
    assert ours(address) == []
    assert not (server_of(made).root / "checkpoint").exists()
    assert "stopped by the user" in Workspace.at(made.workspace).journal.read_text(encoding="utf-8")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if made := mounted(folder, "size=512m"):
        pytest.skip(f"no file system can be mounted here: {made}")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def mounted(folder: Path, options: str) -> str:
    argv = ["mount", "-t", "tmpfs", "-o", options, "none", str(folder)]
    return subprocess.run(argv, capture_output=True, text=True, check=False).stderr


async def test_a_disk_that_fills_during_a_step(address: str, facts: ModelFacts, disk: Path) -> None:
    small = replace(TUTORIAL_000, memory=replace(TUTORIAL_000.memory, weights_bytes=1))
    made = plan(facts, disk / "work", small)
    assert mounted(disk, "remount,size=2m") == ""  # somebody else took the rest
    fill = switch(made, "fill.quantize.py")
    with pytest.raises(WizardError) as caught:
        await events(made)
    # the tool says it, or the wizard cannot write down any more what the tool says
    assert caught.value.code in ("TW-R03", "TW-R04", "TW-R01")
    assert "No space left on device" in caught.value.what
    assert ours(address) == []
    assert not (server_of(made).root / "checkpoint").exists()
    fill.unlink()
    assert mounted(disk, "remount,size=512m") == ""
    assert outcomes(await events(made))["checkpoint"] == "done"
    assert not (server_of(made).root / "checkpoint.partial").exists()
    await stop(server_of(made))


@pytest.fixture
def port() -> Iterator[int]:
    """One that no other test asks for."""
    with reserved() as first:
        yield first


async def test_a_name_and_a_port_that_somebody_took_meanwhile(
    address: str, facts: ModelFacts, tmp_path: Path, port: int
) -> None:
    made = plan(facts, tmp_path / "work", port=port)
    (start,) = [action for step in made.steps for action in step.actions if isinstance(action, Start)]
    assert start.container
    (name,) = [word.removeprefix("--name=") for word in start.container.options if word.startswith("--name=")]
    docker(address, "create", f"--name={name}", IMAGE, "true")
    with pytest.raises(ServerError, match="already in use") as caught:
        await events(made)
    assert caught.value.code == "TW-S04"
    assert docker(address, "rm", name).returncode == 0  # it is not ours, so it was left alone
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", start.ports.http))
        taken.listen()
        recorded = await events(made)
    assert isinstance(recorded[-1], Ready)
    assert f"Port {start.ports.http} is in use" in output_text(recorded)
    assert recorded[-1].endpoint.ports.http != start.ports.http
    await stop(server_of(made))


async def test_two_ranks_are_started_and_ended_together(address: str, facts: ModelFacts, tmp_path: Path) -> None:
    made = plan(facts, tmp_path / "work", TUTORIAL_002)
    recorded = await events(made)
    assert isinstance(recorded[-1], Ready)
    assert "FakeRun: rank 0" in output_text(recorded)
    assert "FakeRun: rank 1" in output_text(recorded)
    endpoint = recorded[-1].endpoint
    url = f"{endpoint.http}/v2/models/ensemble/generate"
    assert await asyncio.to_thread(asked, url, text_input="Hello, Triton", max_tokens=5) == "Hello"
    (container,) = ours(address)
    assert "signal.pause" in docker(address, "top", container, "-eo", "pid,args").stdout  # the other rank
    docker(address, "exec", container, "python3", "-c", KILL_TRITON)
    with suppress(ChildProcessError):  # the container lives as long as the server, and docker run as long as that
        await asyncio.to_thread(os.waitpid, endpoint.pid, 0)
    assert status(server_of(made)).state == "dead"

    again = await events(made)
    assert outcomes(again)["engine"] == "skipped"
    assert outcomes(again)["start"] == "done"
    wizard(made, "down", "demo")
    assert ours(address) == []
    # not killed: mpirun was told and had the time to end its ranks
    assert "FakeMpirun: all ranks have ended" in Path(endpoint.log).read_text(encoding="utf-8")


def test_a_container_that_was_left_is_listed_and_removed(address: str, facts: ModelFacts, tmp_path: Path) -> None:
    made = plan(facts, tmp_path / "work")
    server = server_of(made)
    server.root.mkdir(parents=True)
    server.plan.write_text(to_json(made), encoding="utf-8")
    (start,) = [action for step in made.steps for action in step.actions if isinstance(action, Start)]
    assert start.container
    Workspace.at(made.workspace).models.mkdir()  # what a container sees must be there
    options = [word for word in start.container.options if word not in ("--rm", "--init")]
    other = docker(address, "create", f"--label={LABEL}.server=another", IMAGE, "true").stdout.strip()
    assert docker(address, "create", *options, IMAGE, "true").returncode == 0
    assert "docker rm --force triton-wizard-demo-" in wizard(made, "clean")
    wizard(made, "clean", "--yes")
    assert docker(address, "ps", "--all", "--quiet", "--no-trunc").stdout.split() == [other]
