"""The inputs and outputs of the wizard's own models of Triton's Python backend.

The wizard copies this file to ``REPOSITORY/MODEL/1/`` beside the ``model.py`` that imports it, relatively: the stub
imports ``1.model`` with the model's folder on ``sys.path`` (python_backend, ``src/pb_stub.cc``, 2021 to 2026), so that
no installed package can shadow it. It runs in Triton's Python stub (3.9 or newer, numpy < 2) and never imports the
wizard.

Inputs (all but the first are optional):

===================== ======= ================================================================================
text_input            STRING  One user message, or a ready prompt (see ``apply_chat_template``).
max_tokens            INT32   Maximum tokens of the answer, 512; the end of the context ends it earlier.
temperature           FP32    0 selects the most likely token; the default is the model's ``default_temperature``.
top_p                 FP32    Sample from the most likely tokens with this total share, over 0 up to 1 (0.95).
top_k                 INT32   Sample from this many tokens, 0 for all (40).
random_seed           UINT64  The same seed, prompt and settings give the same answer if the engine supports it.
stop_words            STRING  Stop strings, in addition to the model's own.
stream                BOOL    True (default): streamed responses. False: a single response.
apply_chat_template   BOOL    True (default if the model has a template): the engine renders the prompt with it.
                              False: ``text_input`` is the prompt; its special tokens are recognized.
===================== ======= ================================================================================

Where ``config.pbtxt`` declares them:

===================== ======= ================================================================================
min_p                 FP32    Exclude tokens below this share of the highest probability (the engine's default).
repetition_penalty    FP32    Divides the scores of repeated tokens, 1 for none (1).
presence_penalty      FP32    Subtracted from the scores of repeated tokens, -2 to 2 (0).
frequency_penalty     FP32    The same for each repetition, -2 to 2 (0).
logprobs              INT32   Return the output ``logprobs`` with this number of alternatives per token, 0 to 20.
json_schema           STRING  A JSON schema, as text: the answer is JSON that matches it.
tools                 STRING  The functions that the model may call, JSON in OpenAI's format: ``{"tools": [...],
                              "messages": [...]}``. ``text_input`` is the prompt that names them; an engine that
                              renders it itself uses the messages instead.
===================== ======= ================================================================================

Outputs: ``text_output`` (never a partial character), ``finish_reason`` (empty until the last response: ``stop`` or
``length``), ``completion_tokens`` (so far, counted by the engine), ``prompt_tokens`` (the same; in responses from the
first whose engine has counted them). If requested, ``logprobs``: JSON,
``[[token, logprob, [[token, logprob], ...]], ...]`` for the tokens since the last response, natural logarithms. If
functions are called, ``tool_calls``: JSON, ``[[name, arguments], ...]``, arguments as JSON text; an empty name means
that these are more arguments of the last call, also of an earlier response.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import triton_python_backend_utils as pb_utils

MORE = {
    "min_p": (0, 1),
    "repetition_penalty": (0.01, 2),
    "presence_penalty": (-2, 2),
    "frequency_penalty": (-2, 2),
    "logprobs": (0, 20),
}
"""Inputs that only some engines support: minimum and maximum."""


class Refused(Exception):  # noqa: N818 - an answer to the client, not a defect
    """The request cannot be served; the text is for the client, who knows by its beginning whose fault it is: Triton's
    streams have no status.
    """

    def __str__(self) -> str:
        return f"request refused: {super().__str__()}"


@dataclass(frozen=True)
class Question:
    """A validated request."""

    text: str
    chat: bool
    """Whether the engine applies the chat template."""
    stream: bool
    seed: int | None
    stop: list[str]
    options: dict[str, Any]
    """``max_tokens``, ``temperature``, ``top_p``, ``top_k``, and the given ones of `MORE`, ``json_schema`` (parsed) and
    ``tools`` (parsed, with the engine's parser for them).
    """


def parameters(model_config: str) -> dict[str, str]:
    """The parameters of ``config.pbtxt``, from the JSON that Triton passes to ``initialize``."""
    return {name: item["string_value"] for name, item in json.loads(model_config)["parameters"].items()}


class Questions:
    """Validates requests, with the settings in ``config.pbtxt``."""

    def __init__(self, given: dict[str, str]) -> None:
        self._default_temperature = float(given["default_temperature"])
        self._has_template = "chat_template" in given
        self._special_tokens = re.compile(given["special_tokens"])
        self._stop = json.loads(given.get("stop", "[]"))
        self._tool_calls = json.loads(given.get("tool_calls", "{}"))

    def read(self, request: Any) -> Question:
        """Validate a request.

        Raises:
            Refused: A value is out of its range; engines would silently accept many of them.
        """
        text = _text(_input(request, "text_input", b""), "text_input")
        _require(bool(text), "text_input", "a text", "empty")
        words = pb_utils.get_input_tensor_by_name(request, "stop_words")
        extra = [] if words is None else [_text(word, "stop_words") for word in words.as_numpy().reshape(-1)]
        seed = _input(request, "random_seed", None)
        chat = bool(_input(request, "apply_chat_template", self._has_template))
        if chat:  # special tokens in the template's result are recognized: a space makes typed ones plain text
            text = self._special_tokens.sub(lambda match: f"{match[0][0]} {match[0][1:]}", text)
        return Question(
            text=text,
            chat=chat,
            stream=bool(_input(request, "stream", True)),
            seed=None if seed is None else int(seed),
            stop=[word for word in (*self._stop, *extra) if word],
            options=self._options(request),
        )

    def _options(self, request: Any) -> dict[str, Any]:
        tokens = int(_input(request, "max_tokens", 512))
        temperature = float(_input(request, "temperature", self._default_temperature))
        top_p = float(_input(request, "top_p", 0.95))
        top_k = int(_input(request, "top_k", 40))
        _require(tokens >= 1, "max_tokens", "1 or more", tokens)
        _require(0 <= temperature < math.inf, "temperature", "0 or more", temperature)
        _require(0 < top_p <= 1, "top_p", "over 0 and at most 1", top_p)
        _require(top_k >= 0, "top_k", "0 (all tokens) or more", top_k)
        options: dict[str, Any] = {"max_tokens": tokens, "temperature": temperature, "top_p": top_p, "top_k": top_k}
        for name, (low, high) in MORE.items():
            value = _input(request, name, None)
            if value is not None:
                options[name] = value
                _require(low <= value <= high, name, f"from {low} to {high}", value)
        for name in ("json_schema", "tools"):
            text = _input(request, name, None)
            if text is not None:
                options[name] = _object(text, name)
        if "tools" in options:
            options["tools"].update(self._tool_calls)
        return options


def _input(request: Any, name: str, default: Any) -> Any:
    tensor = pb_utils.get_input_tensor_by_name(request, name)
    return default if tensor is None else tensor.as_numpy().item()


def _require(good: bool, name: str, rule: str, value: Any) -> None:
    if not good:
        raise Refused(f"{name} must be {rule}, not {value}")


def _object(value: Any, name: str) -> dict[str, Any]:
    try:
        read = json.loads(_text(value, name))
    except (ValueError, RecursionError) as error:
        raise Refused(f"{name} is not JSON: {error}") from error
    if not isinstance(read, dict):
        raise Refused(f"{name} must be a JSON object")
    return read


def _text(value: Any, name: str) -> str:
    try:
        return value.decode() if isinstance(value, bytes) else str(value)
    except UnicodeDecodeError as error:
        raise Refused(f"{name} is not UTF-8 (byte {error.start})") from error


def response(
    text: str,
    reason: str,
    tokens: int,
    logprobs: list[Any] | None,
    prompt: int | None = None,
    calls: list[Any] | None = None,
) -> Any:
    """A response of the model.

    Args:
        text: The new text.
        reason: Empty until the last response.
        tokens: Number of tokens so far.
        logprobs: Of the tokens since the last response; None if not requested.
        prompt: Number of tokens of the prompt; None if not known yet.
        calls: Name and arguments of the functions that the model calls; an empty name continues the last one.
    """
    counts = {"completion_tokens": tokens} if prompt is None else {"completion_tokens": tokens, "prompt_tokens": prompt}
    texts = {"text_output": text, "finish_reason": reason}
    if logprobs is not None:
        texts["logprobs"] = json.dumps(logprobs, ensure_ascii=False)
    if calls:
        texts["tool_calls"] = json.dumps(calls, ensure_ascii=False)
    return pb_utils.InferenceResponse(
        [
            *(pb_utils.Tensor(name, np.array([text.encode()], np.object_)) for name, text in texts.items()),
            *(pb_utils.Tensor(name, np.array([count], np.int32)) for name, count in counts.items()),
        ]
    )
