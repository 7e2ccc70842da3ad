"""Ready-made setups: each file of ``profiles/recipes`` is a recipe with its model and its choices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from wizard.catalog import stacks
from wizard.catalog.profiles import files, load_toml
from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr
from wizard.kernel.values import from_data


@dataclass(frozen=True, slots=True)
class Recipe:
    """A recipe whose answers are given beforehand; any of them can still be changed."""

    name: str
    """The file's name without ``.toml``, and what the user types."""
    title: str
    about: str
    model: str
    """A path inside ``profiles/`` (it begins with ``models/``) or a hub id."""
    source: str
    """Where the recipe comes from: a tutorial, the wizard itself."""
    answers: dict[str, str | int | float | bool] = field(default_factory=dict)
    """Name of a question → its answer."""
    machines: tuple[str, ...] = ()
    """Machines that it fits, as ``--hardware`` takes them."""
    options: dict[str, object] = field(default_factory=dict)
    """How the stack is built and served beyond the questions: the fields of `wizard.plan.options.Options`."""
    repaired: tuple[str, ...] = ()
    """What is wrong in the tutorial that the recipe replaces, and what is done instead; a sentence each."""
    later: tuple[str, ...] = ()
    """What the tutorial does afterwards and the recipe does not; a sentence each."""
    first_question: str | None = None
    """Asked as soon as the model is ready."""
    needs_network: bool = True
    """Whether anything beyond the package index must be reachable."""

    @property
    def model_in_profiles(self) -> bool:
        """Whether the model is shipped with the wizard."""
        return self.model.startswith("models/")


def recipes() -> list[Recipe]:
    """All recipes, those that need no network first, then by name.

    Raises:
        UsageError: TW-D02 or TW-K01 if a file cannot be read or does not fit.
    """
    known = [
        from_data(Recipe, {**load_toml(path), "name": name}, where=str(path)) for name, path in files("recipes").items()
    ]
    return sorted(known, key=lambda recipe: (recipe.needs_network, recipe.name))


def recipe(name: str) -> Recipe:
    """The recipe ``name``.

    Raises:
        UsageError: TW-D03 if there is none of that name.
    """
    known = {item.name: item for item in recipes()}
    if name not in known:
        names = ", ".join(known) or tr("none")
        raise UsageError(
            "TW-D03", tr("unknown recipe: {name!r}", name=name[:60]), tr("Available: {names}.", names=names)
        )
    return known[name]


TIED = ("release", "quantization", "kv_dtype")
"""Answers that mean something for one stack only: its images and its formats."""


def answered(ref: str, given: Mapping[str, object], known: Iterable[Recipe]) -> dict[str, object]:
    """All answers for ``ref``: those of the recipe of that name, beneath what was ``given``.

    With another stack than the recipe's, what it says of that stack's images and formats is left out: 24.09 has the
    TensorRT-LLM of a tutorial, and an old vLLM that nothing here asks for. Its image is left out too where the stack is
    to be served without one.
    """
    preset = next((model.answers for model in known if model.name == ref), {})
    stack = given.get("stack", preset.get("stack"))
    if stack != preset.get("stack"):
        preset = {name: value for name, value in preset.items() if name not in TIED}
    without_image = given.get("runtime") == "native" or given.get("engine_python") not in (None, "none")
    if without_image and stack in stacks.names() and stacks.facts(str(stack)).native:
        preset = {name: value for name, value in preset.items() if name != "release"}
    return {**preset, **given}
