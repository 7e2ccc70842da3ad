"""A workshop on the command line: refused before anything is shown, or followed by every command."""

from __future__ import annotations

import argparse
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.test_cli import wizard
from tests.tui.fake_journey import FakeJourney
from tests.tui.values import CPU_HOST, ENDPOINT, FACTS, WORKSPACE, choice
from wizard.advise.advice import Constraints
from wizard.catalog.workshops import Workshop
from wizard.chat.settings import conversation
from wizard.cli.parser import parser
from wizard.cli.stages import workspace_of
from wizard.cli.web import command
from wizard.cli.workshop import Pinned, attend, explanations_of
from wizard.kernel import language
from wizard.kernel.errors import UsageError
from wizard.kernel.paths import Workspace

LAB = """
title = "Lab"
language = "ko"
ports_per_seat = 10
shared_workspace = true

[pin]
model = "demo"
users = 2
"""


@pytest.fixture
def lab(tmp_path: Path) -> str:
    path = tmp_path / "lab.toml"
    path.write_text(LAB, encoding="utf-8")
    return str(path)


def parsed(*words: str) -> tuple[argparse.Namespace, Workshop | None]:
    """The command line and the workshop in it."""
    arguments = parser().parse_args(words)
    arguments.attended = attend(arguments)
    return arguments, arguments.attended


def test_no_workshop_unless_it_is_named() -> None:
    arguments, attended = parsed()
    assert attended is None
    assert explanations_of(arguments) is None
    assert explanations_of(parsed("--explain")[0]) == Workshop()


def test_a_workshop_by_its_name_explains() -> None:
    arguments, attended = parsed("--workshop", "first-server")
    assert attended is not None
    assert attended.pin["model"] == "demo"
    assert explanations_of(arguments) == attended


def test_a_seat_has_its_ports_its_workspace_and_its_language(lab: str) -> None:
    arguments, attended = parsed("--workshop", lab, "--seat", "3")
    assert attended is not None
    assert attended.pin["http_port"] == 8030
    base = Workspace.at(None).root
    assert workspace_of(arguments).root == base.with_name(f"{base.name}-seat-3")
    assert language.used() == "ko"


def test_a_flag_goes_before_the_workshops_language_and_workspace(lab: str, tmp_path: Path) -> None:
    arguments, _ = parsed("--workshop", lab, "--language", "en", "--workspace", str(tmp_path / "mine"))
    assert workspace_of(arguments).root == tmp_path / "mine"
    assert language.used() == "en"


def test_variables_stand_for_both_flags_in_every_command(lab: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_WIZARD_WORKSHOP", lab)
    monkeypatch.setenv("TRITON_WIZARD_SEAT", "4")
    for words in ((), ("status",), ("down", "demo")):
        arguments, attended = parsed(*words)
        assert attended is not None
        assert attended.pin["http_port"] == 8040
        assert workspace_of(arguments).root.name.endswith("-seat-4")
    assert parsed("--seat", "5")[0].workspace.endswith("-seat-5"), "a flag goes before a variable"


@pytest.mark.parametrize("text", ["two", "-1", "1.5", ""])
def test_a_seat_is_a_number(lab: str, text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parsed("--workshop", lab, f"--seat={text}")
    assert caught.value.code == "TW-U53"


def test_a_seat_without_a_workshop_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        parsed("--seat", "1")
    assert caught.value.code == "TW-U54"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--workshop", "nowhere"), "TW-D20"),
        (("--workshop", "first-server", "--seat", "6000"), "TW-U51"),
        (("up", "tutorial-000", "--workshop", "first-server", "--yes"), "TW-U50"),
        (("plan", "demo", "--workshop", "first-server", "--name", "other"), "TW-U50"),
        (("plan", "demo", "--workshop", "first-server", "--http-port", "9000"), "TW-U50"),
    ],
)
def test_an_impossible_request_is_reported_before_anything_else(words: tuple[str, ...], code: str) -> None:
    done = wizard(*words)
    assert done.returncode == 2
    assert done.stderr.startswith(code)
    assert done.stdout == ""


def test_a_plan_follows_the_workshop_and_explains_each_step() -> None:
    done = wizard("plan", "demo", "--workshop", "first-server", "--seat", "2", "--hardware", "cpu")
    assert done.returncode == 0, done.stderr
    assert "as 'first-server'" in done.stdout
    first = re.search(r"--http-port=(\d+)", done.stdout)
    assert first
    assert int(first[1]) >= 8020  # another program may hold some of the seat's ports
    assert "What happens: " in done.stdout
    assert "From your facilitator: This is the longest step." in done.stdout.replace("\n     ", " ")


def test_a_plan_explains_itself_without_a_workshop_too() -> None:
    plain, taught = (wizard("plan", "demo", "--hardware", "cpu", *flag).stdout for flag in ((), ("--explain",)))
    assert "What happens" not in plain
    assert taught.count("What happens: ") == 6
    assert [line for line in taught.splitlines() if line in plain.splitlines()] == plain.splitlines()


def test_the_wizard_in_a_browser_gets_the_workshop(lab: str) -> None:
    words = command(parsed("--explain", "web", "--workshop", lab, "--seat", "3")[0])
    again = parser().parse_args(words[3:])
    assert again.workshop == lab
    assert again.seat == "3"
    assert again.explain
    assert workspace_of(again).root.name.endswith("-seat-3")


# -- the journey with pins ---------------------------------------------------------------------------------------------


def pinned(**pin: object) -> tuple[Pinned, FakeJourney]:
    journey = FakeJourney()
    return Pinned(journey, Workshop("Lab", pin=pin)), journey


def test_only_the_pinned_model_is_offered_found_and_read() -> None:
    mine, journey = pinned(model="demo")
    assert [suggestion.ref for suggestion in mine.suggestions(CPU_HOST)] == ["demo"]
    assert [recipe.name for recipe in mine.recipes()] == ["demo"]
    assert mine.search("qwen") == []
    assert mine.model("demo").ref == "demo"
    with pytest.raises(UsageError) as caught:
        mine.model("org/other")
    assert caught.value.code == "TW-U50"
    assert journey.read == ["demo"]


def test_a_pinned_model_outside_the_suggestions_is_still_offered() -> None:
    (only,) = pinned(model="org/rare")[0].suggestions(CPU_HOST)
    assert (only.ref, only.usable) == ("org/rare", True)


def test_advice_and_plan_keep_to_the_pins() -> None:
    mine, journey = pinned(users=2, name="lab")
    mine.advise(CPU_HOST, FACTS, Constraints(users=7, tp=1))
    assert journey.constraints == [Constraints(users=2, tp=1)]
    assert mine.plan(CPU_HOST, FACTS, choice(), WORKSPACE, name="other").name == "lab"


async def test_the_chat_is_sampled_as_it_is_pinned() -> None:
    mine, journey = pinned(temperature=0.0, system="Be brief.")
    begun = conversation({"temperature": 1.5, "system": "Ramble."})
    async for _ in mine.chat(ENDPOINT, replace(begun)):
        pass
    (asked,) = journey.asked
    assert asked.sampling.temperature == 0.0
    assert asked.system == "Be brief."


def test_what_a_workshop_does_not_touch_is_the_recipes_own() -> None:
    mine, journey = pinned(model="demo")
    assert mine.probe(WORKSPACE) == journey.probe(WORKSPACE)
    assert [suggestion.ref for suggestion in pinned()[0].suggestions(CPU_HOST)] == [
        suggestion.ref for suggestion in journey.suggestions(CPU_HOST)
    ]
