"""Reasons, notes and remedies: every code has its text, and JSON is the same in every language."""

from __future__ import annotations

import ast
import functools
import json
import string
from pathlib import Path
from typing import Any

import pytest

from tests import pseudo
from tests.advise.worlds import LLAMA_8B, facts_of
from tests.values import CPU_HOST, GGUF
from wizard.advise.advice import Advice, Choice, Constraints, Rejection
from wizard.advise.ranking import advise
from wizard.advise.reasons import Note, Reason, Remedy, because, change, do
from wizard.cli import main
from wizard.kernel import language
from wizard.kernel.values import from_json, to_json
from wizard.probe.shorthand import host
from wizard.texts import advise as texts
from wizard.texts import notes, obstacles, reasons, remedies
from wizard.texts.data import data

WIZARD = Path(__file__).resolve().parents[2] / "wizard"
MADE_BY = {
    "because": {**obstacles.TEXTS, **reasons.REASONS},
    "do": remedies.REMEDIES,
    "Note": notes.NOTES,
}
"""What makes a value with a code → the texts of those codes."""
BY_NAME = {
    *("limit-memory", "limit-compute", "limit-launch", "limit-interconnect", "serves", "runs-unknown"),
    *("slow-tokens", "slow-tokens-p99", "slow-start", "slow-start-p99"),
}
"""Codes that are no literals where they are given."""
BARE = {"fp8-cache"}


@functools.cache
def given() -> dict[str, set[str]]:
    """The literal codes that are given to each maker, wherever in the package."""
    literals: dict[str, set[str]] = {maker: set() for maker in MADE_BY}
    for path in WIZARD.rglob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        named = {
            node.targets[0].id: node.value.value
            for node in nodes
            if isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and isinstance(node.value, ast.Constant)
        }
        for node in nodes:
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in literals):
                continue
            for each in ast.walk(node.args[0]):
                if isinstance(each, ast.Constant) and isinstance(each.value, str):
                    literals[node.func.id].add(each.value)
                elif isinstance(each, ast.Name) and isinstance(code := named.get(each.id), str):
                    literals[node.func.id].add(code)
    return literals


@pytest.mark.parametrize("maker", MADE_BY)
def test_every_code_has_its_text(maker: str) -> None:
    made = given()[maker]
    assert len(made) > 15
    assert made - set(MADE_BY[maker]) - {"limit-"} == set()


def test_no_text_is_left_over() -> None:
    assert set(MADE_BY["because"]) - given()["because"] - BY_NAME == set()
    assert set(MADE_BY["do"]) - given()["do"] - BARE == set()


def advised(hardware: str, model: Any, **options: Any) -> Advice:
    return advise(host(hardware), facts_of(model), Constraints(**options))


WORLDS = {
    "gpus": lambda: advised("8xH100", LLAMA_8B),
    "pcie": lambda: advised("4xL4", LLAMA_8B, goal="throughput"),
    "refused": lambda: advised("1xT4", LLAMA_8B, tp=4),
    "context": lambda: advised("1xL4", LLAMA_8B, max_len=10_000_000),
    "native": lambda: advised("1xH100", LLAMA_8B, runtime="native"),
    "no-gpu": lambda: advised("cpu", LLAMA_8B),
    "cpu": lambda: advise(CPU_HOST, GGUF, Constraints()),
}


def in_language(code: str, name: str) -> str:
    language.use(code)
    try:
        return json.dumps(data(WORLDS[name]()), ensure_ascii=False)
    finally:
        language.use("en")


@pytest.mark.parametrize("name", WORLDS)
def test_json_is_the_same_in_every_language(name: str) -> None:
    english = in_language("en", name)
    assert in_language("ko", name) == english
    with pseudo.spoken():
        assert pseudo.OPEN in texts.note(Note("gated"))


def test_advise_prints_the_same_json_in_every_language(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    printed = []
    for code in language.LANGUAGES:
        arguments = ["--language", code, "--workspace", str(tmp_path), "advise", "demo", "--hardware", "2xH100"]
        with pytest.raises(SystemExit):
            main([*arguments, "--json"])
        printed.append(capsys.readouterr().out)
    language.use("en")
    assert printed[0]
    assert set(printed) == {printed[0]}


@pytest.mark.parametrize("name", WORLDS)
def test_what_is_written_is_read_back(name: str) -> None:
    advice = WORLDS[name]()
    assert from_json(Advice, to_json(advice), where="a test") == advice
    read = from_json(Advice, json.dumps(data(advice)), where="a test")
    assert [rejection.reason for rejection in read.rejections] == [rejection.reason for rejection in advice.rejections]
    assert [rejection.remedies for rejection in read.rejections] == [
        rejection.remedies for rejection in advice.rejections
    ]
    assert [_notes(choice) for choice in read.choices] == [_notes(choice) for choice in advice.choices]


def _notes(choice: Choice) -> list[str]:
    return [texts.note(note) for note in (*choice.reasons, *choice.warnings)]


def test_json_has_codes_values_and_texts() -> None:
    why = because("trained-context", most=1024, asked=4096)
    fields = data(Rejection("vllm", "fp8", 1, 1, "context", why, (change(max_len=1024), do("fewer-users"))))
    assert fields == {
        "stack": "vllm",
        "quantization": "fp8",
        "tp": 1,
        "pp": 1,
        "code": "context",
        "reason": {
            "code": "trained-context",
            "params": {"most": 1024, "asked": 4096},
            "text": "The model was trained for 1,024 tokens of context; you requested 4,096.",
        },
        "remedies": [
            {"code": "options", "changes": {"max_len": 1024}, "params": {}, "text": "--max-len 1024"},
            {"code": "fewer-users", "changes": {}, "params": {}, "text": "fewer users (--users)"},
        ],
        "text": "The model was trained for 1,024 tokens of context; you requested 4,096.",
        "remedy": "--max-len 1024, or fewer users (--users)",
    }
    assert data(Note("split", {"tp": 2, "pp": 1, "gpus": 2, "link": "nvlink"})) == {
        "code": "split",
        "params": {"tp": 2, "pp": 1, "gpus": 2, "link": "nvlink"},
        "source": None,
        "text": "tp 2 × pp 1: 2 GPUs, connected by NVLink, share the weights.",
    }


def test_a_code_of_a_newer_wizard_is_shown_as_it_is() -> None:
    assert texts.note(Note("new-one", {"a": 1})) == "new-one"
    assert reasons.text(Reason("new-one")) == "new-one"
    assert remedies.text((Remedy("new-one"),)) == "new-one"


def test_fields_of_messages_are_names() -> None:
    """A message that is no function gets its fields from the parameters alone."""
    for table in MADE_BY.values():
        for text in table.values():
            if isinstance(text, str):
                assert all(field is None or field.isidentifier() for _, field, _, _ in string.Formatter().parse(text))
