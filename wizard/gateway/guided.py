"""Answers that match a schema: ``response_format`` (platform.openai.com/docs/guides/structured-outputs)."""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import Field

from wizard.gateway.checked import Checked
from wizard.gateway.faults import Fault

LARGEST_SCHEMA = 64 * 2**10
"""Characters: engines compile a schema before the answer begins."""
ANY_OBJECT = {"type": "object"}


class _JsonSchema(Checked):
    schema_: dict[str, Any] | None = Field(None, alias="schema")


class ResponseFormat(Checked):
    """The parameter."""

    type: Literal["text", "json_object", "json_schema"]
    json_schema: _JsonSchema | None = None


def schema_of(wanted: ResponseFormat | None) -> str | None:
    """The JSON schema of the answer, as text; None: it is free.

    Raises:
        Fault: TW-G03 there is no schema, or it is too large.
    """
    if wanted is None or wanted.type == "text":
        return None
    if wanted.type == "json_object":
        return as_text(ANY_OBJECT, "response_format")
    if wanted.json_schema is None or wanted.json_schema.schema_ is None:
        raise Fault(
            "TW-G03", 400, "response_format of the type json_schema needs json_schema.schema", "response_format"
        )
    return as_text(wanted.json_schema.schema_, "response_format")


def as_text(schema: Any, param: str) -> str:
    """``schema`` as JSON.

    Raises:
        Fault: TW-G03 it is too large.
    """
    text = json.dumps(schema)
    if len(text) > LARGEST_SCHEMA:
        raise Fault("TW-G03", 400, f"the schema in {param} has more than {LARGEST_SCHEMA:,} characters", param)
    return text
