"""Chat with an OpenAI-compatible server by its URL: ``trtllm-serve``, ``vllm serve``, Triton's OpenAI front end.

``POST /v1/chat/completions`` with server-sent events that end with ``[DONE]``, ``GET /v1/models`` to find the model
(platform.openai.com/docs/api-reference/chat). Closing the connection cancels the request. The API key, if there is one,
is read from the environment for each request that the server rejected without it, and not stored. It is only sent over
HTTPS or to this machine.
"""

from __future__ import annotations

import ipaddress
import json
import os
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from wizard.catalog.local_servers import local_servers
from wizard.chat import images
from wizard.chat.ask import (
    API_KEY,
    GIVEN_UP,
    Ask,
    Piece,
    PromptTooLong,
    connection_errors,
    given_up,
    key_not_sent,
    key_wanted,
    lost,
    no_model,
    no_tools,
    not_openai,
    server_error,
    unreachable,
)
from wizard.chat.conversation import Message
from wizard.chat.logprobs import of_openai as logprobs_of
from wizard.chat.served import TIMEOUT_S, ServedModel
from wizard.chat.snippet import NOT_OPENAIS, Request
from wizard.chat.tools import wire as tool_wire
from wizard.chat.wire import OPENAI, Wire
from wizard.kernel import http
from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr
from wizard.kernel.text import plain
from wizard.plan.ports import Ports
from wizard.serve.endpoint import Endpoint

KEY_WANTED = (401, 403)
"""HTTP statuses with which servers reject a missing or wrong key."""


def at(url: str, model: str | None = None) -> Endpoint:
    """The endpoint of ``model`` at ``url``, or of its only model; queries the server (≤ `TIMEOUT_S`).

    Args:
        url: ``http://127.0.0.1:9000/v1``; ``/v1`` may be omitted.
        model: Its name on that server.

    Raises:
        UsageError: TW-C15 if it is not an HTTP URL, TW-C16 if the server has several models and none is named.
        ServerError: TW-C01, TW-C02, TW-C12, TW-C14, TW-C17, see `wizard.chat.ask`.
    """
    return chosen(endpoints(url), url, model)


def endpoints(url: str) -> list[Endpoint]:
    """The models of the server at ``url``, those for embeddings last; queries the server (≤ `TIMEOUT_S`).

    Raises:
        UsageError: TW-C15 if it is not an HTTP URL.
        ServerError: TW-C01, TW-C12, TW-C14, TW-C17, see `wizard.chat.ask`.
    """
    base = checked(url)
    return [elsewhere(base, name) for name in names_of(_models(base))]


def chosen(there: Sequence[Endpoint], url: str, model: str | None) -> Endpoint:
    """The endpoint of ``model``, or the only one, of those ``there`` are at ``url``.

    Raises:
        UsageError: TW-C16 if there are several and no name is given.
        ServerError: TW-C02 if there is none with this name.
    """
    names = plain(", ".join(each.model for each in there)) or tr("none")
    if model is None and len(there) != 1:
        message = tr("the server at {base} has {count} models: {names}", base=url, count=len(there), names=names)
        raise UsageError("TW-C16", message, tr("Choose one with --model."))
    for endpoint in there:
        if model in (None, endpoint.model):
            return endpoint
    raise no_model(str(model), tr("available: {names}", names=names))


def elsewhere(base: str, model: str, protocol: str = "openai") -> Endpoint:
    """The endpoint of ``model`` on a server at the URL ``base`` that the wizard did not start."""
    parts = urlsplit(base)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return Endpoint(base, model, parts.hostname or "", Ports(port, port, port), 0, "", "", protocol, url=base)


def names_of(models: Iterable[Mapping[str, Any]]) -> list[str]:
    """The names in a list of models. Those that say that they make embeddings, which cannot chat, are the last."""
    return sorted((str(each["id"]) for each in models), key=lambda name: "embed" in name.lower())


def served_model(base: str, model: str, key: str | None = None) -> ServedModel:
    """The description of ``model`` from the server at ``base``; ``key`` is the file with the API key, if not the
    environment has it.

    Raises:
        ServerError: TW-C01, TW-C02, TW-C12, TW-C14, TW-C17, see `wizard.chat.ask`.
    """
    entry = next((each for each in _models(base, key) if each["id"] == model), None)
    if entry is None:
        raise no_model(model, tr("it is not in the server's list"))
    length = entry.get("max_model_len") or (entry.get("meta") or {}).get("n_ctx")  # of vLLM; of llama.cpp's server
    length = length if type(length) is int else None
    program = local_servers().of(str(entry.get("owned_by")))
    return ServedModel(model, None, (), length, None, Wire(OPENAI), program=program)


async def stream(
    ask: Ask, base: str, sent: Callable[[], object] = lambda: None, key: str | None = None
) -> AsyncGenerator[Piece, None]:
    """Send ``ask`` to the server at ``base`` and yield the answer's pieces; closing it cancels the request.

    Raises:
        PromptTooLong: The conversation does not fit.
        UsageError: TW-C32 the server takes no images, TW-C41 it supports no tools.
        ServerError: TW-C01 … TW-C04, TW-C12, TW-C14, TW-C17, see `wizard.chat.ask`.
    """
    url, body = f"{base}/chat/completions", json.dumps(_body(ask)).encode()
    headers: dict[str, str] = {}
    while True:
        events = _Events(ask, base)
        refused: list[bytes] = []
        with connection_errors(base, not_openai):
            async with aclosing(http.post_lines(url, body, headers, sent)) as answer:
                async for status, line in answer:
                    if status != 200:
                        refused.append(line)
                        code = status
                    elif piece := events.take(line.strip()):
                        yield piece
        if not refused:
            break
        if headers or code not in KEY_WANTED:
            text = _error_text(code, b"\n".join(refused))
            raise _refused_content(ask, text) or _refused(code, text, ask.model, base)
        headers = _key(base, _error_text(code, b"\n".join(refused)), key)
    yield events.last()


def request(ask: Ask, base: str) -> Request:
    """The request that `stream` sends for ``ask``, with or without the key."""
    return Request(f"{base}/chat/completions", _body(ask), ask.model, key=bool(os.environ.get(API_KEY)))


def _body(ask: Ask) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": ask.model,
        "messages": [sent for each in ask.messages for sent in _messages(each, ask)],
        "max_tokens": ask.max_tokens,
        "top_p": ask.top_p,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    body |= {name: value for name in PARAMETERS if (value := getattr(ask, name)) is not None}
    if ask.seed is not None:
        body["seed"] = ask.seed & LARGEST_SEED
    if ask.stop:
        body["stop"] = list(ask.stop)
    if ask.logprobs is not None:
        body |= {"logprobs": True, "top_logprobs": ask.logprobs}
    if ask.tools is not None:
        body["tools"] = json.loads(ask.tools)["tools"]
    return body | _thinking(ask)


def _messages(message: Message, ask: Ask) -> Iterable[dict[str, Any]]:
    yield from tool_wire.messages(message.calls)
    if message.content or not message.calls:  # an answer may consist of calls so far
        yield {"role": message.role, "content": _content(message, ask)}


def _content(message: Message, ask: Ask) -> str | list[dict[str, Any]]:
    text = message.content.encode(errors="replace").decode()
    return images.parts(text, ask.images) if message.role == "user" else text


def _thinking(ask: Ask) -> dict[str, Any]:
    """The parameters that switch thinking; levels are OpenAI's own, the rest is for servers that render templates."""
    mode = ask.thinking
    if mode is None:
        return {}
    if mode.isdecimal():
        own = {ask.budget: int(mode)} if ask.budget else {}
        return {"chat_template_kwargs": {"thinking_budget": int(mode)}, **own}
    if mode not in ("off", "on"):
        return {"reasoning_effort": mode}
    return {"chat_template_kwargs": dict.fromkeys(("enable_thinking", "thinking"), mode == "on")}


THOUGHTS = ("reasoning_content", "reasoning")
"""Fields of a delta with a thought: the first of DeepSeek's API, SGLang (0.5.15) and llama.cpp, the second of vLLM
(0.20) and Ollama.
"""
LARGEST_SEED = 2**63 - 1
"""Maximum seed: seeds are signed there (vLLM's ``SamplingParams``)."""
PARAMETERS = ("temperature", "presence_penalty", "frequency_penalty", *NOT_OPENAIS)
"""Sent if they are set. The last ones are not part of OpenAI's API; vLLM, ``trtllm-serve`` and others accept them in
addition (docs.vllm.ai, OpenAI-compatible server, extra parameters), and other servers may reject them.
"""


class _Events:
    """Reads the events of an answer."""

    def __init__(self, ask: Ask, base: str) -> None:
        self._ask = ask
        self._base = base
        self._tokens: int | None = None
        self._thought_tokens: int | None = None
        self._finish = ""
        self._done = False
        self._calls = tool_wire.CallParts()

    def take(self, line: bytes) -> Piece | None:
        """The piece of text in a line of the body, if it has any."""
        if not line or line.startswith((b":", b"event:", b"id:", b"retry:")):
            return None
        data = line.removeprefix(b"data:").strip()
        if data == b"[DONE]":
            self._done = True
            return None
        try:
            event = json.loads(data)
            if error := event.get("error"):
                text = _message(error)
                raise _refused_content(self._ask, text) or server_error(text, self._ask.model)
            if usage := event.get("usage"):
                self._tokens = int(usage["completion_tokens"])
                details = usage.get("completion_tokens_details") or {}
                self._thought_tokens = int(details.get("reasoning_tokens") or 0) or None  # some always send 0
            if not event["choices"]:
                return None
            choice = event["choices"][0]
            self._finish = str(choice.get("finish_reason") or self._finish)
            text = choice["delta"].get("content")
            if self._ask.tools is not None:
                self._calls.take(choice["delta"].get("tool_calls") or ())
            thought = next((given for name in THOUGHTS if (given := choice["delta"].get(name))), "")
            logprobs = logprobs_of((choice.get("logprobs") or {}).get("content") or ())
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
            raise not_openai(self._base, f"{error!r} in {data[:80]!r}") from error
        if not (text or thought or logprobs):
            return None
        return Piece(str(text or ""), self._tokens, "", logprobs, thought=str(thought))

    def last(self) -> Piece:
        """The last piece.

        Raises:
            ServerError: TW-C03 if neither a reason nor ``[DONE]`` arrived: the answer was cut short; TW-C04 if the
                engine gave it up.
        """
        if self._finish in GIVEN_UP:
            raise given_up(self._finish)
        if not (self._done or self._finish):
            raise lost(self._base, tr("the stream ended too early"))
        thought_tokens = self._thought_tokens
        return Piece("", self._tokens, self._finish or "end", calls=self._calls.calls, thought_tokens=thought_tokens)


def _error_text(status: int, body: bytes) -> str:
    """The error text of a rejected request."""
    try:
        reply = json.loads(body)
        return _message(reply.get("error") or reply)
    except (ValueError, AttributeError, RecursionError):
        return body[:200].decode(errors="replace") or f"HTTP status {status}"


def _refused(status: int, text: str, model: str, base: str) -> Exception:
    if status in KEY_WANTED:
        return key_wanted(base, text)
    if status == 404:
        return no_model(model, text)
    return server_error(text, model)


def _refused_content(ask: Ask, text: str) -> Exception | None:
    """The error for an error text about an image or tools in the request."""
    if isinstance(server_error(text, ask.model), PromptTooLong):
        return None
    if ask.images and images.REFUSED.search(text):
        return images.unsupported(text)
    return no_tools(text) if ask.tools is not None and tool_wire.REFUSED.search(text) else None


def _message(error: Any) -> str:
    """The text of an error object; servers differ in its structure."""
    if isinstance(error, dict):
        return str(error.get("message") or error.get("detail") or error)
    return str(error)


def checked(url: str) -> str:
    """The base URL; ``/v1`` is added to a bare address.

    Raises:
        UsageError: TW-C15 if it is not an HTTP URL.
    """
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        parts = urlsplit("")
    odd = not url.isascii() or not url.isprintable() or " " in url
    if odd or parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
        raise UsageError(
            "TW-C15",
            tr("{url} is not a server URL", url=repr(plain(url))),
            tr("For example: {example}", example="http://127.0.0.1:9000/v1"),
        )
    path = parts.path.rstrip("/") or "/v1"
    return f"{parts.scheme}://{parts.netloc}{path}"


def _models(base: str, key: str | None = None) -> list[dict[str, Any]]:
    reply = _get_models(base, {})
    if reply.status in KEY_WANTED:
        reply = _get_models(base, _key(base, _error_text(reply.status, reply.body), key))
    if reply.status in KEY_WANTED:
        raise _refused(reply.status, _error_text(reply.status, reply.body), "", base)
    try:
        return listed(reply.body)
    except ValueError as error:
        raise not_openai(base, f"HTTP status {reply.status}, {error}") from error


def listed(body: bytes) -> list[dict[str, Any]]:
    """The models in the response to ``GET /v1/models``; ValueError if it is not one."""
    try:
        return [{**each, "id": str(each["id"])} for each in json.loads(body)["data"] or ()]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(repr(error)) from error


def _get_models(base: str, headers: dict[str, str]) -> http.Reply:
    try:
        return http.get(f"{base}/models", timeout_s=TIMEOUT_S, headers=headers)
    except http.NoConnectionError as error:
        raise unreachable(base, error) from error
    except (http.LostConnectionError, http.NotHttpError) as error:
        raise not_openai(base, error) from error


def private(base: str) -> bool:
    """Whether the connection to ``base`` is private: encrypted, or on this machine."""
    parts = urlsplit(base)
    host = parts.hostname or ""
    try:
        return parts.scheme == "https" or host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:  # another name
        return False


def _key(base: str, refusal: str, file: str | None = None) -> dict[str, str]:
    """The header with the key, for a server that rejected a request without it with the text ``refusal``; the key is
    in ``file``, or in the environment.

    Raises:
        ServerError: TW-C12 if there is no key, TW-C17 if it cannot be sent there.
    """
    if not private(base):
        raise key_not_sent(base, refusal)
    try:
        key = (Path(file).read_text(encoding="utf-8") if file else os.environ.get(API_KEY, "")).strip()
    except (OSError, UnicodeError) as error:
        raise key_wanted(base, str(error)) from error
    if not (key.isascii() and key.isprintable()):
        raise key_wanted(base, tr("the key contains invalid characters"))
    if not key:
        raise key_wanted(base, refusal)
    return {"Authorization": f"Bearer {key}"}
