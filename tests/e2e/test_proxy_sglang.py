"""``sglang_engine.py`` behind the engine proxy in the real tritonserver; SGLang, which needs a GPU, is a stand-in.

The stand-in says what it was made from; `tests/gpu/journey.py` runs the real package.
"""

from __future__ import annotations

import asyncio
import os
import queue
import re
import sys
import time
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
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
from wizard.chat.conversation import Conversation, Sampling
from wizard.chat.stream import answer
from wizard.kernel import proctable
from wizard.repository.lint import lint
from wizard.repository.proxy import repository
from wizard.stacks.sglang.plan import ENGINE, arguments

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("proxy")]

FAKE = Path(__file__).parent / "fake_sglang"
CONTEXT = 5000
FACTS = replace(GGUF, chat=CHAT)
SGLANG = replace(CHOICE, stack="sglang", max_seq_len=CONTEXT, tp=2)
DIGITS = "0123456789" * 10


@contextmanager
def serving(scratch: Path, version: str = "0.5.17", *, ready: bool = True, **more: Any) -> Iterator[Served]:
    model = write_chain_folder(scratch / "model")
    made = repository(
        "demo",
        engine=ENGINE,
        python=sys.executable,
        settings={**arguments(str(model), FACTS, SGLANG), **more},
        env={"LD_LIBRARY_PATH": None, "PYTHONPATH": str(FAKE), "FAKE_SGLANG": version},
        facts=FACTS,
        choice=SGLANG,
    )
    root = write(made, scratch / "models")
    assert lint(root).findings == ()
    with running_triton(root, scratch, ready=ready) as triton:
        yield Served(triton, scratch / "engine.log")


@pytest.fixture(scope="module", params=["0.5.15", "0.5.17", "0.5.23"])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("sglang"), request.param) as server:
        yield server


def logged(served: Served, pattern: str) -> str:
    """The last match of ``pattern`` in the log, once there is one; it may come after the answer."""
    log = served.triton.wait_for_log(lambda text: re.search(pattern, text) is not None)
    return str(list(re.finditer(pattern, log))[-1].group(0))


def test_many_at_once_all_get_all(served: Served) -> None:
    answers = many_at_once(served, range(10, 42), text_input="a")
    for number, pieces in enumerate(answers):
        assert "".join(text for text, _, _ in pieces) == DIGITS[: 10 + number]
        assert pieces[-1][1:] == ("length", 10 + number)
    assert any(len(pieces) > 1 for pieces in answers)  # on a busy machine the pieces of some are joined


def test_aborting_one_aborts_no_other(served: Served) -> None:
    """SGLang aborts every request whose name begins with the given one, such as 10 with 1."""

    async def main() -> list[list[tuple[str, str, int]]]:
        async with grpc_aio.InferenceServerClient(served.grpc) as client:
            short = [ask(client, text_input="a", max_tokens=90, stop_words="345") for _ in range(60)]
            return await asyncio.gather(*short, *(ask(client, text_input="a", max_tokens=90) for _ in range(60)))

    replies = ["".join(text for text, _, _ in pieces) for pieces in asyncio.run(main())]
    assert replies == ["012"] * 60 + [DIGITS[:90]] * 60


def test_the_first_request_is_its_own_and_sampled(served: Served) -> None:
    """Its lines come into the log in their order, but later than Triton's."""
    served.generated(max_tokens=1)
    logged(served, r"request (?!warm-up).*")
    first = next(line for line in served.triton.log.read_text().splitlines() if line.startswith("request "))
    assert first.startswith("request warm-up: 1 tokens, {'max_new_tokens': 1, 'temperature': 0.7, 'top_p': 0.95")


def test_it_is_loaded_as_the_choice_says(served: Served) -> None:
    line = logged(served, r"SGLang [\d.]+ with .*")  # only seen where log_level is info
    for part in (f"'context_length': {CONTEXT}", "'tp_size': 2", f"'max_running_requests': {SGLANG.max_batch_size}"):
        assert part in line


def test_sampling_comes_through(served: Served) -> None:
    values = {"temperature": 0.5, "top_p": 0.25, "top_k": 3, "random_seed": 7, "stop_words": ["x", "<|im_start|>"]}
    served.generated(text_input="a" * (CONTEXT - 3), max_tokens=10**6, **values)
    line = logged(served, r"request .*'temperature': 0\.5.*")
    for part in ("'max_new_tokens': 3,", "'top_p': 0.25", "'top_k': 3", "'sampling_seed': 7"):
        assert part in line
    assert "'stop'" not in line
    assert re.search(r"'stop_token_ids': \[258, .*257\]", line)


def test_without_top_k_all_tokens_count(served: Served) -> None:
    served.generated(max_tokens=6, temperature=0.75, top_p=1.0, top_k=0)
    assert "'top_k': -1" in logged(served, r"request .*'temperature': 0\.75.*")


def test_an_answer_that_fills_the_context_ends_where_sglang_ends_it(served: Served) -> None:
    """Its scheduler keeps two tokens of the context for itself."""
    reply = served.generated(text_input="a" * (CONTEXT - 9), max_tokens=10**6)
    assert (reply["text_output"], reply["finish_reason"]) == (DIGITS[:7], "length")


def test_a_stop_word_of_several_tokens_ends_the_request(served: Served) -> None:
    reply = served.generated(max_tokens=900, stop_words=["345"])
    assert (reply["text_output"], reply["finish_reason"]) == ("012", "stop")
    logged(served, r"request \d+\. aborted")


@pytest.mark.parametrize("letter", [".", ","])
def test_the_models_own_end(served: Served, letter: str) -> None:
    """``.``: it says the end token; ``,``: a token that is a stop word."""
    reply = served.generated(text_input=f"a{letter}", max_tokens=900, stop_words=["<|im_start|>", "9"])
    assert (reply["text_output"], reply["finish_reason"]) == ("01", "stop")


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"text_input": "a" * CONTEXT}, f"prompt too long: {CONTEXT} tokens"),
        ({"text_input": "a?"}, "this request is wrong"),
        ({"text_input": "a%"}, "the engine could not answer: RuntimeError('no memory')"),
    ],
)
def test_an_error_is_of_one_request(served: Served, values: dict[str, Any], text: str) -> None:
    assert text in served.generated(max_tokens=9, **values)["error"]
    assert served.generated(max_tokens=2)["text_output"] == "01"


def test_cancelling_aborts_the_request_and_no_other(served: Served) -> None:
    before = served.triton.logged().count(" aborted")
    with InferenceServerClient(served.grpc) as client:
        first: queue.SimpleQueue[Any] = queue.SimpleQueue()
        client.start_stream(lambda result, error: first.put(error))
        client.async_stream_infer("demo", inputs(text_input="a", max_tokens=10**6))
        assert first.get(timeout=60) is None
        client.stop_stream(cancel_requests=True)
    served.triton.wait_for_log(lambda log: log.count(" aborted") > before)


async def test_the_chat_streams(served: Served) -> None:
    talk = Conversation(sampling=Sampling(max_tokens=5)).with_message("user", "Count!")
    async with aclosing(answer(served.endpoint, talk)) as chunks:
        texts = [chunk.text async for chunk in chunks if chunk.text]
    assert "".join(texts) == "01234"
    assert len(texts) > 1


def ended(pid: int, seconds: float = 30) -> bool:
    deadline = time.monotonic() + seconds
    while (left := proctable.read(pid)) and time.monotonic() < deadline:
        os.sched_yield()
    return not left


def test_a_dead_engine_is_reported_and_leaves_no_scheduler(tmp_path: Path) -> None:
    async def main(address: str) -> None:
        async with grpc_aio.InferenceServerClient(address) as client:
            with pytest.raises(InferenceServerException, match="the engine process has ended"):
                await ask(client, text_input="a!", max_tokens=9, apply_chat_template=False)

    with serving(tmp_path) as served:
        scheduler = int(logged(served, r"scheduler \d+").split()[1])
        assert proctable.read(scheduler)
        asyncio.run(main(served.grpc))
        logged(served, "killed by SIGKILL")
        assert ended(scheduler)


def test_stopping_the_server_after_an_answer_leaves_no_scheduler(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        scheduler = int(logged(served, r"scheduler \d+").split()[1])
        assert served.generated(max_tokens=2)["text_output"] == "01"
    assert ended(scheduler)


def test_an_unknown_argument_is_reported(tmp_path: Path) -> None:
    with serving(tmp_path, ready=False, max_model_len=4096) as served:
        log = served.triton.wait_for_log(lambda text: "failed to load 'demo'" in text)
    assert "unexpected keyword argument 'max_model_len'" in log[log.index("failed to load 'demo'") :]
