"""Text out of responses: what the answer is of what an engine sends, whole characters of it, up to where it stops.

Engines differ in three ways. Some send the prompt in front of the answer; some send everything again with every
response; some send the stop text, too. Each has a filter here. A filter gets text as it comes, in pieces of any size,
and gives what is sure already; ``rest`` gives what it held back when there is no more to come.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

REPLACEMENT = "\ufffd"
"""What a decoder writes for bytes that are no whole character (yet)."""

ResponseMode: TypeAlias = Literal["delta", "cumulative", "either"]


class DeltaFilter:
    """New text out of responses that hold what is new (``delta``), everything so far (``cumulative``), or ``either``.

    In the last case a response that does not begin with the one before it shows that they are deltas, and one that
    has grown twice and begins with all before it shows that they are cumulative. Until then only that is given in
    which both agree. The guess may be wrong ("ha", "haha", "hahaha!" can be deltas), so what should be everything
    so far and is not is taken as new.
    """

    def __init__(self, mode: ResponseMode) -> None:
        self._mode = mode
        self._last = ""  # the last response that had a text
        self._joined = ""  # all responses one after the other
        self._given = 0  # characters given
        self._growths = 0

    def feed(self, text: str) -> str:
        """What is new in the response ``text``, as far as it is sure."""
        if self._mode == "delta":
            return text
        if self._mode == "either" and text:
            self._judge(text)
        if self._mode != "cumulative":
            self._joined += text
        elif not self._goes_on(text):
            text = self._last + text
        self._last = text or self._last
        if self._mode == "either":
            return self._give(_common(self._last, self._joined).rstrip(REPLACEMENT))
        # The character at the end may be half: engines that decode everything anew fix it in the next response.
        return self._give(self._last.rstrip(REPLACEMENT) if self._mode == "cumulative" else self._joined)

    def rest(self) -> str:
        """What was held back."""
        return self._give(self._joined if self._mode == "delta" else self._last)

    def _judge(self, text: str) -> None:
        before = self._last.rstrip(REPLACEMENT)
        if not text.startswith(before):
            self._mode = "delta"
        elif before and len(text) > len(before):
            self._growths += 1
            if self._growths == 2:
                self._mode = "cumulative"

    def _goes_on(self, text: str) -> bool:
        """Whether ``text`` is the last response and more; a tokenizer that cleans up may have fixed its end."""
        before = self._last.rstrip(REPLACEMENT)
        return not text or 2 * len(_common(before, text)) >= len(before)

    def _give(self, known: str) -> str:
        new = known[self._given :]
        self._given += len(new)
        return new


def _common(first: str, second: str) -> str:
    """What both begin with."""
    shorter = min(len(first), len(second))
    return first[: next((place for place in range(shorter) if first[place] != second[place]), shorter)]


class EchoFilter:
    """Takes the prompt away from the front of an answer, if it is there.

    An engine gives the prompt back as its tokenizer decodes it: without special tokens, and with other white space.
    White space between it and the answer belongs to the prompt.
    """

    def __init__(self, prompt: str, special: str) -> None:
        texts = (prompt, re.sub(special, "", prompt)) if special else (prompt,)
        self._wanted = [marks for text in texts if (marks := "".join(text.split()))]
        self._held = ""
        self._after = False  # the prompt was there, and the answer has not begun yet

    def feed(self, text: str) -> str:
        """What is known to come after the prompt, or not to be it."""
        if not self._wanted:
            return self._begun(text)
        self._held += text
        marks = "".join(self._held.split())
        for echo in self._wanted:
            if marks.startswith(echo):
                self._after = True
                return self._begun(_without(self.rest(), len(echo)))
        if any(echo.startswith(marks) for echo in self._wanted):
            return ""
        return self.rest()

    def rest(self) -> str:
        """What was held back: the beginning of the prompt, and no more than that."""
        self._wanted = []
        held, self._held = self._held, ""
        return held

    def _begun(self, text: str) -> str:
        if self._after:
            text = text.lstrip()
            self._after = not text
        return text


def _without(text: str, marks: int) -> str:
    """``text`` without its first ``marks`` characters that are no white space, and what lies between them."""
    for index, character in enumerate(text):
        if not character.isspace():
            marks -= 1
        if not marks:
            return text[index + 1 :]
    return ""


class StopFilter:
    """Ends an answer at the first stop text, which is no part of it."""

    def __init__(self, texts: tuple[str, ...]) -> None:
        self._texts = tuple(text for text in texts if text)
        self._held = ""
        self.reached = False

    def feed(self, text: str) -> str:
        """What can be no part of a stop text; nothing once one was found."""
        if self.reached:
            return ""
        held = self._held + text
        places = [place for each in self._texts if (place := held.find(each)) >= 0]
        if places:
            self.reached, self._held = True, ""
            return held[: min(places)]
        keep = max((_overlap(held, each) for each in self._texts), default=0)
        self._held = held[len(held) - keep :]
        return held[: len(held) - keep]

    def rest(self) -> str:
        """What was held back: the beginning of a stop text that never came."""
        held, self._held = self._held, ""
        return held


def _overlap(text: str, stop: str) -> int:
    """Characters at the end of ``text`` with which ``stop`` begins."""
    return next((size for size in range(min(len(text), len(stop) - 1), 0, -1) if stop.startswith(text[-size:])), 0)
