"""A blind vote: two answers, and a button for each."""

from __future__ import annotations

from typing import Any

from wizard.bench.quality.report import Quality
from wizard.kernel.errors import WizardError
from wizard.kernel.language import tr
from wizard.notebook.ballot import Ballot
from wizard.notebook.html import error_html
from wizard.notebook.panels.panel import Panel


class VotePanel(Panel):
    """The panel for ``ballot``."""

    def __init__(self, ballot: Ballot) -> None:
        from ipywidgets import HTML, Button, HBox, VBox

        self._ballot, self._shown = ballot, HTML()
        self._buttons = [Button(description=text) for text in (tr("No difference"), tr("Answer 1"), tr("Answer 2"))]
        for answer, button in enumerate(self._buttons):
            button.on_click(self._clicked(answer))
        none, first, second = self._buttons
        super().__init__(VBox([self._shown, HBox([first, second, none])]), ballot._repr_html_, "ballot.choose(1)")
        self._show()

    @property
    def report(self) -> Quality:
        """The votes so far, with the names."""
        return self._ballot.report

    def choose(self, answer: int) -> Ballot:
        """Vote, as `Ballot.choose`; the panel shows the next pair, too."""
        self._ballot.choose(answer)
        self._show()
        return self._ballot

    def _clicked(self, answer: int) -> Any:
        def choose(_: Any) -> None:
            try:
                self.choose(answer)
            except WizardError as error:  # a full disk
                self._shown.value = error_html(error)

        return choose

    def _show(self) -> None:
        self._shown.value = self._ballot._repr_html_()
        for button in self._buttons:
            button.disabled = not self._ballot.prompt
