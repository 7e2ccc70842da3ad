"""`triton-wizard bench --compare`, with FakeAiperf in AIPerf's place."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.bench.installed import install
from tests.chat.fake_openai import FakeOpenAI, serving
from tests.cli.test_bench import run
from wizard.kernel.paths import Workspace


@pytest.fixture
def urls() -> Iterator[tuple[str, str]]:
    """The addresses of two servers, and a workspace with the load generator."""
    install(Workspace.at(os.environ["TRITON_WIZARD_HOME"]))
    with serving(FakeOpenAI()) as first, serving(FakeOpenAI()) as second:
        yield first.url, second.url


def test_two_servers_are_compared_in_alternating_runs(
    urls: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words = f"bench --compare {urls[0]} {urls[1]} --concurrency 1,4 --requests 40 --out {out}"
    assert run(words) == 0
    shown = capsys.readouterr()
    steps = [line for line in shown.err.splitlines() if "run" in line and "of 3 …" in line]
    assert len(steps) == 12
    assert "with the same prompts" in " ".join(shown.out.split())
    made = json.loads((out / "report.json").read_text(encoding="utf-8"))
    assert (made["kind"], made["order"], len(made["reports"])) == ("comparison", "alternating", 2)
    assert {each["method"] for each in made["ratios"]} == {"pairs"}
    ratio = next(each["value"] for each in made["ratios"] if each["figure"] == "tokens_per_s")
    assert ratio["low"] <= 1 <= ratio["high"], "both servers are the same"
    prompts = [(out / folder / "prompts.jsonl").read_bytes() for folder in sorted(p.name for p in out.glob("?-*"))]
    assert len(prompts) == 2
    assert prompts[0] == prompts[1]
    assert made["command"].endswith(words)


def test_a_comparison_is_shown_and_measured_again(
    urls: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    run(f"bench --compare {urls[0]} {urls[1]} --quick --seconds 1 --out {first}")
    assert {path.name for path in first.iterdir() if path.is_file()} == {"report.json", "report.html", "report.md"}
    capsys.readouterr()
    assert run(f"bench --open {first} --json") == 0
    assert json.loads(capsys.readouterr().out)["kind"] == "comparison"
    assert run(f"bench --open {first} --plain --cost-per-gpu-hour 2") == 0
    assert "Cost of output tokens at 2 per GPU and hour." in capsys.readouterr().out
    assert run(f"bench --replay {first} --concurrency 2") == 2
    assert run(f"bench --replay {first} --compare a b") == 2
    assert run(f"bench --replay {first} --out {second}") == 2, "addresses need consent, and there is no terminal"
    assert "TW-U03" in capsys.readouterr().err
    assert run(f"bench --replay {first} --yes --out {second}") == 0
    again = json.loads((second / "report.json").read_text(encoding="utf-8"))
    before = json.loads((first / "report.json").read_text(encoding="utf-8"))
    assert [each["load"] for each in again["reports"]] == [each["load"] for each in before["reports"]]
    assert [each["target"]["url"] for each in again["reports"]] == [each["target"]["url"] for each in before["reports"]]


def test_saved_reports_are_compared(urls: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, url in zip("ab", urls, strict=True):
        run(f"bench {url} --quick --seconds 1 --out {tmp_path / name}")
    capsys.readouterr()
    out = tmp_path / "out"
    assert run(f"bench --compare {tmp_path / 'a'} {tmp_path / 'b' / 'report.json'} --out {out}") == 0
    shown = capsys.readouterr()
    assert "These benchmarks were made at different times" in " ".join(shown.out.split())
    assert json.loads((out / "report.json").read_text(encoding="utf-8"))["order"] == "apart"
    assert run(f"bench --compare {tmp_path / 'a'} {tmp_path / 'a'}") == 2
    assert run(f"bench --compare {tmp_path / 'a'} {urls[0]}") == 2
    errors = capsys.readouterr().err
    assert "TW-C80" in errors
    assert "TW-C83" in errors


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("demo --compare a b", "TW-C67"),
        ("--compare a b --model x", "TW-C67"),
        ("--compare a b --concurrency 1 --request-rate 1", "TW-C67"),
        ("--compare a", "TW-C80"),
        ("--compare a b", "TW-S09"),
    ],
)
def test_comparisons_that_make_no_sense_are_refused(
    urls: tuple[str, str], words: str, code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(f"bench {words}") == 2
    assert code in capsys.readouterr().err


def test_ctrl_c_keeps_what_was_measured(urls: tuple[str, str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ["bench", "--compare", *urls, "--concurrency", "1", "--requests", "40", "--repeats", "1", "--out", str(out)]
    process = subprocess.Popen(
        [sys.executable, "-m", "wizard", *words],
        env={**os.environ, "FAKE_AIPERF": "hangs"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while not any(out.glob("*/aiperf/c1-1/hanging")):
            with suppress(subprocess.TimeoutExpired):
                pytest.fail(f"it ended with {process.wait(timeout=0.05)}")
        process.send_signal(signal.SIGINT)
        shown, errors = process.communicate(timeout=60)
    finally:
        process.terminate()
    assert process.returncode == 130
    assert "This report is partial: the benchmark was stopped." in shown
    assert "TW-U07" in errors
    made = json.loads((out / "report.json").read_text(encoding="utf-8"))
    assert made["reports"][0]["points"][0]["sent"] == 21


def test_an_error_in_the_middle_shows_what_was_measured(
    urls: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FAKE_AIPERF", "dies")
    words = f"bench --compare {urls[0]} {urls[1]} --concurrency 2 --requests 40 --repeats 1 --out {tmp_path / 'out'}"
    assert run(words) == 7
    shown = capsys.readouterr()
    assert "2 at once" in shown.out
    assert "This report is partial: the benchmark ended with error TW-C63." in shown.out


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("--tune --ttft 100", "TW-C67"),
        ("http://127.0.0.1:9 --tune --ttft 100", "TW-C67"),
        ("a --tune --compare b c --ttft 100", "TW-C67"),
        ("a --tune --ttft 100 --request-rate 1", "TW-C67"),
        ("a --tune", "TW-C86"),
        ("a --tune --ttft 100", "TW-S09"),
    ],
)
def test_searches_that_make_no_sense_are_refused(words: str, code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(f"bench {words}") == 2
    assert code in capsys.readouterr().err


def test_a_search_needs_a_readable_plan(capsys: pytest.CaptureFixture[str]) -> None:
    server = Workspace.at(os.environ["TRITON_WIZARD_HOME"]).server("a")
    server.root.mkdir(parents=True)
    server.plan.write_text("{", encoding="utf-8")
    assert run("bench a --tune --ttft 100") == 2
    assert "TW-C85" in capsys.readouterr().err
