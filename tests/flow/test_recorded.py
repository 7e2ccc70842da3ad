"""One recorded walk, driven through the flow alone and through every interface: the same plan comes out.

The journey is the real one: the machine is another (a shorthand), the model is the one in the wheel.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.tui.walking import choose, screen, wait_for
from wizard import Journey, journey
from wizard.cli import main
from wizard.flow.known import there
from wizard.flow.perform import perform
from wizard.flow.saved import read
from wizard.flow.values import Answer, Ask, Back, Finished, State
from wizard.flow.walk import begin, resume, step
from wizard.kernel.paths import Workspace
from wizard.kernel.values import from_json, to_json
from wizard.plan.plan import Plan
from wizard.prompts.flow import Flow
from wizard.texts.data import data
from wizard.tui.app import WizardApp
from wizard.tui.screens.advice import AdviceScreen
from wizard.tui.screens.form import FormScreen
from wizard.tui.screens.machine import MachineScreen
from wizard.tui.screens.model import ModelScreen
from wizard.tui.screens.review import ReviewScreen

HARDWARE = "1xL4"
WALK: tuple[tuple[str, Any], ...] = (
    ("machine", None),
    ("model", "demo"),
    ("advice", {"users": 7}),
    ("advice", "back"),
    ("model", "demo"),
    ("advice", "first"),
    ("review", {"name": "walked", "http_port": 18123}),
)
"""Stage → its answer: a value, changed answers (which lead to the same stage again), ``"back"``, or the first choice.

The last one leads to the plan that is compared.
"""


def alone(workspace: Workspace, manner: Any = "questions") -> Plan:
    """Without any interface; after every step the state is written down and read back."""
    replies = iter(WALK)
    state, following = begin(State(manner=manner, hardware=HARDWARE, offline=True))
    asked = 0
    while not (asked == len(WALK) and isinstance(following, Ask)):
        assert not isinstance(following, Finished)
        reply: Any
        if isinstance(following, Ask):
            stage, answer = next(replies)
            assert (stage, following.error) == (following.stage, None)
            asked += 1
            reply = _reply(state, answer)
        else:
            reply = perform(journey, workspace, following.effect)
        state, following = step(state, reply)
        again = read(to_json(state), "state.json")
        assert again == state
        state = again
    assert resume(state)[0].at == "review"
    return there(state.plan)


def _reply(state: State, answer: Any) -> Answer | Back:
    if isinstance(answer, dict):
        return Answer(given=answer)
    if answer == "back":
        return Back("model")
    return Answer(there(state.advice).choices[0] if answer == "first" else answer)


def prompts(workspace: Workspace) -> Plan:
    """The plain questions; what is chosen and typed comes from the recording instead of a terminal."""
    flow = Flow(journey, workspace, State(hardware=HARDWARE, offline=True))
    replies = iter(WALK[1:])  # the machine is only said
    typed: list[str] = []

    def pick(text: str, options: Any, first: int = 0, *, other: Any = None) -> Any:
        if text == "What do you want to change?":
            (name,) = current
            return next(value for _, value in options if getattr(value, "name", "") == name)
        stage, answer = next(replies, ("", None))
        if not stage:
            raise EOFError
        if isinstance(answer, dict):
            current[:] = [name for name in answer][:1]
            typed.extend(map(str, answer.values()))
            return "change"
        if answer == "back":
            return "model"
        return options[first][1] if answer == "first" else other(answer)

    current: list[str] = []
    flow.ask.choose = pick  # type: ignore[method-assign]
    flow.ask.line = lambda *_args, **_how: typed.pop(0)  # type: ignore[method-assign]
    with pytest.raises(EOFError):
        flow.go()
    return there(flow.state.plan)


def screens(workspace: Workspace) -> Plan:
    """The full screen, with keys."""
    return asyncio.run(_screens(workspace))


async def _screens(workspace: Workspace) -> Plan:
    stages: dict[str, Any] = {
        "machine": MachineScreen,
        "model": ModelScreen,
        "advice": AdviceScreen,
        "review": ReviewScreen,
    }
    app = WizardApp(workspace, hardware=HARDWARE, offline=True)
    app.animation_level = "none"
    async with app.run_test(size=(100, 40)) as pilot:
        await choose(pilot, "machine")
        for stage, answer in WALK:
            shown = await screen(pilot, stages[stage])
            await wait_for(pilot, lambda: _settled(shown))  # noqa: B023 - awaited here
            if isinstance(answer, dict):
                await pilot.press("n" if stage == "review" else "w")
                form = await screen(pilot, FormScreen)
                for name, value in answer.items():
                    while not form.query_one(f"#{name}").has_focus:
                        await pilot.press("down")
                    await pilot.press("end", "shift+home", "backspace", *str(value))
                await pilot.press("enter")
                await screen(pilot, stages[stage])
                await wait_for(pilot, lambda: _settled(shown))  # noqa: B023
            elif answer == "back":
                await pilot.press("escape")
            else:
                if answer == "demo" and shown.view.text != "demo":
                    await pilot.press(*answer)
                await pilot.press("enter")
        review = await screen(pilot, ReviewScreen)
        await wait_for(pilot, lambda: review.view.plan and review.view.plan.name == "walked")
        return there(review.view.plan)


def _settled(shown: Any) -> bool:
    """Whether a screen has found out what it shows."""
    if isinstance(shown, AdviceScreen):
        return shown.view.advice is not None
    if isinstance(shown, ModelScreen):
        return shown.view.suggestions is not None and not shown.view.looking
    return (shown.view.plan if isinstance(shown, ReviewScreen) else shown.view.host) is not None


def notebook(workspace: Workspace) -> Plan:
    """The session's methods."""
    session = Journey("demo", workspace=workspace.root, hardware=HARDWARE, offline=True, name="walked", users=7)
    session.probe()
    session.advise()
    session.model()
    return session.plan(session.advise().choices[0], http_port=18123)


def command(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> Plan:
    """``triton-wizard plan`` with flags."""
    flags = ["--offline", "--hardware", HARDWARE, "--users", "7", "--name", "walked", "--http-port", "18123", "--json"]
    with pytest.raises(SystemExit) as ended:
        main(["--workspace", str(workspace.root), "plan", "demo", *flags])
    assert not ended.value.code
    return from_json(Plan, capsys.readouterr().out, where="stdout")


@pytest.mark.parametrize("interface", [prompts, screens, notebook, command])
def test_the_same_walk_makes_the_same_plan_everywhere(
    interface: Callable[..., Plan], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace = Workspace(tmp_path / "ws")
    wanted = alone(workspace)
    assert (wanted.name, wanted.choice.max_batch_size, wanted.host) == ("walked", 7, HARDWARE)
    capsys.readouterr()
    made = interface(workspace, capsys) if interface is command else interface(workspace)
    assert data(made) == data(wanted)
    if interface is not command:  # JSON holds the sources that notes get from the tables of texts
        assert made == wanted
