"""The pieces of an answer, as they come."""

from __future__ import annotations

from dataclasses import dataclass

from wizard.chat.conversation import Stats, TokenLogprob
from wizard.chat.snippet import Request


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of the answer; the last one has ``stats`` and may have no text.

    Attributes:
        text: What to append to the answer; whole characters.
        stats: Only in the last one.
        note: Something that the user should know about this answer (and no part of it): a turn that was left out.
        tokens: Generated so far, as the server counts them; None where it does not say.
        logprobs: Of tokens since the last piece, where they were asked for and the server gives them. They may be
            ahead of the text, of which the beginning of a stop text is held back.
        request: What was sent; only in the first one that is no ``note``. See `wizard.chat.snippet`.
        ttft_s: Of this answer as in `Stats`; None while no text came.
    """

    text: str
    stats: Stats | None = None
    note: str | None = None
    tokens: int | None = None
    logprobs: tuple[TokenLogprob, ...] = ()
    request: Request | None = None
    ttft_s: float | None = None
