"""A screen for each question of the workflow (`wizard.flow`). One worker shows them, from the first to the last."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from wizard.flow.known import NAMES, engine_offer, fixes, known, server, there
from wizard.flow.others import nearby
from wizard.flow.perform import perform
from wizard.flow.values import Answer, Ask, Back, Finished, Measure, Resume, Serve, State, Talk, Watch
from wizard.flow.walk import begin, resume, step
from wizard.kernel.language import tr
from wizard.kernel.text import one_line
from wizard.tui import background
from wizard.tui.builds import Builds
from wizard.tui.measuring import Measuring
from wizard.tui.screens.modal import AskScreen, ReaderScreen
from wizard.tui.servers import servers
from wizard.tui.views.welcome import WelcomeView

if TYPE_CHECKING:
    from wizard.chat.history import Kept
    from wizard.flow.port import JourneyPort
    from wizard.kernel.paths import Workspace
    from wizard.plan.plan import Plan
    from wizard.serve.endpoint import Endpoint
    from wizard.tui.app import WizardApp
    from wizard.tui.screens.welcome import Selection


class Flow(Measuring):
    """A method per question: shows the screen and returns the answer.

    The only state here is the results of screens. Screens are imported when first shown, so that the first frame does
    not wait for the last screen.
    """

    def __init__(self, app: WizardApp, journey: JourneyPort, workspace: Workspace) -> None:
        self._app, self._journey, self._workspace = app, journey, workspace
        self.builds = Builds(app, journey, workspace, self._forget)
        self._seen = WelcomeView(without=app.guide.closed)
        """What the welcome has found out."""
        self._kept: Kept | None = None
        """The conversation that the chat was left with, as it is kept."""
        self._restarted: Endpoint | None = None
        """The server that the chat was left to restart."""

    async def walk(self, state: State | None = None, kept: Kept | None = None) -> None:
        """Run until the user leaves the app; starts at ``state`` if given, whose conversation is saved as ``kept``."""
        workshop, self._kept = self._app.guide.workshop, kept
        if state is None and workshop.text:
            await self._app.push_screen_wait(ReaderScreen(tr(workshop.title), tr(workshop.text)))
        state, following = begin(self.fresh()) if state is None else resume(state)
        while not isinstance(following, Finished):
            if isinstance(following, Ask):
                reply = await getattr(self, f"_{following.stage}")(state, following)
            else:
                reply = await background.call(partial(perform, self._journey, self._workspace, following.effect))
            state, following = step(state, reply)
        if following.error is not None:
            raise following.error

    def fresh(self) -> State:
        """The state at the beginning."""
        app, workshop = self._app, self._app.guide.workshop
        given = {name: value for name, value in app.answers.items() if name not in workshop.pin}
        return State(given, manner="screens", hardware=app.hardware, offline=app.offline, workshop=workshop)

    def _forget(self) -> None:
        """A server was started or stopped: the free memory has changed."""
        self._seen = replace(self._seen, host=None, suggestions=None)

    async def _welcome(self, state: State, _ask: Ask) -> Answer | Back:
        """The first screen: the machine, running servers, and the entries."""
        from wizard.tui.screens.welcome import WelcomeScreen

        screen = WelcomeScreen(
            partial(self._journey.probe, self._workspace, hardware=state.hardware),
            lambda host: self._journey.suggestions(host, self._workspace, offline=state.offline),
            partial(servers, self._app, self.builds, self._journey, self._workspace, state),
            partial(nearby, self._journey, self._workspace),
            partial(self._journey.doctor, self._workspace, quick=True),
            replace(self._seen, explanations=self._app.guide.shown),
        )
        selection = await self._show(screen)
        self._seen = replace(screen.view, error=None, servers=None)
        chosen = None if selection is None else self._chosen(selection)
        return Back() if chosen is None else Answer(chosen, host=self._seen.host)

    def _chosen(self, selection: Selection) -> object:
        """The user's selection as a value of the flow; None if its server has exited meanwhile."""
        if selection.server is None:
            return {"recipes": "recipes", "machine": "machine"}.get(selection.row, Serve(selection.model))
        if selection.server.plan is not None:
            return Resume(selection.server.plan)
        if selection.server.endpoint is not None:
            return Talk(selection.server.endpoint)
        run = self._app.runs.get(selection.server.name)
        return Watch(run.plan) if run else None

    async def _recipes(self, state: State, _ask: Ask) -> Answer | Back:
        """The list of ready-made recipes."""
        from wizard.tui.screens.recipes import RecipesScreen

        name = await self._show(RecipesScreen(self._journey.recipes, state.host))
        return Back() if name is None else Answer(name)

    async def _machine(self, state: State, _ask: Ask) -> Answer | Back:
        from wizard.tui.screens.machine import MachineScreen

        probe = partial(self._journey.probe, self._workspace, hardware=state.hardware)
        monitor = self._journey.monitor() if state.hardware is None else None
        try:
            read = monitor.read if monitor else None
            host = await self._show(MachineScreen(probe, state.host, first=not state.trail, read=read))
        finally:
            if monitor is not None:
                monitor.close()
        return Back() if host is None else Answer(host)

    async def _model(self, state: State, ask: Ask) -> Answer | Back:
        from wizard.tui.screens.model import Models, ModelScreen

        offline, host = state.offline, there(state.host)
        suggestions = partial(self._journey.suggestions, host, self._workspace, offline=offline)
        models = Models(
            suggestions,
            partial(self._journey.model, offline=offline),
            None if offline else partial(suggestions, ask=False),
            partial(self._journey.search, offline=offline),
            partial(self._journey.with_verdict, host, offline=offline),
            self._journey.browse,
        )
        screen = ModelScreen(models, text=str(state.given.get("model") or ""), take=ask.take)
        facts = await self._show(screen)
        given = {"model": screen.view.text}
        return Back(given=given) if facts is None else Answer(facts, given)

    async def _engine(self, state: State, _ask: Ask) -> Answer:
        offer = there(engine_offer(state))
        return Answer(await self._app.push_screen_wait(AskScreen(offer.question, offer.options)))

    async def _advice(self, state: State, _ask: Ask) -> Answer | Back:
        """The advice, with the cursor on the earlier choice."""
        from wizard.kernel.values import to_data
        from wizard.plan.questions import constraints
        from wizard.texts.explain import figures
        from wizard.tui.screens.advice import AdviceScreen

        past = await background.call(partial(self._journey.calibration, self._workspace))
        host, facts = there(state.host), there(state.facts)
        asked, explain = constraints(known(state)), partial(figures, host, facts)
        advise = partial(self._journey.advise, host, facts, past=past, offline=state.offline)
        front = partial(self._journey.pareto, host, facts, past=past, offline=state.offline)
        screen = AdviceScreen(facts, advise, explain, front, asked, state.choice)
        choice = await self._show(screen)
        given = to_data(screen.view.constraints)
        return Back(given=given) if choice is None else Answer(choice, given)

    async def _review(self, state: State, _ask: Ask) -> Answer | Back:
        from wizard.tui.screens.review import ReviewScreen

        host, facts, choice = there(state.host), there(state.facts), there(state.choice)

        def make(answers: Mapping[str, Any]) -> Plan:
            return self._journey.plan(host, facts, choice, self._workspace, **answers)

        screen = ReviewScreen(make, server(state))
        plan = await self._show(screen)
        given = {name: screen.view.answers.get(name) for name in NAMES}
        return Back(given=given) if plan is None else Answer(plan, given)

    async def _build(self, state: State, _ask: Ask) -> Answer | Back:
        """Run the plan, or show its active run; the user may leave it in the background."""
        from wizard.tui.screens.build import BuildScreen

        self._restarted, plan = None, there(state.plan)
        run, logs, fix = self.builds.run(plan), self._workspace.server(plan.name).logs, partial(fixes, state)
        reviewed = state.trail[-1:] == ("review",)
        end = await self._show(BuildScreen(run, partial(self.builds.measured, plan.name), logs, fix, reviewed=reviewed))
        if isinstance(end, str):
            return Answer("background")
        self._app.runs.pop(plan.name, None)
        return Back("advice", end) if isinstance(end, dict) else Back() if end is None else Answer(Talk(end))

    async def _chat(self, state: State, _ask: Ask) -> Answer:
        """The chat; a saved conversation is continued in the history, too."""
        from wizard.chat.settings import conversation
        from wizard.tui.chat_port import calls_of
        from wizard.tui.screens.chat import ChatScreen

        endpoint, before = there(state.endpoint), state.conversation
        if self._restarted not in (None, endpoint):
            name, at = one_line(endpoint.name), endpoint.http
            text = tr("{name} was restarted at a new address: {address}.", name=name, address=at)
            self._app.notify(text, markup=False)
        calls = replace(
            calls_of(self._journey, self._workspace, self._app.tools()),
            stop=lambda server: self.builds.stop(server.name),
            private=self._kept is None if before else not self._app.settings.keep_chats,
            kept=self._kept if before else None,
            clock=self._app.clock,
        )
        end = await self._show(ChatScreen(endpoint, calls, before or conversation(known(state))))
        self._restarted = endpoint if end and end.next == "restart" else None
        if end is None:
            return Answer("another")
        self._kept = end.kept
        return Answer(Measure(end.endpoint) if end.next == "bench" else end.next, conversation=end.conversation)
