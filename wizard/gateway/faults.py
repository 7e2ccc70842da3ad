"""Errors in the shape of OpenAI's API (platform.openai.com/docs/guides/error-codes): the client's, and the server's."""

from __future__ import annotations

import re
from typing import Any

from pydantic import ValidationError

from wizard.chat.ask import PromptTooLong, too_long
from wizard.kernel.errors import ModelError, UsageError, WizardError

STATUS = {"TW-C01": 503, "TW-C02": 404, "TW-C03": 503, "TW-C11": 503, "TW-C33": 503}
"""Code of an error of the chat → HTTP status; others: 400 for what the request causes, 500 for the rest."""
CODES = {"TW-C02": "model_not_found", "TW-C05": "context_length_exceeded"}
"""Code of ours → OpenAI's, which programs look for."""


_FIELD = re.compile(r"(?!(?:str|int)$)[a-z_]+")
"""A parameter's name; pydantic reports the types of a union in between."""


class Fault(Exception):  # noqa: N818 - an answer to the client, not a defect
    """A request that is not answered.

    Attributes:
        code: Ours, ``TW-…``.
        status: Of HTTP.
        param: The parameter that caused it.
        known: OpenAI's own code for it, if there is one.
    """

    def __init__(
        self, code: str, status: int, message: str, param: str | None = None, known: str | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.param, self.known = status, code, param, known

    def body(self) -> dict[str, Any]:
        """The error object; ``wizard_code`` is an addition of ours."""
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        error = {"message": str(self), "type": kind, "param": self.param, "code": self.known or self.code}
        return {"error": {**error, "wizard_code": self.code}}


def unsupported(param: str, why: str) -> Fault:
    """A parameter that OpenAI has, and this model, or this server, does not support."""
    return Fault("TW-G04", 400, why, param, "unsupported_parameter")


def fault(error: BaseException) -> Fault:
    """Any error as a `Fault`; the text of one that nobody expected stays in the log."""
    match error:
        case Fault():
            return error
        case ValidationError():
            return _invalid(error)
        case PromptTooLong():
            return fault(too_long(str(error)))
        case WizardError():
            mine = isinstance(error, UsageError | ModelError)
            status = STATUS.get(error.code, 400 if mine else 500)
            return Fault(error.code, status, f"{error.what}. {error.todo}", known=CODES.get(error.code))
    return Fault("TW-G09", 500, "the request failed for an unexpected reason; see gateway/gateway.log in the workspace")


def _invalid(error: ValidationError) -> Fault:
    """The first thing that a body has wrong; the value itself is not repeated."""
    errors = error.errors(include_url=False, include_input=False, include_context=False)
    # Of a parameter with several types, the one that the client meant says more than "not a text".
    first = next((each for each in errors if not each["type"].endswith("_type")), errors[0])
    if first["type"] == "json_invalid":
        return Fault("TW-G02", 400, f"the body is not valid JSON: {first['msg']}")
    place = [str(each) for each in first["loc"] if isinstance(each, int) or _FIELD.fullmatch(each)]
    return Fault("TW-G03", 400, f"{'.'.join(place) or 'the body'}: {first['msg']}", place[0] if place else None)
