"""The order of the screens: the only place that knows it. One worker walks it from the first screen to the last."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Set
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from wizard.kernel.errors import WizardError, WorkspaceError
from wizard.kernel.language import tr
from wizard.kernel.paths import Workspace
from wizard.kernel.program import command
from wizard.kernel.text import one_line, plain
from wizard.tui import background
from wizard.tui.port import JourneyPort
from wizard.tui.screens.modal import ReaderScreen
from wizard.tui.screens.stage import StageScreen
from wizard.tui.servers import measured, now, ready, servers
from wizard.tui.views.welcome import Server, WelcomeView, first

if TYPE_CHECKING:
    from textual.message import Message

    from wizard.advise.advice import Advice, Choice, Wishes
    from wizard.chat.conversation import Conversation
    from wizard.chat.history import Kept
    from wizard.model.facts import ModelFacts
    from wizard.plan.plan import Plan
    from wizard.plan.questions import Answers
    from wizard.probe.host import Host
    from wizard.run.events import Event
    from wizard.serve.endpoint import Endpoint
    from wizard.serve.status import Status
    from wizard.tui.app import WizardApp
    from wizard.tui.run import Run

T = TypeVar("T")
Stage: TypeAlias = "Callable[[], Awaitable[Stage | None]]"


class Flow:
    """A method for each stage: it shows the screen and returns the stage that comes next, with what that needs.

    What is kept here is what the user typed, so that going back and forth loses nothing. The screens are imported when
    they are first shown, so that the first frame does not wait for the last screen.
    """

    def __init__(self, app: WizardApp, journey: JourneyPort, workspace: Workspace) -> None:
        self._app, self._journey, self._workspace = app, journey, workspace
        self._named = "" if "model" in app.guide.workshop.pin else str(app.answers.get("model", ""))
        """The model that the user came with; a pinned one is offered by the welcome, below a server that runs."""
        self._text = self._named
        self._seen = WelcomeView(without=app.guide.closed)
        """What the welcome has found out."""
        self._wishes: Wishes | None = None
        self._kept: Kept | None = None
        """The conversation that the chat was left with, as it is kept."""
        self._settings: Answers = {}
        """What the journey and the command line say of the chat."""
        self._measured: dict[str, str] = {}
        """What servers that became ready took beside what was predicted, by name."""
        self._server: Answers = {name: app.answers[name] for name in ("name", "http_port") if name in app.answers}
        """Name and port of the server that is being set up, if the user gave them."""

    async def walk(self) -> None:
        """From the first stage on, until the app is left."""
        await self._greet()
        stage: Stage | None = self.machine if self._named else self.welcome
        while stage is not None:
            stage = await stage()

    async def _greet(self) -> None:
        """A workshop's words of welcome."""
        workshop = self._app.guide.workshop
        if workshop.text:
            await self._app.push_screen_wait(ReaderScreen(tr(workshop.title), tr(workshop.text)))

    async def _show(self, screen: StageScreen[T]) -> T | None:
        screen.guide = self._app.guide
        return await self._app.push_screen_wait(screen)

    async def _passed(self, stage: str, take: Callable[[], T | None]) -> T | None:
        """What a stage that the workshop hides takes by itself; None if it is to be shown: if that fails, too."""
        if stage not in self._app.guide.workshop.hide:
            return None
        try:
            return await background.call(take)
        except WizardError:
            return None  # its screen meets the same error, and says what can be done about it

    async def welcome(self, conversation: Conversation | None = None) -> Stage:
        """Where everything begins: the machine, what runs already, and the ways on."""
        from wizard.tui.screens.welcome import WelcomeScreen

        offline = self._app.offline
        screen = WelcomeScreen(
            partial(self._journey.probe, self._workspace, hardware=self._app.hardware),
            lambda host: self._journey.suggestions(host, self._workspace, offline=offline),
            partial(servers, self._app, self._journey, self._workspace),
            replace(self._seen, lessons=self._app.guide.shown),
        )
        way = await self._show(screen)
        self._seen = replace(screen.view, error=None, servers=None)
        back = partial(self.welcome, conversation)
        if way is None:
            return back
        if way.server is not None:
            return await self._to(way.server, conversation)
        host = self._seen.host
        if way.row == "journeys":
            return partial(self.journeys, back=back)
        if way.row == "machine" or host is None or not host.runs_triton:
            return partial(self.machine, host, back=back)
        self._start(way.model)
        return partial(self.model, host, take=bool(way.model), back=back)

    def _start(self, ref: str) -> None:
        """Begin anew with the model ``ref``, or with one that is still to be chosen."""
        self._text, self._wishes = ref, None

    def _forget(self) -> None:
        """A server has come or gone: the memory that was free is not what is free now."""
        self._seen = replace(self._seen, host=None, suggestions=None)

    async def _to(self, server: Server, conversation: Conversation | None) -> Stage:
        """To the chat with a server, to where it is built, or to the plan that it was made from."""
        if server.plan is not None:
            return await self._again(server.plan)
        run = self._app.runs.get(server.name)
        if server.endpoint is None:
            return partial(self.watch, run, conversation) if run else partial(self.welcome, conversation)
        plan = await background.call(partial(self._journey.earlier_plan, self._workspace, server.name))
        return partial(self.chat, server.endpoint, plan, conversation)

    async def _again(self, plan: Plan, host: Host | None = None) -> Stage:
        """Begin with the ``plan`` of a server that does not run: it is made anew, for this machine as it is now.

        It goes its old way, unless a facilitator pins a wish: then the advice follows that.
        """
        from wizard.advise.advice import Wishes
        from wizard.plan.questions import wishes

        self._start(plan.facts.ref)
        host = host or self._seen.host
        if host is None or not host.runs_triton:
            return partial(self.machine, host, back=self.welcome, again=plan)
        own: Answers = {"name": plan.name}
        known = await background.call(partial(self._known, plan.facts.ref))
        self._wishes, self._settings = wishes(known), known
        if Wishes.__dataclass_fields__.keys() & self._app.guide.workshop.pin:  # it may have been made without them
            return partial(self.advice, host, plan.facts, plan.choice, back=self.welcome, own=own)
        return partial(self.review, host, plan.facts, plan.choice, back=self.welcome, own=own)

    async def journeys(self, *, back: Stage) -> Stage:
        """The ready journeys, to take one of them."""
        from wizard.tui.screens.journeys import JourneysScreen

        host = self._seen.host
        name = await self._show(JourneysScreen(self._journey.journeys, host))
        if name is None:
            return back
        self._start(name)
        again = partial(self.journeys, back=back)
        if host is None or not host.runs_triton:
            return partial(self.machine, host, back=again)
        return partial(self.model, host, take=True, back=again)

    async def machine(self, host: Host | None = None, *, back: Stage | None = None, again: Plan | None = None) -> Stage:
        """Stage 1; the plan ``again`` is gone on with, if one is to be made anew."""
        from wizard.tui.screens.machine import MachineScreen

        probe = partial(self._journey.probe, self._workspace, hardware=self._app.hardware)
        if passed := await self._passed("machine", lambda: _if(lambda found: found.runs_triton, host or probe())):
            if again is not None:
                return await self._again(again, passed)
            return partial(self.model, passed, take=bool(self._named), back=back or self.welcome)
        monitor = self._journey.monitor() if self._app.hardware is None else None
        try:
            screen = MachineScreen(probe, host, first=back is None, read=monitor.read if monitor else None)
            found = await self._show(screen)
        finally:
            if monitor is not None:
                monitor.close()
        if found is None:
            return back or self.machine
        if again is not None:
            return await self._again(again, found)
        take = bool(self._named) and host is None
        return partial(self.model, found, take=take, back=partial(self.machine, found, back=back))

    async def model(self, host: Host, *, back: Stage, take: bool = False) -> Stage:
        """Stage 2; with ``take`` the model was named on the command line."""
        from wizard.plan.questions import wishes
        from wizard.tui.screens.model import Models, ModelScreen

        offline = self._app.offline
        suggestions = partial(self._journey.suggestions, host, self._workspace, offline=offline)
        find = partial(self._journey.model, offline=offline)
        again = back
        facts = await self._passed("model", lambda: find(self._text or first(suggestions())))
        if facts is None:
            models = Models(
                suggestions,
                find,
                None if offline else partial(suggestions, ask=False),
                partial(self._journey.search, offline=offline),
                partial(self._journey.judged, host, offline=offline),
                self._journey.browse,
            )
            screen = ModelScreen(models, text=self._text, take=take)
            facts = await self._show(screen)
            self._text = screen.view.text
            again = partial(self.model, host, back=back)
        if facts is None:
            return back
        known = await background.call(partial(self._known, facts.ref))
        self._wishes, self._settings = self._wishes or wishes(known), known
        return partial(self.advice, host, facts, back=again)

    def _known(self, ref: str) -> Answers:
        """All answers for the model ``ref``: what was given goes before what its journey comes with."""
        from wizard.catalog.journeys import answered

        return answered(ref, self._app.answers, self._journey.journeys())

    async def advice(
        self, host: Host, facts: ModelFacts, chosen: Choice | None = None, *, back: Stage, own: Answers | None = None
    ) -> Stage:
        """Stage 3, with the cursor on the way that was ``chosen``; ``own`` is for the review."""
        from wizard.advise.advice import Wishes
        from wizard.texts.explain import figures
        from wizard.tui import own_engine
        from wizard.tui.screens.advice import AdviceScreen

        past = await background.call(partial(self._journey.calibration, self._workspace))

        def advise(wishes: Wishes) -> Advice:
            return self._journey.advise(host, facts, wishes, past)

        wished = await own_engine.asked(self._app, host, facts, self._settings, self._wishes or Wishes())
        if passed := await self._passed("advice", lambda: next(iter(advise(wished).choices), None)):
            return partial(self.review, host, facts, passed, back=back, own=own)
        screen = AdviceScreen(facts, advise, partial(figures, host, facts), wished, chosen)
        choice = await self._show(screen)
        self._wishes = screen.view.wishes
        if choice is None:
            return back
        again = partial(self.advice, host, facts, choice, back=back, own=own)
        return partial(self.review, host, facts, choice, back=again, own=own)

    async def review(
        self,
        host: Host,
        facts: ModelFacts,
        choice: Choice,
        *,
        back: Stage,
        shown: bool = False,
        own: Answers | None = None,
    ) -> Stage:
        """Stage 4; ``shown`` even if it is hidden: to somebody who comes back.

        A server that was set up before has its ``own`` name and port; another one those that the user gave.
        """
        from wizard.tui.screens.review import ReviewScreen

        def make(answers: Mapping[str, Any]) -> Plan:
            return self._journey.plan(host, facts, choice, self._workspace, **answers)

        again = partial(self.review, host, facts, choice, back=back, shown=True)
        server = self._server if own is None else own
        if not shown and (
            passed := await self._passed("review", lambda: _if(lambda plan: plan.is_for_here, make(server)))
        ):
            return partial(self.build, passed, back=partial(again, own=own))
        screen = ReviewScreen(make, server)
        plan = await self._show(screen)
        if own is None:
            self._server = screen.view.answers
        else:
            own = screen.view.answers
        if plan is None:
            return back
        return partial(self.build, plan, back=partial(again, own=own))

    async def build(self, plan: Plan, conversation: Conversation | None = None, *, back: Stage | None = None) -> Stage:
        """Stage 5; with a ``conversation`` it goes on after the server was started again."""
        from wizard.tui.run import Run

        run = self._app.runs.get(plan.name)
        if run is not None and run.under_way:
            name = one_line(plan.name)
            self._app.notify(tr("{name} is being built already; this is how far it is.", name=name), markup=False)
        else:
            run = Run(plan, partial(self._run, plan), self._app.beside, self._app.clock)
            run.listen(partial(self._ended, run))
            self._app.runs[plan.name] = run
        return partial(self.watch, run, conversation, back=back)

    async def watch(self, run: Run, conversation: Conversation | None = None, *, back: Stage | None = None) -> Stage:
        """Show ``run``, which may have been left in the background; without ``back`` its end leads to the servers."""
        from wizard.tui.screens.build import BuildScreen

        plan = run.plan
        logs = self._workspace.server(plan.name).logs
        listed = partial(self.welcome, conversation)
        screen = BuildScreen(run, lambda: self._measured.get(plan.name, ""), logs, reviewed=back is not None)
        end = await self._show(screen)
        if isinstance(end, str):  # it goes on in the background
            return listed
        self._app.runs.pop(plan.name, None)
        return back or listed if end is None else partial(self.chat, end, plan, conversation)

    def _ended(self, run: Run, message: Message) -> None:
        """Tell how a run ended that no screen shows; one that failed can be come back to."""
        from wizard.tui.bridge import Ended
        from wizard.tui.views.build import Phase

        if not isinstance(message, Ended) or self._app.watches(run):
            return
        name = one_line(run.plan.name)
        if run.view.phase is Phase.READY:
            self._app.runs.pop(run.plan.name, None)  # it is among the servers now
            self._app.notify(tr("Its server answers."), title=tr("{name} is ready", name=name), markup=False)
        elif run.view.error is not None:
            title = tr("{name} could not be built", name=name)
            self._app.notify(plain(run.view.error.what), title=title, severity="error", markup=False)

    async def _run(self, plan: Plan, redo: Set[str], skip: Set[str]) -> AsyncGenerator[Event, None]:
        """The run's events; remembers the server that is ready, for what is said after quitting.

        Raises:
            WorkspaceError: TW-R09 if another plan is being carried out in the background.
        """
        from wizard.run.events import Ready

        if other := next((one for one in self._app.runs.values() if one.under_way and one.plan is not plan), None):
            raise WorkspaceError(
                "TW-R09",
                tr("{name} is being built, and a workspace builds one server at a time", name=other.plan.name),
                tr("Wait until it is ready, or stop it first."),
            )
        self._app.running.pop(plan.name, None)
        async with aclosing(self._journey.run(plan, redo=redo, skip=skip)) as events:
            async for event in events:
                if isinstance(event, Ready):
                    past = await background.call(partial(self._journey.calibration, self._workspace))
                    self._measured[plan.name] = measured(past, plan.name)
                    self._app.running[event.endpoint.name] = event.endpoint
                    self._forget()
                yield event

    def _stop(self, name: str) -> Status:
        status = self._journey.stop(self._workspace, name)
        self._app.running.pop(name, None)
        self._forget()
        return status

    async def chat(self, endpoint: Endpoint, plan: Plan | None, conversation: Conversation | None = None) -> Stage:
        """Stage 6; a ``conversation`` is gone on with, where it is kept too."""
        from wizard.chat.conversation import conversation as begin
        from wizard.tui.chat_calls import Calls
        from wizard.tui.screens.chat import ChatScreen

        calls = Calls(
            send=self._journey.chat,
            served=self._journey.served,
            now=partial(now, self._journey, self._workspace, endpoint),
            stop=partial(self._stop, endpoint.name),
            others=partial(ready, self._journey, self._workspace),
            at=self._journey.at,
            chat_command=lambda one: command("chat", one.name, workspace=self._workspace),
            meter=self._journey.meter,
            presets=self._journey.presets,
            history=self._journey.history(self._workspace),
            private=self._kept is None if conversation else not self._app.settings.keep_chats,
            kept=self._kept if conversation else None,
            clock=self._app.clock,
        )
        end = await self._show(ChatScreen(endpoint, calls, conversation or begin(self._settings)))
        said, self._kept = (end.conversation, end.kept) if end else (conversation, self._kept)
        if end and end.next == "restart":
            there = await background.call(calls.now)
            if there is not None and there != endpoint:
                name, at = one_line(there.name), there.http
                said_so = tr("{name} was started again elsewhere: it answers on {address}.", name=name, address=at)
                self._app.notify(said_so, markup=False)
                return await self._to(Server(there.name, "", there), said)
            if plan is not None:
                return partial(self.build, plan, said)
        self._server = {}  # another model is another server
        return partial(self.machine, back=partial(self.welcome, said))


def _if(good: Callable[[T], bool], value: T) -> T | None:
    """``value``, if it is ``good``."""
    return value if good(value) else None
