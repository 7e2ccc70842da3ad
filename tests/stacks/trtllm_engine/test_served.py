"""The repositories of TensorRT-LLM's backend in the real tritonserver, with stand-ins for the backend's own models."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator

import pytest

from tests.repository import standins
from tests.server_environment import RunningTriton, running_triton, write
from wizard.stacks.trtllm_engine.repository import repository

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300), pytest.mark.xdist_group("repository")]


@pytest.fixture(scope="module", params=["0.7.2", "0.8.0", "0.13.0", "0.17.0", "1.2.1"])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningTriton]:
    scratch = tmp_path_factory.mktemp("served")
    plan = repository(request.param, engine_dir="/e", tokenizer_dir="/t", max_batch_size=4, backend="python")
    root = write(plan, scratch / "repository")
    standins.put(root, plan.copied)
    with running_triton(root, scratch) as server:
        yield server


def ask(server: RunningTriton, path: str, **question: object) -> bytes:
    url = f"{server.url}/v2/models/{path}"
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(question).encode()), timeout=60) as answer:
        read: bytes = answer.read()
        return read


@pytest.mark.parametrize("model", ["ensemble", "tensorrt_llm_bls"])
def test_one_answer(served: RunningTriton, model: str) -> None:
    answer = json.loads(ask(served, f"{model}/generate", text_input="Hello, Triton", max_tokens=5))
    assert answer["text_output"] == "Hello"


@pytest.mark.parametrize("model", ["ensemble", "tensorrt_llm_bls"])
def test_a_stream(served: RunningTriton, model: str) -> None:
    raw = ask(served, f"{model}/generate_stream", text_input="Hello, Triton", max_tokens=5, stream=True)
    pieces = [json.loads(line.removeprefix(b"data:")) for line in raw.splitlines() if line]
    assert [piece["text_output"] for piece in pieces] == list("Hello")


def test_optional_inputs_reach_their_model(served: RunningTriton) -> None:
    """Triton checks names, types and dims of what a request holds on the whole way through the ensemble."""
    more = {"top_k": 1, "top_p": 0.5, "temperature": 1.0, "beam_width": 1, "end_id": 0, "pad_id": 0}
    more |= {"return_log_probs": True, "repetition_penalty": 1.0, "presence_penalty": 0.0, "length_penalty": 1.0}
    words = {"bad_words": ["x"], "stop_words": ["y"]}
    answer = json.loads(ask(served, "ensemble/generate", text_input="Hello", max_tokens=5, **more, **words))
    assert answer["text_output"] == "Hello"
