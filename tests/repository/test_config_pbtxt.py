from __future__ import annotations

import pytest
from google.protobuf import text_format
from hypothesis import given, settings
from hypothesis import strategies as st
from tritonclient.grpc import model_config_pb2 as pb

from wizard.repository.config_pbtxt import Tensor, config_pbtxt

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


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.text(max_size=20), st.text(max_size=60), max_size=4))
def test_any_text_survives(parameters: dict[str, str]) -> None:
    config = parse(config_pbtxt("m", inputs=[], outputs=[], parameters=parameters))
    assert {key: item.string_value for key, item in config.parameters.items()} == parameters


def test_same_arguments_same_text() -> None:
    one = config_pbtxt("m", inputs=[], outputs=[], parameters={"a": "1", "b": "2"})
    other = config_pbtxt("m", inputs=[], outputs=[], parameters={"b": "2", "a": "1"})
    assert one == other


def test_lone_surrogate_is_refused() -> None:
    with pytest.raises(ValueError, match="surrogate"):
        config_pbtxt("m", inputs=[], outputs=[], parameters={"a": "\ud800"})
