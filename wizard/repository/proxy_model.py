"""The engine proxy: a model of Triton's Python backend in front of engines with separate processes and environments.

The wizard copies this file to ``REPOSITORY/MODEL/1/model.py``, and beside it ``text_requests.py``, which describes its
inputs and outputs, and the engine programs as ``engines/``. It runs in Triton's Python stub (3.9 or newer, numpy < 2)
and never imports the wizard. Code that cannot run in the stub's interpreter (vLLM and PyTorch require numpy 2) runs in
the engine, which this model starts, waits for, and stops. Responses of a streamed answer are merged if the engine is
fast. If it starts replicas of the engine, a request goes to the one with the fewest unfinished requests.

The engine's standard input is one end of a Unix socket pair, so each notices when the other exits. A message is its
length (4 bytes, big-endian) and JSON. To the engine: ``{"ask": {...}}`` and ``{"cancel": ID}``. From it:
``{"ready": true}`` once, then ``{"deltas": [[ID, TEXT, TOKENS, FINISH], ...]}`` with the results of an engine step for
all requests (a fifth item has the new tokens' log probabilities, if requested), and
``{"errors": [[ID, TEXT, WHOSE], ...]}`` where WHOSE is ``client`` or ``engine``.
"""

from __future__ import annotations

import collections
import contextlib
import itertools
import json
import os
import re
import signal
import socket
import struct
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import triton_python_backend_utils as pb_utils

from .text_requests import Question, Questions, Refused, parameters, response

LENGTH = struct.Struct(">I")
LOG_LINES = 40
"""Number of the engine's last lines to show when it cannot start."""
CANCEL_SECONDS = 0.2
"""Seconds between two checks for disconnected clients; a check queries the server about each request."""
FINALIZE_SECONDS = 4.0
SEND_SECONDS = 30
"""Seconds after which an engine that reads no message counts as hanging."""


class EngineEnded(Exception):  # noqa: N818
    """The engine has exited; the text describes how."""


class Engine:
    """The engine process, its output, and the messages to and from it."""

    def __init__(self, argv: list[str], changes: dict[str, str | None], folder: Path) -> None:
        environment = {name: value for name, value in {**os.environ, **changes}.items() if value is not None}
        self._socket, theirs = socket.socketpair()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", SEND_SECONDS, 0))
        with theirs:
            streams: dict[str, Any] = {"stdin": theirs, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
            self._process = subprocess.Popen(argv, cwd=folder, env=environment, start_new_session=True, **streams)
        self.requests = 0
        """Requests that it has not finished; see `Delivery`."""
        self._messages = self._socket.makefile("rb")
        self._sending = threading.Lock()
        self._lines: collections.deque[str] = collections.deque([""], LOG_LINES)
        self._printing = threading.Thread(target=self._copy_log, daemon=True)
        self._printing.start()
        threading.Thread(target=self._watch, daemon=True).start()

    def send(self, message: dict[str, Any]) -> None:
        """Send one message.

        Raises:
            EngineEnded: The engine does not read it.
        """
        data = json.dumps(message).encode()
        try:
            with self._sending:
                self._socket.sendall(LENGTH.pack(len(data)) + data, socket.MSG_NOSIGNAL)
        except OSError as error:
            self.kill()  # part of the message may have been sent, so the next one would not be understood
            raise EngineEnded(self.end()) from error

    def receive(self) -> dict[str, Any] | None:
        """Wait for the next message; None when the engine has exited."""
        try:
            head = self._messages.read(LENGTH.size)
            (size,) = LENGTH.unpack(head)
            body = self._messages.read(size)
        except (OSError, struct.error):
            return None
        return json.loads(body) if len(body) == size else None

    def end(self) -> str:
        """Wait for its exit, or force it, and describe how it exited."""
        try:
            status = self._process.wait(FINALIZE_SECONDS)
            self._printing.join(FINALIZE_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            status = self._process.wait()
        how = f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
        return f"the engine process has ended ({how})"

    @property
    def ended(self) -> bool:
        """Whether it has exited."""
        return self._process.poll() is not None

    def last_lines(self) -> str:
        """The last lines of its output."""
        return "\n".join(line for line in self._lines if line.strip())

    def stop(self) -> None:
        """Stop it; closing the socket requests it, and it stops its own children."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(FINALIZE_SECONDS)
        self.kill()

    def kill(self) -> None:
        """Kill it and all its children: its session, in which OpenMPI gives each worker a separate group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        for path in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError, ValueError):
                session = path.read_text(errors="replace").rpartition(")")[2].split()[3]
                if int(session) == self._process.pid:
                    os.kill(int(path.parent.name), signal.SIGKILL)

    def _watch(self) -> None:
        self._process.wait()
        self.kill()  # children that outlive it keep the GPU's memory, and the socket, whose end is awaited

    def _copy_log(self) -> None:
        """Write the engine's output to the stub's own: the server's log."""
        while data := self._process.stdout.read1():  # type: ignore[union-attr]  # it is a pipe
            with contextlib.suppress(OSError):
                os.write(2, data)
            first, *more = re.split(r"[\r\n]+", data.decode(errors="replace"))
            self._lines[-1] += first
            self._lines.extend(more)


class Answer:
    """The responses to a request.

    Only the delivery thread uses the sender, and never after the last response: that crashes the whole server.
    """

    def __init__(self, sender: Any, engine: Engine) -> None:
        self.sender, self.engine = sender, engine
        self.stream = False
        self.pieces: list[str] = []
        self.logprobs: list[Any] | None = None  # not sent yet; None if not requested
        self.tokens = 0
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

    def __init__(self) -> None:
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
            self._changed.notify()  # it may be cancelled before the engine sends anything

    def add(self, deltas: list[Any]) -> None:
        """Process the results of an engine step."""
        with self._changed:
            for number, text, tokens, finish, *more in deltas:
                answer = self._answers.get(number)
                if answer is None or answer.over:  # cancelled in the meantime
                    continue
                answer.pieces.append(text)
                if more and answer.logprobs is not None:
                    answer.logprobs += more[0]
                answer.tokens, answer.finish = tokens, finish
                if (answer.stream and text) or finish:
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
            answer.pieces.clear()
            self._due.pop(number, None)
            if answer.over:
                self._forget(number)
        if error:
            reply = pb_utils.InferenceResponse(error=pb_utils.TritonError(*error))
        else:
            reply = response(text, finish, tokens, logprobs)
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
        given = parameters(args["model_config"])
        self._questions = Questions(given)
        self._numbers = itertools.count()
        argv, changes = json.loads(given["engine_argv"]), json.loads(given["engine_env"])
        folder = Path(args["model_repository"], args["model_version"])
        self._engines: list[Engine] = []
        try:
            for own in json.loads(given.get("engine_replicas", "[{}]")):
                self._engines.append(Engine(argv, {**changes, **own}, folder))
            self._await_engines()
        except (OSError, EngineEnded) as error:
            for engine in self._engines:
                engine.kill()
            why = f"cannot start {argv[0]}: {error}" if isinstance(error, OSError) else str(error)
            raise pb_utils.TritonModelException(f"{args['model_name']}: {why}") from error
        self._delivery = Delivery()
        several = len(self._engines) > 1
        ready = f"{len(self._engines)} engines are ready" if several else "the engine is ready"
        for engine in self._engines:
            threading.Thread(target=self._listen, args=(engine,), daemon=True).start()
        pb_utils.Logger.log_info(f"{args['model_name']}: {ready}")

    def _await_engines(self) -> None:
        for engine in self._engines:
            if engine.receive() is None:
                raise EngineEnded(f"{engine.end()}; its last lines:\n{engine.last_lines()}")

    def execute(self, requests: list[Any]) -> None:
        """Pass requests to the engine; the answers go through their senders."""
        for request in requests:
            engine = min(self._alive() or self._engines, key=lambda each: each.requests)
            number, answer = next(self._numbers), Answer(request.get_response_sender(), engine)
            self._delivery.begin(number, answer)
            try:
                question = self._questions.read(request)
                answer.stream = question.stream
                answer.logprobs = [] if "logprobs" in question.options else None
                engine.send(_ask(number, question))
            except Refused as error:
                self._delivery.fail(number, str(error), pb_utils.TritonError.INVALID_ARG)
            except EngineEnded as error:
                self._delivery.fail(number, str(error), pb_utils.TritonError.UNAVAILABLE)

    def finalize(self) -> None:
        """Stop the engines."""
        self._delivery.fail_all("the server is stopping")
        self._delivery.close()
        stopping = [threading.Thread(target=engine.stop) for engine in self._engines]
        for each in stopping:
            each.start()
        for each in stopping:
            each.join()

    def _alive(self) -> list[Engine]:
        return [engine for engine in self._engines if not engine.ended]

    def _listen(self, engine: Engine) -> None:
        """Process an engine's messages until it exits; others go on."""
        status = {"client": pb_utils.TritonError.INVALID_ARG, "engine": pb_utils.TritonError.INTERNAL}
        while message := engine.receive():
            self._delivery.add(message.get("deltas", ()))
            for number, text, who in message.get("errors", ()):
                self._delivery.fail(number, text, status[who])
        end = engine.end()
        pb_utils.Logger.log_error(end)
        self._delivery.fail_all(end, engine)
