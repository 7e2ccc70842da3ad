"""The frame of every screen: the current stage of the workflow, and the active keys."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol, runtime_checkable

from textual import events
from textual.binding import ActiveBinding, Binding
from textual.content import Content
from textual.dom import DOMNode
from textual.geometry import Size
from textual.keys import format_key
from textual.screen import Screen
from textual.style import Style
from textual.widget import Widget

from wizard.kernel.language import mark, tr

GAP = 2
"""Cells between two keys."""
MOST_LINES = 3
"""Maximum lines of keys; help has them all."""
LAST = ("back", "help", "settings", "command_palette", "quit")
"""Actions whose keys are at the end of the key bar, in this order."""
FIRST_TO_GO = ("settings", "command_palette")
"""Actions that the key bar drops first if there is little room, in this order."""
STAGES = (mark("Machine"), mark("Model"), mark("Advice"), mark("Review"), mark("Build"), mark("Chat"))


@runtime_checkable
class Speaks(Protocol):
    """A screen or widget with its own translatable text."""

    def relabel(self) -> None:
        """Render the text again, after the language has changed."""


class JourneyBar(Widget):
    """A line with the past, current and future stages."""

    DEFAULT_CSS = """
    JourneyBar { dock: top; height: 1; padding: 0 1; background: $panel; color: $text-muted; }
    """

    def __init__(self, stage: int) -> None:
        super().__init__()
        self.stage = stage
        """Index into `STAGES`; -1 before the first."""

    def relabel(self) -> None:
        """Render the stages in the current language."""
        self.refresh()

    def render(self) -> Content:
        """All stages if there is room, else only the current one."""
        brand = ("◆ triton-wizard  ", "bold $primary")
        if self.size.width < 76:
            here = f"{self.stage + 1}/{len(STAGES)} {tr(STAGES[self.stage])}" if self.stage >= 0 else ""
            return Content.assemble(brand, (here, "bold $foreground"))
        parts: list[str | tuple[str, str]] = [brand]
        for index, name in enumerate(map(tr, STAGES)):
            if index < self.stage:
                parts.append((f" ✓ {name} ", "$success"))
            elif index == self.stage:
                parts.append((f" ● {name} ", "bold $foreground on $primary 35%"))
            else:
                parts.append(f" ○ {name} ")
        return Content.assemble(*parts)


PRINTED = {"pageup": "PgUp", "pagedown": "PgDn"}
"""Keys whose printed names have inner capitals."""


class KeyRow(NamedTuple):
    """A displayed active binding."""

    keys: str
    about: str
    binding: Binding
    node: DOMNode


def key_name(key: str) -> str:
    """The printed name of a key (Textual's ``ctrl+r``): ``^R``."""
    *modifiers, last = key.split("+")
    last = PRINTED.get(last) or format_key(last)
    caret = "^" * ("ctrl" in modifiers)
    name = "+".join([*(modifier for modifier in modifiers if modifier != "ctrl"), caret + last])
    return name if last in PRINTED.values() or len(name) == 1 else name.title()


def key_rows(screen: Screen[Any], *, hidden: bool = False) -> list[KeyRow]:
    """The active keys of ``screen``, a row per action, the general ones last.

    With ``hidden`` also those without room in the key bar. Keys of several parts of the screen with the same
    description (arrows and pages scroll) share a row.
    """
    active_keys = [
        active_binding
        for active_binding in screen.active_bindings.values()
        if active_binding.enabled and active_binding.binding.description
    ]
    active = sorted(active_keys, key=lambda active_key: not active_key.binding.show)
    rows: dict[str, KeyRow] = {}
    shown: set[tuple[int, str]] = set()
    for node, binding, _enabled, _tooltip in active:
        action, same = binding.action.removeprefix("app."), (id(node), binding.description)
        if action not in rows and same not in shown and (binding.show or (hidden and binding.id)):
            shown.add(same)
            rows[action] = KeyRow(_keys(binding, node, active), tr(binding.description), binding, node)
    ends = [rows.pop(action) for action in LAST if action in rows]
    alike: dict[str, KeyRow] = {}
    for row in rows.values():
        before = alike.get(row.about)
        alike[row.about] = before._replace(keys=f"{before.keys} {row.keys}") if before else row
    return sorted(alike.values(), key=lambda row: row.binding.key != "enter") + ends


def _keys(binding: Binding, node: DOMNode, active: Sequence[ActiveBinding]) -> str:
    """The displayed keys: the binding's own, unless the user has changed them."""
    alike = [
        other.binding for other in active if other.node is node and other.binding.description == binding.description
    ]
    if any(other.id in getattr(node.app, "chosen_keys", {}) for other in alike):
        return " ".join(dict.fromkeys(key_name(other.key) for other in alike))
    return binding.key_display or key_name(binding.key)


def shown_bindings(screen: Screen[Any]) -> list[Binding]:
    """The bindings that the key bar shows on ``screen`` now."""
    return [row.binding for row in key_rows(screen)]


class KeyBar(Widget):
    """All active keys, wrapped over as many lines as needed; each can be clicked.

    (Textual's own footer has a single line and hides the rest.)
    """

    DEFAULT_CSS = """
    KeyBar {
        dock: bottom; height: auto; padding: 0 1; background: $panel; color: $text-muted;
    }
    """

    _drawn: tuple[Content, ...] | None = None
    """What was drawn last: most changes of bindings change nothing here."""

    def on_mount(self) -> None:
        """Follow the bindings."""
        self.screen.bindings_updated_signal.subscribe(self, self._changed)

    def on_resize(self, _event: events.Resize) -> None:
        """Wrap again."""
        self.refresh(layout=True)

    def relabel(self) -> None:
        """Describe the keys in the current language, which may need more lines."""
        self.refresh(layout=True)

    def on_click(self, event: events.Click) -> None:
        """Run the key's action."""
        if key := event.style.meta.get("key"):
            self.app.simulate_key(key)

    def _changed(self, _screen: Screen[Any]) -> None:
        lines = self.lines(self.size.width)
        if (resized := len(lines) != self.size.height) or lines != self._drawn:
            self.refresh(layout=resized)

    def lines(self, width: int) -> tuple[Content, ...]:
        """The keys in lines of at most ``width`` cells; without room for all, those to continue, go back and get help
        are kept.
        """
        return _lines(tuple((row.keys, row.about, row.binding) for row in key_rows(self.screen)), width)

    def get_content_width(self, container: Size, _viewport: Size) -> int:
        """The available width."""
        return container.width

    def get_content_height(self, _container: Size, _viewport: Size, width: int) -> int:
        """The height that the keys need at this width."""
        return len(self.lines(width))

    def render(self) -> Content:
        """The lines."""
        self._drawn = self.lines(self.size.width)
        return Content("\n").join(self._drawn)


Key = tuple[str, str, Binding]
"""Its name, its description, its binding."""


@lru_cache(maxsize=64)  # bindings are published at every change of focus, mostly the same ones
def _lines(keys: tuple[Key, ...], width: int) -> tuple[Content, ...]:
    lines = _wrapped(keys, width)
    for action in FIRST_TO_GO:
        if len(lines) > MOST_LINES:
            keys = tuple(key for key in keys if key[2].action != action)
            lines = _wrapped(keys, width)
    if len(lines) > MOST_LINES:
        needed = sorted(keys, key=lambda key: key[2].key not in ("enter", "escape") and key[2].action != "help")
        lines = _wrapped(tuple(needed), width)[:MOST_LINES]
    return lines


def _wrapped(keys: tuple[Key, ...], width: int) -> tuple[Content, ...]:
    lines = [Content("")]
    for name, about, binding in keys:
        style = Style.from_meta({"key": binding.key})
        item = Content.assemble((name, "bold $accent"), f" {about}").stylize(style)
        if lines[-1].cell_length and lines[-1].cell_length + GAP + item.cell_length > width:
            lines.append(Content(""))
        lines[-1] = Content(" " * GAP if lines[-1].cell_length else "").join([lines[-1], item])
    return tuple(lines)
