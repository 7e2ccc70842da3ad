from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2 as pb

from tests.chain_model import CHAT
from tests.values import CHOICE, GGUF
from wizard.model.facts import Quantization
from wizard.repository.repository import Repository
from wizard.stacks.vllm.repository import engine_args, release_of, repository

FACTS = replace(GGUF, chat=CHAT, quantization=None)
AWQ = replace(FACTS, quantization=Quantization("awq", 4.0, format="int4_awq"))
SERVED = replace(
    CHOICE,
    stack="vllm",
    dtype="bfloat16",
    quantization=None,
    kv_cache_dtype="bfloat16",
    max_seq_len=4096,
    max_batch_size=64,
    gpu_memory_utilization=0.85,
    release="26.07-vllm-python-py3",
)
PLAIN = {
    "model": "/m",
    "dtype": "bfloat16",
    "max_model_len": 4096,
    "max_num_seqs": 64,
    "gpu_memory_utilization": 0.85,
}


def of(release: str, **more: Any) -> Repository:
    choice = replace(SERVED, release=f"{release}-vllm-python-py3")
    return repository("demo", model="/m", facts=FACTS, choice=choice, **more)


def arguments(made: Repository) -> dict[str, Any]:
    (file,) = (file for file in made.files if file.path == "demo/1/model.json")
    arguments: dict[str, Any] = json.loads(file.text)
    return arguments


def config(made: Repository) -> pb.ModelConfig:
    return text_format.Parse(made.files[0].text, pb.ModelConfig())


def test_defaults_are_left_out() -> None:
    assert engine_args("/m", FACTS, SERVED) == PLAIN


@pytest.mark.parametrize(
    ("change", "more"),
    [
        ({"tp": 4}, {"tensor_parallel_size": 4}),
        ({"tp": 2, "pp": 2}, {"tensor_parallel_size": 2, "pipeline_parallel_size": 2}),
        ({"kv_cache_dtype": "fp8"}, {"kv_cache_dtype": "fp8"}),
        ({"quantization": "fp8"}, {"quantization": "fp8"}),
        ({"quantization": "int4_awq"}, {"dtype": "float16"}),
        ({"quantization": "int4_gptq"}, {"dtype": "float16"}),
    ],
)
def test_a_choice_becomes_arguments(change: dict[str, Any], more: dict[str, Any]) -> None:
    assert engine_args("/m", FACTS, replace(SERVED, **change)) == PLAIN | more


@pytest.mark.parametrize(
    ("change", "asked"),
    [
        ({"kv_cache_dtype": "auto"}, "bfloat16"),
        ({"kv_cache_dtype": "auto", "dtype": "float16"}, "float16"),
        ({"kv_cache_dtype": "auto", "dtype": "float16", "engine_version": "0.13.0"}, None),
        ({"kv_cache_dtype": "fp8"}, "fp8"),
    ],
)
def test_a_checkpoint_with_scales_for_an_fp8_cache_is_asked_for_the_cache_that_was_counted(
    change: dict[str, Any], asked: str | None
) -> None:
    """ "auto" is the checkpoint's type in vLLM 0.19 and later."""
    scaled = replace(FACTS, quantization=Quantization("modelopt", 4.0, format="nvfp4", kv_dtype="fp8"))
    arguments = engine_args("/m", scaled, replace(SERVED, **{"engine_version": "0.27.1", **change}))
    assert arguments.get("kv_cache_dtype") == asked


def test_a_quantized_checkpoint_is_detected_by_vllm_itself() -> None:
    fp8 = replace(FACTS, quantization=Quantization("fp8", 8.0, format="fp8"))
    assert "quantization" not in engine_args("/m", fp8, replace(SERVED, quantization="fp8"))
    assert engine_args("/m", AWQ, replace(SERVED, quantization="int4_awq")) == PLAIN | {"dtype": "float16"}


@pytest.mark.parametrize(("release", "there"), [("23.10", True), ("25.08", True), ("25.09", False), ("26.07", False)])
def test_an_argument_that_vllm_forgot_is_not_given(release: str, there: bool) -> None:
    assert ("disable_log_requests" in arguments(of(release))) is there


@pytest.mark.parametrize(("release", "value"), [("24.09", "true"), ("24.10", True)])
def test_adapters_have_a_file_of_their_own(release: str, value: object) -> None:
    made = of(release, lora={"sql": "/adapters/sql"})
    assert arguments(made)["enable_lora"] == value
    assert made.files[2].path == "demo/1/multi_lora.json"
    assert json.loads(made.files[2].text) == {"sql": "/adapters/sql"}
    assert "enable_lora" not in arguments(of(release))


def test_the_configuration_is_whole_where_the_backend_does_not_complete_it() -> None:
    first, later = config(of("23.10")), config(of("23.11"))
    assert [(tensor.name, tensor.optional) for tensor in first.input] == [
        ("text_input", False),
        ("stream", True),
        ("sampling_parameters", True),
    ]
    assert [tensor.name for tensor in first.output] == ["text_output"]
    assert not later.input
    assert not later.output


@pytest.mark.parametrize("release", ["23.10", "24.08", "26.07"])
def test_the_engine_has_the_gpus_the_metrics_and_the_stream(release: str) -> None:
    parsed = config(of(release))
    assert parsed.backend == "vllm"
    assert parsed.model_transaction_policy.decoupled
    assert [(group.kind, group.count) for group in parsed.instance_group] == [(pb.ModelInstanceGroup.KIND_MODEL, 1)]
    assert parsed.parameters["REPORT_CUSTOM_METRICS"].string_value == "true"
    assert parsed.parameters["chat_template"].string_value == CHAT.template


def test_without_an_image_there_is_no_release() -> None:
    assert release_of(replace(SERVED, release="triton 2.51.0")) is None
    assert release_of(SERVED) == (26, 7)
