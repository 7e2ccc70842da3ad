"""What the commands print as JSON is what docs/schemas says."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from docs import schemas
from tests.chat.fake_openai import FakeOpenAI, serving
from tests.cli.json_commands import COMMANDS, invalid, printed, world
from wizard.cli import commands, main

__all__ = ["world"]
WITHOUT = {None, "web"}
"""Commands that print no data."""


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    """Every object in a schema whose properties are named."""
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict) and "type" in schema:
            yield schema
        schema = list(schema.values())
    for part in schema if isinstance(schema, list) else []:
        yield from objects(part)


def test_the_files_are_those_that_are_generated() -> None:
    there = {path.name: path.read_text(encoding="utf-8") for path in schemas.FOLDER.iterdir()}
    assert there == schemas.files(), "run: python docs/schemas.py"


def test_every_command_has_a_schema_and_is_tried_and_documented() -> None:
    names = {name for name in commands.COMMANDS if name not in WITHOUT}
    assert set(schemas.OUTPUT) == {*names, "error"}
    assert {line.split(maxsplit=1)[0] for line in COMMANDS} == {*names, "nonsense"}
    page = (schemas.FOLDER.parent / "json.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\(schemas/(\w+)\.json\)", page)) == set(schemas.OUTPUT)


@pytest.mark.parametrize("command", schemas.OUTPUT)
def test_a_schema_is_one_and_takes_no_other_property(command: str) -> None:
    schema = schemas.schema(command)
    Draft202012Validator.check_schema(schema)
    for kind in objects(schema):
        assert kind["additionalProperties"] is False
        assert set(kind["required"]) | {"logprobs", "calls"} >= set(kind["properties"])


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_printed_fits_its_schema(command: str, world: str) -> None:
    lines = printed(command, world)
    assert lines
    assert [problem for line in lines for problem in invalid(command.split(maxsplit=1)[0], line)] == []


def test_a_field_that_the_schema_lacks_does_not_fit(world: str) -> None:
    for command in ("probe", "status", "up demo --offline --yes", "advise --cases cases.yaml", "model nothing"):
        name = command.split(maxsplit=1)[0]
        for line in printed(command, world):
            first = line[0] if isinstance(line, list) else line
            (first["error"] if name == "model" else first)["new"] = 1
            assert invalid(name, line)


def test_every_kind_of_event_is_tried(world: str) -> None:
    events = {line["event"] for line in printed("up demo --offline --yes", world)}
    assert events == {"StepStarted", "Output", "Progress", "StepFinished", "Ready"}


def test_two_models_with_one_question_fit_the_schema() -> None:
    with serving(FakeOpenAI(models=("m", "n"))) as fake:
        options = ["chat", "--url", fake.url, "--model", "m", "--compare", f"{fake.url} n", "-m", "Hello", "--json"]
        with redirect_stdout(io.StringIO()) as out, pytest.raises(SystemExit) as ended:
            main(options)
    assert not ended.value.code
    *answers, result = map(json.loads, out.getvalue().splitlines())
    assert [answer["model"] for answer in answers] == [lane["name"] for lane in result["lanes"]] == ["m", "n"]
    assert [invalid("chat", line) for line in (*answers, result)] == [[], [], []]
