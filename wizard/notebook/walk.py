"""The stages in a notebook: a method for each, which runs the earlier ones if needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from wizard.flow.effects import Advise, Effect, Inspect, MakePlan, RunPlan
from wizard.flow.known import there
from wizard.flow.perform import front, unattended
from wizard.flow.values import Stage, State
from wizard.kernel.paths import Workspace, suggest_name
from wizard.notebook.names import options_checked
from wizard.notebook.values import Figures

if TYPE_CHECKING:
    from wizard.advise.advice import Advice, Choice
    from wizard.advise.pareto import Front
    from wizard.flow.port import JourneyPort
    from wizard.model.facts import ModelFacts
    from wizard.notebook.background import Background
    from wizard.plan.plan import Plan
    from wizard.probe.host import Host


class Walk:
    """The state of a session, and the stages up to the plan; see `wizard.notebook.session.Journey`."""

    def __init__(
        self,
        journey: JourneyPort,
        ref: str,
        workspace: Workspace,
        name: str | None,
        constraints: Mapping[str, Any],
        *,
        hardware: str | None,
        offline: bool,
        http_port: int | None = None,
    ) -> None:
        self._journey, self.ref, self.workspace, self.name = journey, ref, workspace, name or suggest_name(ref)
        self._constraints, self._http_port = options_checked(constraints), http_port
        self._state = State(self._given(self._constraints), hardware=hardware, offline=offline)

    @cached_property
    def _background(self) -> Background:
        from wizard.notebook.background import Background

        return Background()

    def _walk(self, stage: Stage, until: type[Effect], **changes: Any) -> State:
        """Run the flow from ``stage``, or from the first earlier stage that was not passed yet."""
        state = replace(self._state, at=stage, **changes)
        if state.facts is None and stage != "machine":
            state = replace(state, at="machine" if state.host is None else "model")
        self._state, _ = self._background.call(lambda: unattended(self._journey, self.workspace, state, until))
        return self._state

    def probe(self) -> Host:
        """Describe the machine."""
        return there(self._walk("machine", Inspect, host=None).host)

    def model(self) -> ModelFacts:
        """Describe the model."""
        return there(self._walk("model", Advise, facts=None).facts)

    def advise(self, **options: Any) -> Advice:
        """What to run on this machine, and why.

        Args:
            **options: Fields of `wizard.advise.advice.Constraints`, such as ``users=8``; they override
                those of `Journey`, and None removes one.

        Raises:
            UsageError: TW-U36 for an unknown option, TW-U31 or TW-U32 for an invalid value.
        """
        given = {**self._constraints, **options}
        options_checked(given)
        return there(self._walk("advice", MakePlan, given=self._given(given), plan=None).advice)

    def pareto(self, **options: Any) -> Front:
        """The setups that no other exceeds in both speed per user and throughput; ``options`` are those of `advise`."""
        self.advise(**options)
        return front(self._journey, self.workspace, self._state)

    def _given(self, constraints: Mapping[str, Any]) -> dict[str, Any]:
        return {"model": self.ref, "name": self.name, **constraints}

    def explain(self, choice: Choice | None = None) -> Figures:
        """Every figure of a choice with its formula and source.

        Args:
            choice: One of the advice's choices; the recommended one if omitted.

        Raises:
            InfeasibleError: TW-A01 if the advice has no choice.
        """
        from wizard.texts.explain import figures

        self._described()
        chosen = choice or self._recommended()
        return Figures(figures(there(self._state.host), there(self._state.facts), chosen))

    def _described(self) -> None:
        if self._state.facts is None:
            self.model()

    def _recommended(self) -> Choice:
        from wizard.journey import recommended

        return recommended(self._state.advice or self.advise())

    def plan(self, choice: Choice | None = None, *, http_port: int | None = None) -> Plan:
        """Every step with its commands; nothing runs yet.

        Args:
            choice: One of the advice's choices; the recommended one if omitted.
            http_port: First port to try; by default the workshop's for this seat, else 8000.

        Raises:
            InfeasibleError: TW-A01 if the advice has no choice.
        """
        self._described()
        chosen, port = choice or self._recommended(), http_port or self._http_port
        return there(self._walk("review", RunPlan, choice=chosen, given={**self._state.given, "http_port": port}).plan)
