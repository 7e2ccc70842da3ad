"""``vllm_engine.py`` behind the proxy in the real tritonserver; vLLM itself is a stand-in, for it needs a GPU.

With the real vLLM the same is measured by ``tests/gpu/native_stacks.py``.
"""

from __future__ import annotations

import asyncio
import json
import queue
import re
import sys
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
from tests.e2e.test_proxy import Served, ask, counted, inputs, many_at_once
from tests.server_environment import running_triton, write
from tests.values import CHOICE, GGUF
from wizard.repository.proxy import repository
from wizard.stacks.vllm.repository import ENGINE

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("proxy")]

FAKE = Path(__file__).parent / "fake_vllm"
CONTEXT = 5000


@contextmanager
def serving(scratch: Path, *, ready: bool = True, template: str = CHAT.template, **more: Any) -> Iterator[Served]:
    model = write_chain_folder(scratch / "model")
    settings = {"model": str(model), "max_model_len": CONTEXT, **more}
    made = repository(
        "demo",
        engine=ENGINE,
        python=sys.executable,
        settings=settings,
        env={"LD_LIBRARY_PATH": None, "PYTHONPATH": str(FAKE)},
        facts=replace(GGUF, chat=replace(CHAT, template=template)),
        choice=replace(CHOICE, stack="vllm"),
    )
    with running_triton(write(made, scratch / "models"), scratch, ready=ready) as triton:
        yield Served(triton, scratch / "engine.log")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("vllm")) as engine:
        yield engine


def test_many_at_once_all_get_all(served: Served) -> None:
    for number, responses in enumerate(many_at_once(served, range(10, 42), text_input="a")):
        assert "".join(text for text, _, _ in responses) == counted(10 + number)
        assert responses[-1][1:] == ("length", 10 + number)


def test_vllm_gets_every_setting(served: Served) -> None:
    values = {"temperature": 0.5, "top_p": 0.25, "top_k": 3, "random_seed": 7, "stop_words": ["x"]}
    values |= {"min_p": 0.5, "repetition_penalty": 1.5, "presence_penalty": 0.25, "frequency_penalty": -0.25}
    text = "a" * (CONTEXT - 3)
    served.post("generate", text_input=text, max_tokens=10**6, stream=False, apply_chat_template=False, **values)
    log = served.triton.wait_for_log(lambda text: "temperature=0.5" in text)  # it may come after the answer
    logged = re.findall(r"request \d+: (.*temperature=0\.5.*)", log)[-1]
    for part in ("top_p=0.25", "top_k=3", "seed=7", "stop=['<|im_end|>', 'x']"):
        assert part in logged
    assert "min_p=0.5, repetition_penalty=1.5, presence_penalty=0.25, frequency_penalty=-0.25, logprobs=None" in logged
    assert "max_tokens=3," in logged  # what the context has room for
    assert "stop_token_ids=[258]" in logged


def test_prompts_are_given_as_the_newest_vllm_wants_them(served: Served) -> None:
    served.post("generate", text_input="a", max_tokens=1, stream=False, temperature=0.75)
    log = served.triton.wait_for_log(lambda text: "temperature=0.75" in text)
    assert "deprecated" not in log


@pytest.mark.parametrize("alternatives", [0, 2])
def test_log_probabilities(served: Served, alternatives: int) -> None:
    body = served.post("generate_stream", text_input="a", max_tokens=3, logprobs=alternatives)
    responses = [json.loads(line.removeprefix(b"data: ")) for line in body.splitlines() if line]
    others = [["0 ", -0.5], ["", -1.5]][:alternatives]
    tokens = [token for response in responses for token in json.loads(response["logprobs"])]
    assert [token[:2] for token in tokens] == [["0 ", -0.5], ["1 ", -0.5], ["2 ", -0.5]]
    assert tokens[0][2] == others
    assert "logprobs" not in json.loads(served.post("generate", text_input="a", max_tokens=3, stream=False))


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"text_input": "a" * CONTEXT, "apply_chat_template": False}, f"prompt too long: {CONTEXT} tokens"),
        ({"text_input": "a", "min_p": 1.5}, "min_p must be from 0 to 1, not 1.5"),
        ({"text_input": "a", "temperature": 3.0}, "temperature is too high for this stand-in"),
    ],
)
def test_an_error_is_of_one_request(served: Served, values: dict[str, Any], text: str) -> None:
    assert text in json.loads(served.post("generate", **values, stream=False))["error"]
    assert json.loads(served.post("generate", text_input="a", max_tokens=2, stream=False))["text_output"] == "0 1 "


def test_cancelling_aborts_the_request(served: Served) -> None:
    with InferenceServerClient(served.grpc) as client:
        first: queue.SimpleQueue[Any] = queue.SimpleQueue()
        client.start_stream(lambda result, error: first.put(error))
        client.async_stream_infer("demo", inputs(text_input="a", max_tokens=10**6))
        assert first.get(timeout=60) is None
        client.stop_stream(cancel_requests=True)
    served.triton.wait_for_log(lambda log: re.search(r"request \d+ aborted", log) is not None)


def test_a_dead_engine_is_reported(tmp_path: Path) -> None:
    async def main(address: str) -> None:
        async with grpc_aio.InferenceServerClient(address) as client:
            with pytest.raises(InferenceServerException, match="the engine process has ended"):
                await ask(client, text_input="a!", max_tokens=9, apply_chat_template=False)

    with serving(tmp_path) as served:
        asyncio.run(main(served.grpc))
        served.triton.wait_for_log(lambda log: "vLLM cannot go on" in log)


def test_an_unknown_vllm_argument_is_reported(tmp_path: Path) -> None:
    with serving(tmp_path, ready=False, disable_log_requests=True) as served:
        log = served.triton.wait_for_log(lambda text: "failed to load 'demo'" in text)
    assert "unexpected keyword argument 'disable_log_requests'" in log[log.index("failed to load 'demo'") :]
