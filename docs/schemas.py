"""Writes what ``--json`` prints into the documentation, as a JSON Schema per command: ``python docs/schemas.py``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, get_args

from pydantic import ConfigDict, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from typing_extensions import NotRequired, TypedDict

from wizard.advise.advice import Advice, Speed
from wizard.advise.pareto import Front
from wizard.bench.comparison import Comparison
from wizard.bench.quality.report import Quality
from wizard.bench.report import Report as Bench
from wizard.catalog.recipes import Recipe
from wizard.chat.conversation import TokenLogprob
from wizard.chat.race import RaceResult
from wizard.chat.tools.called import Called
from wizard.doctor.finding import Finding as Checked
from wizard.model.facts import ModelFacts
from wizard.plan.plan import Plan
from wizard.plan.prerequisites import Prerequisite
from wizard.probe.host import Host
from wizard.probe.live import Reading
from wizard.repository.lint import Report
from wizard.run.build import Build
from wizard.run.clean import Image, Item
from wizard.run.events import Event, Ready
from wizard.serve.causes import Finding
from wizard.serve.service import Service
from wizard.serve.status import Status
from wizard.texts.data import TEXTS
from wizard.workshop.bundle import Manifest
from wizard.workshop.room import Room
from wizard.workshop.seat import Installed, Verified

FOLDER = Path(__file__).parent / "schemas"


class Answer(TypedDict):
    """An answer of the model; times in seconds. See `wizard.prompts.reply.reply_data`."""

    question: str
    answer: str
    thought: str
    tokens: int | None
    thought_tokens: int | None
    thought_pieces: int | None
    ttft_s: float | None
    thought_s: float | None
    answer_s: float | None
    tokens_per_s: float | None
    pieces: int | None
    pieces_per_s: float | None
    total_s: float | None
    finish: str
    model: str
    calls: NotRequired[list[Called]]
    logprobs: NotRequired[list[TokenLogprob]]


class AdvisedCase(TypedDict):
    """A case of ``--cases`` and its advice."""

    id: str
    advice: Advice


class CaseError(TypedDict):
    """What is wrong with a case."""

    code: str
    text: str


class InvalidCase(TypedDict):
    """A case of ``--cases`` that is invalid."""

    id: str
    error: CaseError


class Cleaning(TypedDict):
    """Everything the wizard created, and whether it was removed. The images are kept."""

    removed: bool
    items: list[Item]
    images: list[Image]


class Error(TypedDict):
    """What happened and what to do about it, in English; the code is stable."""

    code: str
    what: str
    todo: str


class Failure(TypedDict):
    """What a command that fails prints instead, or after the lines that it has printed."""

    error: Error


OUTPUT: dict[str, Any] = {
    "probe": Host | Reading,
    "model": ModelFacts,
    "advise": Advice | AdvisedCase | InvalidCase | Front,
    "speed": Speed,
    "plan": Plan,
    "lint": Report,
    "run": Event,
    "up": Event,
    "attach": Event,
    "cancel": Build | None,
    "demo": Event | Answer,
    "status": list[Status],
    "logs": list[str],
    "diagnose": list[Finding],
    "doctor": list[Checked],
    "down": Status | list[Status] | None,
    "service": Service,
    "chat": Answer | RaceResult,
    "bench": Bench | Comparison | Quality,
    "bundle": Manifest | Verified | Installed,
    "workshop": Room,
    "recipes": list[Recipe] | Recipe,
    "prerequisites": list[Prerequisite],
    "clean": Cleaning,
    "error": Failure,
}
"""Command → what it prints on a line of standard output; ``error`` is every command's."""
TEXT = {"type": "string"}
ADDED: dict[type, dict[str, Any]] = {
    **{kind: dict.fromkeys(texts, TEXT) for kind, texts in TEXTS.items()},
    **{kind: {"event": {"const": kind.__name__}} for kind in get_args(Event)},
    Status: {"url": {"anyOf": [TEXT, {"type": "null"}]}},
}
"""Value → the properties that it has as JSON beside its fields."""
ADDED[Ready] |= {"url": TEXT}
ATTRIBUTE = re.compile(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)
"""Name and description under ``Attributes:`` in a docstring."""


class Written(GenerateJsonSchema):
    """Of values as `wizard.texts.data.data` writes them: all fields are there, and nothing else."""

    def dataclass_schema(self, schema: Any) -> dict[str, Any]:
        """All fields, and what is added."""
        written = super().dataclass_schema(schema)
        own = written["properties"]
        properties = {**own, **ADDED.get(schema["cls"], {}), **own}  # a note's source is a field, too
        written["description"], _, attributes = written["description"].partition("\n\nAttributes:\n")
        for name, text in ATTRIBUTE.findall(attributes):
            properties[name] = {**properties[name], "description": " ".join(text.split())}
        return {**written, "properties": properties, "required": list(properties), "additionalProperties": False}

    def typed_dict_schema(self, schema: Any) -> dict[str, Any]:
        """No other keys."""
        return {**super().typed_dict_schema(schema), "additionalProperties": False}

    def default_schema(self, schema: Any) -> dict[str, Any]:
        """What is written has no defaults."""
        return self.generate_inner(schema["schema"])

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
        """The name says it."""
        return False


def schema(command: str) -> dict[str, Any]:
    """The schema of what ``command`` prints; a list, so that pydantic takes the configuration for any kind."""
    adapter = TypeAdapter(list[OUTPUT[command]], config=ConfigDict(use_attribute_docstrings=True))  # type: ignore[misc]
    listed = adapter.json_schema(mode="serialization", schema_generator=Written)
    return {
        "$schema": Written.schema_dialect,
        "title": f"triton-wizard {command} --json" if command != "error" else "triton-wizard … --json: error",
        **listed["items"],
        "$defs": listed.get("$defs", {}),
    }


def files() -> dict[str, str]:
    """Name of each file → its text."""
    return {f"{command}.json": json.dumps(schema(command), indent=2, ensure_ascii=False) + "\n" for command in OUTPUT}


def main() -> None:
    """Replace the schemas."""
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.glob("*.json"):
        path.unlink()
    for name, text in files().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
