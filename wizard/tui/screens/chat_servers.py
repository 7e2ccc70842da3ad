"""The chat's questions about its servers: which model answers, and what becomes of a server. None means cancelled."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, TypeAlias

from textual.app import App

from wizard.kernel.language import mark, tr
from wizard.kernel.text import one_line
from wizard.plan.question import Question
from wizard.serve.endpoint import Endpoint, label
from wizard.tui import background
from wizard.tui.chat_port import ChatPort
from wizard.tui.screens.form import FormScreen
from wizard.tui.screens.modal import AskScreen
from wizard.tui.views.chat import NextAction
from wizard.tui.widgets.error import errors_shown

URL = Question("url", "text", mark("Address"), "", required=True, help=mark("For example: http://127.0.0.1:9000/v1"))
MODEL = Question(
    "model",
    "text",
    mark("Model"),
    "",
    otherwise=mark("the server's only model"),
    help=mark("The model's name on that server."),
)
Leaving: TypeAlias = Literal["leave", "stop", "stay"] | NextAction
"""What to do when the chat is left."""
SECOND = mark("Which model do you want to compare with?")
OPPONENT = mark("Which model's answers do you want to vote on, besides this one's?")
NEXT = mark("Which model should answer from now on?")


async def ask_model(app: App[Any], calls: ChatPort, now: Endpoint, question: str) -> Endpoint | None:
    """Choose a model besides the one that answers ``now``: of its server, of this workspace, of another program on this
    machine, or by address.
    """
    endpoints: list[Endpoint] = []
    with errors_shown(app):
        endpoints = await background.call(partial(calls.others, now))
    others = {endpoint.name if endpoint.url is None else label(endpoint): endpoint for endpoint in endpoints}
    choices = [(name, label(endpoint)) for name, endpoint in others.items()]
    choices.append(("/", tr("Another server, by address")))
    answer = await app.push_screen_wait(AskScreen(question, choices))
    if answer != "/":
        return others.get(answer or "")
    given: dict[str, object] | None = {}
    while given is not None:
        given = await app.push_screen_wait(FormScreen(tr("Another server"), [URL, MODEL], given))
        if given:
            model = given.get("model")
            with errors_shown(app):
                there = await background.call(partial(calls.at, str(given["url"]), str(model) if model else None))
                if not there.answers_as(now):
                    return there
                app.notify(tr("{name} already answers in this chat", name=one_line(there.title)), severity="warning")
    return None


async def ask_leaving(
    app: App[Any], server: Endpoint, now: Endpoint | None, *, restarts: bool = True, measures: bool = True
) -> Leaving | None:
    """Ask what to do with the ``server`` that is running ``now``, or what to do after its exit; one that the wizard did
    not start is left as it is. ``restarts``: whether the chat can restart it, which is so for the one it began with;
    ``measures``: whether it may be measured.
    """
    answers: list[tuple[Leaving, str]]
    restart: list[tuple[Leaving, str]] = [("restart", tr("Restart server"))] if restarts else []
    measure: list[tuple[Leaving, str]] = [("bench", tr("Measure this server"))] if measures else []
    stay: tuple[Leaving, str] = ("stay", tr("Stay here"))
    name = one_line(server.title)
    if server.url is not None:
        question = tr("Leave the chat with {name}?", name=name)
        answers = [("leave", tr("Quit")), ("home", tr("Go to the first screen")), *measure, stay]
    elif now is not None:
        question = tr("What do you want to do with the server {name}?", name=name)
        answers = [
            ("leave", tr("Quit; the server keeps running")),
            ("stop", tr("Quit and stop the server")),
            ("another", tr("Set up another model; the server keeps running")),
            *measure,
            stay,
        ]
    else:
        question = tr("The server {name} exited. What now?", name=name)
        answers = [
            ("leave", tr("Quit")),
            *restart,
            ("another", tr("Set up another model")),
            stay,
        ]
    chosen = await app.push_screen_wait(AskScreen(question, answers, leaves="leave"))
    return next((answer for answer, _ in answers if answer == chosen), None)
