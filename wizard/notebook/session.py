"""The wizard in notebooks and scripts: synchronous methods, one for each stage, over the asynchronous core.

>>> from wizard import Journey
>>> journey = Journey("demo")
>>> journey.up()                        # doctest: +SKIP
>>> journey.chat("What is Triton?")     # doctest: +SKIP
>>> journey.down()                      # doctest: +SKIP
"""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, closing
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from wizard.chat.chunk import Text
from wizard.kernel.language import tr
from wizard.kernel.paths import Workspace
from wizard.notebook import live
from wizard.notebook.measuring import Measuring
from wizard.notebook.names import NO_SETTING, check_names, use_language
from wizard.notebook.values import Answer, Findings, Log, cell
from wizard.workshop.attending import Attended, attended

if TYPE_CHECKING:
    from wizard.advise.advice import Advice
    from wizard.chat.chunk import Chunk
    from wizard.chat.conversation import Conversation, Stats
    from wizard.notebook.panels.build import BuildPanel
    from wizard.notebook.panels.chat import ChatPanel
    from wizard.notebook.panels.what_if import WhatIf
    from wizard.plan.plan import Plan
    from wizard.run.events import Event
    from wizard.serve.endpoint import Endpoint
    from wizard.serve.status import Status


class Journey(Measuring):
    """From this machine to a chat with a model that it serves.

    Every stage runs the earlier ones if needed, so ``Journey("demo").up()`` is enough.

    Args:
        ref: A recipe (``demo``), a model ID, a folder or a ``.gguf`` file.
        workspace: Folder for everything that the wizard creates; the seat's or the default workspace if omitted.
        hardware: Another machine to plan for: ``host.json``, ``4xA6000``.
        offline: Never contact the Hub.
        name: Name of the server; derived from ``ref`` if omitted.
        language: ``en`` or ``ko``, for all output of this kernel; unchanged if omitted.
        journey: Replaces `wizard.journey`, in tests.
        **options: Constraints for every `advise`: fields of `wizard.advise.advice.Constraints`, such as ``tp=2``.

    Raises:
        UsageError: TW-U36 for an unknown option, TW-U31 or TW-U32 for an invalid value, TW-N12 for an unknown
            language, and those of `wizard.workshop.attending.attended`.
    """

    def __init__(
        self,
        ref: str = "demo",
        *,
        workspace: str | os.PathLike[str] | None = None,
        hardware: str | None = None,
        offline: bool = False,
        name: str | None = None,
        language: str | None = None,
        journey: Any = None,
        **options: Any,
    ) -> None:
        here = attended()
        code = here.workshop.language if here and language is None else language
        if code is not None:
            use_language(code)
        if journey is None:
            from wizard import journey
        from wizard.chat.conversation import Conversation

        port = here.workshop.pin.get("http_port") if here else None
        super().__init__(
            journey,
            ref,
            _workspace(workspace, here),
            name,
            options,
            hardware=hardware,
            offline=offline,
            http_port=port if isinstance(port, int) else None,
        )
        self.conversation: Conversation = Conversation()
        """The messages so far; a value, so it can be kept and restored."""
        _show_richly()

    def __repr__(self) -> str:
        return f"Journey({self.ref!r}, name={self.name!r}, workspace={str(self.workspace.root)!r})"

    @classmethod
    def attach(
        cls, name: str | None = None, *, workspace: str | os.PathLike[str] | None = None, journey: Any = None
    ) -> Journey:
        """Continue with a build or a server that another kernel started, for example before a restart.

        `up` then shows the running build, or continues one that was stopped; `chat` continues with the server.

        Args:
            name: Name of the server; by default the one that is being built, else the one that is running, else the one
                that was built last.
            workspace: As for `Journey`.
            journey: As for `Journey`.

        Raises:
            UsageError: TW-N10 if nothing was built, TW-S01 if several servers are running and no name is given.
        """
        from wizard.notebook.attaching import attached_plan

        if journey is None:
            from wizard import journey as facade
        _show_richly()
        plan = attached_plan(journey or facade, _workspace(workspace, attended()), name)
        session = cls(plan.facts.ref, workspace=workspace, name=plan.name, journey=journey)
        session.probe()
        session._state = replace(session._state, facts=plan.facts, choice=plan.choice, plan=plan)
        return session

    def what_if(self, **options: Any) -> WhatIf | Advice:
        """`advise` with its most important options as widgets; `plan` uses the latest.

        Without widgets, this is `advise`.
        """
        from wizard.flow.known import known
        from wizard.notebook.panels import panel
        from wizard.notebook.panels.what_if import WhatIf

        advice = self.advise(**options)
        if not panel.available():
            return advice
        return WhatIf(lambda **changed: self.advise(**{**options, **changed}), known(self._state), advice)

    def up(self) -> Endpoint:
        """Run the plan until the model is ready; completed steps are skipped.

        Interrupting the kernel stops the running step with all its processes; the next `up` resumes there. In a
        notebook, a build survives its kernel: `attach` finds it again, and interrupting then leaves it running.
        """
        plan = self._state.plan or self.plan()
        with live.LiveRun(plan=plan) as show, closing(self._background.iterate(lambda: self._run(plan))) as events:
            for event in events:
                show.show(event)
        if measurement := self._journey.calibration(self.workspace).latest_of(plan.name):
            show.compare(measurement)
        return self.endpoint()

    def build(self) -> BuildPanel | None:
        """`up` in a panel with the log, Stop and Continue, while other cells can run; `up` waits for it.

        Without widgets, this is `up`.
        """
        from wizard.notebook.panels import panel
        from wizard.notebook.panels.build import BuildPanel

        if not panel.available():
            self.up()
            return None
        plan = self._state.plan or self.plan()
        return BuildPanel(self._background, plan, self._run)

    def _run(self, plan: Plan) -> AsyncGenerator[Event, None]:
        """The build of the plan; in a notebook, it outlives its kernel. One that is running is only shown: whoever
        started it may be somebody else.
        """
        from wizard.plan.artefacts import fingerprints

        build = self._journey.building(self.workspace)
        if build is not None and build.name == plan.name:
            running = self._journey.earlier_plan(self.workspace, plan.name)
            if running is not None and fingerprints(running.steps) == fingerprints(plan.steps):
                leaving = threading.Event()
                leaving.set()
                return self._journey.attach(self.workspace, plan.name, leaving=leaving)
        return self._journey.run(plan, leaving=threading.Event() if live.in_notebook() else None)

    def chat(self, question: str, **settings: Any) -> Answer:
        """Send a question; the answer streams into the cell's output and is kept for the next question.

        Interrupting the kernel stops the answer in the server; the part that arrived is kept.

        Args:
            question: The question.
            **settings: ``temperature``, ``top_p``, ``max_tokens``, ``seed``, ``thinking`` and the other fields of
                `wizard.chat.conversation.Sampling`; for this answer only.

        Raises:
            UsageError: TW-U36 for an unknown setting.
        """
        conversation = self._asked(question, settings)
        endpoint, show = self.endpoint(), live.LiveAnswer()
        text = Text()
        stats: Stats | None = None
        try:
            with closing(self._background.iterate(lambda: self._answer(endpoint, conversation))) as chunks:
                for chunk in chunks:
                    text.add(chunk)
                    show.add(chunk)
                    stats = chunk.stats or stats
        finally:
            show.end()
        return Answer(text.answer, stats, cell(), text.thought)

    async def ask_async(self, question: str, **settings: Any) -> Answer:
        """The same for asynchronous code; nothing is shown. Cancelling it stops the answer in the server."""
        text = Text()
        stats: Stats | None = None
        async with aclosing(self._streamed(question, settings)) as chunks:
            async for chunk in chunks:
                text.add(chunk)
                stats = chunk.stats or stats
        return Answer(text.answer, stats, thought=text.thought)

    def chat_box(self) -> ChatPanel | Log:
        """A box to chat in, with Stop; it continues the conversation of `chat`."""
        from wizard.notebook.panels import panel
        from wizard.notebook.panels.chat import ChatPanel

        served = self._journey.served(self.endpoint())
        if not panel.available():
            return panel.missing('journey.chat("What is Triton?")')
        messages = self.conversation.messages
        return ChatPanel(self._background, self._streamed, self.forget, messages, served.questions)

    async def _streamed(self, question: str, settings: Mapping[str, Any] | None = None) -> AsyncGenerator[Chunk, None]:
        import asyncio

        conversation = self._asked(question, settings or {})
        async with aclosing(self._answer(await asyncio.to_thread(self.endpoint), conversation)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def _answer(self, endpoint: Endpoint, conversation: Conversation) -> AsyncGenerator[Chunk, None]:
        """The answer to the conversation's last message; what arrived of it is kept, however it ends."""
        text = Text()
        try:
            async with aclosing(self._journey.chat(endpoint, conversation)) as chunks:
                async for chunk in chunks:
                    text.add(chunk)
                    yield chunk
        finally:
            self._remember(conversation.messages[-1].content, text)

    def _asked(self, question: str, settings: Mapping[str, Any]) -> Conversation:
        check_names(settings, (setting.name for setting in fields(self.conversation.sampling)), NO_SETTING)
        sampling = replace(self.conversation.sampling, **settings)
        return replace(self.conversation, sampling=sampling).with_message("user", question)

    def _remember(self, question: str, text: Text) -> None:
        if text.answer or text.thought:
            asked = self.conversation.with_message("user", question)
            self.conversation = asked.with_message("assistant", text.answer, thought=text.thought)

    def forget(self) -> None:
        """Begin a new conversation; the settings stay."""
        self.conversation = replace(self.conversation, messages=())

    def status(self) -> Status:
        """Whether the server runs and is ready."""
        from wizard.serve.status import Status

        statuses = self._background.call(lambda: self._journey.statuses(self.workspace))
        mine = (status for status in statuses if status.name == self.name)
        return next(mine, Status(self.name, "stopped", None, tr("it was never started; run up() to start it")))

    def doctor(self, *, quick: bool = False) -> Findings:
        """Check this machine for problems: driver, containers, storage, memory, limits, network, Hub (≤ 12 s).

        Args:
            quick: Only the checks that read files.
        """
        return Findings(self._journey.doctor(self.workspace, quick=quick, offline=self._state.offline))

    def elsewhere(self) -> Log:
        """The server's addresses, and lines to paste for curl, Python and other programs."""
        from wizard.chat.elsewhere import elsewhere
        from wizard.kernel.program import command

        endpoint = self.endpoint()
        return Log(elsewhere(endpoint, command("chat", endpoint.name, workspace=self.workspace)))

    def logs(self, lines: int = 50) -> Log:
        """The last lines of the server's log."""
        return Log("\n".join(self._journey.logs(self.workspace, self.name, lines=lines)))

    def down(self) -> Status:
        """Stop the server and free its ports."""
        return self._background.call(lambda: self._journey.stop(self.workspace, self.name))


def _workspace(given: str | os.PathLike[str] | None, here: Attended | None) -> Workspace:
    """The given workspace, else that of the seat, else the default one."""
    return Workspace.at(given or (here.workspace if here else None))


def _show_richly() -> None:
    if (ipython := live.shell()) is not None:
        from wizard.notebook.display import show_richly

        show_richly(ipython)
