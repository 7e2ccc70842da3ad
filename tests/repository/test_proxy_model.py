"""The proxy in front of an engine, in this process; with a real server, see ``tests/e2e/test_proxy.py``."""

from __future__ import annotations

import json
import queue
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.processes import opened, over
from tests.repository.triton_stub import SECONDS, FakeError, FakeRequest, FakeSender, FakeTritonUtils, FencedOs, load
from wizard.repository import proxy

PEER = """
import json, os, struct, sys
def read(size):
    data = b""
    while len(data) < size:
        piece = os.read(0, size - len(data))
        if not piece: sys.exit(7)
        data += piece
    return data
def receive():
    return json.loads(read(struct.unpack(">I", read(4))[0]))
def send(message):
    data = json.dumps(message).encode()
    data = struct.pack(">I", len(data)) + data
    while data:
        data = data[os.write(0, data):]
"""
"""The wire on the engine's side, by its description in ``proxy_model.py``."""


@pytest.fixture
def model(triton: FakeTritonUtils) -> ModuleType:
    """``model.py`` with ``text_requests.py`` beside it; its signals are fenced for good: its threads outlive a test."""
    load(proxy.MODEL.with_name("text_requests.py"), "stub.text_requests")
    module = load(proxy.MODEL, "stub.model")
    module.os = FencedOs()  # type: ignore[attr-defined]
    return module


def peer(program: str) -> list[str]:
    """The command of an engine that runs ``program``."""
    return [sys.executable, "-I", "-S", "-c", PEER + program]


@pytest.fixture
def started(model: ModuleType, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Start an engine; all are ended afterwards."""
    engines = []

    def start(program: str | list[str], **changes: str | None) -> Any:
        command = peer(program) if isinstance(program, str) else program
        engines.append(model.Engine(command, {FencedOs.MARK: "1", **changes}, tmp_path))
        return engines[-1]

    yield start
    for engine in engines:
        engine._process.kill()
        engine._process.wait()
    assert model.os.strays == []


def test_a_message_has_its_length_before_it(started: Callable[..., Any]) -> None:
    engine = started("head = read(4); send([list(head), read(head[3]).decode()]); read(1)")
    engine.send({"ask": "é"})
    assert engine.receive() == [[0, 0, 0, 17], '{"ask": "\\u00e9"}']


@pytest.mark.parametrize("size", [1, 255, 256, 70_000, 3_000_000])
def test_messages_of_any_size_come_whole_and_in_order(size: int, started: Callable[..., Any]) -> None:
    engine = started("while True: message = receive(); send({'ready': True}); send(message)")
    for text in ("x" * size, "y"):
        engine.send({"text": text})
        assert engine.receive() == {"ready": True}
        assert engine.receive() == {"text": text}


@pytest.mark.parametrize("rest", [b"", b"\0\0", b"\0\0\0\x09", b'\0\0\0\x09{"a": 1'])
def test_a_message_that_breaks_off_is_the_end(rest: bytes, started: Callable[..., Any]) -> None:
    engine = started(f"send({{}}); os.write(0, {rest!r}); sys.exit(0)")
    assert engine.receive() == {}
    assert engine.receive() is None
    assert engine.end() == "the engine process has ended (exit status 0)"


@pytest.mark.parametrize(
    ("program", "end"),
    [
        ("sys.exit(3)", "exit status 3"),
        ("sys.exit(0)", "exit status 0"),
        ("os.kill(os.getpid(), 1)", "killed by SIGHUP"),
        ("os.kill(os.getpid(), 9)", "killed by SIGKILL"),
    ],
)
def test_how_an_engine_ended(program: str, end: str, started: Callable[..., Any]) -> None:
    engine = started(program)
    assert engine.receive() is None
    assert engine.end() == f"the engine process has ended ({end})"


def test_an_engine_that_takes_nothing_is_ended(model: ModuleType, started: Callable[..., Any]) -> None:
    engine = started("sys.exit(3)")
    assert engine.receive() is None
    engine.end()
    with pytest.raises(model.EngineEnded, match=r"^the engine process has ended \(exit status 3\)$"):
        engine.send({})


def test_an_engine_that_does_not_end_is_killed(
    model: ModuleType, started: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = started("send(os.getpid()); read(1 << 20)")
    engine.receive()
    monkeypatch.setattr(model, "FINALIZE_SECONDS", 0)
    assert engine.end() == "the engine process has ended (killed by SIGKILL)"


def test_nobody_waits_long_for_an_engine_that_reads_nothing(started: Callable[..., Any]) -> None:
    seconds = started("read(1)")._socket.getsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, 16)
    assert struct.unpack("ll", seconds) == (30, 0)


def test_an_engine_has_its_own_session_and_environment_and_the_models_folder(
    started: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/stub")
    monkeypatch.setenv("KEPT", "1")
    engine = started(
        "send([os.getsid(0) == os.getpid(), os.getcwd(), dict(os.environ)]); read(1)", LD_LIBRARY_PATH=None, NEW="é"
    )
    leader, folder, environment = engine.receive()
    assert (leader, folder) == (True, str(tmp_path))
    assert (environment["KEPT"], environment["NEW"]) == ("1", "é")
    assert "LD_LIBRARY_PATH" not in environment


GROUP_OF_ITS_OWN = """
child = os.fork()
if not child:
    os.setpgid(0, 0)
    send(os.getpid())
    os.execvp("sleep", ["sleep", "600"])
"""


def test_what_an_engine_started_ends_with_it(started: Callable[..., Any]) -> None:
    """The child has the socket as well: its end is the end of the stream."""
    engine = started(GROUP_OF_ITS_OWN + "read(1)")
    with opened([engine.receive()]) as children:
        engine._process.kill()
        assert engine.receive() is None
        assert over(children)


def test_stopping_asks_by_closing_the_socket(started: Callable[..., Any]) -> None:
    engine = started("send(0); read(1)")
    engine.receive()
    engine.stop()
    assert engine.end() == "the engine process has ended (exit status 7)"


@pytest.mark.parametrize(
    ("program", "lines"),
    [
        ("print(*range(60), sep='\\n', end='')", [str(number) for number in range(20, 60)]),
        (
            "print('10%\\r20%\\r\\n\\n  \\n30%'); sys.stdout.flush(); print('end', file=sys.stderr)",
            ["10%", "20%", "30%", "end"],
        ),
        ("os.write(1, b'a\\xff')", ["a\ufffd"]),
        ("", []),
    ],
)
def test_the_last_lines_are_kept_and_copied(
    program: str, lines: list[str], started: Callable[..., Any], capfd: pytest.CaptureFixture[str]
) -> None:
    engine = started(program)
    engine.receive()
    engine.end()
    assert engine.last_lines() == "\n".join(lines)
    captured = capfd.readouterr()
    assert captured.err.split()[-len(lines) or len(captured.err) :] == lines
    assert captured.out == ""


def test_a_line_may_come_in_pieces(started: Callable[..., Any]) -> None:
    """Each piece is read before the next is written: the pipe is asked whether it is empty."""
    program = """
import array, fcntl, termios
for piece in (b"one\\ntw", b"o", b"\\nthree"):
    os.write(1, piece)
    left = array.array("i", [1])
    while left[0]:
        fcntl.ioctl(1, termios.FIONREAD, left)
"""
    engine = started([sys.executable, "-I", "-c", "import os" + program])
    engine.receive()
    engine.end()
    assert engine.last_lines() == "one\ntwo\nthree"


def test_threads_do_not_keep_the_stub_alive(model: ModuleType, started: Callable[..., Any]) -> None:
    before = {*threading.enumerate()}
    engine = started("read(1)")
    delivery = model.Delivery(engine)
    assert {thread.daemon for thread in {*threading.enumerate()} - before} == {True}
    delivery.close()


class FakeEngine:
    """Keeps what it is sent; takes nothing once it has ended."""

    def __init__(self, ended: type[Exception]) -> None:
        self.messages: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.over = False
        self._ended = ended

    def send(self, message: Any) -> None:
        self.messages.put(message)
        if self.over:
            raise self._ended("it has ended")


class Deliveries:
    """A delivery, its engine, and answers to begin."""

    def __init__(self, module: ModuleType, logger: Any) -> None:
        self.engine, self.logger = FakeEngine(module.EngineEnded), logger
        self.delivery = module.Delivery(self.engine)
        self._answer = module.Answer

    def begin(self, number: int, *, stream: bool = True, logprobs: list[Any] | None = None) -> FakeSender:
        sender = FakeSender()
        answer = self._answer(sender)
        answer.stream, answer.logprobs = stream, logprobs
        self.delivery.begin(number, answer)
        return sender


@pytest.fixture
def deliveries(model: ModuleType, triton: FakeTritonUtils) -> Iterator[Deliveries]:
    deliveries = Deliveries(model, triton.Logger)
    yield deliveries
    deliveries.delivery.close()


def texts(text: str, finish: str, tokens: int) -> dict[str, Any]:
    return {"text_output": text.encode(), "finish_reason": finish.encode(), "completion_tokens": tokens}


def test_a_stream_gets_each_text_and_the_finish_reason_last(deliveries: Deliveries) -> None:
    sender = deliveries.begin(5)
    deliveries.delivery.add([[5, "a", 1, ""]])
    assert sender.reply() == (texts("a", "", 1), False)
    deliveries.delivery.add([[5, "", 2, ""]])  # nothing to send: half a character
    deliveries.delivery.add([[5, "b", 3, "stop"]])
    assert sender.reply() == (texts("b", "stop", 3), True)
    deliveries.delivery.add([[5, "late", 4, ""]])
    deliveries.delivery.close()
    assert sender.quiet()


def test_without_a_stream_there_is_one_response(deliveries: Deliveries) -> None:
    sender = deliveries.begin(5, stream=False)
    deliveries.delivery.add([[5, "a", 1, ""]])
    deliveries.delivery.add([[5, "b", 2, ""]])
    deliveries.delivery.add([[5, "", 3, "length"]])
    assert sender.reply() == (texts("ab", "length", 3), True)


def test_an_answer_is_whole_before_anybody_says_otherwise(model: ModuleType, deliveries: Deliveries) -> None:
    sender = FakeSender()
    deliveries.delivery.begin(0, model.Answer(sender))
    deliveries.delivery.add([[0, "a", 1, ""], [0, "b", 2, "stop", [["b", 0, []]]]])
    assert sender.reply() == (texts("ab", "stop", 2), True)


def test_one_step_is_for_all_requests_and_passes_over_those_that_are_gone(deliveries: Deliveries) -> None:
    first, other = deliveries.begin(1), deliveries.begin(2)
    deliveries.delivery.add([[0, "?", 1, ""], [1, "a", 1, "stop"], [1, "late", 2, "length"], [2, "b", 1, "stop"]])
    assert first.reply() == (texts("a", "stop", 1), True)
    assert other.reply() == (texts("b", "stop", 1), True)


def test_log_probabilities_come_with_their_tokens_once(deliveries: Deliveries) -> None:
    sender, plain = deliveries.begin(1, logprobs=[]), deliveries.begin(2)
    deliveries.delivery.add([[1, "a", 1, "", [["a", -0.5, []]]], [2, "a", 1, "", [["a", -0.5, []]]]])
    assert sender.reply() == ({**texts("a", "", 1), "logprobs": b'[["a", -0.5, []]]'}, False)
    assert plain.reply() == (texts("a", "", 1), False)
    deliveries.delivery.add([[1, "", 2, "", [["b", -1, []]]]])
    deliveries.delivery.add([[1, "bc", 3, "stop", [["c", -2, []]]]])
    assert sender.reply()[0]["logprobs"] == b'[["b", -1, []], ["c", -2, []]]'


def test_texts_of_answers_that_are_not_due_wait(model: ModuleType, deliveries: Deliveries) -> None:
    """A sender that is slow gets fewer, longer responses."""
    slow, sender = FakeSlowSender(), deliveries.begin(2)
    answer = model.Answer(slow)
    answer.stream = True
    deliveries.delivery.begin(1, answer)
    deliveries.delivery.add([[1, "x", 1, ""]])
    assert slow.busy.wait(SECONDS)
    for tokens in (1, 2, 3):
        deliveries.delivery.add([[2, "b", tokens, ""]])
    slow.free.set()
    assert sender.reply() == (texts("bbb", "", 3), False)
    assert slow.reply() == (texts("x", "", 1), False)


class FakeSlowSender(FakeSender):
    """Sends nothing before it may."""

    def __init__(self) -> None:
        super().__init__()
        self.busy, self.free = threading.Event(), threading.Event()

    def send(self, response: Any = None, flags: int = 0) -> None:
        self.busy.set()
        assert self.free.wait(SECONDS)
        super().send(response, flags)


def test_an_error_is_the_last_response_and_the_first_one_counts(deliveries: Deliveries) -> None:
    sender = deliveries.begin(1)
    deliveries.delivery.fail(2, "nobody", FakeError.INTERNAL)
    deliveries.delivery.fail(1, "first", FakeError.INVALID_ARG)
    deliveries.delivery.fail(1, "second", FakeError.INTERNAL)
    assert sender.reply() == (("first", FakeError.INVALID_ARG), True)
    deliveries.delivery.close()
    assert sender.quiet()


def test_an_answer_that_is_complete_does_not_fail_afterwards(model: ModuleType, deliveries: Deliveries) -> None:
    slow, sender = FakeSlowSender(), deliveries.begin(2)
    deliveries.delivery.begin(1, model.Answer(slow))
    deliveries.delivery.add([[1, "x", 1, "stop"]])
    assert slow.busy.wait(SECONDS)
    deliveries.delivery.add([[2, "y", 1, "stop"]])
    deliveries.delivery.fail(2, "too late", FakeError.INTERNAL)
    slow.free.set()
    assert sender.reply() == (texts("y", "stop", 1), True)


def test_all_fail_together(deliveries: Deliveries) -> None:
    senders = [deliveries.begin(number, stream=bool(number)) for number in range(3)]
    deliveries.delivery.fail_all("the end")
    assert [sender.reply() for sender in senders] == [(("the end", FakeError.UNAVAILABLE), True)] * 3


def test_a_cancelled_request_ends_here_and_in_the_engine(deliveries: Deliveries) -> None:
    other, sender = deliveries.begin(3), deliveries.begin(4)
    deliveries.delivery.add([[4, "a", 1, ""]])
    assert sender.reply() == (texts("a", "", 1), False)
    sender.cancelled = True
    assert sender.reply() == (None, True)
    assert deliveries.logger.line() == ("info", "cancelled after 1 tokens")
    assert deliveries.engine.messages.get(timeout=SECONDS) == {"cancel": 4}
    deliveries.delivery.add([[4, "late", 2, ""], [3, "a", 1, "stop"]])
    assert other.reply() == (texts("a", "stop", 1), True)
    deliveries.delivery.close()
    assert sender.quiet()
    assert deliveries.engine.messages.empty()


def test_a_request_may_be_cancelled_before_its_first_token(deliveries: Deliveries) -> None:
    deliveries.engine.over = True  # the engine need not be there any more
    sender = deliveries.begin(4)
    sender.cancelled = True
    assert sender.reply() == (None, True)
    assert deliveries.logger.line() == ("info", "cancelled after 0 tokens")
    other = deliveries.begin(5)
    deliveries.delivery.add([[5, "a", 1, "stop"]])
    assert other.reply() == (texts("a", "stop", 1), True)


class FakeClock:
    """Time that passes only where a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


def test_the_server_is_asked_five_times_a_second_at_most(
    model: ModuleType, triton: FakeTritonUtils, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = FakeClock()
    monkeypatch.setattr(model, "time", clock)
    deliveries, looks = Deliveries(model, triton.Logger), []
    sender = deliveries.begin(1)
    monkeypatch.setattr(sender, "is_cancelled", lambda: looks.append(clock.now))
    for tokens in range(15):
        clock.now += 0.1
        deliveries.delivery.add([[1, "x", tokens, ""]])
        sender.reply()
    deliveries.delivery.close()
    assert len(looks) > 3
    assert min(after - before for before, after in pairwise(looks)) > 0.19


def test_a_response_that_cannot_be_sent_is_logged_and_the_others_are_served(deliveries: Deliveries) -> None:
    broken, sender = deliveries.begin(1), deliveries.begin(2)
    broken.broken = True
    deliveries.delivery.add([[1, "a", 1, "stop"], [2, "b", 1, "stop"]])
    assert sender.reply() == (texts("b", "stop", 1), True)
    level, line = deliveries.logger.line()
    assert (level, line.partition(":")[0]) == ("error", "a response could not be sent")


def test_closing_sends_what_is_due(model: ModuleType, deliveries: Deliveries) -> None:
    slow, sender = FakeSlowSender(), deliveries.begin(2)
    deliveries.delivery.begin(1, model.Answer(slow))
    deliveries.delivery.add([[1, "x", 1, "stop"]])
    assert slow.busy.wait(SECONDS)
    deliveries.delivery.add([[2, "y", 1, "stop"]])
    closing = threading.Thread(target=deliveries.delivery.close)
    closing.start()
    slow.free.set()
    assert sender.reply() == (texts("y", "stop", 1), True)
    closing.join(SECONDS)
    assert not deliveries.delivery._thread.is_alive()


CONFIG = {"default_temperature": "0.5", "special_tokens": r"<\|\w+\|>", "stop": '["<end>"]', "chat_template": "x"}


@pytest.fixture
def loaded(model: ModuleType, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """``TritonPythonModel`` as the stub makes it, with an engine that runs a program."""
    models = []

    def load_model(program: str, command: list[str] | None = None) -> Any:
        (tmp_path / "3").mkdir()
        given = {
            **CONFIG,
            "engine_argv": json.dumps(command or peer(program)),
            "engine_env": json.dumps({FencedOs.MARK: "1"}),
        }
        config = {"parameters": {name: {"string_value": value} for name, value in given.items()}}
        arguments = {"model_name": "demo", "model_repository": str(tmp_path), "model_version": "3"}
        models.append(model.TritonPythonModel())
        models[-1].initialize({**arguments, "model_config": json.dumps(config)})
        return models[-1]

    yield load_model
    for each in models:
        if hasattr(each, "_engine"):
            each._engine._process.kill()
            each._engine._process.wait()
    assert model.os.strays == []


def request(text: str = "Hi", **inputs: Any) -> FakeRequest:
    return FakeRequest(text_input=np.array([text.encode()], np.object_), **inputs)


ECHO = """
send({"ready": True})
while True:
    message = receive()
    number, text = message["ask"]["id"], message["ask"]["text"]
    if text == "exit":
        sys.exit(3)
    elif text == "wait":
        send({"deltas": [[number, "0", 1, ""]]})
    elif text in ("client", "engine"):
        send({"errors": [[99, "nobody", "client"], [number, "refused", text]]})
    else:
        send({"deltas": [[number, json.dumps(message), 1, "stop", [["x", 0, []]]]]})
"""


def test_a_request_goes_to_the_engine_with_all_that_it_says(
    loaded: Callable[..., Any], triton: FakeTritonUtils, tmp_path: Path
) -> None:
    served = loaded(ECHO)
    assert triton.Logger.line() == ("info", "demo: the engine is ready")
    plain, full = request(), request(random_seed=np.array([7], np.uint64), logprobs=np.array([2], np.int32))
    served.execute([plain, full])
    own = {"text": "Hi", "chat": True, "stop": ["<end>"]}
    options = {"max_tokens": 512, "temperature": 0.5, "top_p": 0.95, "top_k": 40}
    reply, last = plain.sender.reply()
    assert last
    assert json.loads(reply["text_output"]) == {"ask": {"id": 0, "seed": None, **own, **options}}
    assert "logprobs" not in reply
    reply, _ = full.sender.reply()
    assert json.loads(reply["text_output"]) == {"ask": {"id": 1, "seed": 7, **own, **options, "logprobs": 2}}
    assert reply["logprobs"] == b'[["x", 0, []]]'


def test_errors_have_the_code_of_who_made_them(loaded: Callable[..., Any]) -> None:
    served = loaded(ECHO)
    requests = [request(text) for text in ("", "client", "engine")]
    served.execute(requests)
    assert [each.sender.reply() for each in requests] == [
        (("text_input must be a text, not empty", FakeError.INVALID_ARG), True),
        (("refused", FakeError.INVALID_ARG), True),
        (("refused", FakeError.INTERNAL), True),
    ]


def test_an_engine_that_ends_fails_all_that_runs_and_all_that_comes(
    loaded: Callable[..., Any], triton: FakeTritonUtils
) -> None:
    served = loaded(ECHO)
    running = request("wait")
    served.execute([running])
    running.sender.reply()
    served.execute([request("exit")])
    end = "the engine process has ended (exit status 3)"
    assert running.sender.reply() == ((end, FakeError.UNAVAILABLE), True)
    assert [triton.Logger.line() for _ in range(2)] == [("info", "demo: the engine is ready"), ("error", end)]
    late = request()
    served.execute([late])
    assert late.sender.reply() == ((end, FakeError.UNAVAILABLE), True)


def test_finalizing_fails_what_runs_and_ends_the_engine(loaded: Callable[..., Any]) -> None:
    served = loaded(ECHO)
    running = request("wait")
    served.execute([running])
    running.sender.reply()
    served.finalize()
    assert running.sender.reply() == (("the server is stopping", FakeError.UNAVAILABLE), True)
    assert served._engine.end() == "the engine process has ended (exit status 7)"


def test_an_engine_that_ends_before_it_is_ready_is_no_model(
    loaded: Callable[..., Any], triton: FakeTritonUtils
) -> None:
    with pytest.raises(triton.TritonModelException) as error:
        loaded("print('no memory'); print('for the weights'); sys.exit(1)")
    end = "the engine process has ended (exit status 1); its last lines:\nno memory\nfor the weights"
    assert str(error.value) == f"demo: {end}"


def test_a_program_that_is_not_there_is_named(loaded: Callable[..., Any], triton: FakeTritonUtils) -> None:
    with pytest.raises(triton.TritonModelException, match=r"^demo: cannot start /no/such: .*No such file"):
        loaded("", command=["/no/such", "argument", "more"])


def test_the_models_threads_do_not_keep_the_stub_alive(loaded: Callable[..., Any]) -> None:
    before = {*threading.enumerate()}
    loaded(ECHO)
    assert {thread.daemon for thread in {*threading.enumerate()} - before} == {True}
