"""GenAI-Perf's old command lines are translated, and the translation is shown."""

from __future__ import annotations

import pytest

from wizard.cli import main
from wizard.cli.genai_perf import translated
from wizard.cli.parser import parser
from wizard.kernel.errors import UsageError

TUTORIAL_004 = (
    "bench genai-perf -m llama3-70b --num-of-output-prompts 10 --random-seed 123 --input-tokens-mean 128 "
    "--expected-output-tokens 128  --concurrency 1 -u localhost:8001"
)
BATCH = "bench triton -v profile -m llama3-70b --input-length 2048  --output-length 2048 --backend vllm -b 16"


def new(line: str) -> tuple[str, list[str]]:
    result = translated(line.split())
    assert result is not None
    parser().parse_args(result[0])
    return " ".join(result[0]), result[1]


def test_tutorial_004s_lines_are_translated() -> None:
    assert new(TUTORIAL_004) == ("bench llama3-70b --requests 10 --seed 123 --isl 128 --osl 128 --concurrency 1", [])
    assert new(BATCH) == (
        "bench llama3-70b --isl 2048 --osl 2048 --concurrency 16",
        ["-v", "--backend vllm"],
    )


def test_later_releases_and_perf_analyzers_options_are_translated() -> None:
    line = (
        "--workspace W bench -- genai-perf profile --model m --service-kind triton --streaming --url=gpu-1:8001 "
        "--concurrency-range 1:9:4 --measurement-interval 4000 --synthetic-input-tokens-mean=200"
    )
    assert new(line) == (
        "--workspace W bench http://gpu-1:8000 --model m --concurrency 1,5,9 --isl 200 --seconds 4",
        ["--service-kind triton", "--streaming"],
    )


@pytest.mark.parametrize("line", ["bench demo", "bench", "chat genai-perf", "bench demo --out genai-perf"])
def test_other_lines_are_left_alone(line: str) -> None:
    assert translated(line.split()) is None


@pytest.mark.parametrize(
    "options", ["--unknown 1", "--concurrency-range many", "-p soon", "-u http://[", "--model=m extra"]
)
def test_what_cannot_be_translated_is_named(options: str) -> None:
    with pytest.raises(UsageError) as caught:
        translated(f"bench genai-perf -m m {options}".split())
    assert caught.value.code == "TW-U70"


def test_the_translation_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(TUTORIAL_004.split())
    assert caught.value.code == 2
    shown = capsys.readouterr().err
    assert "GenAI-Perf is now: " in shown
    assert "bench llama3-70b --requests 10 --seed 123 --isl 128 --osl 128 --concurrency 1\n" in shown
    assert "TW-S09" in shown
