"""The linter's rules for ensembles at their borders."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.repository import broken
from tests.repository.broken import CONFIG, ENSEMBLE, MODEL, Files, in_config, in_ensemble, python
from tests.repository.test_lint_rules import findings

MEMBERS = {name: broken.MODELS[name] for name in ("good", "no_batch", "two_versions", "two_outputs", "good_ensemble")}
NEW_ONLY = {"config.pbtxt": CONFIG, "2/model.py": MODEL}
SMALL = in_config("max_batch_size: 4", "max_batch_size: 1")
OTHER_TYPE = in_config('"IN" data_type: TYPE_INT32', '"IN" data_type: TYPE_FP32')
OTHER_OUTPUT = in_config('"OUT" data_type: TYPE_INT32', '"OUT" data_type: TYPE_FP32')
SECOND = ENSEMBLE.rindex('"good"')
"""Of the two steps' members."""


def second(member: str) -> str:
    """The ensemble with another member in its second step."""
    return ENSEMBLE[:SECOND] + f'"{member}"' + ENSEMBLE[SECOND + len('"good"') :]


@pytest.mark.parametrize(
    ("files", "others", "expected"),
    [
        (broken.ensemble(), {}, []),
        # which version of a member
        (in_ensemble("model_version: -1", "model_version: 1"), {}, []),
        (in_ensemble("model_version: -1", "model_version: 0"), {}, []),
        (in_ensemble("model_version: -1", "model_version: 2"), {}, ["R502 step 0 ('good'): no version 2"]),
        (in_ensemble('version: -1', "version: 1"), {"good": NEW_ONLY}, ["R502 step 0 ('good'): no version 1"]),
        # batches
        (in_ensemble("max_batch_size: 4", "max_batch_size: 5"), {}, ["R508 max_batch_size is 5, but 'good' has 4"]),
        (in_ensemble("max_batch_size: 4", "max_batch_size: 1"), {"good": SMALL}, []),
        (in_ensemble("max_batch_size: 4", "max_batch_size: 2"), {"good": SMALL},
         ["R508 max_batch_size is 2, but 'good' has 1"]),
        (broken.ensemble(ENSEMBLE.replace("max_batch_size: 4", "max_batch_size: 1").replace('"good"', '"flat"')),
         {"flat": python(CONFIG.replace("max_batch_size: 4", "").replace("dims: [ -1 ]", "dims: [ -1, -1 ]"))}, []),
        (broken.ensemble(ENSEMBLE.replace('"good"', '"flat"')),
         {"flat": python(CONFIG.replace("max_batch_size: 4", "").replace("dims: [ -1 ]", "dims: [ 3, -1 ]"))}, []),
        # members that there are not, or that cannot load
        (broken.ensemble(second("nobody")), {}, ["R502 step 1 ('nobody'): no such model in the repository"]),
        (broken.ensemble(second("bad").replace('"A" data_type: TYPE_INT32', '"A" data_type: TYPE_INT64')),
         {"bad": python("x")},
         ["R505 the tensor 'A' is TYPE_INT64 in the ensemble and TYPE_INT32 in 'good'"]),
        (broken.ensemble(second("other")), {"other": OTHER_TYPE},
         ["R505 the tensor 'B' is TYPE_INT32 in 'good' and TYPE_FP32 in 'other'"]),
        (broken.ensemble(ENSEMBLE.replace('"good"', '"bad"', 1)), {"bad": python("x"), "good": OTHER_OUTPUT},
         ["R505 the tensor 'C' is TYPE_INT32 in the ensemble and TYPE_FP32 in 'good'"]),
        # what an ensemble may have
        (broken.ensemble(ENSEMBLE.replace('platform: "ensemble"', 'platform: "ensemble" backend: "python"')), {},
         ['R501 ensemble_scheduling requires platform: "ensemble" and no backend']),
        (broken.ensemble(ENSEMBLE + broken.GROUP), {}, ["R501 an ensemble cannot have its own instances"]),
        # dimensions
        (in_ensemble('"A" data_type: TYPE_INT32 dims: [ -1 ]', '"A" data_type: TYPE_INT32 dims: [ 5 ]'), {}, []),
        (in_ensemble('"A" data_type: TYPE_INT32 dims: [ -1 ]', '"A" data_type: TYPE_INT32 dims: [ 5, 5 ]'), {},
         ["R506 the tensor 'A' has dims [5, 5] in the ensemble and [-1] in 'good'"]),
        (in_ensemble('"A" data_type: TYPE_INT32 dims: [ -1 ]', '"A" data_type: TYPE_INT32 dims: [ 5 ]'),
         {"good": in_config('"IN" data_type: TYPE_INT32 dims: [ -1 ]', '"IN" data_type: TYPE_INT32 dims: [ 6 ]')},
         ["R506 the tensor 'A' has dims [5] in the ensemble and [6] in 'good'"]),
    ],
)  # fmt: skip
def test_ensembles(files: Files, others: dict[str, Files], expected: list[str], tmp_path: Path) -> None:
    reported = findings(tmp_path, {**MEMBERS, **others, "e": files})
    about = [f"{each.code} {each.what}" for each in reported if each.model == "e" and each.code != "R509"]
    assert about == expected


def test_members_that_there_are_are_named(tmp_path: Path) -> None:
    alone = {"e": broken.ensemble()}
    assert {each.fix for each in findings(tmp_path / "a", alone)} == {"Available models: none."}
    more = {"e": broken.in_ensemble('"good"', '"nobody"'), "good": python(), "also": python()}
    assert {each.fix for each in findings(tmp_path / "b", more)} == {"Available models: also, good."}


CHAIN = ENSEMBLE.replace('"IN"', '"A"').replace('"OUT"', '"C"')


def test_ensembles_of_broken_models_cannot_load_in_any_order(tmp_path: Path) -> None:
    models = {
        "bad": python(model="def"),
        "worse": python(model="def"),
        "a": broken.ensemble(CHAIN.replace('"good"', '"z"')),
        "z": broken.ensemble(second("worse").replace('"good"', '"bad"')),
        "good": python(),
        "fine": broken.ensemble(),
    }
    reported = [each for each in findings(tmp_path, models) if each.code == "R509"]
    assert [(each.model, each.what, each.line) for each in reported] == [
        ("a", "the ensemble needs 'z', which cannot load", 8),
        ("z", "the ensemble needs 'bad', which cannot load", 8),
    ]


def test_circles(tmp_path: Path) -> None:
    """``b`` and ``c`` need each other; ``a`` needs them, and ``d`` an ensemble that is in order."""
    members = {"a": "b", "b": "c", "c": "b", "d": "fine", "fine": None}
    models = {
        name: broken.ensemble(CHAIN.replace('"good"', f'"{member}"') if member else ENSEMBLE)
        for name, member in members.items()
    }
    reported = findings(tmp_path, {**models, "good": python()})
    assert [(each.model, each.code) for each in reported] == [("b", "R510"), ("c", "R510")]


def test_an_ensemble_of_a_model_without_configuration(tmp_path: Path) -> None:
    reported = findings(tmp_path, {"good": {"1/model.onnx": ""}, "e": broken.ensemble()})
    assert [(each.model, each.code) for each in reported] == [("good", "R106")]
