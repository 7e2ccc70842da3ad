"""The walk alone: what comes next, what can be gone back to, what is passed, what an error leads to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.advise.worlds import VENV
from tests.plan.stack_values import FACTS
from tests.values import CHOICE, CPU_HOST, GGUF, plan_of
from tests.worded import saying
from wizard.advise.advice import Advice, Rejection
from wizard.advise.reasons import change
from wizard.catalog.recipes import Recipe
from wizard.catalog.workshops import Workshop
from wizard.chat.conversation import Conversation
from wizard.flow import effects
from wizard.flow.known import fixes, known, server
from wizard.flow.saved import read
from wizard.flow.values import (
    Answer,
    Ask,
    Back,
    Do,
    Finished,
    Next,
    Outcome,
    Redo,
    Resume,
    Serve,
    Skip,
    State,
    Talk,
    Watch,
)
from wizard.flow.walk import begin, resume, step
from wizard.kernel.errors import (
    HostError,
    InfeasibleError,
    ModelError,
    NetworkError,
    ServerError,
    UsageError,
    WizardError,
)
from wizard.kernel.values import to_json
from wizard.model.facts import GgufFile
from wizard.plan.offers import Suggestion
from wizard.plan.plan import Plan, Ports
from wizard.probe.shorthand import host
from wizard.serve.endpoint import Endpoint

PLAN = replace(plan_of("/ws"), name="demo", facts=replace(GGUF, ref="demo"))
ELSEWHERE = replace(PLAN, host="4xA6000")
ADVICE = Advice(True, (CHOICE, replace(CHOICE, max_batch_size=2)))
IMPOSSIBLE = Advice(
    False, rejections=(Rejection("llamacpp", "Q8_0", 1, 1, "memory", saying("Too many."), (change(users=100),)),)
)
ENDPOINT = Endpoint("demo", "demo", "127.0.0.1", Ports(), 1, "1", "/log")
MODELS = (
    Suggestion("org/large", "Large", "", None, None, True, usable=False, why_not="it needs 40 GiB"),
    Suggestion("demo", "Demo", "", None, 0, False, usable=True),
)
ERROR = ServerError("TW-S03", "it died", "Look at the log.")
VALUES: dict[type, Any] = {
    effects.Probe: CPU_HOST,
    effects.Look: [],
    effects.Suggest: MODELS,
    effects.Recipe: None,
    effects.Advise: ADVICE,
    effects.MakePlan: PLAN,
    effects.RunPlan: ENDPOINT,
    effects.Recall: PLAN,
    effects.Find: ENDPOINT,
}


class Walk:
    """A walk whose effects have the outcomes of `VALUES`, or those that are given; it stops at questions."""

    def __init__(self, state: State, **outcomes: Any) -> None:
        self.done: list[effects.Effect] = []
        self.errors: list[WizardError] = []
        self.outcomes = {getattr(effects, name): value for name, value in outcomes.items()}
        self._go(begin(state))

    def _go(self, move: tuple[State, Next]) -> None:
        self.state, self.following = move
        while isinstance(self.following, Do):
            effect = self.following.effect
            self.done.append(effect)
            self.errors += [self.following.error] if self.following.error else []
            self.state, self.following = step(self.state, Outcome(effect, self._value(effect)))
        assert read(to_json(self.state), "it") == self.state

    def _value(self, effect: effects.Effect) -> Any:
        value = self.outcomes.get(type(effect), VALUES.get(type(effect)))
        if isinstance(effect, effects.Inspect) and value is None:
            return replace(GGUF, ref=effect.ref)
        return value.pop(0) if isinstance(value, list) and value else value

    def __call__(self, value: Any = None, **about: Any) -> Walk:
        self._go(step(self.state, Answer(value, **about)))
        return self

    def back(self, to: Any = None, **about: Any) -> Walk:
        self._go(step(self.state, Back(to, **about)))
        return self

    @property
    def asks(self) -> str:
        assert isinstance(self.following, Ask), self.following
        return self.following.stage

    @property
    def error(self) -> str:
        assert isinstance(self.following, (Ask, Finished))
        return self.following.error.code if self.following.error else ""

    def kinds(self) -> list[str]:
        return [type(effect).__name__ for effect in self.done]


def screens(**about: Any) -> State:
    return State(manner="screens", **about)


def to_review(walk: Walk) -> Walk:
    """From the welcome of a full screen, by a model that is chosen."""
    return walk(Serve(), host=CPU_HOST)(replace(GGUF, ref="demo"), given={"model": "demo"})(CHOICE)


def test_questions_look_before_they_ask_and_end_with_the_chat() -> None:
    walk = Walk(State())
    for stage, answer in (("machine", None), ("model", "demo"), ("advice", CHOICE), ("review", PLAN), ("chat", None)):
        assert walk.asks == stage
        walk(answer)
    assert walk.following == Finished()
    expected = ["Probe", "Look", "Suggest", "Inspect", "Recipe", "Advise", "MakePlan", "RunPlan"]
    assert walk.kinds() == expected


def test_a_server_that_runs_is_offered_unless_a_model_or_another_machine_is_named() -> None:
    walk = Walk(State(), Look=[[ENDPOINT], []])(None)
    assert (walk.asks, walk.following.options) == ("welcome", (ENDPOINT,))  # type: ignore[union-attr]
    assert walk(Talk(ENDPOINT)).asks == "chat"
    assert Walk(State(), Look=[[ENDPOINT], []])(None)(Serve()).asks == "model"
    assert "Look" not in Walk(State({"model": "demo"}))(None).kinds()
    assert "Look" not in Walk(State(hardware="cpu"))(None).kinds()


def test_a_build_that_runs_is_offered_and_its_end_leads_to_the_chat_or_to_what_now() -> None:
    walk = Walk(State(), Look=[[PLAN, ENDPOINT]], FollowBuild=ENDPOINT)(None)
    assert (walk.asks, walk.following.options) == ("welcome", (PLAN, ENDPOINT))  # type: ignore[union-attr]
    assert walk(Watch(PLAN)).asks == "chat"
    assert walk.done[-1] == effects.FollowBuild(PLAN)
    failed = Walk(State(), Look=[[PLAN]], FollowBuild=ERROR)(None)(Watch(PLAN))
    assert (failed.asks, failed.error) == ("build", "TW-S03")
    assert failed("again").done[-1] == effects.RunPlan(PLAN)
    assert failed.asks == "chat"
    setup = Walk(State(), Look=[[PLAN]], FollowBuild=ERROR)(None)(Watch(PLAN)).back("advice")
    assert setup.asks == "advice"
    assert setup(CHOICE).done[-1] == effects.MakePlan(CPU_HOST, PLAN.facts, CHOICE, PLAN.name, None)


def test_screens_look_for_themselves_and_come_back_in_the_order_in_which_they_were_shown() -> None:
    walk = to_review(Walk(screens()))
    assert (walk.asks, walk.kinds()) == ("review", ["Recipe"])
    assert walk(PLAN).asks == "build"
    for stage in ("review", "advice", "model", "welcome", "welcome"):
        assert walk.back().asks == stage


def test_the_machine_is_gone_back_to_where_it_was_shown() -> None:
    walk = Walk(screens())("machine", host=CPU_HOST)(CPU_HOST)
    assert walk.asks == "model"
    assert walk.back().asks == "machine"
    assert walk.state.host == CPU_HOST
    assert Walk(screens())(Serve("demo")).asks == "machine", "it is not known yet"


def test_a_named_model_is_taken_once_and_what_was_typed_is_kept() -> None:
    walk = Walk(screens(given={"model": "demo"}))
    assert walk.asks == "machine"
    assert walk(CPU_HOST).following == Ask("model", take=True)
    walk(replace(GGUF, ref="demo")).back(given={"users": 9})
    assert walk.following == Ask("model")
    assert known(walk.state) == {"model": "demo", "users": 9}


def test_another_model_begins_with_the_first_answers() -> None:
    walk = to_review(Walk(screens(given={"users": 2}))).back(given={"name": "mine"}).back(given={"users": 9, "tp": 2})
    assert walk.back().asks == "welcome"
    walk(Serve("other"), host=CPU_HOST)
    assert known(walk.state) == {"users": 2, "model": "other", "name": "mine"}


def test_precedence_a_pin_a_given_answer_the_recipe() -> None:
    recipe = Recipe("demo", "", "", "", "", answers={"users": 2, "max_len": 512, "goal": "quality"})
    pinned = Workshop(pin={"goal": "smallest"})
    walk = Walk(State({"model": "demo", "users": 3, "max_len": None}, workshop=pinned), Recipe=recipe)(None)
    assert known(walk.state) == {"model": "demo", "users": 3, "goal": "smallest"}
    (advise,) = (effect for effect in walk.done if isinstance(effect, effects.Advise))
    assert (advise.constraints.users, advise.constraints.max_len, advise.constraints.goal) == (3, None, "smallest")


def test_changed_answers_are_advised_and_planned_again() -> None:
    walk = Walk(State({"model": "demo"}))(None)(given={"users": 3})
    assert walk.asks == "advice"
    assert [effect.constraints.users for effect in walk.done if isinstance(effect, effects.Advise)] == [None, 3]
    walk(CHOICE)(given={"name": "mine", "http_port": 9000})
    assert walk.asks == "review"
    plans = [(effect.name, effect.http_port) for effect in walk.done if isinstance(effect, effects.MakePlan)]
    assert plans == [(None, None), ("mine", 9000)]


def test_models_that_a_misspelled_name_may_mean_come_first_in_the_next_question() -> None:
    unknown = UsageError("TW-M01", "dmo is not a model", "")
    walk = Walk(State({"model": "dmo"}), Inspect=unknown)(None)
    assert walk.asks == "model"
    assert isinstance(walk.following, Ask)
    first, *others = walk.following.options
    assert (first.ref, first.group) == ("demo", "meant")
    assert [other.ref for other in others] == ["org/large"]
    assert (walk.state.mistyped, walk.errors) == ("", [unknown])
    other = Walk(State({"model": "dmo"}), Inspect=NetworkError("TW-M14", "the hub failed", ""))(None)
    assert isinstance(other.following, Ask)
    assert other.following.options == MODELS  # the name may be right


def test_without_a_gpu_the_gguf_files_of_a_model_are_looked_for_unless_offline() -> None:
    weights = replace(GGUF, ref="org/name", source="hub", location="org/name", weights=())
    completed = replace(weights, gguf=(GgufFile("org/name-GGUF", "name-Q8_0.gguf", "Q8_0"),))
    walk = Walk(State({"model": "org/name"}), Inspect=weights, FindGguf=completed)(None)
    assert walk.asks == "advice"
    assert walk.state.facts == completed
    assert [effect.facts for effect in walk.done if isinstance(effect, effects.Advise)] == [completed]
    for state, facts in ((State({"model": "org/name"}, offline=True), weights), (State({"model": "demo"}), GGUF)):
        assert "FindGguf" not in Walk(state, Inspect=facts)(None).kinds()


@pytest.mark.parametrize(("weight_bytes", "looked"), [(16 * 10**9, True), (4 * 10**9, False)])
def test_with_gpus_they_are_looked_for_if_the_weights_exceed_their_memory(weight_bytes: int, looked: bool) -> None:
    weights = replace(GGUF, ref="org/name", source="hub", location="org/name", weights=(), weight_bytes=weight_bytes)
    walk = Walk(State({"model": "org/name"}), Probe=host("rtx4060"), Inspect=weights, FindGguf=weights)(None)
    assert ("FindGguf" in walk.kinds()) == looked


def test_the_nearest_remedy_is_taken() -> None:
    walk = Walk(State({"model": "demo", "users": 500}), Advise=[IMPOSSIBLE, ADVICE])(None)
    assert walk.asks == "advice"
    assert walk("nearest").state.given["users"] == 100


@pytest.mark.parametrize("manner", ["screens", "questions"])
def test_hidden_stages_are_skipped_and_shown_on_the_path_back(manner: Any) -> None:
    walk = Walk(State(manner=manner, workshop=Workshop(hide=("machine", "model", "advice", "review"))))
    if manner == "screens":
        walk(Serve(), host=CPU_HOST)
    assert walk.asks == ("build" if manner == "screens" else "chat")
    assert walk.state.choice == CHOICE
    assert [effect.ref for effect in walk.done if isinstance(effect, effects.Inspect)] == ["demo"]
    walk = Walk(State(manner=manner, workshop=Workshop(hide=("machine", "model", "advice"))))
    if manner == "screens":
        walk(Serve(), host=CPU_HOST)
    assert walk.asks == "review"
    assert walk.back("advice").asks == "advice"


@pytest.mark.parametrize(
    ("outcomes", "stage"),
    [
        ({"Probe": HostError("TW-P01", "no", "x")}, "machine"),
        ({"Probe": replace(CPU_HOST, interpreters=())}, "machine"),
        ({"Suggest": NetworkError("TW-M13", "no", "x")}, "model"),
        ({"Suggest": MODELS[:1]}, "model"),
        ({"Inspect": ModelError("TW-M01", "no", "x")}, "model"),
        ({"Advise": IMPOSSIBLE}, "advice"),
        ({"Advise": HostError("TW-A21", "no", "x")}, "advice"),
        ({"MakePlan": ELSEWHERE}, "review"),
        ({"MakePlan": UsageError("TW-L04", "no", "x")}, "review"),
    ],
)
def test_a_hidden_stage_that_cannot_be_passed_is_shown(outcomes: dict[str, Any], stage: str) -> None:
    walk = Walk(screens(workshop=Workshop(hide=("machine", "model", "advice", "review"))), **outcomes)
    walk("machine")
    assert walk.asks == stage


def test_a_model_that_cannot_be_had_is_asked_again() -> None:
    walk = Walk(State({"model": "no"}), Inspect=[ModelError("TW-M01", "no", "x")])(None)
    assert (walk.asks, [error.code for error in walk.errors]) == ("model", ["TW-M01"])
    assert "model" not in walk.state.given
    pinned = Walk(State(workshop=Workshop(pin={"model": "no"})), Inspect=ModelError("TW-M01", "no", "x"))(None)
    assert isinstance(pinned.following, Finished)
    assert pinned.error == "TW-M01"


def test_a_gated_model_asks_for_a_token_that_the_state_never_holds() -> None:
    gated = ModelError("TW-M12", "gated", "Accept its licence.")
    walk = Walk(State({"model": "org/gated"}), Inspect=[gated, gated, replace(GGUF, ref="org/gated")])(None)
    assert (walk.asks, walk.error) == ("token", "TW-M12")
    assert walk("hf_wrong").asks == "token"
    assert walk("hf_secret").asks == "advice"
    assert "hf_secret" not in to_json(walk.state) + repr(walk.done)
    other = Walk(State({"model": "org/gated"}), Inspect=[gated])(None)(None)
    assert other.asks == "model"


def test_an_engine_that_is_there_is_offered_once_for_each_model() -> None:
    able = replace(host("2xH100"), engine_pythons=(VENV,))
    first, second = replace(FACTS, ref="first"), replace(FACTS, ref="second")
    walk = Walk(State({"model": "first"}), Probe=able, Inspect=[first, first, second])(None)
    assert walk.asks == "engine"
    assert walk(VENV.path).asks == "advice"
    assert known(walk.state)["engine_python"] == VENV.path
    assert "engine_python" not in walk.state.given
    walk.back("model")("first")
    assert walk.asks == "engine", "the model was asked for again"
    walk(None).back("model")("second")
    assert walk.asks == "engine"


def test_a_python_that_cannot_serve_is_reported_and_dropped() -> None:
    refused = HostError("TW-A21", "it has no vLLM", "Install it.")
    walk = Walk(State({"model": "demo", "engine_python": "/v/python"}), Advise=[refused, ADVICE])(None)
    assert (walk.asks, [error.code for error in walk.errors]) == ("advice", ["TW-A21"])
    assert "engine_python" not in known(walk.state)
    stuck = Walk(State({"model": "demo"}), Advise=refused)(None)
    assert isinstance(stuck.following, Finished)


def test_a_model_that_does_not_chat_is_asked_again() -> None:
    refused, facts = InfeasibleError("TW-A24", "it embeds", "Use vLLM."), replace(GGUF, ref="bert", task="embedding")
    walk = Walk(State({"model": "bert"}), Inspect=facts, Advise=refused)(None)
    assert (walk.asks, [error.code for error in walk.errors]) == ("model", ["TW-A24"])
    assert "model" not in walk.state.given


def test_a_plan_that_cannot_be_made_asks_for_another_name_or_leads_to_the_advice() -> None:
    taken = UsageError("TW-L04", "another model is served under that name", "Give another.")
    walk = Walk(State({"model": "demo", "name": "taken"}), MakePlan=[taken, PLAN])(None)(CHOICE)
    assert (walk.asks, walk.error, server(walk.state)) == ("review", "TW-L04", {})
    assert walk(given={"name": "free"}).state.plan == PLAN
    full = Walk(State({"model": "demo"}), MakePlan=[ERROR])(None)(CHOICE)
    assert (full.asks, full.error) == ("advice", "TW-S03")


def test_a_plan_for_another_machine_is_the_end() -> None:
    walk = Walk(State({"model": "demo"}, hardware="4xA6000"), MakePlan=ELSEWHERE)(None)(CHOICE)
    assert walk(ELSEWHERE).following == Finished()


def test_after_a_failure_a_step_is_repeated_left_out_or_another_way_chosen() -> None:
    walk = Walk(State({"model": "demo", "accept": True}), RunPlan=[ERROR, ERROR, ERROR, ERROR])(None)(CHOICE)(PLAN)
    assert (walk.asks, walk.error) == ("build", "TW-S03")
    walk(Skip("ready"))(Redo("ready"))("again")
    plan_run = [(effect.redo, effect.skip) for effect in walk.done if isinstance(effect, effects.RunPlan)]
    assert plan_run == [((), ()), ((), ("ready",)), (("ready",), ()), ((), ())]
    assert walk.back("advice").asks == "advice"
    assert "accept" not in walk.state.given


def test_a_server_that_does_not_run_is_set_up_again_as_it_was() -> None:
    walk = Walk(screens(given={"name": "mine"}))(Resume(replace(PLAN, name="old")), host=CPU_HOST)
    assert (walk.asks, server(walk.state), walk.state.choice) == ("review", {"name": "old"}, PLAN.choice)
    walk.back(given={"name": "older"})
    assert walk.asks == "welcome"
    assert walk(Serve("demo"), host=CPU_HOST).state.server is None
    assert server(walk.state) == {"name": "mine"}


def test_what_is_pinned_leads_a_server_that_is_set_up_again_through_the_advice() -> None:
    walk = Walk(screens(workshop=Workshop(pin={"users": 3})))(Resume(PLAN), host=CPU_HOST)
    assert (walk.asks, walk.state.choice) == ("advice", PLAN.choice)


def test_the_machine_is_looked_at_before_a_server_is_set_up_again() -> None:
    walk = Walk(screens())(Resume(PLAN))
    assert walk.asks == "machine"
    assert walk(CPU_HOST).asks == "review"


def test_a_build_continues_in_the_background_and_can_be_reopened() -> None:
    walk = to_review(Walk(screens()))(PLAN)("background")
    assert walk.asks == "welcome"
    assert (walk(Watch(PLAN)).asks, walk.state.plan) == ("build", PLAN)
    assert walk.back().asks == "welcome"


def test_a_conversation_continues_after_a_restart_and_not_with_another_model() -> None:
    conversation = Conversation().with_message("user", "One")
    walk = to_review(Walk(screens(), Find=[None, replace(ENDPOINT, pid=2)]))(PLAN)(Talk(ENDPOINT))
    assert (walk.asks, walk.state.conversation) == ("chat", None)
    assert walk("restart", conversation=conversation).asks == "build"
    assert (walk(Talk(ENDPOINT)).asks, walk.state.conversation) == ("chat", conversation)
    assert (walk("restart", conversation=conversation).asks, walk.state.endpoint) == ("chat", replace(ENDPOINT, pid=2))
    assert walk("another", conversation=conversation).asks == "machine"
    assert (walk.state.host, walk.state.trail) == (None, ("welcome",))
    walk(CPU_HOST)(replace(GGUF, ref="demo"))(CHOICE)(PLAN)(Talk(ENDPOINT))
    assert walk.state.conversation is None


def test_a_recipe_is_chosen_from_their_list() -> None:
    walk = Walk(screens())("recipes", host=CPU_HOST)
    assert walk.asks == "recipes"
    assert walk("tutorial-000").following == Ask("model", take=True)
    assert walk.back().asks == "recipes"
    assert walk.back().asks == "welcome"


@pytest.mark.parametrize("outcome", ["Probe", "Suggest", "Inspect", "Advise", "MakePlan", "RunPlan"])
def test_an_error_ends_an_unattended_walk(outcome: str) -> None:
    walk = Walk(State(manner="unattended", at="machine"), **{outcome: ERROR})
    assert isinstance(walk.following, Finished)
    assert walk.error == "TW-S03"


def test_a_walk_that_was_written_down_continues_where_it_was() -> None:
    walk = Walk(State({"model": "demo"}))(None)(CHOICE)
    state, following = resume(read(to_json(walk.state), "it"))
    assert state == walk.state
    assert isinstance(following, Do)
    assert isinstance(following.effect, effects.MakePlan)
    with pytest.raises(UsageError) as raised:
        read('{"at": 1}', "state.json")
    assert raised.value.code == "TW-K01"


def test_a_plan_is_only_accepted_beforehand_where_it_can_be_carried_out() -> None:
    from wizard.flow.known import accepted

    plans: tuple[tuple[Plan, bool], ...] = ((PLAN, True), (ELSEWHERE, False))
    for plan, here in plans:
        assert accepted(State({"accept": True}, plan=plan)) is here
        assert not accepted(State({"accept": "yes"}, plan=plan))


def failed(known: str) -> WizardError:
    error = ServerError("TW-S04", "Triton ended", "Use a shorter context.")
    error.known = known
    return error


def test_a_known_failure_has_answers_that_avoid_it_if_they_change_the_setup() -> None:
    long = replace(CHOICE, max_seq_len=32768, tp=2)
    state = State(host=CPU_HOST, facts=GGUF, choice=long, at="build", plan=PLAN, given={"tp": 2})
    assert fixes(state, failed("vllm-context-too-long")) == {"max_len": 4096}
    assert fixes(state, failed("vllm-heads-not-divisible")) == {"tp": None}
    assert fixes(replace(state, given={}), failed("vllm-heads-not-divisible")) == {}  # the wizard chose it
    assert fixes(replace(state, choice=replace(long, max_seq_len=2048)), failed("vllm-context-too-long")) == {}
    pinned = replace(state, workshop=Workshop(pin={"max_len": 32768}))
    assert fixes(pinned, failed("vllm-context-too-long")) == {}
    assert fixes(state, failed("terraform-lock-inconsistent")) == fixes(state, failed("")) == fixes(state, None) == {}
    assert fixes(replace(state, choice=None), failed("vllm-context-too-long")) == {}


def test_a_fix_that_is_applied_leads_to_new_recommendations() -> None:
    state = State(host=CPU_HOST, facts=GGUF, choice=CHOICE, at="build", plan=PLAN, trail=("model", "advice", "review"))
    state, following = step(state, Back("advice", {"max_len": 4096}))
    assert state.given["max_len"] == 4096
    assert isinstance(following, Do)
    assert isinstance(following.effect, effects.Advise)
