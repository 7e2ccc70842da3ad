"""Filters for the text of responses: extract the answer from an engine's output, in whole characters, up to a stop
string.

Engines differ in three ways. Some send the prompt in front of the answer; some send everything again with every
response; some send the stop string, too. Each has a filter here. A filter gets text in pieces of any size, and returns
the part that is certain; ``rest`` returns what it held back at the end.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

REPLACEMENT = "\ufffd"
"""What a decoder writes for bytes that are no whole character (yet)."""

ResponseMode: TypeAlias = Literal["delta", "cumulative", "either"]


class DeltaFilter:
    """The new text of responses that have only new text (``delta``), everything so far (``cumulative``), or ``either``.

    In the last case a response that does not begin with the one before it shows that they are deltas, and one that has
    grown twice and begins with all before it shows that they are cumulative. Until then only text in which both agree
    is returned. The guess may be wrong ("ha", "haha", "hahaha!" can be deltas), so a response that should be cumulative
    and is not counts as new text.
    """

    def __init__(self, mode: ResponseMode) -> None:
        self._mode = mode
        self._last = ""  # the last response with text
        self._joined = ""  # all responses concatenated
        self._given = 0  # characters returned
        self._growths = 0

    def feed(self, text: str) -> str:
        """The new text in the response ``text``, as far as it is certain."""
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
        # The last character may be partial: engines that decode everything again fix it in the next response.
        return self._give(self._last.rstrip(REPLACEMENT) if self._mode == "cumulative" else self._joined)

    def rest(self) -> str:
        """The text that was held back."""
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
        """Whether ``text`` continues the last response; a tokenizer that cleans up may have changed its end."""
        before = self._last.rstrip(REPLACEMENT)
        return not text or 2 * len(_common(before, text)) >= len(before)

    def _give(self, known: str) -> str:
        new = known[self._given :]
        self._given += len(new)
        return new


def _common(first: str, second: str) -> str:
    """The common prefix."""
    shorter = min(len(first), len(second))
    return first[: next((place for place in range(shorter) if first[place] != second[place]), shorter)]


class EchoFilter:
    """Removes the prompt from the front of an answer, if it is there.

    An engine returns the prompt as its tokenizer decodes it: without special tokens, and with different whitespace.
    Whitespace between it and the answer belongs to the prompt.
    """

    def __init__(self, prompt: str, special: str) -> None:
        texts = (prompt, re.sub(special, "", prompt)) if special else (prompt,)
        self._wanted = [marks for text in texts if (marks := "".join(text.split()))]
        self._held = ""
        self._after = False  # the prompt is complete, and the answer has not begun yet

    def feed(self, text: str) -> str:
        """Text that is known to come after the prompt, or not to be the prompt."""
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
        """The text that was held back: at most the beginning of the prompt."""
        self._wanted = []
        held, self._held = self._held, ""
        return held

    def _begun(self, text: str) -> str:
        if self._after:
            text = text.lstrip()
            self._after = not text
        return text


def _without(text: str, marks: int) -> str:
    """``text`` without its first ``marks`` non-whitespace characters, and the whitespace between them."""
    for index, character in enumerate(text):
        if not character.isspace():
            marks -= 1
        if not marks:
            return text[index + 1 :]
    return ""


class StopFilter:
    """Ends an answer at the first stop string, which is removed."""

    def __init__(self, texts: tuple[str, ...]) -> None:
        self._texts = tuple(text for text in texts if text)
        self._held = ""
        self.reached = False

    def feed(self, text: str) -> str:
        """Text that cannot be part of a stop string; empty once a stop string was found."""
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
        """The text that was held back: an incomplete stop string."""
        held, self._held = self._held, ""
        return held


def _overlap(text: str, stop: str) -> int:
    """Length of the longest end of ``text`` that is a beginning of ``stop``."""
    return next((size for size in range(min(len(text), len(stop) - 1), 0, -1) if stop.startswith(text[-size:])), 0)
