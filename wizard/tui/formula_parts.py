"""Parts of a formula as text: rectangles of characters that are put side by side, and small raised or lowered text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from wizard.kernel.text import width

Align: TypeAlias = Literal["left", "center", "right"]
RAISED = dict(
    zip(
        "0123456789+-−=()abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRTUVWβγδθφχ⊤",
        "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂᵝᵞᵟᶿᵠᵡᵀ",
        strict=True,
    )
)
LOWERED = dict(zip("0123456789+-−=()aehijklmnoprstuvxβγρφχ", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵪ", strict=True))
"""Characters that Unicode has as superscripts and subscripts."""
SAME = {"'": "′", "′": "′", "″": "″", "∘": "°", "*": "*", "†": "†", "‡": "‡"}
"""Superscripts that need no raising."""
BRACKETS = {
    "(": "⎛⎜⎝",
    ")": "⎞⎟⎠",
    "[": "⎡⎢⎣",
    "]": "⎤⎥⎦",
    "{": "⎧⎪⎩",
    "}": "⎫⎪⎭",
    "|": "│││",
    "‖": "‖‖‖",
}
"""Bracket → its top, middle and bottom."""
MIDDLE = {"{": "⎨", "}": "⎬"}
_OPEN, _CLOSED = "([{⟨⌊⌈", ")]}⟩⌋⌉"
_SIMPLE = re.compile(r"\d+(?:[.,]\d+)?|[d∂Δ]?[^\W\d_][\u0300-\u036f\u2070-\u209c\u1d2c-\u1d6a\u2c7c²³¹′*]*|[∞∅…]")
"""A number, or a name of one letter with its indices; also a differential."""


@dataclass(frozen=True, slots=True)
class Part:
    """Lines of equal width; line ``base`` is the one that text beside it stands on."""

    lines: tuple[str, ...] = ("",)
    base: int = 0

    @property
    def width(self) -> int:
        """Cells of each line."""
        return width(self.lines[0])

    @property
    def flat(self) -> bool:
        """Whether it is a single line."""
        return len(self.lines) == 1


def beside(parts: Sequence[Part]) -> Part:
    """``parts`` next to each other."""
    if all(part.flat for part in parts):
        return Part(("".join(part.lines[0] for part in parts),))
    above = max(part.base for part in parts)
    below = max(len(part.lines) - part.base for part in parts)
    lines = [""] * (above + below)
    for part in parts:
        first = above - part.base
        for at in range(len(lines)):
            inside = 0 <= at - first < len(part.lines)
            lines[at] += part.lines[at - first] if inside else " " * part.width
    return Part(tuple(lines), above)


def grid(rows: Sequence[Sequence[Part]], aligns: Sequence[Align], between: Sequence[str]) -> Part:
    """Cells in columns.

    Args:
        rows: Cells of each row, all of the same number.
        aligns: Alignment of each column.
        between: Text after each column but the last.
    """
    widths = [max(row[at].width for row in rows) for at in range(len(aligns))]
    lines: list[str] = []
    for row in rows:
        cells = [_padded(row[at], widths[at], aligns[at]) for at in range(len(aligns))]
        spaced = [piece for cell, text in zip(cells, (*between, ""), strict=False) for piece in (cell, Part((text,)))]
        lines += beside(spaced[:-1]).lines
    return Part(tuple(lines), (len(lines) - 1) // 2)


def _padded(part: Part, size: int, align: Align) -> Part:
    room = size - part.width
    left = {"left": 0, "center": room // 2, "right": room}[align]
    return Part(tuple(" " * left + line + " " * (room - left) for line in part.lines), part.base)


def bracketed(part: Part, left: str, right: str) -> Part:
    """``part`` in brackets as high as it is; an empty one is left out."""
    return beside([Part(_tall(each, len(part.lines)), part.base) for each in [left] if each] + [part]
                  + [Part(_tall(each, len(part.lines)), part.base) for each in [right] if each])  # fmt: skip


def _tall(bracket: str, height: int) -> tuple[str, ...]:
    if height == 1:
        return (bracket,)
    shapes = BRACKETS[bracket]
    column = [shapes[0], *[shapes[1]] * (height - 2), shapes[2]]
    if height > 2 and bracket in MIDDLE:
        column[(height - 1) // 2] = MIDDLE[bracket]
    return tuple(column)


def framed(part: Part) -> Part:
    """``part`` in a frame."""
    line = "─" * (part.width + 2)
    return Part((f"┌{line}┐", *(f"│ {each} │" for each in part.lines), f"└{line}┘"), part.base + 1)


def script(text: str, marker: str) -> str:
    """``text`` as a superscript (``marker`` is ``^``) or a subscript (``_``)."""
    text = text.strip()
    table = RAISED if marker == "^" else LOWERED
    if marker == "^" and text and all(each in SAME for each in text):
        return "".join(SAME[each] for each in text)
    tight = text.replace(" ", "")
    if all(each in table for each in tight):
        return "".join(table[each] for each in tight)
    word = marker == "_" and text.isascii() and text.isalpha()
    return marker + (text if len(text) == 1 or word else f"({text})")


def fraction(over: str, under: str) -> str:
    """A fraction on a line, with the parentheses that it needs."""
    over, under = over.strip(), under.strip()
    return f"{over if _product(over) else f'({over})'}/{under if _simple(under) else f'({under})'}"


def root(text: str, degree: str) -> str:
    """A root on a line."""
    sign = {"": "√", "2": "√", "3": "∛", "4": "∜"}.get(degree) or script(degree, "^") + "√"
    return sign + (text.strip() if _simple(text.strip()) else f"({text.strip()})")


def _simple(text: str) -> bool:
    """Whether it needs no parentheses below a fraction's bar: a number, a name, a call, or in parentheses already."""
    if _SIMPLE.fullmatch(text):
        return True
    name, bracket, inside = text.partition("(")
    return bool(bracket) and (not name or bool(_SIMPLE.fullmatch(name))) and _closes(bracket + inside)


def _closes(text: str) -> bool:
    """Whether the bracket that ``text`` begins with is closed at its end, not before."""
    depth = 0
    for at, each in enumerate(text):
        depth += (each in _OPEN) - (each in _CLOSED)
        if depth == 0:
            return at == len(text) - 1
    return False


def _product(text: str) -> bool:
    """Whether it needs no parentheses above a fraction's bar: no sign, space or slash outside of brackets."""
    depth = 0
    for at, each in enumerate(text):
        depth += (each in _OPEN) - (each in _CLOSED)
        if depth == 0 and (each.isspace() or each in "/±∓=<>≤≥+−" or (each == "-" and at)):
            return False
    return bool(text)
