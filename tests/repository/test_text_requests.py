"""What the wizard's own models take and give, without a server; with one, see ``test_llamacpp_model.py``."""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.repository.triton_stub import FakeRequest, FakeTritonUtils, load
from wizard.repository import proxy


@pytest.fixture
def shared(triton: FakeTritonUtils) -> ModuleType:
    """The shipped file as a module."""
    return load(proxy.MODEL.with_name("text_requests.py"), "stub.text_requests")


GIVEN = {"default_temperature": "0.7", "special_tokens": r"<\|\w+\|>", "chat_template": "x", "stop": '["<end>"]'}


def asked(text: bytes = b"Hello", **inputs: Any) -> FakeRequest:
    return FakeRequest(text_input=np.array([text], np.object_), **inputs)


def test_what_is_left_out_has_its_default(shared: ModuleType) -> None:
    question = shared.Questions(GIVEN).read(asked())
    assert (question.text, question.chat, question.stream, question.seed) == ("Hello", True, True, None)
    assert question.stop == ["<end>"]
    assert question.options == {"max_tokens": 512, "temperature": 0.7, "top_p": 0.95, "top_k": 40}


def test_what_is_given_is_read_as_plain_values(shared: ModuleType) -> None:
    """They are written as JSON, which has no numbers of numpy."""
    words = np.array([[b"", "né".encode()]], np.object_)
    numbers: dict[str, Any] = {"min_p": np.array([0.5], np.float32), "logprobs": np.array([[3]], np.int32)}
    question = shared.Questions(GIVEN).read(
        asked(stop_words=words, random_seed=np.array([2**64 - 1], np.uint64), stream=np.array([False]), **numbers)
    )
    assert question.stop == ["<end>", "né"]
    assert (question.seed, question.stream) == (2**64 - 1, False)
    assert json.loads(json.dumps(question.options)) == {**question.options, "min_p": 0.5, "logprobs": 3}


def test_typed_special_tokens_are_text_in_a_message_and_not_in_a_ready_prompt(shared: ModuleType) -> None:
    typed, questions = b"a <|end|> b", shared.Questions(GIVEN)
    assert questions.read(asked(typed)).text == "a < |end|> b"
    assert questions.read(asked(typed, apply_chat_template=np.array([False]))).text == typed.decode()
    plain = {name: value for name, value in GIVEN.items() if name != "chat_template"}
    assert shared.Questions(plain).read(asked(typed)).text == typed.decode()


def number(value: float, kind: type = np.float32) -> Any:
    return np.array([value], kind)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"text": b""}, "text_input must be a text, not empty"),
        ({"text": b"ab\xff"}, "text_input is not UTF-8 (byte 2)"),
        ({"stop_words": np.array([b"\xc3"], np.object_)}, "stop_words is not UTF-8 (byte 0)"),
        ({"max_tokens": number(0, np.int32)}, "max_tokens must be 1 or more, not 0"),
        ({"temperature": number(np.nan)}, "temperature must be 0 or more, not nan"),
        ({"temperature": number(np.inf)}, "temperature must be 0 or more, not inf"),
        ({"temperature": number(-0.5)}, "temperature must be 0 or more, not -0.5"),
        ({"top_p": number(0)}, "top_p must be over 0 and at most 1, not 0.0"),
        ({"top_p": number(1.5)}, "top_p must be over 0 and at most 1, not 1.5"),
        ({"top_k": number(-1, np.int32)}, "top_k must be 0 (all tokens) or more, not -1"),
        ({"min_p": number(-0.5)}, "min_p must be from 0 to 1, not -0.5"),
        ({"min_p": number(1.5)}, "min_p must be from 0 to 1, not 1.5"),
        ({"repetition_penalty": number(0)}, "repetition_penalty must be from 0.01 to 2, not 0.0"),
        ({"repetition_penalty": number(2.5)}, "repetition_penalty must be from 0.01 to 2, not 2.5"),
        ({"presence_penalty": number(-2.5)}, "presence_penalty must be from -2 to 2, not -2.5"),
        ({"presence_penalty": number(2.5)}, "presence_penalty must be from -2 to 2, not 2.5"),
        ({"frequency_penalty": number(-2.5)}, "frequency_penalty must be from -2 to 2, not -2.5"),
        ({"frequency_penalty": number(2.5)}, "frequency_penalty must be from -2 to 2, not 2.5"),
        ({"logprobs": number(-1, np.int32)}, "logprobs must be from 0 to 20, not -1"),
        ({"logprobs": number(21, np.int32)}, "logprobs must be from 0 to 20, not 21"),
    ],
)
def test_an_impossible_request_is_refused_in_words(shared: ModuleType, inputs: dict[str, Any], message: str) -> None:
    with pytest.raises(shared.Refused) as caught:
        shared.Questions(GIVEN).read(asked(**inputs))
    assert str(caught.value) == f"request refused: {message}"


@pytest.mark.parametrize(
    "options",
    [
        {"max_tokens": 1, "temperature": 0.0, "top_p": 0.5, "top_k": 0},
        {"top_p": 1.0, "temperature": 5.0, "min_p": 0.0, "logprobs": 0},
        {"min_p": 1.0, "repetition_penalty": 2.0, "presence_penalty": 2.0, "frequency_penalty": 2.0, "logprobs": 20},
        {"presence_penalty": -2.0, "frequency_penalty": -2.0, "repetition_penalty": 0.015625},
    ],
)
def test_values_at_the_borders_are_taken(shared: ModuleType, options: dict[str, float]) -> None:
    inputs = {
        name: number(value, np.float32 if isinstance(value, float) else np.int32) for name, value in options.items()
    }
    read = shared.Questions(GIVEN).read(asked(**inputs)).options
    assert {name: read[name] for name in options} == options
    assert {name: type(read[name]) for name in options} == {name: type(value) for name, value in options.items()}


def test_defaults_of_a_model_without_parameters(shared: ModuleType) -> None:
    questions = shared.Questions({"default_temperature": "0", "special_tokens": "(?!)"})
    question = questions.read(asked())
    assert (question.chat, question.stop, question.options["temperature"]) == (False, [], 0)
    assert questions.read(asked(apply_chat_template=np.array([True]))).chat


def test_parameters_come_from_the_json_that_triton_passes(shared: ModuleType) -> None:
    config = {"parameters": {"a": {"string_value": "1"}, "b": {"string_value": "é"}}}
    assert shared.parameters(json.dumps(config)) == {"a": "1", "b": "é"}


def test_texts_may_come_as_text(shared: ModuleType) -> None:
    """The stub passes bytes; a request of another model in the server may hold texts."""
    words = np.array(["end"], np.object_)
    assert shared.Questions(GIVEN).read(asked(stop_words=words)).stop == ["<end>", "end"]


def test_log_probabilities_are_sent_where_they_were_asked_for(shared: ModuleType) -> None:
    def values(*arguments: Any) -> dict[str, Any]:
        tensors = shared.response(*arguments).output_tensors()
        assert tensors[-1].as_numpy().dtype == np.int32
        return {tensor.name(): tensor.as_numpy().tolist() for tensor in tensors}

    plain = {"text_output": ["é".encode()], "finish_reason": [b"stop"], "completion_tokens": [2]}
    assert values("é", "stop", 2, None) == plain
    assert values("é", "stop", 2, []) == {**plain, "logprobs": [b"[]"]}
    assert values("é", "", 1, [["é", -0.5, []]])["logprobs"] == ['[["é", -0.5, []]]'.encode()]
