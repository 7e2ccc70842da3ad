"""`triton-wizard bench` from its words to its table, with FakeAiperf in AIPerf's place."""

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
from wizard.bench import bench as bench_module
from wizard.cli import main
from wizard.kernel.paths import Workspace


@pytest.fixture
def url() -> Iterator[str]:
    """The address of a server, and a workspace with the load generator."""
    install(Workspace.at(os.environ["TRITON_WIZARD_HOME"]))
    with serving(FakeOpenAI()) as fake:
        yield fake.url


def run(words: str) -> int | str | None:
    with pytest.raises(SystemExit) as caught:
        main(words.split())
    return caught.value.code


def test_a_table_is_printed_and_a_report_written(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert run(f"bench {url} --concurrency 1,4 --requests 40 --repeats 1 --ttft 100 --out {out}") == 0
    shown = capsys.readouterr()
    lines = shown.out.splitlines()
    assert [line.strip().split("  ")[0] for line in lines if "at once" in line and "!" not in line] == [
        "1 at once",
        "4 at once",
    ]
    assert "Good: time to first token at most 100 ms." in " ".join(shown.out.split())
    assert "[1/2] 1 concurrent request, run 1 of 1" in shown.err
    assert str(out / "report.json") in shown.err
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    assert report["command"].endswith(f"bench {url} --concurrency 1,4 --requests 40 --repeats 1 --ttft 100 --out {out}")
    assert report["partial"] == ""
    assert report["points"][0]["good"]["value"] == 1.0


def test_a_report_that_is_there_is_neither_shown_nor_changed(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    run(f"bench {url} --quick --seconds 1 --out {out}")
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    capsys.readouterr()
    assert run(f"bench {url} --quick --seconds 1 --json --out {out}") == 2
    shown = capsys.readouterr()
    assert json.loads(shown.out)["error"]["code"] == "TW-C69"
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == before


def test_without_out_the_report_is_in_the_workspace(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(f"bench {url} --quick --seconds 1 --json") == 0
    report = json.loads(capsys.readouterr().out)
    (folder,) = Workspace.at(os.environ["TRITON_WIZARD_HOME"]).bench.iterdir()
    assert json.loads((folder / "report.json").read_text(encoding="utf-8"))["made"] == report["made"]


def test_errors_in_the_middle_show_what_was_measured(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FAKE_AIPERF", "dies")
    assert run(f"bench {url} --concurrency 2 --requests 40 --repeats 1 --out {tmp_path / 'out'}") == 7
    shown = capsys.readouterr()
    assert "2 at once" in shown.out
    assert "This report is partial: the benchmark ended with error TW-C63." in shown.out
    assert "TW-C63: AIPerf failed" in shown.err


def test_ctrl_c_keeps_what_was_measured(url: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ["bench", url, "--concurrency", "1", "--requests", "40", "--repeats", "1", "--out", str(out)]
    process = subprocess.Popen(
        [sys.executable, "-m", "wizard", *words],
        env={**os.environ, "FAKE_AIPERF": "hangs"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        hanging = out / "aiperf" / "c1-1" / "hanging"
        while not hanging.exists():
            with suppress(subprocess.TimeoutExpired):
                pytest.fail(f"it ended with {process.wait(timeout=0.05)}")
        process.send_signal(signal.SIGINT)
        shown, errors = process.communicate(timeout=60)
    finally:
        process.terminate()
    assert process.returncode == 130
    assert "1 at once" in shown
    assert "This report is partial: the benchmark was stopped." in shown
    assert "TW-U07" in errors
    assert json.loads((out / "report.json").read_text(encoding="utf-8"))["points"][0]["sent"] == 21


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ("--concurrency 1 --request-rate 1", "TW-C67"),
        ("--requests 1 --seconds 1", "TW-C67"),
        ("--hardware cpu", "TW-C67"),
        ("--dataset nothing.json --concurrency 1", "TW-C66"),
    ],
)
def test_options_that_cannot_be_met_are_said(
    url: str, options: str, code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(f"bench {url} {options}") == 2
    assert code in capsys.readouterr().err


@pytest.mark.parametrize(
    "options", ["--concurrency 0", "--concurrency 1,x", "--request-rate -1", "--seconds nan", "--ttft 0", "--warmup -1"]
)
def test_numbers_that_make_no_sense_are_rejected(options: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(f"bench {options}") == 2
    assert options.split(maxsplit=1)[0] in capsys.readouterr().err


def test_a_model_name_needs_a_url(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("bench --model x") == 2
    assert "TW-C67" in capsys.readouterr().err


def test_a_long_benchmark_needs_a_terminal_or_yes(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench_module, "LONG_S", 1.0)
    words = f"bench {url} --concurrency 1,2 --requests 40 --repeats 2"
    assert run(f"{words} --out {tmp_path / 'first'}") == 2
    shown = capsys.readouterr()
    assert "The rest takes about" in shown.err
    assert "A shorter benchmark (one run of" in shown.err
    assert "TW-U03" in shown.err
    assert "1 at once" in shown.out, "the first run is kept"
    assert run(f"{words} --yes --out {tmp_path / 'second'}") == 0


def test_the_installation_needs_a_terminal_or_yes(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(FakeOpenAI()) as fake:
        assert run(f"bench {fake.url} --quick") == 2
    shown = capsys.readouterr().err
    assert "The load generator AIPerf is not installed yet: 228 MiB to download, 781 MiB on disk, once." in shown
    assert "TW-U03" in shown
