"""Continue the conversation with another model."""

from __future__ import annotations

from wizard.flow.others import label
from wizard.kernel.language import join, tr
from wizard.kernel.text import one_line
from wizard.prompts.chat_session import ChatSession, Outcome


def model(talk: ChatSession, argument: str) -> Outcome:
    """Switch to the model or server ``argument``, or to a model at a URL; without it, list the models."""
    name, _, which = argument.partition(" ")
    if not name:
        rows = [tr("{name} answers now. Others:", name=one_line(talk.endpoint.title)), *map(label, talk.models())]
        return Outcome(join("\n", *rows, tr("Switch with /model NAME, or /model URL MODEL.")))
    listed = [] if "://" in name else talk.models()
    there = next((each for each in listed if argument in (each.title, each.model)), None)
    talk.switch(there or talk.other(name, which.strip() or None).endpoint)
    return Outcome(tr("{name} answers from now on.", name=one_line(talk.endpoint.title)))
