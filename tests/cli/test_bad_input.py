"""What cannot work is refused with a code before anything is fetched or made, whichever stage is asked."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.chat.test_templates import LOOPS
from tests.cli.test_cli import wizard, wizard_inside
from tests.engine_environment import VLLM, make
from tests.model.gguf_bytes import LLAMA_CONFIG, folder, safetensors
from wizard.kernel.errors import EXIT_CODES

TENSORS = safetensors({"a": {"dtype": "BF16", "shape": [10, 7], "data_offsets": [0, 140]}})
GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": True, "sym": True}
AWQ = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True, "version": "gemm"}


def model(name: str, weights: str = "model.safetensors", **changes: Any) -> str:
    """A model folder below the working directory."""
    files = {weights.replace(".", "__"): TENSORS}
    folder(Path(name), {**LLAMA_CONFIG, **changes}, **files)
    return f"./{name}"


def refusal(*arguments: str, **env: str) -> dict[str, str]:
    """The error of a command that must make nothing."""
    done = wizard_inside(*arguments, "--json", **env)
    assert done.returncode in EXIT_CODES
    assert done.returncode > 1, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert not Path(os.environ["TRITON_WIZARD_HOME"]).exists()
    error: dict[str, str] = json.loads(done.stdout)["error"]
    assert error["what"]
    assert error["todo"]
    return error


@pytest.mark.parametrize("command", [("plan",), ("advise",), ("up", "--yes")])
def test_a_repository_without_safetensors(command: tuple[str, ...]) -> None:
    error = refusal(*command, model("pickled", weights="pytorch_model.bin"), "--hardware", "1xL4")
    assert error["code"] == "TW-M06"


@pytest.mark.parametrize("command", [("plan",), ("advise",), ("up", "--yes")])
@pytest.mark.parametrize("empty", ["", " "])
def test_an_unset_variable_of_a_shell_names_no_model(command: tuple[str, ...], empty: str) -> None:
    error = refusal(*command, empty, "--hardware", "1xL4")
    assert (error["code"], "MODEL" in error["what"]) == ("TW-U09", True)


@pytest.mark.parametrize(("value", "code"), [("much", "TW-U31"), ("-1", "TW-U32")])
def test_an_invalid_value_names_the_flag(value: str, code: str) -> None:
    error = refusal("advise", "demo", f"--cost-per-hour={value}", "--hardware", "1xL4")
    assert (error["code"], error["what"].split()[0]) == (code, "--cost-per-hour")


@pytest.mark.parametrize("command", [("plan",), ("up", "--yes")])
def test_a_chat_template_that_computes_without_end(command: tuple[str, ...]) -> None:
    ref = model("bomb")
    Path("bomb/chat_template.jinja").write_text(LOOPS)
    assert refusal(*command, ref, "--hardware", "1xL4")["code"] == "TW-M80"


def test_a_folder_without_weights_is_not_looked_for_on_the_hub() -> None:
    folder(Path("bare"))
    assert refusal("plan", "./bare", "--hardware", "1xL4")["code"] == "TW-L07"
    assert wizard_inside("advise", "./bare", "--hardware", "1xL4").returncode == 0


@pytest.mark.parametrize(
    ("changes", "flags", "reason"),
    [
        ({"num_attention_heads": 7, "num_key_value_heads": 7, "hidden_size": 448}, ("--tp", "2"), "7 attention heads"),
        ({}, ("--pp", "4"), "2 layers"),
        ({"quantization_config": AWQ}, ("--quantization", "fp8"), "stored as INT4 AWQ"),
        ({"quantization_config": AWQ}, ("--quantization", "int4_gptq"), "stored as INT4 AWQ"),
        ({"quantization_config": AWQ}, ("--quantization", "none"), "stored as INT4 AWQ"),
    ],
)
def test_a_constraint_that_does_not_fit_the_model_gets_the_same_message(
    changes: dict[str, Any], flags: tuple[str, ...], reason: str
) -> None:
    ref = model("it", **changes)
    where = ("--hardware", "4xL4", *flags)
    error = refusal("plan", ref, *where)
    assert error["code"] == "TW-A01"
    assert reason in error["what"]
    advice = wizard_inside("advise", ref, *where, "--json")
    assert advice.returncode == 3
    first = json.loads(advice.stdout)["rejections"][0]
    assert (first["text"], first["remedy"]) == (error["what"], error["todo"])


@pytest.mark.parametrize(
    ("stack", "tp", "code"),
    [("trtllm-engine", "1", "TW-L45"), ("trtllm-llmapi", "1", "TW-L48")],
)
def test_gptq_with_desc_act(stack: str, tp: str, code: str) -> None:
    """Refused for the stack that cannot, by its plan or by the advice before that."""
    ref = model("ordered", quantization_config=GPTQ)
    error = refusal("plan", ref, "--hardware", "2xL4", "--stack", stack, "--tp", tp)
    assert error["code"] in (code, "TW-A01")
    assert "gptq" in error["what"].lower() or "desc_act" in error["what"]


def test_another_quantisation_than_the_stored_one_needs_another_checkpoint() -> None:
    error = refusal("plan", model("plain"), "--hardware", "1xL4", "--stack", "vllm", "--quantization", "int4_awq")
    assert error["code"] in ("TW-L30", "TW-A01")
    assert "INT4 AWQ" in error["what"]


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        (("--release", "99.99"), "TW-U32"),
        (("--tp", "two"), "TW-U31"),
        (("--quantization", "int4"), "TW-U32"),
        (("--stack", "mlc"), "TW-U32"),
    ],
)
@pytest.mark.parametrize("command", ["plan", "advise"])
def test_an_invalid_constraint(command: str, flags: tuple[str, ...], code: str) -> None:
    error = refusal(command, model("it"), "--hardware", "1xL4", *flags)
    assert error["code"] == code
    assert flags[0].strip("-") in error["what"]


@pytest.mark.parametrize(
    "name",
    ["", "a b", "Capital", "org/name", "ünï", "..", "a..b", "x" * 300, "a\nb", ";x", "$(x)", "'", ".hidden", "_x"],
)
def test_a_name_that_triton_or_a_folder_cannot_have(name: str) -> None:
    error = refusal("plan", model("it"), "--hardware", "1xL4", "--name", name)
    assert error["code"] == "TW-U01"
    assert len(error["what"]) < 120


@pytest.mark.parametrize("name", ["my model", "sh;$(x)", "quo\"te's", "com,ma", "col:on", "ünï", "-dash", "UPPER.v1.0"])
def test_an_odd_folder_becomes_a_plain_model(name: str) -> None:
    """Its own path only ever stands in a link and a mount; Triton is given names that it can take."""
    model(name)
    for ref in (f"./{name}", f"./{name}/", f"../{Path.cwd().name}/{name}"):
        done = wizard_inside("plan", ref, "--hardware", "1xL4", "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        plan = json.loads(done.stdout)
        assert plan["facts"]["location"].startswith("/")
        start = next(action for step in plan["steps"] for action in step["actions"] if action["kind"] == "start")
        names = [start["model"], *(word for word in start["argv"] if "repository" in word)]
        assert not any(set(label) & set(" ;$()'\",:") for label in names)


@pytest.mark.parametrize("name", ["a b", "a:b", "a;b", "$(x)"])
@pytest.mark.parametrize("hardware", ["1xL4", "cpu"])
def test_a_workspace_that_triton_cannot_be_given(name: str, hardware: str, tmp_path: Path) -> None:
    from tests.chain_model import write_chain_model

    ref = str(write_chain_model(tmp_path / "chain.gguf")) if hardware == "cpu" else model("it")
    error = refusal("plan", ref, "--hardware", hardware, "--workspace", str(tmp_path / name))
    assert error["code"] == "TW-L03"


def test_a_model_on_this_disk_needs_no_cache_of_the_hub() -> None:
    assert wizard("plan", model("it"), "--hardware", "1xL4", HF_HOME="/proc/nowhere").returncode == 0


def test_lint_says_that_an_engine_is_for_another_gpu(tmp_path: Path) -> None:
    from tests.repository import broken
    from tests.repository.test_lint import engine, trtllm

    built = engine(tmp_path)
    built.with_name("engine.gpus.json").write_text('{"8.9": "NVIDIA L4"}')
    root = broken.write(tmp_path / "models", {"m": trtllm(str(built))})
    for hardware, reported in (("1xL4", False), ("1xA100", True)):
        done = wizard_inside("lint", str(root), "--hardware", hardware, "--backends", "tensorrtllm")
        assert ("R708" in done.stdout) == reported
        assert (done.returncode == 3) == reported


@pytest.mark.parametrize(
    ("packages", "cuda", "flags", "code", "status"),
    [
        (None, None, (), "TW-P15", 2),
        (VLLM, "13.0", ("--runtime", "docker"), "TW-A20", 2),
        ({"torch": "2.11.0"}, "13.0", (), "TW-A21", 3),
        ({"vllm": "0.8.5"}, "13.0", ("--stack", "vllm"), "TW-A22", 3),
    ],
)
@pytest.mark.parametrize("command", ["plan", "up"])
def test_a_python_that_cannot_serve_is_refused_before_anything_is_made(
    command: str, packages: dict[str, str] | None, cuda: str, flags: tuple[str, ...], code: str, status: int
) -> None:
    path = str(Path("own").absolute() / "bin" / "python")
    if packages is not None:
        make(Path("own").absolute(), packages, cuda=cuda)
    given = (command, model("it"), "--engine-python", path, *flags)
    assert refusal(*given)["code"] == code
    assert wizard_inside(*given).returncode == status


@pytest.mark.parametrize("command", [("plan",), ("advise",), ("up", "--yes")])
def test_a_model_that_does_not_chat(command: tuple[str, ...]) -> None:
    folder(Path("bert"), {"architectures": ["BertModel"], "model_type": "bert"})
    error = refusal(*command, "./bert", "--hardware", "1xL4")
    assert error["code"] == "TW-A24"
    assert "embedding model" in error["what"]
    assert "--runner pooling" in error["todo"]
