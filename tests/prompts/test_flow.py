"""Door 2 in a real terminal."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import pyte
import pytest

from tests.prompts.fake_journey import FAILURE, MEASUREMENT, FakeJourney
from tests.prompts.terminal import CTRL_D, DOWN, ENTER, UP, Terminal
from tests.values import CHOICE, CPU_HOST
from wizard.advise.advice import Advice
from wizard.kernel.paths import Workspace
from wizard.kernel.values import from_json
from wizard.plan.answers import load_answers, save_answers
from wizard.plan.plan import Plan
from wizard.plan.questions import BY_NAME
from wizard.prompts.flow import run_prompts
from wizard.prompts.options import not_here, suggestion, ways
from wizard.prompts.show import measured_text
from wizard.prompts.speech import fitted, spoken

Flow: TypeAlias = Callable[..., Terminal]
MODEL, ADVICE, PLAN = "Which model?", "run here?", "This is what will be done."


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "work space")


@pytest.fixture
def flow(workspace: Workspace) -> Iterator[Flow]:
    """Begins the questions in a terminal of their own, with these answers given."""
    with ExitStack() as stack:
        yield lambda *given, **more: stack.enter_context(Terminal("flow", str(workspace.root), *given, **more))


def test_whoever_leaves_is_told_the_command_that_was_typed(
    workspace: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr("sys.stdin", io.StringIO())
    command = "triton-wizard --workshop first-server --seat 2 --plain"
    assert run_prompts(workspace, journey=FakeJourney(workspace.root), again=command) == 130
    assert capsys.readouterr().err.endswith(f"Go on with:\n  $ {command}\n")


def test_enter_is_enough_to_get_to_the_chat(flow: Flow, workspace: Workspace) -> None:
    terminal = flow()
    terminal.sees("Some CPU, 8 cores")
    terminal.accepts(MODEL, ADVICE, PLAN)
    terminal.sees("Step 1 of 2: Create the server environment")
    terminal.sees("Step 1 of 2: skipped: done before and unchanged")
    terminal.sees("demo is ready: http://127.0.0.1:8000")
    for line in fitted(measured_text(MEASUREMENT)).splitlines():
        terminal.sees(line)
    terminal.sees("> ")
    terminal.types("What is Triton?\r")
    terminal.sees("You asked: What is Triton?")
    terminal.sees("220.0 tokens per second, first token 50 milliseconds, 12 tokens")
    terminal.types("/bye\r")
    assert terminal.ends() == 0
    assert f"/triton-wizard --workspace '{workspace.root}' down demo" in terminal.rest
    assert load_answers(workspace) == {}, "nothing is left to go on with"


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
    terminal.sees("Step 2 of 2: Write the model repository")
    terminal.leaves()
    assert "what is done stays done" in terminal.rest
    assert (workspace.root / "notes" / "run-stopped").exists()


def test_kept_answers_are_what_enter_means(flow: Flow, workspace: Workspace) -> None:
    save_answers(workspace, {"model": "org/small"})
    terminal = flow()
    terminal.accepts(MODEL)
    terminal.sees("How should org/small run here?")
    terminal.leaves()


def test_a_wrong_model_is_told_and_asked_again(flow: Flow) -> None:
    terminal = flow()
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
    terminal.leaves()


def test_a_word_searches_the_hub_and_a_search_that_fails_leads_back_to_the_list(flow: Flow) -> None:
    terminal = flow()
    terminal.sees(MODEL)
    terminal.types("down\r")
    terminal.sees("TW-M13")
    terminal.sees(MODEL)
    terminal.types("nothing\r")
    terminal.sees("The hub has no model for text whose name holds nothing.")
    terminal.sees(MODEL)
    terminal.types("small\r")
    terminal.sees("Which of these?")
    terminal.sees("tight: 4 people with 2,048 tokens")
    terminal.types(ENTER)
    terminal.sees("How should org/small run here?")
    terminal.leaves()


def test_a_ready_journey_is_offered_and_the_way_back(flow: Flow) -> None:
    terminal = flow(TERM="dumb")
    for answer in ("2\r", "1\r"):
        terminal.sees(MODEL)
        terminal.types("4\r")
        terminal.sees("Which journey do you want to take?")
        terminal.sees("1) Offline demo, made for any machine")
        terminal.types(answer)
    terminal.sees("How should demo run here?")
    terminal.leaves()


def test_a_model_can_be_typed_where_the_list_is_shown(flow: Flow) -> None:
    terminal = flow()
    terminal.sees(MODEL)
    terminal.types("org/none\r")
    terminal.sees("TW-M01: there is no model 'org/none'")
    terminal.sees(MODEL)
    terminal.types("org/small\r")
    terminal.sees("How should org/small run here?")
    terminal.leaves()


@pytest.mark.parametrize("pasted", ["org/none", " org/none\n", "org/none\r\n"])
def test_what_is_pasted_at_a_menu_is_typed_into_the_line_below(flow: Flow, pasted: str) -> None:
    terminal = flow()
    terminal.sees(MODEL)
    terminal.sees("takes the marked one)")
    terminal.pastes(pasted)
    terminal.sees("or press Enter for 1: ")
    terminal.sees("org/none")
    terminal.types(ENTER)
    terminal.sees("there is no model 'org/none'")
    terminal.leaves()


def test_models_that_are_missing_for_one_reason_are_one_line(tmp_path: Path) -> None:
    large, *silent = (
        replace(FakeJourney(tmp_path).suggestions(CPU_HOST)[-1], title=f"Model {number}", why_not=why)
        for number, why in enumerate(("it needs 40 GiB", *["the hub does not answer"] * 4))
    )
    assert not_here([large, *silent]) == [
        "Not here: Model 0: it needs 40 GiB",
        "Not here: 4 more models: the hub does not answer",
    ]


def test_commands_name_the_workspace_unless_it_is_the_default_one(tmp_path: Path) -> None:
    answers = ("model=demo",)
    for root, where in ((tmp_path, ""), (tmp_path / "other", f"--workspace {tmp_path / 'other'} ")):
        with Terminal("flow", str(root), *answers, TRITON_WIZARD_HOME=str(tmp_path), size=(24, 200)) as terminal:
            for question in (ADVICE, PLAN):
                terminal.sees(question)
                terminal.types(ENTER)
            terminal.sees(f"/triton-wizard {where}down demo\r\n")


def test_one_wish_is_changed_checked_and_advised_again(flow: Flow, workspace: Workspace) -> None:
    terminal = flow("model=demo")
    terminal.sees(ADVICE)
    terminal.types("3\r")
    terminal.sees("What should be different?")
    terminal.sees("How many people at the same time: 4")
    terminal.sees("Tensor parallel size: the wizard chooses")
    terminal.types("2\r")
    terminal.sees("How many people at the same time? (Enter: 4):")
    terminal.types("many\r")
    terminal.sees("TW-U31: users must be a whole number, not 'many'")
    terminal.types("0\r")
    terminal.sees("TW-U32")
    terminal.types("5000\r")
    terminal.sees("So many do not fit.")
    terminal.sees("What to do: 100 users")
    terminal.sees(ADVICE)
    terminal.types("2\r")
    terminal.sees("How many people at the same time: 5,000")
    terminal.leaves()
    assert load_answers(workspace) == {"model": "demo", "users": 5000}


@pytest.mark.parametrize(
    ("number", "typed", "wish"),
    [
        (1, "3\r", {"goal": "quality"}),
        (3, "900\r", {"max_len": 900}),
        (4, "fp8\r", {"quantization": "fp8"}),
        (5, "2\r", {"tp": 2}),
        (6, "2\r", {"pp": 2}),
        (7, "3\r", {"kv_dtype": "fp8"}),
        (8, "2\r", {"stack": "vllm"}),
        (11, "y\r", {"as_published": True}),
    ],
)
def test_every_wish_can_be_changed(
    flow: Flow, workspace: Workspace, number: int, typed: str, wish: dict[str, object]
) -> None:
    terminal = flow("model=demo", TERM="dumb")
    (name,) = wish
    for question, answer in (
        (ADVICE, "3\r"),
        ("What should be different?", f"{number}\r"),
        (BY_NAME[name].text, typed),
    ):
        terminal.sees(question)
        terminal.types(answer)
    terminal.sees(f"Wished: {name}.")
    terminal.leaves()
    assert load_answers(workspace) == {"model": "demo", **wish}


def test_what_cannot_be_is_refused_and_the_nearest_change_offered(flow: Flow, workspace: Workspace) -> None:
    terminal = flow("model=demo", "users=500", "tp=2")
    terminal.sees("So many do not fit.")
    terminal.sees("Take the nearest that works: 100 users")
    terminal.types(ENTER)
    terminal.sees("100 at a time")
    terminal.accepts(ADVICE)
    terminal.sees(PLAN)
    terminal.leaves()
    assert load_answers(workspace) == {"model": "demo", "users": 100, "tp": 2}


def test_all_wishes_can_be_taken_back(flow: Flow, workspace: Workspace) -> None:
    terminal = flow("model=demo", "users=7", "tp=2")
    terminal.sees("7 at a time")
    terminal.sees(ADVICE)
    terminal.types("3\r")
    terminal.sees("Let the wizard choose everything again")
    terminal.types(UP + UP + ENTER)
    terminal.sees("4 at a time")
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
    terminal.sees("Name of the server")
    terminal.types("../etc\r")
    terminal.sees("TW-U32")
    terminal.types("mine\r")
    terminal.sees("First port to try")
    terminal.types("666\r")
    terminal.sees("TW-L02: 1 gibibyte is needed")
    terminal.sees(ADVICE)
    terminal.leaves()
    assert load_answers(workspace) == {"model": "demo", "name": "mine", "http_port": 666}


def test_a_failed_step_can_be_tried_again(flow: Flow) -> None:
    terminal = flow("run=fail", "model=demo")
    terminal.accepts(ADVICE, PLAN)
    terminal.sees("Step 2 of 2: failed after 0.1 seconds (TW-R03)")
    terminal.sees("TW-R03: step")
    terminal.accepts("What now?")
    terminal.sees("is ready")
    terminal.sees("> ")
    terminal.leaves(CTRL_D, 0)


def test_a_plan_for_another_machine_is_only_shown(flow: Flow) -> None:
    terminal = flow("model=demo", "hardware=cpu")
    terminal.accepts(ADVICE)
    terminal.sees("Made for cpu, not for this machine")
    terminal.sees("Done: it cannot be run here")
    terminal.types(ENTER)
    assert terminal.ends() == 0


def test_a_small_terminal_is_enough(flow: Flow) -> None:
    terminal = flow(size=(15, 40))
    terminal.accepts(MODEL, "run here?", "This is what will be")
    terminal.sees("is ready")
    terminal.sees("> ")
    terminal.leaves(CTRL_D, 0)


def test_a_dumb_terminal_gets_numbers_and_no_escapes(flow: Flow) -> None:
    terminal = flow(TERM="dumb")
    seen = []
    for question, answer in ((MODEL, "7\r"), ("TW-U35", "1\r"), (ADVICE, "two\r"), ("TW-U35", "2\r"), (PLAN, "\r")):
        terminal.sees(question)
        seen.append(str(terminal.child.before))
        terminal.sees("Enter for 1:")
        terminal.types(answer)
    terminal.sees("Step 1 of 2")
    seen.append(str(terminal.child.before))
    terminal.sees("is ready")
    terminal.sees("> ")
    terminal.leaves(CTRL_D, 0)
    assert "\x1b" not in "".join(seen)


def test_the_arrow_keys_choose(flow: Flow) -> None:
    terminal = flow()
    terminal.sees(MODEL)
    terminal.types(DOWN + ENTER)
    terminal.sees("How should org/small run here?")
    terminal.types(UP + UP + ENTER)  # round to the last but one: another model
    terminal.sees(MODEL)
    terminal.types(CTRL_D)
    assert terminal.ends() == 130


def test_what_was_chosen_stays_below_its_question_in_lines_that_fit(flow: Flow) -> None:
    columns = 40
    terminal = flow(COLUMNS=str(columns), size=(24, columns))
    screen = pyte.Screen(columns, 24)
    seen = pyte.Stream(screen)
    terminal.sees("can be typed here too")
    seen.feed(str(terminal.child.before) + str(terminal.child.after))
    terminal.types(ENTER)
    terminal.sees("Recommended:")
    seen.feed(str(terminal.child.before))
    shown = [line.rstrip() for line in screen.display]
    at = shown.index("Which model?")
    chosen = shown[at + 1 : shown.index("", at)]
    assert chosen[0].startswith("  1) Offline demo")
    assert len(chosen) > 1, "it is longer than a line"
    assert all(line.startswith("     ") for line in chosen[1:])
    title = suggestion(FakeJourney(Path()).suggestions(CPU_HOST)[0])
    assert " ".join(" ".join(chosen).split()) == f"1) {spoken(title)}", "no word is broken"
    assert "(arrow keys" not in "".join(shown)
    terminal.leaves()


@pytest.mark.parametrize("typed", ["two", "9", "../x"])
def test_what_is_typed_at_a_menu_never_chooses_by_accident(flow: Flow, typed: str) -> None:
    terminal = flow("model=demo")
    terminal.sees(ADVICE)
    terminal.types(typed + ENTER)
    terminal.sees("TW-U35")
    terminal.sees(ADVICE)
    terminal.types("4" + ENTER)
    terminal.sees(MODEL)
    terminal.leaves()


def test_a_gated_model_asks_for_the_token_unseen_and_never_writes_it(flow: Flow, workspace: Workspace) -> None:
    token = "hf_" + "x" * 24
    terminal = flow("model=org/gated")
    terminal.sees("TW-M12")
    terminal.sees("Your Hugging Face token")
    terminal.types(token + "\r")
    terminal.sees(ADVICE)
    assert token not in (terminal.child.before or "")
    terminal.leaves()
    written = [path.read_text() for path in workspace.root.rglob("*") if path.is_file()]
    assert written
    assert not [text for text in written if token in text]


def test_without_a_token_for_a_gated_model_another_one_is_chosen(flow: Flow) -> None:
    terminal = flow("model=org/gated")
    terminal.sees("Your Hugging Face token (it is not shown; Enter: choose another model):")
    terminal.types(ENTER)
    terminal.sees(MODEL)
    terminal.leaves()


def test_whoever_has_a_token_is_not_asked_for_it(flow: Flow) -> None:
    terminal = flow("model=org/gated", HF_TOKEN="hf_mine")
    terminal.sees(ADVICE)
    assert "Hugging Face token" not in (terminal.child.before or "")
    terminal.leaves()


def test_the_numbers_are_explained_and_asked_for_again(flow: Flow) -> None:
    terminal = flow("model=demo")
    terminal.sees(ADVICE)
    terminal.types("5" + ENTER)
    terminal.sees("Why these numbers:")
    terminal.sees("2 × 4 layers × 2 kv heads × 64 × 2 bytes")
    terminal.sees(ADVICE)
    terminal.leaves()


def test_many_ways_are_shown_when_asked_for() -> None:
    advice = Advice(True, tuple(replace(CHOICE, max_batch_size=users) for users in range(1, 12)))
    few, all_of_them = ways(advice, 8), ways(advice, 11)
    assert [text for text, _ in few[8:]] == ["Show all 11 ways", *(text for text, _ in all_of_them[11:])]
    assert [one for _, one in all_of_them[:11]] == list(advice.choices)


def test_a_server_that_runs_is_offered_first(flow: Flow) -> None:
    terminal = flow("running=demo")
    terminal.sees("Talk to demo, which runs at http://127.0.0.1:8000")
    terminal.types(ENTER)
    terminal.sees("Ask demo anything.")
    terminal.sees("> ")
    terminal.leaves(CTRL_D, 0)


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
    for said in ("Saved to", "TW-U48:"):  # a long path begins a line of its own
        terminal.sees(PLAN)
        terminal.types("5\r")
        terminal.sees("Save it as what?")
        terminal.types(f"{number}\r")
        terminal.sees("File to write")
        terminal.types(f"{file}\r")
        terminal.sees(said)
        assert file.read_text().startswith(first)
    terminal.leaves()
    if name == "plan.json":
        assert from_json(Plan, file.read_text(), where="it").facts.ref == "demo"


@pytest.mark.parametrize(
    ("answers", "note"), [(("4\r", "1\r"), "redo-environment"), (("5\r",), "skip-repository"), (("1\r",), "")]
)
def test_a_failed_step_can_be_done_again_or_left_out(
    flow: Flow, workspace: Workspace, answers: tuple[str, ...], note: str
) -> None:
    terminal = flow("run=fail", "model=demo", TERM="dumb")
    terminal.accepts(ADVICE, PLAN)
    for question, answer in zip(("What now?", "Which step?"), answers, strict=False):
        terminal.sees(question)
        terminal.types(answer)
    terminal.sees("is ready")
    terminal.sees("> ")
    terminal.leaves(CTRL_D, 0)
    notes = workspace.root / "notes"
    assert sorted(path.name for path in notes.glob("*")) == ([note] if note else [])


def test_whoever_chose_by_mistake_comes_back(flow: Flow) -> None:
    terminal = flow("run=fail", "model=demo", TERM="dumb")
    terminal.accepts(ADVICE)
    terminal.sees(PLAN)
    terminal.types("5\r")
    terminal.sees("Save it as what?")
    terminal.types("4\r")
    terminal.accepts(PLAN)
    terminal.sees("What now?")
    terminal.types("4\r")
    terminal.sees("Which step?")
    terminal.types("3\r")
    terminal.sees("What now?")
    terminal.leaves()


def test_the_end_of_a_failed_step_s_log_is_shown_and_the_way_back_is_open(flow: Flow) -> None:
    terminal = flow("run=fail", "model=demo", TERM="dumb")
    terminal.accepts(ADVICE, PLAN)
    terminal.sees("What now?")
    terminal.types("3\r")
    terminal.sees("line 39")
    terminal.sees("What now?")
    terminal.types("2\r")
    terminal.sees(ADVICE)
    terminal.leaves()


@pytest.mark.parametrize("columns", [40, 80])
def test_the_command_of_a_failed_step_is_whole_and_in_a_line_of_its_own(flow: Flow, columns: int) -> None:
    terminal = flow("run=fail", "model=demo", TERM="dumb", COLUMNS=str(columns), size=(24, columns))
    terminal.accepts(ADVICE, PLAN)
    terminal.sees("TW-R03: ")
    terminal.sees("What now?")
    said = str(terminal.child.before).splitlines()
    assert f"  $ {FAILURE.command}" in said
    assert "  What to do: Mend the cause." in said
    assert "run `up`" not in " ".join(said)
    terminal.leaves()


def test_a_wrong_answer_says_what_is_wrong_and_no_flag(flow: Flow) -> None:
    terminal = flow("model=demo", TERM="dumb")
    terminal.sees(ADVICE)
    terminal.types("3\r")
    terminal.sees("What should be different?")
    terminal.types("2\r")
    terminal.sees("Each gets a share of the KV cache")
    terminal.sees("at the same time?")
    terminal.types("many\r")
    terminal.sees("TW-U31: users must be a whole number, not 'many'")
    terminal.sees("at the same time?")
    assert "--users" not in str(terminal.child.before)
    assert "share of the KV cache" not in str(terminal.child.before), "said before the question"
    terminal.leaves()


def test_the_chat_s_settings_are_asked_before_it(flow: Flow, workspace: Workspace) -> None:
    terminal = flow("model=demo", TERM="dumb")
    terminal.accepts(ADVICE)
    terminal.sees(PLAN)
    terminal.types("6\r")
    for question, answer in (("System prompt", "Be kind.\r"), ("Temperature", "0\r"), ("Longest answer", "7\r")):
        terminal.sees(question)
        terminal.types(answer)
    terminal.sees(PLAN)
    assert "Plan: serve" not in str(terminal.child.before), "it is as it was"
    terminal.leaves()
    assert load_answers(workspace) == {"model": "demo", "system": "Be kind.", "temperature": 0.0, "max_tokens": 7}
