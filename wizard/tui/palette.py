"""The command palette: the actions of the current screen, with their keys, and the settings."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from textual.app import App
from textual.binding import Binding
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.dom import DOMNode
from textual.screen import Screen

from wizard.kernel.language import LANGUAGES, tr
from wizard.tui.clipboard import copy
from wizard.tui.palette_words import WORDS
from wizard.tui.textual_private import screen_lines
from wizard.tui.widgets.chrome import about, action_of, active_keys, key_name

if TYPE_CHECKING:
    from wizard.tui.app import WizardApp

PICTURE = "picture"
"""Name of the delivery of a screenshot."""
CURSOR = {"up", "down", "left", "right", "pageup", "pagedown", "home", "end"}
"""Cursor keys, whose actions are not commands."""


BY_WORDS = 2.0
"""Score of each letter that begins a word. Textual's matcher gives 1 to letters that are scattered over the title."""


class Command(NamedTuple):
    """A command.

    Attributes:
        title: Its name.
        help: Its key, or a few words about it.
        run: Runs it.
        discover: Whether it is listed before something is typed.
        words: What it may be called as well.
    """

    title: str
    help: str
    run: Callable[[], Any]
    discover: bool = True
    words: str = ""


class Commands(Provider):
    """Finds commands by their titles, and by all other words that users may have for them."""

    async def discover(self) -> Hits:
        """All."""
        for command in sorted(self._commands(), key=lambda command: command.title):
            if command.discover:
                yield DiscoveryHit(command.title, command.run, help=command.help)

    async def search(self, query: str) -> Hits:
        """Those that match ``query``: letters of the title in this order, or beginnings of words."""
        matcher, typed = self.matcher(query), query.lower().split()
        for command in self._commands():
            words = f"{command.title} {command.words}".lower().split()
            by_words = all(any(word.startswith(each) for word in words) for each in typed) * len("".join(typed))
            if score := max(matcher.match(command.title), BY_WORDS * by_words):
                yield Hit(score, matcher.highlight(command.title), command.run, help=command.help)

    def _commands(self) -> Iterator[Command]:
        app: Any = self.app
        return commands(app, self.screen)


def commands(app: WizardApp, screen: Screen[Any]) -> Iterator[Command]:
    """The commands while ``screen`` is on top."""
    for key in active_keys(screen):
        if _is_command(key.binding, key.node):
            run = partial(_do, app, key.binding, key.node)
            yield Command(about(key.binding), key_name(key.binding.key), run, words=_words(key.binding))
    if not any(active.binding.action == "app.doctor" for active in active_keys(screen)):
        words = "doctor diagnose health driver Docker network token"
        yield Command(
            tr("Check for problems"), tr("Driver, containers, memory, network"), app.action_doctor, words=words
        )
    colors = tr("Change the colors (current: {theme})", theme=app.settings.theme)
    yield Command(tr("Theme"), colors, partial(_themes, app))
    for name in app.available_themes:
        yield Command(name, colors, partial(app.change_settings, theme=name), discover=False)
    for code, name in LANGUAGES.items():
        words = tr("Switch the interface to this language")
        yield Command(tr("Language: {name}", name=name), words, partial(app.change_settings, language=code))
    if screen_lines(screen) is not None:
        yield Command(
            tr("Copy the screen"),
            tr("Copy all visible text to the clipboard"),
            partial(app.call_after_refresh, _copy, app),
        )
    yield Command(
        tr("Save a screenshot"),
        tr("As an SVG file"),
        partial(app.call_after_refresh, _save, app),
    )


def _words(binding: Binding) -> str:
    """In English and in the language of the interface: the key bar's description, and other names."""
    words = WORDS.get(action_of(binding), "")
    return " ".join([tr(binding.description), words, tr(words) if words else ""])


def _is_command(binding: Binding, node: DOMNode) -> bool:
    """Whether users would look for it: the hidden keys of a field or a list only edit or move."""
    hidden = not binding.show and not isinstance(node, (App, Screen))
    return binding.id is not None and not hidden and binding.key not in CURSOR and binding.action != "command_palette"


async def _do(app: WizardApp, binding: Binding, node: DOMNode) -> None:
    await app.run_action(binding.action, node)


def _themes(app: WizardApp) -> None:
    own = [name for name in app.available_themes if name.startswith("triton-wizard")]
    others = [name for name in app.available_themes if name not in own]
    app.search_commands(
        [(name, partial(app.change_settings, theme=name)) for name in (*own, *others)],
        placeholder=tr("Search for a theme"),
    )


def _copy(app: WizardApp) -> None:
    """Copy the lines of the screen without trailing spaces."""
    if (lines := screen_lines(app.screen)) is not None:
        copy(app, "\n".join(line.rstrip() for line in lines).strip("\n") + "\n", tr("Copied"))


def _save(app: WizardApp) -> None:
    """Save to the downloads folder (the user's if the server has none), or through the browser that shows it."""
    from platformdirs import user_downloads_path

    folder = user_downloads_path()
    app.deliver_text(
        io.StringIO(app.export_screenshot()),
        save_directory=folder if folder.is_dir() else Path.home(),
        save_filename=f"triton-wizard-{datetime.now():%Y-%m-%d-%H%M%S}.svg",
        mime_type="image/svg+xml",
        name=PICTURE,
    )
