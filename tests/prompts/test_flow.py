"""Door 2 in a real terminal."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.prompts.fake_journey import FakeJourney, wait_for
from tests.prompts.terminal import CTRL_C, CTRL_D, ENTER, Terminal, command, environment
from tests.values import CPU_HOST
from wizard.kernel.errors import InfeasibleError, UsageError
from wizard.kernel.paths import Workspace
from wizard.plan.questions import load_answers, save_answers
from wizard.prompts.flow import _not_here, conversation, run_prompts

MODEL, ADVICE, PLAN = "Which model?", "run here?", "This is what will be done."


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "work space")


def test_enter_is_enough_to_get_to_the_chat(workspace: Workspace) -> None:
    with Terminal("flow", str(workspace.root)) as terminal:
        terminal.sees("Some CPU, 8 cores")
        for question in (MODEL, ADVICE, PLAN):
            terminal.sees(question)
            terminal.types(ENTER)
        terminal.sees("[1/2] Create the server environment")
        terminal.sees("skipped: done before and unchanged")
        terminal.sees("demo is ready: http://127.0.0.1:8000")
        terminal.sees("> ")
        terminal.types("What is Triton?\r")
        terminal.sees("You asked: What is Triton?")
        terminal.sees("12 tokens · first token after 0.05 s · 220 tokens/s")
        terminal.types("/bye\r")
        assert terminal.ends() == 0
        assert f"triton-wizard down demo --workspace '{workspace.root}'" in terminal.rest
    assert load_answers(workspace) == {}, "nothing is left to go on with"


@pytest.mark.parametrize("at", [MODEL, ADVICE, PLAN])
def test_ctrl_c_at_each_question_keeps_the_answers(workspace: Workspace, at: str) -> None:
    with Terminal("flow", str(workspace.root)) as terminal:
        for question in (MODEL, ADVICE, PLAN):
            terminal.sees(question)
            if question == at:
                break
            terminal.types(ENTER)
        terminal.types(CTRL_C)
        assert terminal.ends() == 130
        assert f"triton-wizard --plain --workspace '{workspace.root}'" in terminal.rest.replace("\r\n", "")
    assert load_answers(workspace) == ({} if at == MODEL else {"model": "demo"})


def test_ctrl_c_in_a_step_stops_it_and_ends(workspace: Workspace) -> None:
    with Terminal("flow", str(workspace.root), "run=hang", "model=demo") as terminal:
        for question in (ADVICE, PLAN):
            terminal.sees(question)
            terminal.types(ENTER)
        terminal.sees("a line of output")
        terminal.types(CTRL_C)
        assert terminal.ends() == 130
        assert "what is done stays done" in terminal.rest
    wait_for(workspace.root / "notes" / "run-stopped")


def test_kept_answers_are_what_enter_means(workspace: Workspace) -> None:
    save_answers(workspace, {"model": "org/small"})
    with Terminal("flow", str(workspace.root)) as terminal:
        terminal.sees(MODEL)
        terminal.types(ENTER)
        terminal.sees("How should org/small run here?")
        terminal.types(CTRL_C)
        assert terminal.ends() == 130


def test_a_wrong_model_is_told_and_asked_again(workspace: Workspace) -> None:
    with Terminal("flow", str(workspace.root)) as terminal:
        terminal.sees(MODEL)
        terminal.types("3\r")
        terminal.sees("A journey (demo), a hub id")
        terminal.types(ENTER)
        terminal.sees("TW-U32")
        terminal.types("org/none\r")
        terminal.sees("TW-M01: there is no model 'org/none'")
        terminal.sees(MODEL)
        terminal.types("2\r")
        terminal.sees("How should org/small run here?")
        terminal.types(CTRL_C)
        assert terminal.ends() == 130


def test_a_model_can_be_typed_where_the_list_is_shown(workspace: Workspace) -> None:
    with Terminal("flow", str(workspace.root)) as terminal:
        terminal.sees(MODEL)
        terminal.types("org/none\r")
        terminal.sees("TW-M01: there is no model 'org/none'")
        terminal.sees(MODEL)
        terminal.types("org/small\r")
        terminal.sees("How should org/small run here?")
        terminal.types(CTRL_C)
        assert terminal.ends() == 130


def test_models_that_are_missing_for_one_reason_are_one_line(tmp_path: Path) -> None:
    large, *silent = (
        replace(FakeJourney(tmp_path).suggestions(CPU_HOST)[-1], title=f"Model {number}", why_not=why)
        for number, why in enumerate(("it needs 40 GiB", *["the hub does not answer"] * 4))
    )
    assert _not_here([large, *silent]) == [
        "Not here: Model 0: it needs 40 GiB",
        "Not here: 4 more models: the hub does not answer",
    ]


def test_commands_name_the_workspace_unless_it_is_the_default_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRITON_WIZARD_HOME", str(tmp_path))
    for root in (tmp_path, tmp_path / "other"):
        run_prompts(Workspace.at(root), model_ref="demo", yes=True, journey=FakeJourney(tmp_path))
    out = capsys.readouterr().out
    assert "triton-wizard down demo\n" in out
    assert f"triton-wizard down demo --workspace {tmp_path / 'other'}\n" in out


def test_wishes_are_asked_checked_and_advised_again(workspace: Workspace) -> None:
    with Terminal("flow", str(workspace.root), "model=demo") as terminal:
        terminal.sees(ADVICE)
        terminal.types("3\r")
        terminal.sees("What matters most?")
        terminal.types(ENTER)
        terminal.sees("How many people at the same time? (4)")
        terminal.types("many\r")
        terminal.sees("TW-U31: users must be a whole number, not 'many'")
        terminal.types("0\r")
        terminal.sees("TW-U32")
        terminal.types("500\r")
        terminal.sees("(the wizard chooses)")
        terminal.types(ENTER)
        terminal.sees("So many do not fit.")
        terminal.sees("--users 100")
        terminal.sees(ADVICE)
        terminal.types(CTRL_C)
        assert terminal.ends() == 130
    assert load_answers(workspace) == {"model": "demo", "goal": "chat", "users": 500}


def test_back_from_the_plan_and_another_model(workspace: Workspace) -> None:
    with Terminal("flow", str(workspace.root), "model=demo") as terminal:
        terminal.sees(ADVICE)
        terminal.types(ENTER)
        terminal.sees(PLAN)
        terminal.types("4\r")
        terminal.sees(ADVICE)
        terminal.types("4\r")
        terminal.sees(MODEL)
        terminal.types(CTRL_C)
        assert terminal.ends() == 130


def test_the_commands_are_shown_and_the_name_is_changed(workspace: Workspace) -> None:
    with Terminal("flow", str(workspace.root), "model=demo") as terminal:
        terminal.sees(ADVICE)
        terminal.types(ENTER)
        terminal.sees(PLAN)
        terminal.types("2\r")
        terminal.sees("$ python3 -m venv 'the env'")
        terminal.sees(PLAN)
        terminal.types("3\r")
        terminal.sees("Name of the server")
        terminal.types("../etc\r")
        terminal.sees("TW-U32")
        terminal.types("mine\r")
        terminal.sees("First port to try")
        terminal.types("666\r")
        terminal.sees("TW-L02: 1 GiB is needed")
        terminal.sees(ADVICE)
        terminal.types(CTRL_C)
        assert terminal.ends() == 130
    assert load_answers(workspace) == {"model": "demo", "name": "mine", "http_port": 666}


def test_a_failed_step_can_be_tried_again(workspace: Workspace) -> None:
    with Terminal("flow", str(workspace.root), "run=fail", "model=demo") as terminal:
        for question in (ADVICE, PLAN):
            terminal.sees(question)
            terminal.types(ENTER)
        terminal.sees("failed after 0.1 s (TW-R03)")
        terminal.sees("TW-R03: step")
        terminal.sees("What now?")
        terminal.types(ENTER)
        terminal.sees("is ready")
        terminal.sees("> ")
        terminal.types(CTRL_D)
        assert terminal.ends() == 0


def test_a_plan_for_another_machine_is_only_shown(workspace: Workspace) -> None:
    with Terminal("flow", str(workspace.root), "model=demo", "hardware=cpu") as terminal:
        terminal.sees(ADVICE)
        terminal.types(ENTER)
        terminal.sees("Made for cpu, not for this machine")
        terminal.sees("Done: it cannot be run here")
        terminal.types(ENTER)
        assert terminal.ends() == 0


def test_a_small_terminal_is_enough(workspace: Workspace) -> None:
    with Terminal("flow", str(workspace.root), size=(15, 40)) as terminal:
        for question in (MODEL, "run here?", "This is what will be"):
            terminal.sees(question)
            terminal.types(ENTER)
        terminal.sees("is ready")
        terminal.sees("> ")
        terminal.types(CTRL_D)
        assert terminal.ends() == 0


@pytest.mark.parametrize("term", ["dumb", "xterm-256color"])
def test_every_terminal_gets_numbers_and_no_escapes(workspace: Workspace, term: str) -> None:
    with Terminal("flow", str(workspace.root), TERM=term, NO_COLOR="1") as terminal:
        seen = []
        for question, answer in ((MODEL, "7\r"), ("TW-U35", "1\r"), (ADVICE, "two\r"), ("TW-U35", "2\r"), (PLAN, "\r")):
            terminal.sees(question)
            seen.append(terminal.child.before)
            terminal.sees("):")
            terminal.types(answer)
        terminal.sees("[1/2]")
        seen.append(terminal.child.before)
        terminal.sees("is ready")
        terminal.sees("> ")
        terminal.types(CTRL_D)
        assert terminal.ends() == 0
    assert "\x1b" not in "".join(seen)


def test_a_gated_model_asks_for_the_token_unseen_and_never_writes_it(workspace: Workspace) -> None:
    token = "hf_" + "x" * 24
    with Terminal("flow", str(workspace.root), "model=org/gated") as terminal:
        terminal.sees("Your Hugging Face token")
        terminal.types(token + "\r")
        terminal.sees(ADVICE)
        assert token not in (terminal.child.before or "")
        terminal.types(CTRL_C)
        assert terminal.ends() == 130
    written = [path.read_text() for path in workspace.root.rglob("*") if path.is_file()]
    assert written
    assert not [text for text in written if token in text]


# -- without a terminal ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "flag"), [((), "MODEL"), (("model=demo",), "--yes")], ids=["no model", "not accepted"]
)
def test_without_a_terminal_it_fails_and_names_the_flag(
    workspace: Workspace, options: tuple[str, ...], flag: str
) -> None:
    done = subprocess.run(
        command("flow", str(workspace.root), *options),
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "TW-U33" in done.stderr
    assert flag in done.stderr


def test_yes_needs_no_terminal(workspace: Workspace) -> None:
    done = subprocess.run(
        [*command("flow", str(workspace.root), "yes="), "run=ready"],
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "[2/2] Write the model repository … done in 0.1 s" in done.stdout
    assert "\x1b" not in done.stdout
    assert "\r" not in done.stdout


def test_yes_with_standard_input_closed(workspace: Workspace) -> None:
    done = subprocess.run(
        ["sh", "-c", '"$@" <&-', "sh", *command("flow", str(workspace.root), "yes=")],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_yes_raises_what_nobody_can_be_asked_about(workspace: Workspace, tmp_path: Path) -> None:
    class NothingFits(FakeJourney):
        def suggestions(self, host: object, *, offline: bool = False) -> list:  # type: ignore[override,type-arg]
            return [one for one in super().suggestions(host, offline=offline) if not one.usable]  # type: ignore[arg-type]

    with pytest.raises(UsageError) as raised:
        run_prompts(workspace, yes=True, journey=NothingFits(tmp_path))
    assert raised.value.code == "TW-U04"
    with pytest.raises(InfeasibleError):
        run_prompts(workspace, model_ref="demo", answers={"users": 500}, yes=True, journey=FakeJourney(tmp_path))


def test_answers_go_before_the_journeys_own(tmp_path: Path) -> None:
    made = conversation({"seed": 3, "temperature": 0.5, "system": "Be brief.", "users": 2})
    assert (made.sampling.seed, made.sampling.temperature, made.sampling.max_tokens) == (3, 0.5, 512)
    assert [(message.role, message.content) for message in made.messages] == [("system", "Be brief.")]
    assert conversation({}).sampling.temperature is None
