"""LaTeX formulas, as models write them, as readable text. pylatexenc parses them and knows the symbols.

What it does not know is shown as it was written; nothing is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from wizard.kernel.text import plain
from wizard.tui.formula_names import (
    ACCENTS,
    ALL_LETTERS,
    FUNCTIONS,
    LINES,
    MATRICES,
    NOTHING,
    SPACED,
    SPACES,
    SYMBOLS,
    TEXT,
    TIGHT,
    names,
)
from wizard.tui.formula_parts import (
    LOWERED,
    RAISED,
    SAME,
    Align,
    Part,
    beside,
    bracketed,
    fraction,
    framed,
    grid,
    root,
    script,
)

if TYPE_CHECKING:
    from pylatexenc.latex2text import LatexNodes2Text

LONGEST = 4_000
"""Characters of a formula; a longer one is shown as it was written."""
DEEPEST = 60
"""Braces within braces; the parser calls itself for each."""
_SIZES = re.compile(r"\\(?:left|right|middle|[bB]igg?[lrm]?)(?![A-Za-z])\s*\.?")
"""Sizes of brackets, with the period that stands for none."""


_UNKNOWN = re.compile(r"\\[A-Za-z]+$")
_CLOSE_UP = (" ", "^", "_", ",", ")", *RAISED.values(), *LOWERED.values(), *SAME.values())
"""What stands close to a word before it."""


def readable(source: str, *, flat: bool = False) -> str:
    """A formula as text, one line or several; ``source`` itself if it cannot be read.

    Args:
        source: LaTeX without its delimiters; anything, since a model wrote it.
        flat: On one line, for use in text.
    """
    return plain(source).strip() if len(source) > LONGEST else _readable(source, flat=flat)


@lru_cache(maxsize=512)
def _readable(source: str, *, flat: bool) -> str:
    source = plain(source).strip()
    try:
        return "\n".join(line.rstrip() for line in _part(source, flat=flat).lines) or source
    except Exception:  # a model wrote it, and a parser reads it: it may fail in any way
        return source


def _part(source: str, *, flat: bool) -> Part:
    from pylatexenc.latexwalker import LatexWalker

    if _depth(source) > DEEPEST:
        raise ValueError(source)
    walker = LatexWalker(_SIZES.sub("", source), latex_context=_grammar(), tolerant_parsing=False)
    nodes, _start, _length = walker.get_latex_nodes()
    return _Formula(flat=flat).lines(nodes)


def _depth(source: str) -> int:
    deepest = depth = 0
    for each in source:
        depth += (each == "{") - (each == "}")
        deepest = max(deepest, depth)
    return deepest + source.count(r"\begin")


@lru_cache(maxsize=1)
def _grammar() -> Any:
    """The macros and their arguments."""
    from pylatexenc.latexwalker import get_default_latex_context_db
    from pylatexenc.macrospec import EnvironmentSpec, MacroSpec, MacroStandardArgsParser, SpecialsSpec

    unary = [*TEXT, *ACCENTS, "mathbb", "mathcal", "mathscr", "mathfrak", "boxed", "fbox", "pmod", "tag", "phantom"]
    unary += ["substack", "underbrace", "overbrace", "color", "mod", "not", "hspace", "label"]
    binary = names("frac dfrac tfrac cfrac binom dbinom tbinom overset underset stackrel textcolor")
    known = [*(MacroSpec(name, "{") for name in unary), *(MacroSpec(name, "{{") for name in binary)]
    known += [
        MacroSpec("operatorname", "*{"),
        MacroSpec("sqrt", "[{"),
        MacroSpec("xrightarrow", "[{"),
        MacroSpec("\\", "*["),
    ]
    places = [EnvironmentSpec(name) for name in (*MATRICES, *LINES) if name not in ("array", "alignat", "alignedat")]
    places += [
        EnvironmentSpec("array", "[{"),
        *(EnvironmentSpec(name, "{") for name in ("alignat", "alignedat", "alignat*")),
    ]
    marks = [SpecialsSpec(each, MacroStandardArgsParser("{")) for each in "^_"] + [SpecialsSpec("&")]
    grammar = get_default_latex_context_db().filter_context(keep_categories=["latex-base", "latex-base-specials"])
    grammar.add_context_category("formulas", macros=known, environments=places, specials=marks, prepend=True)
    return grammar


@lru_cache(maxsize=1)
def _symbols() -> LatexNodes2Text:
    from pylatexenc.latex2text import LatexNodes2Text, MacroTextSpec, get_default_latex_context_db

    words = get_default_latex_context_db()
    words.set_unknown_macro_spec(MacroTextSpec("", simplify_repl=lambda node: f"\\{node.macroname}"))
    return LatexNodes2Text(words, math_mode="text", strict_latex_spaces=True)


class _Formula:
    """Nodes of pylatexenc as parts; each method for one kind."""

    def __init__(self, *, flat: bool) -> None:
        self._flat = flat

    def lines(self, nodes: Sequence[Any]) -> Part:
        """A whole formula: several lines if it has line breaks or alignment."""
        if any(_is_mark(node, "&") or _is_break(node) for node in nodes):
            return self._aligned(nodes)
        return self.row(nodes)

    def row(self, nodes: Sequence[Any] | None) -> Part:
        """Nodes side by side."""
        parts: list[Part] = []
        after = ""  # a space that is due if something follows
        for node in nodes or ():
            part, before, then = self._node(node)
            last = parts[-1].lines[parts[-1].base] if parts else ""
            if _UNKNOWN.search(last) and type(node).__name__ == "LatexGroupNode":
                part = beside([Part(("{",)), part, Part(("}",))])
            text = part.lines[part.base]
            if last.endswith(" ") and text.startswith(" ") and part.flat:
                part = Part((text[1:],))
            if part == Part():
                continue
            due = after or (before and last and _ends_word(last, before))
            if due and last and not last.endswith(" ") and not text.startswith(_CLOSE_UP):
                parts.append(Part((" ",)))
            parts.append(part)
            after = then
        return beside(parts) if parts else Part()

    def text(self, nodes: Sequence[Any] | None) -> str:
        """Nodes on one line."""
        return _Formula(flat=True).row(nodes).lines[0]

    def _node(self, node: Any) -> tuple[Part, str, str]:
        """A node, and whether a space is due before and after it (empty: none)."""
        kind = type(node).__name__
        if kind == "LatexCharsNode":
            return Part((re.sub(r"\s+", " ", node.chars).replace("'", "′"),)), "", ""
        if kind in ("LatexGroupNode", "LatexMathNode"):
            return self.row(node.nodelist), "", ""
        if kind == "LatexEnvironmentNode":
            return self._environment(node), "", ""
        if kind == "LatexSpecialsNode":
            return self._special(node)
        return self._macro(node) if kind == "LatexMacroNode" else (Part(), "", "")  # else it is a comment

    def _special(self, node: Any) -> tuple[Part, str, str]:
        if node.specials_chars not in "^_":
            return Part((" " if node.specials_chars in "&~" else node.specials_chars,)), "", ""
        small = script(self.text(_inside(node, 0)), node.specials_chars)
        return Part((small,)), "", "word" if len(small) > 2 and small[1:].isalpha() and small[0] in "^_" else ""

    def _macro(self, node: Any) -> tuple[Part, str, str]:
        name = node.macroname
        if name in SPACES or name in NOTHING:
            return Part((SPACES.get(name, ""),)), "", ""
        if name in FUNCTIONS:
            return Part(({"argmax": "arg max", "argmin": "arg min"}.get(name, name),)), "word", "word"
        if name in SPACED:
            return Part((self._symbol(node),)), "any", "any"
        if name in TEXT:
            return self.row(_inside(node, -1)), "word" if name == "operatorname" else "", ""
        if part := self._with_argument(name, node):
            return part, "", ""
        return Part((self._symbol(node),)), "", "" if name in TIGHT or not node.macro_post_space else "word"

    def _with_argument(self, name: str, node: Any) -> Part | None:
        if name == "boxed" and not self._flat:
            return framed(self.lines(_inside(node, 0)))
        if made := _MACROS.get(name):
            return Part((made(self, node),))
        return Part((_accented(self.text(_inside(node, 0)), name),)) if name in ACCENTS else None

    @staticmethod
    def _symbol(node: Any) -> str:
        known = SYMBOLS.get(node.macroname) or str(_symbols().node_to_text(node))
        return known or str(node.latex_verbatim()).rstrip()

    def _environment(self, node: Any) -> Part:
        name = node.environmentname
        if name not in MATRICES:
            return self._aligned(node.nodelist)
        rows = [[self.row(cell) for cell in row] for row in _cells(node.nodelist)]
        count = max(map(len, rows))
        rows = [[*row, *[Part()] * (count - len(row))] for row in rows]
        sides = f"{MATRICES[name]}  "
        left, right = sides[0], sides[1]
        if self._flat:
            inside = "; ".join(", ".join(cell.lines[0].strip() for cell in row) for row in rows)
            return Part((f"{left.strip() or '['}{inside}{right.strip() or (']' if not left.strip() else '')}",))
        align: Align = "left" if "cases" in name else "center"
        body = grid([[_stripped(cell) for cell in row] for row in rows], [align] * count, ["  "] * (count - 1))
        space = Part((" ",))
        return bracketed(beside([space, body, space]), left.strip(), right.strip())

    def _aligned(self, nodes: Sequence[Any]) -> Part:
        rows = [[self.row(cell) for cell in row] for row in _cells(nodes)]
        if self._flat:
            return Part(("; ".join("".join(cell.lines[0] for cell in row).strip() for row in rows),))
        count = max(map(len, rows))
        rows = [[*row, *[Part()] * (count - len(row))] for row in rows]
        aligns: list[Align] = ["right" if at % 2 == 0 and count > 1 else "left" for at in range(count)]
        between = ["" if at % 2 == 0 else "   " for at in range(count - 1)]
        return grid([[_trimmed(cell, at) for at, cell in enumerate(row)] for row in rows], aligns, between)


def _stripped(part: Part) -> Part:
    return Part((part.lines[0].strip(),)) if part.flat else part


def _trimmed(part: Part, at: int) -> Part:
    """Without spaces where a row begins; before a sign of alignment there is one space, or none."""
    if not part.flat:
        return part
    text = part.lines[0]
    if at % 2 == 0:
        return Part((text.strip() + " " if text.strip() else "",))
    return Part((text.strip(),))


def _is_mark(node: Any, mark: str) -> bool:
    return type(node).__name__ == "LatexSpecialsNode" and node.specials_chars == mark


def _is_break(node: Any) -> bool:
    return type(node).__name__ == "LatexMacroNode" and node.macroname in ("\\", "cr", "newline")


def _cells(nodes: Sequence[Any]) -> list[list[list[Any]]]:
    """Rows of cells, each a list of nodes, without an empty last row."""
    rows: list[list[list[Any]]] = [[[]]]
    for node in nodes:
        if _is_break(node):
            rows.append([[]])
        elif _is_mark(node, "&"):
            rows[-1].append([])
        else:
            rows[-1][-1].append(node)
    last = rows[-1]
    blank = all(type(node).__name__ == "LatexCharsNode" and not node.chars.strip() for cell in last for node in cell)
    return rows[:-1] if blank and len(rows) > 1 else rows


def _inside(node: Any, number: int) -> Sequence[Any]:
    """The nodes of an argument; none if it is missing."""
    given = node.nodeargd.argnlist if node.nodeargd else []
    if not given or (each := given[number]) is None:
        return ()
    return each.nodelist if type(each).__name__ == "LatexGroupNode" else [each]


def _ends_word(text: str, wanted: str) -> bool:
    return wanted == "any" or text[-1].isalnum() or text[-1] in ")]"


def _accented(text: str, name: str) -> str:
    mark = ACCENTS[name]
    if name in ALL_LETTERS or len(text) == 1:
        return "".join(each + mark for each in text)
    return f"{name.removeprefix('wide')}({text})"


def _over(formula: _Formula, node: Any, *, names: tuple[int, int] = (0, 1)) -> str:
    return fraction(*(formula.text(_inside(node, at)) for at in names))


def _choose(formula: _Formula, node: Any) -> str:
    return f"C({formula.text(_inside(node, 0))}, {formula.text(_inside(node, 1))})"


def _braced(formula: _Formula, node: Any) -> str:
    return f"({formula.text(_inside(node, 0))})"


def _stacked(formula: _Formula, node: Any, *, marker: str) -> str:
    return formula.text(_inside(node, 1)) + script(formula.text(_inside(node, 0)), marker)


def _arrow(formula: _Formula, node: Any) -> str:
    return f" ─{formula.text(_inside(node, 1))}→ "


def _around(formula: _Formula, node: Any, *, before: str, after: str) -> str:
    return f"{before}{formula.text(_inside(node, 0))}{after}"


def _nothing(formula: _Formula, node: Any) -> str:
    del formula, node
    return ""


def _second(formula: _Formula, node: Any) -> str:
    return formula.text(_inside(node, 1))


_MACROS: dict[str, Callable[[_Formula, Any], str]] = {
    **dict.fromkeys(("frac", "dfrac", "tfrac", "cfrac"), _over),
    **dict.fromkeys(("binom", "dbinom", "tbinom"), _choose),
    **dict.fromkeys(("underbrace", "overbrace"), _braced),
    **dict.fromkeys(("color", "phantom", "hspace", "label"), _nothing),
    **dict.fromkeys(("overset", "stackrel"), partial(_stacked, marker="^")),
    "underset": partial(_stacked, marker="_"),
    "sqrt": lambda formula, node: root(formula.text(_inside(node, 1)), formula.text(_inside(node, 0))),
    "xrightarrow": _arrow,
    "boxed": partial(_around, before="[ ", after=" ]"),
    "fbox": partial(_around, before="[ ", after=" ]"),
    "pmod": partial(_around, before=" (mod ", after=")"),
    "mod": partial(_around, before=" mod ", after=""),
    "tag": partial(_around, before="   (", after=")"),
    "not": lambda formula, node: formula.text(_inside(node, 0)) + "\u0338",
    "substack": lambda formula, node: formula.lines(_inside(node, 0)).lines[0],
    "textcolor": _second,
}
"""Macro → its text."""
