"""The wizard's own themes: dark, light and high contrast; all of Textual's themes can be chosen too.

No state is shown by color alone: everything colored also has a mark or a word.
"""

from __future__ import annotations

from dataclasses import replace

from textual.theme import Theme

from wizard.kernel.settings import THEME


def _finished(theme: Theme, *, muted: str, border: str, cursor: tuple[str, str], blurred: str) -> Theme:
    """``theme`` with matching lists, scroll bars and borders.

    Args:
        theme: The theme.
        muted: Color of secondary text.
        border: Color of lines.
        cursor: Text and background color of a selected row.
        blurred: Background color of a selected row in a list without focus.
    """
    surface = theme.surface or ""
    variables = {
        "block-cursor-background": cursor[1],
        "block-cursor-foreground": cursor[0],
        "block-cursor-blurred-background": blurred,
        "block-cursor-blurred-foreground": theme.foreground or "",
        "block-cursor-text-style": "none",
        "block-cursor-blurred-text-style": "none",
        "text-muted": muted,
        "border-blurred": border,
        "scrollbar": border,
        "scrollbar-hover": muted,
        "scrollbar-active": theme.primary,
        "scrollbar-background": surface,
        "scrollbar-background-hover": surface,
        "scrollbar-background-active": surface,
        "scrollbar-corner-color": surface,
    }
    return replace(theme, success=theme.primary, text_alpha=1.0, variables=variables)


WIZARD = _finished(
    Theme(
        name=THEME,
        primary="#76b900",
        secondary="#5aa9c9",
        accent="#9bd64a",
        warning="#e9b44c",
        error="#f0716b",
        foreground="#dfe6e0",
        background="#101613",
        surface="#161e1a",
        panel="#202a25",
    ),
    muted="#9aa69e",
    border="#3a4a42",
    cursor=("#f4fbe8", "#21350c"),
    blurred="#26321f",
)
LIGHT = _finished(
    Theme(
        name=f"{THEME}-light",
        primary="#3c6600",
        secondary="#005a7d",
        accent="#2f6d00",
        warning="#7a4b00",
        error="#a8201a",
        foreground="#18201b",
        background="#fbfdfb",
        surface="#f1f5f1",
        panel="#e4ebe5",
        dark=False,
    ),
    muted="#4b574f",
    border="#a9b8ae",
    cursor=("#0f1a05", "#d3ecaa"),
    blurred="#e6efd9",
)
CONTRAST = _finished(
    Theme(
        name=f"{THEME}-contrast",
        primary="#9be300",
        secondary="#7fdbff",
        accent="#ffff66",
        warning="#ffc247",
        error="#ff9d96",
        foreground="#ffffff",
        background="#000000",
        surface="#000000",
        panel="#141414",
    ),
    muted="#d9d9d9",
    border="#d9d9d9",
    cursor=("#ffffff", "#262626"),
    blurred="#1c1c1c",
)
THEMES = (WIZARD, LIGHT, CONTRAST)
