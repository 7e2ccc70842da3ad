"""All uses of Textual beyond its documented interface, each with its reason, and the fallback without it.

Textual may change these in any release of the range that pyproject.toml allows. Nothing here fails then: each docstring
states what is lost. `tests/tui/test_textual_private.py` removes them one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import textual.screen
from textual.dom import DOMNode
from textual.widget import Widget

if TYPE_CHECKING:
    from textual.app import App
    from textual.driver import Driver
    from textual.geometry import Size
    from textual.screen import Screen

PERIOD_S = 1 / 120
"""Minimum seconds between two frames."""


def draw_often() -> None:
    """Draw every `PERIOD_S`; without it, a key may be visible 33 ms later.

    After a frame, Textual waits up to two of its periods before it draws the next changes (``Timer._run``
    in 8.2), and its own period is 1/60 s. ``TEXTUAL_FPS`` would work, but only in the environment from the start.
    """
    if hasattr(textual.screen, "UPDATE_PERIOD"):
        textual.screen.UPDATE_PERIOD = PERIOD_S  # type: ignore[misc]  # declared as final


def pictures_waiting(app: App[Any]) -> int:
    """Frames that the terminal has not accepted yet; without it, 0, and a key queues behind those of a slow
    terminal.
    """
    writer = getattr(getattr(app, "_driver", None), "_writer_thread", None)
    queue = getattr(writer, "_queue", None)
    return 0 if queue is None else int(queue.qsize())


def screen_lines(screen: Screen[Any]) -> list[str] | None:
    """The text on the screen; without it, None: Textual's public export is an image (SVG) only."""
    render = getattr(getattr(screen, "_compositor", None), "render_strips", None)
    return None if render is None else [strip.text for strip in render()]


def style_parser(widget: Widget) -> Callable[[Any], Any] | None:
    """The parser of style names, for `Content.render`; without it, theme color names do not work."""
    parser: Callable[[Any], Any] | None = getattr(widget, "_get_style", None)
    return parser


def set_virtual_size(widget: Widget, size: Size) -> None:
    """Set the scrollbar's range; without it, each change lays out and draws the whole screen."""
    update = getattr(widget, "_scroll_update", None)
    if update is None:
        widget.virtual_size = size
    else:
        widget.set_reactive(Widget.virtual_size, size)
        update(size)


class DropsWork(DOMNode):
    """A node whose workers end before its widgets are removed; without it, a result that arrives while the node closes
    has no widgets to be shown on, and the wizard crashes.

    Textual (8.2) sends ``Prune`` first, then removes the widgets, then cancels the workers (``Widget._on_unmount``).
    """

    def _on_prune(self) -> None:
        """Cancel the workers."""
        self.workers.cancel_node(self)


def replace_file(driver: Driver, make: Callable[[int], object]) -> None:
    """Make a driver write to ``make(descriptor)``; without it, it writes to Python's own file (see
    `terminal_driver`).
    """
    if file := getattr(driver, "_file", None):
        driver._file = make(file.fileno())  # type: ignore[attr-defined]


def replace_write(driver: Driver, make: Callable[[Callable[[bytes], int]], Callable[[bytes], int]]) -> None:
    """Make a driver write with ``make(its write)``; without it, a closed browser tab is an error in the log."""
    if write := getattr(driver, "_write", None):
        driver._write = make(write)  # type: ignore[attr-defined]
