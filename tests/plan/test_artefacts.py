"""What steps say they read and write: for every golden plan, and for recorded machines and models."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path, PurePath

import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

from tests.advise.worlds import CONFIGS, HOSTS
from tests.plan import test_golden_recipes, test_golden_stacks
from tests.plan.stack_values import FACTS, IN_IMAGE, planned
from tests.run.runs import events_of, outcomes
from tests.values import GGUF, plan_of
from wizard.advise.advice import Choice, Constraints
from wizard.advise.ranking import advise
from wizard.kernel.errors import WizardError
from wizard.kernel.paths import Workspace
from wizard.model.config import describe
from wizard.model.manifest import SUFFIX
from wizard.plan.artefacts import ENDPOINT, MODEL, READY, REPOSITORY, SERVER, dependants, fingerprints, missing
from wizard.plan.build import build
from wizard.plan.options import Options
from wizard.plan.plan import Done, Step, Write

Steps = tuple[Step, ...]


def golden() -> dict[str, Steps]:
    """Every golden plan."""
    recipes = {
        name: test_golden_recipes.plan(ref, hardware, **given).steps
        for name, (ref, hardware, given) in test_golden_recipes.PLANS.items()
    }
    return recipes | {name: test_golden_stacks.plan(name) for name in test_golden_stacks.PLANS}


NAMES = sorted({*test_golden_recipes.PLANS, *test_golden_stacks.PLANS})


MODELS = {
    "demo.gguf": GGUF,
    **{name: describe(replace(FACTS, ref=name, name=name), config, name) for name, config in CONFIGS.items()},
}


@cache
def choices(machine: str, model: str) -> tuple[Choice, ...]:
    return advise(HOSTS[machine], MODELS[model], Constraints()).choices


@st.composite
def plans(draw: st.DrawFn) -> Steps:
    """What is planned for a world of the advice's tests, recorded hosts among them, and a public model."""
    machine, model = draw(st.sampled_from(sorted(HOSTS))), draw(st.sampled_from(sorted(MODELS)))
    offered = choices(machine, model)
    assume(offered)
    away = replace(HOSTS[machine], source=machine)  # nothing of the machine that the tests run on plays a part
    try:
        return build(away, MODELS[model], draw(st.sampled_from(offered)), Workspace(Path("/w")), name="demo").steps
    except WizardError:
        reject()  # what cannot be planned there has no steps


@pytest.mark.parametrize("name", NAMES)
def test_what_a_step_reads_was_written_before_or_is_given(name: str) -> None:
    check(golden()[name])


def check(steps: Steps) -> None:
    assert missing(steps) == []
    assert [step.id for step in steps if ENDPOINT in step.writes and SERVER in step.writes] == ["start"]
    (start,) = (step for step in steps if SERVER in step.writes)
    assert {MODEL, REPOSITORY} & {*start.reads} == {MODEL, REPOSITORY}
    assert not any(path.startswith("/w/") for step in steps for path in step.reads)  # what is given is the user's


def test_a_file_that_no_step_writes_is_detected() -> None:
    steps = planned(IN_IMAGE)
    assert missing(steps[1:])[0] == ("check", "image")
    assert missing(tuple(reversed(steps)))
    assert ("start", "adapter fr") in missing((*steps[:-3], replace(steps[-3], reads=("adapter fr",)), *steps[-2:]))


@pytest.mark.parametrize("name", NAMES)
def test_a_step_whose_commands_name_what_another_promises_says_that_it_reads_it(name: str) -> None:
    """The other way round: the paths in the commands hold no dependency that is not declared."""
    steps = golden()[name]
    for index, step in enumerate(steps):
        for later in steps[index + 1 :]:
            commands = "\n".join(action.shell() for action in later.actions)
            files = [file for file in step.done.files if not file.endswith(SUFFIX)]  # manifests are beside all models
            named = [file for file in files if str(PurePath(file).parent) in commands]
            if named and (step.id, later.id) not in WITHOUT_READING:
                assert later.id in dependants(steps, {step.id}), named


WITHOUT_READING = {
    ("model", "repository"),  # config.pbtxt names the folder, and stays the same whatever is in there
    ("engine", "repository"),
    ("engine-environment", "repository"),
    ("environment", "repository"),
    ("engine-test", "repository"),
    ("check", "checkpoint"),  # the check's notes lie beside the scripts
    ("check", "engine-test"),
    ("check", "repository"),
    ("check", "start"),
    ("engine-test", "engine-environment"),  # its note lies in the server's folder, which containers see
    ("engine-test", "start"),
}


def played(folder: Path, steps: Sequence[Step]) -> Steps:
    """The same steps, each of which only writes a file of its own, and that only if it promises any."""
    return tuple(
        replace(
            step,
            actions=(Write(str(folder / step.id), step.id),),
            done=Done(files=(str(folder / step.id),) if step.done.files else ()),
            image=None,
        )
        for step in steps
    )


def users(steps: Sequence[Step], name: str) -> set[str]:
    """What reads what ``name`` writes, and so on: by following each artefact, not each step."""
    (step,) = (step for step in steps if step.id == name)
    after = steps[steps.index(step) + 1 :]
    direct = {later.id for later in after for artefact in step.writes if artefact in later.reads}
    return direct.union(*(users(steps, each) for each in direct))


def done(events: dict[str, str]) -> set[str]:
    return {name for name, outcome in events.items() if outcome == "done"}


@given(st.data(), plans(), st.sampled_from(["asked", "gone"]))
def test_redoing_a_step_redoes_exactly_what_depends_on_it(data: st.DataObject, steps: Steps, how: str) -> None:
    """By the engine itself, on what is planned for recorded machines and models."""
    check(steps)
    chosen = data.draw(st.sampled_from([step.id for step in steps]))
    always = {step.id for step in steps if not step.done.files}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plan = plan_of(folder / "w", *played(folder, steps))

        async def drive() -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
            first, _ = await events_of(plan)
            second, _ = await events_of(plan)
            if how == "gone":
                (folder / chosen).unlink()
            third, _ = await events_of(plan, redo={chosen} if how == "asked" else set())
            return outcomes(first), outcomes(second), outcomes(third)

        first, second, third = asyncio.run(drive())
    assert done(first) == {step.id for step in steps}
    assert done(second) == always
    again = {chosen} | users(steps, chosen) if how == "asked" or chosen not in always else set()
    assert done(third) == always | again


def test_the_question_reads_what_the_wizard_noted() -> None:
    *_, start, ready, question = planned(IN_IMAGE)
    assert start.writes == (SERVER, ENDPOINT)
    assert (ready.reads, ready.writes) == ((SERVER,), (READY,))
    assert question.reads == (READY, ENDPOINT)


def test_an_adapter_is_an_artefact_whether_fetched_or_given(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text('{"r": 8}')
    steps = planned(IN_IMAGE, options=Options(lora={"fetched": "somebody/adapter", "given": str(tmp_path)}))
    (start,) = (step for step in steps if step.id == "start")
    assert start.reads[-2:] == ("adapter fetched", str(tmp_path))
    assert missing(steps) == []


def test_a_step_is_another_when_what_it_reads_is_made_otherwise() -> None:
    steps = planned(IN_IMAGE)
    changed = tuple(replace(step, actions=()) if step.id == "model" else step for step in steps)
    before, after = fingerprints(steps), fingerprints(changed)
    assert {name for name in before if before[name] != after[name]} == {"model", "start", "ready", "question"}
    # so are those that run in another image of the same name
    first, second = fingerprints(steps, "sha256:1"), fingerprints(steps, "sha256:2")
    assert first != before
    assert {name for name in first if first[name] == second[name]} == {"image", "model", "repository"}
