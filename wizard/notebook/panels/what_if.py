"""What if? Options of the recommendation as widgets; each change advises again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from wizard.advise.advice import Advice
from wizard.catalog import goals
from wizard.kernel.errors import WizardError
from wizard.kernel.language import tr
from wizard.notebook.html import advice_html, error_html
from wizard.notebook.panels.panel import Panel, html_place
from wizard.plan.questions import BY_NAME

USERS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
LENGTHS = (None, 512, 1024, 2048, 4096, 8192, 16384, 32768, 131072)
"""Tokens of a user; None: the wizard chooses."""
AUTOMATIC = ""
"""The value of a widget for None, which would mean that nothing is selected."""


class WhatIf(Panel):
    """The panel.

    Args:
        advise: Advises with options.
        given: The options so far.
        first: The advice with them.
    """

    def __init__(self, advise: Callable[..., Advice], given: Mapping[str, Any], first: Advice) -> None:
        from ipywidgets import HBox, VBox

        self._advise = advise
        self._shown, self._place = html_place()
        self._place.show(advice_html(first), now=True)
        formats = {each.quantization for each in first.choices} | {each.quantization for each in first.rejections}
        stacks = {each.stack for each in first.choices} | {each.stack for each in first.rejections}
        self._options = {
            "users": _slider("users", USERS, given.get("users", goals.DEFAULT_USERS)),
            "max_len": _slider("max_len", LENGTHS, given.get("max_len")),
            "goal": _dropdown("goal", goals.GOALS, given.get("goal", "chat")),
            "quantization": _dropdown(
                "quantization", (None, *sorted(filter(None, formats))), given.get("quantization")
            ),
            "stack": _dropdown("stack", (None, *sorted(stacks)), given.get("stack")),
        }
        for option in self._options.values():
            option.observe(self._changed, "value")
        sliders, lists = list(self._options.values())[:2], list(self._options.values())[2:]
        box = VBox([HBox(sliders, layout=_wrap()), HBox(lists, layout=_wrap()), self._shown])
        super().__init__(box, lambda: self._shown.value, "journey.advise(users=8)")

    def _changed(self, _change: Any) -> None:
        options = {name: option.value or None for name, option in self._options.items()}
        try:
            html = advice_html(self._advise(**options))
        except WizardError as error:
            html = error_html(error)
        self._place.show(html, now=True)


def _slider(name: str, values: tuple[int | None, ...], value: int | None) -> Any:
    from ipywidgets import SelectionSlider

    values = tuple(sorted({*values, value}, key=lambda each: each or 0))
    labels = [_label(each, f"{each:,}" if each else "") for each in values]
    return SelectionSlider(options=labels, value=value or AUTOMATIC, continuous_update=False, **_look(name))


def _dropdown(name: str, values: tuple[str | None, ...], value: str | None) -> Any:
    from ipywidgets import Dropdown

    values = values if value in values else (*values, value)
    labels = [_label(each, each or "") for each in values]
    return Dropdown(options=labels, value=value or AUTOMATIC, **_look(name))


def _label(value: int | str | None, label: str) -> tuple[str, int | str]:
    return (tr("automatic"), AUTOMATIC) if value is None else (label, value)


def _look(name: str) -> dict[str, Any]:
    """The question's own words, and room for them."""
    from ipywidgets import Layout

    text = {"description": tr(BY_NAME[name].text), "style": {"description_width": "initial"}}
    return {**text, "layout": Layout(width="36em")}


def _wrap() -> Any:
    from ipywidgets import Layout

    return Layout(flex_flow="row wrap")
