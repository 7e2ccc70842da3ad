"""What a plan is exported as: each text leads back to the plan, and no file is written over by chance."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.advise.worlds import VENV
from tests.tui.values import LLAMA
from tests.values import CPU_HOST, GGUF, plan_of
from wizard import journey
from wizard.advise.advice import Choice, Constraints
from wizard.advise.ranking import advise
from wizard.export.answers import answers
from wizard.export.formats import FORMATS, save
from wizard.kernel.errors import UsageError
from wizard.kernel.values import from_json
from wizard.model.facts import ModelFacts
from wizard.plan.answers import read_answers
from wizard.plan.plan import Plan
from wizard.plan.questions import constraints
from wizard.probe.host import Host
from wizard.probe.shorthand import host

BY_NAME = {export_format.name: export_format for export_format in FORMATS}


def again(tmp_path: Path, machine: Host, facts: ModelFacts, choice: Choice) -> Choice:
    """The choice that the exported answers lead to."""
    made = replace(plan_of(tmp_path / "w", name="mine"), choice=choice, facts=facts)
    path = tmp_path / "answers.toml"
    path.write_text(answers(made), encoding="utf-8")
    read = read_answers(path)
    assert read["name"] == "mine"
    return advise(machine, facts, constraints(read)).choices[0]


@pytest.mark.parametrize("at", range(4))
def test_the_answers_lead_to_the_same_choice_on_gpus(tmp_path: Path, at: int) -> None:
    machine = host("2xH100")
    choice = advise(machine, LLAMA, Constraints(goal="throughput")).choices[at]
    assert setup(again(tmp_path, machine, LLAMA, choice)) == setup(choice)


def test_the_answers_lead_to_the_same_choice_without_a_gpu(tmp_path: Path) -> None:
    choice = advise(CPU_HOST, GGUF, Constraints()).choices[0]
    assert setup(again(tmp_path, CPU_HOST, GGUF, choice)) == setup(choice)


@pytest.mark.parametrize(
    "asked", [{"runtime": "native"}, {"runtime": "docker"}, {"engine_python": VENV.path}, {"stack": "transformers"}]
)
def test_the_answers_lead_to_the_same_runtime_and_python(tmp_path: Path, asked: dict[str, str]) -> None:
    machine = replace(host("2xH100"), engine_pythons=(VENV,))
    choice = advise(machine, LLAMA, Constraints(**asked)).choices[0]
    assert setup(again(tmp_path, machine, LLAMA, choice)) == setup(choice)


def setup(choice: Choice) -> tuple[object, ...]:
    return (
        *(choice.runtime, choice.engine_python),
        *(choice.stack, choice.quantization, choice.tp, choice.pp, choice.kv_cache_dtype),
        *(choice.max_batch_size, choice.max_seq_len, choice.release),
    )


def test_the_plan_is_what_run_takes(tmp_path: Path) -> None:
    made = plan_of(tmp_path / "w")
    save(made, BY_NAME["plan"], tmp_path / "plan.json")
    assert from_json(Plan, (tmp_path / "plan.json").read_text(encoding="utf-8"), where="") == made
    assert journey.export(made, "plan") == (tmp_path / "plan.json").read_text(encoding="utf-8")


def test_a_script_can_be_executed(tmp_path: Path) -> None:
    path = tmp_path / "serve.sh"
    save(plan_of(tmp_path / "w"), BY_NAME["shell"], path)
    assert os.access(path, os.X_OK)
    assert path.read_text(encoding="utf-8").startswith("#!")


def test_an_existing_file_stays_unless_overwriting_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "mine"
    path.write_text("precious", encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        save(plan_of(tmp_path / "w"), BY_NAME["plan"], path)
    assert caught.value.code == "TW-U48"
    assert path.read_text(encoding="utf-8") == "precious"
    save(plan_of(tmp_path / "w"), BY_NAME["plan"], path, overwrite=True)
    assert path.read_text(encoding="utf-8") != "precious"


def test_each_format_has_a_file_name_of_its_own(tmp_path: Path) -> None:
    made = plan_of(tmp_path / "w")
    assert len({export_format.file(made) for export_format in FORMATS}) == len(FORMATS)
