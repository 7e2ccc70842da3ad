"""`triton-wizard bench --quality` from its words to its report, with FakeEvaluation in lm_eval's place."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

from tests.bench.fake_evaluation import __file__ as fake_evaluation
from tests.bench.fake_perplexity import __file__ as fake_perplexity
from tests.chat.fake_openai import DONE, ROLE, STOP, FakeOpenAI, event, serving
from tests.prompts.terminal import environment as terminal
from wizard import journey
from wizard.bench import environment
from wizard.catalog import profiles
from wizard.cli import main
from wizard.kernel.paths import Workspace
from wizard.run.events import StepFinished
from wizard.run.journal import Journal, made

MODEL = profiles.find("models/triton-wizard-demo/triton-wizard-demo-q8_0.gguf")


def install(workspace: Workspace) -> None:
    """Put FakeEvaluation where lm_eval's environment would be, recorded as made."""
    venv = environment.of(journey.probe(workspace), workspace, environment.LM_EVAL)
    step = environment.step(venv)
    python = Path(venv.python)
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nshift 2\nexec "{sys.executable}" "{fake_evaluation}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    (venv.root / "complete").touch()
    event = StepFinished(step.id, "done", 1.0, "", time.time(), step.fingerprint, made(step))
    Journal(workspace.journal).add(environment.JOURNAL, event)


@pytest.fixture
def url() -> Iterator[str]:
    """The address of a server, and a workspace with lm_eval."""
    install(Workspace.at(os.environ["TRITON_WIZARD_HOME"]))
    with serving(FakeOpenAI()) as fake:
        yield fake.url


def run(words: str) -> int | str | None:
    with pytest.raises(SystemExit) as caught:
        main(words.split())
    return caught.value.code


def test_scores_are_printed_and_a_report_is_written(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run(f"bench {url} --quality --limit 20 --out {out}") == 0
    shown = capsys.readouterr()
    assert "50% (29.9% to 70.1%)" in shown.out
    assert "20 / 20" in shown.out
    assert str(out / "report.html") in shown.err
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    assert (report["kind"], report["partial"]) == ("quality", "")
    assert "50%" in (out / "report.md").read_text(encoding="utf-8")
    assert run(f"bench --open {out} --json") == 0
    assert json.loads(capsys.readouterr().out) == report
    assert run(f"bench --open {out / 'report.json'} --png") == 0
    shown = capsys.readouterr()
    assert "wizard_facts" in shown.out
    assert str(out / "scores.png") in shown.err
    assert run(f"bench {url} --quality --out {out}") == 2
    assert "TW-C69" in capsys.readouterr().err
    assert run(f"bench --replay {out}") == 2
    assert "TW-C67: --replay measures speed again, and this is a report on quality" in capsys.readouterr().err


def test_an_earlier_report_is_a_reference(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(f"bench {url} --quality --out {tmp_path / 'first'}")
    assert run(f"bench {url} --quality --reference {tmp_path / 'first'} --out {tmp_path / 'second'}") == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "was found: with 95% confidence, it is at most 0.7 percentage points." in shown


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("bench URL --quality --quick", "TW-C98"),
        ("bench URL --quality --tune", "TW-C98"),
        ("bench --quality --compare URL URL", "TW-C98"),
        ("bench URL --quality --text a.txt", "TW-C98"),
        ("bench URL --quality --reference a.gguf", "TW-C98"),
        ("bench a.gguf --quality --tasks gsm8k", "TW-C98"),
        ("bench URL --quality --vote URL URL", "TW-C98"),
        ("bench --quality --vote URL URL", "TW-C97"),
        ("bench URL --tasks gsm8k", "TW-C98"),
        ("bench a.gguf --quality --llama-perplexity /nowhere", "TW-C94"),
    ],
)
def test_options_that_do_not_fit_are_rejected(
    words: str, code: str, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words.replace("URL", url)) in (2, 3)
    assert code in capsys.readouterr().err


@pytest.mark.parametrize(("behavior", "code"), [("unknown", "TW-C90"), ("loglikelihood", "TW-C91")])
def test_a_task_that_cannot_be_used_leaves_no_report(
    behavior: str,
    code: str,
    url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("FAKE_EVALUATION", behavior)
    assert run(f"bench {url} --quality --tasks arc_easy --out {tmp_path / 'out'}") == 2
    assert code in capsys.readouterr().err
    assert not (tmp_path / "out" / "report.json").exists()


def test_ctrl_c_keeps_the_answers(url: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    child = subprocess.Popen(
        [sys.executable, "-m", "wizard", "bench", url, "--quality", "--out", str(out)],
        env={**os.environ, "FAKE_EVALUATION": "hangs"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    report = out / "report.json"
    deadline = time.monotonic() + 60
    while not report.exists() and time.monotonic() < deadline:
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(0.1)
    child.send_signal(signal.SIGINT)
    shown, errors = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "TW-U07" in errors
    assert "This report is partial" in " ".join(shown.split())
    assert json.loads(report.read_text(encoding="utf-8"))["partial"] == "stopped"


def llama_perplexity(folder: Path) -> Path:
    """A program that runs FakePerplexity."""
    program = folder / "llama-perplexity"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{fake_perplexity}" "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return program


def test_ctrl_c_in_a_perplexity_keeps_what_was_printed(tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ["bench", MODEL, "--quality", "--llama-perplexity", llama_perplexity(tmp_path), "--out", out]
    child = subprocess.Popen(
        [sys.executable, "-m", "wizard", *map(str, words)],
        env={**os.environ, "FAKE_PERPLEXITY": "hangs"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    log = out / "llama-perplexity.log"
    deadline = time.monotonic() + 60
    while not (log.exists() and "[1]103140" in log.read_text(encoding="utf-8")) and time.monotonic() < deadline:
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(0.1)
    child.send_signal(signal.SIGINT)
    shown, errors = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "TW-U07: stopped; what was measured is kept in" in errors
    assert "This report is partial: it was stopped." in shown
    assert "103,140" in shown
    assert "1 of 24 chunks" in " ".join(shown.split())
    assert json.loads((out / "report.json").read_text(encoding="utf-8"))["partial"] == "stopped"


def test_a_gguf_file_has_a_perplexity(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = llama_perplexity(tmp_path)
    words = f"bench {MODEL} --quality --reference {MODEL} --llama-perplexity {program} --out {tmp_path / 'out'}"
    assert run(words) == 0
    shown = capsys.readouterr().out
    assert "1.4887 (1.4399 to 1.5375)" in shown
    assert "Perplexity changes by +49%" in shown
    assert run(f"bench demo --quality --reference {tmp_path / 'out'}") == 2  # it has no scores
    assert "TW-C98" in capsys.readouterr().err


def test_votes_are_asked_without_names_kept_and_continued(tmp_path: Path) -> None:
    def saying(text: str) -> FakeOpenAI:
        return FakeOpenAI(ROLE + event({"content": text}) + STOP + DONE)

    prompts = tmp_path / "prompts.txt"
    prompts.write_text("One?\nTwo?\nThree?\n", encoding="utf-8")
    with serving(saying("cold")) as cold, serving(saying("warm")) as warm:
        words = ["-m", "wizard", "bench", "--quality", "--vote", cold.url, warm.url, "--dataset", str(prompts)]
        words += ["--out", str(tmp_path / "out")]
        for better in ("cold", "warm"):  # stopped after a vote, and continued to the end
            with pexpect.spawn(sys.executable, words, env=terminal(), encoding="utf-8", timeout=60) as child:
                votes = 1 if better == "cold" else 2
                for _ in range(votes):
                    child.expect("Answer 1 ---\r\n(cold|warm)\r\n")
                    first = child.match.group(1)
                    assert cold.url not in str(child.before)
                    child.expect("Which answer is better")
                    child.expect("4\\)")
                    child.send("1" if first == better else "2")
                    child.expect("Type 1 to 4")
                    child.send("\r")
                if better == "cold":
                    child.expect("Which answer is better")
                    child.sendintr()
                child.expect(pexpect.EOF)
    report = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    assert [vote["choice"] for vote in report["votes"]] == [0, 1, 1]
    assert report["partial"] == ""
