"""Text generation with llama.cpp as a model of Triton's Python backend.

The wizard copies this file to ``REPOSITORY/MODEL/1/model.py``. It runs in Triton's Python stub (3.10 to 3.12) with the
packages of the server environment (numpy < 2, xllamacpp) and never imports the wizard. Each request has a thread of
its own; llama.cpp computes the tokens of all of them in one batch.

Inputs (all but the first may be left out):

===================== ======= ================================================================================
text_input            STRING  One user message, or a ready prompt (see ``apply_chat_template``).
max_tokens            INT32   Longest answer in tokens, 512; the end of the context ends it earlier.
temperature           FP32    0 takes the likeliest token each time; the default is the model's ``default_temperature``.
top_p                 FP32    Choose among the likeliest tokens that make up this share, over 0 up to 1 (0.95).
top_k                 INT32   Choose among this many, 0 for all (40).
min_p                 FP32    Leave out what is less probable than this share of the likeliest (llama.cpp's default).
repetition_penalty    FP32    Divides the scores of tokens that were there before, 1 for none (1).
presence_penalty      FP32    Taken off the scores of tokens that were there before, -2 to 2 (0).
frequency_penalty     FP32    The same for each time that they were there, -2 to 2 (0).
logprobs              INT32   Give the output ``logprobs`` with as many alternatives for each token, 0 to 20.
random_seed           UINT64  The same seed, prompt and settings give the same answer when nobody else is served.
stop_words            STRING  Texts that end the answer, beside the model's own.
stream                BOOL    True (default): a response for each piece of text. False: one response with all of it.
apply_chat_template   BOOL    True (default if the model has a template): llama.cpp makes the prompt of it.
                              False: ``text_input`` is the prompt, its special tokens count as such.
===================== ======= ================================================================================

Outputs: ``text_output`` (never a part of a character), ``finish_reason`` (empty until the last response: ``stop``,
``length`` or ``gate``), ``completion_tokens`` (so far, counted by llama.cpp). Where they were asked for, ``logprobs``:
JSON, ``[[token, logprob, [[token, logprob], ...]], ...]`` for the tokens since the last response, natural logarithms of
the model's own probabilities, before any setting is applied. Of a character of several tokens, some may be missing.

The confidence gate: with the parameters ``gate_min_probability`` and ``gate_refusal``, the answer is first decoded
greedily; if any of its tokens is less probable than that, the refusal is the answer.
"""

from __future__ import annotations

import contextlib
import ctypes
import http.client
import json
import math
import platform
import re
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import triton_python_backend_utils as pb_utils

CPU_FLAGS = {"avx2", "fma", "f16c", "bmi2"}
"""What the x86_64 wheel of xllamacpp is built for; without one of them it dies of SIGILL."""
FINALIZE_SECONDS = 5.0
QUEUE_POLL_SECONDS = 0.05
MORE_OPTIONS = {
    "min_p": ("min_p", 0, 1),
    "repetition_penalty": ("repeat_penalty", 0.01, 2),
    "presence_penalty": ("presence_penalty", -2, 2),
    "frequency_penalty": ("frequency_penalty", -2, 2),
}
"""Input → llama.cpp's name for it, least and greatest value."""
MOST_LOGPROBS = 20
LARGEST_SEED = 2**32 - 2
"""llama.cpp's seeds have 32 bits, and the last one stands for "random"."""


class Refused(Exception):  # noqa: N818 - an answer to the client, not a defect
    """The request cannot be served; the text is for the person who asked."""


class Cancelled(Exception):  # noqa: N818
    """The client went away."""


@dataclass(frozen=True)
class Settings:
    """The parameters of ``config.pbtxt``; the wizard writes them."""

    gguf: str
    threads: int
    slots: int
    max_seq_len: int
    default_temperature: float
    has_template: bool
    bos_token: str
    special_tokens: str
    stop: tuple[str, ...]
    gate_min_probability: float
    gate_refusal: str

    @classmethod
    def read(cls, model_config: str) -> Settings:
        """From the JSON that Triton passes to ``initialize``."""
        given = {key: item["string_value"] for key, item in json.loads(model_config)["parameters"].items()}
        return cls(
            gguf=given["gguf"],
            threads=int(given["threads"]),
            slots=int(given["slots"]),
            max_seq_len=int(given["max_seq_len"]),
            default_temperature=float(given["default_temperature"]),
            has_template="chat_template" in given,
            bos_token=given.get("bos_token", ""),
            special_tokens=given["special_tokens"],
            stop=tuple(json.loads(given.get("stop", "[]"))),
            gate_min_probability=float(given.get("gate_min_probability", "0")),
            gate_refusal=given.get("gate_refusal", ""),
        )


@dataclass(frozen=True)
class Question:
    """One request, checked. ``options`` go to llama.cpp as they are."""

    text: str
    chat: bool
    stream: bool
    options: dict[str, Any]
    logprobs: int | None = None


def read_question(request: Any, settings: Settings) -> Question:
    """Check one request.

    Raises:
        Refused: A value is out of its range; llama.cpp would take many of them silently.
    """

    def one(name: str, default: Any) -> Any:
        tensor = pb_utils.get_input_tensor_by_name(request, name)
        return default if tensor is None else tensor.as_numpy().reshape(-1)[0]

    def require(good: bool, name: str, wanted: str, value: Any) -> None:
        if not good:
            raise Refused(f"{name} must be {wanted}, not {value}")

    text = _text(one("text_input", b""), "text_input")
    require(bool(text), "text_input", "a text", "empty")
    options: dict[str, Any] = {
        "max_tokens": int(one("max_tokens", 512)),
        "temperature": float(one("temperature", settings.default_temperature)),
        "top_p": float(one("top_p", 0.95)),
        "top_k": int(one("top_k", 40)),
    }
    require(options["max_tokens"] >= 1, "max_tokens", "1 or more", options["max_tokens"])
    require(0 <= options["temperature"] < math.inf, "temperature", "0 or more", options["temperature"])
    require(0 < options["top_p"] <= 1, "top_p", "over 0 and at most 1", options["top_p"])
    require(options["top_k"] >= 0, "top_k", "0 (all tokens) or more", options["top_k"])
    for name, (theirs, low, high) in MORE_OPTIONS.items():
        value = one(name, None)
        if value is not None:
            require(low <= value <= high, name, f"from {low} to {high}", value)
            options[theirs] = float(value)
    logprobs = one("logprobs", None)
    require(logprobs is None or 0 <= logprobs <= MOST_LOGPROBS, "logprobs", f"from 0 to {MOST_LOGPROBS}", logprobs)
    words = pb_utils.get_input_tensor_by_name(request, "stop_words")
    extra = () if words is None else (_text(word, "stop_words") for word in words.as_numpy().reshape(-1))
    options["stop"] = [word for word in (*settings.stop, *extra) if word]
    seed = one("random_seed", None)
    if seed is not None:
        options["seed"] = int(seed) % (LARGEST_SEED + 1)
    chat = bool(one("apply_chat_template", settings.has_template))
    if chat:  # llama.cpp reads the rendered prompt with its special tokens: a space makes text of those that were typed
        text = re.sub(settings.special_tokens, lambda found: f"{found[0][0]} {found[0][1:]}", text)
    return Question(text, chat, bool(one("stream", True)), options, None if logprobs is None else int(logprobs))


def _text(value: Any, name: str) -> str:
    try:
        return value.decode() if isinstance(value, bytes) else str(value)
    except UnicodeDecodeError as error:
        raise Refused(f"{name} is not UTF-8 (byte {error.start})") from error


class Answer:
    """The responses to one request. Nothing may touch the sender after the last one: that kills the whole server."""

    def __init__(self, sender: Any, stream: bool, logprobs: int | None = None) -> None:
        self._sender = sender
        self._stream = stream
        self._alternatives = logprobs
        self._pieces: list[str] = []
        self._logprobs: list[Any] = []  # not sent yet
        self._over = False

    def cancelled(self) -> bool:
        """Whether the client went away."""
        return not self._over and bool(self._sender.is_cancelled())

    def say(self, text: str, tokens: int, entries: Sequence[dict[str, Any]] = ()) -> None:
        """Send a piece of text, or keep it where the client wants a single response."""
        if self._alternatives is not None:
            self._logprobs += [_logprob(one, self._alternatives) for one in entries]
        if self._stream and text:
            self._sender.send(_response(text, "", tokens, self._new_logprobs()))
        else:
            self._pieces.append(text)

    def finish(self, reason: str, tokens: int, text: str = "") -> None:
        """Send the last response."""
        self._end(_response("".join((*self._pieces, text)), reason, tokens, self._new_logprobs()))

    def fail(self, message: str, code: int) -> None:
        """Send an error as the last response."""
        self._end(pb_utils.InferenceResponse(error=pb_utils.TritonError(message, code)))

    def drop(self) -> None:
        """End without a response: nobody listens any more."""
        self._end()

    def _new_logprobs(self) -> str | None:
        if self._alternatives is None:
            return None
        text = json.dumps(self._logprobs, ensure_ascii=False)
        self._logprobs.clear()
        return text

    def _end(self, *response: Any) -> None:
        if not self._over:
            self._over = True
            self._sender.send(*response, flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)


def _logprob(entry: dict[str, Any], alternatives: int) -> list[Any]:
    top = [[one["token"], one["logprob"]] for one in entry.get("top_logprobs", ())[:alternatives]]
    return [entry["token"], entry["logprob"], top]


def _response(text: str, reason: str, tokens: int, logprobs: str | None) -> Any:
    texts = {"text_output": text, "finish_reason": reason, **({} if logprobs is None else {"logprobs": logprobs})}
    return pb_utils.InferenceResponse(
        [
            *(pb_utils.Tensor(name, np.array([one.encode()], np.object_)) for name, one in texts.items()),
            pb_utils.Tensor("completion_tokens", np.array([tokens], dtype=np.int32)),
        ]
    )


class Pass:
    """One run of the engine over one prompt; the object is the callback that llama.cpp calls for every token."""

    def __init__(
        self, check: Callable[[str], None], say: Callable[[str, int, Sequence[Any]], None], floor: float = 0.0
    ) -> None:
        self._check = check
        self._say = say
        self._floor = floor
        self.tokens = 0  # so far, the end token included
        self.finish = ""  # "stop" or "length" once it is over
        self.unsure = False  # a token was less probable than the floor
        self.failure: Exception | None = None  # an exception that left the callback would be lost in the engine

    def __call__(self, event: dict[str, Any]) -> bool:
        """Take in one event; True stops the engine."""
        try:
            self._take(event)
        except Exception as error:
            self.failure = error
        return self.unsure or self.failure is not None

    def _take(self, event: dict[str, Any]) -> None:
        if "error" in event:
            raise Refused(_plain(event["error"]))
        self.tokens = int(event.get("timings", {}).get("predicted_n", self.tokens))
        self._check(f"after {self.tokens} tokens" + (" of the confidence gate" if self._floor else ""))
        for choice in event.get("choices", ()):
            entries = (choice.get("logprobs") or {}).get("content") or ()
            self.unsure = self.unsure or any(math.exp(entry["logprob"]) < self._floor for entry in entries)
            self.finish = choice.get("finish_reason") or self.finish
            text = choice.get("text") or (choice.get("delta") or {}).get("content")
            if text or entries:
                self._say(text or "", self.tokens, entries)


def _plain(error: dict[str, Any]) -> str:
    if error.get("type") == "exceed_context_size_error":
        return f"prompt too long: {error['n_prompt_tokens']} tokens, and a request may have {error['n_ctx']}"
    return str(error.get("message", error))


def check_cpu(cpuinfo: str, machine: str) -> None:
    """Fail in words where xllamacpp would die of an illegal instruction.

    Raises:
        RuntimeError: This processor lacks something.
    """
    flags = re.search(r"^flags\s*:(.*)$", cpuinfo, re.MULTILINE)
    missing = sorted(CPU_FLAGS - set(flags.group(1).split())) if flags and machine == "x86_64" else []
    if missing:
        raise RuntimeError(f"this processor lacks {', '.join(missing)}, which llama.cpp (xllamacpp) needs")


class Engine:
    """llama.cpp with one model loaded."""

    def __init__(self, settings: Settings) -> None:
        check_cpu(Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace"), platform.machine())
        path = Path(settings.gguf)
        if not path.is_file():
            raise RuntimeError(f"there is no file {path}")
        with path.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise RuntimeError(f"{path} is not a GGUF file")
        import xllamacpp  # only after the processor was looked at

        self._key = secrets.token_hex(16)
        try:
            self._server = xllamacpp.Server(_common_params(xllamacpp.CommonParams(), settings, self._key))
        except RuntimeError as error:
            raise RuntimeError(f"llama.cpp cannot load {path}; the lines before this one say why ({error})") from error
        with contextlib.suppress(ValueError):  # it has logged what it took, and would log every request
            library = ctypes.CDLL(xllamacpp.xllamacpp.__file__)
            ctypes.c_int.in_dll(library, "common_log_verbosity_thold").value = 0
        self._bos = settings.bos_token if self._adds_bos() else ""

    def run(self, question: Question, events: Pass, **extra: Any) -> None:
        """Run ``question`` to its end, or until ``events`` stops it; blocks.

        Raises:
            Refused: llama.cpp does not accept it.
            Cancelled: Nobody waits for it any more.
        """
        # Progress events make cancelling work while a long prompt is read, too.
        body = {**question.options, "stream": True, "timings_per_token": True, "return_progress": True, **extra}
        if question.chat:
            body["messages"] = [{"role": "user", "content": question.text}]
            body["reasoning_format"] = "none"
            self._server.handle_chat_completions(body, events)
        else:
            # llama.cpp puts the begin token before every prompt if the model wants one; a rendered template has it.
            body["prompt"] = question.text.removeprefix(self._bos)
            self._server.handle_completions(body, events)
        if events.failure:
            raise events.failure

    def _adds_bos(self) -> bool:
        # The binding does not show the vocabulary, but the HTTP listener that it always opens does.
        connection = http.client.HTTPConnection(urlsplit(self._server.listening_address).netloc, timeout=10)
        try:
            headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
            connection.request("POST", "/tokenize", json.dumps({"content": "", "add_special": True}), headers)
            return bool(json.loads(connection.getresponse().read())["tokens"])
        finally:
            connection.close()


def _common_params(params: Any, settings: Settings, key: str) -> Any:
    params.model.path = settings.gguf
    params.n_parallel = settings.slots
    params.n_ctx = settings.max_seq_len * settings.slots  # the slots share it in equal parts
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings.threads
    params.cache_ram_mib = 0  # its default would keep up to 8 GiB of old prompts in host memory
    params.fit_params = False  # the wizard has done the sums; nothing is to be changed silently
    params.warmup = False
    params.verbosity = 4  # below, the sizes of its buffers are not logged
    params.ui = False  # the listener on 127.0.0.1 cannot be turned off, so it is locked
    params.endpoint_slots = False
    params.api_keys = [key]
    return params


def _probabilities(question: Question, alternatives: int | None) -> dict[str, Any]:
    """Options that make llama.cpp give tokens' probabilities, with one alternative at least."""
    if alternatives is None:
        return {}
    count = max(1, alternatives)
    return {"logprobs": True, "top_logprobs": count} if question.chat else {"n_probs": count}


class TritonPythonModel:
    """What Triton calls."""

    def initialize(self, args: dict[str, str]) -> None:
        """Load the model.

        Raises:
            pb_utils.TritonModelException: It cannot be loaded; the text says why.
        """
        try:
            self._settings = Settings.read(args["model_config"])
            self._engine = Engine(self._settings)
        except Exception as error:
            raise pb_utils.TritonModelException(f"{args['model_name']}: {error}") from error
        self._slots = threading.BoundedSemaphore(self._settings.slots)
        self._stopping = threading.Event()
        self._threads: set[threading.Thread] = set()
        pb_utils.Logger.log_info(f"{args['model_name']}: {self._settings.gguf} is loaded")

    def execute(self, requests: list[Any]) -> None:
        """Start a thread for each request; the answers go through their senders."""
        for request in requests:
            sender = request.get_response_sender()
            try:
                question = read_question(request, self._settings)
            except Refused as error:
                Answer(sender, stream=True).fail(str(error), pb_utils.TritonError.INVALID_ARG)
                continue
            answer = Answer(sender, question.stream, question.logprobs)
            thread = threading.Thread(target=self._serve, args=(question, answer), daemon=True)
            self._threads.add(thread)
            thread.start()

    def finalize(self) -> None:
        """Stop what still runs, for at most `FINALIZE_SECONDS`."""
        self._stopping.set()
        deadline = time.monotonic() + FINALIZE_SECONDS
        for thread in tuple(self._threads):
            thread.join(max(0.0, deadline - time.monotonic()))

    def _serve(self, question: Question, answer: Answer) -> None:
        try:
            self._answer(question, answer)
        except Cancelled as error:
            answer.drop()
            pb_utils.Logger.log_info(str(error))
        except Refused as error:
            answer.fail(str(error), pb_utils.TritonError.INVALID_ARG)
        except Exception as error:
            pb_utils.Logger.log_error(f"a request failed: {error!r}")
            answer.fail(f"llama.cpp could not answer: {error}", pb_utils.TritonError.INTERNAL)
        finally:
            self._threads.discard(threading.current_thread())

    def _answer(self, question: Question, answer: Answer) -> None:
        def check(when: str) -> None:
            if self._stopping.is_set():
                raise Refused("the server is stopping")
            if answer.cancelled():
                raise Cancelled(f"cancelled {when}")

        # Waiting here and not in llama.cpp's own queue, where a request cannot be cancelled.
        while not self._slots.acquire(timeout=QUEUE_POLL_SECONDS):
            check("while it waited for a slot")
        try:
            if self._settings.gate_min_probability > 0 and self._unsure(question, check):
                answer.finish("gate", 0, self._settings.gate_refusal)
                return
            events = Pass(check, answer.say)
            self._engine.run(question, events, **_probabilities(question, question.logprobs))
        finally:
            self._slots.release()
        answer.finish(events.finish or "stop", events.tokens)

    def _unsure(self, question: Question, check: Callable[[str], None]) -> bool:
        events = Pass(check, lambda *_: None, floor=self._settings.gate_min_probability)
        # Without the prompt cache the probabilities do not depend on what was asked before.
        self._engine.run(question, events, temperature=0, cache_prompt=False, **_probabilities(question, 1))
        return events.unsure
