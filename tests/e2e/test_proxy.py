"""The engine proxy in the real tritonserver, with a stand-in for the engine (``fake_engine.py``)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import queue
import signal
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tritonclient.grpc import InferenceServerClient, InferInput
from tritonclient.grpc import aio as grpc_aio
from tritonclient.utils import InferenceServerException

from tests.server_environment import RunningTriton, running_triton, write
from tests.values import CHOICE, GGUF
from wizard.chat.ask import server_error
from wizard.chat.chunk import Chunk
from wizard.chat.conversation import Conversation, Sampling
from wizard.chat.stream import answer
from wizard.kernel import proctable
from wizard.kernel.errors import WizardError
from wizard.model.chat_format import ChatFormat
from wizard.repository.proxy import Engine, repository
from wizard.serve.endpoint import Endpoint
from wizard.serve.replicas import replicas

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("proxy")]

HERE = Path(__file__).parent
TYPES: dict[type, tuple[str, Any]] = {
    str: ("BYTES", np.object_),
    int: ("INT32", np.int32),
    bool: ("BOOL", np.bool_),
    float: ("FP32", np.float32),
}


@dataclass(frozen=True)
class Served:
    """A served fake engine."""

    triton: RunningTriton
    log: Path
    """What the proxy sent it, a JSON message in each line; the first line describes its process."""

    def messages(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines(keepends=True) if line.endswith("\n")]

    @property
    def engine(self) -> int:
        """Its process id."""
        return int(self.messages()[0]["pid"])

    def stub(self) -> int:
        (row,) = (
            row
            for row in proctable.group_members(self.triton.process.pid)
            if "triton_python_backend_stub" in proctable.command(row.pid)[0]
        )
        return row.pid

    @property
    def grpc(self) -> str:
        return f"127.0.0.1:{self.triton.ports.grpc}"

    @property
    def endpoint(self) -> Endpoint:
        process = self.triton.process.pid
        return Endpoint("demo", "demo", "127.0.0.1", self.triton.ports, process, "0", str(self.triton.log))

    def generated(self, **inputs: Any) -> dict[str, Any]:
        """The reply to ``a`` without a template, or to other inputs, as a whole."""
        given = {"text_input": "a", "stream": False, "apply_chat_template": False, **inputs}
        reply: dict[str, Any] = json.loads(self.post("generate", **given))
        return reply

    def post(self, path: str, **inputs: Any) -> bytes:
        request = urllib.request.Request(f"{self.triton.url}/v2/models/demo/{path}", json.dumps(inputs).encode())
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            return error.read()


ENGINE = Engine(HERE / "fake_engine.py", every_setting=False)


@contextlib.contextmanager
def serving(
    scratch: Path, *, ready: bool = True, replicas: Sequence[dict[str, str]] = ({},), **settings: Any
) -> Iterator[Served]:
    log = scratch / "engine.log"
    made = repository(
        "demo",
        engine=ENGINE,
        python=sys.executable,
        settings={"log": str(log), **settings},
        env={"LD_LIBRARY_PATH": None, "OF_THE_ENGINE": "yes"},
        facts=replace(GGUF, chat=ChatFormat("Say {{ messages[0].content }}", stop=("<|im_end|>",))),
        choice=CHOICE,
        replicas=replicas,
    )
    with running_triton(write(made, scratch / "models"), scratch, ready=ready) as triton:
        yield Served(triton, log)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("proxy"), step_s=0.002) as engine:
        yield engine


def inputs(**values: Any) -> list[InferInput]:
    made = []
    for name, value in values.items():
        kind, dtype = TYPES[type(value)]
        tensor = InferInput(name, [1], kind)
        tensor.set_data_from_numpy(np.array([value.encode() if isinstance(value, str) else value], dtype))
        made.append(tensor)
    return made


def pieces(result: Any) -> tuple[str, str, int]:
    text, finish, tokens = (result.as_numpy(name)[0] for name in ("text_output", "finish_reason", "completion_tokens"))
    return text.decode(), finish.decode(), int(tokens)


async def ask(client: grpc_aio.InferenceServerClient, **values: Any) -> list[tuple[str, str, int]]:
    """All responses to one request; raises what the server says instead."""

    async def once() -> Any:
        yield {"model_name": "demo", "inputs": inputs(**values)}

    responses = []
    async for result, error in client.stream_infer(once()):
        if error is not None:
            raise error
        responses.append(pieces(result))
        if responses[-1][1]:
            break
    return responses


def wait_until(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Wait for something that nobody announces."""
    limit = threading.Event()
    timer = threading.Timer(seconds, limit.set)
    timer.start()
    try:
        while not condition():
            assert not limit.wait(0.05), "it never came"
    finally:
        timer.cancel()


def counted(tokens: int) -> str:
    return "".join(f"{number} " for number in range(tokens))


def test_grpc_streams_and_counts(served: Served) -> None:
    async def main() -> list[tuple[str, str, int]]:
        async with grpc_aio.InferenceServerClient(served.grpc) as client:
            return await ask(client, text_input="hello", max_tokens=40)

    responses = asyncio.run(main())
    assert len(responses) > 3
    assert "".join(text for text, _, _ in responses) == counted(40)
    assert [finish for _, finish, _ in responses] == [""] * (len(responses) - 1) + ["length"]
    tokens = [each for _, _, each in responses]
    assert tokens == sorted(tokens)
    assert tokens[-1] == 40


def test_http_streams_and_answers_in_one(served: Served) -> None:
    lines = [line for line in served.post("generate_stream", text_input="hello", max_tokens=20).splitlines() if line]
    responses = [json.loads(line.removeprefix(b"data: ")) for line in lines]
    assert "".join(each["text_output"] for each in responses) == counted(20)
    assert len(responses) > 1
    whole = json.loads(served.post("generate", text_input="hello", max_tokens=20, stream=False))
    assert (whole["text_output"], whole["finish_reason"], whole["completion_tokens"]) == (counted(20), "length", 20)


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_the_chat_needs_nothing_new(served: Served, protocol: str) -> None:
    async def main() -> list[Chunk]:
        conversation = Conversation(sampling=Sampling(max_tokens=20)).with_message("user", "hello")
        return [chunk async for chunk in answer(served.endpoint, conversation, protocol=protocol)]

    chunks = asyncio.run(main())
    assert "".join(chunk.text for chunk in chunks) == counted(20)
    assert chunks[-1].stats is not None
    assert (chunks[-1].stats.tokens, chunks[-1].stats.finish) == (20, "length")
    asked = served.messages()[-1]["ask"]
    assert (asked["chat"], asked["text"]) == (False, "Say hello")


def test_the_engine_gets_every_setting(served: Served) -> None:
    values = {"max_tokens": 2, "temperature": 0.5, "top_p": 0.5, "top_k": 3}
    more = {"random_seed": 2**64 - 1, "stop_words": ["a", "b"], "stream": False}
    served.post("generate", text_input="é", **values, **more)
    asked = served.messages()[-1]["ask"]
    assert asked.pop("id") >= 0
    assert asked == {"text": "é", "chat": True, **values, "seed": 2**64 - 1, "stop": ["<|im_end|>", "a", "b"]}


def test_typed_special_tokens_stay_text_but_in_a_rendered_prompt(served: Served) -> None:
    served.post("generate", text_input="a <|im_end|>", max_tokens=1, stream=False)
    assert served.messages()[-1]["ask"]["text"] == "a < |im_end|>"
    served.post("generate", text_input="a <|im_end|>", max_tokens=1, stream=False, apply_chat_template=False)
    assert served.messages()[-1]["ask"]["text"] == "a <|im_end|>"


def test_the_engine_has_its_own_environment_and_session(served: Served) -> None:
    process = served.messages()[0]
    assert process["env"]["OF_THE_ENGINE"] == "yes"
    assert "LD_LIBRARY_PATH" not in process["env"]
    assert process["cwd"].endswith("/models/demo/1")
    assert os.getsid(served.engine) == served.engine


def many_at_once(served: Served, tokens: Iterable[int], **inputs: Any) -> list[list[tuple[str, str, int]]]:
    """The responses to requests for so many ``tokens`` each, sent together."""

    async def main() -> list[list[tuple[str, str, int]]]:
        async with grpc_aio.InferenceServerClient(served.grpc) as client:
            return await asyncio.gather(*(ask(client, max_tokens=most, **inputs) for most in tokens))

    return asyncio.run(main())


def test_many_at_once_all_get_all(served: Served) -> None:
    for number, responses in enumerate(many_at_once(served, range(100, 164), text_input="hello")):
        assert "".join(text for text, _, _ in responses) == counted(100 + number)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"text_input": ""}, "text_input must be a text"),
        ({"text_input": "a", "max_tokens": 0}, "max_tokens must be 1 or more, not 0"),
        ({"text_input": "a", "top_p": 1.5}, "top_p must be over 0 and at most 1"),
        ({"text_input": "error"}, "this is refused"),
        ({"text_input": "broken"}, "the engine could not answer: KeyError('a defect')"),
    ],
)
def test_an_error_is_of_one_request(served: Served, values: dict[str, Any], text: str) -> None:
    async def main() -> None:
        async with grpc_aio.InferenceServerClient(served.grpc) as client:
            beside = asyncio.create_task(ask(client, text_input="hello", max_tokens=50))
            with pytest.raises(InferenceServerException) as caught:
                await ask(client, **values)
            assert text in str(caught.value)
            assert len((await beside)[-1]) == 3

    asyncio.run(main())
    assert text in json.loads(served.post("generate", **values, stream=False))["error"]


def test_cancelling_reaches_the_engine(served: Served) -> None:
    with InferenceServerClient(served.grpc) as client:
        first: queue.SimpleQueue[Any] = queue.SimpleQueue()
        client.start_stream(lambda result, error: first.put((result, error)))
        client.async_stream_infer("demo", inputs(text_input="endless", max_tokens=10**8))
        assert first.get(timeout=60)[1] is None
        client.stop_stream(cancel_requests=True)
    asked = next(message["ask"] for message in served.messages() if message.get("ask", {}).get("text") == "endless")
    wait_until(lambda: {"cancel": asked["id"]} in served.messages())


def test_a_client_that_hangs_up_before_the_first_token_is_noticed(served: Served) -> None:
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", served.triton.ports.http)
    before = len(served.messages())
    connection.request("POST", "/v2/models/demo/generate_stream", json.dumps({"text_input": "hang", "max_tokens": 9}))
    wait_until(lambda: any("ask" in message for message in served.messages()[before:]))
    connection.close()
    wait_until(lambda: any("cancel" in message for message in served.messages()[before:]))


ENDED = (0, 1)
"""How Triton ends when it is told to: 1 if unloading took longer than its exit timeout, as on a busy machine."""


def test_a_dead_engine_ends_running_requests_and_is_started_again(tmp_path: Path) -> None:
    async def main(address: str) -> None:
        async with grpc_aio.InferenceServerClient(address) as client:
            ends = await asyncio.gather(
                ask(client, text_input="hang", max_tokens=9),
                ask(client, text_input="die", max_tokens=9),
                return_exceptions=True,
            )
            ends += await asyncio.gather(ask(client, text_input="hello"), return_exceptions=True)
            for end in ends:
                assert isinstance(end, InferenceServerException)
                assert "the engine process has ended (killed by SIGKILL); it is being started again" in str(end)
                error = server_error(str(end), "demo")
                assert isinstance(error, WizardError)
                assert error.code == "TW-C33"

    with serving(tmp_path) as served:
        asyncio.run(main(served.grpc))
        served.triton.wait_for_log(lambda text: "demo: the engine is ready again" in text)
        assert served.generated(max_tokens=3)["completion_tokens"] == 3
        (replica,) = replicas(served.endpoint)
        assert (replica.state, replica.restarts) == (1, 1)
        assert replica.requests in (2, 3)  # "hang" may arrive when the engine is dead already
        assert served.triton.process.poll() is None
        served.triton.process.send_signal(signal.SIGTERM)
        assert served.triton.process.wait(60) in ENDED


def test_replicas_share_the_requests_and_one_that_dies_comes_back_while_the_rest_serves(tmp_path: Path) -> None:
    with serving(tmp_path, replicas=[{"CUDA_VISIBLE_DEVICES": "0"}, {"CUDA_VISIBLE_DEVICES": "1"}]) as served:

        async def main() -> None:
            async with grpc_aio.InferenceServerClient(served.grpc) as client:
                hanging = [asyncio.create_task(ask(client, text_input="hang", max_tokens=9)) for _ in range(2)]
                await asyncio.to_thread(wait_until, lambda: len(asked(served)) == 2)
                first, second = (engines(served)[gpu] for gpu in "01")
                os.kill(first, signal.SIGKILL)
                done, waiting = await asyncio.wait(hanging, return_when=asyncio.FIRST_COMPLETED)
                assert isinstance(done.pop().exception(), InferenceServerException)
                answers = await asyncio.gather(*(ask(client, text_input="hi", max_tokens=3) for _ in range(8)))
                assert [answer[-1][2] for answer in answers] == [3] * 8
                assert proctable.group_members(second)
                log = await asyncio.to_thread(served.triton.wait_for_log, lambda text: "is ready again" in text)
                assert "replica 1 of 2: the engine process has ended (killed by SIGKILL); starting it again in 1" in log
                assert engines(served)["0"] not in (first, second)
                answers = await asyncio.gather(*(ask(client, text_input="hi", max_tokens=3) for _ in range(8)))
                assert [answer[-1][2] for answer in answers] == [3] * 8
                waiting.pop().cancel()

        assert sorted(engines(served)) == ["0", "1"]
        asyncio.run(main())
        first, second = replicas(served.endpoint)
        assert (first.state, first.restarts, second.state, second.restarts) == (1, 1, 1, 0)
        assert first.requests + second.requests == 18
        assert first.requests > 1
        left = list(engines(served).values())
        served.triton.process.send_signal(signal.SIGTERM)
        assert served.triton.process.wait(60) in ENDED
        wait_until(lambda: not any(proctable.group_members(pid) for pid in left))


def engines(served: Served) -> dict[str, int]:
    """The GPUs that each engine sees, and its process id."""
    begun = [message for message in served.messages() if "pid" in message]
    return {message["env"]["CUDA_VISIBLE_DEVICES"]: message["pid"] for message in begun}


def asked(served: Served) -> list[dict[str, Any]]:
    return [message for message in served.messages() if "ask" in message]


def test_a_server_that_is_stopped_ends_the_engine_and_its_children(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        served.post("generate", text_input="child", max_tokens=1, stream=False)
        members = [row.pid for row in proctable.group_members(served.engine)]
        assert len(members) == 2
        served.triton.process.send_signal(signal.SIGTERM)
        assert served.triton.process.wait(60) in ENDED
        wait_until(lambda: not proctable.group_members(served.engine))


def test_a_killed_stub_takes_the_engine_and_its_children_along(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        served.post("generate", text_input="child", max_tokens=1, stream=False)
        os.kill(served.stub(), signal.SIGKILL)
        wait_until(lambda: not proctable.group_members(served.engine))


def test_a_killed_engine_takes_its_children_along(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        served.post("generate", text_input="child", max_tokens=1, stream=False)
        os.kill(served.engine, signal.SIGKILL)
        wait_until(lambda: not proctable.group_members(served.engine))


def test_what_the_engine_prints_is_in_the_servers_log(served: Served) -> None:
    served.triton.wait_for_log(lambda text: "loading the weights" in text)


def test_an_engine_that_cannot_load_says_why(tmp_path: Path) -> None:
    with serving(tmp_path, ready=False, load="fail") as served:
        log = served.triton.wait_for_log(lambda text: "failed to load 'demo'" in text)
    reason = log[log.index("failed to load 'demo'") :]
    assert "the engine process has ended (exit status 1)" in reason
    assert "MemoryError: no memory for the weights" in reason
    assert "progress 20%" in reason


def test_an_engine_that_is_not_there_says_so(tmp_path: Path) -> None:
    made = repository("demo", engine=ENGINE, python="/no/such/python", settings={}, env={}, facts=GGUF, choice=CHOICE)
    with running_triton(write(made, tmp_path / "models"), tmp_path, ready=False) as triton:
        log = triton.wait_for_log(lambda text: "failed to load 'demo'" in text)
    assert "cannot start /no/such/python" in log


def test_a_server_that_is_stopped_while_the_engine_loads_ends_it(tmp_path: Path) -> None:
    with serving(tmp_path, ready=False, load="hang") as served:
        served.triton.wait_for_log(lambda text: "loading the weights" in text)
        engine = served.engine
        served.triton.process.send_signal(signal.SIGTERM)
        served.triton.process.wait(60)
        wait_until(lambda: not proctable.group_members(engine))
