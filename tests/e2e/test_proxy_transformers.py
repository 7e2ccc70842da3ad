"""transformers for real, on the CPU, behind the proxy in the real tritonserver.

The tests run when the environment variable ``TRITON_WIZARD_TEST_TORCH`` names a Python with torch, transformers 5 and
accelerate, for example of an environment made by
``uv venv E && uv pip install -p E --index-url https://download.pytorch.org/whl/cpu torch`` and
``uv pip install -p E 'transformers>=5' accelerate``.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tritonclient.grpc import InferenceServerClient

from tests.chain_folder import write_chain_folder
from tests.chain_model import CHAT, CYCLE, CYCLE_TOKENS
from tests.e2e.test_proxy import Served, inputs, many_at_once
from tests.server_environment import running_triton, write
from tests.values import CHOICE, GGUF
from wizard.repository.proxy import repository
from wizard.stacks.transformers.repository import ENGINE
from wizard.stacks.transformers.repository import settings as engine_settings

PYTHON = os.environ.get("TRITON_WIZARD_TEST_TORCH")

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.xdist_group("proxy"),
    pytest.mark.timeout(300),
    pytest.mark.skipif(PYTHON is None, reason="TRITON_WIZARD_TEST_TORCH names no Python with torch and transformers"),
]

CONTEXT = 2048


@contextlib.contextmanager
def serving(scratch: Path, *, ready: bool = True, tokenizer: bool = True, **settings: Any) -> Iterator[Served]:
    model = write_chain_folder(scratch / "a model", tokenizer=tokenizer)
    choice = replace(CHOICE, stack="transformers", dtype="float32", max_seq_len=CONTEXT)
    given = {**engine_settings(str(model), choice), **settings}
    made = repository(
        "demo",
        engine=ENGINE,
        python=str(PYTHON),
        settings=given,
        env={"LD_LIBRARY_PATH": None, "HF_HUB_OFFLINE": "1"},
        facts=replace(GGUF, chat=CHAT),
        choice=choice,
    )
    with running_triton(write(made, scratch / "models"), scratch, ready=ready) as triton:
        yield Served(triton, scratch / "engine.log")


@pytest.fixture(scope="module", params=["continuous", "unbatched"])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("transformers"), mode=request.param) as engine:
        yield engine


def whole(served: Served, text: str, **values: Any) -> dict[str, Any]:
    values = {"temperature": 0.0, "apply_chat_template": False, **values}
    answer: dict[str, Any] = json.loads(served.post("generate", text_input=text, stream=False, **values))
    return answer


def test_an_answer_ends_with_the_models_end_token(served: Served) -> None:
    answer = whole(served, "Really?")
    assert (answer["text_output"], answer["finish_reason"], answer["completion_tokens"]) == ("yes", "stop", 4)


def test_the_tokenizer_makes_the_prompt_and_text_comes_in_whole_characters(served: Served) -> None:
    body = served.post("generate_stream", text_input="Hello", max_tokens=3 * CYCLE_TOKENS, temperature=0.0)
    responses = [json.loads(line.removeprefix(b"data: ")) for line in body.splitlines() if line]
    assert "".join(response["text_output"] for response in responses) == 3 * CYCLE
    assert len(responses) > 3
    assert not any("\ufffd" in response["text_output"] for response in responses)
    assert (responses[-1]["finish_reason"], responses[-1]["completion_tokens"]) == ("length", 3 * CYCLE_TOKENS)


def test_stop_words_end_an_answer(served: Served) -> None:
    answer = whole(served, "\n", stop_words=["é.H", "nothing"])
    assert (answer["text_output"], answer["finish_reason"]) == ("Hi 😀", "stop")


def test_the_end_of_the_context_ends_an_answer(served: Served) -> None:
    answer = whole(served, "x" * (CONTEXT - 5) + "\n", max_tokens=100)
    assert (answer["text_output"], answer["finish_reason"], answer["completion_tokens"]) == ("Hi ", "length", 4)


def test_a_long_prompt_is_refused_with_its_length_in_tokens(served: Served) -> None:
    answer = whole(served, "<|im_end|>" * 5 + "x" * CONTEXT)
    assert answer["error"].endswith(f"prompt too long: {CONTEXT + 5} tokens, and a request may have {CONTEXT}")


def test_sampling_says_everything_that_is_likely(served: Served) -> None:
    texts = {whole(served, "Heads or tails!", temperature=1.0, random_seed=seed)["text_output"] for seed in range(24)}
    assert texts == {"m", "n"}
    assert {whole(served, "Heads or tails!", temperature=1.0, top_k=1)["text_output"]} <= {"m", "n"}


def test_many_at_once_all_get_all(served: Served) -> None:
    answers = many_at_once(served, range(10, 22), text_input="a", temperature=0.0)
    for number, responses in enumerate(answers):
        cut = (3 * CYCLE.encode())[: 10 + number].decode(errors="ignore")
        assert "".join(text for text, _, _ in responses) == cut
        assert responses[-1][2] == 10 + number


def test_cancelling_frees_the_engine(served: Served) -> None:
    cancelled = served.triton.logged().count("cancelled after")
    with InferenceServerClient(served.grpc) as client:
        first: queue.SimpleQueue[Any] = queue.SimpleQueue()
        client.start_stream(lambda result, error: first.put((result, error)))
        client.async_stream_infer("demo", inputs(text_input="Hello", max_tokens=10**6, temperature=0.0))
        assert first.get(timeout=60)[1] is None
        client.stop_stream(cancel_requests=True)
    served.triton.wait_for_log(lambda log: log.count("cancelled after") == cancelled + 1)
    assert whole(served, "Really?")["text_output"] == "yes"


def test_two_processes_share_each_layer(tmp_path: Path) -> None:
    with serving(tmp_path, tp=2) as served:
        assert whole(served, "Really?")["text_output"] == "yes"
        assert whole(served, "\n", max_tokens=CYCLE_TOKENS)["text_output"] == CYCLE


def test_a_folder_without_a_tokenizer_is_reported(tmp_path: Path) -> None:
    with serving(tmp_path, ready=False, tokenizer=False) as served:
        log = served.triton.wait_for_log(lambda text: "failed to load 'demo'" in text, 90)
    assert "okenizer" in log[log.index("failed to load 'demo'") :]
