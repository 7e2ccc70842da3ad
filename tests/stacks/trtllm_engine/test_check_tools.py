"""The script that asks the image's tools for their flags, against real argparse programs made from the contracts."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from tests.plan.contracts import contracts, options
from tests.stacks.trtllm_values import LLAMA, choice, planned
from wizard.plan.plan import Write
from wizard.stacks.trtllm_engine.check_tools import flags_in, problems

SCRIPT = str(files("wizard.stacks.trtllm_engine") / "check_tools.py")
CONTRACT = contracts()["0.13.0.dev2024090300"]
NAMES = {
    "convert_checkpoint.py": "examples/llama/convert_checkpoint.py",
    "trtllm-build": "tensorrt_llm/commands/build.py",
    "run.py": "examples/run.py",
    "launch_triton_server.py": "backend:scripts/launch_triton_server.py",
}
BANNER = "[TensorRT-LLM] TensorRT-LLM version: 0.13.0"


def fake_tool(folder: Path, name: str, flags: dict[str, dict[str, Any]]) -> list[str]:
    """A program with the flags of a contract, which prints a banner first as tensorrt_llm does."""
    lines = ["import argparse", f"print({BANNER!r})", "p = argparse.ArgumentParser()"]
    for spec in {flag["name"]: flag for flag in flags.values()}.values():
        keywords: dict[str, object] = {}
        if str(spec.get("action", "")).startswith("store_"):
            keywords["action"] = spec["action"]
        elif isinstance(spec.get("choices"), list):
            keywords["choices"] = [choice for choice in spec["choices"] if choice is not None]
        lines.append(
            f"p.add_argument({', '.join(map(repr, spec['aliases']))}, help='See --no_such_flag', **{keywords!r})"
        )
    path = folder / name
    path.write_text("\n".join([*lines, "p.parse_args()"]) + "\n")
    return [sys.executable, str(path)]


def expected(folder: Path, without: str | None = None) -> dict[str, Any]:
    """What a plan for 0.13 on two GPUs expects, of tools that lack the flag ``without``."""
    (text,) = [
        action.text
        for step in planned(LLAMA, choice("0.13.0", tp=2))
        for action in step.actions
        if isinstance(action, Write) and action.path.endswith("expected.json")
    ]
    contract: dict[str, Any] = json.loads(text)
    for tool in contract["tools"]:
        known = {flag: spec for flag, spec in options(CONTRACT, NAMES[tool["tool"]]).items() if spec["name"] != without}
        tool["program"] = fake_tool(folder, tool["tool"], known)
    return contract | {"programs": ["sh"]}


def checked(folder: Path, wanted: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    path = folder / "expected.json"
    path.write_text(json.dumps(wanted))
    return subprocess.run([sys.executable, SCRIPT, str(path)], capture_output=True, text=True, check=False)


def test_tools_as_planned(tmp_path: Path) -> None:
    done = checked(tmp_path, expected(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert "trtllm-build: all 9 flags are supported" in done.stdout


def test_a_flag_that_is_gone(tmp_path: Path) -> None:
    done = checked(tmp_path, expected(tmp_path, without="--max_seq_len"))
    assert done.returncode == 1
    assert "24.09-trtllm-python-py3: trtllm-build does not support --max_seq_len" in done.stderr
    assert "--release" in done.stderr


def test_a_value_that_is_not_taken(tmp_path: Path) -> None:
    wanted = expected(tmp_path)
    (convert,) = [tool for tool in wanted["tools"] if tool["tool"] == "convert_checkpoint.py"]
    convert["arguments"] = [[flag, "float8" if flag == "--dtype" else value] for flag, value in convert["arguments"]]
    done = checked(tmp_path, wanted)
    assert done.returncode == 1
    assert "--dtype must be one of float32, bfloat16, float16, not float8" in done.stderr


def test_a_tool_that_does_not_start(tmp_path: Path) -> None:
    wanted = expected(tmp_path)
    broken = tmp_path / "broken.py"
    broken.write_text("raise ImportError('libcuda.so.1')\n")
    wanted["tools"][0]["program"] = [sys.executable, str(broken)]
    wanted["tools"][1]["program"] = [str(tmp_path / "absent")]
    done = checked(tmp_path, wanted)
    assert done.returncode == 1
    assert "libcuda.so.1" in done.stdout
    assert done.stderr.count("exited with status") == 2


def test_a_program_that_is_missing(tmp_path: Path) -> None:
    done = checked(tmp_path, expected(tmp_path) | {"programs": ["no-such-mpirun"]})
    assert done.returncode == 1
    assert "no-such-mpirun was not found" in done.stderr


def test_it_runs_with_python_alone() -> None:
    done = subprocess.run([sys.executable, "-I", "-S", SCRIPT], capture_output=True, text=True, check=False)
    assert "IndexError" in done.stderr  # it got as far as its argument, without a single package


HELP = """\
usage: tool [-h] [--dtype {float16,bfloat16}]

options:
  -h, --help            show this help message and exit
  --dtype {float16,bfloat16}
                        See --gone for what this replaced.
  --smoothquant SMOOTHQUANT, -sq SMOOTHQUANT
  --precision [{int8,int4}]
  --use_it              Like --other, but better.
"""


def test_flags_are_read_from_the_options_and_not_from_the_texts() -> None:
    assert set(flags_in(HELP)) == {"-h", "--help", "--dtype", "--smoothquant", "-sq", "--precision", "--use_it"}
    assert flags_in(HELP)["--precision"] == ["int8", "int4"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([("--dtpye", "float16")], "tool does not support --dtpye; did you mean --dtype?"),
        ([("--precision", "int2")], "tool: --precision must be one of int8, int4, not int2"),
    ],
)
def test_errors_are_reported(arguments: Sequence[tuple[str, str]], text: str) -> None:
    assert problems("tool", HELP, list(arguments)) == [text]


def test_a_help_without_options_is_no_help() -> None:
    assert "shows no options" in problems("tool", "Traceback\nValueError: no GPU\n", [("--x", None)])[0]
