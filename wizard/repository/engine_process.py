"""Shared code of the engine programs: the socket to the proxy, prompts, stop words, and shutdown.

The engine environment's Python runs the programs of this folder (3.9 or newer); the wizard never imports them. The
messages are described in ``proxy_model.py``, which starts them.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, NoReturn

from call_pieces import CallPieces

LENGTH = struct.Struct(">I")
LEAVE_SECONDS = 2.0
"""Time for the engine's own children to exit."""


class Refused(Exception):  # noqa: N818 - an answer to the client, not a defect
    """The request cannot be served; the text is for the client."""


class Proxy:
    """The model inside Triton, at the other end of standard input. When it exits, this process ends."""

    def __init__(self, take: Callable[[dict[str, Any]], object]) -> None:
        """Start listening; ``take`` is called, in a separate thread, with every message."""
        self._socket = socket.socket(fileno=os.dup(0))
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, 0)  # children must not inherit the socket
        os.close(empty)
        self._sending = threading.Lock()
        signal.signal(signal.SIGTERM, lambda *_: leave())
        threading.Thread(target=self._listen, args=(take,), daemon=True).start()

    def ready(self) -> None:
        """Report that requests can be sent."""
        self._send({"ready": True})

    def say(self, deltas: Sequence[Any]) -> None:
        """Send the results of a step: per request its ID, new text, tokens so far, and at the end the finish reason.

        An optional fifth item has the new tokens' log probabilities: (token, logprob, [(token, logprob), ...]) for
        each. A sixth has the functions that the model calls: (name, arguments) for each, or more arguments of the last
        one if the name is empty.
        """
        self._send({"deltas": deltas})

    def count(self, number: int, tokens: int) -> None:
        """Send the number of tokens of a request's prompt, before its first result."""
        self._send({"prompts": [(number, tokens)]})

    def refuse(self, number: int, error: Exception) -> None:
        """End a request with an error, which is the client's if it is a `Refused`."""
        who = "client" if isinstance(error, Refused) else "engine"
        text = str(error) if who == "client" else f"the engine could not answer: {error!r}"
        self._send({"errors": [(number, text, who)]})

    def _send(self, message: dict[str, Any]) -> None:
        data = json.dumps(message).encode()
        with self._sending:
            try:
                self._socket.sendall(LENGTH.pack(len(data)) + data)
            except OSError:
                leave()

    def _listen(self, take: Callable[[dict[str, Any]], object]) -> None:
        with contextlib.suppress(OSError, struct.error), self._socket.makefile("rb") as stream:
            while head := stream.read(LENGTH.size):
                (size,) = LENGTH.unpack(head)
                body = stream.read(size)
                if len(body) < size:
                    break
                take(json.loads(body))
        leave()


class Requests:
    """The running requests of an engine with an event loop; each is a task, and everything here runs in the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, answer: Callable[[dict[str, Any]], Coroutine[Any, Any, None]]):
        """Start listening; ``answer`` runs per request, and is cancelled if the client disconnects."""
        self.proxy = Proxy(lambda message: loop.call_soon_threadsafe(self._take, message))
        self._loop, self._answer = loop, answer
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._deltas: list[Any] = []

    def _take(self, message: dict[str, Any]) -> None:
        if ask := message.get("ask"):
            begun = self._tasks[ask["id"]] = self._loop.create_task(self._answer(ask))
            begun.add_done_callback(lambda _: self._tasks.pop(ask["id"], None))
        elif task := self._tasks.get(message.get("cancel", -1)):
            task.cancel()

    def say(self, *delta: Any) -> None:
        """As `Proxy.say`, with all results of an engine step in a single message."""
        if not self._deltas:
            self._loop.call_soon(self._flush)
        self._deltas.append(delta)

    def _flush(self) -> None:
        self.proxy.say(self._deltas)
        self._deltas = []


def leave() -> None:
    """End this process and its children, which share its session; children that can exit in order get time for it."""
    children = _members()
    for pid in children:
        _signal(pid, signal.SIGTERM)
    deadline = time.monotonic() + LEAVE_SECONDS
    while _members() and time.monotonic() < deadline:
        time.sleep(0.05)
    for pid in _members():
        _signal(pid, signal.SIGKILL)
    os.killpg(0, signal.SIGKILL)


def die(reason: str) -> NoReturn:
    """End because the engine cannot continue; the proxy reports it to all waiting clients."""
    print(reason, file=sys.stderr, flush=True)
    for pid in _members():
        _signal(pid, signal.SIGKILL)
    os._exit(1)


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _members() -> list[int]:
    """The other living processes of this one's group, and of the session that it leads.

    Fields 5 and 6 of ``/proc/PID/stat``. OpenMPI starts each worker in a separate group (seen with 5.0).
    """
    own, members = os.getpgrp(), []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _parent, group, session = path.read_text(errors="replace").rpartition(")")[2].split()[:4]
        except (OSError, ValueError):
            continue
        pid = int(path.parent.name)
        if own in (int(group), int(session)) and state != "Z" and pid != os.getpid():
            members.append(pid)
    return members


def prompt_ids(tokenizer: Any, ask: dict[str, Any], context: int) -> list[int]:
    """The tokens of a request's prompt; special tokens in it are recognized.

    Args:
        tokenizer: A tokenizer of transformers.
        ask: The request: ``text``, and ``chat`` if the tokenizer's chat template turns it into the prompt.
        context: Tokens of prompt plus answer.

    Raises:
        Refused: There is no room for an answer, or no chat template.
    """
    text = ask["text"]
    if ask["chat"]:
        if not tokenizer.chat_template:
            raise Refused(
                "this model has no chat template: send the complete prompt, with apply_chat_template set to false"
            )
        messages = [{"role": "user", "content": text}]
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    ids = list(tokenizer(text)["input_ids"])
    if ids[:2] == [tokenizer.bos_token_id] * 2:
        ids = ids[1:]  # a rendered template has the begin token, and the tokenizer adds one to every text
    if not ids:
        raise Refused("text_input contains no tokens")
    if len(ids) >= context:
        raise Refused(f"prompt too long: {len(ids)} tokens, and a request may have {context}")
    return ids


def end_ids(tokenizer: Any, model: str) -> list[int]:
    """The tokens that end any answer: those of ``model``/``generation_config.json``, and the tokenizer's."""
    try:
        config = json.loads((Path(model) / "generation_config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):  # a model need not have one
        config = None
    given = config.get("eos_token_id") if isinstance(config, dict) else None
    ids = given if isinstance(given, list) else [given]
    return list(dict.fromkeys(end for end in (*ids, tokenizer.eos_token_id) if end is not None))


def stop_ids(tokenizer: Any, words: Sequence[str]) -> list[int]:
    """The tokens among the stop words: a special token never appears in an answer's text."""
    special = tokenizer.get_added_vocab()
    return [special[word] for word in words if word in special]


class StopWords:
    """Cuts an answer at the first stop word, and holds back text that may be the beginning of one."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        self._held = ""

    def take(self, text: str) -> tuple[str, bool]:
        """The text that is certainly before any stop word, and whether one was found."""
        text = self._held + text
        hits = [(text.index(word) + len(word), text.index(word)) for word in self._words if word in text]
        if hits:
            self._held = ""
            _end, start = min(hits)  # the one that is complete first, regardless of the pieces
            return text[:start], True
        sure = len(text) - _begun(text, self._words)
        self._held = text[sure:]
        return text[:sure], False

    def rest(self) -> str:
        """The text that was held back, at the end of an answer."""
        return self._held


def _begun(text: str, words: Sequence[str]) -> int:
    """Characters at the end of ``text`` that may be the beginning of a word."""
    return max((size for word in words for size in range(len(word)) if text.endswith(word[:size])), default=0)


class ToolCalls:
    """The functions that a model calls, which the engine's own parser reads at the answer's end.

    Arguments that the model writes as JSON are passed on as they come; the parser then adds only what is missing.
    """

    def __init__(self, given: dict[str, Any], parse: Callable[[str], tuple[str, list[Any]]]) -> None:
        """Start.

        Args:
            given: ``tools`` of a request: ``begins`` are texts with which calls begin; ``arguments`` is the member that
                has the arguments of a call, if calls are JSON objects.
            parse: Text → the part that is no call, and name and arguments (JSON text) of each call.
        """
        self._begins, self._parse = given["begins"], parse
        self._pieces = CallPieces(given["arguments"]) if given.get("arguments") else None
        self._held = ""
        self._inside = False
        self._sent = 0  # calls, the last one maybe in part

    def take(self, text: str, over: bool) -> tuple[str, list[Any]]:
        """The text that is certainly no call, and calls: name and arguments; more of the last one's without a name."""
        new, text = text, self._held + text
        sure = 0
        if not self._inside:
            hits = [text.index(begin) for begin in self._begins if begin in text]
            self._inside = bool(hits)
            sure = min(hits) if hits else len(text) if over else len(text) - _begun(text, self._begins)
            new = text[sure:]
        self._held = text[sure:]
        calls = self._pieces.take(new) if self._pieces and self._inside else []
        self._sent += sum(bool(name) for name, _ in calls)
        if not (over and self._inside):
            return text[:sure], calls
        rest, parsed = self._parse(self._held)
        # A call that was cut, or is not valid JSON, is a text for the parser; the client already has it as a call.
        return text[:sure] + (rest if parsed or not self._sent else ""), [*calls, *parsed[self._sent :]]


THOUGHT_TOKENS = (
    "[THINK]",
    "<|channel|>",
    "<|channel>",
    "<|START_THINKING|>",
    "<|inner_prefix|>",
    "<|think|>",
    "<|sep|>",
)
"""Special tokens with which models mark their thoughts: the wizard's ``profiles/thinking.toml``."""


def shows_special(tokenizer: Any) -> bool:
    """Whether special tokens belong to the text: the model marks its thoughts with them, and clients look for the
    markers. The tokens that end an answer are never part of it.
    """
    added = getattr(tokenizer, "added_tokens_decoder", {}).values()
    return any(token.special and token.content in THOUGHT_TOKENS for token in added)


def keeps_special(tokenizer: Any, ask: dict[str, Any]) -> bool:
    """As `shows_special`, for one request: calls of functions may begin with a special token, too."""
    begins = ask.get("tools", {}).get("begins", ())
    return shows_special(tokenizer) or any(begin in tokenizer.all_special_tokens for begin in begins)


class Detokenizer:
    """Tokens to text, piece by piece; never returns a partial character."""

    def __init__(self, tokenizer: Any, keep_special: bool = False) -> None:
        self._tokenizer = tokenizer.backend_tokenizer
        self._skip = not keep_special
        self._stream = self._new()

    def take(self, token: int) -> str:
        """The text that is complete with ``token``."""
        try:
            return self._stream.step(self._tokenizer, token) or ""
        except Exception:  # bytes that are not UTF-8 break the tokenizer's stream: continue after them
            self._stream = self._new()
            return self._stream.step(self._tokenizer, token) or ""

    def _new(self) -> Any:
        from tokenizers.decoders import DecodeStream

        return DecodeStream(skip_special_tokens=self._skip)


class Answer:
    """The answer to a request, from tokens to text."""

    def __init__(self, tokenizer: Any, ask: dict[str, Any], ends: Sequence[int], max_tokens: int) -> None:
        """Start it; ``ends`` are the tokens that end any answer of this model."""
        self._ends = {*ends, *stop_ids(tokenizer, ask["stop"])}
        self._stop = StopWords(ask["stop"])
        self._text = Detokenizer(tokenizer, keeps_special(tokenizer, ask))
        self._max_tokens = max_tokens
        self.tokens = 0
        self.finish = ""

    def end(self, finish: str) -> str:
        """The rest of the text, if the engine ended the answer for its own reason."""
        self.finish = finish
        return self._stop.rest()

    def take(self, tokens: Sequence[int]) -> str:
        """The text that is certain with these additional tokens; all of the rest if `finish` is set."""
        pieces = []
        for token in tokens:
            self.tokens += 1
            if token in self._ends:
                self.finish = "stop"
                break
            pieces.append(self._text.take(token))
        text, stopped = self._stop.take("".join(pieces))
        if stopped:
            self.finish = "stop"
        elif self.tokens >= self._max_tokens and not self.finish:
            self.finish = "length"
        return text + self._stop.rest() if self.finish and not stopped else text
