"""``trtllm_engine.py`` behind the proxy in the real tritonserver; TensorRT-LLM, which needs a GPU, is a stand-in.

With the real package nothing of this was run: the stand-in's package says what it was made from.
"""

from __future__ import annotations

import asyncio
import os
import queue
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tritonclient.grpc import InferenceServerClient
from tritonclient.grpc import aio as grpc_aio
from tritonclient.utils import InferenceServerException

from tests.chain_folder import write_chain_folder
from tests.chain_model import CHAT
from tests.e2e.test_proxy import Served, ask, inputs, many_at_once
from tests.server_environment import running_triton, write
from tests.values import CHOICE, GGUF
from wizard.kernel import proctable
from wizard.repository.proxy import repository
from wizard.stacks.trtllm_llmapi.repository import ENGINE, llm_args

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("proxy")]

FAKE = Path(__file__).parent / "fake_tensorrt_llm"
CONTEXT = 9000
LLM = replace(CHOICE, stack="trtllm-llmapi", max_seq_len=CONTEXT, tp=2, kv_cache_fraction=0.8, kv_cache_dtype="fp8")
DIGITS = "0123456789" * 10


@contextmanager
def serving(scratch: Path, release: str = "1.2.1", *, ready: bool = True, **more: Any) -> Iterator[Served]:
    model = write_chain_folder(scratch / "model")
    made = repository(
        "demo",
        engine=ENGINE,
        python=sys.executable,
        settings={**llm_args(str(model), LLM), **more},
        env={"LD_LIBRARY_PATH": None, "PYTHONPATH": str(FAKE), "FAKE_TENSORRT_LLM": release},
        facts=replace(GGUF, chat=CHAT),
        choice=LLM,
    )
    with running_triton(write(made, scratch / "models"), scratch, ready=ready) as triton:
        yield Served(triton, scratch / "engine.log")


@pytest.fixture(scope="module", params=["1.0.0", "1.2.1"])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("trtllm"), request.param) as engine:
        yield engine


def logged(served: Served, part: str) -> str:
    """The last request with ``part`` in it, as the stand-in printed it."""
    log = served.triton.wait_for_log(lambda text: re.search(rf"request \d+: .*{part}", text) is not None)
    return str(re.findall(rf"request \d+: (.*{part}.*)", log)[-1])


def test_many_at_once_all_get_all(served: Served) -> None:
    answers = many_at_once(served, range(10, 42), text_input="a")
    for number, responses in enumerate(answers):
        assert "".join(text for text, _, _ in responses) == DIGITS[: 10 + number]
        assert responses[-1][1:] == ("length", 10 + number)
    assert any(len(responses) > 1 for responses in answers)  # on a busy machine the pieces of some are joined


def test_it_is_loaded_as_the_choice_says(served: Served) -> None:
    log = served.triton.wait_for_log(lambda text: "workers [" in text)
    (line,) = re.findall(r"TensorRT-LLM [\d.]+ with (.*)", log)
    assert "tensor_parallel_size=2 " in line
    assert "pipeline_parallel_size=1 " in line
    assert f"max_batch_size={LLM.max_batch_size} " in line
    assert f"max_seq_len={CONTEXT} " in line
    assert "free_gpu_memory_fraction=0.8, dtype='fp8'" in line
    assert "enable_chunked_prefill=True" in line  # otherwise no prompt of more than 8192 tokens would be taken


def test_sampling_comes_through(served: Served) -> None:
    values = {"temperature": 0.5, "top_p": 0.25, "top_k": 3, "random_seed": 7, "stop_words": ["x", "<|im_end|>"]}
    served.generated(text_input="a" * (CONTEXT - 3), max_tokens=10**6, **values)
    line = logged(served, "temperature=0.5")
    assert line.startswith("greedy=False")
    for part in ("max_tokens=3,", "top_p=0.25", "top_k=3", "seed=7", "stop=None", "detokenize=False"):
        assert part in line


def test_greedy_is_greedy_in_both_releases(served: Served) -> None:
    served.generated(max_tokens=5, temperature=0.0, top_p=0.9, top_k=40)
    line = logged(served, "max_tokens=5,")
    assert line.startswith("greedy=True")
    assert "temperature=None" in line


def test_without_top_k_it_still_samples(served: Served) -> None:
    """1.0 takes a request without ``top_p`` and ``top_k`` for greedy, whatever its temperature."""
    served.generated(max_tokens=6, temperature=0.7, top_p=1.0, top_k=0)
    assert logged(served, "max_tokens=6,").startswith("greedy=False")


def test_a_stop_word_of_several_tokens_ends_the_request(served: Served) -> None:
    response = served.generated(max_tokens=900, stop_words=["345"])
    assert (response["text_output"], response["finish_reason"]) == ("012", "stop")
    served.triton.wait_for_log(lambda log: re.search(r"request \d+ aborted after 6 tokens", log) is not None)


@pytest.mark.parametrize("letter", [".", ","])
def test_the_models_own_end(served: Served, letter: str) -> None:
    """``.``: it says the end token; ``,``: a token that is a stop word, which the engine takes away again."""
    response = served.generated(text_input=f"a{letter}", max_tokens=900, stop_words=["<|im_start|>", "2"])
    assert (response["text_output"], response["finish_reason"]) == ("01", "stop")


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"text_input": "a" * CONTEXT}, f"prompt too long: {CONTEXT} tokens"),
        ({"text_input": "a?"}, "this request has gone wrong"),
    ],
)
def test_an_error_is_of_one_request(served: Served, values: dict[str, Any], text: str) -> None:
    assert text in served.generated(max_tokens=9, **values)["error"]
    assert served.generated(max_tokens=2)["text_output"] == "01"


def test_cancelling_aborts_the_request(served: Served) -> None:
    before = served.triton.wait_for_log(lambda log: True).count(" aborted after ")
    with InferenceServerClient(served.grpc) as client:
        first: queue.SimpleQueue[Any] = queue.SimpleQueue()
        client.start_stream(lambda result, error: first.put(error))
        client.async_stream_infer("demo", inputs(text_input="a", max_tokens=10**6))
        assert first.get(timeout=60) is None
        client.stop_stream(cancel_requests=True)
    served.triton.wait_for_log(lambda log: log.count(" aborted after ") > before)


def workers(served: Served) -> list[int]:
    log = served.triton.wait_for_log(lambda text: re.search(r"workers \[[\d, ]+\]", text) is not None)
    return [int(pid) for pid in re.findall(r"\d+", re.findall(r"workers \[(.*)\]", log)[-1])]


def ended(pids: list[int], seconds: float = 30) -> bool:
    deadline = time.monotonic() + seconds
    while (left := [pid for pid in pids if proctable.read(pid)]) and time.monotonic() < deadline:
        os.sched_yield()
    return not left


@pytest.mark.parametrize(("letter", "why"), [("!", "TensorRT-LLM cannot go on"), ("#", "killed by SIGKILL")])
def test_a_dead_engine_is_reported_and_leaves_no_worker(tmp_path: Path, letter: str, why: str) -> None:
    async def main(address: str) -> None:
        async with grpc_aio.InferenceServerClient(address) as client:
            with pytest.raises(InferenceServerException, match="the engine process has ended"):
                await ask(client, text_input=f"a{letter}", max_tokens=9, apply_chat_template=False)

    with serving(tmp_path) as served:
        pids = workers(served)
        assert len(pids) == 2
        assert all(proctable.read(pid) for pid in pids)
        asyncio.run(main(served.grpc))
        served.triton.wait_for_log(lambda log: why in log)
        assert ended(pids)


def test_stopping_the_server_leaves_no_worker(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        pids = workers(served)
    assert ended(pids)


@pytest.mark.parametrize(
    ("method", "drafted", "expected"),
    [
        ("ngram", None, "speculative_config=NGramDecodingConfig(max_draft_len=5"),
        ("mtp", None, "speculative_config=MTPDecodingConfig("),
        ("eagle3", "/draft", "EagleDecodingConfig(max_draft_len=5, speculative_model_dir='/draft'"),
    ],
)
def test_speculative_decoding_is_configured_by_its_own_class(
    tmp_path: Path, method: str, drafted: str | None, expected: str
) -> None:
    settings = llm_args("/m", replace(LLM, speculative=method, proposed_tokens=5), draft=drafted)
    with serving(tmp_path, speculative_config=settings["speculative_config"]) as made:
        assert expected in made.triton.wait_for_log(lambda text: "workers [" in text)


def test_an_unknown_argument_is_reported(tmp_path: Path) -> None:
    with serving(tmp_path, ready=False, enable_prefix_caching=True) as served:
        log = served.triton.wait_for_log(lambda text: "failed to load 'demo'" in text)
    assert "LLM got invalid argument: enable_prefix_caching" in log[log.index("failed to load 'demo'") :]
