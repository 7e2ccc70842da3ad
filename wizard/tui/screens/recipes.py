"""The ready-made recipes: what each is about, and how this machine compares with the one that it was made for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from wizard.kernel.errors import WizardError
from wizard.kernel.language import mark, tr
from wizard.kernel.text import one_line
from wizard.tui import background
from wizard.tui.screens.stage import StageScreen
from wizard.tui.widgets.error import ErrorPanel
from wizard.tui.widgets.picker import Picker

if TYPE_CHECKING:
    from wizard.catalog.recipes import Recipe
    from wizard.probe.host import Host


ALIKE = 0.95
"""Share of a GPU's memory that counts as equal: drivers report sizes of a kind that differ by some hundred MiB."""


class RecipesScreen(StageScreen[str]):
    """Dismissed with the name of a recipe."""

    HELP = mark(
        "A recipe is a ready-made setup with every answer filled in: the model, the serving stack, the formats. "
        "Recipes follow the tutorials, with their errors fixed. You can change every answer, and you see every step "
        "before it runs."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", mark("Use this recipe"), id="recipes.accept", priority=True, key_display="⏎"),
    ]

    def __init__(self, recipes: Callable[[], Sequence[Recipe]], host: Host | None) -> None:
        """``host`` is the machine, if already known."""
        super().__init__()
        self._read, self._host = recipes, host
        self._recipes: Sequence[Recipe] = ()

    def compose(self) -> ComposeResult:
        """A list."""
        yield from self.framed(
            Static(classes="heading"),
            ErrorPanel(),
            Picker(id="ways"),
        )

    def on_mount(self) -> None:
        """Fill the list."""
        self._fill()

    @work(exclusive=True)
    async def _fill(self) -> None:
        self.query_one(".heading", Static).update(Content(tr("Which recipe do you want to use?")))
        try:
            self._recipes = await background.call(self._read)
            rows = await background.call(lambda: [_row(recipe, self._host) for recipe in self._recipes])
        except WizardError as error:
            self.query_one(ErrorPanel).show(error)
        else:
            self.query_one(Picker).show(rows, self.query_one(Picker).highlighted or 0)

    def relabel(self) -> None:
        """Update all text to the current language."""
        super().relabel()
        self._fill()

    def on_option_list_option_selected(self) -> None:
        """A click on a recipe accepts it."""
        self.action_accept()

    def action_accept(self) -> None:
        """Accept the selected recipe."""
        at = self.query_one(Picker).highlighted
        if at is not None:
            self.workers.cancel_node(self)
            self.dismiss(self._recipes[at].name)


def _row(recipe: Recipe, host: Host | None) -> Content:
    return Content.assemble(
        (tr(recipe.title), "bold"),
        "\n",
        (one_line(tr(recipe.about)), "$text-muted"),
        "\n",
        (comparison(recipe.machines, host), "$secondary"),
    )


def comparison(machines: Sequence[str], host: Host | None) -> str:
    """Whether ``host`` has at least the GPUs of any of the ``machines`` of a recipe, as text.

    Only number and memory of GPUs are compared; the advice determines what really fits.
    """
    from wizard.probe.shorthand import host as described

    names = tr(" or ").join(machines)
    if host is None or not machines:
        return tr("made for {machines}", machines=names) if machines else tr("made for any machine")
    have = sorted((gpu.memory_total_bytes or 0 for gpu in host.gpus), reverse=True)
    for name in machines:
        need = sorted((gpu.memory_total_bytes or 0 for gpu in described(name).gpus), reverse=True)
        if len(need) <= len(have) and all(mine >= ALIKE * theirs for mine, theirs in zip(have, need, strict=False)):
            return tr("✓ fits here: made for {machines}", machines=names)
    return tr(
        "○ made for {machines}, not for this machine; see the recommendations for what is possible", machines=names
    )
