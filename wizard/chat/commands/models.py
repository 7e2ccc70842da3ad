"""Chat commands about models: continue with another one, compare with a second one."""

from __future__ import annotations

from wizard.chat import saving
from wizard.chat.commands.session import ChatSession, Outcome
from wizard.kernel.errors import UsageError
from wizard.kernel.language import join, tr
from wizard.kernel.text import one_line
from wizard.serve.endpoint import label


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


def compare(talk: ChatSession, argument: str) -> Outcome:
    """Start a comparison with another server's model; without a name end it."""
    name, _, model = argument.partition(" ")
    if not name:
        if talk.rival is None:
            todo = tr("Choose a server from `triton-wizard status`, for example: {example}", example="/compare demo")
            raise UsageError("TW-U24", tr("no server to compare with"), todo)
        talk.rival = None
        return Outcome(tr("Only {name} answers from now on.", name=one_line(talk.endpoint.name)))
    rival = talk.other(name, model.strip() or None)
    if rival.endpoint.answers_as(talk.endpoint):
        todo = tr("Choose another server; run `triton-wizard status` to list them.")
        raise UsageError("TW-U24", tr("{name} already answers in this chat", name=one_line(name)), todo)
    talk.rival = rival
    lines = [
        tr("Both models get the same questions from now on."),
        tr("Type /compare without a name to end the comparison."),
    ]
    if talk.keeps:
        own = tr("The answers of {name} are saved as a separate conversation.", name=one_line(rival.endpoint.name))
        lines.insert(1, own)
    return Outcome(" ".join(lines))


def save_comparison(talk: ChatSession, name: str) -> Outcome:
    """Save what was measured with the last question, as a picture or as data."""
    if talk.race is None or not talk.race.ended:
        todo = tr("Type /compare NAME, then ask a question.")
        raise UsageError("TW-U24", tr("there is no comparison yet"), todo)
    path, _there = saving.target(name)
    saving.save_result(path, talk.race.result())
    return Outcome(tr("Saved to {path}", path=path))
