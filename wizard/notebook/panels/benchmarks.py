"""The workspace's benchmarks: one, or two side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wizard.kernel.errors import WizardError
from wizard.kernel.language import tr
from wizard.notebook.html import error_html
from wizard.notebook.panels.panel import Panel
from wizard.notebook.values import Benchmark


class BenchmarksPanel(Panel):
    """The panel.

    Args:
        folders: Those of the reports, the latest first.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        from ipywidgets import HBox, Layout

        none = [(tr("none"), "")]
        names = [(folder.name, folder) for folder in folders]
        sides = [self._side(names, folders[0]), self._side([*none, *names], "")]
        box = HBox(sides, layout=Layout(flex_flow="row wrap"))
        super().__init__(box, lambda: self._html(folders[0]), "Benchmark.read(folder)")

    def _side(self, options: Sequence[tuple[str, Path | str]], folder: Path | str) -> Any:
        from ipywidgets import HTML, Dropdown, Layout, VBox

        choice = Dropdown(options=options, value=folder, description=tr("Benchmark"))
        shown = HTML(self._html(folder))
        choice.observe(lambda change: setattr(shown, "value", self._html(change["new"])), "value")
        return VBox([choice, shown], layout=Layout(flex="1 1 24em", min_width="0"))

    def _html(self, folder: Path | str) -> str:
        if not isinstance(folder, Path):
            return ""
        try:
            return Benchmark.read(folder)._repr_html_()
        except WizardError as error:
            return error_html(error)
