"""The stages after the chat, without any interface: what to measure, the benchmark, its report."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.bench.test_values import example
from tests.flow.test_walk import ENDPOINT, PLAN, Walk
from tests.values import CPU_HOST
from wizard.bench.opened import Opened
from wizard.bench.order import Wanted
from wizard.catalog.workshops import Workshop
from wizard.chat.conversation import Conversation
from wizard.flow import effects
from wizard.flow.saved import read
from wizard.flow.values import Finished, Measure, State, Talk
from wizard.flow.walk import resume
from wizard.kernel.errors import ServerError, UsageError
from wizard.kernel.values import to_json

WANTED = Wanted(concurrency=(1, 4), seconds=8.0, ttft=200.0)
FOLDER = "/ws/bench/demo-1"
READ = {"ReadReport": Opened(example())}
DIED = ServerError("TW-C65", "the server stopped answering", "Look at its log.")
DAMAGED = UsageError("TW-K02", "it is damaged", "Choose another one.")


def chatting(manner: str, **outcomes: object) -> Walk:
    """At the chat with a running server."""
    state = State(manner=manner, host=CPU_HOST)  # type: ignore[arg-type]
    if manner == "screens":
        return Walk(state, **outcomes)(Talk(ENDPOINT))
    return Walk(state, **{"Look": [[ENDPOINT]], **outcomes})()(Talk(ENDPOINT))


def questions(**outcomes: object) -> Walk:
    walk = Walk(State(given={"model": "demo"}), **{"Measure": FOLDER, **READ, **outcomes})
    for stage in ("machine", "advice", "review", "chat"):
        assert walk.asks == stage
        if stage != "chat":
            walk({"machine": None, "advice": walk.state.advice and walk.state.advice.choices[0], "review": PLAN}[stage])
    return walk


def test_questions_measure_show_the_report_and_ask_again() -> None:
    walk = questions()(Measure(ENDPOINT))
    assert walk.asks == "bench"
    walk(WANTED)
    assert walk.done[-2:] == [effects.Measure(ENDPOINT, WANTED), effects.ReadReport(FOLDER)]
    assert walk.asks == "report"
    assert walk.following.options == (READ["ReadReport"],)  # type: ignore[union-attr]
    walk()
    assert (walk.asks, walk.state.wanted) == ("bench", WANTED)
    assert walk().following == Finished()


def test_without_a_measurement_the_chat_is_the_end() -> None:
    assert questions()().following == Finished()


@pytest.mark.parametrize("how", [{"given": {"accept": True}}, {"workshop": Workshop(hide=("bench",))}])
def test_users_who_accepted_everything_are_not_asked(how: dict[str, object]) -> None:
    walk = questions()
    walk.state = replace(walk.state, **how)  # type: ignore[arg-type]
    assert walk(Measure(ENDPOINT)).following == Finished()


def test_an_error_leads_back_to_the_question() -> None:
    walk = questions(Measure=DIED)(Measure(ENDPOINT))(WANTED)
    assert (walk.asks, walk.error) == ("bench", "TW-C65")


def test_an_earlier_report_is_read_or_the_error_shown() -> None:
    walk = questions(ReadReport=DAMAGED)(Measure(ENDPOINT))(FOLDER)
    assert (walk.asks, walk.error) == ("bench", "TW-K02")
    walk.outcomes[effects.ReadReport] = READ["ReadReport"]
    assert walk(FOLDER).asks == "report"
    assert walk().asks == "bench"


def test_a_screen_measures_itself_and_goes_back_to_its_chat() -> None:
    walk = chatting("screens", **READ)
    conversation = Conversation().with_message("user", "Hi")
    other = replace(ENDPOINT, name="other")
    walk(Measure(other), conversation=conversation)
    assert walk.asks == "bench"
    walk(WANTED)
    assert walk.asks == "measure"
    walk(FOLDER)
    assert (walk.asks, walk.state.report) == ("report", FOLDER)
    walk()
    assert (walk.asks, walk.state.report) == ("bench", FOLDER)  # where the list starts
    walk(WANTED)(None)
    assert (walk.asks, walk.state.report) == ("bench", "")
    walk()
    assert (walk.asks, walk.state.endpoint, walk.state.conversation) == ("chat", other, conversation)
    assert walk.done[-1] == effects.Recall("other")


def test_a_hidden_stage_is_passed_on_a_screen_too() -> None:
    walk = chatting("screens")
    walk.state = replace(walk.state, workshop=Workshop(hide=("bench",)))
    assert walk(Measure(ENDPOINT)).asks == "chat"


@pytest.mark.parametrize("stage", ["bench", "measure", "report"])
def test_a_saved_state_goes_on_there(stage: str) -> None:
    state = State(manner="screens", at=stage, endpoint=ENDPOINT, wanted=WANTED, report=FOLDER)  # type: ignore[arg-type]
    again = read(to_json(state), "it")
    assert again == state
    assert resume(again)[0].at == stage
