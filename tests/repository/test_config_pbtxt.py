from __future__ import annotations

import pytest
from google.protobuf import text_format
from hypothesis import given
from hypothesis import strategies as st
from tritonclient.grpc import model_config_pb2 as pb

from wizard.repository.config_pbtxt import (
    DynamicBatching,
    EnsembleStep,
    InstanceGroup,
    Tensor,
    config_pbtxt,
    ensemble_pbtxt,
)

HOSTILE = ["${x}", '"', "'", "\n", "\\", "\0", "}] parameters {", "é😀", "\x1b[31m", "# no comment", ""]


def parse(text: str) -> pb.ModelConfig:
    return text_format.Parse(text, pb.ModelConfig())


def test_says_what_was_asked() -> None:
    text = config_pbtxt(
        "demo",
        inputs=[Tensor("text_input", "STRING"), Tensor("stop_words", "STRING", (-1,), optional=True)],
        outputs=[Tensor("completion_tokens", "INT32")],
        parameters={"gguf": "/models/a.gguf"},
        decoupled=True,
        instances=2,
    )
    config = parse(text)
    assert (config.name, config.backend, config.max_batch_size) == ("demo", "python", 0)
    assert config.model_transaction_policy.decoupled
    assert [(i.name, i.data_type, list(i.dims), i.optional) for i in config.input] == [
        ("text_input", pb.TYPE_STRING, [1], False),
        ("stop_words", pb.TYPE_STRING, [-1], True),
    ]
    assert [(o.name, o.data_type) for o in config.output] == [("completion_tokens", pb.TYPE_INT32)]
    assert (config.instance_group[0].kind, config.instance_group[0].count) == (pb.ModelInstanceGroup.KIND_CPU, 2)
    assert config.parameters["gguf"].string_value == "/models/a.gguf"


@pytest.mark.parametrize("value", HOSTILE)
def test_hostile_values_stay_values(value: str) -> None:
    text = config_pbtxt(value, inputs=[], outputs=[], parameters={value: value})
    config = parse(text)
    assert config.name == value
    assert {key: item.string_value for key, item in config.parameters.items()} == {value: value}
    assert not config.input


@given(st.dictionaries(st.text(max_size=20), st.text(max_size=60), max_size=4))
def test_any_text_survives(parameters: dict[str, str]) -> None:
    config = parse(config_pbtxt("m", inputs=[], outputs=[], parameters=parameters))
    assert {key: item.string_value for key, item in config.parameters.items()} == parameters


def test_same_arguments_same_text() -> None:
    first = config_pbtxt("m", inputs=[], outputs=[], parameters={"a": "1", "b": "2"})
    other = config_pbtxt("m", inputs=[], outputs=[], parameters={"b": "2", "a": "1"})
    assert first == other


def test_lone_surrogate_is_refused() -> None:
    with pytest.raises(ValueError, match="surrogate"):
        config_pbtxt("m", inputs=[], outputs=[], parameters={"a": "\ud800"})


def test_a_model_of_every_kind_of_value() -> None:
    config = parse(
        config_pbtxt(
            "m",
            inputs=[Tensor("a", "FP16", (-1, 3), True, reshape=(), ragged=True), Tensor("b", "UINT64", reshape=(1, 1))],
            outputs=[Tensor("c", "BF16", (2,), reshape=(2, 1))],
            parameters={},
            backend="tensorrtllm",
            instances=[InstanceGroup(2, "KIND_GPU", (0, 1)), InstanceGroup(kind="KIND_MODEL")],
            batching=DynamicBatching((4, 8), 100, 16, preserve_ordering=True),
        )
    )
    first, second = config.input
    assert (first.data_type, first.allow_ragged_batch, first.HasField("reshape")) == (pb.TYPE_FP16, True, True)
    assert (list(first.reshape.shape), list(second.reshape.shape)) == ([], [1, 1])
    assert (config.output[0].data_type, list(config.output[0].reshape.shape)) == (pb.TYPE_BF16, [2, 1])
    assert [(group.count, list(group.gpus)) for group in config.instance_group] == [(2, [0, 1]), (1, [])]
    assert config.instance_group[1].kind == pb.ModelInstanceGroup.KIND_MODEL
    batching = config.dynamic_batching
    assert (list(batching.preferred_batch_size), batching.preserve_ordering) == ([4, 8], True)
    assert (batching.max_queue_delay_microseconds, batching.default_queue_policy.max_queue_size) == (100, 16)


def test_nothing_is_written_that_was_not_requested() -> None:
    config = parse(config_pbtxt("m", inputs=[Tensor("a", "BOOL")], outputs=[], parameters={}))
    assert not config.HasField("dynamic_batching")
    assert not config.input[0].HasField("reshape")


def test_defaults_of_values_that_are_left_out() -> None:
    tensors = [Tensor("a", "BOOL"), Tensor("b", "INT32", reshape=())]
    config = parse(
        config_pbtxt(
            "m", inputs=tensors, outputs=tensors, parameters={}, instances=[InstanceGroup()], batching=DynamicBatching()
        )
    )
    assert (config.backend, config.max_batch_size, config.model_transaction_policy.decoupled) == ("python", 0, False)
    first, second = config.input
    assert (list(first.dims), first.optional, first.allow_ragged_batch) == ([1], False, False)
    assert [tensor.HasField("reshape") for tensor in (first, second)] == [False, True]
    assert [tensor.HasField("reshape") for tensor in config.output] == [False, True]
    (group,) = config.instance_group
    assert (group.count, group.kind, list(group.gpus)) == (1, pb.ModelInstanceGroup.KIND_CPU, [])
    batching = config.dynamic_batching
    assert config.HasField("dynamic_batching")
    assert not batching.HasField("default_queue_policy")
    assert (batching.max_queue_delay_microseconds, batching.preserve_ordering) == (0, False)
    plain = parse(config_pbtxt("m", inputs=[], outputs=[], parameters={}))
    assert [(group.count, group.kind) for group in plain.instance_group] == [(1, pb.ModelInstanceGroup.KIND_CPU)]


def test_a_queue_of_any_length_can_be_written() -> None:
    batching = DynamicBatching(max_queue_size=0)
    text = config_pbtxt("m", inputs=[], outputs=[], parameters={}, batching=batching)
    assert parse(text).dynamic_batching.HasField("default_queue_policy")


def test_letters_stay_letters() -> None:
    assert 'string_value: "é😀"' in config_pbtxt("m", inputs=[], outputs=[], parameters={"a": "é😀"})


def test_an_ensemble_without_batches() -> None:
    config = parse(ensemble_pbtxt("e", inputs=[], outputs=[], steps=[EnsembleStep("m")]))
    assert config.max_batch_size == 0
    assert (config.ensemble_scheduling.step[0].model_version, config.dynamic_batching.ByteSize()) == (-1, 0)


def test_an_ensemble() -> None:
    config = parse(
        ensemble_pbtxt(
            "e",
            inputs=[Tensor("a", "INT32")],
            outputs=[Tensor("b", "INT32")],
            steps=[EnsembleStep("one", {"IN": "a"}, {"OUT": "x"}), EnsembleStep("two", {"IN": "x"}, {"OUT": "b"})],
            max_batch_size=4,
        )
    )
    assert (config.platform, config.backend, config.max_batch_size) == ("ensemble", "", 4)
    assert [
        (step.model_name, step.model_version, dict(step.input_map)) for step in config.ensemble_scheduling.step
    ] == [
        ("one", -1, {"IN": "a"}),
        ("two", -1, {"IN": "x"}),
    ]
    assert dict(config.ensemble_scheduling.step[1].output_map) == {"OUT": "b"}
    assert not config.instance_group
    assert not config.HasField("model_transaction_policy")
