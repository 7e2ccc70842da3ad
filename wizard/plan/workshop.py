"""A workshop's pins: answers that cannot be changed, each validated by its question, and the port of a seat."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from wizard.advise.advice import Constraints
from wizard.catalog.explanations import START
from wizard.catalog.workshops import Workshop
from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr
from wizard.kernel.text import one_line
from wizard.plan.answers import checked
from wizard.plan.question import Answers, Question
from wizard.plan.questions import BY_NAME, CHAT, CONSTRAINTS, HTTP_PORT, MODEL, SERVER, SETUP

ASKED: Mapping[str, tuple[Question, ...]] = {
    "model": (MODEL,),
    "advice": (*CONSTRAINTS, *SETUP),
    "review": SERVER,
    "chat": CHAT,
    START: (MODEL, *CONSTRAINTS, *SETUP, *SERVER),
}
"""Stage → its questions; those before the first stage belong to all."""
LAST_PORT = 65_533
"""The highest first port: two more follow it."""


def with_seat(workshop: Workshop, seat: int = 0) -> Workshop:
    """The workshop with every pin validated, and with the port of the seat among them if seats have separate ports.

    Args:
        workshop: The workshop's file.
        seat: Number of the seat, from 0.

    Raises:
        UsageError: TW-U30 for the answer to an unknown question, TW-U31 or TW-U32 if it does not fit, TW-U34
            for a secret, TW-U51 if the seat's port is out of range.
    """
    pins = checked(workshop.pin, tr("the workshop {title!r}", title=workshop.title))
    if workshop.ports_per_seat:
        first = int(str(pins.get(HTTP_PORT.name, HTTP_PORT.default)))
        port = first + seat * workshop.ports_per_seat
        if seat < 0 or port > LAST_PORT:
            raise UsageError(
                "TW-U51",
                tr("seat {seat} would need port {port}", seat=seat, port=port),
                tr("The highest port is {last}; use a smaller --seat, or ask your facilitator.", last=LAST_PORT),
            )
        pins[HTTP_PORT.name] = port
    return replace(workshop, pin=pins)


def with_pins(workshop: Workshop, given: Mapping[str, object]) -> Answers:
    """The ``given`` answers with the workshop's pinned ones.

    Raises:
        UsageError: TW-U50 if a given answer conflicts with a pinned one.
    """
    for name, value in workshop.pin.items():
        if given.get(name, value) != value:
            raise UsageError(
                "TW-U50",
                tr(
                    "{name} cannot be {given}: the workshop sets it to {pinned}",
                    name=name,
                    given=given[name],
                    pinned=value,
                ),
                tr("Omit {flag}, or leave the workshop.", flag=BY_NAME[name].flag),
            )
    return {**given, **workshop.pin}


def constraints_of(workshop: Workshop, constraints: Constraints) -> Constraints:
    """``constraints`` with the pinned ones, which take precedence."""
    pinned = {name: value for name, value in workshop.pin.items() if name in Constraints.__dataclass_fields__}
    return replace(constraints, **pinned)  # type: ignore[arg-type]  # checked when the workshop was read


def pinned_words(workshop: Workshop, stage: str) -> str:
    """The pinned answers of ``stage``, as text; empty if there are none."""
    answers = [
        tr(
            "{question}: {answer}",
            question=tr(question.text).rstrip("?"),
            answer=one_line(_shown(workshop.pin[question.name])),
        )
        for question in ASKED.get(stage, ())
        if question.name in workshop.pin
    ]
    return tr("Set by your facilitator: {answers}", answers=" · ".join(answers)) if answers else ""


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return tr("yes") if value else tr("no")
    return str(value)
