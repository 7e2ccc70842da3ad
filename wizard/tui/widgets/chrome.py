"""The frame of every screen: where in the journey we are, and which keys do something now."""

from __future__ import annotations

from typing import Any

from textual import events
from textual.binding import Binding
from textual.content import Content
from textual.geometry import Size
from textual.screen import Screen
from textual.style import Style
from textual.widget import Widget

GAP = 2
"""Cells between two keys."""
MOST_LINES = 3
"""Lines of keys; help has them all."""
LAST = ("back", "help", "command_palette", "quit")
"""Actions whose keys stand at the end of the key bar, in this order."""
STAGES = ("Machine", "Model", "Advice", "Review", "Build", "Chat")


class JourneyBar(Widget):
    """One line: the stages that are behind, the one we are in, and those that come."""

    DEFAULT_CSS = """
    JourneyBar { dock: top; height: 1; padding: 0 1; background: $panel; color: $text-muted; }
    """

    def __init__(self, stage: int) -> None:
        super().__init__()
        self.stage = stage
        """Index into `STAGES`; -1 before the first."""

    def render(self) -> Content:
        """The whole journey where there is room for it, else only the present stage."""
        brand = ("◆ triton-wizard  ", "bold $primary")
        if self.size.width < 76:
            here = f"{self.stage + 1}/{len(STAGES)} {STAGES[self.stage]}" if self.stage >= 0 else ""
            return Content.assemble(brand, (here, "bold $foreground"))
        parts: list[str | tuple[str, str]] = [brand]
        for index, name in enumerate(STAGES):
            if index < self.stage:
                parts.append((f" ✓ {name} ", "$success"))
            elif index == self.stage:
                parts.append((f" ● {name} ", "bold $foreground on $primary 35%"))
            else:
                parts.append(f" ○ {name} ")
        return Content.assemble(*parts)


def shown_bindings(screen: Screen[Any]) -> list[Binding]:
    """The bindings that do something on ``screen`` now, one for each action, the general ones last."""
    found: dict[str, Binding] = {}
    for _node, binding, enabled, _tooltip in screen.active_bindings.values():
        action = binding.action.removeprefix("app.")
        if enabled and (binding.show or action == "command_palette"):
            found.setdefault(action, binding)
    ends = [found.pop(action) for action in LAST if action in found]
    return sorted(found.values(), key=lambda one: one.key != "enter") + ends


class KeyBar(Widget):
    """Every key that does something now, wrapped over as many lines as it takes; each can be clicked.

    (Textual's own footer has one line: what does not fit is out of sight.)
    """

    DEFAULT_CSS = """
    KeyBar {
        dock: bottom; height: auto; padding: 0 1; background: $panel; color: $text-muted;
    }
    """

    def on_mount(self) -> None:
        """Follow the bindings."""
        self.screen.bindings_updated_signal.subscribe(self, self._changed)

    def on_resize(self, _event: events.Resize) -> None:
        """Wrap again."""
        self.refresh(layout=True)

    def on_click(self, event: events.Click) -> None:
        """Do what the key does."""
        if key := event.style.meta.get("key"):
            self.app.simulate_key(key)

    def _changed(self, _screen: Screen[Any]) -> None:
        self.refresh(layout=len(self.lines(self.size.width)) != self.size.height)

    def lines(self, width: int) -> list[Content]:
        """The keys in lines of at most ``width`` cells; where they take too many, at least help is among them."""
        keys = self._keys()
        lines = self._wrapped(keys, width)
        if len(lines) > MOST_LINES:
            keys.sort(key=lambda key: key[2] != "f1")
            lines = self._wrapped(keys, width)[:MOST_LINES]
        return lines

    def _wrapped(self, keys: list[tuple[str, str, str]], width: int) -> list[Content]:
        lines: list[Content] = [Content("")]
        for shown, about, key in keys:
            item = Content.assemble((shown, "bold $accent"), f" {about}").stylize(Style.from_meta({"key": key}))
            if lines[-1].cell_length and lines[-1].cell_length + GAP + item.cell_length > width:
                lines.append(Content(""))
            lines[-1] = Content(" " * GAP if lines[-1].cell_length else "").join([lines[-1], item])
        return lines

    def _keys(self) -> list[tuple[str, str, str]]:
        return [
            (self.app.get_key_display(one), one.description.capitalize(), one.key)
            for one in shown_bindings(self.screen)
        ]

    def get_content_width(self, container: Size, _viewport: Size) -> int:
        """As wide as there is room."""
        return container.width

    def get_content_height(self, _container: Size, _viewport: Size, width: int) -> int:
        """As high as the keys need at this width."""
        return len(self.lines(width))

    def render(self) -> Content:
        """The lines."""
        return Content("\n").join(self.lines(self.size.width))
