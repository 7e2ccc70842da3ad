"""The stack vllm in a real container with a real tritonserver; vLLM itself and its backend are stand-ins."""

from __future__ import annotations

import asyncio
import json
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.chain_folder import write_chain_folder
from tests.chain_model import CHAT
from tests.docker_engine import FIRST_PORT, docker, engine, standin_image, why_not
from tests.e2e.test_docker import events, ours, output_text
from tests.plan.stack_values import FACTS, IN_IMAGE
from tests.values import CPU_HOST
from wizard.advise.advice import Choice
from wizard.chat.client import described
from wizard.chat.conversation import Conversation
from wizard.chat.stream import answer
from wizard.kernel.errors import StepError
from wizard.kernel.paths import Workspace
from wizard.model.facts import ModelFacts, WeightFile
from wizard.plan.build import build
from wizard.plan.plan import Plan
from wizard.probe.host import ContainerEngine
from wizard.run.events import Ready, StepFinished
from wizard.serve.status import status
from wizard.serve.stop import stop

IMAGE = f"nvcr.io/nvidia/tritonserver:{IN_IMAGE.release}"
HOST = replace(CPU_HOST, engines=(ContainerEngine("docker", "1", "1", nvidia_runtime=True),))
FAKE_ARGUMENTS = """
import dataclasses

@dataclasses.dataclass
class AsyncEngineArgs:  # FakeVllm: the arguments that plans of this release use
    model: str = ""
    dtype: str = ""
    max_model_len: int = 0
    max_num_seqs: int = 0
    gpu_memory_utilization: float = 0.0
    disable_log_requests: bool = False
"""

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.xdist_group("docker"),
    pytest.mark.skipif(why_not() is not None, reason=why_not() or ""),
]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder, extra = tmp_path_factory.mktemp("docker"), tmp_path_factory.mktemp("extra")
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    backend = (Path(__file__).parent / "fake_vllm_backend.py").read_text(encoding="utf-8")
    for path, text in (
        ("opt/tritonserver/backends/vllm/model.py", backend),
        (f"usr/lib/{version}/site-packages/vllm/__init__.py", ""),
        (f"usr/lib/{version}/site-packages/vllm/engine/__init__.py", ""),
        (f"usr/lib/{version}/site-packages/vllm/engine/arg_utils.py", FAKE_ARGUMENTS),
    ):
        (extra / path).parent.mkdir(parents=True, exist_ok=True)
        (extra / path).write_text(text, encoding="utf-8")
    with engine() as address:
        standin_image(address, folder, IMAGE, extra=extra)
        yield address


@pytest.fixture
def facts(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelFacts]:
    """A model in a folder of the user's; afterwards no container is left."""
    monkeypatch.setenv("DOCKER_HOST", address)
    folder = write_chain_folder(tmp_path / "models" / "chain")
    weights = (WeightFile("model.safetensors", 1000, "safetensors"),)
    yield replace(
        FACTS, ref=str(folder), source="folder", location=str(folder), local=True, chat=CHAT, weights=weights, heads=2
    )
    if left := docker(address, "ps", "--all", "--quiet").stdout.split():
        docker(address, "rm", "--force", *left)


def plan(facts: ModelFacts, tmp_path: Path, choice: Choice = IN_IMAGE) -> Plan:
    return build(
        HOST, facts, choice, Workspace.at(tmp_path / "work"), name="demo", http_port=FIRST_PORT, question="Say: hello"
    )


def streamed(url: str, **body: object) -> list[dict[str, object]]:
    request = urllib.request.Request(url, json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=60) as response:
        return [json.loads(line[5:]) for line in response.read().splitlines() if line.startswith(b"data:")]


async def test_a_whole_journey(address: str, facts: ModelFacts, tmp_path: Path) -> None:
    made = plan(facts, tmp_path)
    recorded = await events(made)
    assert isinstance(recorded[-1], Ready)
    assert "Pull" not in output_text(recorded)
    assert "this vLLM supports all arguments" in output_text(recorded)
    assert "bfloat16 8" in output_text(recorded)  # the first question was answered by what the plan gave to vLLM
    endpoint = recorded[-1].endpoint

    url = f"{endpoint.http}/v2/models/demo/generate_stream"
    parameters = json.dumps({"max_tokens": 16})
    pieces = await asyncio.to_thread(streamed, url, text_input="say hello", stream=True, sampling_parameters=parameters)
    assert [piece["text_output"] for piece in pieces] == ["bfloat16 ", "8 ", "hello"]

    served = await asyncio.to_thread(described, endpoint)
    talk = Conversation().with_message("user", "hello")
    async with aclosing(answer(endpoint, talk, served=served)) as chunks:
        text = "".join([chunk.text async for chunk in chunks])
    assert text.startswith("bfloat16 8 ")

    again = await events(made)
    outcomes = {event.step: event.outcome for event in again if isinstance(event, StepFinished)}
    assert outcomes["repository"] == outcomes["start"] == "skipped"
    server = Workspace.at(made.workspace).server("demo")
    assert await stop(server)
    assert ours(address) == []
    assert status(server).state == "stopped"


async def test_an_argument_that_this_vllm_does_not_know_ends_before_the_model_is_fetched(
    address: str, facts: ModelFacts, tmp_path: Path
) -> None:
    made = plan(facts, tmp_path, replace(IN_IMAGE, kv_cache_dtype="fp8"))
    with pytest.raises(StepError, match="does not support: kv_cache_dtype"):
        await events(made)
    assert not any(Workspace.at(made.workspace).models.iterdir())
    assert ours(address) == []
