"""Log probabilities of tokens, in the servers' formats."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from wizard.chat.conversation import TokenLogprob


def of_openai(entries: Iterable[Mapping[str, Any]]) -> tuple[TokenLogprob, ...]:
    """``choices[0].logprobs.content`` of a chat completion (platform.openai.com/docs/api-reference/chat).

    Raises:
        KeyError, TypeError, ValueError, AttributeError: It has another format.
    """
    return tuple(
        TokenLogprob(
            str(each["token"]),
            float(each["logprob"]),
            tuple(
                (str(candidate["token"]), float(candidate["logprob"])) for candidate in each.get("top_logprobs") or ()
            ),
        )
        for each in entries
    )


def of_own(text: str) -> tuple[TokenLogprob, ...]:
    """The output ``logprobs`` of the wizard's own models: JSON, ``[[token, logprob, [[token, logprob], ...]], ...]``.

    Raises:
        KeyError, TypeError, ValueError: It has another format.
    """
    return tuple(
        TokenLogprob(str(token), float(logprob), tuple((str(candidate), float(value)) for candidate, value in top))
        for token, logprob, top in json.loads(text or "[]")
    )
