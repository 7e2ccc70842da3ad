"""The repository of TensorRT-LLM's LLM API: what it says, and the real tritonserver with a stand-in for its model."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.server_environment import RunningTriton, running_triton, write
from tests.values import CHOICE, GGUF
from wizard.advise.advice import Choice
from wizard.repository.lint import lint
from wizard.stacks.trtllm_llmapi.repository import repository

FAKE_MODEL = '''\
import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    """FakeLlmApi: says the words of the prompt one after another, each time all so far, as the real one streams."""

    @classmethod
    def auto_complete_config(cls, config):
        config.set_model_transaction_policy(dict(decoupled=True))  # as the real one: only while Triton completes
        return config

    def execute(self, requests):
        for request in requests:
            def given(name, default):
                tensor = pb_utils.get_input_tensor_by_name(request, name)
                return default if tensor is None else tensor.as_numpy().item()

            words = given("text_input", b"").decode().split()[: given("sampling_param_max_tokens", 99)]
            pieces = [" ".join(words[: end + 1]) for end in range(len(words))]
            sender = request.get_response_sender()
            for text in pieces if given("streaming", False) else pieces[-1:]:
                output = pb_utils.Tensor("text_output", np.array([text.encode()], dtype=object))
                sender.send(pb_utils.InferenceResponse([output]))
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
'''
LLM = replace(CHOICE, stack="trtllm-llmapi", runtime="docker", quantization="none", kv_cache_dtype="auto")


def model_yaml(choice: Choice = LLM, *, limits: bool = True, model: str = "/w/models/m") -> dict[str, Any]:
    made = repository("demo", model=model, facts=GGUF, choice=choice, limits=limits)
    (text,) = [file.text for file in made.files if file.path == "demo/1/model.yaml"]
    values: dict[str, Any] = yaml.safe_load(text)
    return values


def test_model_yaml_is_what_the_choice_says() -> None:
    assert model_yaml(replace(LLM, tp=2, pp=2, kv_cache_dtype="fp8", kv_cache_fraction=0.43)) == {
        "model": "/w/models/m",
        "backend": "pytorch",
        "tensor_parallel_size": 2,
        "pipeline_parallel_size": 2,
        "max_batch_size": 4,
        "max_seq_len": 1024,
        "kv_cache_config": {"free_gpu_memory_fraction": 0.43, "dtype": "fp8"},
        "triton_config": {"max_batch_size": 0, "decoupled": True},
    }


def test_limits_and_dtype_are_left_out_where_they_are_no_arguments() -> None:
    assert {"max_batch_size", "max_seq_len"}.isdisjoint(model_yaml(limits=False))
    assert "dtype" not in model_yaml(replace(LLM, kv_cache_fraction=0.43))["kv_cache_config"]
    assert "kv_cache_config" not in model_yaml()


@pytest.mark.parametrize("path", ["/a: b", "/ü #x", "/'\"", "/yes", "/\\t"])
def test_any_path_survives_the_yaml(path: str) -> None:
    assert model_yaml(model=path)["model"] == path


def made(root: Path) -> Path:
    plan = repository("demo", model="/w/models/m", facts=GGUF, choice=LLM, limits=True)
    assert plan.copied == ("demo/1",)
    write(plan, root)
    (root / "demo" / "1" / "model.py").write_text(FAKE_MODEL)
    return root


def test_the_linter_has_nothing_against_it(tmp_path: Path) -> None:
    assert [finding for finding in lint(made(tmp_path)).findings if finding.severity == "error"] == []


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningTriton]:
    scratch = tmp_path_factory.mktemp("llmapi")
    with running_triton(made(scratch / "repository"), scratch) as server:
        yield server


def ask(server: RunningTriton, endpoint: str, **question: object) -> bytes:
    request = urllib.request.Request(f"{server.url}/v2/models/demo/{endpoint}", json.dumps(question).encode())
    with urllib.request.urlopen(request, timeout=60) as answer:
        read: bytes = answer.read()
        return read


@pytest.mark.e2e
@pytest.mark.timeout(300)
@pytest.mark.xdist_group("repository")
class TestServed:
    """In the real tritonserver, started without completing configurations as NVIDIA's launch script does."""

    def test_it_streams(self, served: RunningTriton) -> None:
        """Without `decoupled` in config.pbtxt the second response is an error."""
        raw = ask(served, "generate_stream", text_input="one two three", streaming=True, sampling_param_max_tokens=2)
        pieces = [json.loads(line.removeprefix(b"data:"))["text_output"] for line in raw.splitlines() if line]
        assert pieces == ["one", "one two"]

    def test_it_answers_whole(self, served: RunningTriton) -> None:
        assert json.loads(ask(served, "generate", text_input="one two"))["text_output"] == "one two"

    def test_what_is_not_declared_is_refused(self, served: RunningTriton) -> None:
        with pytest.raises(urllib.error.HTTPError):
            ask(served, "generate", text_input=["one", "two"], sampling_param_seed="many")
