"""A journey with nothing behind it, and a program that asks the real questions over it in a real terminal.

``python -m tests.prompts.fake_journey flow|chat WORKSPACE [key=value …]``; see `FakeJourney` for the keys.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import AsyncGenerator, Iterable, Sequence, Set
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

from tests import pseudo
from tests.bench.fake_bench import QUALITY, TWO, FakeBench
from tests.values import CHOICE, CPU_HOST, GGUF, plan_of
from tests.worded import noted, saying
from wizard.advise.advice import Advice, Choice, Constraints, Rejection
from wizard.advise.calibration import FORMULAS, Calibration, Measured, Measurement
from wizard.advise.pareto import Front, front
from wizard.advise.reasons import change
from wizard.advise.verdict import Verdict
from wizard.bench.folder import Folder
from wizard.bench.quality.report import Quality, Subject
from wizard.bench.quality.votes import begun, collected
from wizard.catalog.recipes import Recipe
from wizard.catalog.workshops import workshop
from wizard.chat.chunk import Chunk
from wizard.chat.commands.session import ChatSession
from wizard.chat.conversation import Conversation, Stats
from wizard.chat.history import History
from wizard.chat.nearby import Nearby
from wizard.chat.openai import elsewhere
from wizard.chat.served import ServedModel
from wizard.cli.workshop import Pinned
from wizard.doctor.finding import Finding
from wizard.kernel.errors import ModelError, NetworkError, ServerError, WizardError, WorkspaceError
from wizard.kernel.paths import Workspace
from wizard.kernel.values import to_data
from wizard.model.facts import ModelFacts
from wizard.plan.offers import Suggestion
from wizard.plan.plan import Command, Done, Estimate, Plan, Step, Write
from wizard.plan.ports import Ports
from wizard.plan.questions import BY_NAME
from wizard.plan.workshop import with_pins, with_seat
from wizard.probe.host import Host
from wizard.run.build import Build
from wizard.run.diagnose import CommandError, Failure
from wizard.run.events import Event, Output, Progress, Ready, StepFinished, StepStarted
from wizard.serve.care import Care
from wizard.serve.endpoint import Endpoint
from wizard.serve.status import Status

FAILURE = Failure(
    *("exit status 1", "no space", "Fix the cause.", "/ws/logs/repository.log"),
    "python3 -m pip install --require-hashes --requirement '/ws/a folder/requirements.txt' --only-binary :all:",
)
"""Of the step that fails; its command is wider than a terminal."""
MOVED = Ports(9000, 9001, 9002)
"""Where it is after it was started again elsewhere."""
QUESTIONS = ("What is Triton?", "What is a KV cache?")
ENDPOINT = Endpoint("demo", "demo", "127.0.0.1", Ports(), 4242, "1", "/nowhere/triton.log")
STEPS = (
    Step(
        "environment",
        "Create the server environment",
        "Triton and its engine live in an environment of their own.",
        (Command(("python3", "-m", "venv", "the env")),),
        Done(),
        Estimate(30, 110 * 1024**2, 300 * 1024**2),
        writes=("environment",),
    ),
    Step(
        "repository",
        "Create the model repository",
        "Triton serves what it finds there.",
        (Write("/ws/config.pbtxt", 'name: "demo"\n'),),
        Done(),
        Estimate(0.1),
    ),
)

MEASUREMENT = Measurement(
    *("2026-01-02T03:04:05+00:00", "demo", "Some CPU", "triton", FORMULAS, "demo", CHOICE),
    Measured(3_500_000, 4096, 8_388_608, 1_100_000, None, 77_000_000),
)
"""A start of the server ``demo``."""


def nobody(name: str, model: str | None) -> ChatSession:
    """There is no other server to talk with."""
    raise ServerError("TW-S01", f"no server {name} runs", "Start it.")


class FakeJourney(FakeBench):
    """The functions of `wizard.journey`.

    Args:
        notes: A folder where clean-up leaves a file, so that another process can see that it happened.
        run: ``ready``; ``hang`` in the second step until it is stopped; ``fail`` the first time.
        chat: ``answer``; ``fail`` in the middle of it; the server is ``down``, or ``moved`` to another port.
        running: ``no``; ``demo`` runs already; ``ollama``, another program's server, does; demo is in a ``build``.
    """

    def __init__(self, notes: Path, *, run: str = "ready", chat: str = "answer", running: str = "no") -> None:
        self.serves = running
        self.notes = notes
        self.runs = run
        self.chats = chat
        self.asked: list[Conversation] = []
        self.hanging = asyncio.Event()
        """Set when an answer has come to where it never ends by itself."""
        self.constraints: list[Constraints] = []
        self.stopped: list[str | None] = []
        self.keeps: list[Care] = []
        self.past = Calibration((MEASUREMENT,))
        self.findings: tuple[Finding, ...] = ()

    def _note(self, name: str) -> None:
        self.notes.mkdir(parents=True, exist_ok=True)
        (self.notes / name).touch()

    async def ballots(
        self,
        workspace: Workspace,
        endpoints: Sequence[Endpoint],
        prompts: Sequence[str],
        folder: Path,
        command: str,
        seed: int,
    ) -> AsyncGenerator[Quality, None]:
        async def ask(prompt: str) -> tuple[str, str]:
            return (
                ("the same", "the same") if prompt == prompts[0] else (f"<b>first</b>: {prompt}", f"second: {prompt}")
            )

        Folder(folder).make()
        order = begun(replace(QUALITY, subjects=tuple(Subject(report.target) for report in TWO)), prompts, seed)
        yield order
        async with aclosing(collected(order, Folder(folder), ask)) as reports:
            async for report in reports:
                yield report

    def probe(self, workspace: Workspace, *, hardware: str | None = None) -> Host:
        return replace(CPU_HOST, source=hardware) if hardware else CPU_HOST

    def doctor(
        self, workspace: Workspace, host: Host | None = None, *, quick: bool = False, offline: bool = False
    ) -> tuple[Finding, ...]:
        return self.findings

    def recipes(self) -> list[Recipe]:
        return [Recipe("demo", "Offline demo", "Knows about Triton.", "models/d.gguf", "ours", answers={"seed": 7})]

    def search(self, text: str, *, offline: bool = False) -> list[Suggestion]:
        if text == "down":
            raise NetworkError("TW-M13", "the Hub does not respond", "Check the network.")
        if text != "small":
            return []
        verdict = Verdict("tight", saying("4 people with up to 2,048 tokens"))
        hit = Suggestion("org/small", "org/small", "", "MIT", None, True, usable=True, place="hub", verdict=verdict)
        return [replace(hit, downloads=1200, parameters=8_000_000_000, gated=True)]

    def suggestions(
        self, host: Host, workspace: Workspace | None = None, *, offline: bool = False, ask: bool = True
    ) -> list[Suggestion]:
        none = Suggestion("org/large", "Large", "", None, None, True, usable=False, why_not="it needs 40 GiB")
        return [
            Suggestion("demo", "Offline demo", "Knows about Triton.", "Apache-2.0", 0, False, usable=True),
            Suggestion("org/small", "Small", "Talks.", "MIT", 400 * 1024**2, True, usable=True),
            none,
        ]

    def model(self, ref: str, *, offline: bool = False) -> ModelFacts:
        if ref == "org/gated" and not os.environ.get("HF_TOKEN"):
            raise ModelError("TW-M12", f"{ref} is gated", "Accept its licence.")
        if ref not in ("demo", "org/small", "org/gated"):
            raise ModelError("TW-M01", f"{ref!r} is not a recipe, a path or a model ID", "Check its name.")
        return replace(GGUF, ref=ref, name=ref, gated=ref == "org/gated", licence="Apache-2.0", questions=QUESTIONS)

    def with_gguf(self, facts: ModelFacts) -> ModelFacts:
        return facts

    def calibration(self, workspace: Workspace) -> Calibration:
        return self.past

    def advise(
        self,
        host: Host,
        facts: ModelFacts,
        constraints: Constraints,
        past: Calibration | None = None,
        *,
        offline: bool = False,
    ) -> Advice:
        self.constraints.append(constraints)
        if (constraints.users or 4) > 100:
            no = Rejection(
                "llamacpp",
                "Q8_0",
                1,
                1,
                "memory",
                saying("So many do not fit."),
                (change(users=100),),
            )
            return Advice(False, rejections=(no,))
        chosen = [name for name, value in to_data(constraints).items() if value != getattr(Constraints(), name)]
        why = noted(f"The CPU serves. Advised for: {', '.join(chosen) or 'nothing'}.")
        first = replace(CHOICE, max_batch_size=constraints.users or 4, reasons=(why,))
        return Advice(True, (first, replace(first, max_seq_len=512)))

    def pareto(
        self,
        host: Host,
        facts: ModelFacts,
        constraints: Constraints,
        past: Calibration | None = None,
        *,
        offline: bool = False,
    ) -> Front:
        self.constraints.append(constraints)
        return front(host, facts, constraints)

    def plan(
        self,
        host: Host,
        facts: ModelFacts,
        choice: Choice,
        workspace: Workspace,
        *,
        name: str | None = None,
        http_port: int | None = None,
    ) -> Plan:
        if http_port == 666:
            raise WorkspaceError("TW-L02", "1 GiB is needed and 0 B are free", "Free some space.")
        server = workspace.server(name or "demo")
        plan = plan_of(workspace.root, *STEPS, name=server.name)
        return replace(plan, facts=facts, choice=choice, host=host.source, notes=("Port 8000 is held.",))

    async def run(
        self,
        plan: Plan,
        *,
        redo: Set[str] = frozenset(),
        skip: Set[str] = frozenset(),
        leaving: threading.Event | None = None,
    ) -> AsyncGenerator[Event, None]:
        for done, verb in ((redo, "redo"), (skip, "skip")):
            for step in done:
                self._note(f"{verb}-{step}")
        count = len(plan.steps)
        yield StepStarted("environment", plan.steps[0].title, 1, count, 0.0)
        yield StepFinished("environment", "skipped", 0.0, "already done and unchanged", 0.0)
        yield StepStarted("repository", plan.steps[1].title, 2, count, 0.0)
        yield Progress("repository", 0.5, 3.0, "50%", 0.5)
        yield Output("repository", ("a line of output",), 0.6)
        if self.runs == "hang":
            try:
                await asyncio.Event().wait()
            finally:
                self._note("run-stopped")
        if self.runs in ("fail", "fail-twice"):
            self.runs = "ready" if self.runs == "fail" else "fail"
            error = CommandError("step 'Create the model repository' failed", "Fix the cause.", FAILURE)
            yield StepFinished("repository", "failed", 0.1, error.what, 0.7, error=error.as_json())
            raise error
        yield StepFinished("repository", "done", 0.1, "", 0.7)
        yield Ready(replace(ENDPOINT, name=plan.name, model=plan.name), 0.8)

    def building(self, workspace: Workspace) -> Build | None:
        return Build("demo", os.getpid(), "", "", 0.0) if self.serves == "build" else None

    def earlier_plan(self, workspace: Workspace, name: str) -> Plan | None:
        return self.plan(CPU_HOST, GGUF, CHOICE, workspace, name=name)

    def attach(
        self, workspace: Workspace, name: str | None = None, *, leaving: threading.Event
    ) -> AsyncGenerator[Event, None]:
        assert leaving.is_set()
        return self.run(self.plan(CPU_HOST, GGUF, CHOICE, workspace, name=name))

    def statuses(self, workspace: Workspace) -> list[Status]:
        ready = Status("demo", "ready", ENDPOINT, "http://127.0.0.1:8000")
        return [ready, Status("old", "stopped", None, "start it again")] if self.serves == "demo" else []

    def nearby(self, known: Iterable[Endpoint] = ()) -> list[Nearby]:
        base = "http://127.0.0.1:11434/v1"
        models = tuple(elsewhere(base, name) for name in ("qwen3:4b", "gemma3"))
        return [Nearby("Ollama", models)] if self.serves == "ollama" else []

    def endpoint(self, workspace: Workspace, name: str | None = None) -> Endpoint:
        if name == "other":
            return replace(ENDPOINT, name="other", model="other")
        if name not in (None, "demo"):
            raise ServerError("TW-S01", f"no server {name} runs", "Start it.")
        if self.chats == "down":
            raise ServerError("TW-S02", f"the server {name} is not running", f"Start it: `triton-wizard up {name}`.")
        return replace(ENDPOINT, ports=MOVED) if self.chats == "moved" else ENDPOINT

    def care(self, workspace: Workspace, name: str) -> Care | None:
        return self.keeps.pop(0) if len(self.keeps) > 1 else next(iter(self.keeps), None)

    def stop(self, workspace: Workspace, name: str | None = None) -> Status:
        self.stopped.append(name)
        return Status(name or "demo", "stopped", None, "start it again")

    def logs(
        self,
        workspace: Workspace,
        name: str | None = None,
        *,
        lines: int = 100,
        step: str | None = None,
        raw: bool = False,
    ) -> list[str]:
        return [f"line {number}" for number in range(lines)]

    def history(self, workspace: Workspace) -> History:
        return History.of(workspace)

    def served(self, endpoint: Endpoint) -> ServedModel:
        self._reach(endpoint)
        return ServedModel("demo", None, QUESTIONS, 1024, 0.0)

    def _reach(self, endpoint: Endpoint) -> None:
        if self.chats in ("down", "moved") and endpoint.ports == ENDPOINT.ports:
            raise ServerError("TW-C01", f"no server answers at {endpoint.http}", "Start it with `triton-wizard up`.")

    def tools(self, workspace: Workspace) -> None:
        """No tools are configured."""

    async def chat(
        self, endpoint: Endpoint, conversation: Conversation, *, protocol: str = "grpc"
    ) -> AsyncGenerator[Chunk, None]:
        self._reach(endpoint)
        self.asked.append(conversation)
        question = conversation.messages[-1].content
        yield Chunk("You asked: ", tokens=3)
        if self.chats == "fail":
            raise ServerError("TW-C03", "the server went away", "Look at its log.")
        if question == "on and on":
            self.hanging.set()
            try:
                await asyncio.Event().wait()
            finally:
                self._note("chat-stopped")
        yield Chunk(question, tokens=12)
        yield Chunk("", Stats(12, 0.05, 0.1, "length" if question == "long" else "stop"), tokens=12)


def main() -> int:
    command, folder, *settings = sys.argv[1:]
    options = dict(setting.split("=", 1) for setting in settings)
    workspace = Workspace.at(folder)
    arguments = {name: options[name] for name in ("run", "chat", "running") if name in options}
    journey = FakeJourney(workspace.root / "notes", **arguments)
    stack = contextlib.ExitStack()
    if options.get("language") == pseudo.CODE:
        stack.enter_context(pseudo.spoken())
    try:
        if command == "chat":
            from wizard.prompts import question_input
            from wizard.prompts.chat import run_chat

            if "without_readline" in options:
                question_input._editor = lambda: None
            kept = History(workspace.root / "chats.sqlite3") if "kept" in options else None
            return run_chat(
                ENDPOINT,
                json_output="json" in options,
                message=options.get("message"),
                history=kept,
                journey=journey,
            )
        from wizard.prompts.flow import run_prompts

        attended = with_seat(workshop(options["workshop"])) if "workshop" in options else None
        answers = {name: BY_NAME[name].parse(value) for name, value in options.items() if name in BY_NAME}
        return run_prompts(
            workspace,
            hardware=options.get("hardware"),
            answers=with_pins(attended, answers) if attended else answers,
            journey=Pinned(journey, attended) if attended else journey,
            workshop=attended,
            explain=attended.explain if attended else "explain" in options,
        )
    except WizardError as error:
        print(error, file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
