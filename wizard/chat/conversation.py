"""A conversation and the pieces of an answer, as values.

`wizard.kernel.values.to_json` writes a conversation and `from_json` reads it; `to_markdown` is for people.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Literal, TypeAlias

from wizard.kernel.errors import UsageError

Role: TypeAlias = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are chosen. Temperature 0 takes the likeliest token each time; None is the served model's default."""

    temperature: float | None = None
    top_p: float = 0.95
    max_tokens: int = 512
    seed: int | None = None

    def check(self) -> None:
        """Check that every value is in the range that the server takes.

        Raises:
            UsageError: TW-C08, naming the first that is not.
        """
        checks = (
            (
                "temperature",
                self.temperature,
                self.temperature is None or 0 <= self.temperature <= 2,
                "from 0 to 2",
            ),
            ("top-p", self.top_p, 0 < self.top_p <= 1, "over 0 and at most 1"),
            ("max tokens", self.max_tokens, 1 <= self.max_tokens < 2**31, "1 or more"),
            ("seed", self.seed, self.seed is None or 0 <= self.seed < 2**64, "from 0 to 2^64 - 1"),
        )
        for name, value, good, wanted in checks:
            if not good:
                raise UsageError("TW-C08", f"{name} {value} is out of range", f"Give {name} as a number {wanted}.")


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages so far and how to answer the last one."""

    messages: tuple[Message, ...] = ()
    sampling: Sampling = field(default_factory=Sampling)

    def said(self, role: Role, content: str) -> Conversation:
        """The conversation with one more message."""
        return replace(self, messages=(*self.messages, Message(role, content)))

    def without_open_question(self) -> Conversation:
        """Without a last question that never got an answer; chat templates want turns to alternate."""
        if self.messages and self.messages[-1].role == "user":
            return replace(self, messages=self.messages[:-1])
        return self

    def without_oldest_turn(self) -> Conversation | None:
        """The conversation up to its second question left out, its system prompt kept; None if one question is left."""
        kept = self.messages[:1] if self.messages and self.messages[0].role == "system" else ()
        for index in range(len(kept) + 1, len(self.messages)):
            if self.messages[index].role == "user":
                return replace(self, messages=(*kept, *self.messages[index:]))
        return None

    def to_markdown(self) -> str:
        """The messages under headings."""
        return "\n".join(f"## {message.role.title()}\n\n{message.content.strip()}\n" for message in self.messages)


def conversation(answers: Mapping[str, object]) -> Conversation:
    """An empty conversation with the settings that ``answers`` give; the served model's own where they give none.

    Args:
        answers: ``system`` and the fields of `Sampling`; None, and what is something else, counts as not given.
    """
    given = {one.name: value for one in fields(Sampling) if (value := answers.get(one.name)) is not None}
    system = answers.get("system")
    return Conversation((Message("system", str(system)),) if system else (), Sampling(**given))  # type: ignore[arg-type]  # whoever asked checked


SHORTEST_S = 0.01
"""An answer that came in a shorter time arrived as one burst, which says nothing of the rate."""


@dataclass(frozen=True, slots=True)
class Stats:
    """Measured on this side of the wire.

    Attributes:
        tokens: Generated tokens as the server counted them; None where it does not count them.
        ttft_s: Seconds from sending the prompt to the first piece of text (time to first token); None if none came.
        total_s: Seconds from sending to the end.
        finish: ``stop``, ``length``, ``gate`` (a confidence gate answered), ``cancelled``; ``end`` where the server
            does not say why.
    """

    tokens: int | None
    ttft_s: float | None
    total_s: float
    finish: str

    @property
    def tokens_per_s(self) -> float | None:
        """Decoding rate: tokens after the first by the time after the first; None for fewer than two tokens.

        Where that time is too short to mean anything, all tokens by the whole time: never more than the model did.
        """
        if self.ttft_s is None or self.tokens is None or self.tokens < 2 or self.total_s <= 0:
            return None
        if self.total_s - self.ttft_s < SHORTEST_S:
            return self.tokens / self.total_s
        return (self.tokens - 1) / (self.total_s - self.ttft_s)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of the answer; the last one has ``stats`` and may have no text.

    Attributes:
        text: What to append to the answer; whole characters.
        stats: Only in the last one.
        note: Something that the user should know about this answer (and no part of it): a turn that was left out.
        tokens: Generated so far, as the server counts them; None where it does not say.
    """

    text: str
    stats: Stats | None = None
    note: str | None = None
    tokens: int | None = None
