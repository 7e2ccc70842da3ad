"""The keys: a list of all of them, with a way to change each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from wizard.kernel.language import mark, tr
from wizard.kernel.text import width
from wizard.tui.keys import Key, declared, refusal, shown, usable
from wizard.tui.screens.modal import listed
from wizard.tui.widgets.chrome import KeyBar
from wizard.tui.widgets.picker import Picker

CHANGED = "*"
"""Marks a changed key."""
MOST_CELLS = 12
"""Columns for the names of a binding's keys; longer names shift the description to the right."""


class PressScreen(ModalScreen["str | None"]):
    """Waits for a key; dismissed with Textual's name of it, or None for Esc."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", mark("Cancel"), id="keys.close_press"),
    ]
    takes_every_key = True
    """Keys that work everywhere do not work here."""

    def __init__(self, key: Key) -> None:
        super().__init__()
        self._wanted = key

    def compose(self) -> ComposeResult:
        """What it waits for."""
        with Vertical(classes="window") as window:
            window.border_title = Content(tr("Press the new key"))
            action, where = tr(self._wanted.binding.description), self._wanted.where
            yield Static(Content(f"{action} ({where})"))
            yield KeyBar()

    def on_key(self, event: events.Key) -> None:
        """Accept any key."""
        event.stop()
        event.prevent_default()
        self.dismiss(None if event.key == "escape" else event.key)

    def action_close(self) -> None:
        """Cancel."""
        self.dismiss(None)


class KeysScreen(ModalScreen[None]):
    """A row per binding, grouped by screen.

    Args:
        changed: Binding ID → its keys, if they differ from the default.
        change: Saves a new mapping.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", mark("Assign a key"), id="keys.accept", priority=True, key_display="⏎"),
        Binding("r", "reset", mark("Use default"), id="keys.reset"),
        Binding("R", "reset_all", mark("Reset all"), id="keys.reset_all", key_display="R"),
        Binding("escape,q", "close", mark("Close"), id="keys.close", key_display="Esc"),
    ]

    def __init__(self, changed: Mapping[str, str], change: Callable[[dict[str, str]], None]) -> None:
        super().__init__()
        self._changed, self._change = dict(changed), change
        self._keys = declared()

    def compose(self) -> ComposeResult:
        """A list, and below it the error in a key."""
        yield from listed(tr("Keys"))

    def on_mount(self) -> None:
        """Fill the list."""
        self._show(0)

    @property
    def _key(self) -> Key:
        return self._keys[self.query_one(Picker).highlighted or 0]

    def _show(self, at: int) -> None:
        holds, _problems = usable(self._changed)
        names = [shown(key.keys(holds)) + CHANGED * (key.id in self._changed) for key in self._keys]
        room = min(max(map(width, names)), MOST_CELLS)
        rows = [
            Content.assemble(
                (name + " " * (room - width(name)), "bold $accent"),
                f"  {tr(key.binding.description)}",
                (f" · {key.where}", "$text-muted"),
            )
            for name, key in zip(names, self._keys, strict=True)
        ]
        self.query_one(Picker).show(rows, at)
        self.refresh_bindings()

    def _say(self, text: str, *, wrong: bool = False) -> None:
        about = self.query_one("#about", Static)
        about.update(text)
        about.set_class(wrong, "wrong")

    def on_option_list_option_highlighted(self) -> None:
        """The last message was about another row; there may be nothing to reset."""
        self._say("")
        self.refresh_bindings()

    def on_option_list_option_selected(self) -> None:
        """A click on a row waits for its new key."""
        self.action_accept()

    def check_action(self, action: str, _parameters: tuple[object, ...]) -> bool | None:
        """A default key cannot be reset."""
        if action == "reset":
            return self._key.id in self._changed
        return action != "reset_all" or bool(self._changed)

    def action_accept(self) -> None:
        """Wait for a key."""
        self.app.push_screen(PressScreen(self._key), self._pressed)

    def _pressed(self, key: str | None) -> None:
        if key is None:
            return
        target = self._key
        if why := refusal(target, key, usable(self._changed)[0]):
            self._say(f"✗ {why}", wrong=True)
            return
        self._changed[target.id] = key
        if target.keys({}) == [key]:
            del self._changed[target.id]
        self._keep()

    def action_reset(self) -> None:
        """Reset the binding to its default keys."""
        without = {name: keys for name, keys in self._changed.items() if name != self._key.id}
        for key in self._key.keys({}):
            if why := refusal(self._key, key, usable(without)[0]):
                self._say(f"✗ {why}", wrong=True)
                return
        self._changed = without
        self._keep()

    def action_reset_all(self) -> None:
        """Reset all bindings to their default keys."""
        self._changed = {}
        self._keep()

    def _keep(self) -> None:
        self._change(dict(self._changed))
        self._show(self.query_one(Picker).highlighted or 0)

    def action_close(self) -> None:
        """Go back to the settings."""
        self.dismiss(None)
