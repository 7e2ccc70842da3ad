"""The engine proxy: a model of Triton's Python backend in front of engines with separate processes and environments.

The wizard copies this file to ``REPOSITORY/MODEL/1/model.py``, and beside it ``text_requests.py``, which describes its
inputs and outputs, and the engine programs as ``engines/``. It runs in Triton's Python stub (3.9 or newer, numpy < 2)
and never imports the wizard. Code that cannot run in the stub's interpreter (vLLM and PyTorch require numpy 2) runs in
the engine, which this model starts, waits for, and stops. Responses of a streamed answer are merged if the engine is
fast. If it starts replicas of the engine, a request goes to the one with the fewest unfinished requests. An engine that
exits is started again (``engine_replicas.py``, beside this file). Its requests fail instead of going to another engine:
the one that ended it would end that one too.

The engine's standard input is one end of a Unix socket pair, so each notices when the other exits. A message is its
length (4 bytes, big-endian) and JSON. To the engine: ``{"ask": {...}}`` and ``{"cancel": ID}``. From it:
``{"ready": true}`` once, then ``{"prompts": [[ID, TOKENS], ...]}`` with the lengths of prompts,
``{"deltas": [[ID, TEXT, TOKENS, FINISH], ...]}`` with the results of an engine step for all requests (a fifth item has
the new tokens' log probabilities, if requested, and a sixth the functions that the model calls), and
``{"errors": [[ID, TEXT, WHOSE], ...]}`` where WHOSE is ``client`` or ``engine``.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import threading
import time
from pathlib import Path
from typing import Any

import triton_python_backend_utils as pb_utils

from .engine_replicas import FINALIZE_SECONDS, Engine, EngineEnded, Gauges, Replica
from .text_requests import Question, Questions, Refused, parameters, response
from .work_gauges import WorkGauges

CANCEL_SECONDS = 0.2
"""Seconds between two checks for disconnected clients; a check queries the server about each request."""


class Answer:
    """The responses to a request.

    Only the delivery thread uses the sender, and never after the last response: that crashes the whole server.
    """

    def __init__(self, sender: Any, engine: Engine) -> None:
        self.sender, self.engine = sender, engine
        self.stream = False
        self.pieces: list[str] = []
        self.logprobs: list[Any] | None = None  # not sent yet; None if not requested
        self.calls: list[Any] = []
        self.tokens = 0
        self.prompt: int | None = None
        self.finish = ""
        self.error: tuple[str, int] | None = None

    @property
    def over(self) -> bool:
        """Whether the answer is complete."""
        return bool(self.finish or self.error)


class Delivery:
    """All running answers, and the thread that sends them.

    The text of a request accumulates until its turn to send: a slow server gets fewer, longer responses, and the engine
    never waits.
    """

    def __init__(self, work: WorkGauges) -> None:
        self._work = work
        self._changed = threading.Condition()
        self._answers: dict[int, Answer] = {}
        self._due: dict[int, Answer] = {}  # those with something to send
        self._closed = False
        self._thread = threading.Thread(target=self._deliver, daemon=True)
        self._thread.start()

    def begin(self, number: int, answer: Answer) -> None:
        """Register a request, before the engine gets it."""
        with self._changed:
            self._answers[number] = answer
            answer.engine.requests += 1
            self._work.begin()
            self._changed.notify()  # it may be cancelled before the engine sends anything

    def count(self, prompts: list[Any]) -> None:
        """Process the numbers of tokens of prompts."""
        with self._changed:
            for number, tokens in prompts:
                if number in self._answers:
                    self._answers[number].prompt = tokens

    def add(self, deltas: list[Any]) -> None:
        """Process the results of an engine step."""
        with self._changed:
            for number, text, tokens, finish, *more in deltas:
                answer = self._answers.get(number)
                if answer is None or answer.over:  # cancelled in the meantime
                    continue
                answer.pieces.append(text)
                self._work.step()
                if more and answer.logprobs is not None:
                    answer.logprobs += more[0]
                answer.calls += more[1] if len(more) > 1 else ()
                answer.tokens, answer.finish = tokens, finish
                if (answer.stream and (text or answer.calls)) or finish:
                    self._due[number] = answer
            self._changed.notify()

    def fail(self, number: int, text: str, code: int) -> None:
        """End a request with an error."""
        with self._changed:
            answer = self._answers.get(number)
            if answer is not None and not answer.over:
                answer.error = (text, code)
                self._due[number] = answer
            self._changed.notify()

    def fail_all(self, text: str, engine: Engine | None = None) -> None:
        """End every request, or those of ``engine``, with an error."""
        with self._changed:
            ended = [number for number, answer in self._answers.items() if engine in (None, answer.engine)]
        for number in ended:
            self.fail(number, text, pb_utils.TritonError.UNAVAILABLE)

    def close(self) -> None:
        """Send what is pending and end."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join(FINALIZE_SECONDS)

    def _deliver(self) -> None:
        look = time.monotonic()
        while True:
            with self._changed:
                if not self._due and not self._closed:
                    self._changed.wait(CANCEL_SECONDS if self._answers else None)
                due, self._due = self._due, {}
                if self._closed and not due:
                    return
            for number, answer in due.items():
                self._send(number, answer)
            if time.monotonic() >= look:
                self._drop_cancelled()
                look = time.monotonic() + CANCEL_SECONDS

    def _send(self, number: int, answer: Answer) -> None:
        with self._changed:
            text, tokens, finish, error = "".join(answer.pieces), answer.tokens, answer.finish, answer.error
            logprobs, answer.logprobs = answer.logprobs, None if answer.logprobs is None else []
            calls, answer.calls = answer.calls, []
            answer.pieces.clear()
            self._due.pop(number, None)
            if answer.over:
                self._forget(number)
        if error:
            reply = pb_utils.InferenceResponse(error=pb_utils.TritonError(*error))
        else:
            reply = response(text, finish, tokens, logprobs, answer.prompt, calls)
        last = pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL if finish or error else 0
        try:
            answer.sender.send(reply, flags=last)
        except Exception as failure:  # this thread serves all requests
            pb_utils.Logger.log_error(f"a response could not be sent: {failure!r}")

    def _drop_cancelled(self) -> None:
        with self._changed:
            running = [(number, answer) for number, answer in self._answers.items() if not answer.over]
        for number, answer in running:
            if not answer.sender.is_cancelled():
                continue
            with self._changed:
                self._forget(number)
                self._due.pop(number, None)
            answer.sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
            pb_utils.Logger.log_info(f"cancelled after {answer.tokens} tokens")
            with contextlib.suppress(EngineEnded):
                answer.engine.send({"cancel": number})

    def _forget(self, number: int) -> None:
        self._answers.pop(number).engine.requests -= 1
        self._work.end()


def _ask(number: int, question: Question) -> dict[str, Any]:
    """The message for the engine."""
    own = {"id": number, "text": question.text, "chat": question.chat, "seed": question.seed, "stop": question.stop}
    return {"ask": {**own, **question.options}}


class TritonPythonModel:
    """The class that Triton calls."""

    def initialize(self, args: dict[str, str]) -> None:
        """Start the engine, or its replicas, and wait until all are ready, as long as they live.

        Raises:
            pb_utils.TritonModelException: One exited instead; the text has the last lines of its output.
        """
        model, given = args["model_name"], parameters(args["model_config"])
        self._questions = Questions(given)
        self._numbers = itertools.count()
        argv, changes = json.loads(given["engine_argv"]), json.loads(given["engine_env"])
        folder = Path(args["model_repository"], args["model_version"])
        own = json.loads(given.get("engine_replicas", "[{}]"))
        self._gauges = Gauges(model, len(own))
        self._replicas: list[Replica] = []
        try:
            for number, more in enumerate(own, 1):
                label = f"{model}, replica {number} of {len(own)}" if len(own) > 1 else model
                start = functools.partial(Engine, argv, {**changes, **more}, folder)
                self._replicas.append(Replica(number, start, self._gauges, label))
            for replica in self._replicas:
                replica.await_ready()
        except (OSError, EngineEnded) as error:
            for replica in self._replicas:
                replica.engine.kill()
            why = f"cannot start {argv[0]}: {error}" if isinstance(error, OSError) else str(error)
            raise pb_utils.TritonModelException(f"{model}: {why}") from error
        self._delivery = Delivery(WorkGauges(model))
        for replica in self._replicas:
            threading.Thread(target=self._serve, args=(replica,), daemon=True).start()
        ready = f"{len(own)} engines are ready" if len(own) > 1 else "the engine is ready"
        pb_utils.Logger.log_info(f"{model}: {ready}")

    def execute(self, requests: list[Any]) -> None:
        """Pass requests to the engine; the answers go through their senders."""
        for request in requests:
            ready = [replica for replica in self._replicas if replica.ready and not replica.engine.ended]
            replica = min(ready or self._replicas, key=lambda each: each.engine.requests)
            number, answer = next(self._numbers), Answer(request.get_response_sender(), replica.engine)
            self._delivery.begin(number, answer)
            try:
                if not ready:
                    raise EngineEnded(replica.why)
                question = self._questions.read(request)
                answer.stream = question.stream
                answer.logprobs = [] if "logprobs" in question.options else None
                self._gauges.count("requests", replica.number)
                answer.engine.send(_ask(number, question))
            except Refused as error:
                self._delivery.fail(number, str(error), pb_utils.TritonError.INVALID_ARG)
            except EngineEnded as error:
                self._delivery.fail(number, str(error), pb_utils.TritonError.UNAVAILABLE)

    def finalize(self) -> None:
        """Stop the engines."""
        self._delivery.fail_all("the server is stopping")
        self._delivery.close()
        stopping = [threading.Thread(target=replica.stop) for replica in self._replicas]
        for each in stopping:
            each.start()
        for each in stopping:
            each.join()

    def _serve(self, replica: Replica) -> None:
        """Process the messages of a replica's engine until it exits for good; the others continue."""
        status = {"client": pb_utils.TritonError.INVALID_ARG, "engine": pb_utils.TritonError.INTERNAL}
        while True:
            engine = replica.engine
            while message := engine.receive():
                self._delivery.count(message.get("prompts", ()))
                self._delivery.add(message.get("deltas", ()))
                for number, text, who in message.get("errors", ()):
                    self._delivery.fail(number, str(Refused(text)) if who == "client" else text, status[who])
            self._delivery.fail_all(replica.exited(), engine)
            if not replica.restart():
                return
