"""Recipes from the command line: listed, shown, and each planned for every machine that it says it fits."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.test_cli import wizard_inside
from wizard.catalog.recipes import recipes
from wizard.kernel.program import command

WITH_MACHINE = [(recipe.name, machine) for recipe in recipes() for machine in recipe.machines]


def planned(*arguments: str) -> dict[str, Any]:
    done = wizard_inside("plan", *arguments, "--offline", "--json", HF_HUB_OFFLINE="1")
    assert done.returncode == 0, done.stdout + done.stderr
    plan: dict[str, Any] = json.loads(done.stdout)
    return plan


def test_two_short_lines_for_each() -> None:
    lines = wizard_inside("recipes").stdout.splitlines()
    assert len(lines) == 2 * len(recipes())
    assert max(map(len, lines)) <= 100
    shown = dict(zip(lines[::2], lines[1::2], strict=True))
    (second,) = (below for line, below in shown.items() if line.startswith("tutorial-001 "))
    assert second.strip() == "microsoft/Phi-3-mini-128k-instruct · fits 1xL4, 1xA10G"


def test_json_has_everything() -> None:
    by_name = {load["name"]: load for load in json.loads(wizard_inside("recipes", "--json").stdout)}
    assert {f"tutorial-00{number}" for number in range(5)} | {"demo", "llm-api", "vllm", "transformers"} <= set(by_name)
    assert all(by_name[f"tutorial-00{number}"]["repaired"] for number in range(5))
    assert by_name["tutorial-002"]["later"]
    assert by_name["tutorial-003"]["options"] == {"beside": "transformers", "batching": "none"}


def test_a_recipe_is_shown_with_its_fixes_and_open_points() -> None:
    shown = wizard_inside("recipes", "tutorial-002", "--workspace", "my folder").stdout
    for text in ("Llama 2 7B", "stack trtllm-engine, release 24.04", "Fixed:", "cp", "Not supported yet:", "bucket"):
        assert text in shown
    assert f"{command(workspace='my folder')} plan tutorial-002 --hardware 1xA100" in shown
    assert json.loads(wizard_inside("recipes", "tutorial-002", "--json").stdout)["name"] == "tutorial-002"


def test_an_unknown_recipe() -> None:
    done = wizard_inside("recipes", "tutorial-999")
    assert done.returncode == 2
    assert "TW-D03" in done.stderr


@pytest.mark.parametrize(("name", "machine"), WITH_MACHINE)
def test_every_recipe_is_planned_for_its_machines(name: str, machine: str) -> None:
    (recipe,) = (known for known in recipes() if known.name == name)
    plan = planned(name, "--hardware", machine)
    choice, answers = plan["choice"], recipe.answers
    assert plan["steps"][-1]["id"] == "question"
    if "release" in answers:
        assert choice["release"].startswith(f"{answers['release']}-")
    for answer, field in (
        ("stack", "stack"),
        ("quantization", "quantization"),
        ("tp", "tp"),
        ("max_len", "max_seq_len"),
    ):
        if answer in answers and not (name == "tutorial-004-mixtral" and answer == "quantization"):
            assert choice[field] == answers[answer]
    assert [f"Differs from the tutorial: {note}" for note in recipe.repaired] == [
        note for note in plan["notes"] if note.startswith("Differs from the tutorial: ")
    ]
    assert [f"Not supported yet: {note}" for note in recipe.later] == [
        note for note in plan["notes"] if note.startswith("Not supported yet: ")
    ]


def test_a_flag_goes_before_the_recipe() -> None:
    assert planned("tutorial-002", "--hardware", "2xA100", "--tp", "2")["choice"]["tp"] == 2
    assert planned("tutorial-000", "--hardware", "1xL4", "--release", "24.12")["choice"]["release"].startswith("24.12")


def test_a_recipes_options_shape_its_plan() -> None:
    assert "engine-environment" in [step["id"] for step in planned("tutorial-003", "--hardware", "1xA100")["steps"]]
    other = planned("tutorial-003", "--hardware", "1xA100", "--stack", "vllm", "--release", "25.11")
    assert not any(note.startswith("Differs from the tutorial: ") for note in other["notes"])  # they are not about vLLM


def test_a_gated_model_names_the_page_of_its_licence() -> None:
    notes = " ".join(planned("tutorial-000", "--hardware", "1xL4")["notes"])
    assert "https://huggingface.co/meta-llama/Llama-3.1-8B-Instruct" in notes
    assert "HF_TOKEN" in notes


def test_the_repairs_are_shown_beneath_the_steps() -> None:
    shown = wizard_inside("plan", "tutorial-001", "--hardware", "1xL4", "--offline", HF_HUB_OFFLINE="1").stdout
    assert shown.index("Before you start:") > shown.index("Get the model")
    assert "Differs from the tutorial: No 72 GB image is built" in shown


@pytest.mark.parametrize(
    ("release", "status", "message"),
    [("24.13", 2, "TW-U32"), ("25.09", 0, "25.09-vllm"), ("24.01", 3, "--release")],
)
def test_release_from_the_command_line(release: str, status: int, message: str) -> None:
    arguments = ("advise", "vllm", "--hardware", "1xH100", "--offline", "--release", release)
    done = wizard_inside(*arguments, HF_HUB_OFFLINE="1")
    assert done.returncode == status
    assert message in done.stdout + done.stderr
