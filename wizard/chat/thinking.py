"""Split a model's text into its thought and its answer, as it streams.

A thought comes before the answer, between markers that depend on the model (`wizard.catalog.thinking`). They may arrive
in pieces. If the chat template has opened the thought, as that of DeepSeek R1 does, the prompt ends with the first
marker, and the text has only the last.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from wizard.catalog.thinking import Format, thinking

State: TypeAlias = Literal["start", "thought", "after", "answer"]
FENCE = re.compile(r" {0,3}(```|~~~)")
"""Begins or ends a block of code."""
BEGINNING = 8
"""Characters of a line that show whether it does."""


@dataclass(frozen=True, slots=True)
class Split:
    """New text.

    Attributes:
        thought: Text to append to the thought.
        answer: Text to append to the answer.
        recast: Whether all text so far was taken for the answer, but is the thought; apply this first.
    """

    thought: str = ""
    answer: str = ""
    recast: bool = False

    def __add__(self, later: Split) -> Split:
        """Both, one after the other."""
        thought, answer = later.onto(self.thought, self.answer)
        return Split(thought, answer, self.recast or later.recast)

    def onto(self, thought: str, answer: str) -> tuple[str, str]:
        """The thought and the answer so far, with this text."""
        if self.recast:
            thought, answer = thought + answer, ""
        return thought + self.thought, answer + self.answer


def formats_of(template: str | None) -> tuple[Format, ...]:
    """The formats that a chat template uses; if it is unknown (None), all but those whose markers are words.

    Raises:
        UsageError: TW-D01, TW-D02 or TW-K01 if the table is missing or damaged.
    """
    known = thinking().formats
    if template is None:
        return tuple(each for each in known if not each.words)
    return tuple(each for each in known if any(mark in template for mark in each.marks))


class Splitter:
    """Takes text in pieces of any size; the result does not depend on them.

    Attributes:
        state: What the next character belongs to: ``start`` until it is clear whether there is a thought, ``after``
            between the thought and the answer.
    """

    def __init__(self, formats: Sequence[Format], prompt: str | None = None) -> None:
        """Prepare for one answer.

        Args:
            formats: Those of the model, from `formats_of`; without any, all text is the answer.
            prompt: The rendered prompt; None if it is unknown: then an end marker on a line of its own, outside code,
                shows that the text before it was the thought.
        """
        end = (prompt or "").rstrip()
        opened = next((each for each in formats if end.endswith(tuple(mark.rstrip() for mark in each.opens))), None)
        closed = any(end.endswith(each.closes) for each in formats)  # the template has switched thinking off
        self.state: State = "thought" if opened else "answer" if closed or not formats else "start"
        self._formats = formats
        self._format = opened
        self._held = ""
        self._gap = ""  # before the next text of the thought
        self._part = False  # this part of the thought has text
        self._wrapped = False  # the answer began with a marker
        self._line = ""  # what was returned of the current line, if an end marker may still come
        self._fenced = False  # that line is in a block of code
        self._guesses = prompt is None and bool(formats)

    def feed(self, text: str) -> Split:
        """Take the next piece; text that may be part of a marker is held back."""
        self._held += text
        return self._take(last=False)

    def end(self) -> Split:
        """Take the end of the text; returns what was held back."""
        return self._take(last=True)

    def _take(self, *, last: bool) -> Split:
        steps = {"start": self._start, "thought": self._thought, "after": self._after, "answer": self._answer}
        done, before = Split(), None
        while before != (before := (self.state, self._held)):  # until no marker is left
            done += steps[self.state](last)
        return done

    def _start(self, last: bool) -> Split:
        begun = self._held.lstrip()
        markers = {mark: each for each in self._formats for mark in _firsts(each)}
        place, marker = _seek(begun, tuple(markers), last=last)
        if place or (last and not marker):
            self.state = "answer"
        elif marker:
            self._format, self._held = markers[marker], begun[len(marker) :]
            self.state = "thought" if marker in self._format.opens else "after"
            self._wrapped = self.state == "after"
        return Split()

    def _thought(self, last: bool) -> Split:
        """Whitespace around it is dropped."""
        form = self._form
        if not self._part:
            self._held = self._held.lstrip()
            place, marker = _seek(self._held, form.opens, last=last)
            if not place:  # the template has opened it, too; or it is not clear yet
                self._held = self._held[len(marker) :]
                return Split()
        place, marker = _seek(self._held, (*form.closes, *(_firsts(form) if form.special else ())), last=last)
        text = self._held[:place].rstrip()
        self._held = self._held[place + len(marker) :] if marker else self._held[len(text) :]
        new = Split(self._gap + text if text else "")
        if text:
            self._gap, self._part = "", True
        if marker:
            self.state, self._wrapped = "after", marker in form.answers
            if marker in form.opens:
                self._open_again()
        return new

    def _open_again(self) -> None:
        """Another part of the thought begins."""
        self._gap = "\n\n" if self._part else self._gap
        self.state, self._part = "thought", False

    def _after(self, last: bool) -> Split:
        form = self._form
        self._guesses = False
        self._held = self._held.lstrip()
        markers = () if self._wrapped else (*form.answers, *(form.opens if form.special else ()))
        place, marker = _seek(self._held, markers, last=last)
        if marker and not place:
            self._held = self._held[len(marker) :]
            if marker in form.opens:
                self._open_again()
                return Split()
            self._wrapped = True
            return self._after(last)
        if place:
            self.state = "answer"
        return Split()

    def _answer(self, last: bool) -> Split:
        if self._guesses:
            return self._guess(last)
        ends = self._form.ends if self._wrapped else ()
        place, marker = _seek(self._held, ends, last=last)
        text, self._held = self._held[:place], self._held[place + len(marker) :]
        if marker:
            self._wrapped = False
            return Split(answer=text) + self._answer(last)
        return Split(answer=text)

    def _guess(self, last: bool) -> Split:
        """The answer, or the thought of a model whose prompt is unknown: looks for an end marker on its own line."""
        ends = tuple(mark for each in self._formats for mark in each.closes)
        *lines, rest = self._held.split("\n")
        if last:
            lines, rest = [*lines, rest], ""
        new = ""
        for number, line in enumerate(lines, 1):
            if not self._line and not self._fenced and line.rstrip() in ends:
                self._format = next(each for each in self._formats if line.rstrip() in each.closes)
                self._held, self.state = "\n".join((*lines[number:], rest)), "after"
                return Split(new, recast=True)
            self._fenced ^= bool(FENCE.match(self._line + line))
            self._line = ""
            new += line if last and number == len(lines) else line + "\n"
        self._held = ""
        if not self._line and not self._fenced and any(end.startswith(rest.rstrip()) for end in ends):
            self._held, rest = rest, ""
        self._line = (self._line + rest)[:BEGINNING]
        return Split(answer=new + rest)

    @property
    def _form(self) -> Format:
        return self._format or self._formats[0]


def _firsts(form: Format) -> tuple[str, ...]:
    """Markers of ``form`` with which a text may begin."""
    return form.opens if form.ends and not form.special else (*form.opens, *form.answers)


def _seek(text: str, markers: tuple[str, ...], *, last: bool) -> tuple[int, str]:
    """The place of the first marker in ``text``, the longest there; without one, the place up to which there is none.

    If the text may go on, its end may be the beginning of a marker.
    """
    longest = "|".join(re.escape(mark) for mark in sorted(markers, key=len, reverse=True))
    match = re.search(longest, text) if markers else None
    if not last:
        most = max(map(len, markers), default=1)
        for place in range(max(len(text) - most + 1, 0), len(text)):
            if match and match.start() < place:
                break
            if any(mark != text[place:] and mark.startswith(text[place:]) for mark in markers):
                return place, ""
    return (match.start(), match[0]) if match else (len(text), "")
