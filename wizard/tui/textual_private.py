"""All that the wizard uses of Textual beyond its documented interface, each with the reason, and what happens without.

Textual may change these in any release of the range that pyproject.toml allows. Nothing here fails then: each function
says what is lost. `tests/tui/test_textual_private.py` takes them away one after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import textual.screen
from textual.widget import Widget

if TYPE_CHECKING:
    from textual.app import App
    from textual.driver import Driver
    from textual.geometry import Size
    from textual.screen import Screen

PERIOD_S = 1 / 120
"""Seconds between two pictures at least."""


def draw_often() -> None:
    """Draw every `PERIOD_S`; without, a key may be seen 33 ms later.

    After a picture, Textual lets up to two of its periods go by before it draws what has changed since (``Timer._run``
    in 8.2), and its own period is 1/60 s. ``TEXTUAL_FPS`` would do, but only in the environment from the start.
    """
    if hasattr(textual.screen, "UPDATE_PERIOD"):
        textual.screen.UPDATE_PERIOD = PERIOD_S  # type: ignore[misc]  # declared as final


def pictures_waiting(app: App[Any]) -> int:
    """Pictures that the terminal has not taken yet; without, 0, and a key queues behind those of a slow terminal."""
    writer = getattr(getattr(app, "_driver", None), "_writer_thread", None)
    queue = getattr(writer, "_queue", None)
    return 0 if queue is None else int(queue.qsize())


def screen_lines(screen: Screen[Any]) -> list[str] | None:
    """The text that is on the screen; without, None: Textual's public export is a picture (SVG) only."""
    render = getattr(getattr(screen, "_compositor", None), "render_strips", None)
    return None if render is None else [strip.text for strip in render()]


def style_parser(widget: Widget) -> Callable[[Any], Any] | None:
    """What makes styles of names, for `Content.render`; without, names of the theme are no colours."""
    parser: Callable[[Any], Any] | None = getattr(widget, "_get_style", None)
    return parser


def set_virtual_size(widget: Widget, size: Size) -> None:
    """Tell the scrollbar how much there is to scroll; without, each change has the whole screen laid out and drawn."""
    update = getattr(widget, "_scroll_update", None)
    if update is None:
        widget.virtual_size = size
    else:
        widget.set_reactive(Widget.virtual_size, size)
        update(size)


def replace_file(driver: Driver, make: Callable[[int], object]) -> None:
    """Let a driver write to ``make(descriptor)``; without, it writes to Python's own file (see `terminal_driver`)."""
    if file := getattr(driver, "_file", None):
        driver._file = make(file.fileno())  # type: ignore[attr-defined]


def replace_write(driver: Driver, make: Callable[[Callable[[bytes], int]], Callable[[bytes], int]]) -> None:
    """Let a driver write with ``make(its write)``; without, a closed browser tab is an error in the log."""
    if write := getattr(driver, "_write", None):
        driver._write = make(write)  # type: ignore[attr-defined]
