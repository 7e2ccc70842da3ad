"""Settings: language, theme, keys, explanations, conversations. Every change takes effect at once and is saved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from wizard.kernel.language import LANGUAGES, mark, ntr, tr
from wizard.kernel.settings import Settings
from wizard.kernel.text import width
from wizard.tui.screens.modal import listed
from wizard.tui.widgets.picker import Picker

YES_NO = ((True, mark("yes")), (False, mark("no")))


@dataclass(frozen=True, slots=True)
class Setting:
    """A row: a field of `Settings` and its options."""

    name: str
    title: str
    about: str
    values: tuple[tuple[object, str], ...]
    """Value and text; the texts of languages and themes are names and not translated."""


def settings(themes: Sequence[str]) -> tuple[Setting, ...]:
    """The rows; ``themes`` are the names of all themes."""
    own = [name for name in themes if name.startswith("triton-wizard")]
    names = (*own, *(name for name in themes if name not in own))
    return (
        Setting(
            "language",
            mark("Language"),
            mark("Language of the current screen and of all new messages."),
            ((None, mark("system default")), *LANGUAGES.items()),
        ),
        Setting(
            "theme",
            mark("Colors"),
            mark("The wizard's own themes are dark, light, and high contrast; the others come with Textual."),
            tuple((name, name) for name in names),
        ),
        Setting(
            "explain", mark("Explain mode"), mark("Each stage explains what it does, why, and what to look at."), YES_NO
        ),
        Setting("keep_chats", mark("Save conversations"), mark("Only on this machine."), YES_NO),
    )


class SettingsScreen(ModalScreen[None]):
    """The rows, changed in place; the last one opens the keys.

    Args:
        present: The current settings; another wizard may change them, too.
        change: Changes fields, now and for the next runs.
        themes: Names of all themes.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", mark("Change"), id="settings.accept", priority=True, key_display="⏎"),
        Binding("left", "step(-1)", mark("Change"), id="settings.previous", priority=True, key_display="←→"),
        Binding("right", "step(1)", mark("Change"), id="settings.next", priority=True, show=False),
        Binding("escape,q", "close", mark("Close"), id="settings.close", key_display="Esc"),
    ]

    def __init__(self, present: Callable[[], Settings], change: Callable[..., None], themes: Sequence[str]) -> None:
        super().__init__()
        self._present, self._change, self._settings = present, change, settings(themes)

    def compose(self) -> ComposeResult:
        """A list, and the help of the selected row."""
        yield from listed(tr("Settings"))

    def on_mount(self) -> None:
        """Fill the list."""
        self._show(0)

    @property
    def _at(self) -> int:
        return self.query_one(Picker).highlighted or 0

    def _show(self, at: int) -> None:
        titles = [tr(setting.title) for setting in self._settings] + [tr("Keys")]
        room = max(map(width, titles)) + 2
        titles = [title + " " * (room - width(title)) for title in titles]  # Korean letters occupy two cells each
        rows = [
            Content.assemble((title, "bold"), ("‹ ", "$accent"), self._value_text(setting), (" ›", "$accent"))
            for title, setting in zip(titles, self._settings, strict=False)
        ]
        count = len(self._present().keys)
        keys = ntr("{count} changed", "{count} changed", count, count=count) if count else tr("defaults")
        rows.append(Content.assemble((titles[-1], "bold"), "  ", keys))
        self.query_one(".window", Vertical).border_title = Content(tr("Settings"))
        self.query_one(Picker).show(rows, at)
        self._about(at)

    def _value(self, setting: Setting) -> object:
        value: object = getattr(self._present(), setting.name)
        return value

    def _value_text(self, setting: Setting) -> str:
        text = next((text for value, text in setting.values if value == self._value(setting)), "?")
        return tr(text) if setting.name != "theme" else text

    def _about(self, at: int) -> None:
        about = (
            self._settings[at].about if at < len(self._settings) else mark("The keys of each screen and what they do.")
        )
        self.query_one("#about", Static).update(tr(about))

    def on_option_list_option_highlighted(self) -> None:
        """Show the help of the row."""
        self._about(self._at)

    def on_option_list_option_selected(self) -> None:
        """A click on a row changes it."""
        self.action_accept()

    def check_action(self, action: str, _parameters: tuple[object, ...]) -> bool | None:
        """The keys row has no values to step through."""
        return action != "step" or self._at < len(self._settings)

    def action_accept(self) -> None:
        """Change to the next value, or open the keys."""
        if self._at < len(self._settings):
            self.action_step(1)
        else:
            from wizard.tui.screens.keys import KeysScreen

            self.app.push_screen(KeysScreen(self._present().keys, self._rekey))

    def _rekey(self, keys: dict[str, str]) -> None:
        self._change(keys=keys)
        self._show(self._at)

    def action_step(self, by: int) -> None:
        """Change to the value before or after the current one; it takes effect at once."""
        setting = self._settings[self._at]
        values = [value for value, _text in setting.values]
        at = values.index(self._value(setting)) if self._value(setting) in values else 0
        self._change(**{setting.name: values[(at + by) % len(values)]})
        self._show(self._at)

    def action_close(self) -> None:
        """Go back to the stage."""
        self.dismiss(None)
