"""An answer, assembled from the responses to a request; the same for gRPC and HTTP."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from wizard.chat.ask import GIVEN_UP, Ask, Piece, ToolCall, given_up
from wizard.chat.conversation import TokenLogprob
from wizard.chat.text_filters import DeltaFilter, EchoFilter, StopFilter
from wizard.chat.tokens import Detokenizer, Tokenizer
from wizard.chat.wire import OWN, WIZARD, Tensor, Wire

NO_REASON = ("", "None")
"""Texts that engines send for a missing reason; the LLM API and vLLM send Python's None as text."""


class Exchange:
    """Builds the request and reads the responses.

    Attributes:
        wire: The model's format.
        outputs: Names of the outputs to read.
        over: Whether the answer is complete; further responses are ignored.
        cut: Whether it was ended on the client side; closing the stream stops the engine.
    """

    def __init__(self, ask: Ask, wire: Wire = OWN, tokenizer: Tokenizer | None = None, special: str = "") -> None:
        """Prepare the exchange.

        Args:
            ask: The request.
            wire: The model's format.
            tokenizer: For a model that returns token IDs.
            special: A regular expression that finds the model's special tokens in its prompt.
        """
        self.wire = wire
        self.outputs = wire.outputs
        self.over = self.cut = False
        self._given_up = ""
        self._ask = ask
        self._tokens: int | None = None
        self._prompt_tokens = len(ask.ids) or None
        self._end = tokenizer.ends[0] if tokenizer and tokenizer.ends else None
        self._ids = _Ids(ask, wire.echoes, tokenizer) if tokenizer else None
        self._pieces = DeltaFilter(wire.mode)
        self._prompt = EchoFilter(ask.prompt if wire.echoes and not tokenizer else "", special)
        self._stop = StopFilter(() if wire.format is WIZARD else ask.stop)

    def tensors(self) -> list[Tensor]:
        """The inputs of the request."""
        return self.wire.tensors(self._ask, self._end)

    def take(self, outputs: Mapping[str, Sequence[Any]]) -> Piece | None:
        """The new piece in a response; None if it is empty, or if the answer is over.

        Raises:
            KeyError, IndexError, ValueError, TypeError: The response does not have this format.
        """
        if self.over:
            return None
        logprobs: tuple[TokenLogprob, ...] = ()
        if self._ids:
            new, reason = self._ids.feed(outputs)
            self._tokens = self._ids.count
            if self._ask.logprobs is not None:
                logprobs = self._ids.logprobs(outputs.get(self.wire.format.logprobs) or ())
        else:
            new = self._pieces.feed(_text(outputs["text_output"]))
            reason = self._progress(outputs)
            if self._ask.logprobs is not None and outputs.get(self.wire.format.logprobs):
                logprobs = self.wire.format.read_logprobs(_text(outputs[self.wire.format.logprobs]))
        text = self._stop.feed(self._prompt.feed(new))
        calls = _calls(values) if (values := outputs.get(self.wire.format.calls)) else ()
        if reason or self._stop.reached:
            piece = self._last(text, reason, logprobs, calls)
            if piece.finish not in GIVEN_UP:
                return piece
            self._given_up = piece.finish
            return replace(piece, finish="")
        if not (text or logprobs or self.wire.format is WIZARD):
            return None
        return Piece(text, self._tokens, "", logprobs, self._prompt_tokens, calls)

    def end(self) -> Piece | None:
        """The last piece, once the server has sent everything; None if it was cut short, or already delivered.

        Raises:
            ServerError: TW-C04 if the engine gave the answer up.
        """
        if self._given_up:
            raise given_up(self._given_up)
        if self.over or (self.wire.reasons and not self._ids):
            return None
        full = self._ids is not None and self._ids.count >= self._ask.max_tokens
        return self._last("", "length" if full else "end")

    def _progress(self, outputs: Mapping[str, Sequence[Any]]) -> str:
        """Read the number of tokens; return the finish reason, if the response has one."""
        form = self.wire.format
        if form is WIZARD or outputs.get(form.tokens):
            count = int(outputs[form.tokens][0])
            self._tokens = count + (self._tokens or 0) if form.sums else count
        if outputs.get(form.prompt):
            self._prompt_tokens = int(outputs[form.prompt][0])
        if form is WIZARD or outputs.get(form.finish):
            reason = _text(outputs[form.finish])
            return "" if reason in NO_REASON else reason
        return ""

    def _last(
        self, text: str, reason: str, logprobs: tuple[TokenLogprob, ...] = (), calls: tuple[ToolCall, ...] = ()
    ) -> Piece:
        self.over = True
        self.cut = self.wire.format.cancels and (self._stop.reached or bool(self._ids and self._ids.ended != self._end))
        if not self._stop.reached:
            held = self._ids.text.rest() if self._ids else self._pieces.rest()
            text += self._stop.feed(self._prompt.feed(held) + self._prompt.rest()) + self._stop.rest()
        reason = "stop" if self._stop.reached else reason
        return Piece(text, self._tokens, reason, logprobs, self._prompt_tokens, calls)


class _Ids:
    """Decodes token IDs: removes the prompt and earlier tokens, and detects the end."""

    def __init__(self, ask: Ask, echoes: bool, tokenizer: Tokenizer) -> None:
        self.text = Detokenizer(partial(tokenizer.decode, special=ask.special))
        self.count = 0
        self._new: list[int] = []  # of the last response
        self._decode = tokenizer.decode
        self.ended: int | None = None  # the token that ended the answer
        self._echoes = echoes
        self._before = list(ask.ids)
        self._ends = {*tokenizer.ends, *(tokenizer.token(text) for text in ask.stop)}

    def feed(self, outputs: Mapping[str, Sequence[Any]]) -> tuple[str, str]:
        """The new text of a response, and the reason if it ends the answer.

        With the input excluded a response has new tokens only. Otherwise it may have the prompt and all tokens so far.
        """
        ids = [int(each) for each in outputs["output_ids"]]
        if length := outputs.get("sequence_length"):
            ids = ids[: int(length[0])]
        if self._echoes and ids[: len(self._before)] == self._before:
            ids = ids[len(self._before) :]
        self._before += ids
        self._new = ids
        last = next((place for place, each in enumerate(ids) if each in self._ends), None)
        self.count += len(ids) if last is None else last + 1
        self.ended = None if last is None else ids[last]
        return self.text.feed(ids[:last]), "" if last is None else "stop"

    def logprobs(self, values: Sequence[Any]) -> tuple[TokenLogprob, ...]:
        """Log probabilities of the last response's tokens; ``values`` may be those of all tokens so far, or of these
        only.
        """
        last = values[len(values) - len(self._new) :] if len(values) >= len(self._new) else values
        return tuple(
            TokenLogprob(self._decode([token]), float(value)) for token, value in zip(self._new, last, strict=False)
        )


def _calls(values: Sequence[Any]) -> tuple[ToolCall, ...]:
    """The output ``tool_calls`` of the wizard's own models: JSON, ``[[name, arguments], ...]``."""
    return tuple(ToolCall(str(name), str(arguments)) for name, arguments in json.loads(_text(values) or "[]"))


def _text(values: Sequence[Any]) -> str:
    """The first text, from gRPC (bytes) or HTTP (str)."""
    value = values[0] if len(values) else ""
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
