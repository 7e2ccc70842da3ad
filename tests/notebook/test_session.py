"""The notebook interface as a script and as a cell would use it."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from tests.bench.fake_bench import BENCHMARK
from tests.fixable import Fixable
from tests.prompts.fake_journey import ENDPOINT, MEASUREMENT, FakeJourney
from tests.values import CHOICE, CPU_HOST, plan_of, python_step
from wizard import Journey
from wizard.advise import calibration
from wizard.advise.advice import Constraints
from wizard.chat.conversation import Message
from wizard.doctor.finding import failed, warned
from wizard.kernel import language
from wizard.kernel.errors import InfeasibleError, ServerError, StepError, UsageError
from wizard.notebook.html import pareto_html
from wizard.plan.ports import Ports
from wizard.run.build import Build
from wizard.texts.benchmark.html import fragment


@pytest.fixture
def fake(tmp_path: Path) -> FakeJourney:
    return FakeJourney(tmp_path / "notes", running="demo")


@pytest.fixture
def session(fake: FakeJourney, tmp_path: Path) -> Journey:
    return Journey("demo", workspace=tmp_path / "ws", journey=fake)


async def test_the_whole_flow_in_a_running_loop(session: Journey, capsys: pytest.CaptureFixture[str]) -> None:
    assert session.up() == ENDPOINT
    out = capsys.readouterr().out
    assert "[1/2] Create the server environment … skipped: already done and unchanged\n" in out
    assert "[2/2] Create the model repository … done in 0.1 s\n" in out
    assert calibration.text(MEASUREMENT) in out
    answer = session.chat("What is Triton?")
    assert capsys.readouterr().out == "You asked: What is Triton?\n"
    assert str(answer) == answer.text == "You asked: What is Triton?"
    assert (answer.ttft_s, answer.tokens_per_s) == (0.05, pytest.approx(220))
    assert session.down().state == "stopped"


def test_a_benchmark_is_a_report_that_is_shown_as_a_table(
    session: Journey, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session.up()
    report = session.bench(quick=True, folder=tmp_path / "out")
    assert report == BENCHMARK
    assert "[1/1] 4 concurrent requests, run 1 of 1 … done in 8.0 s\n" in capsys.readouterr().out
    html = fragment(report)
    assert "<td" in html
    assert "4 at once" in html
    with pytest.raises(UsageError, match="unknown option: 'quik'"):
        session.bench(quik=True)


def test_a_server_that_another_interface_restarted_is_found(session: Journey, fake: FakeJourney) -> None:
    session.up()
    moved = replace(ENDPOINT, ports=Ports(9000, 9001, 9002))
    fake.endpoint = lambda workspace, name=None: moved  # type: ignore[method-assign]
    assert session.endpoint() == moved


@pytest.mark.parametrize("same", [True, False])
def test_only_a_build_of_the_same_plan_is_shown_and_not_stopped(
    session: Journey, fake: FakeJourney, same: bool
) -> None:
    """One of another plan is in the way of a new build, which says so."""
    mine, calls = plan_of("/ws", python_step("one", "")), list[tuple[str, object]]()
    other = mine if same else replace(mine, steps=(python_step("one", "print()"),))
    row = Build(mine.name, os.getpid(), "", "", 0.0)
    fake.building = lambda workspace: row  # type: ignore[method-assign]
    fake.earlier_plan = lambda workspace, name: other  # type: ignore[method-assign,attr-defined]
    fake.attach = lambda workspace, name, *, leaving: calls.append(("attach", leaving.is_set()))  # type: ignore[assignment,method-assign]
    fake.run = lambda plan, *, leaving: calls.append(("run", plan))  # type: ignore[assignment,method-assign]
    session._run(mine)
    assert calls == [("attach", True) if same else ("run", mine)]


def test_the_lines_for_other_programs_are_shown_as_they_are_pasted(session: Journey, fake: FakeJourney) -> None:
    session.up()
    reachable = replace(ENDPOINT, openai="http://127.0.0.1:9000/v1")
    fake.endpoint = lambda workspace, name=None: reachable  # type: ignore[method-assign]
    lines = session.elsewhere()
    assert "curl -sSN http://127.0.0.1:9000/v1/chat/completions" in repr(lines)
    assert lines._repr_html_().startswith("<pre>")


def test_every_stage_does_those_before_it(session: Journey, fake: FakeJourney) -> None:
    assert [step.id for step in session.plan().steps] == ["environment", "repository"]
    assert fake.constraints == [Constraints()]


def test_stages_one_by_one(session: Journey, fake: FakeJourney) -> None:
    assert session.probe() == CPU_HOST
    assert session.model().ref == "demo"
    advice = session.advise(users=2)
    assert fake.constraints == [Constraints(users=2)]
    assert session.plan(advice.choices[1]).choice.max_seq_len == 512
    why = session.explain()
    assert "2 × 4 layers × 2 KV heads × 64 × 2 bytes" in repr(why)
    assert "KV cache per token" in why._repr_html_()
    assert session.plan().choice == advice.choices[0]
    assert session.plan(CHOICE).choice == CHOICE


def test_the_pareto_front_takes_the_options_of_the_advice(session: Journey, fake: FakeJourney) -> None:
    front = session.pareto(users=2)
    assert fake.constraints == [Constraints(users=2), Constraints(users=2)]
    assert "Pareto front" in pareto_html(front)
    assert "probe --measure" in pareto_html(front)


def test_up_takes_the_plan_that_was_made(session: Journey) -> None:
    advice = session.advise()
    session.plan(advice.choices[1])
    session.up()
    assert session._state.plan is not None
    assert session._state.plan.choice == advice.choices[1]


def test_nothing_to_plan(session: Journey) -> None:
    session.advise(users=500)
    with pytest.raises(InfeasibleError):
        session.plan()


def test_a_failed_run_can_be_repeated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session = Journey("demo", workspace=tmp_path, journey=FakeJourney(tmp_path, run="fail"))
    with pytest.raises(StepError):
        session.up()
    assert "failed: step 'Create the model repository' failed" in capsys.readouterr().out
    assert session.up() == ENDPOINT


def test_the_command_that_fixes_a_failure_is_shown_and_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fixable = Fixable(tmp_path).made(f"touch {tmp_path / 'part'}")
    monkeypatch.setenv("TRITON_WIZARD_PROFILES", str(fixable.profiles))
    session = Journey("demo", workspace=fixable.workspace.root)
    session._state = replace(session._state, plan=fixable.plan)
    with pytest.raises(StepError):
        session.up()
    assert f"then try again:\n$ touch {fixable.part}" in capsys.readouterr().out
    assert not fixable.part.exists()


def test_the_conversation_continues_until_it_is_cleared(session: Journey, fake: FakeJourney) -> None:
    session.chat("one", temperature=0.0)
    session.chat("two")
    assert [message.content for message in fake.asked[1].messages] == ["one", "You asked: one", "two"]
    assert [asked.sampling.temperature for asked in fake.asked] == [0.0, None]
    session.forget()
    session.chat("three")
    assert fake.asked[2].messages == (Message("user", "three"),)


def test_a_failed_question_is_raised_and_its_beginning_kept(tmp_path: Path) -> None:
    session = Journey("demo", workspace=tmp_path, journey=FakeJourney(tmp_path, chat="fail"))
    with pytest.raises(ServerError):
        session.chat("?")
    assert session.conversation.messages[-1].content == "You asked: "


async def test_asked_asynchronously_nothing_is_shown(session: Journey, capsys: pytest.CaptureFixture[str]) -> None:
    answer = await session.ask_async("one", seed=1)
    assert answer.text == "You asked: one"
    assert capsys.readouterr().out == ""
    assert len(session.conversation.messages) == 2


async def test_cancelling_stops_the_answer(session: Journey, fake: FakeJourney) -> None:
    task = asyncio.ensure_future(session.ask_async("on and on"))
    await fake.hanging.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (fake.notes / "chat-stopped").exists()


def test_constraints_of_the_journey_and_of_a_single_question(fake: FakeJourney, tmp_path: Path) -> None:
    session = Journey("demo", workspace=tmp_path, journey=fake, tp=2, quantization="fp8")
    session.plan()
    session.advise(tp=4, kv_dtype="fp8")
    session.advise(tp=None)
    assert fake.constraints == [
        Constraints(tp=2, quantization="fp8"),
        Constraints(tp=4, quantization="fp8", kv_dtype="fp8"),
        Constraints(quantization="fp8"),
    ]


@pytest.mark.parametrize(
    ("constraints", "code"), [({"tp": "2"}, "TW-U31"), ({"users": 0}, "TW-U32"), ({"tpp": 2}, "TW-U36")]
)
def test_invalid_constraints_are_refused_at_once(session: Journey, constraints: dict[str, object], code: str) -> None:
    for ask in (session.advise, lambda **more: Journey("demo", **more)):
        with pytest.raises(UsageError) as raised:
            ask(**constraints)
        assert raised.value.code == code


@pytest.mark.parametrize("call", ["advise", "chat"])
def test_unknown_constraints_and_settings_are_refused(session: Journey, call: str) -> None:
    with pytest.raises(UsageError) as raised:
        session.advise(user=3) if call == "advise" else session.chat("?", temprature=1)
    assert raised.value.code == "TW-U36"
    assert "Did you mean" in raised.value.todo


def test_status_and_logs(session: Journey, tmp_path: Path, fake: FakeJourney) -> None:
    assert session.status().state == "ready"
    assert Journey("demo", name="other", workspace=tmp_path, journey=fake).status().state == "stopped"
    log = session.logs(2)
    assert log == repr(log) == "line 0\nline 1"
    assert log._repr_html_() == "<pre>line 0\nline 1</pre>"


def test_a_language_is_for_the_whole_kernel(tmp_path: Path, fake: FakeJourney) -> None:
    with pytest.raises(UsageError) as raised:
        Journey("demo", language="kr", journey=fake)
    assert (raised.value.code, raised.value.todo) == ("TW-N12", "Available: en, ko.")
    Journey("demo", language="ko", workspace=tmp_path, journey=fake)
    assert language.used() == "ko"
    Journey("demo", workspace=tmp_path, journey=fake)
    assert language.used() == "ko", "unchanged if omitted"
    language.use("en")


def test_names() -> None:
    assert Journey("org/Some Model.gguf").name == "some-model"
    assert repr(Journey("demo", workspace="/ws")) == "Journey('demo', name='demo', workspace='/ws')"


# -- in IPython --------------------------------------------------------------------------------------------------------


@pytest.fixture
def ipython(session: Journey) -> InteractiveShell:
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "wizard.notebook")
    shell.user_ns["session"] = session
    yield shell
    InteractiveShell.clear_instance()


def test_values_are_shown_as_html(ipython: InteractiveShell) -> None:
    for call in ("session.probe()", "session.model()", "session.advise()", "session.plan()"):
        value = ipython.run_cell(call).result
        data, _ = ipython.display_formatter.format(value)
        assert data["text/html"].startswith("<div>"), call


def test_the_cell_magic_asks_the_notebooks_journey(ipython: InteractiveShell, session: Journey) -> None:
    with capture_output() as captured:
        result = ipython.run_cell("%%chat\nWhat is Triton?\n").result
    assert captured.stdout.startswith("You asked: What is Triton?\n")
    assert result.text == "You asked: What is Triton?"
    assert len(session.conversation.messages) == 2
    assert ipython.run_cell("%%chat demo\nAgain?").result.text == "You asked: Again?"
    assert len(session.conversation.messages) == 4


def test_the_cell_magic_without_a_server_says_so(ipython: InteractiveShell) -> None:
    del ipython.user_ns["session"]
    with capture_output() as captured:
        result = ipython.run_cell("%%chat nosuch\nWhat is Triton?").error_in_exec
    assert isinstance(result, UsageError)
    assert result.code in captured.stdout + captured.stderr
    assert "Traceback" not in captured.stdout + captured.stderr


def test_a_recipes_answers_are_constraints_beneath_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    session = Journey("tutorial-001", workspace=tmp_path, hardware="1xL4", offline=True, users=2)
    choice = session.advise().choices[0]
    assert (choice.stack, choice.release, choice.max_batch_size) == ("trtllm-engine", "24.06-trtllm-python-py3", 2)
    assert session.advise(release=None).choices[0].release != choice.release


def test_the_checks_of_the_machine_are_a_table(session: Journey, fake: FakeJourney) -> None:
    fake.findings = (
        warned("persistence.off", "sudo nvidia-smi -pm 1", gpus=(0,)),
        failed("driver.broken", what="<b>broken</b>", todo="Reboot."),
    )
    findings = session.doctor()
    assert [each.code for each in findings] == ["persistence.off", "driver.broken"]
    html = findings._repr_html_()
    assert "<b>1 failed, 1 warning</b>" in html
    assert "<code>sudo nvidia-smi -pm 1</code>" in html
    assert "&lt;b&gt;broken" in html
    assert "! Persistence mode: off for GPU 0" in repr(findings)
