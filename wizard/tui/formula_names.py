"""Macros and environments of LaTeX that pylatexenc does not show well in a terminal, or does not know.

Source: the macros that KaTeX supports (katex.org/docs/supported), which is what models write for.
"""

from __future__ import annotations


def names(words: str) -> frozenset[str]:
    """The ``words`` of a text."""
    return frozenset(words.split())


SPACES = {
    "quad": "  ",
    "qquad": "    ",
    ",": " ",
    ";": " ",
    ":": " ",
    ">": " ",
    " ": " ",
    "enspace": " ",
    "thinspace": " ",
}
NOTHING = names("! limits nolimits displaystyle textstyle scriptstyle nonumber notag hline allowbreak strut")
TEXT = names(
    "text textbf textit textrm textsf texttt textnormal textup textmd mbox hbox mathrm mathbf mathit mathsf mathtt "
    "mathnormal boldsymbol bm pmb bold operatorname mathop mathbin mathrel mathord mathopen mathclose smash "
    "mathstrut cancel bcancel xcancel ce phase"
)
"""Macros of which only the text is shown: other letters would be hard to read, or missing in most fonts."""
ACCENTS = {"hat": "\u0302", "bar": "\u0304", "vec": "\u20d7", "tilde": "\u0303", "dot": "\u0307", "ddot": "\u0308"}
ACCENTS |= {"widehat": "\u0302", "widetilde": "\u0303", "overline": "\u0305", "underline": "\u0332"}
ACCENTS |= {"overrightarrow": "\u20d7", "check": "\u030c", "breve": "\u0306", "acute": "\u0301", "grave": "\u0300"}
ALL_LETTERS = {"overline", "underline"}
FUNCTIONS = names(
    "arccos arcsin arctan arg cos cosh cot coth csc deg det dim exp gcd hom inf ker lg lim liminf limsup ln log max "
    "min Pr sec sin sinh sup tan tanh argmax argmin lcm"
)
SYMBOLS = {"implies": "⟹", "iff": "⟺", "neg": "¬", "lnot": "¬", "|": "‖", "lVert": "‖", "rVert": "‖", "Vert": "‖"}
SYMBOLS |= {"mid": "∣", "gets": "←", "land": "∧", "lor": "∨", "lvert": "|", "rvert": "|", "vert": "|", "bmod": "mod"}
SYMBOLS |= {"dots": "…", "dotsc": "…", "dotsb": "⋯", "hbar": "ℏ", "blacksquare": "■", "square": "□", "qed": "∎"}
SYMBOLS |= {"lbrack": "[", "rbrack": "]", "backslash": "\\", "colon": ":", "R": "ℝ", "N": "ℕ", "Z": "ℤ", "Q": "ℚ"}
SYMBOLS |= {"coloneqq": "≔", "triangleq": "≜", "top": "⊤", "varnothing": "∅", "degree": "°", "checkmark": "✓"}
SPACED = names(
    "leq le geq ge neq ne approx equiv sim simeq cong propto in notin ni subset subseteq supset supseteq cup cap "
    "setminus times cdot div pm mp to rightarrow leftarrow Rightarrow Leftarrow leftrightarrow Leftrightarrow "
    "longrightarrow Longrightarrow longleftrightarrow Longleftrightarrow implies iff mapsto land lor wedge vee oplus "
    "otimes odot mid parallel perp ll gg models vdash gets bmod coloneqq triangleq doteq prec succ preceq succeq star "
    "ast bullet leqslant geqslant"
)
"""Operators and relations: between spaces."""
TIGHT = names("partial nabla neg lnot forall exists infty sum prod int iint oint sqrt")
"""Symbols that stand close to what follows."""
MATRICES = {
    "matrix": "",
    "smallmatrix": "",
    "array": "",
    "pmatrix": "()",
    "bmatrix": "[]",
    "Bmatrix": "{}",
    "vmatrix": "||",
}
MATRICES |= {"Vmatrix": "‖‖", "cases": "{", "dcases": "{", "rcases": " }"}
LINES = names(
    "aligned align align* alignat alignat* alignedat split gather gather* "
    "gathered equation equation* eqnarray "
    "eqnarray* multline multline* flalign flalign* displaymath math"
)
