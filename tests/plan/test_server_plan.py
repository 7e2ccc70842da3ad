"""A server that may be there already."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.plan.stack_values import FACTS, IN_IMAGE, VLLM, machine, start
from tests.values import CHOICE, CPU_HOST, GGUF, plan_of, python_step
from wizard.catalog.recipes import recipe
from wizard.kernel.errors import UsageError
from wizard.kernel.paths import Workspace
from wizard.kernel.values import to_json
from wizard.model.facts import ModelFacts
from wizard.plan.plan import Command, Plan, Write
from wizard.plan.ports import Ports
from wizard.plan.server_plan import earlier_plan, latest_plan, model_origin, replan
from wizard.probe.host import Host


def test_the_plan_that_was_carried_out_last_and_can_be_read(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    for at, name in enumerate(("old", "new", "damaged", "running")):
        folder = workspace.server(name)
        folder.root.mkdir(parents=True)
        made = plan_of(tmp_path, python_step("x", "pass"), name=name)
        folder.plan.write_text(to_json(made) if name != "damaged" else "{", encoding="utf-8")
        os.utime(folder.plan, (at, at))
    workspace.server("empty").root.mkdir()
    plan = latest_plan(workspace, ["empty", "new", "damaged", "old"])
    assert plan is not None
    assert plan.name == "new"
    assert latest_plan(workspace, ["empty", "damaged", "never"]) is None


AWAY = replace(CPU_HOST, source="cpu")
"""Its ports are not looked at."""
HUB = replace(GGUF, ref="org/model", source="hub", location="org/model", local=False)
AGAIN = "The server demo is running with different settings; the plan restarts it with these."


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "w")


def planned(workspace: Workspace, facts: ModelFacts = HUB, *, host: Host = AWAY, **given: Any) -> Plan:
    """The plan of the server ``demo``, which is kept as its latest."""
    made = replan(host, facts, workspace=workspace, **{"choice": CHOICE, "name": "demo", "on_purpose": False, **given})
    path = workspace.server("demo").plan
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(to_json(made), encoding="utf-8")
    return made


def http_port(plan: Plan) -> int:
    return start(plan.steps).ports.http


def question(plan: Plan) -> str:
    (command,) = plan.steps[-1].actions
    assert isinstance(command, Command)
    return command.argv[-1]


def test_an_earlier_plan_is_there_when_it_can_be_read(workspace: Workspace) -> None:
    assert earlier_plan(workspace, "demo") is None
    assert earlier_plan(workspace, "no name!") is None
    made = planned(workspace)
    assert earlier_plan(workspace, "demo") == made
    workspace.server("demo").plan.write_bytes(b"{")
    assert earlier_plan(workspace, "demo") is None
    workspace.server("demo").plan.unlink()
    assert earlier_plan(workspace, "demo") is None


def test_a_server_keeps_its_port_unless_another_is_given(workspace: Workspace) -> None:
    assert http_port(planned(workspace)) == 8000
    assert http_port(planned(workspace, http_port=9000)) == 9000
    assert http_port(planned(workspace)) == 9000
    assert http_port(planned(workspace, http_port=9100)) == 9100


def test_a_server_that_runs_keeps_its_ports_and_is_restarted_with_a_note(workspace: Workspace) -> None:
    running = Ports(9200, 9207, 9209)
    assert AGAIN not in planned(workspace).notes
    assert AGAIN not in planned(workspace, choice=replace(CHOICE, max_seq_len=512)).notes  # it does not run
    first = planned(workspace, running=running)
    assert start(first.steps).ports == running
    assert first.notes[0] == AGAIN  # its ports are others than before
    assert AGAIN not in planned(workspace, running=running).notes


def test_a_server_that_runs_without_a_plan_is_planned(workspace: Workspace) -> None:
    assert AGAIN not in planned(workspace, running=Ports()).notes


def test_a_server_that_runs_gets_another_model_only_on_purpose(workspace: Workspace) -> None:
    other, running = replace(HUB, ref="org/other"), Ports()
    planned(workspace)
    with pytest.raises(UsageError) as caught:
        planned(workspace, other, running=running)
    assert caught.value.code == "TW-L04"
    assert caught.value.what == "the server demo is already running and serves org/model"
    assert "--name demo-2" in caught.value.todo
    assert planned(workspace, running=running)
    assert planned(workspace, other, running=running, on_purpose=True).facts.ref == "org/other"
    assert planned(workspace).facts.ref == "org/model"  # it does not run any more


@pytest.mark.parametrize(
    ("source", "origin"), [("hub", "org/model"), ("journey", "org/model"), ("folder", "/m"), ("gguf", "/m")]
)
def test_a_path_names_a_model_wherever_it_is_typed(source: Any, origin: str) -> None:
    assert model_origin(replace(HUB, source=source, location="/m")) == origin


def test_a_recipe_settles_question_options_and_notes_for_its_own_stack(workspace: Workspace) -> None:
    """Tutorial 004 serves 256 sequences with vLLM."""
    facts, tutorial = replace(FACTS, ref="tutorial-004"), recipe("tutorial-004")
    away = replace(machine(), source="1xH200")

    def sequences(plan: Plan) -> int:
        (settings,) = (
            action.text
            for step in plan.steps
            for action in step.actions
            if isinstance(action, Write) and action.path.endswith("/model.json")
        )
        return int(json.loads(settings)["max_num_seqs"])

    made = planned(workspace, facts, host=away, choice=IN_IMAGE)
    assert sequences(made) == 256
    assert question(made) == tutorial.first_question == "What is machine learning?"
    repaired = [
        *(f"Differs from the tutorial: {text}" for text in tutorial.repaired),
        *(f"Not supported yet: {t}" for t in tutorial.later),
    ]
    assert [*made.notes[-len(repaired) :]] == repaired
    plain = planned(workspace, FACTS, host=away, choice=IN_IMAGE)
    assert sequences(plain) == IN_IMAGE.max_batch_size
    assert question(plain) == "What is Triton?"
    assert made.notes == (*plain.notes, *repaired)


def test_with_another_stack_a_recipe_settles_only_the_question(workspace: Workspace) -> None:
    away = replace(machine(), source="1xH200")
    made = planned(workspace, replace(FACTS, ref="tutorial-002"), host=away, choice=VLLM)
    assert question(made) == "The capital of France is"
    assert not any(note.startswith(("Fixed", "Not supported")) for note in made.notes)
