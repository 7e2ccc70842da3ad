"""What the wizard's own models take and give, without a server; with one, see ``test_llamacpp_model.py``."""

from __future__ import annotations

import importlib
import json
import sys
import types
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest


@dataclass
class FakeTensor:
    name: str
    values: Any

    def as_numpy(self) -> Any:
        return self.values


class FakeBackendUtils(types.ModuleType):
    """What of ``triton_python_backend_utils`` the file uses; a request is a dictionary here."""

    Tensor = FakeTensor
    InferenceResponse = list

    @staticmethod
    def get_input_tensor_by_name(request: dict[str, Any], name: str) -> FakeTensor | None:
        return FakeTensor(name, np.array(request[name])) if name in request else None


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """The shipped file as a module."""
    fake = FakeBackendUtils("triton_python_backend_utils")
    monkeypatch.setitem(sys.modules, fake.__name__, fake)
    module = importlib.import_module("wizard.repository.text_requests")
    monkeypatch.setattr(module, "pb_utils", fake)
    return module


GIVEN = {"default_temperature": "0.7", "special_tokens": r"<\|\w+\|>", "chat_template": "x", "stop": '["<end>"]'}


def asked(text: bytes = b"Hello", **inputs: Any) -> dict[str, Any]:
    return {"text_input": np.array([text], np.object_), **inputs}


def test_what_is_left_out_has_its_default(shared: types.ModuleType) -> None:
    question = shared.Questions(GIVEN).read(asked())
    assert (question.text, question.chat, question.stream, question.seed) == ("Hello", True, True, None)
    assert question.stop == ["<end>"]
    assert question.options == {"max_tokens": 512, "temperature": 0.7, "top_p": 0.95, "top_k": 40}


def test_what_is_given_is_read_as_plain_values(shared: types.ModuleType) -> None:
    """They are written as JSON, which has no numbers of numpy."""
    words = np.array([[b"", "né".encode()]], np.object_)
    numbers = {"min_p": np.array([0.5], np.float32), "logprobs": np.array([[3]], np.int32)}
    question = shared.Questions(GIVEN).read(
        asked(stop_words=words, random_seed=np.array([2**64 - 1], np.uint64), stream=np.array([False]), **numbers)
    )
    assert question.stop == ["<end>", "né"]
    assert (question.seed, question.stream) == (2**64 - 1, False)
    assert json.loads(json.dumps(question.options)) == {**question.options, "min_p": 0.5, "logprobs": 3}


def test_typed_special_tokens_are_text_in_a_message_and_not_in_a_ready_prompt(shared: types.ModuleType) -> None:
    typed, questions = b"a <|end|> b", shared.Questions(GIVEN)
    assert questions.read(asked(typed)).text == "a < |end|> b"
    assert questions.read(asked(typed, apply_chat_template=np.array([False]))).text == typed.decode()
    plain = {name: value for name, value in GIVEN.items() if name != "chat_template"}
    assert shared.Questions(plain).read(asked(typed)).text == typed.decode()


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"text": b""}, "text_input must be a text, not empty"),
        ({"text": b"ab\xff"}, "text_input is not UTF-8 (byte 2)"),
        ({"stop_words": np.array([b"\xc3"], np.object_)}, "stop_words is not UTF-8 (byte 0)"),
        ({"max_tokens": np.array([0], np.int32)}, "max_tokens must be 1 or more, not 0"),
        ({"temperature": np.array([np.nan], np.float32)}, "temperature must be 0 or more, not nan"),
        ({"min_p": np.array([1.5], np.float32)}, "min_p must be from 0 to 1, not 1.5"),
        ({"repetition_penalty": np.array([0], np.float32)}, "repetition_penalty must be from 0.01 to 2, not 0.0"),
        ({"logprobs": np.array([21], np.int32)}, "logprobs must be from 0 to 20, not 21"),
    ],
)
def test_an_impossible_request_is_refused_in_words(
    shared: types.ModuleType, inputs: dict[str, Any], message: str
) -> None:
    with pytest.raises(shared.Refused) as caught:
        shared.Questions(GIVEN).read(asked(**inputs))
    assert str(caught.value) == message


def test_log_probabilities_are_sent_where_they_were_asked_for(shared: types.ModuleType) -> None:
    plain = {tensor.name: tensor.values.tolist() for tensor in shared.response("é", "stop", 2, None)}
    assert plain == {"text_output": ["é".encode()], "finish_reason": [b"stop"], "completion_tokens": [2]}
    more = {tensor.name: tensor.values.tolist() for tensor in shared.response("é", "", 1, [["é", -0.5, []]])}
    assert more["logprobs"] == ['[["é", -0.5, []]]'.encode()]
