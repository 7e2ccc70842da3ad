"""`triton-wizard speed`: one configuration's estimate, as JSON and in words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from wizard.cli import main
from wizard.kernel.errors import InfeasibleError, UsageError

CASE = Path(__file__).parent.parent / "cases" / "models" / "llama-3.1-8b.json"


@pytest.fixture
def model(tmp_path: Path) -> str:
    (tmp_path / "config.json").write_text(json.dumps(json.loads(CASE.read_text())["config"]))
    return str(tmp_path)


def speed(capsys: pytest.CaptureFixture[str], flags: str, *more: str) -> tuple[int, str, str]:
    """Exit status, standard output and standard error of the command."""
    with pytest.raises(SystemExit) as ended:
        main(["speed", *flags.split(), *more])
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def test_as_json(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    flags = "--stack vllm --hardware 8xH100 --tp 4 --concurrency 32 --isl 1024 --osl 256 --quantization fp8"
    status, out, _ = speed(capsys, flags, model, "--json")
    data = json.loads(out)
    assert status == 0
    assert {"tpot_ms", "throughput_tokens_per_s", "ttft_ms", "low", "high", "provider"} <= set(data)
    assert data["low"] < data["tpot_ms"] < data["high"]
    assert (data["provider"], data["confidence"], data["served"]) == ("roofline", "fair", 32)


def test_every_flag_counts(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    base = "--hardware 8xH100 --tp 2 --pp 1 --concurrency 16 --isl 2048 --osl 512 --stack vllm --quantization none"
    changes = ("--tp 4", "--pp 2", "--concurrency 32", "--isl 4096", "--osl 1024", "--stack trtllm-llmapi")
    changes += ("--quantization fp8", "--kv-dtype fp8", "--hardware 8xH200")
    figures = [json.loads(speed(capsys, f"{base} {flags}", model, "--json")[1])["tpot_ms"] for flags in ("", *changes)]
    assert len(set(figures)) == len(figures)


def test_in_words(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = speed(capsys, "--hardware H200", model)
    assert status == 0
    assert "ms per token" in out
    assert "Source: roofline; confidence: medium." in out


def test_without_enough_gpus(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = speed(capsys, "--hardware 2xH100 --tp 4", model)
    assert status == UsageError.exit_code
    assert "TW-A08" in err


def test_without_a_figure(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = speed(capsys, "--hardware H100 --stack llamacpp", model)
    assert status == InfeasibleError.exit_code
    assert "TW-A10" in err
