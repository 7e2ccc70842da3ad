"""The plain prompts in a real terminal."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest

from tests.prompts.fake_journey import MEASUREMENT, FakeJourney
from tests.prompts.terminal import ADVICE, CTRL_C, CTRL_D, ENTER, MODEL, PLAN, UP, Flow, Terminal
from tests.values import CHOICE, CPU_HOST
from wizard.advise.advice import Advice
from wizard.doctor.finding import failed, passed, warned
from wizard.kernel.errors import CancelledError
from wizard.kernel.paths import Workspace
from wizard.kernel.program import command
from wizard.kernel.values import from_json
from wizard.plan.answers import load_answers, save_answers
from wizard.plan.plan import Plan
from wizard.plan.questions import BY_NAME
from wizard.prompts import beginning
from wizard.prompts.flow import run_prompts
from wizard.prompts.options import setup_options
from wizard.prompts.speech import fitted
from wizard.prompts.value_text import measured_text


def test_leaving_prints_the_command_that_was_typed(
    workspace: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr("sys.stdin", io.StringIO())
    typed = "triton-wizard --workshop first-server --seat 2 --plain"
    assert run_prompts(workspace, journey=FakeJourney(workspace.root), again=typed) == 130
    assert capsys.readouterr().err.endswith(f"Continue with:\n  $ {typed}\n")


def test_a_problem_of_this_machine_is_one_line(workspace: Workspace) -> None:
    journey = FakeJourney(workspace.root)
    assert beginning.text(journey, workspace, CPU_HOST) == "Press Ctrl-C to exit at any time; your answers are saved.\n"
    journey.findings = (
        warned("disk.low", free_bytes=9 << 30, path="/data"),
        failed("shm.missing"),
        passed("driver.works", version="580", cuda="13.0"),
    )
    first, details, *rest = beginning.text(journey, workspace, CPU_HOST).splitlines()
    assert first == "Problem: Shared memory: there is no /dev/shm (and 1 more)"
    assert f"`{command('doctor', workspace=workspace)}`" in details
    assert rest == ["", "Press Ctrl-C to exit at any time; your answers are saved.", ""][: len(rest)]
    elsewhere = beginning.text(journey, workspace, replace(CPU_HOST, source="4xH100"))
    assert elsewhere.startswith("Press Ctrl-C")


def test_enter_is_enough_to_get_to_the_chat(flow: Flow, workspace: Workspace) -> None:
    terminal = flow()
    terminal.sees("Some CPU, 8 cores")
    terminal.accepts(MODEL, ADVICE, PLAN)
    terminal.sees("Step 1 of 2: Create the server environment")
    terminal.sees("Step 1 of 2: skipped: already done and unchanged")
    terminal.sees("demo is ready: http://127.0.0.1:8000")
    for line in fitted(measured_text(MEASUREMENT)).splitlines():
        terminal.sees(line)
    terminal.sees("> ")
    terminal.types("What is Triton?\r")
    terminal.sees("You asked: What is Triton?")
    terminal.sees("220.0 tokens per second, TTFT 50 milliseconds, 12 tokens")
    printed = terminal.says_bye()
    assert terminal.ends() == 0
    assert f"/triton-wizard --workspace '{workspace.root}' down demo" in printed
    assert load_answers(workspace) == {}, "nothing is left to go on with"


def test_what_a_plan_says_to_type_can_be_pasted(
    workspace: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Saying(FakeJourney):
        def plan(self, *about, **how):  # type: ignore[no-untyped-def,override]
            return replace(super().plan(*about, **how), notes=("`triton-wizard down` ends it.",))

    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr("sys.stdin", io.StringIO("1\n1\n2\n"))  # the model, the way, every command; then it is left
    assert run_prompts(workspace, journey=Saying(workspace.root)) == 130
    assert capsys.readouterr().out.count(f"`{command('down', workspace=workspace)}`") == 2


def test_a_server_that_was_stopped_elsewhere_is_not_reported_as_running(flow: Flow) -> None:
    terminal = flow("chat=down")
    terminal.accepts(MODEL, ADVICE, PLAN)
    terminal.sees("Stop it:")
    terminal.sees("> ")
    terminal.types("/bye\r")
    assert terminal.ends() == 0
    assert "keeps running" not in terminal.rest
    assert "What now?" not in terminal.rest, "there is nothing to measure"


def test_a_server_that_was_started_again_elsewhere_is_reported_as_running(flow: Flow) -> None:
    terminal = flow("chat=moved")
    terminal.accepts(MODEL, ADVICE, PLAN)
    terminal.sees("Stop it:")
    terminal.sees("> ")
    terminal.types("What is Triton?\r")
    terminal.sees("http://127.0.0.1:9000.")
    terminal.sees("> ")
    printed = terminal.says_bye()
    assert terminal.ends() == 0
    assert "keeps running" in printed


@pytest.mark.parametrize("at", [MODEL, ADVICE, PLAN])
def test_ctrl_c_at_each_question_keeps_the_answers(flow: Flow, workspace: Workspace, at: str) -> None:
    terminal = flow()
    for question in (MODEL, ADVICE, PLAN):
        terminal.sees(question)
        if question == at:
            break
        terminal.types(ENTER)
    terminal.leaves()
    again = f"/triton-wizard --workspace '{workspace.root}' --plain"
    assert again in terminal.rest.replace("\r\n", "")
    assert load_answers(workspace) == ({} if at == MODEL else {"model": "demo"})


def test_ctrl_c_in_a_step_stops_it_and_ends(flow: Flow, workspace: Workspace) -> None:
    terminal = flow("run=hang", "model=demo")
    terminal.accepts(ADVICE, PLAN)
    terminal.sees("Step 2 of 2: Create the model repository")
    terminal.leaves()
    assert "completed steps are kept" in terminal.rest
    assert (workspace.root / "notes" / "run-stopped").exists()


def test_kept_answers_are_what_enter_means(flow: Flow, workspace: Workspace) -> None:
    save_answers(workspace, {"model": "org/small"})
    terminal = flow()
    terminal.accepts(MODEL)
    terminal.sees("How should org/small run on this machine?")
    terminal.leaves()


def test_commands_name_the_workspace_unless_it_is_the_default_one(tmp_path: Path) -> None:
    answers = ("model=demo",)
    for root, where in ((tmp_path, ""), (tmp_path / "other", f"--workspace {tmp_path / 'other'} ")):
        with Terminal("flow", str(root), *answers, TRITON_WIZARD_HOME=str(tmp_path), size=(24, 200)) as terminal:
            for question in (ADVICE, PLAN):
                terminal.sees(question)
                terminal.types(ENTER)
            terminal.sees(f"/triton-wizard {where}down demo\r\n")


def test_a_changed_constraint_is_checked_and_advised_again(flow: Flow, workspace: Workspace) -> None:
    terminal = flow("model=demo")
    terminal.sees(ADVICE)
    terminal.types("3\r")
    terminal.sees("What do you want to change?")
    terminal.sees("Number of concurrent users: 4")
    terminal.sees("Tensor parallel size: the wizard chooses")
    terminal.types("2\r")
    terminal.sees("Number of concurrent users (Enter: 4):")
    terminal.types("many\r")
    terminal.sees("TW-U31: users must be an integer, not 'many'")
    terminal.types("0\r")
    terminal.sees("TW-U32")
    terminal.types("5000\r")
    terminal.sees("So many do not fit.")
    terminal.sees("What to do: 100 users")
    terminal.sees(ADVICE)
    terminal.types("2\r")
    terminal.sees("Number of concurrent users: 5,000")
    terminal.leaves()
    assert load_answers(workspace) == {"model": "demo", "users": 5000}


@pytest.mark.parametrize(
    ("number", "typed", "constraint"),
    [
        (1, "5\r", {"goal": "quality"}),
        (3, "900\r", {"max_len": 900}),
        (4, "fp8\r", {"quantization": "fp8"}),
        (5, "2\r", {"tp": 2}),
        (6, "2\r", {"pp": 2}),
        (7, "1\r", {"dp": 1}),
        (8, "y\r", {"expert_parallel": True}),
        (9, "2\r", {"speculative": "ngram"}),
        (10, "me/eagle3\r", {"draft": "me/eagle3"}),
        (11, "3\r", {"kv_dtype": "fp8"}),
        (12, "2\r", {"stack": "vllm"}),
        (15, "y\r", {"as_published": True}),
    ],
)
def test_every_constraint_can_be_changed(
    flow: Flow, workspace: Workspace, number: int, typed: str, constraint: dict[str, object]
) -> None:
    terminal = flow("model=demo", TERM="dumb")
    (name,) = constraint
    for question, answer in (
        (ADVICE, "3\r"),
        ("What do you want to change?", f"{number}\r"),
        (BY_NAME[name].text, typed),
    ):
        terminal.sees(question)
        terminal.types(answer)
    terminal.sees(f"Advised for: {name}.")
    terminal.leaves()
    assert load_answers(workspace) == {"model": "demo", **constraint}


def test_an_impossible_setup_is_refused_and_the_nearest_change_offered(flow: Flow, workspace: Workspace) -> None:
    terminal = flow("model=demo", "users=500", "tp=2")
    terminal.sees("So many do not fit.")
    terminal.sees("Use the closest possible setup: 100 users")
    terminal.types(ENTER)
    terminal.sees("100 users at a time")
    terminal.accepts(ADVICE)
    terminal.sees(PLAN)
    terminal.leaves()
    assert load_answers(workspace) == {"model": "demo", "users": 100, "tp": 2}


def test_all_constraints_can_be_taken_back(flow: Flow, workspace: Workspace) -> None:
    terminal = flow("model=demo", "users=7", "tp=2")
    terminal.sees("7 users at a time")
    terminal.sees(ADVICE)
    terminal.types("3\r")
    terminal.sees("Maximum time to first token")
    terminal.types(UP + UP + ENTER)
    terminal.sees("4 users at a time")
    terminal.sees(ADVICE)
    terminal.leaves()
    assert load_answers(workspace) == {"model": "demo"}


def test_back_from_the_plan_and_another_model(flow: Flow) -> None:
    terminal = flow("model=demo")
    terminal.accepts(ADVICE)
    terminal.sees(PLAN)
    terminal.types("4\r")
    terminal.sees(ADVICE)
    terminal.types("4\r")
    terminal.sees(MODEL)
    terminal.leaves()


def test_the_commands_are_shown_and_the_name_is_changed(flow: Flow, workspace: Workspace) -> None:
    terminal = flow("model=demo")
    terminal.accepts(ADVICE)
    terminal.sees(PLAN)
    terminal.types("2\r")
    terminal.sees("$ python3 -m venv 'the env'")
    terminal.sees(PLAN)
    terminal.types("3\r")
    terminal.sees("Server name")
    terminal.types("../etc\r")
    terminal.sees("TW-U32")
    terminal.types("mine\r")
    terminal.sees("First port to try")
    terminal.types("666\r")
    terminal.sees("TW-L02: 1 gibibyte is needed")
    terminal.sees(ADVICE)
    terminal.leaves()
    assert load_answers(workspace) == {"model": "demo", "name": "mine", "http_port": 666}


def test_a_plan_for_another_machine_is_only_shown(flow: Flow) -> None:
    terminal = flow("model=demo", "hardware=cpu")
    terminal.accepts(ADVICE)
    terminal.sees("This plan is for cpu, not this machine")
    terminal.sees("Finish; this plan cannot run on this machine")
    terminal.types(ENTER)
    assert terminal.ends() == 0


def test_the_numbers_are_explained_and_asked_for_again(flow: Flow) -> None:
    terminal = flow("model=demo")
    terminal.sees(ADVICE)
    terminal.types("5" + ENTER)
    terminal.sees("Explanation of these figures:")
    terminal.sees("2 × 4 layers × 2 KV heads × 64 × 2 bytes")
    terminal.sees(ADVICE)
    terminal.leaves()


def test_the_pareto_front_is_shown_and_asked_again(flow: Flow) -> None:
    terminal = flow("model=demo")
    terminal.sees(ADVICE)
    terminal.types("6" + ENTER)
    terminal.sees("Pareto front")
    terminal.sees("probe --measure")
    terminal.sees(ADVICE)
    terminal.leaves()


def test_all_choices_are_shown_when_requested() -> None:
    advice = Advice(True, tuple(replace(CHOICE, max_batch_size=users) for users in range(1, 12)))
    few, all_of_them = setup_options(advice, 8), setup_options(advice, 11)
    assert [text for text, _ in few[8:]] == ["Show all 11 setups", *(text for text, _ in all_of_them[11:])]
    assert [choice for _, choice in all_of_them[:11]] == list(advice.choices)


def test_a_server_that_runs_is_offered_first(flow: Flow) -> None:
    terminal = flow("running=demo")
    terminal.sees("Chat with demo, running at http://127.0.0.1:8000")
    terminal.types(ENTER)
    terminal.sees("Ask demo anything.")
    terminal.sees("> ")
    terminal.says_bye(CTRL_D)
    assert terminal.ends() == 0


def test_a_build_that_runs_is_offered_first_and_leads_to_the_chat(flow: Flow) -> None:
    terminal = flow("running=build")
    terminal.sees("See the progress of demo")
    terminal.types(ENTER)
    terminal.sees("Ctrl-C leaves this view, and the build continues.")
    terminal.sees("Step 1 of 2")
    terminal.sees("Ask demo anything.")
    terminal.sees("> ")
    terminal.says_bye(CTRL_D)
    assert terminal.ends() == 0


def test_leaving_the_view_of_a_build_says_that_it_continues(flow: Flow) -> None:
    terminal = flow("running=build", "run=hang")
    terminal.sees("See the progress of demo")
    terminal.types(ENTER)
    terminal.sees("Step 2 of 2")
    terminal.types(CTRL_C)
    terminal.sees("TW-R102: you left the view; the build of demo continues")
    assert terminal.ends() == CancelledError.exit_code


def test_a_server_of_another_program_is_offered_and_not_stopped_by_the_wizard(flow: Flow) -> None:
    terminal = flow("running=ollama")
    terminal.sees("Chat with qwen3:4b, running at 127.0.0.1:11434 (Ollama; 1 more model)")
    terminal.types(ENTER)
    terminal.sees("chat --url http://127.0.0.1:11434/v1 --model qwen3:4b")
    terminal.sees("Ask qwen3:4b anything.")
    assert "down" not in (terminal.child.before or "")
    terminal.sees("> ")
    printed = terminal.says_bye(CTRL_D)
    assert terminal.ends() == 0
    assert "keeps running" not in printed


def test_another_machine_s_plan_offers_no_server_of_this_one(flow: Flow) -> None:
    terminal = flow("running=demo", "hardware=cpu")
    terminal.sees(MODEL)
    assert "Talk to demo" not in (terminal.child.before or "")
    terminal.leaves()


@pytest.mark.parametrize(
    ("number", "name", "first"),
    [(1, "go.sh", "#!/usr/bin/env bash"), (2, "plan.json", "{"), (3, "mine.toml", "# Answers")],
)
def test_the_plan_is_saved_and_a_file_is_never_overwritten(
    flow: Flow, tmp_path: Path, number: int, name: str, first: str
) -> None:
    file = tmp_path / name
    terminal = flow("model=demo")
    terminal.accepts(ADVICE)
    for message in ("Saved to", "TW-U48:"):  # a long path begins a line of its own
        terminal.sees(PLAN)
        terminal.types("5\r")
        terminal.sees("Which format?")
        terminal.types(f"{number}\r")
        terminal.sees("File to write")
        terminal.types(f"{file}\r")
        terminal.sees(message)
        assert file.read_text().startswith(first)
    terminal.leaves()
    if name == "plan.json":
        assert from_json(Plan, file.read_text(), where="it").facts.ref == "demo"


def test_the_chat_s_settings_are_asked_before_it(flow: Flow, workspace: Workspace) -> None:
    terminal = flow("model=demo", TERM="dumb")
    terminal.accepts(ADVICE)
    terminal.sees(PLAN)
    terminal.types("6\r")
    for question, answer in (("System prompt", "Be kind.\r"), ("Temperature", "0\r"), ("Maximum answer length", "7\r")):
        terminal.sees(question)
        terminal.types(answer)
    terminal.sees(PLAN)
    assert "Plan: serve" not in str(terminal.child.before), "it is as it was"
    terminal.leaves()
    assert load_answers(workspace) == {"model": "demo", "system": "Be kind.", "temperature": 0.0, "max_tokens": 7}
