"""A conversation as a value.

`wizard.kernel.values.to_json` writes a conversation and `from_json` reads it; `to_markdown` is for reading.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from wizard.chat.image_references import shown
from wizard.chat.tools.called import Called
from wizard.chat.tools.text import as_markdown
from wizard.kernel.errors import UsageError
from wizard.kernel.language import mark, tr
from wizard.kernel.text import one_line

Role: TypeAlias = Literal["system", "user", "assistant"]

SHORTEST_S = 0.05
"""Text that arrived in less time gives no useful rate: a screen that was being drawn sees it as a single burst.
(Measured: the demo's 39 tokens, which take 22 ms, were read within 11 ms after a first one that had waited.)
"""
LONGEST_TITLE = 60


@dataclass(frozen=True, slots=True)
class Stats:
    """Measurements on the client side.

    Attributes:
        tokens: Generated tokens as the server counted them; None where it does not count them.
        ttft_s: Seconds from sending the prompt to the first piece of text (time to first token); None if none arrived.
        total_s: Seconds from sending to the end.
        finish: ``stop``, ``length``, ``gate`` (a confidence gate answered), ``cancelled``; ``end`` if the server does
            not report the reason.
        thought_tokens: Those of ``tokens`` that are not the answer's: of the thought and its markers; None if there is
            no thought, or the server does not count.
        thought_s: Seconds from the first token to the end of the thought; None if there is none.
        answer_s: Seconds from sending to the first text of the answer; None if none arrived.
        pieces: Pieces in which the text arrived, where the server does not count its tokens; most servers send one
            for each token.
        thought_pieces: Those in which the thought arrived, where the server does not count the thought's tokens.
        rate: Decoding rate, if it is not that of a single request: of an answer with tool calls, see `decoding_rate`.
    """

    tokens: int | None
    ttft_s: float | None
    total_s: float
    finish: str
    thought_tokens: int | None = None
    thought_s: float | None = None
    answer_s: float | None = None
    pieces: int | None = None
    thought_pieces: int | None = None
    rate: float | None = None

    @property
    def tokens_per_s(self) -> float | None:
        """The `decoding_rate` of the tokens; None for fewer than two, or if they are not counted."""
        return self._rate(self.tokens)

    @property
    def pieces_per_s(self) -> float | None:
        """The same for the pieces of the stream."""
        return self._rate(self.pieces)

    def _rate(self, count: int | None) -> float | None:
        if count is None or self.rate is not None:
            return None if count is None else self.rate
        return decoding_rate(((count, self.ttft_s, self.total_s),))


def decoding_rate(requests: Iterable[tuple[int, float | None, float]]) -> float | None:
    """Tokens after the first one of each request, divided by the time after it. If that time is too short to be
    meaningful: all tokens divided by the total time, which never overstates the rate. Requests whose first token was
    not seen do not count: those that only call tools.

    Args:
        requests: Of each, its tokens, seconds to the first of them (or None), and seconds to the end.
    """
    seen = [(count, first, end) for count, first, end in requests if first is not None]
    tokens, total_s = sum(count for count, _, _ in seen), sum(end for _, _, end in seen)
    after, after_s = sum(max(count - 1, 0) for count, _, _ in seen), sum(end - first for _, first, end in seen)
    if after < 1 or total_s <= 0:
        return None
    return after / after_s if after_s >= SHORTEST_S else tokens / total_s


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a turn: a question and its answer.

    Attributes:
        question: The question of this version.
        answer: Empty if none arrived.
        stats: Of the answer; None if it was stopped or imported.
        at: When it ended, in seconds since 1970 (UTC); 0 if unknown.
        thought: What the model thought before it.
        model: As in `Message`.
        calls: As in `Message`.
    """

    question: str
    answer: str
    stats: Stats | None = None
    at: float = 0.0
    thought: str = ""
    model: str = ""
    calls: tuple[Called, ...] = ()


@dataclass(frozen=True, slots=True)
class Message:
    """A message.

    Attributes:
        role: The author's role.
        content: The text.
        stats: Of an answer; None if it was stopped or imported.
        at: When it was sent, or ended, in seconds since 1970 (UTC); 0 if unknown.
        versions: Of a question: other versions of this turn (regenerated, edited), in any order.
        thought: Of an answer: what the model thought before it. It is not sent again.
        model: Of an answer: the model that gave it, by the name that the user knows; empty if unknown.
        calls: Of an answer: the tools that the model called before it.
    """

    role: Role
    content: str
    stats: Stats | None = None
    at: float = 0.0
    versions: tuple[Version, ...] = ()
    thought: str = ""
    model: str = ""
    calls: tuple[Called, ...] = ()

    def version(self, question: str) -> Version:
        """This answer to ``question``, as a version of the turn."""
        return Version(question, self.content, self.stats, self.at, self.thought, self.model, self.calls)


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling settings; None means the served model's default.

    Attributes:
        temperature: 0 always selects the most likely token.
        top_p: Share of probability to sample from.
        max_tokens: Maximum number of tokens of the thought and the answer; None: `ServedModel.answer_limit`.
        seed: The same seed gives the same answer if the engine supports it.
        top_k: Number of most likely tokens to sample from; 0 means all.
        min_p: Tokens less probable than this share of the highest probability are excluded.
        repetition_penalty: Divides the scores of repeated tokens; 1 means no penalty.
        presence_penalty: Subtracted from the scores of repeated tokens.
        frequency_penalty: The same for each repetition.
        stop: Stop strings in addition to the model's own.
        logprobs: Report each token's log probability, and this number of alternatives; None reports nothing.
        thinking: ``off``, ``on``, a level (`LEVELS`) or a number of tokens, if the model's chat template can be told.
    """

    temperature: float | None = None
    top_p: float = 0.95
    max_tokens: int | None = None
    seed: int | None = None
    top_k: int | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    stop: tuple[str, ...] = ()
    logprobs: int | None = None
    thinking: str | None = None

    def check(self) -> None:
        """Check that every value is in the range that servers accept.

        Raises:
            UsageError: TW-C08, naming the first invalid value.
        """
        for name, (low, high, range_text) in _RANGES.items():
            value = getattr(self, name)
            if value is not None and not low <= value <= high:
                raise UsageError(
                    "TW-C08",
                    tr("{name} {value} is out of range", name=name, value=value),
                    tr("Valid values for {name}: {range}.", name=name, range=tr(range_text)),
                )
        if self.thinking is not None and (wrong := thinking_problem(self.thinking)):
            raise UsageError(
                "TW-C08", tr("{name} {value} is out of range", name="thinking", value=self.thinking), wrong
            )


LEVELS = ("minimal", "low", "medium", "high", "max")
"""How much a model thinks, from the least on."""
LONGEST_BUDGET = 7
"""Digits of a number of tokens to think."""


def thinking_problem(value: str) -> str:
    """What is wrong with a value of `Sampling.thinking`; empty if it is valid."""
    if value in ("off", "on", *LEVELS) or (value.isascii() and value.isdecimal() and len(value) <= LONGEST_BUDGET):
        return ""
    return tr("Use off, on, {levels}, or a number of tokens.", levels=", ".join(LEVELS))


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
"""Setting → minimum, maximum (both inclusive) and the range in words. OpenAI's ranges if it has the setting
(platform.openai.com/docs/api-reference/chat), vLLM's ``SamplingParams`` for the others.
"""


def excerpt(text: str) -> str:
    """The beginning of a message's text, on a single line."""
    text = one_line(shown(text[: 10 * LONGEST_TITLE]))
    return text if len(text) <= LONGEST_TITLE else text[: LONGEST_TITLE - 1].rstrip() + "…"


@dataclass(frozen=True, slots=True)
class Conversation:
    """The messages so far and the sampling settings."""

    messages: tuple[Message, ...] = ()
    sampling: Sampling = field(default_factory=Sampling)

    def with_message(
        self,
        role: Role,
        content: str,
        *,
        stats: Stats | None = None,
        at: float = 0.0,
        thought: str = "",
        model: str = "",
        calls: tuple[Called, ...] = (),
    ) -> Conversation:
        """The conversation with one more message; see `Message`."""
        message = Message(role, content, stats, at, thought=thought, model=model, calls=calls)
        return replace(self, messages=(*self.messages, message))

    def to_send(self) -> Conversation:
        """The conversation as a model gets it: without turns in which it only thought, and without thoughts.

        Most chat templates drop the thoughts of earlier turns, or keep them only after tool calls, and a chat has none.
        Those of Kimi K3, MiniMax M3, Seed-OSS and a few others would keep them, if they got them.
        """
        blank = {
            place
            for place, each in enumerate(self.messages)
            if each.role == "assistant" and each.thought and not (each.content.strip() or each.calls)
        }
        kept = (each for place, each in enumerate(self.messages) if not {place, place + 1} & blank)
        return replace(self, messages=tuple(replace(each, thought="") for each in kept))

    @property
    def system(self) -> str:
        """The system prompt; empty if there is none."""
        return self.messages[0].content if self.messages and self.messages[0].role == "system" else ""

    def with_system(self, text: str) -> Conversation:
        """The conversation with a new system prompt, or none if ``text`` is empty."""
        others = tuple(message for message in self.messages if message.role != "system")
        return replace(self, messages=((Message("system", text),) if text else ()) + others)

    @property
    def title(self) -> str:
        """The beginning of the first question, on a single line; empty if there is none."""
        return excerpt(next((each.content for each in self.messages if each.role == "user"), ""))

    def asked_again(self, question: str | None = None) -> Conversation:
        """The conversation up to the last question, unanswered: the same one, or edited; the old turn is kept as a
        version.

        Raises:
            UsageError: TW-C18 if there is no question yet.
        """
        place = self._last_question()
        last, answer = self.messages[place], self.messages[place + 1 : place + 2]
        versions = last.versions
        if answer:
            versions = (*versions, answer[0].version(last.content))
        again = replace(last, content=last.content if question is None else question, versions=versions)
        return replace(self, messages=(*self.messages[:place], again))

    def versions(self) -> tuple[tuple[Version, ...], int]:
        """All versions of the last turn, oldest first, and the index of the current one.

        Raises:
            UsageError: TW-C18 if there is no question yet.
        """
        place = self._last_question()
        last, answer = self.messages[place], self.messages[place + 1 : place + 2]
        now = answer[0].version(last.content) if answer else Version(last.content, "")
        if not answer:
            return (*sorted(last.versions, key=lambda version: version.at), now), len(last.versions)
        versions = sorted((*last.versions, now), key=lambda version: version.at)
        return tuple(versions), next(index for index, version in enumerate(versions) if version is now)

    def chosen(self, index: int) -> Conversation:
        """The conversation with version ``index`` of `versions` as the last turn; the others are kept as versions.

        Raises:
            UsageError: TW-C18 if there is no question yet, or the version is unknown.
        """
        versions, now = self.versions()
        if not 0 <= index < len(versions):
            raise UsageError(
                "TW-C18",
                tr("the last turn has no version {number}", number=index + 1),
                tr("Enter a number from 1 to {count}.", count=len(versions)),
            )
        version = versions[index]
        others = tuple(
            each
            for place, each in enumerate(versions)
            if place != index and (each.answer or each.thought or each.calls or place != now)
        )
        place = self._last_question()
        question = replace(self.messages[place], content=version.question, versions=others)
        model, calls = version.model, version.calls
        answer = Message(
            "assistant", version.answer, version.stats, version.at, thought=version.thought, model=model, calls=calls
        )
        there = (answer,) if answer.content or answer.thought or answer.calls else ()
        return replace(self, messages=(*self.messages[:place], question, *there))

    def _last_question(self) -> int:
        for place in reversed(range(len(self.messages))):
            if self.messages[place].role == "user":
                return place
        raise UsageError("TW-C18", tr("no question yet"), tr("Ask a question first."))

    def without_open_question(self) -> Conversation:
        """The conversation without a last question that has no answer; chat templates require alternating turns.

        A question that was sent again gets back its last answer.
        """
        if not self.messages or self.messages[-1].role != "user":
            return self
        if versions := self.messages[-1].versions:
            return self.chosen(len(versions) - 1)
        return replace(self, messages=self.messages[:-1])

    def without_oldest_turn(self) -> Conversation | None:
        """The conversation without its first turn, with its system prompt; None if a single question is left."""
        kept = self.messages[:1] if self.messages and self.messages[0].role == "system" else ()
        for index in range(len(kept) + 1, len(self.messages)):
            if self.messages[index].role == "user":
                return replace(self, messages=(*kept, *self.messages[index:]))
        return None

    def to_markdown(self) -> str:
        """The messages under headings, which name the models if there are several; thoughts are folded."""
        several = len(models(self.messages)) > 1
        return "\n".join(
            f"## {message.role.title()}{f' ({one_line(message.model)})' if several and message.model else ''}\n\n"
            f"{_folded(message.thought)}{as_markdown(message.calls)}{message.content.strip()}\n"
            for message in self.messages
        )


def models(messages: Iterable[Message]) -> tuple[str, ...]:
    """The models that answered, in the order of their first answers."""
    return tuple(dict.fromkeys(message.model for message in messages if message.model))


def _folded(thought: str) -> str:
    if not thought:
        return ""
    return f"<details>\n<summary>{tr('Thinking')}</summary>\n\n{thought.strip()}\n\n</details>\n\n"


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """A generated token and its probability.

    Attributes:
        text: The token's text; a partial character is shown as U+FFFD.
        logprob: Natural logarithm of its probability.
        top: The most likely tokens at its position with theirs, the most likely first; empty if the server reports
            none.
    """

    text: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()
