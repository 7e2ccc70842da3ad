"""The screens after the chat: what to measure, the benchmark, its report."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeVar

from wizard.flow.known import there
from wizard.flow.values import Answer, Ask, State

if TYPE_CHECKING:
    from wizard.flow.port import JourneyPort
    from wizard.kernel.paths import Workspace
    from wizard.tui.app import WizardApp
    from wizard.tui.screens.stage import StageScreen

T = TypeVar("T")


class Measuring:
    """A method per question, as in `wizard.tui.flow.Flow`."""

    _app: WizardApp
    _journey: JourneyPort
    _workspace: Workspace

    async def _show(self, screen: StageScreen[T]) -> T | None:
        screen.guide = self._app.guide
        return await self._app.push_screen_wait(screen)

    async def _bench(self, state: State, ask: Ask) -> Answer:
        from wizard.flow.benchmark import offers
        from wizard.tui.screens.bench import BenchPort, BenchScreen

        endpoint = there(state.endpoint)
        calls = BenchPort(
            partial(offers, self._journey, self._workspace, endpoint),
            partial(self._journey.benchmarks, self._workspace),
        )
        return Answer(await self._show(BenchScreen(endpoint.title, calls, state.wanted, ask.error, state.report)))

    async def _measure(self, state: State, _ask: Ask) -> Answer:
        from wizard.bench.order import folder_of
        from wizard.flow.benchmark import benchmark, kept
        from wizard.tui.screens.measure import MeasureScreen

        endpoint, wanted = there(state.endpoint), there(state.wanted)
        folder = folder_of(self._workspace, endpoint.title)
        start = partial(benchmark, self._journey, self._workspace, endpoint, wanted, folder)
        end = partial(kept, self._journey, folder)
        return Answer(await self._show(MeasureScreen(endpoint.title, start, folder, end, clock=self._app.clock)))

    async def _report(self, _state: State, ask: Ask) -> Answer:
        from wizard.tui.voting import report_screen

        return Answer(await self._app.push_screen_wait(report_screen(self._app, *ask.options)))
