"""The order of the screens: the only place that knows it. One worker walks it from the first screen to the last."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from wizard.kernel.errors import WizardError
from wizard.kernel.paths import Workspace
from wizard.tui import background
from wizard.tui.port import JourneyPort
from wizard.tui.screens.stage import StageScreen

if TYPE_CHECKING:
    from wizard.advise.advice import Choice, Wishes
    from wizard.chat.conversation import Conversation
    from wizard.model.facts import ModelFacts
    from wizard.plan.plan import Plan
    from wizard.probe.host import Host
    from wizard.serve.endpoint import Endpoint
    from wizard.tui.app import WizardApp

T = TypeVar("T")
Stage: TypeAlias = "Callable[[], Awaitable[Stage | None]]"


class Flow:
    """What was decided so far, and for each stage which one comes next (each method returns it).

    The screens are imported when they are first shown, so that the first frame does not wait for the last screen.
    """

    def __init__(self, app: WizardApp, journey: JourneyPort, workspace: Workspace) -> None:
        self._app, self._journey, self._workspace = app, journey, workspace
        self._text = app.model_ref or ""
        self._take = bool(app.model_ref)
        self._running: list[Endpoint] = []
        self._host: Host
        self._facts: ModelFacts
        self._wishes: Wishes | None = None
        self._choice: Choice | None = None
        self._plan: Plan | None = None
        self._endpoint: Endpoint
        self._conversation: Conversation | None = None

    async def walk(self) -> None:
        """From the first stage on, until the app is left."""
        stage: Stage | None = self.servers
        while stage is not None:
            stage = await stage()

    async def _show(self, screen: StageScreen[T]) -> T | None:
        return await self._app.push_screen_wait(screen)

    async def servers(self) -> Stage:
        """If servers run already, they are offered first; not if a model was named on the command line."""
        if self._take:
            return self.machine
        try:
            found = await background.call(lambda: self._journey.statuses(self._workspace))
        except WizardError as error:
            self._app.notify(error.what, title=error.code, severity="warning", markup=False)
            return self.machine
        self._running = [status.endpoint for status in found if status.endpoint and status.state == "ready"]
        return self.running if self._running else self.machine

    async def running(self) -> Stage:
        """Choose one of the running servers, or go on to the machine."""
        from wizard.tui.screens.servers import ServersScreen

        answer = await self._show(ServersScreen(self._running))
        if answer is None or isinstance(answer, str):
            return self.machine
        self._endpoint = answer
        self._plan = await background.call(lambda: self._saved_plan(answer.name))
        return self.chat

    def _saved_plan(self, name: str) -> Plan | None:
        from wizard.kernel.values import from_json
        from wizard.plan.plan import Plan

        path = self._workspace.server(name).plan
        try:
            return from_json(Plan, path.read_bytes(), where=str(path))
        except (OSError, WizardError):  # then there are no questions to offer, and no restart
            return None

    async def machine(self) -> Stage:
        """Stage 1."""
        from wizard.tui.screens.machine import MachineScreen

        known = getattr(self, "_host", None)
        probe = lambda: self._journey.probe(self._workspace, hardware=self._app.hardware)  # noqa: E731
        host = await self._show(MachineScreen(probe, known, first=not self._running))
        if host is None:
            return self.running
        self._host = host
        return self.model

    async def model(self) -> Stage:
        """Stage 2."""
        from wizard.tui.screens.model import ModelScreen

        offline = self._app.offline
        screen = ModelScreen(
            lambda: self._journey.suggestions(self._host, offline=offline),
            lambda ref: self._journey.model(ref, offline=offline),
            text=self._text,
            take=self._take,
        )
        self._take = False
        facts = await self._show(screen)
        self._text = screen.view.text
        if facts is None:
            return self.machine
        self._facts, self._choice = facts, None
        return self.advice

    async def advice(self) -> Stage:
        """Stage 3."""
        from wizard.advise.advice import Wishes
        from wizard.tui.screens.advice import AdviceScreen

        screen = AdviceScreen(
            self._facts,
            lambda wishes: self._journey.advise(self._host, self._facts, wishes),
            self._wishes or Wishes(),
            self._choice,
        )
        choice = await self._show(screen)
        self._wishes = screen.view.wishes
        if choice is None:
            return self.model
        self._choice = choice
        return self.review

    async def review(self) -> Stage:
        """Stage 4."""
        from wizard.tui.screens.review import ReviewScreen

        choice = self._choice
        assert choice is not None  # noqa: S101 - the advice came before

        def make(answers: Mapping[str, Any]) -> Plan:
            return self._journey.plan(self._host, self._facts, choice, self._workspace, **answers)

        plan = await self._show(ReviewScreen(make))
        if plan is None:
            return self.advice
        self._plan, self._conversation = plan, None
        return self.build

    async def build(self) -> Stage:
        """Stage 5."""
        from wizard.tui.screens.build import BuildScreen

        plan = self._plan
        assert plan is not None  # noqa: S101 - it was accepted, or read back
        logs = self._workspace.server(plan.name).logs
        endpoint = await self._show(BuildScreen(plan, lambda: self._journey.run(plan), logs, self._app.clock))
        if endpoint is None:
            return self.review if self._choice is not None else self.machine
        self._endpoint = endpoint
        return self.chat

    async def chat(self) -> Stage:
        """Stage 6."""
        from wizard.tui.screens.chat import ChatScreen

        endpoint = self._endpoint
        end = await self._show(
            ChatScreen(
                endpoint,
                lambda conversation: self._journey.chat(endpoint, conversation),
                lambda: self._journey.stop(self._workspace, endpoint.name),
                lambda: self._journey.served(endpoint),
                self._conversation,
            )
        )
        assert end is not None  # noqa: S101 - there is nothing to go back to
        self._conversation = end.conversation
        if end.next == "restart":
            return self.build if self._plan is not None else self.machine
        self._running = [endpoint]
        return self.machine
