"""The Markdown of chat answers: GitHub's, with formulas and footnotes, and nothing that is decided by later lines.

A formula is ``$…$``, ``\\(…\\)``, ``$$…$$``, ``\\[…\\]`` or an environment of LaTeX; dollars of prices stay text.
Footnotes stay where they are written. A line of dashes below a text is a rule, not a heading: otherwise the first dash
of a list would make a heading for a moment.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.ruler import RuleOptionsType
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

GROWS = "grows"
"""Key of the environment: the text is not complete, so a formula may be closed later."""
LONGEST = 60
"""Lines of a formula."""
_CLOSE = {"$$": "$$", "\\[": "\\]"}
_ENVIRONMENT = re.compile(r"\\begin\{([a-zA-Z]+\*?)\}")
_PLACES = re.compile(r"(?:align|gather|equation|multline|eqnarray|split|cases|[bBpvV]?matrix|array|displaymath)")
_DOLLARS = re.compile(r"\$(?![\s$])((?:\\.|[^\\$`\n])*(?:\n(?:\\.|[^\\$`\n])+)?)(?<!\s)\$(?![\w$])")
_WORDS = re.compile(r"^\d[\d.,]*\s*(?:[kKmMbB]\b)?\s.*\b[A-Za-z]{2,}\b|^[A-Z_]{2,}[/:]")
"""Prices and shell variables: an amount with words after it, or a variable before a slash."""
_CLOSE_IN_TEXT = _CLOSE | {"\\(": "\\)"}
FARTHEST = 2_000
"""Characters of a formula in text."""
_MATH = re.compile(r"[\\^_=+<>|/*-]")
_PROSE = re.compile(r"\d+$|.*[^\W\d_]{2,}\s+[^\W\d_]{2,}", re.DOTALL)
"""Escaped brackets of a text: a reference, or words."""
_NOTE = re.compile(r"\[\^([^\]\s^\[]{1,40})\]")


@lru_cache(maxsize=1)
def parser() -> MarkdownIt:
    """The parser."""
    from markdown_it import MarkdownIt

    made = MarkdownIt("gfm-like", {"html": False}).disable("lheading")
    interrupts: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    made.block.ruler.before("fence", "formula", _formula_block, interrupts)
    made.block.ruler.before("reference", "note", _note_block, interrupts)
    made.inline.ruler.before("escape", "formula", _formula_inline)
    made.inline.ruler.before("link", "note", _note_inline)
    return made


def parsed(text: str, *, grows: bool = False) -> list[Token]:
    """The tokens of ``text``; of one that ``grows``, a formula at the end may be open."""
    return parser().parse(text, {GROWS: grows})


def _formula_block(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    """A formula that begins a line and ends one."""
    if state.is_code_block(first):
        return False
    line = _line(state, first)
    opening, close = line[:2], _CLOSE.get(line[:2])
    if close is None:
        match = _ENVIRONMENT.match(line)
        if not match or not _PLACES.match(match[1]):
            return False
        opening, close = "", f"\\end{{{match[1]}}}"
    lines, after = [line[len(opening) :]], first + 1
    while close not in lines[-1]:
        if after >= min(end, first + LONGEST) or state.isEmpty(after) or state.sCount[after] < state.blkIndent:
            return after == end and bool(state.env.get(GROWS)) and _push(state, first, after, lines, silent, grows=True)
        lines.append(_line(state, after))
        after += 1
    content, _close, rest = lines[-1].partition(close)
    if rest.strip(" \t.,;:"):
        return False
    lines[-1] = content if opening else content + close
    return _push(state, first, after, lines, silent, grows=False)


def _push(state: StateBlock, first: int, after: int, lines: list[str], silent: bool, *, grows: bool) -> bool:
    source = "\n".join(lines).strip()
    if not grows and not source:
        return False
    if not silent:
        token = state.push("formula_block", "", 0)
        token.content, token.map = source, [first, after]
        token.meta = {GROWS: grows}
        state.line = after
    return True


def _line(state: StateBlock, number: int) -> str:
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]]


def _formula_inline(state: StateInline, silent: bool) -> bool:
    """A formula in text."""
    src, at = state.src, state.pos
    opening = src[at : at + 2]
    if close := _CLOSE_IN_TEXT.get(opening):
        end = src.find(close, at + 2, min(at + FARTHEST, state.posMax))
        content = src[at + 2 : end] if end >= 0 else ""
        prose = opening != "$$" and not _MATH.search(content) and bool(_PROSE.match(content.strip()))
        end += len(close)
    elif opening[:1] == "$" and not src[max(at - 1, 0) : at].isalnum():
        match = _DOLLARS.match(src, at, state.posMax)
        content, end = (match[1], match.end()) if match else ("", 0)
        prose = bool(_WORDS.match(content))
    else:
        return False
    if prose or not content.strip():
        return False
    if not silent:
        state.push("formula_inline", "", 0).content = content
    state.pos = end
    return True


def _note_block(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    """The text of a footnote: a paragraph with a label."""
    line = _line(state, first)
    match = _NOTE.match(line)
    if not match or line[match.end() : match.end() + 1] != ":" or state.is_code_block(first):
        return False
    if silent:
        return True
    after = first + 1
    lines = [line[match.end() + 1 :].strip()]
    while after < end and not state.isEmpty(after) and not _NOTE.match(_line(state, after)):
        lines.append(_line(state, after))
        after += 1
    opened = state.push("note_open", "", 1)
    opened.info, opened.map = match[1], [first, after]
    state.push("paragraph_open", "p", 1)
    token = state.push("inline", "", 0)
    token.content, token.map, token.children = "\n".join(lines), [first, after], []
    state.push("paragraph_close", "p", -1)
    state.push("note_close", "", -1)
    state.line = after
    return True


def _note_inline(state: StateInline, silent: bool) -> bool:
    """The number of a footnote in text."""
    match = _NOTE.match(state.src, state.pos, state.posMax)
    if not match:
        return False
    if not silent:
        token = state.push("note", "", 0)
        token.content = match[1]
    state.pos = match.end()
    return True
