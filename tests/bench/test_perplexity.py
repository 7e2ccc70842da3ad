"""Perplexity and KL divergence: recorded output of llama-perplexity, and the real one where it is on PATH."""

from __future__ import annotations

import asyncio
import math
import shutil
import sys
from contextlib import aclosing
from pathlib import Path

import pytest

from tests.bench.test_quality import kept, order
from wizard.bench.folder import Folder
from wizard.bench.measured import Interval
from wizard.bench.quality import perplexity
from wizard.bench.quality.order import shipped_text
from wizard.bench.quality.perplexity import Files, program_of, reported
from wizard.bench.quality.report import Divergence, Perplexity, Quality
from wizard.catalog import profiles
from wizard.kernel.errors import WizardError
from wizard.run.events import Progress

MODEL = profiles.find("models/triton-wizard-demo/triton-wizard-demo-q8_0.gguf")


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "llama-perplexity"
    fake = Path(__file__).with_name("fake_perplexity.py")
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{fake}" "$@"\n', encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def files(program: str, reference: Path | None = MODEL, text: Path | None = None) -> Files:
    return Files(program, MODEL, text or shipped_text(), reference)


async def code_of(wanted: Files, folder: Path) -> str:
    return (await error_of(wanted, folder)).code


async def error_of(wanted: Files, folder: Path) -> WizardError:
    async with aclosing(reported(order(), wanted, Folder(folder))) as items:
        with pytest.raises(WizardError) as caught:
            [item async for item in items]
    return caught.value


async def test_a_file_is_compared_with_its_reference(program: str, tmp_path: Path) -> None:
    async with aclosing(reported(order(), files(program), Folder(tmp_path / "out"))) as items:
        received = [item async for item in items]
    report = received[-1]
    assert isinstance(report, Quality)
    result = report.perplexity
    assert result is not None
    assert (result.chunks, result.context) == (24, 512)
    assert result.value.value == pytest.approx(115217, abs=1)
    other = result.divergence
    assert other is not None
    assert other.same_top.value == pytest.approx(0.91961)
    assert other.same_top.high == pytest.approx(0.91961 + 1.96 * 0.00348, abs=1e-5)
    assert other.ratio.value == pytest.approx(1.4887, abs=1e-4)
    assert 0 < other.mean.value < other.p99
    assert kept(tmp_path / "out") == report
    assert any(isinstance(item, Progress) and item.text == "run 2 of 2: 24 of 24 chunks" for item in received)
    assert not (tmp_path / "out" / "reference.kld").exists()


async def test_without_a_reference_there_is_only_perplexity(program: str, tmp_path: Path) -> None:
    async with aclosing(reported(order(), files(program, None), Folder(tmp_path / "out"))) as items:
        report = [item async for item in items][-1]
    assert isinstance(report, Quality)
    assert report.perplexity is not None
    assert report.perplexity.divergence is None
    half = 1.959964 * 6956.89312
    expected = Interval(116541.8402, 116541.8402 - half, 116541.8402 + half)
    assert report.perplexity.value.low == pytest.approx(expected.low)
    assert report.perplexity.value.high == pytest.approx(expected.high)


@pytest.mark.parametrize(("behavior", "code"), [("short", "TW-C96"), ("unloadable", "TW-C95"), ("dies", "TW-C95")])
async def test_what_goes_wrong_has_its_code(
    behavior: str, code: str, program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_PERPLEXITY", behavior)
    assert await code_of(files(program), tmp_path / "out") == code
    assert not (tmp_path / "out" / "reference.kld").exists()
    assert (tmp_path / "out" / "report.json").exists() == (behavior == "dies"), "figures that were printed are kept"


async def test_files_that_cannot_be_compared_are_rejected_before_anything_runs(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    binary = tmp_path / "text.txt"
    binary.write_bytes(b"\xff\xfe\x00")
    assert await code_of(files(program, text=binary), tmp_path / "out") == "TW-C96"
    assert await code_of(files(program, text=tmp_path / "nowhere.txt"), tmp_path / "out") == "TW-C96"
    assert (await code_of(files(program, reference=binary), tmp_path / "out")).startswith("TW-M")
    monkeypatch.setattr(perplexity.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 9, 1))  # type: ignore[attr-defined]
    assert await code_of(files(program), tmp_path / "out") == "TW-C68"
    assert not (tmp_path / "out").exists() or not (tmp_path / "out" / "report.json").exists()


async def stopped(wanted: Files, folder: Path, seen: str) -> Perplexity:
    """What is kept if the user stops it when the progress is ``seen``."""

    async def until_then() -> None:
        async with aclosing(reported(order(), wanted, Folder(folder))) as items:
            async for item in items:
                if isinstance(item, Progress) and item.text == seen:
                    return

    await asyncio.wait_for(until_then(), 60)
    report = kept(folder)
    assert report.partial == "stopped"
    assert report.perplexity is not None
    assert not (folder / "reference.kld").exists()
    return report.perplexity


async def test_stopping_keeps_the_perplexity_so_far(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_PERPLEXITY", "hangs")
    result = await stopped(files(program, None), tmp_path / "out", "run 1 of 1: 1 of 24 chunks")
    assert (result.chunks, result.of, result.divergence) == (1, 24, None)
    assert result.value == Interval(103140.1777), "llama-perplexity gives no error until the end"


async def test_stopping_during_the_reference_keeps_its_perplexity(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_PERPLEXITY", "hangs")
    result = await stopped(files(program), tmp_path / "out", "run 1 of 2: 1 of 24 chunks")
    assert result.value is None
    assert result.divergence == Divergence(str(MODEL), Interval(103140.1777), None, None, None, None)


async def test_stopping_the_comparison_keeps_its_last_chunk(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_PERPLEXITY", "hangs-later")
    result = await stopped(files(program), tmp_path / "out", "run 2 of 2: 3 of 24 chunks")
    assert (result.chunks, result.of) == (3, 24)
    assert result.value is not None
    assert result.value.value == pytest.approx(104136.0021)
    assert result.value.high == pytest.approx(104136.0021 + 1.959964 * 16988.1546)
    other = result.divergence
    assert other is not None
    assert other.perplexity.value == pytest.approx(104136.0021 / math.exp(0.36567))
    assert other.ratio is not None
    assert other.ratio.value == pytest.approx(math.exp(0.36567))
    assert other.ratio.low == pytest.approx(math.exp(0.36567) * (1 - 1.959964 * 0.04579))
    assert other.mean is not None
    assert other.mean.value == pytest.approx(0.03220)
    assert other.same_top is not None
    assert other.same_top.value == pytest.approx(0.92941)
    assert other.p99 is None, "it is only printed at the end"


async def test_a_program_that_dies_leaves_what_it_printed(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_PERPLEXITY", "dies")
    assert await code_of(files(program, None), tmp_path / "out") == "TW-C95"
    report = kept(tmp_path / "out")
    assert report.partial == "TW-C95"
    assert report.perplexity is not None
    assert report.perplexity.chunks == 1


@pytest.mark.parametrize("behavior", ["nan", "nan-later"])
async def test_predictions_that_are_no_numbers_end_it_at_once(
    behavior: str, program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The figures are means of all chunks so far, so they never become numbers again."""
    monkeypatch.setenv("FAKE_PERPLEXITY", behavior)
    error = await error_of(files(program, None if behavior == "nan" else MODEL), tmp_path / "out")
    assert (error.code, MODEL.name in error.what, "NaN" in error.what) == ("TW-C95", True, True)
    report = kept(tmp_path / "out")
    assert report.perplexity is not None
    assert report.perplexity.chunks == (1 if behavior == "nan" else 3)


def test_the_program_is_named_or_on_path(program: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert program_of(program) == program
    monkeypatch.setenv("PATH", str(tmp_path))
    assert program_of(None) == program
    with pytest.raises(WizardError) as caught:
        program_of(str(tmp_path / "nowhere"))
    assert caught.value.code == "TW-C94"


@pytest.mark.skipif(not shutil.which("llama-perplexity"), reason="llama-perplexity of llama.cpp is not on PATH")
async def test_the_real_program_finds_no_divergence_of_a_file_from_itself(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text(shipped_text().read_text(encoding="utf-8")[:6000], encoding="utf-8")
    wanted = files(program_of(None), text=text)
    async with aclosing(reported(order(), wanted, Folder(tmp_path / "out"))) as items:
        report = [item async for item in items][-1]
    assert isinstance(report, Quality)
    assert report.perplexity is not None
    other = report.perplexity.divergence
    assert other is not None
    assert other.mean.value == pytest.approx(0, abs=1e-3)
    assert other.same_top.value > 0.99
