"""The pieces of an answer, as they arrive."""

from __future__ import annotations

from dataclasses import dataclass

from wizard.chat.ask import ToolCall
from wizard.chat.conversation import Stats, TokenLogprob
from wizard.chat.snippet import Request
from wizard.chat.tools.called import Called, put


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of the answer; the last one has ``stats`` and may have no text.

    Attributes:
        text: What to append to the answer; whole characters.
        thought: What to append to the thought, which comes before the answer.
        recast: Whether all text so far was taken for the answer, but is the thought; apply this first.
        stats: Only in the last one.
        note: A remark for the user about this answer (not part of it): a turn was dropped.
        tokens: Tokens generated so far, counted by the server; None if it does not report them.
        logprobs: Of the tokens since the last piece, if requested and reported. They may be ahead of the text, because
            a possible beginning of a stop string is held back.
        request: The request that was sent; only in the first chunk that is not a ``note``. See `wizard.chat.snippet`.
        ttft_s: As in `Stats`; None until text arrives.
        pieces: Pieces with text so far, as in `Stats`.
        at_s: Seconds from sending the request to the arrival of this piece; None for a ``note``.
        calls: Functions that the model calls; only in the last chunk of a request.
        called: The new state of a call; if the call is new, it comes after all text so far, which its ``before`` has.
    """

    text: str
    stats: Stats | None = None
    note: str | None = None
    tokens: int | None = None
    logprobs: tuple[TokenLogprob, ...] = ()
    request: Request | None = None
    ttft_s: float | None = None
    thought: str = ""
    recast: bool = False
    pieces: int | None = None
    at_s: float | None = None
    calls: tuple[ToolCall, ...] = ()
    called: Called | None = None


class Text:
    """The thought, the calls and the answer that chunks make up."""

    def __init__(self) -> None:
        self.calls: tuple[Called, ...] = ()
        self._thought: list[str] = []
        self._answer: list[str] = []

    def add(self, chunk: Chunk) -> None:
        """Append the texts of ``chunk``."""
        if chunk.recast:
            self._thought, self._answer = [*self._thought, *self._answer], []
        if chunk.called:
            known, self.calls = len(self.calls), put(self.calls, chunk.called)
            if len(self.calls) > known:
                self._answer = []
        self._thought.append(chunk.thought)
        self._answer.append(chunk.text)

    @property
    def thought(self) -> str:
        """What the model thought before the answer."""
        return "".join(self._thought).strip()

    @property
    def answer(self) -> str:
        """The answer."""
        return "".join(self._answer)
