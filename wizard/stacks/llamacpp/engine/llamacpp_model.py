"""Text generation with llama.cpp as a model of Triton's Python backend.

The wizard copies this file to ``REPOSITORY/MODEL/1/model.py`` and ``text_requests.py``, which describes its inputs and
outputs, beside it. It runs in Triton's Python stub (3.10 to 3.12) with the packages of the server environment (numpy <
2, xllamacpp) and never imports the wizard. Each request has a separate thread; llama.cpp computes the tokens of all
requests in a single batch.

The same seed, prompt and settings give the same answer if there are no concurrent requests. ``finish_reason`` may also
be ``gate``. ``logprobs`` are the model's own probabilities, before any setting is applied; for a character of several
tokens, some may be missing.

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

import triton_python_backend_utils as pb_utils

from .text_requests import Question, Questions, Refused, parameters, response
from .work_gauges import WorkGauges

CPU_FLAGS = {"avx2", "fma", "f16c", "bmi2"}
"""CPU features that the x86_64 wheel of xllamacpp requires; without one of them it crashes with SIGILL."""
FINALIZE_SECONDS = 5.0
QUEUE_POLL_SECONDS = 0.05
OTHER_NAMES = {"repetition_penalty": "repeat_penalty"}
"""Options with other names in llama.cpp."""
EXPERTS_ON_CPU = r"blk\.{}\.ffn_(up|down|gate|gate_up)_(ch|)exps=CPU"
"""An entry of ``tensor_buft_overrides``, as llama.cpp's ``--n-cpu-moe`` makes it for each layer."""
DEVICES = 128
"""Length of llama.cpp's ``tensor_split``."""
BY_LAYER = 1
"""llama.cpp's ``LLAMA_SPLIT_MODE_LAYER``: each of several GPUs has whole layers."""
BEGINS = {"object": "{", "array": "[", "string": '"', "number": "-0123456789", "boolean": "tf", "null": "n"}
"""Type in JSON schemas → characters with which its values begin."""
THOUGHT_TOKENS = [
    *("[THINK]", "[/THINK]", "<|channel>", "<channel|>", "<|channel|>", "<|start|>", "<|message|>"),
    *("<|START_THINKING|>", "<|END_THINKING|>", "<|START_TEXT|>", "<|START_RESPONSE|>", "<|inner_prefix|>"),
    *("<|inner_suffix|>", "<|think|>", "<|begin|>", "<|content|>", "<|open|>", "<|close|>", "<|sep|>"),
]
"""Special tokens with which models mark their thoughts (the wizard's ``profiles/thinking.toml``): they belong to the
text. llama.cpp ignores those that the model does not have (``preserved_tokens``, tools/server/server-schema.cpp). None
of them ends an answer: it would be part of it.
"""
LARGEST_SEED = 2**32 - 2
"""llama.cpp's seeds have 32 bits, and the largest means "random"."""


class Cancelled(Exception):  # noqa: N818
    """The client disconnected."""


@dataclass(frozen=True)
class Settings:
    """The parameters of ``config.pbtxt``; the wizard writes them."""

    gguf: str
    threads: int
    slots: int
    max_seq_len: int
    bos_token: str
    gate_min_probability: float
    gate_refusal: str
    gpu_layers: int  # the output, and the last layers before it
    expert_layers: int  # first layers whose routed experts stay in host memory
    gpu_shares: tuple[int, ...]  # the layers of each of several GPUs, the output included

    @classmethod
    def read(cls, given: dict[str, str]) -> Settings:
        """Parse their texts."""
        return cls(
            gguf=given["gguf"],
            threads=int(given["threads"]),
            slots=int(given["slots"]),
            max_seq_len=int(given["max_seq_len"]),
            bos_token=given.get("bos_token", ""),
            gate_min_probability=float(given.get("gate_min_probability", "0")),
            gate_refusal=given.get("gate_refusal", ""),
            gpu_layers=int(given.get("gpu_layers", "0")),
            expert_layers=int(given.get("expert_layers", "0")),
            gpu_shares=tuple(map(int, filter(None, given.get("gpu_shares", "").split(",")))),
        )


class Answer:
    """The responses to a request. The sender must not be used after the last one: that crashes the whole server."""

    def __init__(self, sender: Any, stream: bool, logprobs: int | None = None) -> None:
        self._sender = sender
        self._stream = stream
        self._alternatives = logprobs
        self._pieces: list[str] = []
        self._logprobs: list[Any] = []  # not sent yet
        self._calls: list[Any] = []  # collected
        self.prompt: int | None = None  # its tokens, once llama.cpp has counted them
        self._over = False

    def cancelled(self) -> bool:
        """Whether the client disconnected."""
        return not self._over and bool(self._sender.is_cancelled())

    def say(self, text: str, tokens: int, entries: Sequence[dict[str, Any]] = (), calls: Sequence[Any] = ()) -> None:
        """Send a piece of text, or of calls, or collect it if the client wants a single response."""
        if self._alternatives is not None:
            self._logprobs += [_logprob(entry, self._alternatives) for entry in entries]
        if self._stream and (text or calls):
            self._sender.send(response(text, "", tokens, self._new_logprobs(), self.prompt, list(calls)))
        else:
            self._pieces.append(text)
            self._calls += calls

    def finish(self, reason: str, tokens: int, text: str = "") -> None:
        """Send the last response."""
        whole = "".join((*self._pieces, text))
        self._end(response(whole, reason, tokens, self._new_logprobs(), self.prompt, self._calls))

    def fail(self, message: str, code: int) -> None:
        """Send an error as the last response."""
        self._end(pb_utils.InferenceResponse(error=pb_utils.TritonError(message, code)))

    def drop(self) -> None:
        """End without a response: the client disconnected."""
        self._end()

    def _new_logprobs(self) -> list[Any] | None:
        new, self._logprobs = self._logprobs, []
        return None if self._alternatives is None else new

    def _end(self, *last: Any) -> None:
        if not self._over:
            self._over = True
            self._sender.send(*last, flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)


def _logprob(entry: dict[str, Any], alternatives: int) -> list[Any]:
    top = [[token["token"], token["logprob"]] for token in entry.get("top_logprobs", ())[:alternatives]]
    return [entry["token"], entry["logprob"], top]


class Pass:
    """A run of the engine over a prompt; the object is the callback that llama.cpp calls for every token."""

    def __init__(
        self,
        check: Callable[[str], None],
        say: Callable[[str, int, Sequence[Any], Sequence[Any]], None],
        floor: float = 0.0,
        begins: str = "",
    ) -> None:
        self._check = check
        self._say = say
        self._floor = floor
        self._begins = begins  # characters with which the answer can begin; empty: any
        self.tokens = 0  # so far, including the end token
        self.prompt: int | None = None  # tokens of the prompt
        self.finish = ""  # "stop" or "length" at the end
        self._calls = 0  # of functions, so far
        self.unsure = False  # a token was less probable than the floor
        self.failure: Exception | None = None  # an exception in the callback would be lost in the engine

    def __call__(self, event: dict[str, Any]) -> bool:
        """Process an event; True stops the engine."""
        try:
            self._take(event)
        except Exception as error:
            self.failure = error
        return self.unsure or self.failure is not None

    def _take(self, event: dict[str, Any]) -> None:
        if "error" in event:
            raise Refused(_plain(event["error"]))
        if timings := event.get("timings"):
            self.tokens = int(timings["predicted_n"])
            self.prompt = int(timings["cache_n"]) + int(
                timings["prompt_n"]
            )  # those kept of an earlier prompt, and others
        self._check(f"after {self.tokens} tokens" + (" of the confidence gate" if self._floor else ""))
        for choice in event.get("choices", ()):
            entries = (choice.get("logprobs") or {}).get("content") or ()
            self.unsure = self.unsure or any(math.exp(entry["logprob"]) < self._floor for entry in entries)
            self.finish = choice.get("finish_reason") or self.finish
            delta = choice.get("delta") or {}
            calls = [self._call(call) for call in delta.get("tool_calls") or ()]
            text = choice.get("text") or delta.get("content")
            if self._begins and text and (first := text.lstrip()[:1]):
                if first not in self._begins:
                    raise Refused("llama.cpp does not accept this json_schema")  # it only logs why, and goes on without
                self._begins = ""
            if text or entries or calls:
                self._say(text or "", self.tokens, entries, calls)

    def _call(self, delta: dict[str, Any]) -> list[str]:
        """Name and arguments of a new call; only more arguments if it is the last one."""
        new, self._calls = delta["index"] >= self._calls, max(self._calls, delta["index"] + 1)
        function = delta["function"]
        return [function.get("name") or "" if new else "", function.get("arguments") or ""]


def _plain(error: dict[str, Any]) -> str:
    if error.get("type") == "exceed_context_size_error":
        return f"prompt too long: {error['n_prompt_tokens']} tokens, and a request may have {error['n_ctx']}"
    return str(error.get("message", error))


def check_cpu(cpuinfo: str, machine: str) -> None:
    """Raise an error if xllamacpp would crash with an illegal instruction.

    Raises:
        RuntimeError: This processor lacks a required feature.
    """
    flags = re.search(r"^flags\s*:(.*)$", cpuinfo, re.MULTILINE)
    missing = sorted(CPU_FLAGS - set(flags.group(1).split())) if flags and machine == "x86_64" else []
    if missing:
        raise RuntimeError(f"this processor lacks {', '.join(missing)}, which llama.cpp (xllamacpp) needs")


def check_gpu(devices: Sequence[dict[str, Any]], gpu_layers: int, gpus: int = 1) -> None:
    """Raise an error if llama.cpp would load all layers on the CPU, or on fewer GPUs, without saying so.

    Args:
        devices: The result of ``xllamacpp.get_device_info``.
        gpu_layers: Layers that GPUs are to have.
        gpus: The number of these GPUs.

    Raises:
        RuntimeError: It reports no GPU, or another number of them.
    """
    count = sum(device["type"].name.endswith("_GPU") for device in devices)
    names = ", ".join(device["name"] for device in devices)
    if gpu_layers and gpus > 1 and count != gpus:
        raise RuntimeError(f"llama.cpp reports {count} GPUs ({names}); {gpus} are planned for")
    if gpu_layers and not count:
        raise RuntimeError(
            f"this build of llama.cpp reports no GPU ({names}), which {gpu_layers} layers are planned for"
        )


def parts(path: Path) -> list[Path]:
    """The files that llama.cpp opens for ``path``: all parts of a split file if it is the first one."""
    match = re.fullmatch(r"(.+)-00001-of-(\d{5})\.gguf", path.name)
    numbers = range(1, int(match[2]) + 1) if match else ()
    return [path.with_name(f"{match[1]}-{number:05}-of-{match[2]}.gguf") for number in numbers if match] or [path]


class Engine:
    """llama.cpp with a loaded model."""

    def __init__(self, settings: Settings) -> None:
        check_cpu(Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace"), platform.machine())
        path = Path(settings.gguf)
        if absent := [part for part in parts(path) if not part.is_file()]:
            raise RuntimeError(f"file not found: {', '.join(map(str, absent))}")
        with path.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise RuntimeError(f"{path} is not a GGUF file")
        import xllamacpp  # only after the processor was checked

        if settings.gpu_layers:  # the list of devices initializes CUDA
            check_gpu(xllamacpp.get_device_info(), settings.gpu_layers, len(settings.gpu_shares) or 1)
        self._key = secrets.token_hex(16)
        try:
            self._server = xllamacpp.Server(_common_params(xllamacpp.CommonParams(), settings, self._key))
        except RuntimeError as error:
            raise RuntimeError(f"llama.cpp cannot load {path}; see the lines above for the cause ({error})") from error
        with contextlib.suppress(ValueError):  # it has logged its memory, and would log every request
            library = ctypes.CDLL(xllamacpp.xllamacpp.__file__)
            ctypes.c_int.in_dll(library, "common_log_verbosity_thold").value = 0
        self._bos = settings.bos_token if self._adds_bos() else ""

    def run(self, question: Question, events: Pass, **extra: Any) -> None:
        """Run ``question`` to its end, or until ``events`` stops it; blocks.

        Raises:
            Refused: llama.cpp does not accept it.
            Cancelled: The client disconnected.
        """
        # Progress events make cancellation work while a long prompt is processed, too.
        body = {**_llama_options(question), "stream": True, "timings_per_token": True, "return_progress": True, **extra}
        body["preserved_tokens"] = THOUGHT_TOKENS
        if "tools" in question.options:
            body.update(body.pop("tools"), reasoning_format="none")
            self._server.handle_chat_completions(body, events)
        elif question.chat:
            body["messages"] = [{"role": "user", "content": question.text}]
            body["reasoning_format"] = "none"
            self._server.handle_chat_completions(body, events)
        else:
            # llama.cpp adds the begin token to every prompt if the model uses one; a rendered template already has it.
            body["prompt"] = question.text.removeprefix(self._bos)
            self._server.handle_completions(body, events)
        if events.failure:
            raise events.failure

    def _adds_bos(self) -> bool:
        # The binding does not expose the vocabulary, but the HTTP listener that it always opens does.
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
    params.n_ctx = settings.max_seq_len * settings.slots  # the slots share it equally
    params.n_gpu_layers = settings.gpu_layers  # its default would be as many as fit
    params.split_mode = BY_LAYER
    if settings.gpu_shares:  # in this ratio each GPU gets exactly its layers; the default is that of free memory
        params.tensor_split = [*map(float, settings.gpu_shares), *[0.0] * (DEVICES - len(settings.gpu_shares))]
    params.tensor_buft_overrides = ",".join(EXPERTS_ON_CPU.format(layer) for layer in range(settings.expert_layers))
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings.threads
    params.cache_ram_mib = 0  # its default would keep up to 8 GiB of old prompts in host memory
    params.fit_params = False  # the wizard has computed the memory; nothing must be changed silently
    params.warmup = False
    params.verbosity = 4  # below this level the sizes of its buffers are not logged
    params.ui = False  # the listener on 127.0.0.1 cannot be turned off, so it is locked
    params.endpoint_slots = False
    params.api_keys = [key]
    return params


def _llama_options(question: Question) -> dict[str, Any]:
    options = {OTHER_NAMES.get(name, name): value for name, value in question.options.items() if name != "logprobs"}
    seed = {} if question.seed is None else {"seed": question.seed % (LARGEST_SEED + 1)}
    return {**options, "stop": question.stop, **seed}


def _probabilities(question: Question, alternatives: int | None) -> dict[str, Any]:
    """Options that make llama.cpp report tokens' probabilities, with at least one alternative."""
    if alternatives is None:
        return {}
    count = max(1, alternatives)
    chat = question.chat or "tools" in question.options
    return {"logprobs": True, "top_logprobs": count} if chat else {"n_probs": count}


class TritonPythonModel:
    """The class that Triton calls."""

    def initialize(self, args: dict[str, str]) -> None:
        """Load the model.

        Raises:
            pb_utils.TritonModelException: It cannot be loaded; the text has the reason.
        """
        try:
            given = parameters(args["model_config"])
            self._settings, self._questions = Settings.read(given), Questions(given)
            self._engine = Engine(self._settings)
        except Exception as error:
            raise pb_utils.TritonModelException(f"{args['model_name']}: {error}") from error
        self._slots = threading.BoundedSemaphore(self._settings.slots)
        self._work = WorkGauges(args["model_name"])
        self._stopping = threading.Event()
        self._threads: set[threading.Thread] = set()
        pb_utils.Logger.log_info(f"{args['model_name']}: {self._settings.gguf} is loaded")

    def execute(self, requests: list[Any]) -> None:
        """Start a thread for each request; the answers go through their senders."""
        for request in requests:
            sender = request.get_response_sender()
            try:
                question = self._questions.read(request)
            except Refused as error:
                Answer(sender, stream=True).fail(str(error), pb_utils.TritonError.INVALID_ARG)
                continue
            answer = Answer(sender, question.stream, question.options.get("logprobs"))
            thread = threading.Thread(target=self._serve, args=(question, answer), daemon=True)
            self._work.begin()
            self._threads.add(thread)
            thread.start()

    def finalize(self) -> None:
        """Stop running requests, within at most `FINALIZE_SECONDS`."""
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
            self._work.end()
            self._threads.discard(threading.current_thread())

    def _answer(self, question: Question, answer: Answer) -> None:
        def check(when: str) -> None:
            if self._stopping.is_set():
                raise Refused("the server is stopping")
            if answer.cancelled():
                raise Cancelled(f"cancelled {when}")

        # Wait here and not in llama.cpp's own queue, in which a request cannot be cancelled.
        while not self._slots.acquire(timeout=QUEUE_POLL_SECONDS):
            check("while it waited for a slot")
        try:
            if self._settings.gate_min_probability > 0 and self._unsure(question, check, answer):
                answer.finish("gate", 0, self._settings.gate_refusal)
                return

            def say(text: str, tokens: int, entries: Sequence[Any], calls: Sequence[Any]) -> None:
                answer.prompt = events.prompt
                self._work.step()
                answer.say(text, tokens, entries, calls)

            schema = question.options.get("json_schema")
            begins = "" if schema is None else BEGINS.get(str(schema.get("type")), "".join(BEGINS.values()))
            events = Pass(check, say, begins=begins)
            self._engine.run(question, events, **_probabilities(question, question.options.get("logprobs")))
        finally:
            self._slots.release()
        answer.prompt = events.prompt
        finish = "stop" if events.finish == "tool_calls" else events.finish
        answer.finish(finish or "stop", events.tokens)

    def _unsure(self, question: Question, check: Callable[[str], None], answer: Answer) -> bool:
        events = Pass(check, lambda *_: None, floor=self._settings.gate_min_probability)
        # Without the prompt cache the probabilities do not depend on earlier prompts.
        self._engine.run(question, events, temperature=0, cache_prompt=False, **_probabilities(question, 1))
        answer.prompt = events.prompt
        return events.unsure
