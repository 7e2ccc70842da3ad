"""Every release's own model repository is recognised, and every request has what that release declares."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.values import CHOICE, GGUF
from wizard.chat.ask import Ask, PromptTooLong, server_error
from wizard.chat.wire import OWN, OWN_KINDS, WIZARD, Wire, engine_of, wire_of
from wizard.repository import python_models
from wizard.repository.repository import Repository
from wizard.stacks.trtllm_engine import repository as trtllm
from wizard.stacks.trtllm_engine.chat import TEXT, TOKEN_IDS
from wizard.stacks.trtllm_llmapi import repository as trtllm_llmapi
from wizard.stacks.trtllm_llmapi.chat import LLM_API
from wizard.stacks.vllm import repository as vllm
from wizard.stacks.vllm.chat import VLLM

RELEASES = ("0.7.2", "0.8.0", "0.9.0", "0.10.0", "0.11.0", "0.12.0", "0.13.0", "0.16.0", "0.17.0", "0.19.0", "1.2.0")
ASK = Ask("m", "Hi", 9, 0.5, 0.9, 7, ("END",), ids=(1, 2, 3))


def configs(repository: Repository) -> dict[str, dict[str, Any]]:
    """Model → its description, as Triton gives it."""
    from google.protobuf import json_format, text_format
    from tritonclient.grpc import model_config_pb2

    configs_by_name = {}
    for file in repository.files:
        if file.path.endswith("config.pbtxt"):
            message = text_format.Parse(file.text, model_config_pb2.ModelConfig())
            configs_by_name[file.path.split("/", maxsplit=1)[0]] = json_format.MessageToDict(
                message, preserving_proto_field_name=True
            )
    return configs_by_name


def engine(release: str, **more: Any) -> dict[str, dict[str, Any]]:
    return configs(trtllm.repository(release, engine_dir="/engine", tokenizer_dir="/model", max_batch_size=4, **more))


def say(config: dict[str, Any], parameter: str, value: str) -> None:
    """Give a model a parameter that ours never has, as others' repositories do."""
    config["parameters"][parameter] = {"string_value": value}


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("streams", [True, False])
def test_tensorrt_llm_of_every_release(release: str, streams: bool) -> None:
    models = engine(release, decoupled=streams)
    say(models["tensorrt_llm_bls"], "accumulate_tokens", "true")
    behind = models["tensorrt_llm"]
    for name, form in (("tensorrt_llm", TOKEN_IDS), ("ensemble", TEXT), ("tensorrt_llm_bls", TEXT)):
        wire = wire_of(models[name], None if form is TOKEN_IDS else behind)
        assert wire is not None
        assert (wire.format, wire.batched, wire.streams, wire.echoes) == (form, True, streams, False)
        assert wire.mode == ("cumulative" if name == "tensorrt_llm_bls" else "delta")
        sent = {tensor.name: tensor for tensor in wire.tensors(ASK, 2)}
        assert wire.required <= set(sent)
        assert wire.lacks(ASK) == []
        assert {"seed", "random_seed"} & set(sent)
        assert sent.get("stream", sent.get("streaming")).values == (streams,)  # type: ignore[union-attr]
        assert all(tensor.shape[0] == 1 for tensor in sent.values())
        if form is TEXT:
            assert "tensorrt_llm" in engine_of(models[name])


def test_an_engine_that_gives_the_prompt_back() -> None:
    old = engine("0.13.0")
    say(old["tensorrt_llm"], "exclude_input_in_output", "false")
    for name in ("tensorrt_llm", "ensemble"):
        wire = wire_of(old[name], old["tensorrt_llm"])
        assert wire is not None
        assert wire.echoes
    new = engine("0.16.0")
    say(new["tensorrt_llm"], "exclude_input_in_output", "false")  # each request can say it from here on
    wire = wire_of(new["ensemble"], new["tensorrt_llm"])
    assert wire is not None
    assert not wire.echoes
    assert {"exclude_input_in_output": (True,)}.items() <= {
        tensor.name: tensor.values for tensor in wire.tensors(ASK)
    }.items()


def test_the_llm_api() -> None:
    (config,) = configs(trtllm_llmapi.repository("m", model="/m", facts=GGUF, choice=CHOICE, limits=True)).values()
    wire = wire_of(config)
    assert wire is not None
    assert (wire.format, wire.batched, wire.streams, wire.mode) == (LLM_API, False, True, "either")
    sent = {tensor.name: tensor.values for tensor in wire.tensors(ASK)}
    assert sent["sampling_param_stop"] == ("END",)
    assert sent["sampling_param_exclude_input_from_output"] == (True,)
    assert wire.lacks(ASK) == []


def test_vllm() -> None:
    repository = vllm.repository("m", model="/m", facts=GGUF, choice=replace(CHOICE, stack="vllm"))
    (config,) = configs(repository).values()
    names = ("text_input", "stream", "sampling_parameters", "exclude_input_in_output", "return_num_output_tokens")
    completed = {  # as the backend completes it
        **config,
        "input": [
            {"name": name, "data_type": "TYPE_STRING" if "_" in name and name[0] in "ts" else "TYPE_BOOL", "dims": [1]}
            for name in names
        ],
        "output": [{"name": "text_output", "data_type": "TYPE_STRING", "dims": [-1]}],
    }
    wire = wire_of(completed)
    assert wire is not None
    assert (wire.format, wire.echoes) == (VLLM, False)
    sent = {tensor.name: tensor.values for tensor in wire.tensors(Ask("m", "Hi", 9, 0, 0.9, 2**64 - 1, ("END",)))}
    assert json.loads(sent["sampling_parameters"][0]) == {
        **{"max_tokens": 9, "top_p": 0.9, "temperature": 0, "seed": 2**63 - 1, "stop": ["END"]}
    }


def test_the_wizards_own() -> None:
    assert {name for name, _ in WIZARD.inputs} == set(OWN_KINDS)
    declared = (*python_models.INPUTS, *python_models.MORE_INPUTS, python_models.JSON_SCHEMA, python_models.TOOLS)
    assert set(OWN_KINDS) <= {each.name for each in declared}
    assert OWN.reasons
    assert [tensor.name for tensor in OWN.tensors(Ask("m", "Hi", 9, None, 0.9, None))] == [
        *("text_input", "apply_chat_template", "max_tokens", "top_p")
    ]


FULL = Ask(
    *("m", "Hi", 9, 0.5, 0.9, 7, ("END",)),
    **{"ids": (1, 2, 3), "top_k": 4, "min_p": 0.25, "logprobs": 2},  # type: ignore[arg-type]
    repetition_penalty=1.5,
    presence_penalty=0.5,
    frequency_penalty=-0.5,
)


@pytest.mark.parametrize(
    ("release", "model"), [("0.7.2", "tensorrt_llm"), ("1.2.0", "tensorrt_llm"), ("1.2.0", "ensemble")]
)
def test_every_setting_that_tensorrt_llm_takes(release: str, model: str) -> None:
    wire = wire_of(engine(release, decoupled=True)[model])
    assert wire is not None
    sent = {tensor.name: tensor.values[0] for tensor in wire.tensors(FULL)}
    direct = model == "tensorrt_llm"
    assert sent["runtime_top_k" if direct else "top_k"] == 4
    assert (sent["repetition_penalty"], sent["presence_penalty"]) == (1.5, 0.5)
    assert sent.get("frequency_penalty") == (None if release == "0.7.2" else -0.5)
    assert sent.get("return_log_probs") == (True if direct else None)
    assert wire.logprobs == (0 if direct else None)
    missing = (["frequency_penalty"] if release == "0.7.2" else []) + ([] if direct else ["logprobs"])
    assert wire.lacks(FULL) == ["min_p", *missing]
    greedy = {tensor.name: tensor.values[0] for tensor in wire.tensors(replace(FULL, temperature=0))}
    assert greedy["runtime_top_k" if direct else "top_k"] == 1


def test_every_setting_that_the_llm_api_takes() -> None:
    (config,) = configs(trtllm_llmapi.repository("m", model="/m", facts=GGUF, choice=CHOICE, limits=True)).values()
    wire = wire_of(config)
    assert wire is not None
    sent = {tensor.name.removeprefix("sampling_param_"): tensor.values[0] for tensor in wire.tensors(FULL)}
    assert (sent["top_k"], sent["presence_penalty"], sent["frequency_penalty"]) == (4, 0.5, -0.5)
    assert wire.lacks(FULL) == ["min_p", "repetition_penalty", "logprobs"]


def test_every_setting_that_vllm_takes() -> None:
    kinds = (("text_input", "BYTES"), ("sampling_parameters", "BYTES"), ("return_logprobs", "BOOL"))
    sent = {tensor.name: tensor.values[0] for tensor in Wire(VLLM, kinds).tensors(FULL)}
    assert json.loads(sent["sampling_parameters"]) == {
        **{"max_tokens": 9, "top_p": 0.9, "temperature": 0.5, "top_k": 4, "min_p": 0.25, "logprobs": 2, "seed": 7},
        **{"repetition_penalty": 1.5, "presence_penalty": 0.5, "frequency_penalty": -0.5, "stop": ["END"]},
    }
    assert sent["return_logprobs"] is True
    assert Wire(VLLM, kinds).lacks(FULL) == []
    assert Wire(VLLM, kinds[:2]).lacks(FULL) == ["logprobs"]  # before 24.12


def test_every_setting_that_our_own_models_take() -> None:
    sent = {tensor.name: tensor.values[0] for tensor in OWN.tensors(FULL)}
    assert (sent["top_k"], sent["min_p"], sent["stop_words"], sent["logprobs"]) == (4, 0.25, "END", 2)
    assert (OWN.logprobs, OWN.lacks(FULL)) == (20, [])
    old = Wire(WIZARD, (("text_input", "BYTES"), ("temperature", "FP32"), ("top_p", "FP32"), ("random_seed", "UINT64")))
    assert old.logprobs is None
    assert old.lacks(FULL)[0] == "top_k"


def test_what_is_no_chat_model() -> None:
    tensors = [{"name": "x", "data_type": "TYPE_FP32", "dims": [1]}]
    assert wire_of({"input": tensors, "output": tensors}) is None


def test_required_words_are_sent_empty() -> None:
    kinds = (("text_input", "BYTES"), ("max_tokens", "UINT32"), ("bad_words", "BYTES"), ("stop_words", "BYTES"))
    wire = Wire(TEXT, kinds, frozenset({"text_input"}), frozenset(name for name, _ in kinds), batched=True)
    sent = {tensor.name: (tensor.kind, tensor.values) for tensor in wire.tensors(Ask("m", "Hi", 9, 0.5, 0.9, 7))}
    assert sent == {
        "text_input": ("BYTES", ("Hi",)),
        "max_tokens": ("UINT32", (9,)),
        "bad_words": ("BYTES", ("",)),
        "stop_words": ("BYTES", ("",)),
    }
    assert wire.lacks(ASK) == ["temperature", "seed", "top_p"]


@pytest.mark.parametrize(
    "text",
    [
        "prompt too long: 300 tokens, and a request may have 256",
        "Cannot process new request: Prompt length (5056) exceeds maximum sequence length (2048)",
        "[TensorRT-LLM][ERROR] Prompt length (200) exceeds maximum input length (1).",
        "Error generating stream: The decoder prompt (length 9) is longer than the maximum model length of 8.",
        "This model's maximum context length is 16384 tokens. However, you requested 122946 tokens",
        "The sum of prompt length (9) and max_tokens (8) should not exceed max_num_tokens (10)",
    ],
)
def test_a_prompt_that_does_not_fit_in_the_words_of_every_engine(text: str) -> None:
    assert isinstance(server_error(text, "m"), PromptTooLong)


def test_how_much_too_long_a_prompt_is_reads_as_all_counts_do() -> None:
    message = server_error("in ensemble 'm': prompt too long: 33335 tokens, and a request may have 1024", "m")
    assert str(message) == "33,335 tokens; a request can have at most 1,024"


def test_vllm_writes_special_tokens_if_they_mark_thoughts() -> None:
    kinds = (("text_input", "BYTES"), ("sampling_parameters", "BYTES"))
    wire = Wire(VLLM, kinds)
    for special in (False, True):
        sent = {each.name: each.values[0] for each in wire.tensors(replace(ASK, special=special))}
        assert (json.loads(sent["sampling_parameters"]).get("skip_special_tokens") is False) == special
