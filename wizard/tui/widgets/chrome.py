"""The frame of every screen: the current stage of the workflow, and the active keys."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import zip_longest
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
SEPARATOR = " │ "
"""Between two groups of keys."""
LAST = ("back", "help", "settings", "explain", "command_palette", "leave", "quit")
"""Actions of all stages, whose keys are listed last, in this order."""
GENERAL = LAST[1:]
"""Those at the right end of the key bar."""
LEAVE = ("leave", "quit")
KNOWN = ("up", "down", "pageup")
"""Keys that move, as everybody expects: they are the last to get room."""
STAGES = (mark("Machine"), mark("Model"), mark("Advice"), mark("Review"), mark("Build"), mark("Chat"), mark("Bench"))


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
        """All stages if there is room, without the program's name if need be; else only the current one."""
        brand = ("◆ triton-wizard  ", "bold $primary")
        stages = self._stages()
        for name in (brand, ("◆ ", "bold $primary")):
            if (whole := Content.assemble(name, stages)).cell_length <= self.size.width:
                return whole
        here = f"{self.stage + 1}/{len(STAGES)} {tr(STAGES[self.stage])}" if self.stage >= 0 else ""
        return Content.assemble(brand, (here, "bold $foreground"))

    def _stages(self) -> Content:
        parts: list[str | tuple[str, str]] = []
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

    @property
    def action(self) -> str:
        """The action, wherever it is defined."""
        return action_of(self.binding)


def action_of(binding: Binding) -> str:
    """The name of its action, wherever that is defined; a letter that quits does what Ctrl+Q does."""
    return binding.action.removeprefix("app.").removesuffix("_alone")


def key_name(key: str) -> str:
    """The printed name of a key (Textual's ``ctrl+r``): ``^R``."""
    *modifiers, last = key.split("+")
    last = PRINTED.get(last) or format_key(last)
    caret = "^" * ("ctrl" in modifiers)
    name = "+".join([*(modifier for modifier in modifiers if modifier != "ctrl"), caret + last])
    return name if last in PRINTED.values() or len(name) == 1 else name.title()


def key_rows(screen: Screen[Any], *, hidden: bool = False) -> list[KeyRow]:
    """The active keys of ``screen``, a row per action: Enter, those of the focused part, those of the screen, and the
    general ones; each as declared.

    With ``hidden`` also those that the key bar never shows. Keys of several parts of the screen with the same
    description (arrows and pages scroll) share a row.
    """
    active = sorted(active_keys(screen), key=lambda active_key: not active_key.binding.show)
    rows: dict[str, KeyRow] = {}
    shown: set[tuple[int, str]] = set()
    for node, binding, _enabled, _tooltip in active:
        action, same = action_of(binding), (id(node), binding.description)
        if action not in rows and same not in shown and (binding.show or (hidden and binding.id)):
            shown.add(same)
            rows[action] = KeyRow(_keys(binding, node, active), tr(binding.description), binding, node)
    ends = [rows.pop(action) for action in LAST if action in rows]
    alike: dict[str, KeyRow] = {}
    for row in rows.values():
        before = alike.get(row.about)
        alike[row.about] = before._replace(keys=f"{before.keys} {row.keys}") if before else row
    return sorted(alike.values(), key=lambda row: row.binding.key != "enter") + ends


def active_keys(screen: Screen[Any]) -> list[ActiveBinding]:
    """The enabled bindings with a description, in the order of `key_rows`; Textual's depends on its own defaults."""
    active = [each for each in screen.active_bindings.values() if each.enabled and each.binding.description]
    return sorted(active, key=lambda each: (-len(each.node.ancestors), _place(each.node.__class__, each.binding.id)))


@cache
def _place(owner: type[DOMNode], name: str | None) -> int:
    """Where a class, or one that it is derived from, declares the binding with this ID."""
    declared = [getattr(binding, "id", None) for base in owner.__mro__ for binding in vars(base).get("BINDINGS", ())]
    return declared.index(name) if name in declared else len(declared)


def about(binding: Binding) -> str:
    """What a key does, in a few words; the key bar has only room for its description."""
    return tr(binding.tooltip or binding.description)


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
    """A line with the keys that matter most now, as many as there is room for; each can be clicked.

    Help always has its place: it lists the others. (Textual's own footer shows the first ones, and hides the rest.)
    """

    DEFAULT_CSS = """
    KeyBar {
        dock: bottom; height: auto; padding: 0 1; background: $panel; color: $text-muted;
        text-wrap: nowrap; text-overflow: ellipsis;
    }
    """

    _drawn: Content | None = None
    """What was drawn last: most changes of bindings change nothing here."""

    def on_mount(self) -> None:
        """Follow the bindings."""
        self.screen.bindings_updated_signal.subscribe(self, self._changed)

    def relabel(self) -> None:
        """Describe the keys in the current language, which may need more room."""
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Run the key's action."""
        if key := event.style.meta.get("key"):
            self.app.simulate_key(key)

    def _changed(self, _screen: Screen[Any]) -> None:
        if self.line(self.size.width) != self._drawn:
            self.refresh()

    def line(self, width: int) -> Content:
        """The keys in at most ``width`` cells, as long as these have room for one."""
        return _line(tuple((row.keys, row.about, row.binding) for row in key_rows(self.screen)), width)

    def get_content_width(self, container: Size, _viewport: Size) -> int:
        """The available width."""
        return container.width

    def get_content_height(self, _container: Size, _viewport: Size, _width: int) -> int:
        """One line."""
        return 1

    def render(self) -> Content:
        """The line."""
        self._drawn = self.line(self.size.width)
        return self._drawn


Key = tuple[str, str, Binding]
"""Its name, its description, its binding."""


@lru_cache(maxsize=64)  # bindings are published at every change of focus, mostly the same ones
def _line(keys: tuple[Key, ...], width: int) -> Content:
    if "leave" in map(_action, keys):  # where letters are no text, a second key does the same
        keys = tuple(key for key in keys if _action(key) != "quit")
    chosen: list[Key] = []
    for key in _ranked(keys):
        more = [each for each in keys if each in chosen or each is key]
        if not chosen or _composed(more).cell_length <= width:
            chosen = more
    return _composed(chosen, width)


def _ranked(keys: Sequence[Key]) -> list[Key]:
    """The most important first: help, Enter, Esc, leaving, the screen's own keys, the palette, the general ones."""
    first = [
        *(key for key in keys if _action(key) == "help"),
        *(key for key in keys if key[2].key in ("enter", "escape")),
        *(key for key in keys if _action(key) in LEAVE),
    ]
    own = [key for key in keys if key not in first and _action(key) not in GENERAL]
    own.sort(key=lambda key: key[2].key in KNOWN)  # in each group, and then among all
    own = sorted(_in_turn(own), key=lambda key: key[2].key in KNOWN)
    general = [key for key in keys if key not in first and _action(key) in GENERAL]
    general.sort(key=lambda key: _action(key) != "command_palette")
    return [*first, *own[:1], *general[:1], *own[1:], *general[1:]]


def _in_turn(keys: Sequence[Key]) -> list[Key]:
    """The first key of each group, then the second of each, and so on."""
    groups = [[key for key in keys if key[2].group == group] for group in dict.fromkeys(key[2].group for key in keys)]
    return [key for turn in zip_longest(*groups) for key in turn if key is not None]


def _action(key: Key) -> str:
    return action_of(key[2])


def _composed(keys: Sequence[Key], width: int = 0) -> Content:
    """The keys in a line: those of a group next to each other, the general ones at the right end of ``width`` cells."""
    right = [key for key in keys if _action(key) in GENERAL]
    left = sorted((key for key in keys if key not in right), key=lambda key: key[2].key not in ("enter", "escape"))
    order = list(dict.fromkeys(_group(key, left) for key in left))
    groups = [[key for key in left if _group(key, left) == group] for group in order]
    start = Content(SEPARATOR).join([_joined(group) for group in groups])
    end = _joined(right)
    gap = GAP if left and right else 0
    return Content(" " * max(gap, width - start.cell_length - end.cell_length)).join([start, end])


def _group(key: Key, left: Sequence[Key]) -> Binding.Group | None:
    """Its group; keys to continue and to go back are with the first of the others."""
    if key[2].key not in ("enter", "escape"):
        return key[2].group
    return next((each[2].group for each in left if each[2].group), None)


def _joined(keys: Sequence[Key]) -> Content:
    return Content(" " * GAP).join([_item(key) for key in keys])


def _item(key: Key) -> Content:
    name, words, binding = key
    return Content.assemble((name, "bold $accent"), f" {words}").stylize(Style.from_meta({"key": binding.key}))
