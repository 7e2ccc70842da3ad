"""The questions of the workflow (`wizard.flow`) in a plain terminal: machine, model, advice, plan, run, chat, bench."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from wizard.catalog.workshops import Workshop
from wizard.chat.settings import conversation
from wizard.flow import effects
from wizard.flow.known import accepted, engine_offer, fixes, hides, known, there
from wizard.flow.perform import front, perform
from wizard.flow.perform import running as running_now
from wizard.flow.port import JourneyPort
from wizard.flow.session import keeps_chats
from wizard.flow.values import Answer, Ask, Back, Do, Finished, Measure, Outcome, Serve, State, Talk, Watch
from wizard.flow.walk import begin, step
from wizard.kernel.errors import CancelledError, WizardError
from wizard.kernel.language import tr
from wizard.kernel.paths import Workspace
from wizard.kernel.program import command, pasteable
from wizard.kernel.text import is_terminal, one_line
from wizard.plan.answers import answers_file, load_answers, save_answers
from wizard.plan.explanation import of_stage
from wizard.plan.question import Answers, Question
from wizard.plan.questions import CHAT, HF_TOKEN, SERVER
from wizard.plan.workshop import pinned_words
from wizard.prompts import ask as asking
from wizard.prompts import beginning, tool_consent, value_text
from wizard.prompts.answers import asked_all, changed
from wizard.prompts.bench import Bench
from wizard.prompts.chat import run_chat
from wizard.prompts.model_search import which
from wizard.prompts.options import as_value, setup_options
from wizard.prompts.question_input import tolerate_odd_encodings
from wizard.prompts.run import Run, save
from wizard.prompts.running import chat_words, running
from wizard.prompts.speech import fitted, say, say_command, say_running
from wizard.texts.explain import figures

EXPLAINED = {"machine": "machine", "model": "model", "engine": "advice", "advice": "advice", "review": "review"}
"""Stage of the flow → the stage whose explanation is shown when it begins."""
Reviewed: TypeAlias = Literal["go", "show", "change", "back", "save", "settings"]
"""The possible actions for a plan."""


def run_prompts(
    workspace: Workspace,
    *,
    hardware: str | None = None,
    offline: bool = False,
    answers: Mapping[str, object] | None = None,
    journey: Any = None,
    workshop: Workshop | None = None,
    explain: bool = False,
    again: str = "",
) -> int:
    """Run the whole workflow from the machine to a chat, in a terminal.

    Args:
        workspace: The workspace for all files.
        hardware: Another machine to plan for.
        offline: Never access the Hub.
        answers: Answers given in advance; their questions are not asked.
        journey: Replaces `wizard.journey`.
        workshop: The facilitator's workshop; its pins are among the answers.
        explain: Whether to explain each stage and each step.
        again: The command that restarts it, shown when the user leaves.

    Returns:
        The exit status: 0, or 130 if the user left, with the answers saved.
    """
    if journey is None:
        from wizard import journey
    tolerate_odd_encodings()
    state = State(dict(answers or {}), hardware=hardware, offline=offline, workshop=workshop or Workshop())
    flow = Flow(journey, workspace, state, explain=explain)
    try:
        return flow.go()
    except (KeyboardInterrupt, EOFError):
        return flow.left(again)


class Flow:
    """A method per question: asks in words and returns the answer."""

    def __init__(self, journey: JourneyPort, workspace: Workspace, state: State, *, explain: bool = False) -> None:
        self.journey, self.workspace, self.state, self.explain = journey, workspace, state, explain
        self.ask = asking.Ask()
        self._run, self._measuring = Run(journey, workspace, self.ask), Bench(journey, workspace, self.ask)
        self._kept = load_answers(workspace)
        """Answers of an earlier time that was left before its end; they are what Enter means."""
        self._typed: Answers = {}
        """What was answered by the way, and is handed on with the answer to the present question."""
        self._taught: set[str] = set()
        self._top = value_text.TOP
        """Ways that are shown."""

    def go(self) -> int:
        """Run all stages, forwards and backwards as the user likes."""
        workshop = self.state.workshop
        if workshop.title:
            say("\n".join(tr(text) for text in (workshop.title, workshop.text) if text) + "\n")
        at, (self.state, following) = "", begin(self.state)
        while not isinstance(following, Finished):
            if self.state.at != at:
                at = self.state.at
                self._introduce(at)
            reply = self._asked(following) if isinstance(following, Ask) else self._perform(following)
            self.state, following = step(self.state, reply)
        if following.error is not None:
            raise following.error
        return 0

    def _introduce(self, at: str) -> None:
        """Show the explanation of a stage that begins, unless it is skipped."""
        stage, self._top = EXPLAINED.get(at, ""), value_text.TOP
        if stage and not hides(self.state, stage):  # type: ignore[arg-type]  # all of them are stages
            self._explain(stage)

    def _explain(self, stage: str) -> None:
        if self.explain and stage not in self._taught:
            self._taught.add(stage)
            say(f"\n{value_text.explanation_text(of_stage(stage, self.state.workshop), fit=value_text.aloud)}\n")
        if pinned := pinned_words(self.state.workshop, stage):
            say(pinned)

    def _asked(self, ask: Ask) -> Answer | Back:
        reply: Answer | Back = getattr(self, f"_{ask.stage}")(ask)
        typed, self._typed = self._typed, {}
        return replace(reply, given={**typed, **reply.given})

    def _perform(self, do: Do) -> Outcome:
        if do.error is not None:
            self._say(str(do.error))
        if isinstance(do.effect, (effects.RunPlan, effects.FollowBuild)):
            plan, shown = do.effect.plan, self.explain
            return self._run.carry(
                do.effect, value_text.step_explanations(plan, self.state.workshop, value_text.aloud) if shown else None
            )
        if isinstance(do.effect, effects.Measure):
            return self._measuring.carry(do.effect)
        if isinstance(do.effect, effects.Suggest):
            say("\n" + tr("Looking for models that fit ..."))
        outcome = perform(self.journey, self.workspace, do.effect)
        if isinstance(do.effect, effects.Probe) and not isinstance(outcome.value, WizardError):
            say(beginning.text(self.journey, self.workspace, outcome.value))
        return outcome

    def left(self, again: str) -> int:
        """The user leaves: save the answers and show how to continue, with the command ``again`` if there is one."""
        lines, given = ["", tr("Stopped; completed steps are kept.")], {**self.state.given, **self._typed}
        if any(value is not None for value in given.values()):
            with suppress(WizardError, OSError):  # an unwritable workspace is reported when it is needed
                lines.append(tr("Your answers are saved in {file}.", file=save_answers(self.workspace, given)))
        lines += [tr("Continue with:"), f"  $ {again or self._again('--plain')}"]
        print(fitted("\n".join(lines)), file=sys.stderr)
        return CancelledError.exit_code

    def _again(self, *words: str) -> str:
        """A command for this workspace, ready to paste."""
        return command(*words, workspace=self.workspace)

    def _say(self, text: str) -> None:
        """Print a paragraph, with its commands ready to paste."""
        say(f"\n{pasteable(text, self.workspace)}\n")

    # -- machine, model ------------------------------------------------------------------------------------------------

    def _machine(self, _ask: Ask) -> Answer:
        say(value_text.host_text(there(self.state.host), value_text.aloud))
        return Answer()

    def _welcome(self, ask: Ask) -> Answer:
        """The running build or server that the user wants to see, or another entry."""
        options: list[tuple[str, Watch | Talk | Serve]] = [*map(running, ask.options)]
        options.append((tr("Set up another model (running servers are not affected)"), Serve()))
        return Answer(self.ask.choose(tr("What do you want to do?"), options))

    def _model(self, ask: Ask) -> Answer:
        kept = as_value(self._kept.get("model"))
        return Answer(which(self.ask, self.journey, ask.options, kept, offline=self.state.offline))

    def _token(self, ask: Ask) -> Answer:
        self._say(str(ask.error))
        return Answer(asking.ask_question(self.ask, HF_TOKEN))

    # -- advice --------------------------------------------------------------------------------------------------------

    def _engine(self, _ask: Ask) -> Answer:
        offer = there(engine_offer(self.state))
        return Answer(self.ask.choose(offer.question, [(text, value) for value, text in offer.options]))

    def _advice(self, ask: Ask) -> Answer | Back:
        """How to serve the model."""
        host, facts, advice = there(self.state.host), there(self.state.facts), there(self.state.advice)
        if ask.error is not None:
            self._say(str(ask.error))
        while True:
            self._say(value_text.advice_text(advice, facts, top=self._top, fit=value_text.aloud))
            options = setup_options(advice, self._top, pinned="model" in self.state.workshop.pin)
            picked = self.ask.choose(tr("How should {model} run on this machine?", model=one_line(facts.name)), options)
            if picked == "model":
                return Back("model")
            if picked == "why":
                say(f"\n{value_text.figures_text(figures(host, facts, advice.choices[0]), value_text.aloud)}")
            elif picked == "pareto":
                say(f"\n{value_text.pareto_text(front(self.journey, self.workspace, self.state), value_text.aloud)}")
            elif picked == "all":
                self._top = len(advice.choices)
            elif picked == "change":
                self._typed |= changed(self.ask, self.state)
                return Answer()
            else:
                return Answer(picked)

    def _ask_all(self, questions: Iterable[Question]) -> None:
        asked_all(self.ask, questions, self.state, self._typed, self._kept)

    def _review(self, ask: Ask) -> Answer | Back:
        """Whether to run the plan; asks for name and port again if the plan failed with them."""
        plan = self.state.plan
        if plan is None or ask.error is not None:
            self._say(str(ask.error))
            self._ask_all(SERVER)
            return Answer()
        explanations = self.state.workshop if self.explain else None
        self._say(value_text.plan_text(plan, commands=False, workshop=explanations, fit=value_text.aloud))
        if accepted(self.state):
            return Answer(plan)
        here = plan.is_for_here
        options: list[tuple[str, Reviewed]] = [
            (tr("Start") if here else tr("Finish; this plan cannot run on this machine"), "go"),
            (tr("Show every command"), "show"),
            (tr("Change the name or the port"), "change"),
            (tr("Back to the recommendations"), "back"),
            (tr("Save the plan to a file"), "save"),
            (tr("Chat settings: system prompt, temperature ..."), "settings"),
        ]
        question = tr("This is what will run. Start?") if here else tr("This is the plan.")
        while (picked := self.ask.choose(question, options)) in ("show", "save", "settings"):
            if picked == "show":  # its commands must stay on one line
                print(f"\n{pasteable(value_text.plan_text(plan, fit=value_text.aloud), self.workspace)}\n")
            elif picked == "save":
                save(self.ask, plan)
            else:
                self._ask_all(CHAT)
        if picked == "change":
            self._ask_all(SERVER)
        return Back("advice") if picked == "back" else Answer(plan if picked == "go" else None)

    # -- run and chat --------------------------------------------------------------------------------------------------

    def _build(self, ask: Ask) -> Answer | Back:
        return self._run.what_now(there(self.state.plan), ask.error, fixes(self.state, ask.error))

    def _chat(self, _ask: Ask) -> Answer:
        endpoint = there(self.state.endpoint)
        answers_file(self.workspace).unlink(missing_ok=True)
        stop = self._again("down", endpoint.name)
        if measured := self.journey.calibration(self.workspace).latest_of(endpoint.name):
            say(f"\n{value_text.measured_text(measured)}\n")
        say_command(tr("To chat with this server again:"), self._again("chat", *chat_words(endpoint)))
        if endpoint.url is None:
            say_command(tr("Stop it:"), stop)
        self._explain("chat")
        run_chat(
            endpoint,
            conversation(known(self.state)),
            workspace=self.workspace,
            history=self.journey.history(self.workspace),
            keep=keeps_chats(),
            journey=self.journey,
            tools=tool_consent.tools_or_report(self.journey, self.workspace),
        )
        now = endpoint if endpoint.url else running_now(self.journey, self.workspace, endpoint.name)
        if now and now.url is None:
            say_running(self._again("bench", now.name, "--quick"), stop)
        return Answer(Measure(now) if now and is_terminal(sys.stdin) else None)

    def _bench(self, ask: Ask) -> Answer:
        self._explain("bench")
        return self._measuring.asked(there(self.state.endpoint), self.state.wanted, ask.error)

    def _report(self, ask: Ask) -> Answer:
        return self._measuring.shown(ask.options[0])
