"""The journey for notebooks and scripts: synchronous methods, one for each stage, over the asynchronous core.

>>> from wizard import Journey
>>> journey = Journey("demo")
>>> journey.up()                        # doctest: +SKIP
>>> journey.chat("What is Triton?")     # doctest: +SKIP
>>> journey.down()                      # doctest: +SKIP
"""

from __future__ import annotations

import difflib
import os
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing, closing
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from wizard.kernel.errors import UsageError
from wizard.kernel.language import mark, tr
from wizard.kernel.paths import Workspace, suggest_name
from wizard.kernel.text import plain
from wizard.notebook import live
from wizard.notebook.html import answer_html, figures_html, stats_html, text

if TYPE_CHECKING:
    from wizard.advise.advice import Advice, Choice
    from wizard.chat.conversation import Chunk, Conversation, Stats
    from wizard.model.facts import ModelFacts
    from wizard.notebook.background import Background
    from wizard.plan.plan import Plan
    from wizard.probe.host import Host
    from wizard.serve.endpoint import Endpoint
    from wizard.serve.status import Status
    from wizard.texts.explain import Figure


NO_WISH, NO_SETTING = mark("there is no wish {name!r}"), mark("there is no setting {name!r}")


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer. In the cell that it was streamed into only its figures are shown once more."""

    text: str
    stats: Stats | None
    """None if it was stopped."""
    shown_in: int | None = field(default=None, repr=False, compare=False)

    @property
    def tokens_per_s(self) -> float | None:
        """Tokens per second after the first; see `wizard.chat.conversation.Stats`."""
        return self.stats.tokens_per_s if self.stats else None

    @property
    def ttft_s(self) -> float | None:
        """Seconds to the first token."""
        return self.stats.ttft_s if self.stats else None

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        shown = self.shown_in is not None and self.shown_in == _cell()
        return ("" if shown else answer_html(self.text)) + stats_html(self.stats)


class Log(str):
    """Lines of a log."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return f"<pre>{text(self)}</pre>"

    def __repr__(self) -> str:
        return plain(self)


class Figures(tuple["Figure", ...]):
    """Numbers with their formulas."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return figures_html(self)

    def __repr__(self) -> str:
        return "\n".join(
            f"{one.name} = {one.result}\n  = {one.formula}\n  {tr('Source: {source}', source=one.source)}"
            for one in self
        )


class Journey:
    """From this machine to a chat with a model that it serves.

    Every stage does the ones before it that were not done yet, so ``Journey("demo").up()`` is enough.

    Args:
        ref: A journey (``demo``), a hub id, a folder or a ``.gguf`` file.
        workspace: Folder where everything is made; the default one if not given.
        hardware: Another machine to plan for: ``host.json``, ``4xA6000``.
        offline: Never ask the hub.
        name: Name of the server; made from ``ref`` if not given.
        journey: What to use instead of `wizard.journey`.
        **wishes: What every `advise` is asked with: fields of `wizard.advise.advice.Wishes`, such as ``tp=2``.

    Raises:
        UsageError: TW-U36 if there is no such wish, TW-U31 or TW-U32 if one does not fit.
    """

    def __init__(
        self,
        ref: str = "demo",
        *,
        workspace: str | os.PathLike[str] | None = None,
        hardware: str | None = None,
        offline: bool = False,
        name: str | None = None,
        journey: Any = None,
        **wishes: Any,
    ) -> None:
        if journey is None:
            from wizard import journey
        from wizard.chat.conversation import Conversation

        self.ref = ref
        self.workspace = Workspace.at(workspace)
        self.name = name or suggest_name(ref)
        self.conversation: Conversation = Conversation()
        """What was said so far; a value, so it can be kept and put back."""
        self._wishes = _wishes(wishes)
        self._hardware = hardware
        self._offline = offline
        self._journey = journey
        self._host: Host | None = None
        self._facts: ModelFacts | None = None
        self._advice: Advice | None = None
        self._plan: Plan | None = None
        if (ipython := live.shell()) is not None:
            from wizard.notebook.magic import show_richly

            show_richly(ipython)

    def __repr__(self) -> str:
        return f"Journey({self.ref!r}, name={self.name!r}, workspace={str(self.workspace.root)!r})"

    @cached_property
    def _background(self) -> Background:
        from wizard.notebook.background import Background

        return Background()

    def probe(self) -> Host:
        """Describe the machine."""
        self._host = self._background.call(lambda: self._journey.probe(self.workspace, hardware=self._hardware))
        return self._host

    def model(self) -> ModelFacts:
        """Describe the model."""
        self._facts = self._background.call(lambda: self._journey.model(self.ref, offline=self._offline))
        return self._facts

    def advise(self, **wishes: Any) -> Advice:
        """What to run here, and why.

        Args:
            **wishes: Fields of `wizard.advise.advice.Wishes`, such as ``users=8``; they go before those that the
                journey was made with, and None takes one of them back.

        Raises:
            UsageError: TW-U36 if there is no such wish, TW-U31 or TW-U32 if one does not fit.
        """
        from wizard.catalog.journeys import answered
        from wizard.plan import questions

        given = {**self._wishes, **wishes}
        _wishes(given)
        said = answered(self.ref, given, self._journey.journeys())
        asked = questions.wishes({name: value for name, value in said.items() if value is not None})
        host, facts = self._host or self.probe(), self._facts or self.model()
        past = self._journey.calibration(self.workspace)
        self._advice, self._plan = self._journey.advise(host, facts, asked, past), None
        return self._advice

    def explain(self, choice: Choice | None = None) -> Figures:
        """Every number of a choice with its formula and its source.

        Args:
            choice: One of the advice's choices; the recommended one if not given.

        Raises:
            InfeasibleError: TW-A01 if the advice has no choice.
        """
        from wizard.journey import recommended
        from wizard.texts.explain import figures

        host, facts = self._host or self.probe(), self._facts or self.model()
        return Figures(figures(host, facts, choice or recommended(self._advice or self.advise())))

    def plan(self, choice: Choice | None = None, *, http_port: int | None = None) -> Plan:
        """Everything that will be done; nothing is done yet.

        Args:
            choice: One of the advice's choices; the recommended one if not given.
            http_port: First port to try.

        Raises:
            InfeasibleError: TW-A01 if the advice has no choice.
        """
        from wizard.journey import recommended

        host, facts = self._host or self.probe(), self._facts or self.model()
        chosen = choice or recommended(self._advice or self.advise())
        self._plan = self._background.call(
            lambda: self._journey.plan(host, facts, chosen, self.workspace, name=self.name, http_port=http_port)
        )
        return self._plan

    def up(self) -> Endpoint:
        """Carry the plan out until the model answers; what is done already is not done again.

        Interrupting the kernel stops the running step with all its processes; the next `up` goes on from there.
        """
        from wizard.serve.calibration import latest_of

        plan = self._plan or self.plan()
        show = live.LiveRun()
        with closing(self._background.iterate(lambda: self._journey.run(plan))) as events:
            for event in events:
                show.show(event)
        if one := latest_of(self._journey.calibration(self.workspace), plan.name):
            show.compare(one)
        return self.endpoint()

    def endpoint(self) -> Endpoint:
        """Where the model answers now: another door may have started the server anew on other ports."""
        found: Endpoint = self._journey.endpoint(self.workspace, self.name)
        return found

    def chat(self, question: str, **settings: Any) -> Answer:
        """Ask; the answer is streamed into the cell's output and remembered for the next question.

        Interrupting the kernel stops the answer in the server; what came of it is remembered.

        Args:
            question: What to ask.
            **settings: ``temperature``, ``top_p``, ``max_tokens``, ``seed``; for this answer only.

        Raises:
            UsageError: TW-U36 if there is no such setting.
        """
        asked = self._asked(question, settings)
        endpoint, show = self.endpoint(), live.LiveAnswer()
        texts: list[str] = []
        stats: Stats | None = None
        try:
            with closing(self._background.iterate(lambda: self._answer(endpoint, asked))) as chunks:
                for chunk in chunks:
                    texts.append(chunk.text)
                    show.add(chunk.text)
                    stats = chunk.stats or stats
        finally:
            show.end()
            self._remember(question, "".join(texts))
        return Answer("".join(texts), stats, _cell())

    async def ask_async(self, question: str, **settings: Any) -> Answer:
        """The same for asynchronous code; nothing is shown. Cancelling it stops the answer in the server."""
        import asyncio

        asked = self._asked(question, settings)
        endpoint = await asyncio.to_thread(self.endpoint)
        texts: list[str] = []
        stats: Stats | None = None
        try:
            async with aclosing(self._answer(endpoint, asked)) as chunks:
                async for chunk in chunks:
                    texts.append(chunk.text)
                    stats = chunk.stats or stats
        finally:
            self._remember(question, "".join(texts))
        return Answer("".join(texts), stats)

    def _answer(self, endpoint: Endpoint, asked: Conversation) -> AsyncGenerator[Chunk, None]:
        chunks: AsyncGenerator[Chunk, None] = self._journey.chat(endpoint, asked)
        return chunks

    def _asked(self, question: str, settings: Mapping[str, Any]) -> Conversation:
        _check_names(settings, (one.name for one in fields(self.conversation.sampling)), NO_SETTING)
        sampling = replace(self.conversation.sampling, **settings)
        return replace(self.conversation, sampling=sampling).said("user", question)

    def _remember(self, question: str, answer: str) -> None:
        if answer:
            self.conversation = self.conversation.said("user", question).said("assistant", answer)

    def forget(self) -> None:
        """Begin a new conversation; the settings stay."""
        self.conversation = replace(self.conversation, messages=())

    def status(self) -> Status:
        """Whether the server runs and is ready."""
        from wizard.serve.status import Status

        found = self._background.call(lambda: self._journey.statuses(self.workspace))
        mine = (one for one in found if one.name == self.name)
        return next(mine, Status(self.name, "stopped", None, tr("it was never started; up() starts it")))

    def logs(self, lines: int = 50) -> Log:
        """The last lines of the server's log."""
        return Log("\n".join(self._journey.logs(self.workspace, self.name, lines=lines)))

    def down(self) -> Status:
        """Stop the server and free its ports."""
        stopped: Status = self._background.call(lambda: self._journey.stop(self.workspace, self.name))
        return stopped


def _cell() -> int | None:
    """Number of the cell that runs; None outside IPython."""
    number: int | None = getattr(live.shell(), "execution_count", None)
    return number


def _wishes(given: Mapping[str, Any]) -> dict[str, Any]:
    """Those of ``given`` that say something, checked."""
    from wizard.plan.questions import SETUP, WISHES, wishes

    _check_names(given, (one.name for one in (*WISHES, *SETUP)), NO_WISH)
    said = {name: value for name, value in given.items() if value is not None}
    wishes(said)
    return said


def _check_names(given: Mapping[str, Any], known: Iterable[str], what: str) -> None:
    known = list(known)
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            names = ", ".join(known)
            todo = tr("There are: {names}.", names=names)
            if near:
                todo = tr("Did you mean {near}? There are: {names}.", near=near[0], names=names)
            raise UsageError("TW-U36", tr(what, name=name), todo)
