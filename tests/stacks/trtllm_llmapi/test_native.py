"""The plan of TensorRT-LLM's LLM API without containers, and what is looked for before anything is fetched."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.plan.stack_values import FACTS, LLM_API, commands, engine, ids, machine, named, planned, start
from tests.stacks.trtllm_values import AWQ, model
from tests.values import PYTHON
from wizard.catalog.environments import environment
from wizard.kernel.errors import HostError, InfeasibleError
from wizard.model.facts import ModelFacts
from wizard.plan.plan import Step
from wizard.probe.host import EnginePython
from wizard.texts.errors import user_errors

HOST = replace(machine(), interpreters=(replace(PYTHON, version=(3, 12, 3)),))
FAKE = Path(__file__).parent.parent.parent / "e2e" / "fake_tensorrt_llm"


def steps(facts: ModelFacts = FACTS, **changes: Any) -> tuple[Step, ...]:
    return planned(replace(LLM_API, **changes), facts, on=HOST)


def test_the_order() -> None:
    before = ["environment", "engine-environment", "check", "model", "repository"]
    assert ids(steps()) == [*before, "start", "ready", "question"]


def test_the_engine_gets_the_values_of_the_choice() -> None:
    argv, settings, env = engine(steps(tp=2, pp=2, kv_cache_dtype="fp8", devices=(0, 1, 2, 3)))
    assert argv[1] == "engines/trtllm_engine.py"
    assert "/environments/trtllm-llmapi-" in argv[0]
    assert settings.pop("model").startswith("/w/models/")
    assert settings == {
        "tensor_parallel_size": 2,
        "pipeline_parallel_size": 2,
        "max_batch_size": 8,
        "max_seq_len": 4096,
        "kv_cache_config": {"free_gpu_memory_fraction": 0.9, "dtype": "fp8"},
    }
    assert env["LD_LIBRARY_PATH"] is None
    assert env["HF_HUB_OFFLINE"] == "1"


def test_whole_experts_on_each_rank_are_an_argument() -> None:
    _, settings, _ = engine(steps(tp=2, expert_parallel=True, devices=(0, 1)))
    assert settings["moe_expert_parallel_size"] == 2
    assert "enable_attention_dp" not in settings


def test_data_parallel_attention_has_a_rank_on_each_gpu_with_the_limits_of_a_rank() -> None:
    _, settings, _ = engine(steps(dp=2, expert_parallel=True, devices=(0, 1)))
    assert settings["enable_attention_dp"] is True
    assert (settings["tensor_parallel_size"], settings["moe_expert_parallel_size"]) == (2, 2)
    assert settings["max_batch_size"] == 8


def test_unknown_versions_of_the_environment_are_omitted() -> None:
    estimate = named(steps(), "engine-environment").estimate
    assert (estimate.unknown, estimate.download_bytes, estimate.disk_bytes) == (True, 0, 0)


def test_triton_is_started_as_for_the_other_engines_behind_the_proxy() -> None:
    action = start(steps(devices=(0,)))
    assert dict(action.env)["CUDA_VISIBLE_DEVICES"] == ""  # Triton computes nothing itself
    assert action.model == "demo"


@pytest.mark.parametrize("release", ["1.0.0", "1.2.1"])
def test_the_arguments_are_compared_with_those_that_the_engine_knows(release: str) -> None:
    """With the stand-in's arguments, which are the release's own."""
    *_, command = commands(named(steps(dp=2, devices=(0, 1), expert_parallel=True), "check"))

    def asked(arguments: str) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "PYTHONPATH": str(FAKE), "FAKE_TENSORRT_LLM": release}
        argv = [sys.executable, *command.argv[1:3], arguments]
        return subprocess.run(argv, env=env, capture_output=True, text=True, check=False)

    assert asked(command.argv[3]).returncode == 0, asked(command.argv[3]).stderr
    wrong = asked('["max_model_len", "model"]')
    assert (wrong.returncode, wrong.stderr.strip()) == (1, "this TensorRT-LLM does not support: max_model_len")


def test_what_it_cannot_load_is_refused_as_in_an_image() -> None:
    with pytest.raises(InfeasibleError) as caught, user_errors():
        steps(model("LlamaForCausalLM", AWQ), quantization="int4_awq")
    assert caught.value.code == "TW-L48"


@pytest.mark.parametrize("there", [False, True])
def test_what_the_environment_needs_is_looked_for_before_anything_is_fetched(tmp_path: Path, there: bool) -> None:
    made = named(steps(), "engine-environment")
    (first, *_) = commands(made)
    assert first.argv[1:] == ("-c", environment("trtllm-llmapi").before)
    cuda = tmp_path / "cuda"
    (cuda / "bin").mkdir(parents=True)
    if there:
        (cuda / "bin" / "nvcc").touch()
    env = {"CUDA_HOME": str(cuda), "PATH": str(tmp_path), "CC": "/bin/cc"}
    printed = subprocess.run(
        [sys.executable, *first.argv[1:]], env=env, capture_output=True, text=True, check=False
    ).stderr
    assert printed.startswith("TensorRT-LLM needs OpenMPI (`sudo apt install libopenmpi-dev openmpi-bin`)")
    assert ("cuda-toolkit-13-1" in printed) == (not there)


def test_a_python_of_the_users_keeps_its_path_for_mpi(monkeypatch: pytest.MonkeyPatch) -> None:
    """NVIDIA's images have MPI outside the folders that every system has."""
    packages = {"tensorrt_llm": "1.2.1", "torch": "2.9.1+cu130"}
    python = EnginePython("/opt/venv/bin/python", (3, 12, 3), "/opt/venv", packages, "13.0")
    monkeypatch.setenv("PATH", "/usr/local/mpi/bin:/usr/bin")
    chosen = replace(LLM_API, devices=(0,), engine_python=python.path)
    argv, _, env = engine(planned(chosen, on=replace(HOST, engine_pythons=(python,))))
    assert argv[0] == python.path
    assert env["PATH"] == "/opt/venv/bin:/usr/local/mpi/bin:/usr/bin"


def test_a_python_of_another_machine_that_is_not_described_is_refused() -> None:
    with pytest.raises(HostError) as caught, user_errors():
        steps(devices=(0,), engine_python="/opt/venv/bin/python")
    assert caught.value.code == "TW-A21"
