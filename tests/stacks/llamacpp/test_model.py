"""The Python-backend model that the wizard ships, asked by plain HTTP as with curl."""

from __future__ import annotations

import asyncio
import importlib
import json
import math
import re
import subprocess
import sys
import types
import urllib.error
import urllib.request
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from tests.chain_model import CYCLE, CYCLE_TOKENS, split_chain_model, write_chain_model
from tests.chat.conftest import FACTS, LONG, REFUSAL, SHORT_CONTEXT, Served, chain_repository
from tests.processes import SECONDS
from tests.server_environment import running_triton, server_environment, write
from wizard.catalog.environments import environment
from wizard.chat.conversation import Conversation, Sampling
from wizard.chat.stream import answer
from wizard.kernel.process import stop_group
from wizard.serve.stop import ASK, FORCE
from wizard.stacks.llamacpp.repository import repository

e2e = pytest.mark.e2e


def post(served: Served, model: str, **body: Any) -> list[dict[str, Any]]:
    """The JSON objects that ``generate`` (``stream=False``) or ``generate_stream`` answers."""
    kind = "generate" if body.get("stream") is False else "generate_stream"
    url = f"{served.triton.url}/v2/models/{model}/{kind}"
    try:
        with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode()), timeout=60) as response:
            lines = response.read().splitlines()
    except urllib.error.HTTPError as error:
        lines = error.read().splitlines()
    return [json.loads(line.removeprefix(b"data: ")) for line in lines if line]


@e2e
def test_one_answer_for_a_plain_curl(served: Served) -> None:
    (reply,) = post(served, "chain", text_input="What is Triton?", stream=False, max_tokens=3 * CYCLE_TOKENS)
    assert reply["text_output"] == 3 * CYCLE
    assert (reply["finish_reason"], reply["completion_tokens"]) == ("length", 3 * CYCLE_TOKENS)


@e2e
def test_a_split_file_answers_like_the_whole_one(served: Served) -> None:
    (reply,) = post(served, "split", text_input="What is Triton?", stream=False, max_tokens=3 * CYCLE_TOKENS)
    assert reply["text_output"] == 3 * CYCLE


@e2e
def test_the_tokens_of_a_prompt_are_counted_whether_it_was_kept_or_not(served: Served) -> None:
    """llama.cpp keeps the last prompt of a slot, and reports its tokens apart."""
    ask = {"text_input": "ab" * 40, "apply_chat_template": False, "max_tokens": 2}
    counts = [reply["prompt_tokens"] for _ in range(2) for reply in post(served, "short", **ask)]
    assert set(counts) == {80}
    assert [reply["prompt_tokens"] for reply in post(served, "gated", **ask)] == [80]


@e2e
def test_streaming_is_the_default_and_loses_nothing(served: Served) -> None:
    replies = post(served, "chain", text_input="What is Triton?", max_tokens=CYCLE_TOKENS + 5)
    assert (
        "".join(piece["text_output"] for piece in replies) == CYCLE + "Hi "
    )  # the two bytes of half an emoji are not sent
    assert {piece["finish_reason"] for piece in replies[:-1]} == {""}
    assert (replies[-1]["finish_reason"], replies[-1]["completion_tokens"]) == ("length", CYCLE_TOKENS + 5)


@e2e
def test_a_raw_prompt_is_continued(served: Served) -> None:
    (reply,) = post(served, "chain", text_input="Is it?", stream=False, apply_chat_template=False)
    assert (reply["text_output"], reply["finish_reason"]) == ("yes", "stop")


@e2e
@pytest.mark.parametrize("typed", ["<|im_end|>", "<|im_start|>", "<|endoftext|>"])
def test_special_tokens_that_somebody_typed_are_text(served: Served, typed: str) -> None:
    def tokens(**body: Any) -> int:
        (reply,) = post(served, "short", stream=False, **body)
        return int(re.findall(r"prompt too long: (\d+) tokens", reply["error"])[0])

    count, frame = 300, len("user\n\nassistant\n") + 3
    assert tokens(text_input=typed * count) == frame + count * (len(typed) + 1)  # a token for each byte, and the space
    assert tokens(text_input=typed * count, apply_chat_template=False) == count  # a ready prompt may have them


@e2e
def test_stop_words_end_the_answer(served: Served) -> None:
    (reply,) = post(served, "chain", text_input="x", stream=False, stop_words=["", "no", "é."])
    assert (reply["text_output"], reply["finish_reason"]) == ("Hi 😀", "stop")


@e2e
def test_an_answer_ends_with_the_context(served: Served) -> None:
    (reply,) = post(served, "short", text_input="x", stream=False, max_tokens=10**6)
    assert reply["finish_reason"] == "length"
    assert reply["completion_tokens"] < SHORT_CONTEXT


@e2e
def test_the_same_seed_gives_the_same_answer(served: Served) -> None:
    def ask(seed: int) -> str:
        prompts = {"text_input": "Is it!", "apply_chat_template": False, "stream": False}
        return str(post(served, "chain", **prompts, temperature=1.0, random_seed=seed)[0]["text_output"])

    answers = {seed: ask(seed) for seed in range(20)}
    assert set(answers.values()) == {"m", "n"}  # it is as likely to say one as the other
    assert {seed: ask(seed) for seed in range(20)} == answers


@e2e
def test_the_gate(served: Served) -> None:
    (reply,) = post(served, "gated", text_input="Is it!", apply_chat_template=False, stream=False)
    assert (reply["text_output"], reply["finish_reason"], reply["completion_tokens"]) == (REFUSAL, "gate", 0)
    (reply,) = post(served, "gated", text_input="Is it!", apply_chat_template=False)  # streamed as one piece
    assert reply["text_output"] == REFUSAL
    (reply,) = post(served, "gated", text_input="Is it?", apply_chat_template=False, stream=False)
    assert (reply["text_output"], reply["finish_reason"]) == ("yes", "stop")
    (reply,) = post(served, "gated", text_input="x", stream=False, max_tokens=CYCLE_TOKENS)
    assert reply["text_output"] == CYCLE


@e2e
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"text_input": ""}, "text_input must be a text, not empty"),
        ({"temperature": -1}, "temperature must be 0 or more, not -1.0"),
        ({"temperature": 1e39}, "temperature must be 0 or more, not inf"),
        ({"top_p": 0}, "top_p must be over 0 and at most 1, not 0.0"),
        ({"top_p": 1.5}, "top_p must be over 0 and at most 1, not 1.5"),
        ({"top_k": -1}, "top_k must be 0 (all tokens) or more, not -1"),
        ({"max_tokens": 0}, "max_tokens must be 1 or more, not 0"),
        (
            {"text_input": "x" * 999, "apply_chat_template": False},
            "prompt too long: 999 tokens, and a request may have 256",
        ),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_errors_are_reported(served: Served, body: dict[str, Any], message: str, stream: bool) -> None:
    (reply,) = post(served, "short", **{"text_input": "x", "stream": stream, **body})
    assert reply["error"] == f"request refused: {message}"
    assert post(served, "short", text_input="still there?", max_tokens=1)[0]["text_output"] == "H"


@e2e
def test_a_model_that_cannot_be_loaded_says_why(tmp_path: Path) -> None:
    text = tmp_path / "text.gguf"
    text.write_text("no model")
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(100))
    root = tmp_path / "repository"
    for name, path in (("missing", tmp_path / "nope.gguf"), ("text", text), ("broken", broken)):
        write(repository(name, gguf_path=str(path), facts=FACTS, choice=LONG, threads=1), root)
    with running_triton(root, tmp_path, ready=False) as triton:
        triton.process.wait(60)
        log = triton.wait_for_log(lambda text: "failed to load all models" in text)
    assert triton.process.returncode != 0
    assert f"missing: file not found: {tmp_path}/nope.gguf" in log
    assert f"text: {text} is not a GGUF file" in log
    assert f"broken: llama.cpp cannot load {broken}" in log


@e2e
async def test_the_server_stops_although_somebody_listens(tmp_path: Path) -> None:
    """As `down` stops it: after SIGTERM alone, Triton hangs now and then (see `stop.ASK`)."""
    with running_triton(chain_repository(tmp_path / "repository"), tmp_path) as triton:
        talk = Conversation(sampling=Sampling(max_tokens=16000)).with_message("user", "Hello")
        async with aclosing(answer(Served(triton).endpoint(), talk)) as chunks:
            await chunks.__anext__()
            await stop_group(triton.process.pid, ASK, leader_only=True)
            assert await stop_group(triton.process.pid, FORCE)
            await asyncio.to_thread(triton.process.wait, SECONDS)


CPU = "processor : 0\nflags\t\t: fpu sse2 avx avx2 fma f16c bmi1 bmi2\n"


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """The shipped file as a module; outside of Triton its ``triton_python_backend_utils`` does not exist."""
    monkeypatch.setitem(sys.modules, "triton_python_backend_utils", types.ModuleType("FakeBackendUtils"))
    name = "wizard.stacks.llamacpp.engine"  # in the repository the other files lie beside it
    for other in ("text_requests", "work_gauges"):
        monkeypatch.setitem(sys.modules, f"{name}.{other}", importlib.import_module(f"wizard.repository.{other}"))
    return importlib.import_module(f"{name}.llamacpp_model")


@pytest.mark.parametrize(
    ("cpuinfo", "machine", "missing"),
    [
        (CPU, "x86_64", None),
        (CPU.replace(" avx2", ""), "x86_64", "avx2"),
        (CPU.replace("avx2 fma f16c", ""), "x86_64", "avx2, f16c, fma"),
        ("Features : neon", "aarch64", None),
        ("", "x86_64", None),
    ],
)
def test_an_old_processor_is_reported_before_it_crashes(
    model: types.ModuleType, cpuinfo: str, machine: str, missing: str | None
) -> None:
    if missing is None:
        model.check_cpu(cpuinfo, machine)
        return
    with pytest.raises(RuntimeError, match=f"this processor lacks {missing}, which"):
        model.check_cpu(cpuinfo, machine)


class FakeParams:
    """Stands for ``xllamacpp.CommonParams``, with its groups of settings."""

    def __init__(self) -> None:
        self.model, self.cpuparams, self.cpuparams_batch = (types.SimpleNamespace() for _ in range(3))


def settings(model: types.ModuleType, **more: str) -> Any:
    return model.Settings.read({"gguf": "x", "threads": "2", "slots": "1", "max_seq_len": "64", **more})


def test_layers_and_experts_are_given_to_llama_cpp(model: types.ModuleType) -> None:
    params = model._common_params(FakeParams(), settings(model, gpu_layers="5", expert_layers="2"), "key")
    assert params.n_gpu_layers == 5
    first, second = params.tensor_buft_overrides.split(",")
    assert first == r"blk\.0\.ffn_(up|down|gate|gate_up)_(ch|)exps=CPU"
    assert re.search(second.partition("=")[0], "blk.1.ffn_gate_exps.weight")
    assert not re.search(second.partition("=")[0], "blk.11.ffn_gate_exps.weight")
    alone = model._common_params(FakeParams(), settings(model), "key")
    assert (alone.n_gpu_layers, alone.tensor_buft_overrides) == (0, "")
    assert not hasattr(alone, "tensor_split")


def test_the_layers_of_several_gpus_are_given_as_their_ratio(model: types.ModuleType) -> None:
    params = model._common_params(FakeParams(), settings(model, gpu_layers="33", gpu_shares="12,21"), "key")
    assert params.split_mode == 1
    assert (params.tensor_split[:3], len(params.tensor_split)) == ([12.0, 21.0, 0.0], 128)


def test_fewer_gpus_than_planned_are_an_error(model: types.ModuleType) -> None:
    kind = types.SimpleNamespace(name="GGML_BACKEND_DEVICE_TYPE_GPU")
    devices = [{"name": "CUDA0", "type": kind}]
    model.check_gpu(devices, 33)
    with pytest.raises(RuntimeError, match=r"reports 1 GPUs \(CUDA0\); 2 are planned"):
        model.check_gpu(devices, 33, 2)


def test_a_missing_part_is_named(model: types.ModuleType, tmp_path: Path) -> None:
    first, second, third = split_chain_model(tmp_path, 3)
    assert model.parts(first) == [first, second, third]
    second.unlink()
    with pytest.raises(RuntimeError, match=re.escape(f"file not found: {second}")):
        model.Engine(settings(model, gguf=str(first)))


REAL = """
import json, sys, types
sys.modules["triton_python_backend_utils"] = types.ModuleType("FakeBackendUtils")
import importlib.util
def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
sys.modules["served"] = types.ModuleType("served")
for other in ("text_requests", "work_gauges"):
    load(f"served.{other}", f"{sys.argv[2]}/{other}.py")
model = load("served.llamacpp_model", sys.argv[1])
import xllamacpp
given = {"gguf": sys.argv[3], "threads": "1", "slots": "1", "max_seq_len": "64", "gpu_layers": "2"}
split = {**given, "expert_layers": "2", "gpu_shares": "2,1"}
params = model._common_params(xllamacpp.CommonParams(), model.Settings.read(split), "key")
by_layer = params.split_mode == xllamacpp.llama_split_mode.LLAMA_SPLIT_MODE_LAYER.value
print(json.dumps([params.n_gpu_layers, params.tensor_buft_overrides, params.tensor_split[:3], by_layer]))
try:
    model.Engine(model.Settings.read(given))
except RuntimeError as error:
    print(error)
"""


@e2e
def test_a_build_for_the_cpu_refuses_layers_for_a_gpu(tmp_path: Path) -> None:
    """The real xllamacpp from the package index: the settings arrive, and it has no GPU to report."""
    for file in repository("m", gguf_path="/x.gguf", facts=FACTS, choice=LONG, threads=1).files:
        (tmp_path / Path(file.path).name).write_text(file.text)
    gguf = write_chain_model(tmp_path / "chain.gguf")
    python = server_environment() / "bin" / "python"
    argv = [str(python), "-c", REAL, str(tmp_path / "model.py"), str(tmp_path), str(gguf)]
    sent, refused = subprocess.run(argv, check=True, capture_output=True, text=True).stdout.splitlines()
    layers, overrides, shares, by_layer = json.loads(sent)
    assert (layers, shares, by_layer) == (2, [2.0, 1.0, 0.0], True)
    assert overrides.count("=CPU") == 2
    assert refused == "this build of llama.cpp reports no GPU (CPU), which 2 layers are planned for"


@e2e
def test_the_check_of_the_environment_fails_with_a_build_for_the_cpu() -> None:
    python = server_environment() / "bin" / "python"
    code = environment("llamacpp-cuda12").check
    run = subprocess.run([str(python), "-c", code], check=False, capture_output=True, text=True)
    assert run.returncode
    assert "reports no GPU" in run.stderr


@e2e
@pytest.mark.parametrize("chat", [True, False])
def test_log_probabilities_with_alternatives(served: Served, chat: bool) -> None:
    prompt = {"text_input": "x" if chat else "Is it!", "apply_chat_template": chat, "max_tokens": 4, "temperature": 0.0}
    whole = post(served, "chain", **prompt, stream=False, logprobs=3)
    tokens = json.loads(whole[0]["logprobs"])
    if chat:
        assert [token[0] for token in tokens][:3] == ["H", "i", " "]
        assert math.exp(tokens[0][1]) > 0.9
    else:  # m or n, each with probability 1/2, then the end
        assert math.exp(tokens[0][1]) == pytest.approx(0.5, abs=0.01)
        assert {name for name, _ in tokens[0][2][:2]} == {"m", "n"}
    assert [len(top) for _, _, top in tokens] == [3] * len(tokens)
    pieces = post(served, "chain", **prompt, logprobs=3)
    assert next(load for piece in pieces for load in json.loads(piece["logprobs"]))[0] == tokens[0][0]
    assert all(
        not top for piece in post(served, "chain", **prompt, logprobs=0) for *_, top in json.loads(piece["logprobs"])
    )
    assert "logprobs" not in post(served, "chain", **prompt)[0]


@e2e
def test_penalties_and_min_p_arrive(served: Served) -> None:
    def answers(prompt: str, **settings: float) -> set[str]:
        body = {"text_input": prompt, "apply_chat_template": False, "stream": False, "temperature": 1.0, **settings}
        return {post(served, "chain", **body, random_seed=seed)[0]["text_output"] for seed in range(12)}

    assert answers("Is it m!", min_p=0.9) == {"m", "n"}
    assert answers("Is it m!", repetition_penalty=2.0) == {"n"}
    (refused,) = post(served, "chain", text_input="x", min_p=2.0)
    assert "min_p must be from 0 to 1, not 2.0" in refused["error"]
    (refused,) = post(served, "chain", text_input="x", logprobs=21)
    assert "logprobs must be from 0 to 20, not 21" in refused["error"]
