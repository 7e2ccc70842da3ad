"""What all panels share: widgets, and the HTML that stands for them in a front end without widgets."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from wizard.kernel.extras import install
from wizard.kernel.language import tr
from wizard.notebook import live
from wizard.notebook.html import text
from wizard.notebook.live import Place
from wizard.notebook.values import Log

WIDGET = "application/vnd.jupyter.widget-view+json"


def available() -> bool:
    """Whether there is a kernel whose front end may have widgets, and ipywidgets is installed."""
    return live.in_notebook() and find_spec("ipywidgets") is not None


def missing(instead: str) -> Log:
    """What to do where no panel can be shown: the call ``instead``, or installing ipywidgets."""
    use = tr("There are no widgets here. Use {call} instead.", call=instead)
    fix = tr("To install them: {command}", command=install("notebook"))
    return Log(f"{use}\n{fix}" if live.in_notebook() else use)


class Panel:
    """Widgets in a box.

    A kernel cannot know whether a front end shows widgets (nbconvert and GitHub show none), so each display has both.

    Args:
        box: The widgets.
        html: What is shown instead of them.
        instead: The call that does the same without widgets.
    """

    def __init__(self, box: Any, html: Callable[[], str], instead: str) -> None:
        self._box, self._static, self._instead = box, html, instead

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:  # noqa: ARG002
        hint = tr("This front end shows no widgets. Use {call} instead.", call=self._instead)
        return {
            "text/plain": hint,
            "text/html": f"<div>{self._static()}<div>{text(hint)}</div></div>",
            WIDGET: {"version_major": 2, "version_minor": 0, "model_id": self._box.model_id},
        }


def html_place() -> tuple[Any, Place]:
    """An HTML widget, and the place that it is."""
    from ipywidgets import HTML

    widget = HTML()
    return widget, Place(lambda html: setattr(widget, "value", html))
