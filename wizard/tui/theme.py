"""The wizard's own colours: dark, light and with high contrast; any theme of Textual's can be chosen beside them.

No state is told by a colour alone: whatever is coloured has a mark or a word too.
"""

from __future__ import annotations

from textual.theme import Theme

from wizard.kernel.settings import THEME


def _theme(
    name: str,
    *,
    primary: str,
    secondary: str,
    accent: str,
    warning: str,
    error: str,
    foreground: str,
    muted: str,
    background: str,
    surface: str,
    panel: str,
    border: str,
    cursor: tuple[str, str],
    blurred: str,
    dark: bool = True,
) -> Theme:
    """A theme whose lists, scroll bars and borders fit its colours; ``cursor`` is text and ground of a chosen row."""
    return Theme(
        name=name,
        primary=primary,
        secondary=secondary,
        accent=accent,
        warning=warning,
        error=error,
        success=primary,
        foreground=foreground,
        background=background,
        surface=surface,
        panel=panel,
        dark=dark,
        text_alpha=1.0,
        variables={
            "block-cursor-background": cursor[1],
            "block-cursor-foreground": cursor[0],
            "block-cursor-blurred-background": blurred,
            "block-cursor-blurred-foreground": foreground,
            "block-cursor-text-style": "none",
            "block-cursor-blurred-text-style": "none",
            "text-muted": muted,
            "border-blurred": border,
            "scrollbar": border,
            "scrollbar-hover": muted,
            "scrollbar-active": primary,
            "scrollbar-background": surface,
            "scrollbar-background-hover": surface,
            "scrollbar-background-active": surface,
            "scrollbar-corner-color": surface,
        },
    )


WIZARD = _theme(
    THEME,
    primary="#76b900",
    secondary="#5aa9c9",
    accent="#9bd64a",
    warning="#e9b44c",
    error="#f0716b",
    foreground="#dfe6e0",
    muted="#9aa69e",
    background="#101613",
    surface="#161e1a",
    panel="#202a25",
    border="#3a4a42",
    cursor=("#f4fbe8", "#21350c"),
    blurred="#26321f",
)
LIGHT = _theme(
    f"{THEME}-light",
    primary="#3c6600",
    secondary="#005a7d",
    accent="#2f6d00",
    warning="#7a4b00",
    error="#a8201a",
    foreground="#18201b",
    muted="#4b574f",
    background="#fbfdfb",
    surface="#f1f5f1",
    panel="#e4ebe5",
    border="#a9b8ae",
    cursor=("#0f1a05", "#d3ecaa"),
    blurred="#e6efd9",
    dark=False,
)
CONTRAST = _theme(
    f"{THEME}-contrast",
    primary="#9be300",
    secondary="#7fdbff",
    accent="#ffff66",
    warning="#ffc247",
    error="#ff9d96",
    foreground="#ffffff",
    muted="#d9d9d9",
    background="#000000",
    surface="#000000",
    panel="#141414",
    border="#d9d9d9",
    cursor=("#ffffff", "#262626"),
    blurred="#1c1c1c",
)
THEMES = (WIZARD, LIGHT, CONTRAST)
