"""All keys of the full-screen wizard: where they work, what they do, and which keys can replace them.

The bindings are read from the classes that declare them; there is no second list.
"""

from __future__ import annotations

import importlib
import pkgutil
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from textual.app import App
from textual.binding import Binding
from textual.keys import KEY_NAME_REPLACEMENTS, Keys, format_key
from textual.screen import Screen
from textual.widgets import OptionList

from wizard.kernel.language import mark, tr
from wizard.tui.widgets.chrome import key_name
from wizard.tui.widgets.options import Options

if TYPE_CHECKING:
    from textual.dom import DOMNode

WHERE = {
    "app": mark("Everywhere"),
    "stage": mark("All stages"),
    "welcome": mark("Welcome"),
    "recipes": mark("Recipes"),
    "machine": mark("Machine"),
    "model": mark("Model"),
    "advice": mark("Advice"),
    "pareto": mark("Pareto front"),
    "review": mark("Review"),
    "build": mark("Build"),
    "chat": mark("Chat"),
    "bench": mark("Bench"),
    "measure": mark("Running benchmark"),
    "report": mark("Report"),
    "vote": mark("Blind vote"),
    "settings": mark("Settings"),
    "keys": mark("Keys"),
    "form": mark("Forms"),
    "ask": mark("Single question"),
    "consent": mark("Tool call"),
    "doctor": mark("Machine check"),
    "reader": mark("Text window"),
    "explanation": mark("Explain mode"),
    "find": mark("Search"),
    "log": mark("Logs"),
    "steps": mark("Steps"),
    "picker": mark("Lists"),
    "pane": mark("Scrolling text"),
    "options": mark("Multiple choice"),
}
"""First part of an ID → where the key works."""
MODIFIERS = {"alt", "ctrl", "shift", "super", "hyper", "meta"}
NAMES = {key.value for key in Keys if "+" not in key.value}
"""Textual's names of keys that are not named by their character."""
RESERVED = ("tab", "shift+tab", "escape")
"""Keys for moving between the parts of a screen, or leaving it, which cannot be reassigned."""


@dataclass(frozen=True, slots=True)
class Key:
    """A binding as its class declares it."""

    id: str
    owner: type[DOMNode]
    binding: Binding

    @property
    def where(self) -> str:
        """Where it works, as text."""
        part = self.id.partition(".")[0]
        return tr(WHERE[part]) if part in WHERE else part.capitalize()

    def keys(self, changed: Mapping[str, str]) -> list[str]:
        """The keys of the action, given the ``changed`` ones of the settings, by Textual's names."""
        return [normal(word) for word in changed.get(self.id, self.binding.key).split(",")]


def classes() -> list[type[DOMNode]]:
    """All classes of the full-screen wizard that declare bindings; imports all screens and widgets."""
    from wizard.tui import screens, widgets

    names = ["wizard.tui.app"]
    for package in (screens, widgets):
        names += [module.name for module in pkgutil.iter_modules(package.__path__, package.__name__ + ".")]
    return [
        var
        for name in names
        for var in vars(importlib.import_module(name)).values()
        if isinstance(var, type) and var.__module__ == name and "BINDINGS" in vars(var)
    ]


@cache
def declared() -> tuple[Key, ...]:
    """All bindings that can be changed, in the order of `WHERE`."""
    keys = [
        Key(binding.id, owner, binding)
        for owner in classes()
        for binding in vars(owner)["BINDINGS"]
        if isinstance(binding, Binding) and binding.id
    ]
    order = [*WHERE]
    return tuple(sorted(keys, key=lambda key: order.index(part) if (part := key.id.partition(".")[0]) in WHERE else 99))


def normal(key: str) -> str:
    """Textual's name of a key as users write it: ``?`` is ``question_mark``, ``Shift+Ctrl+X`` is ``ctrl+shift+x``."""
    key = key.strip()
    if len(key) == 1:
        return _named(key)
    *modifiers, last = key.lower().split("+")
    return "+".join([*sorted(modifiers), _named(last) if len(last) == 1 else last])


def _named(character: str) -> str:
    """Textual's name of the key with this character: letters and digits by themselves, others by their Unicode name."""
    if character.isalnum():
        return character
    name = unicodedata.name(character, character).lower().replace("-", "_").replace(" ", "_")
    return KEY_NAME_REPLACEMENTS.get(name, name)


def known(key: str) -> bool:
    """Whether a key with this name exists (`normal`); this keyboard and terminal may not be able to send it."""
    *modifiers, last = key.split("+")
    return MODIFIERS.issuperset(modifiers) and (last in NAMES or len(format_key(last)) == 1)


def shown(keys: Iterable[str]) -> str:
    """Printed names of keys."""
    return " ".join(map(key_name, keys))


def refusal(target: Key, key: str, changed: Mapping[str, str]) -> str:
    """Why ``key`` cannot be assigned to ``target``, as text; empty if it can."""
    own = key in target.keys({})
    if not own and (why := _unfit(target, key)):
        return why
    for other in declared():
        shadowed = own and other.id not in changed  # by default some keys have several functions on purpose
        if other.id == target.id or shadowed or not together(target.owner, other.owner):
            continue
        if key in other.keys(changed):
            action = tr(other.binding.description)
            return tr("{key} is already used for {what} ({where}).", key=shown([key]), what=action, where=other.where)
    return ""


def _unfit(target: Key, key: str) -> str:
    """Why only its default key, or not this one, can be assigned to it; empty if ``key`` can."""
    if not known(key):
        return tr("unknown key {key!r}: key names look like f5, ctrl+r, or question_mark.", key=key)
    if _shared(target):
        return tr("{key} has several functions and cannot be reassigned.", key=shown(target.keys({})))
    if key in RESERVED:
        return tr("{key} is reserved for navigation.", key=shown([key]))
    if len(format_key(key)) == 1 and _typed(target):
        return tr("{key} is needed for typing. Use a function key or a Ctrl combination.", key=shown([key]))
    return ""


def _shared(target: Key) -> bool:
    """Whether another binding of the class has the same key; Textual (8.2) would remove the key from both."""
    mine = {*target.keys({})}
    return any(
        other.owner is target.owner and other.id != target.id and mine & {*other.keys({})} for other in declared()
    )


def _typed(target: Key) -> bool:
    """Whether the letter would be typed instead, or could no longer be typed: screens with a field have no letters as
    keys.
    """
    if not issubclass(target.owner, (App, Screen)):
        return target.binding.priority and not issubclass(target.owner, (OptionList, Options))
    return all(len(format_key(key)) != 1 for key in target.keys({}))


def together(first: type[Any], other: type[Any]) -> bool:
    """Whether the bindings of both classes can be active at the same time."""
    if issubclass(first, other) or issubclass(other, first) or App in (*first.__mro__, *other.__mro__):
        return True
    screens = [issubclass(each, Screen) for each in (first, other)]
    return any(screens) and not all(screens)  # only one of two widgets has the focus; only one of two screens is on top


def usable(chosen: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The valid part of ``chosen`` (ID → keys), by Textual's names, and the errors in the rest."""
    good, problems = {name: ",".join(map(normal, keys.split(","))) for name, keys in chosen.items()}, []
    by_id = {key.id: key for key in declared()}
    for name, keys in chosen.items():
        binding = by_id.get(name)
        if binding is None:
            why = tr("unknown ID")
        else:
            why = next((problem for word in keys.split(",") if (problem := refusal(binding, normal(word), good))), "")
        if why:
            del good[name]
            problems.append(tr("Ignoring the key {keys} for {id} in your settings: {why}", keys=keys, id=name, why=why))
    return good, problems


def markdown() -> str:
    """The table of all keys in the documentation (English, default keys)."""
    rows = [
        f"| {WHERE.get(key.id.partition('.')[0], key.id)} | {shown(key.keys({}))} "
        f"| {key.binding.tooltip or key.binding.description} | `{key.id}` |"
        for key in declared()
    ]
    return "\n".join(["| Where | Keys | What | Id |", "|---|---|---|---|", *rows])
