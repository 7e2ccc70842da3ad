"""Parameters of ``config.pbtxt`` that still contain a variable of the backend's templates."""

from __future__ import annotations

import re
from collections.abc import Iterable

from wizard.kernel.language import tr
from wizard.repository.linting.finding import Finding
from wizard.repository.linting.model import Model
from wizard.repository.linting.text import FILL

VARIABLE = re.compile(r"\$\{[^}]*\}")
NEEDED = {"gpt_model_path", "gpt_model_type", "tokenizer_dir"}
"""Parameters whose unfilled template the backend uses as the value and then fails; for others it uses the default
(tensorrtllm_backend v0.13.0, model_instance_state.cc).
"""
VISUAL = ("visual_model_path", "multimodal_model_path")
"""Parameters of ``preprocessing`` for a visual model; without one it does not read ``gpt_model_path``
(tensorrtllm_backend v0.12.0 to v0.19.0, preprocessing/1/model.py; the second name from v0.19.0 on).
"""


def unfilled(model: Model) -> list[Finding]:
    """Unfilled templates that the server uses as values and then fails."""
    return [
        model.finding(
            "R102", tr("the parameter {key!r} is still {match}", key=key, match=variable), tr(FILL), at=variable
        )
        for key, variable in _variables(model)
        if _needed(model, key)
    ]


def defaults(models: Iterable[Model]) -> list[Finding]:
    """Unfilled templates for which the backend uses its default: a single finding for all of them."""
    left = [
        (model, key, variable) for model in models for key, variable in _variables(model) if not _needed(model, key)
    ]
    if not left:
        return []
    of: dict[str, list[str]] = {}
    for model, key, _ in left:
        of.setdefault(model.name, []).append(key)
    model, key, variable = left[0]
    if len(left) == 1:
        message = tr("the parameter {key!r} is still {match}; the backend uses its default", key=key, match=variable)
    else:
        message = tr(
            "{count} optional parameters are still placeholders, so the backend uses its defaults: {names}",
            count=len(left),
            names="; ".join(f"{name}: {', '.join(keys)}" for name, keys in of.items()),
        )
    if len(of) == 1:
        return [model.finding("R103", message, tr(FILL), severity="warning", at=variable)]
    return [Finding("R103", "warning", "", "", message, tr(FILL))]


def _variables(model: Model) -> list[tuple[str, str]]:
    """Parameters that still contain a variable of the template, and the variable."""
    if model.config is None:
        return []
    matches = [(key, VARIABLE.search(value.string_value)) for key, value in sorted(model.config.parameters.items())]
    return [(key, match[0]) for key, match in matches if match]


def _needed(model: Model, key: str) -> bool:
    if key == "tokenizer_dir":
        return model.backend != "tensorrtllm"
    visual = [value for value in map(model.parameter, VISUAL) if value is not None]
    if key == "gpt_model_path" and visual:
        return any(value and not VARIABLE.search(value) for value in visual)
    return key in NEEDED
