"""The plan of TensorRT-LLM's LLM API: nothing is built; what cannot be loaded is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.stacks.trtllm_values import AWQ, GPTQ, LLAMA, choice, model, planned
from wizard.kernel.errors import InfeasibleError
from wizard.model.facts import Quantization
from wizard.plan.plan import Command, Start, Step, Wait, Write
from wizard.texts.errors import user_errors

FP8 = Quantization("modelopt", 8, format="fp8", kv_dtype="fp8")


def steps(
    version: str = "1.2.1", quantization: str = "none", facts: object = LLAMA, **changes: object
) -> tuple[Step, ...]:
    return planned(facts, choice(version, quantization, stack="trtllm-llmapi", **changes))  # type: ignore[arg-type]


def written(made: tuple[Step, ...], name: str) -> str:
    (text,) = [
        action.text
        for step in made
        for action in step.actions
        if isinstance(action, Write) and Path(action.path).name == name
    ]
    return text


def test_the_order() -> None:
    made = [step.id for step in steps()]
    assert made == ["image", "sources", "model", "repository", "start", "ready", "question"]


def test_model_yaml_says_what_the_choice_says() -> None:
    lines = [line.split(": ", 1) for line in written(steps(tp=2, kv="fp8"), "model.yaml").splitlines() if ": " in line]
    values = {key.strip(): json.loads(value) for key, value in lines}
    assert values["tensor_parallel_size"] == 2
    assert values["backend"] == "pytorch"
    assert (values["max_seq_len"], values["dtype"]) == (2048, "fp8")
    assert values["decoupled"] is True


def test_limits_are_set_only_where_they_are_arguments() -> None:
    assert "max_seq_len" not in written(steps("0.19.0"), "model.yaml")
    assert "max_seq_len" in written(steps("0.20.0"), "model.yaml")


def test_decoupled_is_in_config_pbtxt_too() -> None:
    """Triton is started without completing configurations, and model.py would say it only then."""
    made = steps()
    assert "decoupled: true" in written(made, "config.pbtxt")
    (start,) = [action for step in made for action in step.actions if isinstance(action, Start)]
    assert "--disable-auto-complete-config" in start.argv
    assert start.model == "demo"
    assert any(isinstance(action, Wait) and action.model == "demo" for step in made for action in step.actions)


def test_the_model_is_the_images_own() -> None:
    made = steps()
    (sources,) = [step for step in made if step.id == "sources"]
    (copy,) = [action for action in sources.actions if isinstance(action, Command) and "/app/all_models" in action.argv]
    assert copy.argv[-1] == "/app/tensorrt_llm/triton_backend/all_models"
    (repository,) = [step for step in made if step.id == "repository"]
    kinds = [type(action) for action in repository.actions]
    assert kinds == sorted(kinds, key=lambda kind: kind is Write)  # what is copied never hides what is written
    copied = [action.argv for action in repository.actions if isinstance(action, Command) and action.argv[0] == "cp"]
    assert [argv[2].rsplit("/all_models/", 1)[1] for argv in copied] == ["llmapi/tensorrt_llm/1"]


@pytest.mark.parametrize("version", ["0.13.0", "0.18.2"])
def test_a_release_without_the_llm_api(version: str) -> None:
    with pytest.raises(InfeasibleError) as caught, user_errors():
        steps(version)
    assert caught.value.code == "TW-L47"
    assert "25.05" in caught.value.todo


def test_an_fp8_cache_before_it_is_called_so() -> None:
    with pytest.raises(InfeasibleError) as caught, user_errors():
        steps("0.21.0", kv="fp8")
    assert caught.value.code == "TW-L47"


@pytest.mark.parametrize(
    ("stored", "wanted"),
    [(AWQ, "int4_awq"), (GPTQ, "int4_gptq"), (Quantization("bitsandbytes", 8, format="int8_wo"), "int8_wo")],
)
def test_what_it_cannot_load(stored: Quantization, wanted: str) -> None:
    with pytest.raises(InfeasibleError) as caught, user_errors():
        steps(quantization=wanted, facts=model("LlamaForCausalLM", stored))
    assert caught.value.code == "TW-L48"


def test_it_quantises_nothing_itself() -> None:
    with pytest.raises(InfeasibleError) as caught, user_errors():
        steps(quantization="fp8")
    assert caught.value.code == "TW-L48"
    assert steps(quantization="fp8", facts=model("LlamaForCausalLM", FP8))
