"""The wizard works without each thing that it uses of Textual beyond the documented interface."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import textual.screen
from textual.app import App, ComposeResult
from textual.content import Content
from textual.drivers.web_driver import WebDriver
from textual.geometry import Size
from textual.widget import Widget

import wizard.tui
from wizard.tui import textual_private
from wizard.tui.widgets.lines import Text
from wizard.tui.widgets.live_log import LiveLog

FOLDER = Path(wizard.tui.__file__).parent


class Shown(App[None]):
    def compose(self) -> ComposeResult:
        yield Text()
        yield LiveLog()


def taken(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> None:
    """``owner`` and what it inherits from have no ``name`` any more, for whoever asks by `getattr`."""
    holders = [each for each in owner.__mro__ if name in vars(each)]
    assert holders, f"{owner} has no {name}: what stands in textual_private.py for it can go"
    keep = {each: vars(each)[name] for each in holders}

    class Missing:
        """Textual's own code still finds it; ours, which asks from textual_private.py, does not."""

        def __get__(self, instance: object, kind: type | None = None) -> object:
            import sys

            if sys._getframe(1).f_globals["__name__"] == textual_private.__name__:
                raise AttributeError(name)
            return keep[holders[0]].__get__(instance, kind)

    monkeypatch.setattr(holders[0], name, Missing())


async def test_the_log_scrolls_without_the_quick_update(monkeypatch: pytest.MonkeyPatch) -> None:
    taken(monkeypatch, Widget, "_scroll_update")
    async with Shown().run_test(size=(40, 12)) as pilot:
        log = pilot.app.query_one(LiveLog)
        log.write_lines([f"line {number}" for number in range(100)])
        await pilot.pause()
        assert log.virtual_size == Size(7, 100)
        assert log.max_scroll_y > 80
        assert "line 99" in log.visible_text()


async def test_lines_are_drawn_without_the_parser_of_styles(monkeypatch: pytest.MonkeyPatch) -> None:
    taken(monkeypatch, Widget, "_get_style")
    async with Shown().run_test(size=(40, 12)) as pilot:
        text = pilot.app.query_one(Text)
        text.show(Content.from_markup("[bold $primary]Hello[/] there"))
        await pilot.pause()
        assert textual_private.style_parser(text) is None
        assert text.render_line(0).text.startswith("Hello there")


async def test_a_screen_without_its_compositor_has_no_text_to_copy() -> None:
    async with Shown().run_test(size=(40, 12)) as pilot:
        lines = textual_private.screen_lines(pilot.app.screen)
        assert lines is not None
        assert len(lines) == 12
        assert textual_private.screen_lines(object()) is None  # type: ignore[arg-type]


async def test_no_writer_means_that_nothing_waits() -> None:
    async with Shown().run_test(size=(40, 12)) as pilot:
        assert textual_private.pictures_waiting(pilot.app) == 0  # Textual's driver for tests has none
    assert textual_private.pictures_waiting(object()) == 0  # type: ignore[arg-type]


def test_a_slow_terminal_is_seen() -> None:
    from queue import Queue
    from types import SimpleNamespace

    from textual.drivers._writer_thread import WriterThread

    class NoTerminal:
        def fileno(self) -> int:
            raise AssertionError("nothing is written")

    writer = WriterThread(NoTerminal())  # type: ignore[arg-type]  # never started, so that what is written waits
    assert isinstance(writer._queue, Queue)
    writer.write("a picture")
    app = SimpleNamespace(_driver=SimpleNamespace(_writer_thread=writer))
    assert textual_private.pictures_waiting(app) == 1  # type: ignore[arg-type]


def test_pictures_come_often_where_that_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(textual.screen, "UPDATE_PERIOD", 1 / 60)
    textual_private.draw_often()
    assert textual.screen.UPDATE_PERIOD == textual_private.PERIOD_S
    monkeypatch.delattr(textual.screen, "UPDATE_PERIOD")
    textual_private.draw_often()
    assert not hasattr(textual.screen, "UPDATE_PERIOD")


@pytest.mark.parametrize("replace", [textual_private.replace_file, textual_private.replace_write])
def test_a_driver_that_writes_otherwise_is_left_alone(replace: Callable[[object, object], None]) -> None:
    class Bare:
        pass

    driver = Bare()
    replace(driver, lambda _: pytest.fail("there is nothing to replace"))
    assert vars(driver) == {}


def test_the_drivers_are_as_expected() -> None:
    """What is replaced is there in the version that is pinned for development, or the replacement would be dead."""
    import inspect

    from textual.drivers.linux_driver import LinuxDriver

    assert "self._file" in inspect.getsource(LinuxDriver)
    assert "self._write" in inspect.getsource(WebDriver)


def test_nothing_else_reaches_into_textual() -> None:
    """Only attributes of ``self``, ``cls`` and of our own modules begin with an underscore."""
    reach = re.compile(r"\b(?!self\b|cls\b)[a-z_]\w*\._(?!_)(?!replace\b)\w+|from textual\S* import [^\n]*\b_[a-z]")
    code = {path: re.sub(r'(?s)""".*?"""|#[^\n]*', "", path.read_text()) for path in FOLDER.rglob("*.py")}
    hits = {path.name: reach.findall(text) for path, text in code.items() if reach.search(text)}
    assert set(hits) <= {"textual_private.py"}, hits
