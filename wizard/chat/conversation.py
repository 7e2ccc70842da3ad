"""A conversation and the pieces of an answer, as values."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal


@dataclass(frozen=True, slots=True)
class Message:
    """One message."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are chosen. Temperature 0 takes the likeliest token each time."""

    temperature: float = 0.7
    top_p: float = 0.95
    max_tokens: int = 512
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages so far and how to answer the last one."""

    messages: tuple[Message, ...] = ()
    sampling: Sampling = field(default_factory=Sampling)

    def said(self, role: Literal["system", "user", "assistant"], content: str) -> Conversation:
        """The conversation with one more message."""
        return replace(self, messages=(*self.messages, Message(role, content)))


@dataclass(frozen=True, slots=True)
class Stats:
    """Measured on this side of the wire.

    Attributes:
        tokens: Generated tokens as the server counted them.
        ttft_s: Seconds from sending the prompt to the first piece of text (time to first token); None if none came.
        total_s: Seconds from sending to the end.
        finish: ``stop``, ``length``, ``gate`` (a confidence gate answered), ``cancelled``.
    """

    tokens: int
    ttft_s: float | None
    total_s: float
    finish: str

    @property
    def tokens_per_s(self) -> float | None:
        """Decoding rate: tokens after the first by the time after the first; None for fewer than two tokens."""
        if self.ttft_s is None or self.tokens < 2 or self.total_s <= self.ttft_s:
            return None
        return (self.tokens - 1) / (self.total_s - self.ttft_s)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of the answer; the last one has ``stats`` and may have no text."""

    text: str
    stats: Stats | None = None
