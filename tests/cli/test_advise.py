"""`triton-wizard advise`: the interface that others call."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pexpect
import pytest

from tests.advise.worlds import CONFIGS
from tests.chain_model import write_chain_model
from tests.model.gguf_bytes import safetensors
from wizard.catalog import profiles
from wizard.cli import main

CHECKOUT = Path(__file__).parents[2]
RECORDED = CHECKOUT / "tests" / "cases" / "hosts" / "host-h200-x1.json"
FORMATS = {
    *("none", "fp8", "fp8_block", "int8_wo", "int8_sq", "int4_wo", "int4_awq", "int4_gptq", "w4a8_awq"),
    *("nvfp4", "mxfp4"),
}
CASES = """\
cases:
- id: one L4
  gpus: [{name: NVIDIA L4, count: 1, memory_mib: 23034, cc: '8.9', nvlink: n}]
  model: &model {id: a/b, layers: 32, hidden: 4096, heads: 32, kv_heads: 8, head_dim: 128, ffn: 14336, vocab: 128256,
    tied_embeddings: false, params: 8030261248, dtype: bfloat16, max_position: 131072}
- id: none
  gpus: []
  model: *model
  request: {tp: 2}
"""


@pytest.fixture
def model(tmp_path: Path) -> str:
    """A folder with only a config.json."""
    (tmp_path / "config.json").write_text(json.dumps({**CONFIGS["meta-llama/Llama-3.1-8B"], "torch_dtype": "bfloat16"}))
    return str(tmp_path)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit status, standard output and standard error of a command."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def advice(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    status, out, _ = run(capsys, "advise", *arguments, "--json")
    return status, json.loads(out)


def test_the_fields_are_those_of_the_interface(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, report = advice(capsys, model, "--hardware", "2xL40S")
    assert status == 0
    assert set(report) >= {"feasible", "choices", "rejections"}
    assert report["feasible"] is True
    choice = report["choices"][0]
    for name in ("stack", "runtime", "dtype", "quantization", "kv_cache_dtype", "release"):
        assert isinstance(choice[name], str)
    for name in ("tp", "pp", "max_batch_size", "max_seq_len"):
        assert isinstance(choice[name], int)
    assert set(choice["memory"]) >= {
        *("weights_bytes", "kv_bytes_per_token", "kv_capacity_tokens", "activation_bytes"),
        *("overhead_bytes", "total_bytes", "budget_bytes"),
    }
    assert set(choice["speed"]) >= {"tpot_ms", "throughput_tokens_per_s", "ttft_ms", "low", "high", "provider"}
    assert all(set(reason) >= {"code", "text", "source"} for reason in choice["reasons"])
    assert all(set(warning) >= {"code", "text"} for warning in choice["warnings"])
    expected = {"stack", "quantization", "tp", "pp", "code", "text", "remedy"}
    assert report["rejections"]
    assert all(set(rejection) >= expected for rejection in report["rejections"])
    assert {candidate["quantization"] for candidate in report["choices"]} <= FORMATS


def test_every_flag_is_kept(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    flags = (
        "--hardware 8xH100 --goal throughput --users 7 --max-len 3000 --max-gpus 4 --gpu-memory-utilization 0.8125"
        " --stack vllm --quantization fp8 --tp 2 --pp 2 --kv-dtype fp8 --top 1 --offline"
    )
    status, report = advice(capsys, model, *flags.split())
    assert status == 0
    (choice,) = report["choices"]
    kept = ("max_batch_size", "max_seq_len", "gpu_memory_utilization", "stack", "quantization", "tp", "pp")
    assert [choice[name] for name in kept] == [7, 3000, 0.8125, "vllm", "fp8", 2, 2]
    assert choice["kv_cache_dtype"] == "fp8"
    _, report = advice(capsys, model, "--hardware", "8xH100", "--as-published")
    assert {candidate["quantization"] for candidate in report["choices"]} == {"none"}


def test_the_best_are_shown_first_and_no_more_than_asked_for(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, everything = advice(capsys, model, "--hardware", "8xH100")
    _, report = advice(capsys, model, "--hardware", "8xH100", "--top", "3")
    assert report["choices"] == everything["choices"][:3]
    assert len(everything["choices"]) > 3


def test_a_recorded_host_is_a_machine_too(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, report = advice(capsys, model, "--hardware", str(RECORDED))
    assert status == 0
    assert report["choices"][0]["stack"] == "vllm"


def test_nothing_feasible_is_status_3(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, report = advice(capsys, model, "--hardware", "8xH100", "--tp", "16")
    assert (status, report["feasible"], report["choices"]) == (3, False, [])
    assert report["rejections"][0]["remedy"] == "--tp 8"
    status, report = advice(capsys, model, "--hardware", "cpu")
    assert (status, report["feasible"]) == (3, False)
    status, _, message = run(capsys, "plan", model, "--hardware", "8xH100", "--tp", "16")
    assert status == 3
    assert message.startswith("TW-A01")


def test_a_gguf_beside_a_gpu(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gguf = str(write_chain_model(tmp_path / "chain.gguf"))
    status, report = advice(capsys, gguf, "--hardware", "1xH100")
    assert status == 0
    assert [candidate["stack"] for candidate in report["choices"]] == ["llamacpp"]
    assert "gpu-unused" in {warning["code"] for warning in report["choices"][0]["warnings"]}


def test_cases_are_answered_line_by_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "fleet.yaml").write_text(CASES)
    status, out, _ = run(capsys, "advise", "--cases", str(tmp_path / "fleet.yaml"), "--json")
    assert status == 0
    first, second = map(json.loads, out.splitlines())
    assert set(first) == {"id", "advice"}
    assert (first["id"], first["advice"]["feasible"]) == ("one L4", True)
    assert (second["id"], second["advice"]["feasible"]) == ("none", False)
    status, out, _ = run(capsys, "advise", "--cases", str(tmp_path / "fleet.yaml"))
    assert out.startswith("one L4: vLLM · ")
    assert "none: " in out


def test_a_damaged_file_of_cases_is_tw_a02(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "fleet.yaml").write_text("cases: 3")
    status, out, _ = run(capsys, "advise", "--cases", str(tmp_path / "fleet.yaml"), "--json")
    assert status == 2
    error = json.loads(out)["error"]
    assert error["code"] == "TW-A02"
    example = profiles.find("examples/fleet.yaml")
    assert str(example) in error["todo"]
    status, out, _ = run(capsys, "advise", "--cases", str(example), "--json")
    assert status == 0
    assert all(record["advice"]["feasible"] for record in map(json.loads, out.splitlines()))


def test_an_invalid_case_is_reported_in_its_line_and_the_rest_is_answered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "fleet.yaml").write_text(CASES.replace("cc: '8.9', ", ""))
    status, out, _ = run(capsys, "advise", "--cases", str(tmp_path / "fleet.yaml"), "--json")
    assert status == 2
    wrong, right = map(json.loads, out.splitlines())
    assert wrong == {"id": "one L4", "error": {"code": "TW-A02", "text": "error in case one L4: `cc` is missing"}}
    assert right["id"] == "none"
    assert "advice" in right
    status, out, _ = run(capsys, "advise", "--cases", str(tmp_path / "fleet.yaml"))
    assert (status, out.splitlines()[0]) == (2, "one L4: TW-A02: error in case one L4: `cc` is missing")


def test_explain_shows_formulas_with_their_numbers(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, plain, _ = run(capsys, "advise", model, "--hardware", "1xH100")
    _, explained, _ = run(capsys, "advise", model, "--hardware", "1xH100", "--explain")
    assert status == 0
    formula = "2 × 32 layers × 8 KV heads × 128 × 2 bytes"
    assert formula in " ".join(explained.split())
    assert formula not in " ".join(plain.split())


def test_help_says_what_a_bare_config_lacks(capsys: pytest.CaptureFixture[str]) -> None:
    _, printed, _ = run(capsys, "advise", "--help")
    printed = " ".join(printed.split())
    assert "if the folder contains only a config.json" in printed
    assert "hf_quant_config.json" in printed


def test_a_model_or_cases_but_not_both(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, message = run(capsys, "advise", "demo", "--cases", "fleet.yaml")
    assert status == 2
    assert message.startswith("TW-U08")


def test_without_a_model_the_models_for_this_machine_are_listed_by_size(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "advise", "--hardware", "8xH100", "--offline")
    assert status == 0
    titles = ["Included", "Large: 40 B parameters and more", "Medium: 8 to 40 B parameters"]
    assert sorted(map(out.index, titles)) == list(map(out.index, titles))
    assert "First because the Hub is not contacted (--offline)." in " ".join(out.split())
    assert "models are not available: the Hub is not contacted (--offline)" in " ".join(out.split())
    status, out, _ = run(capsys, "advise", "--hardware", "1xH100", "--offline", "--json")
    models = json.loads(out)
    assert (models[0]["ref"], models[0]["usable"]) == ("demo", True)
    assert {model["group"] for model in models} == {"included", "large", "medium", "small"}


def test_what_is_advised_on_a_gpu_is_planned(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    tensors = {"a": {"dtype": "BF16", "shape": [10, 7], "data_offsets": [0, 140]}}
    (Path(model) / "model.safetensors").write_bytes(safetensors(tensors))
    status, out, _ = run(capsys, "plan", model, "--hardware", "1xH100", "--json")
    assert status == 0
    plan = json.loads(out)
    assert (plan["choice"]["stack"], plan["choice"]["runtime"]) == ("vllm", "docker")
    assert "image" in [step["id"] for step in plan["steps"]]


def test_the_demo_is_planned_for_a_machine_with_a_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "plan", "demo", "--hardware", "1xH100", "--json")
    assert status == 0
    assert json.loads(out)["choice"]["stack"] == "llamacpp"


def test_yaml_is_read_only_for_cases() -> None:
    code = "import sys, wizard.advise.cases, wizard.cli.stages, wizard.journey; print('yaml' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=CHECKOUT)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("interface", ["--plain", "screen"])
def test_constraints_of_the_command_line_and_of_a_file_reach_every_interface(
    model: str, tmp_path: Path, interface: str
) -> None:
    answers = tmp_path / "answers.toml"
    answers.write_text(f"model = {json.dumps(model)}\ntp = 2\nquantization = 'fp8'\n")
    given = ["--plain"] if interface == "--plain" else []
    given += f"--answers {answers} --hardware 8xH100 --offline --tp 16 --kv-dtype fp8 --stack vllm".split()
    child = pexpect.spawn(sys.executable, ["-m", "wizard", *given], encoding="utf-8", timeout=60, dimensions=(40, 120))
    try:
        if interface == "screen":
            child.expect_exact("Choose a model")  # the machine's screen
            child.send("\r")
        if interface == "screen":
            drawn = ["FP8 with tp 16", "Apply the fix"]  # in any order
            while drawn:
                del drawn[child.expect_exact(drawn)]
        else:
            child.expect_exact("FP8 with tp 16")
            child.expect_exact("Use the closest possible setup: tp 8")
        child.send("t" if interface == "screen" else "\r")
        child.expect_exact("FP8 KV cache")
    finally:
        child.close(force=True)


def test_a_file_of_answers_for_a_plan_holds_constraints_too(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = tmp_path / "answers.toml"
    answers.write_text("tp = 16\n")
    given = ("plan", model, "--hardware", "8xH100", "--answers", str(answers))
    status, _, message = run(capsys, *given)
    assert (status, "--tp 8" in message) == (3, True)
    assert "--tp 8" not in run(capsys, *given, "--tp", "1")[2]


def test_the_pareto_front_has_the_load_of_each_point(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("advise", model, "--hardware", "4xL40S", "--goal", "code", "--cost-per-hour", "6", "--pareto")
    status, out, _ = run(capsys, *arguments, "--json")
    front = json.loads(out)
    assert status == 0
    assert (front["isl"], front["osl"]) == (8192, 512)
    assert front["points"]
    for point in front["points"]:
        speed, cost = point["choice"]["speed"], point["choice"]["cost"]
        assert (speed["users"], speed["isl"], speed["osl"]) == (point["users"], 8192, 512)
        assert cost["per_million_tokens"] == pytest.approx(6e6 / 3600 / point["tokens_per_s"])
    assert front["unknown"] == []
    _, text, _ = run(capsys, *arguments)
    assert "8,192 tokens in and 512 out" in " ".join(text.split())
    assert "cost/million" in text
    assert all(len(line) <= 100 for line in text.splitlines())


def test_a_front_needs_a_model(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, message = run(capsys, "advise", "--hardware", "1xL4", "--pareto")
    assert (status, out) == (2, "")
    assert "TW-U08" in message
    assert "--pareto needs a model" in message


def test_a_front_of_nothing_is_a_rejection(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("advise", model, "--hardware", "1xL4", "--pareto", "--tp", "2")
    status, out, _ = run(capsys, *arguments, "--json")
    assert status == 3
    assert json.loads(out)["rejections"]
    status, text, _ = run(capsys, *arguments)
    assert status == 3
    assert "Not possible" in text
    assert run(capsys, "advise", model, "--pareto", "--explain")[0] == 2


def test_costs_and_power_are_shown_with_the_load(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, text, _ = run(capsys, "advise", model, "--hardware", str(RECORDED), "--cost-per-hour", "2.5", "--top", "1")
    flat = " ".join(text.split())
    assert "per million output tokens, with 2.50 per hour for the whole machine." in flat
    assert "W by the power limit of 1 GPU; at this load at most" in flat
    status, _, message = run(capsys, "advise", model, "--cost-per-hour", "-1")
    assert (status, "from 0.0001 to 1,000,000" in message) == (2, True)
    assert run(capsys, "advise", model, "--cost-per-hour", "nan")[0] == 2


def test_options_in_the_list_say_their_load(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, text, _ = run(capsys, "advise", model, "--hardware", "2xL40S", "--users", "16")
    flat = " ".join(text.split())
    assert flat.count("tokens/s each (16 users, 1,024 tokens in, 256 out)") >= 3
