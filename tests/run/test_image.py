"""Which image a name stands for, from what the engines print; `tests/e2e/test_docker.py` asks a real one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.run.runs import events_of, outcomes, touch
from tests.values import plan_of, python_step
from wizard.kernel.errors import ServerError, StepError
from wizard.plan.artefacts import IMAGE
from wizard.plan.plan import Command, Done, Estimate, Image, Plan, Step
from wizard.run.events import Event, Output
from wizard.run.image import exact

FAKE_ENGINE = """#!/bin/sh
# FakeEngine: prints what podman-image-inspect(1) and docker's ImageInspect have, for any image
{errors}
cat <<'END'
{output}
END
exit {status}
"""
NAME = "nvcr.io/nvidia/tritonserver:26.07-vllm-python-py3"
ID, DIGEST, OLD = "37e5619f4a8c" + 52 * "0", "sha256:1b0d4ddd99b1" + 52 * "0", "sha256:b5290db40008" + 52 * "0"
INSPECTED = {
    "Id": ID,
    "Digest": DIGEST,
    "RepoTags": [NAME],
    "RepoDigests": [
        f"mirror.example/nvidia/tritonserver@{OLD}",
        f"nvcr.io/nvidia/tritonserver@{DIGEST}",
        f"nvcr.io/nvidia/tritonserver@{OLD}",
    ],
    "Size": 183852302,
}


@pytest.fixture
def inspect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def made(output: str, *, errors: str = "", status: int = 0) -> None:
        for name in ("docker", "podman"):
            (tmp_path / name).write_text(FAKE_ENGINE.format(output=output, errors=errors, status=status))
            (tmp_path / name).chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    return made


async def test_an_image_from_a_registry_has_its_digest(inspect: Callable[..., None]) -> None:
    inspect(json.dumps([INSPECTED], indent=4), errors="echo 'WARN[0000] [\"/\"] is not a shared mount' >&2")
    identified = await exact(Image("podman", NAME))
    assert (identified.name, identified.id, identified.size) == (NAME, f"sha256:{ID}", 183852302)
    assert identified.reference == f"{NAME}@{DIGEST}"
    assert identified.state == (183852302, 0x37E5619F4A8C)
    assert (await exact(Image("podman", f"{NAME}@{OLD}"))).reference == f"{NAME}@{OLD}"
    untagged = await exact(Image("podman", "mirror.example/nvidia/tritonserver"))
    assert untagged.reference == f"mirror.example/nvidia/tritonserver@{OLD}"


@pytest.mark.parametrize("digests", [[], None, [f"localhost:5000/tritonserver@{DIGEST}"]])
async def test_an_image_from_no_registry_has_only_its_id(
    inspect: Callable[..., None], digests: list[str] | None
) -> None:
    inspect(json.dumps([{**INSPECTED, "Id": f"sha256:{ID}", "RepoDigests": digests}], indent=4))
    identified = await exact(Image("docker", NAME))
    assert (identified.id, identified.reference) == (f"sha256:{ID}", NAME)


@pytest.mark.parametrize(
    ("output", "why"),
    [
        ("[]\nError: No such image: x", "No such image: x"),
        ("", "exit status 1"),
        ("[\n{}\n]", "]"),
        ('[\n{"Id": "37e5", "Size": 1, "RepoDigests": []}\n]', "]"),
        ("[\n1\n]", "]"),
    ],
)
async def test_one_that_cannot_be_identified_is_an_error(inspect: Callable[..., None], output: str, why: str) -> None:
    inspect(output, status=1)
    with pytest.raises(StepError, match="cannot identify the image") as caught:
        await exact(Image("docker", NAME))
    assert caught.value.code == "TW-R110"
    assert caught.value.what.endswith(why)


async def test_an_engine_that_is_gone_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StepError, match="No such file or directory"):
        await exact(Image("docker", NAME))


@pytest.mark.parametrize(
    ("engine", "name"), [("/tmp/evil", NAME), ("docker", ""), ("docker", "--all"), ("podman", "a\0")]
)
def test_a_plan_cannot_name_another_program(engine: str, name: str) -> None:
    with pytest.raises(ValueError, match="image"):
        Image(engine, name)


def printed(identity: str) -> str:
    return json.dumps([{**INSPECTED, "Id": identity, "RepoDigests": []}], indent=4)


def in_image(folder: Path) -> Plan:
    """A step that gets an image, and one that runs in it."""
    pull = Command(("docker", "image", "inspect", NAME))
    image = Step("image", "Get it", "", (pull,), Done(), Estimate(1), writes=(IMAGE,), image=Image("docker", NAME))
    return plan_of(folder / "w", image, python_step("one", touch(folder / "made"), folder / "made", reads=(IMAGE,)))


def reported(events: list[Event]) -> bool:
    lines = [line for event in events if isinstance(event, Output) for line in event.lines]
    return any("is not the image of the last run" in line for line in lines)


async def test_what_is_to_be_done_again_is_not_forgotten_while_the_engine_does_not_answer(
    tmp_path: Path, inspect: Callable[..., None]
) -> None:
    plan = in_image(tmp_path)
    inspect(printed(ID))
    await events_of(plan)
    inspect("", status=1)
    events, error = await events_of(plan, redo={"one"})
    assert outcomes(events) == {"image": "failed"}
    assert isinstance(error, StepError)
    inspect(printed(ID))
    assert outcomes((await events_of(plan))[0]) == {"image": "done", "one": "done"}
    assert outcomes((await events_of(plan))[0]) == {"image": "done", "one": "skipped"}


async def test_a_moved_tag_is_told_once_also_if_its_step_is_skipped(
    tmp_path: Path, inspect: Callable[..., None]
) -> None:
    plan = in_image(tmp_path)
    inspect(printed(ID))
    assert not reported((await events_of(plan))[0])
    inspect(printed(ID[::-1]))
    events, _ = await events_of(plan, skip={"image"})
    assert outcomes(events) == {"image": "omitted", "one": "done"}
    assert reported(events)
    events, error = await events_of(plan)
    assert outcomes(events) == {"image": "done", "one": "skipped"}
    assert isinstance(error, ServerError)  # only because these steps start none
    assert not reported(events)


async def test_a_skipped_image_that_cannot_be_identified_fails_its_step(
    tmp_path: Path, inspect: Callable[..., None]
) -> None:
    inspect("", status=1)
    events, error = await events_of(in_image(tmp_path), skip={"image"})
    assert outcomes(events) == {"image": "failed"}
    assert isinstance(error, StepError)
    assert error.code == "TW-R110"
