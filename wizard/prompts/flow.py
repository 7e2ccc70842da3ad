"""The journey as questions and answers in a plain terminal: machine, model, advice, plan, run, chat."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import Any, Literal

from wizard.advise.advice import Advice, Choice
from wizard.advise.ranking import recommended
from wizard.chat.conversation import Conversation, Message, Sampling
from wizard.kernel.errors import CancelledError, UsageError, WizardError
from wizard.kernel.paths import Workspace
from wizard.kernel.text import is_terminal, make_printable
from wizard.kernel.units import size
from wizard.model.facts import ModelFacts
from wizard.plan.plan import Plan
from wizard.plan.questions import (
    ACCEPT,
    HF_TOKEN,
    MODEL,
    SERVER,
    WISHES,
    Answers,
    Question,
    Value,
    answers_file,
    load_answers,
    missing,
    save_answers,
    wishes,
)
from wizard.plan.words import choice_room, choice_title, one_line
from wizard.probe.host import Host
from wizard.prompts.ask import Ask, ask_question
from wizard.prompts.chat import run_chat
from wizard.prompts.interrupt import until_stopped
from wizard.prompts.show import Shower, advice_text, host_text, plan_text
from wizard.run.events import Ready
from wizard.serve.endpoint import Endpoint

LEAVING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that stop a step with all its processes."""


def run_prompts(
    workspace: Workspace,
    *,
    model_ref: str | None = None,
    hardware: str | None = None,
    offline: bool = False,
    answers: Mapping[str, object] | None = None,
    yes: bool = False,
    journey: Any = None,
) -> int:
    """Go the whole way from the machine to a chat.

    Args:
        workspace: Where everything is made.
        model_ref: The model, if it is chosen already.
        hardware: Another machine to plan for.
        offline: Never ask the hub.
        answers: Answers given beforehand; what they answer is not asked.
        yes: Ask nothing; take what is recommended.
        journey: What to use instead of `wizard.journey`.

    Returns:
        The exit status: 0, or 130 if the user left; the answers are kept then.

    Raises:
        UsageError: TW-U33 without a terminal, where an answer is missing; TW-U04 if there is no model to recommend.
        WizardError: Whatever goes wrong where nobody can be asked what to do about it.
    """
    if journey is None:
        from wizard import journey
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if stream is not None:
            make_printable(stream)
    given: Answers = {**(answers or {}), **({"model": model_ref} if model_ref else {})}
    interactive = not yes and is_terminal() and is_terminal(sys.stdout)
    if not interactive and not yes:
        for question in missing((MODEL, ACCEPT), given):
            raise question.unanswered()
    flow = _Flow(journey, workspace, given, Ask() if interactive else None, offline=offline)
    try:
        return flow.go(hardware)
    except (KeyboardInterrupt, EOFError):
        return flow.left()


class _Flow:
    """One way through the questions."""

    def __init__(self, journey: Any, workspace: Workspace, given: Answers, ask: Ask | None, *, offline: bool) -> None:
        self.journey = journey
        self.workspace = workspace
        self.answers = given
        self.kept = load_answers(workspace)
        """Answers of an earlier time that was left before its end; they are what Enter means."""
        self.preset: Answers = {}
        """Answers of the chosen journey."""
        self.ask = ask
        self.offline = offline

    @property
    def known(self) -> Answers:
        """All answers: what was said goes before the journey's."""
        return {**self.preset, **self.answers}

    def go(self, hardware: str | None) -> int:
        """All stages; back and forth as the user likes."""
        host: Host = self.journey.probe(self.workspace, hardware=hardware)
        print("Ctrl-C leaves at any time; your answers are kept.\n")
        print(host_text(host))
        while True:
            facts = self._model(host)
            while choice := self._choice(host, facts):
                plan = self._plan(host, facts, choice)
                if plan is None:
                    continue
                if plan.host != "this machine":
                    return 0
                endpoint = self._run(plan)
                if endpoint is not None:
                    return self._chat(endpoint)

    def left(self) -> int:
        """The user leaves: keep the answers and say how to go on."""
        kept = ""
        if self.answers:
            with suppress(WizardError, OSError):  # a workspace that cannot be written is told when it is needed
                kept = f" Your answers are kept in {save_answers(self.workspace, self.answers)}."
        print(f"\nStopped; what is done stays done.{kept}\nGo on with: {self._again('--plain')}", file=sys.stderr)
        return CancelledError.exit_code

    def _again(self, *words: str) -> str:
        """A command for this workspace, ready to be pasted."""
        here = () if self.workspace == Workspace.at(None) else ("--workspace", str(self.workspace.root))
        return shlex.join(["triton-wizard", *words, *here])

    # -- model ---------------------------------------------------------------------------------------------------------

    def _model(self, host: Host) -> ModelFacts:
        while True:
            ref = str(self.answers.get("model") or self._pick_model(host))
            try:
                facts: ModelFacts = self.journey.model(ref, offline=self.offline)
                break
            except WizardError as error:
                self._told(error)
                self.answers.pop("model", None)
        self.answers["model"] = ref
        self.preset = next((dict(one.answers) for one in self.journey.journeys() if one.name == ref), {})
        if self.ask and HF_TOKEN.when({"gated": facts.gated}) and not os.environ.get("HF_TOKEN"):
            os.environ["HF_TOKEN"] = str(ask_question(self.ask, HF_TOKEN))  # for this process and its children only
        return facts

    def _pick_model(self, host: Host) -> str:
        print("\nLooking for models that fit …", flush=True)
        found = self.journey.suggestions(host, offline=self.offline)
        usable = [one for one in found if one.usable]
        if self.ask is None:
            if not usable:
                raise UsageError("TW-U04", "no model can be suggested for this machine", "Name one: give MODEL.")
            return str(usable[0].ref)
        for line in _not_here(one for one in found if not one.usable):
            print(line)
        options: list[tuple[str, str | None]] = [(_suggestion(one), one.ref) for one in usable]
        options.append(("Another: a hub id, a folder or a .gguf file; it can be typed here too", None))
        refs = [one.ref for one in usable]
        kept = self.kept.get("model")
        typed = None if kept in refs else _as_value(kept)
        first = refs.index(kept) if kept in refs else len(refs) if typed else 0
        ref = self.ask.choose(MODEL.text, options, first, other=lambda text: str(MODEL.parse(text)))
        return ref if ref is not None else str(ask_question(self.ask, MODEL, typed))

    # -- advice --------------------------------------------------------------------------------------------------------

    def _choice(self, host: Host, facts: ModelFacts) -> Choice | None:
        """How to serve it; None to choose another model."""
        while True:
            advice: Advice = self.journey.advise(host, facts, wishes(self.known))
            print(f"\n{advice_text(advice, facts)}\n")
            if self.ask is None:
                return recommended(advice)
            options: list[tuple[str, Choice | Literal["change", "model"]]] = [
                (f"{choice_title(one)} · {choice_room(one)}{'' if number else ' (recommended)'}", one)
                for number, one in enumerate(advice.choices)
            ]
            options += [("Change how many people, how long, or what matters", "change"), ("Another model", "model")]
            picked = self.ask.choose(f"How should {one_line(facts.name)} run here?", options)
            if isinstance(picked, Choice):
                return picked
            if picked == "model":
                self.answers.pop("model", None)
                return None
            self._ask_all(self.ask, WISHES)

    def _ask_all(self, ask: Ask, questions: tuple[Question, ...]) -> None:
        for question in questions:
            if question.when(self.known):
                now = self.known.get(question.name, self.kept.get(question.name))
                answer = ask_question(ask, question, _as_value(now))
                if answer is not None:
                    self.answers[question.name] = answer

    # -- plan ----------------------------------------------------------------------------------------------------------

    def _plan(self, host: Host, facts: ModelFacts, choice: Choice) -> Plan | None:
        """The accepted plan; None to go back to the advice."""
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
                ask = self._told(error)
                if not isinstance(error, UsageError):
                    return None
                for question in SERVER:
                    self.answers.pop(question.name, None)
                self._ask_all(ask, SERVER)
                continue
            print(f"\n{plan_text(plan, commands=False)}\n")
            answer = self._go(plan)
            if answer == "change" and self.ask:
                self._ask_all(self.ask, SERVER)
            else:
                return plan if answer == "go" else None

    def _go(self, plan: Plan) -> Literal["go", "change", "back"]:
        """Whether to carry the plan out."""
        here = plan.host == "this machine"
        if self.ask is None or (here and self.answers.get("accept") is True):
            return "go"
        options: list[tuple[str, Literal["go", "show", "change", "back"]]] = [
            ("Go" if here else "Done: it cannot be run here", "go"),
            ("Show every command", "show"),
            ("Change the name or the port", "change"),
            ("Back to the advice", "back"),
        ]
        while (
            picked := self.ask.choose("This is what will be done." if here else "This is the plan.", options)
        ) == "show":
            print(f"\n{plan_text(plan)}\n")
        return picked

    # -- run and chat --------------------------------------------------------------------------------------------------

    def _run(self, plan: Plan) -> Endpoint | None:
        """Where the served model answers; None to go back to the advice."""
        while True:
            try:
                return self._carry_out(plan)
            except WizardError as error:
                ask = self._told(error)
                if not ask.choose(
                    "What now?", [("Try again; it goes on from here", True), ("Back to the advice", False)]
                ):
                    self.answers.pop("accept", None)
                    return None

    def _carry_out(self, plan: Plan) -> Endpoint:
        shower = Shower(sys.stdout)
        ready: list[Endpoint] = []

        async def drive() -> None:
            async with aclosing(self.journey.run(plan)) as events:
                async for event in events:
                    shower.show(event)
                    if isinstance(event, Ready):
                        ready.append(event.endpoint)

        if not until_stopped(drive(), LEAVING):
            shower.end()
            raise KeyboardInterrupt
        return ready[0]

    def _chat(self, endpoint: Endpoint) -> int:
        answers_file(self.workspace).unlink(missing_ok=True)
        stop = self._again("down", endpoint.name)
        print(f"Talk to it again: {self._again('chat', endpoint.name)}\nStop it:          {stop}\n")
        if is_terminal():
            run_chat(endpoint, conversation(self.known), journey=self.journey)
            print(f"The server goes on running. Stop it with: {stop}")
        return 0

    def _told(self, error: WizardError) -> Ask:
        """Show an error where somebody can be asked what to do about it, else raise it."""
        if self.ask is None:
            raise error
        print(f"\n{error}\n")
        return self.ask


def conversation(answers: Mapping[str, object]) -> Conversation:
    """An empty conversation with the settings that ``answers`` give; the served model's own where they give none."""
    given = {name: answers[name] for name in ("temperature", "top_p", "max_tokens", "seed") if name in answers}
    sampling = replace(Sampling(), **given)  # type: ignore[arg-type]  # checked when they were answered
    system = answers.get("system")
    return Conversation((Message("system", str(system)),) if system else (), sampling)


def _not_here(suggestions: Iterable[Any]) -> list[str]:
    """A line for each reason why models cannot be had here."""
    titles: dict[str, list[str]] = defaultdict(list)
    for one in suggestions:
        titles[one_line(one.why_not or "")].append(one_line(one.title))
    return [
        f"Not here: {whose[0]}: {why}" if len(whose) == 1 else f"Not here: {len(whose)} more models: {why}"
        for why, whose in titles.items()
    ]


def _suggestion(one: Any) -> str:
    fetched = "on this machine" if not one.download_bytes else f"{size(one.download_bytes)} to download"
    return f"{one_line(one.title)} · {fetched} · {one_line(one.licence or 'licence unknown')}"


def _as_value(value: object) -> Value | None:
    return value if isinstance(value, (str, int, float, bool)) else None
