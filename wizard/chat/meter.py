"""How much of the model's context a conversation uses: the next prompt, including the draft."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from wizard.chat.conversation import Conversation, Message
from wizard.chat.served import ServedModel
from wizard.chat.tokens import Tokenizer
from wizard.kernel.errors import UsageError

BYTES_PER_TOKEN = 3
"""Common tokenizers have about four bytes of text per token; a lower value is conservative."""
TURN_TOKENS = 8
"""Role names and turn markers around a message."""
ENOUGH_TOKENS = 50
"""From this number of server-counted tokens on, their average replaces the value above."""
LONGEST_COUNTED = 2_000
"""Characters of a draft that are counted at every key; a longer one is estimated until it is sent."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of the next prompt.

    Attributes:
        tokens: Including the draft, and the markers around each message.
        context: The served model's context, for prompt and answer together; None if the server does not report it.
        counted: Whether the model's own tokenizer counted them (with `TURN_TOKENS` for each message's markers);
            otherwise it is an estimate and must be shown as one.
    """

    tokens: int
    context: int | None
    counted: bool

    @property
    def share(self) -> float | None:
        """Share of the context, from 0 to 1 and beyond; None if unknown."""
        return self.tokens / self.context if self.context else None


@dataclass(slots=True)
class Meter:
    """Counts tokens; fast enough for every key press, because it caches the counts of messages.

    Attributes:
        context: Tokens of prompt plus answer; None if unknown.
        encode: The model's own tokenizer; None if there is none.
    """

    context: int | None = None
    encode: Callable[[str], list[int]] | None = None
    _known: dict[str, int] = field(default_factory=dict)

    def usage(self, conversation: Conversation, draft: str = "", *, exact: bool = False) -> Usage:
        """The usage of ``conversation`` with ``draft`` as its next question.

        New messages are tokenized: call it in a thread for a long conversation that was just opened, or for an
        ``exact`` count of a long draft.
        """
        counted = self.encode is not None and (exact or len(draft) <= LONGEST_COUNTED)
        size = bytes_per_token(conversation)
        tokens = sum(self._of(message, size) + TURN_TOKENS for message in conversation.messages)
        if draft:
            tokens += TURN_TOKENS
            tokens += (self._count(draft) if counted else None) or round(len(draft.encode(errors="replace")) / size)
        return Usage(tokens, self.context, counted and self.encode is not None)

    def _of(self, message: Message, size: float) -> int:
        if message.calls:  # the server counted what was generated, not the results
            texts = [text for each in message.calls for text in (each.name, each.arguments, each.result, each.before)]
            characters = sum(len(text.encode(errors="replace")) for text in (*texts, message.content))
            return round(characters / BYTES_PER_TOKEN) + TURN_TOKENS * len(message.calls)
        if message.content not in self._known:
            if (count := self._count(message.content)) is None:
                return _estimate(message, size)
            self._known[message.content] = count
        return self._known[message.content]

    def _count(self, text: str) -> int | None:
        """Tokens of ``text``; None without a tokenizer, which one that takes too long is from then on."""
        try:
            return len(self.encode(text)) if self.encode else None
        except UsageError:
            self.encode = None
            return None


def meter(served: ServedModel) -> Meter:
    """The meter for a served model; reading a tokenizer may take a second."""
    encode = None
    if served.folder:
        with suppress(UsageError):  # the chat itself reports the error, if it needs the tokenizer
            tokenizer = Tokenizer(served.folder, served.name)
            encode = lambda text: tokenizer.encode(text.encode(errors="replace").decode(), begin=False)  # noqa: E731
    return Meter(served.max_seq_len, encode)


def bytes_per_token(conversation: Conversation) -> float:
    """The average of the answers that the server has counted, if there are enough."""
    counted = [each for each in conversation.messages if _counted(each)]
    tokens = sum(map(_counted, counted))
    if tokens < ENOUGH_TOKENS:
        return BYTES_PER_TOKEN
    return sum(len(each.content.encode(errors="replace")) for each in counted) / tokens or BYTES_PER_TOKEN


def _estimate(message: Message, size: float) -> int:
    return _counted(message) or round(len(message.content.encode(errors="replace")) / size)


def _counted(message: Message) -> int:
    """Tokens of an answer as the server counted them, without its thought, which is not sent again; 0 if unknown."""
    stats = message.stats
    if stats is None or stats.thought_pieces:
        return 0
    return max((stats.tokens or 0) - (stats.thought_tokens or 0), 0)
