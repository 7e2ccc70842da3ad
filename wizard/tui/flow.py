"""The order of the screens: the only place that knows it. One worker walks it from the first screen to the last."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from wizard.kernel.errors import WizardError
from wizard.kernel.paths import Workspace
from wizard.tui import background
from wizard.tui.port import JourneyPort
from wizard.tui.screens.stage import StageScreen

if TYPE_CHECKING:
    from wizard.advise.advice import Advice, Choice, Wishes
    from wizard.advise.calibration import Calibration
    from wizard.chat.conversation import Conversation
    from wizard.model.facts import ModelFacts
    from wizard.plan.plan import Plan
    from wizard.plan.questions import Answers
    from wizard.probe.host import Host
    from wizard.run.events import Event
    from wizard.serve.endpoint import Endpoint
    from wizard.serve.status import Status
    from wizard.tui.app import WizardApp

T = TypeVar("T")
Stage: TypeAlias = "Callable[[], Awaitable[Stage | None]]"


class Flow:
    """A method for each stage: it shows the screen and returns the stage that comes next, with what that needs.

    What is kept here is what the user typed, so that going back and forth loses nothing. The screens are imported when
    they are first shown, so that the first frame does not wait for the last screen.
    """

    def __init__(self, app: WizardApp, journey: JourneyPort, workspace: Workspace) -> None:
        self._app, self._journey, self._workspace = app, journey, workspace
        self._text = str(app.answers.get("model", ""))
        self._wishes: Wishes | None = None
        self._settings: Answers = {}
        """What the journey and the command line say of the chat."""
        self._measured = ""
        """What the server that became ready last took beside what was predicted."""
        self._server: Answers = {name: app.answers[name] for name in ("name", "http_port") if name in app.answers}
        """Name and port of the server that is being set up, if the user gave them."""

    async def walk(self) -> None:
        """From the first stage on, until the app is left."""
        stage: Stage | None = self.servers if "model" not in self._app.answers else self.machine
        while stage is not None:
            stage = await stage()

    async def _show(self, screen: StageScreen[T]) -> T | None:
        return await self._app.push_screen_wait(screen)

    async def servers(self) -> Stage:
        """Servers that run already are offered first."""
        try:
            found = await background.call(partial(self._journey.statuses, self._workspace))
        except WizardError as error:
            self._app.notify(f"{error.what}\n{error.todo}", title=error.code, severity="warning", markup=False)
            return self.machine
        ready = [status.endpoint for status in found if status.endpoint and status.state == "ready"]
        self._app.running.update({one.name: one for one in ready})
        return partial(self.running, ready) if ready else self.machine

    async def running(self, endpoints: list[Endpoint], conversation: Conversation | None = None) -> Stage:
        """Choose one of the running servers, or set up another model."""
        from wizard.tui.screens.servers import ServersScreen

        past = await background.call(partial(self._journey.calibration, self._workspace))
        answer = await self._show(ServersScreen(endpoints, partial(_measured, past)))
        if answer is None or isinstance(answer, str):
            return partial(self.machine, back=partial(self.running, endpoints, conversation))
        plan = await background.call(partial(self._journey.earlier_plan, self._workspace, answer.name))
        return partial(self.chat, answer, plan, conversation)

    async def machine(self, host: Host | None = None, *, back: Stage | None = None) -> Stage:
        """Stage 1."""
        from wizard.tui.screens.machine import MachineScreen

        probe = partial(self._journey.probe, self._workspace, hardware=self._app.hardware)
        found = await self._show(MachineScreen(probe, host, first=back is None))
        if found is None:
            return back or self.machine
        take = "model" in self._app.answers and host is None
        return partial(self.model, found, take=take, back=partial(self.machine, found, back=back))

    async def model(self, host: Host, *, back: Stage, take: bool = False) -> Stage:
        """Stage 2; with ``take`` the model was named on the command line."""
        from wizard.plan.questions import wishes
        from wizard.tui.screens.model import ModelScreen

        offline = self._app.offline
        screen = ModelScreen(
            partial(self._journey.suggestions, host, offline=offline),
            lambda ref: self._journey.model(ref, offline=offline),
            text=self._text,
            take=take,
        )
        facts = await self._show(screen)
        self._text = screen.view.text
        if facts is None:
            return back
        known = await background.call(partial(self._known, facts.ref))
        self._wishes, self._settings = self._wishes or wishes(known), known
        return partial(self.advice, host, facts, back=partial(self.model, host, back=back))

    def _known(self, ref: str) -> Answers:
        """All answers for the model ``ref``: what was given goes before what its journey comes with."""
        from wizard.catalog.journeys import answered

        return answered(ref, self._app.answers, self._journey.journeys())

    async def advice(self, host: Host, facts: ModelFacts, chosen: Choice | None = None, *, back: Stage) -> Stage:
        """Stage 3."""
        from wizard.advise.advice import Wishes
        from wizard.advise.explain import figures
        from wizard.tui.screens.advice import AdviceScreen

        past = await background.call(partial(self._journey.calibration, self._workspace))

        def advise(wishes: Wishes) -> Advice:
            return self._journey.advise(host, facts, wishes, past)

        explain = partial(figures, host, facts)
        screen = AdviceScreen(facts, advise, explain, self._wishes or Wishes(), chosen)
        choice = await self._show(screen)
        self._wishes = screen.view.wishes
        if choice is None:
            return back
        return partial(self.review, host, facts, choice, back=partial(self.advice, host, facts, choice, back=back))

    async def review(self, host: Host, facts: ModelFacts, choice: Choice, *, back: Stage) -> Stage:
        """Stage 4."""
        from wizard.tui.screens.review import ReviewScreen

        def make(answers: Mapping[str, Any]) -> Plan:
            return self._journey.plan(host, facts, choice, self._workspace, **answers)

        screen = ReviewScreen(make, self._server)
        plan = await self._show(screen)
        self._server = screen.view.answers
        if plan is None:
            return back
        return partial(self.build, plan, back=partial(self.review, host, facts, choice, back=back))

    async def build(self, plan: Plan, conversation: Conversation | None = None, *, back: Stage) -> Stage:
        """Stage 5; with a ``conversation`` it goes on after the server was started again."""
        from wizard.tui.screens.build import BuildScreen

        logs = self._workspace.server(plan.name).logs
        screen = BuildScreen(plan, partial(self._run, plan), lambda: self._measured, logs, self._app.clock)
        endpoint = await self._show(screen)
        return back if endpoint is None else partial(self.chat, endpoint, plan, conversation)

    async def _run(self, plan: Plan) -> AsyncGenerator[Event, None]:
        """The run's events; remembers the server that is ready, for what is said after quitting."""
        from wizard.run.events import Ready

        self._app.running.pop(plan.name, None)
        async with aclosing(self._journey.run(plan)) as events:
            async for event in events:
                if isinstance(event, Ready):
                    past = await background.call(partial(self._journey.calibration, self._workspace))
                    self._measured = _measured(past, plan.name)
                    self._app.running[event.endpoint.name] = event.endpoint
                yield event

    def _stop(self, name: str) -> Status:
        status = self._journey.stop(self._workspace, name)
        self._app.running.pop(name, None)
        return status

    async def chat(self, endpoint: Endpoint, plan: Plan | None, conversation: Conversation | None = None) -> Stage:
        """Stage 6."""
        from wizard.chat.conversation import conversation as begin
        from wizard.tui.screens.chat import ChatScreen

        end = await self._show(
            ChatScreen(
                endpoint,
                partial(self._journey.chat, endpoint),
                partial(self._stop, endpoint.name),
                partial(self._journey.served, endpoint),
                conversation or begin(self._settings),
            )
        )
        said = end.conversation if end else conversation
        if end and end.next == "restart":
            return partial(self.build, plan, said, back=self.machine) if plan else self.machine
        self._server = {}  # another model is another server
        return partial(self.machine, back=partial(self.running, list(self._app.running.values()), said))


def _measured(past: Calibration, server: str) -> str:
    """What ``server`` took when it was last started, beside what was predicted; empty if it was not measured."""
    from wizard.advise.calibration import summary
    from wizard.serve.calibration import latest_of

    found = latest_of(past, server)
    return summary(found) if found else ""
