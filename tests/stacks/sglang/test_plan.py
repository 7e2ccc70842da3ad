"""The plan of SGLang, and its program, against the names that SGLang's wheels have (`contract.json`)."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.plan.stack_values import FACTS, RECURRENT, commands, engine, ids, machine, named, native, planned, start
from tests.stacks.trtllm_values import AWQ, model
from tests.worded import text_of
from wizard.advise.advice import Constraints
from wizard.advise.ranking import advise
from wizard.catalog.environments import environment
from wizard.kernel.errors import InfeasibleError
from wizard.model.facts import ModelFacts
from wizard.model.refs import HubRef
from wizard.model.shipped_configs import shipped
from wizard.plan.plan import Step
from wizard.probe.shorthand import host
from wizard.stacks.sglang.plan import CHECK, ENGINE
from wizard.texts.errors import user_errors

CONTRACT = json.loads(Path(__file__).with_name("contract.json").read_text(encoding="utf-8"))["versions"]
SGLANG = native("sglang")
PINS = Path(__file__).parents[3] / "profiles" / "environments" / "sglang.txt"


def steps(facts: ModelFacts = FACTS, **changes: Any) -> tuple[Step, ...]:
    return planned(replace(SGLANG, **changes), facts)


def full() -> dict[str, Any]:
    """The settings of a plan that uses every one."""
    changes: dict[str, Any] = {"tp": 2, "pp": 2, "dp": 2, "expert_parallel": True}
    changes |= {"devices": tuple(range(8))}
    changes |= {"kv_cache_dtype": "fp8", "quantization": "fp8", "step_tokens": 9}
    made: dict[str, Any] = {}
    for method in ("", "ngram", "mtp"):
        made |= engine(steps(**changes, speculative=method))[1]
    return made


def test_the_order() -> None:
    before = ["environment", "engine-environment", "check", "model", "repository"]
    assert ids(steps()) == [*before, "start", "ready", "question"]


def test_the_engine_gets_the_values_of_the_choice() -> None:
    memory = replace(SGLANG.memory, kv_capacity_tokens=70_000)
    changes: dict[str, Any] = {"tp": 2, "pp": 2, "kv_cache_dtype": "fp8", "quantization": "fp8"}
    changes |= {"devices": (0, 1, 2, 3), "step_tokens": 2048}
    argv, settings, env = engine(steps(memory=memory, **changes))
    assert argv[1] == "engines/sglang_engine.py"
    assert "/environments/sglang-" in argv[0]
    assert settings.pop("model_path").startswith("/w/models/")
    assert settings == {
        "dtype": "bfloat16",
        "context_length": 4096,
        "max_running_requests": 8,
        "log_level": "info",
        "max_total_tokens": 70_000,
        "chunked_prefill_size": 2048,
        "disable_radix_cache": False,
        "tp_size": 2,
        "pp_size": 2,
        "kv_cache_dtype": "fp8_e4m3",
        "quantization": "fp8",
    }
    assert env["LD_LIBRARY_PATH"] is None
    assert env["SPT_NOENV"] == env["HF_HUB_OFFLINE"] == "1"


def test_prefixes_of_recurrent_models_are_not_cached() -> None:
    """Their states would take memory beside those that are counted."""
    _, settings, _ = engine(steps(RECURRENT, step_tokens=2048))
    assert settings["disable_radix_cache"] is True


def test_what_is_the_default_is_left_out() -> None:
    _, settings, _ = engine(steps(memory=replace(SGLANG.memory, kv_capacity_tokens=0)))
    assert settings.keys().isdisjoint({"tp_size", "pp_size", "kv_cache_dtype", "quantization", "max_total_tokens"})


def test_triton_computes_nothing_itself() -> None:
    assert dict(start(steps()).env)["CUDA_VISIBLE_DEVICES"] == ""


@pytest.mark.parametrize("version", CONTRACT)
def test_every_version_knows_every_argument(version: str) -> None:
    assert full().keys() <= set(CONTRACT[version]["ServerArgs"])


@pytest.mark.parametrize("version", CONTRACT)
def test_the_program_names_what_every_version_has(version: str) -> None:
    tree = ast.parse(ENGINE.program.read_text(encoding="utf-8"), feature_version=(3, 9))
    calls = {
        node.func.attr: node for node in ast.walk(tree) if isinstance(node, ast.Call) and hasattr(node.func, "attr")
    }
    for name in ("Engine.async_generate", "TokenizerManager.abort_request"):
        given = {keyword.arg for keyword in calls[name.partition(".")[2]].keywords}
        assert given
        assert given <= set(CONTRACT[version][name])
    (sampling,) = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "_sampling")
    dicts = [node for node in ast.walk(sampling) if isinstance(node, ast.Dict)]
    keys = {key.value for node in dicts for key in node.keys if isinstance(key, ast.Constant)}
    assert "max_new_tokens" in keys
    assert keys <= set(CONTRACT[version]["SamplingParams"])


def test_no_requests_name_begins_with_another_ones() -> None:
    """SGLang aborts every request whose name begins with the given one (``abort_request`` of its scheduler)."""
    tree = ast.parse(ENGINE.program.read_text(encoding="utf-8"))
    (function,) = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "_rid")
    scope: dict[str, Any] = {}
    exec(ast.unparse(function), scope)
    names = [scope["_rid"](number) for number in range(200)]
    assert [(name, other) for name in names for other in names if name != other and other.startswith(name)] == []


def test_the_pins_and_the_facts_are_of_versions_in_the_contract() -> None:
    (pin,) = (line for line in PINS.read_text(encoding="utf-8").splitlines() if line.startswith("sglang=="))
    version = pin.split("==")[1].split()[0]
    assert f"SGLang {version} " in environment("sglang").engine
    assert environment("sglang").needs == {"sglang": next(iter(CONTRACT))}
    assert version in CONTRACT


def test_the_arguments_are_compared_with_those_that_the_engine_knows(tmp_path: Path) -> None:
    """``ServerArgs`` is a dataclass up to 0.5.17."""
    folder = tmp_path / "sglang" / "srt"
    folder.mkdir(parents=True)
    fields = "".join(f"    {name}: object = None\n" for name in CONTRACT["0.5.17"]["ServerArgs"])
    (folder / "server_args.py").write_text(f"import dataclasses\n@dataclasses.dataclass\nclass ServerArgs:\n{fields}")

    def asked(names: list[str]) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-c", CHECK, json.dumps(names)]
        env = {**os.environ, "PYTHONPATH": str(tmp_path)}
        return subprocess.run(argv, env=env, capture_output=True, text=True, check=False)

    assert asked(sorted(full())).stdout.strip() == "this SGLang supports all arguments"
    wrong = asked(["max_model_len", "model_path"])
    assert (wrong.returncode, wrong.stderr.strip()) == (1, "this SGLang does not support: max_model_len")
    *_, command = commands(named(steps(), "check"))
    assert command.argv[1:3] == ("-c", CHECK)


def test_a_checkpoint_in_another_format_is_refused() -> None:
    with pytest.raises(InfeasibleError) as caught, user_errors():
        steps(model("LlamaForCausalLM", AWQ), quantization="none")
    assert caught.value.code == "TW-L30"


@pytest.mark.parametrize("there", [False, True])
def test_what_the_environment_needs_is_looked_for_before_anything_is_fetched(tmp_path: Path, there: bool) -> None:
    (first, *_) = commands(named(steps(), "engine-environment"))
    assert first.argv[1:] == ("-c", environment("sglang").before)
    (tmp_path / "bin").mkdir()
    if there:
        (tmp_path / "bin" / "nvcc").touch()
    env = {"CUDA_HOME": str(tmp_path), "PATH": str(tmp_path)}
    text = subprocess.run(
        [sys.executable, *first.argv[1:]], env=env, capture_output=True, text=True, check=False
    ).stderr
    assert ("cuda-toolkit-13-0" in text) == (not there)


def test_a_compiler_on_the_users_path_alone_is_none(tmp_path: Path) -> None:
    """The engine gets another ``PATH`` (`environment_changes`)."""
    (first, *_) = commands(named(steps(), "engine-environment"))
    for name in ("nvcc", "gcc"):
        (tmp_path / name).touch(0o755)
    argv = [sys.executable, *first.argv[1:]]
    texts = [
        subprocess.run(argv, env={"PATH": path}, capture_output=True, text=True, check=False).stderr
        for path in (str(tmp_path), "/nowhere")
    ]
    assert texts[0] == texts[1]


def test_advice_lists_it_after_the_first_whose_speed_is_better_known() -> None:
    small = shipped(HubRef("Qwen/Qwen2.5-7B-Instruct"), "not asked")
    assert small
    choices = advise(host("1xH100"), small, Constraints()).choices
    sglang = next(choice for choice in choices if choice.stack == "sglang")
    assert choices[0].stack == "vllm"
    assert choices[0].speed
    assert choices[0].speed.confidence == "fair"
    assert sglang.speed
    assert sglang.speed.confidence == "rough"
    assert not any(note.code == "untried" for note in sglang.warnings)


def test_it_is_served_natively_though_docker_is_there() -> None:
    small = shipped(HubRef("Qwen/Qwen2.5-7B-Instruct"), "not asked")
    assert small
    here = machine("1xH100")
    assert any(engine.nvidia_runtime for engine in here.engines)
    first = advise(here, small, Constraints(stack="sglang")).choices[0]
    assert (first.runtime, first.release) == ("native", "triton 2.51.0, SGLang 0.5.17")
    for constraints, remedies in (
        (Constraints(runtime="docker"), {"runtime": "native"}),
        (Constraints(release="24.09"), {"release": None}),
    ):
        advice = advise(here, small, replace(constraints, stack="sglang"))
        assert not advice.choices
        (refusal, *_) = advice.rejections
        assert "NVIDIA has no Triton image with SGLang" in text_of(refusal)
        assert refusal.remedies[0].changes == remedies
