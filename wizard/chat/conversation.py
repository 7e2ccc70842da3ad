"""A conversation as a value.

`wizard.kernel.values.to_json` writes a conversation and `from_json` reads it; `to_markdown` is for people.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Literal, TypeAlias

from wizard.kernel.errors import UsageError
from wizard.kernel.language import mark, tr
from wizard.kernel.text import one_line

Role: TypeAlias = Literal["system", "user", "assistant"]

SHORTEST_S = 0.05
"""Text that came in a shorter time says nothing of the rate: a screen that was just being drawn saw it as one burst.
(Measured: the demo's 39 tokens, which take it 22 ms, were read within 11 ms after a first one that had waited.)"""
LONGEST_TITLE = 60


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
class Version:
    """One way in which a turn went: a question and its answer.

    Attributes:
        question: As it was asked then.
        answer: Empty if none came.
        stats: Of the answer; None if it was stopped or is from elsewhere.
        at: When it ended, in seconds since 1970 (UTC); 0 if that is not known.
    """

    question: str
    answer: str
    stats: Stats | None = None
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Message:
    """One message.

    Attributes:
        role: Who said it.
        content: What was said.
        stats: Of an answer; None if it was stopped or is from elsewhere.
        at: When it was said, or ended, in seconds since 1970 (UTC); 0 if that is not known.
        versions: Of a question: the other ways in which this turn went (regenerated, edited), in any order.
    """

    role: Role
    content: str
    stats: Stats | None = None
    at: float = 0.0
    versions: tuple[Version, ...] = ()


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are chosen; None is the served model's default.

    Attributes:
        temperature: 0 takes the likeliest token each time.
        top_p: Share of probability that is chosen from.
        max_tokens: Longest answer.
        seed: The same one gives the same answer where the engine can do that.
        top_k: As many of the likeliest tokens are chosen from; 0 is all.
        min_p: Tokens less probable than this share of the likeliest one's probability are left out.
        repetition_penalty: Divides the scores of tokens that were there before; 1 is none.
        presence_penalty: Taken off the scores of tokens that were there before.
        frequency_penalty: The same for each time that they were there.
        stop: Texts that end the answer, beside the model's own.
        logprobs: Report each token's log-probability, and as many alternatives; None reports nothing.
    """

    temperature: float | None = None
    top_p: float = 0.95
    max_tokens: int = 512
    seed: int | None = None
    top_k: int | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    stop: tuple[str, ...] = ()
    logprobs: int | None = None

    def check(self) -> None:
        """Check that every value is in the range that servers take.

        Raises:
            UsageError: TW-C08, naming the first that is not.
        """
        for name, (low, high, range_text) in _RANGES.items():
            value = getattr(self, name)
            if value is not None and not low <= value <= high:
                raise UsageError(
                    "TW-C08",
                    tr("{name} {value} is out of range", name=name, value=value),
                    tr("Set {name} to a number {range}.", name=name, range=tr(range_text)),
                )


_LEAST = 5e-324
_RANGES = {
    "temperature": (0, 2, mark("from 0 to 2")),
    "top_p": (_LEAST, 1, mark("above 0 and at most 1")),
    "max_tokens": (1, 2**31 - 1, mark("1 or more")),
    "seed": (0, 2**64 - 1, mark("from 0 to 2^64 - 1")),
    "top_k": (0, 2**31 - 1, mark("0 or more")),
    "min_p": (0, 1, mark("from 0 to 1")),
    "repetition_penalty": (_LEAST, 2, mark("above 0 and at most 2")),
    "presence_penalty": (-2, 2, mark("from -2 to 2")),
    "frequency_penalty": (-2, 2, mark("from -2 to 2")),
    "logprobs": (0, 20, mark("from 0 to 20")),
}
"""Setting → least, greatest (both are taken) and the range in words. OpenAI's ranges where it has the setting
(platform.openai.com/docs/api-reference/chat), vLLM's ``SamplingParams`` for the others."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages so far and how to answer the last one."""

    messages: tuple[Message, ...] = ()
    sampling: Sampling = field(default_factory=Sampling)

    def with_message(self, role: Role, content: str, *, stats: Stats | None = None, at: float = 0.0) -> Conversation:
        """The conversation with one more message; see `Message`."""
        return replace(self, messages=(*self.messages, Message(role, content, stats, at)))

    @property
    def system(self) -> str:
        """The system prompt; empty if there is none."""
        return self.messages[0].content if self.messages and self.messages[0].role == "system" else ""

    def with_system(self, text: str) -> Conversation:
        """With another system prompt, or none if ``text`` is empty."""
        others = tuple(message for message in self.messages if message.role != "system")
        return replace(self, messages=((Message("system", text),) if text else ()) + others)

    @property
    def title(self) -> str:
        """The beginning of the first question, on one line; empty if nothing was asked."""
        first = next((each.content for each in self.messages if each.role == "user"), "")
        text = one_line(first[: 10 * LONGEST_TITLE])
        return text if len(text) <= LONGEST_TITLE else text[: LONGEST_TITLE - 1].rstrip() + "…"

    def asked_again(self, question: str | None = None) -> Conversation:
        """Up to the last question, open again: the same one, or edited; how the turn went is kept as a version.

        Raises:
            UsageError: TW-C18 if nothing was asked yet.
        """
        place = self._last_question()
        last, answer = self.messages[place], self.messages[place + 1 : place + 2]
        versions = last.versions
        if answer:
            versions = (*versions, Version(last.content, answer[0].content, answer[0].stats, answer[0].at))
        again = replace(last, content=last.content if question is None else question, versions=versions)
        return replace(self, messages=(*self.messages[:place], again))

    def versions(self) -> tuple[tuple[Version, ...], int]:
        """All ways in which the last turn went, oldest first, and which of them is the present one.

        Raises:
            UsageError: TW-C18 if nothing was asked yet.
        """
        place = self._last_question()
        last, answer = self.messages[place], self.messages[place + 1 : place + 2]
        now = Version(last.content, *((answer[0].content, answer[0].stats, answer[0].at) if answer else ("",)))
        if not answer:
            return (*sorted(last.versions, key=lambda version: version.at), now), len(last.versions)
        versions = sorted((*last.versions, now), key=lambda version: version.at)
        return tuple(versions), next(index for index, version in enumerate(versions) if version is now)

    def chosen(self, index: int) -> Conversation:
        """With version ``index`` of `versions` as how the last turn went; the others stay versions.

        Raises:
            UsageError: TW-C18 if nothing was asked yet, or there is no such version.
        """
        versions, now = self.versions()
        if not 0 <= index < len(versions):
            raise UsageError(
                "TW-C18",
                tr("the last turn has no version {number}", number=index + 1),
                tr("Enter a number from 1 to {count}.", count=len(versions)),
            )
        version = versions[index]
        others = tuple(each for place, each in enumerate(versions) if place != index and (each.answer or place != now))
        place = self._last_question()
        question = replace(self.messages[place], content=version.question, versions=others)
        answer = (Message("assistant", version.answer, version.stats, version.at),) if version.answer else ()
        return replace(self, messages=(*self.messages[:place], question, *answer))

    def _last_question(self) -> int:
        for place in reversed(range(len(self.messages))):
            if self.messages[place].role == "user":
                return place
        raise UsageError("TW-C18", tr("no question yet"), tr("Ask a question first."))

    def without_open_question(self) -> Conversation:
        """Without a last question that never got an answer; chat templates want turns to alternate.

        One that was asked again goes back to its last answer.
        """
        if not self.messages or self.messages[-1].role != "user":
            return self
        if versions := self.messages[-1].versions:
            return self.chosen(len(versions) - 1)
        return replace(self, messages=self.messages[:-1])

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
    given = {each.name: value for each in fields(Sampling) if (value := answers.get(each.name)) is not None}
    if "stop" in given:
        given["stop"] = (given["stop"],) if isinstance(given["stop"], str) else tuple(given["stop"])  # type: ignore[arg-type]
    system = answers.get("system")
    return Conversation((Message("system", str(system)),) if system else (), Sampling(**given))  # type: ignore[arg-type]  # whoever asked checked


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """One generated token and how probable it was.

    Attributes:
        text: Of the token; a part of a character is shown as U+FFFD.
        logprob: Natural logarithm of its probability.
        top: The likeliest tokens at its place with theirs, the likeliest first; empty where the server gives none.
    """

    text: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()
