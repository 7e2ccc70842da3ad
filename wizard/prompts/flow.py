"""The journey as questions and answers in a plain terminal: machine, model, advice, plan, run, chat."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Literal, TypeAlias

from wizard.advise import refusals
from wizard.advise.advice import Choice, Wishes
from wizard.catalog.journeys import answered
from wizard.catalog.workshops import Workshop
from wizard.chat.conversation import conversation
from wizard.chat.history import History
from wizard.journey import recommended
from wizard.kernel.errors import CancelledError, UsageError, WizardError
from wizard.kernel.language import tr
from wizard.kernel.paths import Workspace
from wizard.kernel.program import command, pasteable
from wizard.kernel.text import one_line
from wizard.model.facts import ModelFacts
from wizard.plan.answers import answers_file, load_answers, save_answers
from wizard.plan.lesson import of_stage
from wizard.plan.plan import Plan
from wizard.plan.questions import CHAT, HF_TOKEN, MODEL, SERVER, SETUP, WISHES, Answers, Question, wishes
from wizard.plan.workshop import pinned_words
from wizard.probe.host import Host
from wizard.prompts import engine
from wizard.prompts.ask import Ask, ask_question
from wizard.prompts.chat import run_chat
from wizard.prompts.finding import is_word, ready, searched
from wizard.prompts.lines import tolerate_odd_encodings
from wizard.prompts.options import as_value, not_here, now, suggestion, ways
from wizard.prompts.run import Run, save
from wizard.prompts.show import (
    TOP,
    advice_text,
    aloud,
    figures_text,
    host_text,
    lesson_text,
    measured_text,
    plan_text,
    step_lessons,
)
from wizard.prompts.speech import fitted, say, say_command
from wizard.prompts.talk import wanted
from wizard.serve.calibration import latest_of
from wizard.serve.endpoint import Endpoint
from wizard.texts.explain import figures

GATED = "TW-M12"
"""What the hub says of a model that only people with a token may read."""
READY = "/"
"""Chosen instead of a model: a ready journey. It is no model's name."""
Reviewed: TypeAlias = Literal["go", "show", "change", "back", "save", "settings"]
"""What can be done with a plan."""


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
    """Go the whole way from the machine to a chat, in a terminal.

    Args:
        workspace: Where everything is made.
        hardware: Another machine to plan for.
        offline: Never ask the hub.
        answers: Answers given beforehand; what they answer is not asked.
        journey: What to use instead of `wizard.journey`.
        workshop: What a facilitator decided; its pins are among the answers.
        explain: Say before each stage and each step what it does.
        again: The command that begins it again, for whoever leaves.

    Returns:
        The exit status: 0, or 130 if the user left; the answers are kept then.
    """
    if journey is None:
        from wizard import journey
    tolerate_odd_encodings()
    flow = _Flow(journey, workspace, dict(answers or {}), workshop or Workshop(), offline=offline, explain=explain)
    try:
        return flow.go(hardware)
    except (KeyboardInterrupt, EOFError):
        return flow.left(again)


class _Flow:
    """One way through the questions."""

    def __init__(
        self, journey: Any, workspace: Workspace, given: Answers, workshop: Workshop, *, offline: bool, explain: bool
    ) -> None:
        self.workshop, self.explain = workshop, explain
        self.hidden = set(workshop.hide)
        """Stages that are still to be passed without being shown; whoever comes back to one sees it."""
        self.taught: set[str] = set()
        """Stages whose lesson was said."""
        self.journey = journey
        self.workspace = workspace
        self.answers = given
        self.offered: Answers = {}
        """What was said to the offer of an engine that is there: for this model, and never kept."""
        self.kept = load_answers(workspace)
        """Answers of an earlier time that was left before its end; they are what Enter means."""
        self.ask = Ask()
        self.offline = offline

    @property
    def known(self) -> Answers:
        """All answers: what was said goes before the journey's, and what a facilitator pinned before all."""
        given = {**self.offered, **self.answers, **self.workshop.pin}
        return answered(str(given.get("model", "")), given, self.journey.journeys())

    def _passes(self, stage: str) -> bool:
        """Whether ``stage`` is left out this time; else what there is to know of it is said."""
        if stage in self.hidden:
            self.hidden.remove(stage)
            return True
        if self.explain and stage not in self.taught:
            self.taught.add(stage)
            say(f"\n{lesson_text(of_stage(stage, self.workshop), fit=aloud)}\n")
        if pinned := pinned_words(self.workshop, stage):
            say(pinned)
        return False

    def go(self, hardware: str | None) -> int:
        """All stages; back and forth as the user likes."""
        if self.workshop.title:
            say("\n".join(tr(text) for text in (self.workshop.title, self.workshop.text) if text) + "\n")
        host: Host = self.journey.probe(self.workspace, hardware=hardware)
        say(tr("Ctrl-C leaves at any time; your answers are kept.") + "\n")
        if not self._passes("machine"):
            say(host_text(host, aloud))
        if endpoint := self._running(hardware):
            return self._chat(endpoint)
        while True:
            facts = self._model(host)
            while choice := self._choice(host, facts):
                plan = self._plan(host, facts, choice)
                if plan is None:
                    continue
                if not plan.is_for_here:
                    return 0
                endpoint = self._run(plan)
                if endpoint is not None:
                    return self._chat(endpoint)

    def left(self, again: str) -> int:
        """The user leaves: keep the answers and say how to go on, with the command ``again`` if there is one."""
        said = ["", tr("Stopped; what is done stays done.")]
        if self.answers:
            with suppress(WizardError, OSError):  # a workspace that cannot be written is told when it is needed
                file = save_answers(self.workspace, self.answers)
                said.append(tr("Your answers are kept in {file}.", file=file))
        said += [tr("Go on with:"), f"  $ {again or self._again('--plain')}"]
        print(fitted("\n".join(said)), file=sys.stderr)
        return CancelledError.exit_code

    def _running(self, hardware: str | None) -> Endpoint | None:
        """The running server that the user wants to talk to; None to set up a model."""
        if hardware or "model" in self.answers:
            return None
        found = [one for one in self.journey.statuses(self.workspace) if one.state == "ready" and one.endpoint]
        if not found:
            return None
        options: list[tuple[str, Endpoint | None]] = [
            (tr("Talk to {name}, which runs at {where}", name=one.name, where=one.endpoint.http), one.endpoint)
            for one in found
        ]
        options.append((tr("Set up another model; what runs goes on running"), None))
        return self.ask.choose(tr("What do you want to do?"), options)

    def _again(self, *words: str) -> str:
        """A command for this workspace, ready to be pasted."""
        return command(*words, workspace=self.workspace)

    def _say(self, text: str) -> None:
        """Say a paragraph; what it says to type can be pasted."""
        say(f"\n{pasteable(text, self.workspace)}\n")

    # -- model ---------------------------------------------------------------------------------------------------------

    def _model(self, host: Host) -> ModelFacts:
        token = os.environ.get("HF_TOKEN")
        hidden = self._passes("model")
        while True:
            ref = str(self.answers.get("model") or self._pick_model(host, best=hidden))
            hidden = False
            try:
                facts: ModelFacts = self.journey.model(ref, offline=self.offline)
                break
            except WizardError as error:
                if "model" in self.workshop.pin and error.code != GATED:
                    raise  # another answer is not allowed
                self._say(str(error))
                self.answers.pop("model", None)
                os.environ.pop("HF_TOKEN", None)  # one that was refused would shut us out of other models too
                if token is not None:
                    os.environ["HF_TOKEN"] = token
                if error.code == GATED and (typed := ask_question(self.ask, HF_TOKEN)):
                    os.environ["HF_TOKEN"] = str(typed)  # for this process and its children only
                    self.answers["model"] = ref
        self.answers["model"] = ref
        return facts

    def _pick_model(self, host: Host, *, best: bool = False) -> str:
        say("\n" + tr("Looking for models that fit ..."))
        found = self.journey.suggestions(host, self.workspace, offline=self.offline)
        usable = [one for one in found if one.usable]
        if best and usable:
            return str(usable[0].ref)
        for line in not_here(one for one in found if not one.usable):
            say(line)
        options: list[tuple[str, str | None]] = [(suggestion(one), one.ref) for one in usable]
        another = tr("Another: a hub id, a path, or a word to search the hub for; it can be typed here too")
        options += [(another, None), (tr("A ready journey: one of the tutorials, or a shorter way of today"), READY)]
        refs = [one.ref for one in usable]
        kept = self.kept.get("model")
        typed = None if kept in refs else as_value(kept)
        first = refs.index(kept) if kept in refs else len(refs) if typed else 0
        while True:
            ref = self.ask.choose(tr(MODEL.text), options, first, other=lambda text: str(MODEL.parse(text)))
            journeys = self.journey.journeys()
            if ref == READY:
                picked = ready(self.ask, journeys)
            else:
                named = ref or str(ask_question(self.ask, MODEL, typed))
                known = named in refs or self.offline or not is_word(named, [one.name for one in journeys])
                picked = named if known else searched(self.ask, self.journey, named)
            if picked:
                return picked

    # -- advice --------------------------------------------------------------------------------------------------------

    def _choice(self, host: Host, facts: ModelFacts) -> Choice | None:
        """How to serve it; None to choose another model."""
        top, past = TOP, self.journey.calibration(self.workspace)
        hidden = self._passes("advice")
        if not hidden:
            self.offered.update(engine.offered(self.ask, host, facts, self.known))
        while True:
            advice = engine.advised(self.journey, host, facts, lambda: self.known, (self.answers, self.offered), past)
            if hidden and advice.choices:
                return recommended(advice)
            self._say(advice_text(advice, facts, top=top, fit=aloud))
            options = ways(advice, top, pinned="model" in self.workshop.pin)
            picked = self.ask.choose(tr("How should {model} run here?", model=one_line(facts.name)), options)
            if isinstance(picked, Choice):
                return picked
            if picked == "model":
                self.answers.pop("model", None)
                self.offered.clear()
                return None
            if picked == "why":
                say(f"\n{figures_text(figures(host, facts, advice.choices[0]), aloud)}")
            elif picked == "all":
                top = len(advice.choices)
            elif picked == "nearest":
                for name, value in refusals.changes(advice.rejections[0].remedies).items():
                    self._answer(name, value)
            else:
                self._change()

    def _change(self) -> None:
        """Ask for one wish, or take all of them back."""
        known = self.known
        options: list[tuple[str, Question | Literal["nothing", "back"]]] = [
            (f"{tr(one.text).rstrip('?')}: {now(one, known)}", one)
            for one in (*WISHES, *SETUP)
            if one.name not in self.workshop.pin
        ]
        if wishes({**self.offered, **self.answers}) != Wishes():
            options.append((tr("Let the wizard choose everything again"), "nothing"))
        picked = self.ask.choose(tr("What should be different?"), [*options, (tr("Nothing"), "back")])
        if picked == "nothing":
            for one in (*WISHES, *SETUP):
                self._answer(one.name, None)
        elif picked != "back":
            self._answer(picked.name, ask_question(self.ask, picked, as_value(known.get(picked.name))))

    def _answer(self, name: str, value: object) -> None:
        """Change an answer, or take it back with None."""
        for one in (self.answers, self.offered):
            one.pop(name, None)
        if value is not None:
            self.answers[name] = value

    def _ask_all(self, questions: tuple[Question, ...]) -> None:
        for question in questions:
            if question.when(self.known) and question.name not in self.workshop.pin:
                now = self.known.get(question.name, self.kept.get(question.name))
                answer = ask_question(self.ask, question, as_value(now))
                if answer is not None:
                    self.answers[question.name] = answer

    # -- plan ----------------------------------------------------------------------------------------------------------

    def _plan(self, host: Host, facts: ModelFacts, choice: Choice) -> Plan | None:
        """The accepted plan; None to go back to the advice."""
        hidden = self._passes("review")
        while True:
            try:
                plan: Plan = self.journey.plan(
                    host,
                    facts,
                    choice,
                    self.workspace,
                    name=self.known.get("name"),
                    http_port=self.known.get("http_port"),
                )
            except WizardError as error:
                self._say(str(error))
                if not isinstance(error, UsageError):
                    return None
                for question in SERVER:
                    self.answers.pop(question.name, None)
                self._ask_all(SERVER)
                continue
            if hidden and plan.is_for_here:
                return plan
            lessons = self.workshop if self.explain else None
            self._say(plan_text(plan, commands=False, workshop=lessons, fit=aloud))
            answer = self._go(plan)
            if answer != "change":
                return plan if answer == "go" else None
            self._ask_all(SERVER)

    def _go(self, plan: Plan) -> Reviewed:
        """Whether to carry the plan out."""
        here = plan.is_for_here
        if here and self.answers.get("accept") is True:
            return "go"
        options: list[tuple[str, Reviewed]] = [
            (tr("Go") if here else tr("Done: it cannot be run here"), "go"),
            (tr("Show every command"), "show"),
            (tr("Change the name or the port"), "change"),
            (tr("Back to the advice"), "back"),
            (tr("Save the plan to a file"), "save"),
            (tr("Settings of the chat: system prompt, temperature ..."), "settings"),
        ]
        question = tr("This is what will be done. Shall it begin?") if here else tr("This is the plan.")
        while (picked := self.ask.choose(question, options)) in ("show", "save", "settings"):
            if picked == "show":
                print(f"\n{pasteable(plan_text(plan, fit=aloud), self.workspace)}\n")  # its commands must stay whole
            elif picked == "save":
                save(self.ask, plan)
            else:
                self._ask_all(CHAT)
        return picked

    # -- run and chat --------------------------------------------------------------------------------------------------

    def _run(self, plan: Plan) -> Endpoint | None:
        """Where the served model answers; None to go back to the advice."""
        lesson = step_lessons(plan, self.workshop, aloud) if self.explain else None
        endpoint = Run(self.journey, self.workspace, self.ask, plan, lesson).go()
        if endpoint is None:
            self.answers.pop("accept", None)
        return endpoint

    def _chat(self, endpoint: Endpoint) -> int:
        answers_file(self.workspace).unlink(missing_ok=True)
        stop = self._again("down", endpoint.name)
        if measured := latest_of(self.journey.calibration(self.workspace), endpoint.name):
            say(f"\n{measured_text(measured)}\n")
        say_command(tr("Talk to it again:"), self._again("chat", endpoint.name))
        say_command(tr("Stop it:"), stop)
        self._passes("chat")
        run_chat(
            endpoint,
            conversation(self.known),
            workspace=self.workspace,
            history=History.of(self.workspace),
            keep=wanted(),
            journey=self.journey,
        )
        with suppress(WizardError):  # stopped elsewhere; one that was started again is found
            self.journey.endpoint(self.workspace, endpoint.name)
            say_command(tr("The server goes on running. Stop it with:"), stop)
        return 0
