"""The plans of the tutorials, word for word; ``UPDATE_GOLDEN=1`` in the environment writes them anew."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.plan.trtllm_values import choice, planned
from wizard.model.facts import ModelFacts
from wizard.model.known import known
from wizard.model.refs import HubRef
from wizard.plan.options import Options
from wizard.plan.plan import Step, Write

GOLDEN = Path(__file__).parent.parent / "golden" / "trtllm"
UPDATE = bool(os.environ.get("UPDATE_GOLDEN"))
QUESTIONS = {
    "000": "What is machine learning?",
    "001": "What is the color of the sky?",
    "002": "The capital of France is",
    "003": "I am going to",
}


def facts(repo: str) -> ModelFacts:
    found = known(HubRef(repo), "not asked")
    assert found
    return found


def tutorials() -> dict[str, tuple[Step, ...]]:
    """Their settings, with the slips repaired that ``profiles/journeys`` names."""
    llama2, llama3 = facts("meta-llama/Llama-2-7b-hf"), facts("meta-llama/Llama-3.1-8B-Instruct")
    phi, lengths = facts("microsoft/Phi-3-mini-128k-instruct"), Options(max_input_len=1024, max_output_len=1024)
    beside = Options(beside="transformers", batching="none")
    awq = choice("0.13.0", "int4_awq", dtype="bfloat16", batch=1, length=2560)
    return {
        "tutorial-000": planned(llama3, awq, question=QUESTIONS["000"], machine="1xL4"),
        "tutorial-001": planned(phi, choice("0.10.0"), lengths, question=QUESTIONS["001"], machine="1xL4"),
        "tutorial-002": planned(llama2, choice("0.7.0"), question=QUESTIONS["002"], machine="1xA100"),
        "tutorial-002-tp2": planned(llama2, choice("0.7.0", tp=2), question=QUESTIONS["002"], machine="2xA100"),
        "tutorial-003": planned(llama2, choice("0.13.0"), beside, question=QUESTIONS["003"], machine="1xA100"),
        "llm-api": planned(
            llama3,
            choice("1.2.1", dtype="bfloat16", stack="trtllm-llmapi"),
            question=QUESTIONS["000"],
            machine="1xL40S",
        ),
    }


def lines(steps: tuple[Step, ...]) -> Iterator[str]:
    for step in steps:
        yield f"# {step.id}: {step.title}"
        for action in step.actions:
            # Our scripts and the config.pbtxt are tested where they are made.
            told = isinstance(action, Write) and not action.path.endswith((".json", ".yaml"))
            yield f"write {action.path}" if told and isinstance(action, Write) else action.shell()
        yield ""


def text(steps: tuple[Step, ...]) -> str:
    """Every command and what the tools are told, without what differs from one machine to the next."""
    shown = "\n".join(lines(steps)).replace(sys.executable, "PYTHON")
    shown = re.sub(r"--user=\d+:\d+", "--user=UID:GID", shown)
    return re.sub(r"TRITON_WIZARD_MADE_FROM=\w+", "TRITON_WIZARD_MADE_FROM=FINGERPRINT", shown)


@pytest.mark.parametrize("name", tutorials())
def test_the_plan_is_the_golden_one(name: str) -> None:
    path = GOLDEN / f"{name}.txt"
    # The other model's packages are another stack's.
    made = re.sub(r"/environments/(\w+)-[0-9a-f]{16}", r"/environments/\1-FINGERPRINT", text(tutorials()[name]))
    if UPDATE:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(made, encoding="utf-8")
    assert made == path.read_text(encoding="utf-8")


def test_no_golden_plan_is_left_over() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(tutorials())
