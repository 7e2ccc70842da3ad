"""Scores of servers on lm_eval's tasks: with FakeEvaluation in its place, and with the real one if it is installed."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.bench.fake_answers import answering, right
from wizard.bench.folder import Folder
from wizard.bench.opened import quality_opened
from wizard.bench.quality import tasks
from wizard.bench.quality.evaluate import Evaluator, QualityItem, evaluated
from wizard.bench.quality.order import tasks_folder
from wizard.bench.quality.paired import differences, scored
from wizard.bench.quality.report import Item, Quality, Subject
from wizard.bench.quality.tasks import Evaluation
from wizard.bench.report import Machine, Target
from wizard.kernel.errors import WizardError
from wizard.run.events import Progress, StepFinished, StepStarted

FAKE = (sys.executable, str(Path(__file__).with_name("fake_evaluation.py")))
LM_EVAL = os.environ.get("TRITON_WIZARD_TEST_LM_EVAL", "")
"""The Python of an environment with profiles/environments/lm-eval.txt."""
REAL = pytest.mark.skipif(not LM_EVAL, reason="set TRITON_WIZARD_TEST_LM_EVAL to a Python that has lm_eval 0.4.13")
CACHE = Path(tempfile.gettempdir()) / "triton-wizard-test-datasets"
TWO = Evaluation(("wizard_copy", "wizard_facts"), concurrency=4)


def order(*urls: str) -> Quality:
    subjects = tuple(
        Subject(Target(f"server-{at}", "m", url)) for at, url in enumerate(urls or ("http://127.0.0.1:1/v1",))
    )
    return Quality("quality", 1, "2026-11-26T12:00:00+00:00", "bench", Machine("a processor", 2), {}, subjects)


def evaluator(*program: str) -> Evaluator:
    return Evaluator(program or FAKE, tasks_folder(), CACHE, mark="a test")


async def run(
    folder: Path, report: Quality, evaluation: Evaluation = TWO, program: tuple[str, ...] = FAKE
) -> tuple[list[QualityItem], WizardError | None]:
    received: list[QualityItem] = []
    try:
        async with aclosing(evaluated(report, evaluation, Folder(folder), evaluator(*program))) as items:
            async for item in items:
                received.append(item)
    except WizardError as error:
        return received, error
    return received, None


def kept(folder: Path) -> Quality:
    report = quality_opened(folder)
    assert report is not None
    return report


async def test_two_servers_are_scored_and_compared_question_by_question(tmp_path: Path) -> None:
    items, error = await run(tmp_path, order("http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1"))
    assert error is None
    report = items[-1]
    assert isinstance(report, Quality)
    assert [[score.task for score in each.scores] for each in report.subjects] == [["wizard_copy", "wizard_facts"]] * 2
    assert report.subjects[0].scores[0].value is not None
    assert report.subjects[0].scores[0].value.value == 0.5
    assert [(row.task, row.questions, row.better, row.worse, row.p) for row in report.differences] == [
        ("", 200, 0, 0, 1.0),
        ("wizard_copy", 100, 0, 0, 1.0),
        ("wizard_facts", 100, 0, 0, 1.0),
    ]
    assert [item.title for item in items if isinstance(item, StepStarted)] == [
        "Questions to server-0",
        "Questions to server-1",
    ]
    assert any(isinstance(item, Progress) and item.text == "wizard_copy: 100 of 100" for item in items)
    assert kept(tmp_path) == report
    assert "a warning of lm_eval" in (tmp_path / "lm_eval.log").read_text(encoding="utf-8")
    assert '"answer": "an answer"' in (tmp_path / "runs" / "answers-1.jsonl").read_text(encoding="utf-8")


async def test_an_earlier_report_is_a_reference_that_is_not_asked_again(tmp_path: Path) -> None:
    await run(tmp_path / "first", order())
    known = kept(tmp_path / "first").subjects[0]
    report = order()
    items, error = await run(tmp_path / "second", replace(report, subjects=(*report.subjects, known)))
    assert error is None
    assert len([item for item in items if isinstance(item, StepStarted)]) == 1
    assert kept(tmp_path / "second").differences[0].questions == 200


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has /dev/full, whose disk is always full")
async def test_a_full_disk_keeps_the_report(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "lm_eval.log").symlink_to("/dev/full")
    items, error = await run(folder, order())
    assert error is not None
    assert error.code == "TW-C68"
    assert "lm_eval.log" in error.what
    assert isinstance(items[-1], StepFinished)
    assert items[-1].outcome == "failed"
    there = quality_opened(folder)
    assert there is None or there.partial == "TW-C68"


async def test_failed_requests_are_counted_and_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_EVALUATION", "some-fail")
    _, error = await run(tmp_path, order())
    assert error is None
    score = kept(tmp_path).subjects[0].scores[0]
    assert sum(item.score is None for item in score.items) == 3
    assert score.value is not None
    assert score.value.value == pytest.approx(49 / 97)  # of 50 right ones, number 65 failed


@pytest.mark.parametrize(
    ("behavior", "code"),
    [
        ("unknown", "TW-C90"),
        ("loglikelihood", "TW-C91"),
        ("broken", "TW-C92"),
        ("garbage", "TW-C93"),
        ("dead", "TW-C65"),
        ("fails", "TW-C64"),
        ("empty", "TW-C64"),
    ],
)
async def test_what_goes_wrong_has_its_code(
    behavior: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_EVALUATION", behavior)
    items, error = await run(tmp_path, order())
    assert error is not None
    assert error.code == code
    assert [item.outcome for item in items if isinstance(item, StepFinished)] == ["failed"]
    assert (tmp_path / "report.json").exists() == (code == "TW-C64")  # only if something was answered


async def test_a_process_that_dies_loses_no_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_EVALUATION", "dies")
    _, error = await run(tmp_path, order())
    assert error is not None
    assert error.code == "TW-C93"
    report = kept(tmp_path)
    assert report.partial == "TW-C93"
    assert [score.task for score in report.subjects[0].scores] == ["wizard_copy"]


async def test_stopping_keeps_the_answers_of_the_task_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_EVALUATION", "hangs")

    async def until_the_second_task() -> None:
        async with aclosing(evaluated(order(), TWO, Folder(tmp_path), evaluator())) as items:
            async for item in items:
                if isinstance(item, Progress) and item.text.startswith("wizard_facts"):
                    return

    await asyncio.wait_for(until_the_second_task(), 60)
    report = kept(tmp_path)
    assert report.partial == "stopped"
    first, second = report.subjects[0].scores
    assert sum(item.score is not None for item in first.items) == 100
    assert sum(item.score is not None for item in second.items) == 30
    assert sum(item.error == tasks.NOT_SENT for item in second.items) == 70


async def test_a_server_whose_process_ended_stops_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_EVALUATION", "hangs")
    gone = replace(evaluator(), lives=(lambda: False, lambda: True))
    async with aclosing(evaluated(order(), TWO, Folder(tmp_path), gone)) as items:
        with pytest.raises(WizardError, match="its process has ended"):
            [item async for item in items]


def test_only_the_same_questions_are_compared() -> None:
    def subject(*items: Item) -> Subject:
        return Subject(Target("a", "m", ""), (scored("task", "exact_match", "none", "1", items),))

    mine = subject(Item(0, "a", 1.0), Item(1, "b", 1.0), Item(2, "c", 1.0), Item(3, "d", None, "HTTP 500"))
    theirs = subject(Item(0, "a", 0.0), Item(1, "another", 0.0), Item(3, "d", 1.0))
    assert [(row.questions, row.better) for row in differences(mine, theirs)] == [(1, 1)]
    assert differences(mine, Subject(Target("a", "m", ""))) == ()


def test_the_process_gets_the_key_but_no_other_secret(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody-else")
    monkeypatch.setenv("HF_TOKEN", "hf_token")
    assert tasks.environment("mine", tmp_path)["OPENAI_API_KEY"] == "mine"
    assert "OPENAI_API_KEY" not in tasks.environment(None, tmp_path)
    assert tasks.environment(None, tmp_path)["HF_TOKEN"] == "hf_token"


# -- the real lm_eval --------------------------------------------------------------------------------------------------

REAL_PROGRAM = (LM_EVAL, "-P", str(tasks.PROGRAM))


@REAL
async def test_lm_eval_scores_our_tasks_through_an_address(tmp_path: Path) -> None:
    with answering() as url:
        items, error = await run(tmp_path, order(url), Evaluation(concurrency=4, limit=10), REAL_PROGRAM)
    assert error is None, error
    report = items[-1]
    assert isinstance(report, Quality)
    values = {score.task: score.value.value for score in report.subjects[0].scores if score.value}
    assert values == {"wizard_arithmetic": 0.2, "wizard_copy": 0.0, "wizard_format": 0.0, "wizard_facts": 0.0}
    assert all(len({item.hash for item in score.items}) == 10 for score in report.subjects[0].scores)


@REAL
async def test_lm_eval_continues_after_failed_requests(tmp_path: Path) -> None:
    def flaky(question: str) -> str | int:
        return 500 if "27 + 52" in question else right(question)

    with answering(flaky) as url:
        await run(tmp_path, order(url), Evaluation(("wizard_arithmetic",), limit=6, concurrency=2), REAL_PROGRAM)
    score = kept(tmp_path).subjects[0].scores[0]
    assert [bool(item.error) for item in score.items] == [True, *[False] * 5]
    assert "500" in score.items[0].error


@REAL
async def test_a_server_that_only_fails_ends_it(tmp_path: Path) -> None:
    with answering(lambda _: 503) as url:
        _, error = await run(tmp_path, order(url), Evaluation(("wizard_facts",), concurrency=4), REAL_PROGRAM)
    assert error is not None
    assert error.code == "TW-C65"


@REAL
@pytest.mark.parametrize(("task", "code"), [("gsm9k", "TW-C90"), ("arc_easy", "TW-C91"), ("mmlu", "TW-C91")])
async def test_lm_evals_own_tasks_are_checked_first(task: str, code: str, tmp_path: Path) -> None:
    _, error = await run(tmp_path, order(), Evaluation((task,)), REAL_PROGRAM)
    assert error is not None
    assert error.code == code


@REAL
async def test_a_task_file_of_your_own(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    shutil.copy(tasks_folder() / "wizard_facts.jsonl", mine / "questions.jsonl")
    text = (tasks_folder() / "wizard_facts.yaml").read_text(encoding="utf-8")
    text = text.replace("task: wizard_facts", "task: mine").replace("wizard_facts.jsonl", "questions.jsonl")
    (mine / "mine.yaml").write_text(text, encoding="utf-8")
    (mine / "broken.yaml").write_text(
        text.replace("task: mine", "task: broken").replace("json\n", "nothing\n"), "utf-8"
    )
    wanted = Evaluation(("mine",), folder=str(mine), limit=2, concurrency=1)
    with answering() as url:
        _, error = await run(tmp_path / "out", order(url), wanted, REAL_PROGRAM)
        assert error is None
        _, error = await run(tmp_path / "other", order(url), replace(wanted, tasks=("broken",)), REAL_PROGRAM)
    assert error is not None
    assert error.code == "TW-C92"
    assert kept(tmp_path / "out").subjects[0].scores[0].task == "mine"


def test_our_tasks_are_what_is_shipped() -> None:
    files = {path.stem for path in tasks_folder().glob("*.yaml")}
    assert files == set(tasks.OWN)
    for name in tasks.OWN:
        lines = (tasks_folder() / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        assert len(set(lines)) == 50


@REAL
def test_the_environment_has_no_torch() -> None:
    code = "import importlib.util as u; print(u.find_spec('torch'), u.find_spec('transformers'))"
    assert subprocess.check_output([LM_EVAL, "-c", code], text=True).split() == ["None", "None"]
