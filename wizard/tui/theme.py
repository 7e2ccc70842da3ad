"""The wizard's own colours; any other theme can be chosen in the command palette."""

from __future__ import annotations

from textual.theme import Theme

WIZARD = Theme(
    name="triton-wizard",
    primary="#76b900",
    secondary="#5aa9c9",
    accent="#9bd64a",
    warning="#e9b44c",
    error="#f0716b",
    success="#76b900",
    foreground="#dfe6e0",
    background="#101613",
    surface="#161e1a",
    panel="#202a25",
    dark=True,
    variables={
        "block-cursor-background": "#2f4a12",
        "block-cursor-foreground": "#f4fbe8",
        "block-cursor-blurred-background": "#26321f",
        "block-cursor-blurred-foreground": "#dfe6e0",
        "block-cursor-text-style": "none",
        "block-cursor-blurred-text-style": "none",
        "text-muted": "#9aa69e",
        "border-blurred": "#3a4a42",
        "scrollbar": "#3a4a42",
        "scrollbar-hover": "#5c7366",
        "scrollbar-active": "#76b900",
        "scrollbar-background": "#161e1a",
        "scrollbar-background-hover": "#161e1a",
        "scrollbar-background-active": "#161e1a",
        "scrollbar-corner-color": "#161e1a",
    },
)
