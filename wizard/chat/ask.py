"""What both protocols carry, one question and the pieces of its answer, and what can go wrong on the way."""

from __future__ import annotations

from dataclasses import dataclass

from wizard.kernel.errors import ModelError, ServerError, UsageError, WizardError
from wizard.kernel.text import plain


@dataclass(frozen=True, slots=True)
class Ask:
    """One request to the served model; the prompt is ready. ``temperature`` None leaves it to the server."""

    model: str
    prompt: str
    max_tokens: int
    temperature: float | None
    top_p: float
    seed: int | None


@dataclass(frozen=True, slots=True)
class Piece:
    """One response. ``finish`` is empty in all but the last; ``tokens`` counts from the beginning."""

    text: str
    tokens: int
    finish: str


class PromptTooLong(Exception):  # noqa: N818 - caught where the oldest turn can be left out; never shown
    """The prompt has more tokens than the server gives to a request; the text has the numbers."""


def server_said(text: str, model: str) -> WizardError | PromptTooLong:
    """The exception for an error text of the server.

    The words for a long prompt are ours (``llamacpp_model.py``), the others are Triton's.
    """
    _, long, numbers = text.partition("prompt too long: ")
    if long:
        return PromptTooLong(numbers)
    if "unknown model" in text or "is not ready" in text or "no available versions" in text:
        return no_model(model, text)
    if "Stub process" in text:
        return model_ended(model)
    return ServerError(
        "TW-C04",
        f"the server could not answer: {plain(text)}",
        "See what happened with `triton-wizard logs`, then ask again.",
    )


def unreachable(where: str, cause: object) -> ServerError:
    """Nobody listens at ``where``."""
    return ServerError(
        "TW-C01",
        f"no server answers at {where}: {plain(str(cause))}",
        "See `triton-wizard status`; start it with `triton-wizard up`.",
    )


def no_model(model: str, detail: str) -> ServerError:
    """The server runs but does not serve ``model``."""
    return ServerError(
        "TW-C02",
        f"the server does not serve the model {model!r}: {plain(detail)}",
        "Check the name; if the model failed to load, `triton-wizard logs` says why.",
    )


def lost(where: str, cause: object) -> ServerError:
    """The connection ended before the answer did."""
    return ServerError(
        "TW-C03",
        f"the server at {where} went away in the middle of the answer: {plain(str(cause))}",
        "See `triton-wizard status` and `triton-wizard logs`; then start it again with `triton-wizard up`.",
    )


def model_ended(model: str) -> ServerError:
    """The process that computes the answers is gone; Triton itself lives on."""
    return ServerError(
        "TW-C11",
        f"the process of the model {model!r} has ended (killed, crashed or out of memory): it answers no more",
        f"Start it again: `triton-wizard up {model}`. If it happens again, give it more memory or a smaller model.",
    )


def too_long(detail: str) -> UsageError:
    """The last message alone does not fit."""
    return UsageError(
        "TW-C05",
        f"this message is too long for the served model: {plain(detail)}",
        "Shorten it, or serve the model with a longer context.",
    )


def bad_template(detail: object) -> ModelError:
    """The model's own chat template cannot make a prompt of these messages."""
    return ModelError(
        "TW-C06",
        f"the model's chat template does not take this conversation: {plain(str(detail))}",
        "Begin a new conversation without a system prompt; if that fails too, the model's template is broken.",
    )


def not_triton(where: str, detail: object) -> ServerError:
    """Something else answers at ``where``."""
    return ServerError(
        "TW-C07",
        f"what answers at {where} is not a Triton server with a chat model: {plain(str(detail))}",
        "Check the address; `triton-wizard status` shows the wizard's own servers.",
    )
