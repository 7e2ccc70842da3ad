"""How the proxy's answers are sent: in order, together, cancelled, failed."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Iterator
from itertools import pairwise
from types import ModuleType
from typing import Any

import pytest

from tests.repository.triton_stub import SECONDS, FakeError, FakeSender, FakeTritonUtils


class FakeEngine:
    """Keeps what it is sent; takes nothing once it has ended."""

    def __init__(self, ended: type[Exception]) -> None:
        self.messages: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.over = False
        self.requests = 0
        self._ended = ended

    def send(self, message: Any) -> None:
        self.messages.put(message)
        if self.over:
            raise self._ended("it has ended")


class Deliveries:
    """A delivery, its engine, and answers to begin."""

    def __init__(self, module: ModuleType, logger: Any) -> None:
        self.engine, self.logger = FakeEngine(module.EngineEnded), logger
        self.delivery = module.Delivery(module.WorkGauges("demo"))
        self._answer = module.Answer

    def begin(self, number: int, *, stream: bool = True, logprobs: list[Any] | None = None) -> FakeSender:
        sender = FakeSender()
        answer = self._answer(sender, self.engine)
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


def test_without_a_stream_there_is_a_single_response(deliveries: Deliveries) -> None:
    sender = deliveries.begin(5, stream=False)
    deliveries.delivery.add([[5, "a", 1, ""]])
    deliveries.delivery.add([[5, "b", 2, ""]])
    deliveries.delivery.add([[5, "", 3, "length"]])
    assert sender.reply() == (texts("ab", "length", 3), True)


def test_an_answer_is_whole_before_anybody_says_otherwise(model: ModuleType, deliveries: Deliveries) -> None:
    sender = FakeSender()
    deliveries.delivery.begin(0, model.Answer(sender, deliveries.engine))
    deliveries.delivery.add([[0, "a", 1, ""], [0, "b", 2, "stop", [["b", 0, []]]]])
    assert sender.reply() == (texts("ab", "stop", 2), True)


def test_a_step_is_for_all_requests_and_passes_over_those_that_are_gone(deliveries: Deliveries) -> None:
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


def test_calls_come_as_they_are_read_and_once(deliveries: Deliveries) -> None:
    sender, whole = deliveries.begin(1), deliveries.begin(2, stream=False)
    first, rest = [["weather", '{"ci']], [["", 'ty": "Oslo"}']]
    deliveries.delivery.add([[number, "", 1, "", [], first] for number in (1, 2)])
    assert sender.reply() == ({**texts("", "", 1), "tool_calls": b'[["weather", "{\\"ci"]]'}, False)
    deliveries.delivery.add([[number, "", 2, "stop", [], rest] for number in (1, 2)])
    assert json.loads(sender.reply()[0]["tool_calls"]) == rest
    assert json.loads(whole.reply()[0]["tool_calls"]) == [*first, *rest]


def test_texts_of_answers_that_are_not_due_wait(model: ModuleType, deliveries: Deliveries) -> None:
    """A sender that is slow gets fewer, longer responses."""
    slow, sender = FakeSlowSender(), deliveries.begin(2)
    answer = model.Answer(slow, deliveries.engine)
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


def test_an_error_is_the_last_response_and_the_first_counts(deliveries: Deliveries) -> None:
    sender = deliveries.begin(1)
    deliveries.delivery.fail(2, "nobody", FakeError.INTERNAL)
    deliveries.delivery.fail(1, "first", FakeError.INVALID_ARG)
    deliveries.delivery.fail(1, "second", FakeError.INTERNAL)
    assert sender.reply() == (("first", FakeError.INVALID_ARG), True)
    deliveries.delivery.close()
    assert sender.quiet()


def test_an_answer_that_is_complete_does_not_fail_afterwards(model: ModuleType, deliveries: Deliveries) -> None:
    slow, sender = FakeSlowSender(), deliveries.begin(2)
    deliveries.delivery.begin(1, model.Answer(slow, deliveries.engine))
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


def test_closing_sends_texts_that_are_due(model: ModuleType, deliveries: Deliveries) -> None:
    slow, sender = FakeSlowSender(), deliveries.begin(2)
    deliveries.delivery.begin(1, model.Answer(slow, deliveries.engine))
    deliveries.delivery.add([[1, "x", 1, "stop"]])
    assert slow.busy.wait(SECONDS)
    deliveries.delivery.add([[2, "y", 1, "stop"]])
    closing = threading.Thread(target=deliveries.delivery.close)
    closing.start()
    slow.free.set()
    assert sender.reply() == (texts("y", "stop", 1), True)
    closing.join(SECONDS)
    assert not deliveries.delivery._thread.is_alive()
