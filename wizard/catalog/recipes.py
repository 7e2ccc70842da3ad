"""Ready-made setups: each file of ``profiles/recipes`` is a recipe with its model and its answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from wizard.catalog import stacks
from wizard.catalog.profiles import files, load_toml
from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr
from wizard.kernel.values import STRICT, from_data


@dataclass(frozen=True, slots=True)
class Recipe:
    """A setup with predefined answers; any of them can be changed.

    Attributes:
        name: The file's name without ``.toml``, which the user types.
        title: Shown in lists.
        about: One or two sentences that help to choose.
        model: A path inside ``profiles/`` (it begins with ``models/``) or a model ID.
        source: Origin of the recipe: a tutorial, or the wizard itself.
        answers: Name of a question → its answer.
        machines: Machines that it fits, in the syntax of ``--hardware``.
        options: Further options for building and serving: the fields of `wizard.plan.options.Options`.
        repaired: Errors in the tutorial that the recipe replaces, and their fixes; a sentence each.
        later: Later parts of the tutorial that the recipe does not include; a sentence each.
        first_question: Sent as soon as the model is ready.
        needs_network: Whether it needs network access beyond the package index.
    """

    __pydantic_config__: ClassVar = STRICT
    name: str
    title: str
    about: str
    model: str
    source: str
    answers: dict[str, str | int | float | bool] = field(default_factory=dict)
    machines: tuple[str, ...] = ()
    options: dict[str, object] = field(default_factory=dict)
    repaired: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
    first_question: str | None = None
    needs_network: bool = True

    @property
    def model_in_profiles(self) -> bool:
        """Whether the model is bundled with the wizard."""
        return self.model.startswith("models/")


def recipes() -> list[Recipe]:
    """All recipes, those that need no network first, then by name.

    Raises:
        UsageError: TW-D02 or TW-K01 if a file is not readable or does not fit.
    """
    known = [
        from_data(Recipe, {**load_toml(path), "name": name}, where=str(path)) for name, path in files("recipes").items()
    ]
    return sorted(known, key=lambda recipe: (recipe.needs_network, recipe.name))


def recipe(name: str) -> Recipe:
    """The recipe ``name``.

    Raises:
        UsageError: TW-D03 if it is unknown.
    """
    known = {item.name: item for item in recipes()}
    if name not in known:
        names = ", ".join(known) or tr("none")
        raise UsageError(
            "TW-D03", tr("unknown recipe: {name!r}", name=name[:60]), tr("Available: {names}.", names=names)
        )
    return known[name]


def _preset(recipe: Recipe) -> dict[str, str | int | float | bool]:
    """The recipe's answers; adapters are served by a single replica, because the engine proxy does not select them."""
    return {**({"replicas": 1} if recipe.options.get("lora") else {}), **recipe.answers}


TIED = ("release", "quantization", "kv_dtype")
"""Answers that apply to a single stack only: its images and its formats."""


def answered(ref: str, given: Mapping[str, object], known: Iterable[Recipe]) -> dict[str, object]:
    """All answers for ``ref``: those of its recipe, overridden by the ``given`` ones.

    With a different stack than the recipe's, the recipe's images and formats are dropped: 24.09 has the TensorRT-LLM of
    a tutorial, and an old vLLM that no constraint asks for. The image is also dropped if the stack is to run natively.
    """
    preset = next((_preset(model) for model in known if model.name == ref), {})
    stack = given.get("stack", preset.get("stack"))
    if stack != preset.get("stack"):
        preset = {name: value for name, value in preset.items() if name not in TIED}
    without_image = given.get("runtime") == "native" or given.get("engine_python") not in (None, "none")
    if without_image and stack in stacks.names() and stacks.facts(str(stack)).native:
        preset = {name: value for name, value in preset.items() if name != "release"}
    return {**preset, **given}
