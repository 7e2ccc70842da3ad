"""How the model answers: temperature and its companions, checked before they are taken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Grid, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Label, Static

from wizard.chat.conversation import Sampling
from wizard.tui.widgets.chrome import KeyBar


@dataclass(frozen=True, slots=True)
class Settings:
    """How to answer, and the system prompt ("" for none)."""

    sampling: Sampling
    system: str


FIELDS = {
    "temperature": ("Temperature", "0 always takes the likeliest token; up to 2"),
    "top_p": ("Top-p", "choose among the likeliest tokens that make up this share"),
    "max_tokens": ("Max tokens", "the longest answer"),
    "seed": ("Seed", "a whole number for the same answer again; empty: random"),
    "system": ("System", "a system prompt: who the model is to be; empty: none"),
}


def texts(settings: Settings) -> dict[str, str]:
    """The settings as they are written in the fields."""
    sampling = settings.sampling
    return {
        "temperature": f"{sampling.temperature:g}",
        "top_p": f"{sampling.top_p:g}",
        "max_tokens": str(sampling.max_tokens),
        "seed": "" if sampling.seed is None else str(sampling.seed),
        "system": settings.system,
    }


def read(fields: Mapping[str, str]) -> tuple[Settings | None, dict[str, str]]:
    """The settings that the fields say (None if one of them is wrong), and what is wrong with which."""
    wrong: dict[str, str] = {}

    def number(name: str, low: float, high: float, wanted: str) -> float:
        try:
            value = float(fields[name])
        except ValueError:
            value = float("nan")
        if not low <= value <= high:
            wrong[name] = wanted
        return value

    def whole(name: str, low: int, high: int, wanted: str) -> int:
        text = fields[name].strip()
        if not (text.isascii() and text.isdigit() and low <= int(text[:20]) <= high):
            wrong[name] = wanted
            return low
        return int(text)

    temperature = number("temperature", 0, 2, "a number from 0 to 2")
    top_p = number("top_p", 0.001, 1, "a number over 0 up to 1")
    max_tokens = whole("max_tokens", 1, 1_000_000, "a whole number from 1")
    # llama.cpp's seeds have 32 bits and the last one means "random"
    seed = whole("seed", 0, 2**32 - 2, f"empty, or a whole number up to {2**32 - 2:,}") if fields["seed"].strip() else None
    if wrong:
        return None, wrong
    return Settings(Sampling(temperature, top_p, max_tokens, seed), fields["system"].strip()), {}


class SettingsScreen(ModalScreen["Settings | None"]):
    """Dismissed with the new settings, or with None if they stay."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", "Take over", priority=True, key_display="⏎"),
        Binding("up", "app.focus_previous", "Fields", key_display="↑↓"),
        Binding("down", "app.focus_next", "Fields", show=False),
        Binding("escape", "close", "Leave as it was"),
    ]

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self._texts = texts(settings)

    def compose(self) -> ComposeResult:
        """A field and its explanation for each setting."""
        with Vertical(classes="window") as window:
            window.border_title = "How the model answers"
            with Grid(id="fields"):
                for name, (title, about) in FIELDS.items():
                    yield Label(title)
                    yield Input(self._texts[name], id=name, compact=True, select_on_focus=False)
                    yield Static(Content(about), id=f"about-{name}", classes="about")
            yield KeyBar()

    def action_accept(self) -> None:
        """Take the fields over, or say what is wrong with them."""
        settings, wrong = read({name: self.query_one(f"#{name}", Input).value for name in FIELDS})
        if settings is not None:
            self.dismiss(settings)
            return
        for name, (_title, about) in FIELDS.items():
            hint = self.query_one(f"#about-{name}", Static)
            hint.set_class(name in wrong, "wrong")
            hint.update(Content(f"✗ {wrong[name]}" if name in wrong else about))
        self.query_one(f"#{next(iter(wrong))}", Input).focus()

    def action_close(self) -> None:
        """Change nothing."""
        self.dismiss(None)
