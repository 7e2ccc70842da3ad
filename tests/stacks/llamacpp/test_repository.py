from __future__ import annotations

import ast
import json
from dataclasses import replace

import pytest
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2 as pb

from tests.chain_model import CHAT
from tests.values import CHOICE
from wizard.advise.advice import Offload, Share
from wizard.model.facts import Gate, ModelFacts
from wizard.model.special_tokens import pattern
from wizard.stacks.llamacpp.repository import repository

FACTS = ModelFacts("x.gguf", "gguf", "/x.gguf", "x", "llama", 1000, chat=CHAT, questions=('What is "Triton"?', "é"))


def parameters(facts: ModelFacts) -> dict[str, str]:
    config = repository("demo", gguf_path="/a b/${x}.gguf", facts=facts, choice=CHOICE, threads=3).files[0]
    parsed = text_format.Parse(config.text, pb.ModelConfig())
    return {key: item.string_value for key, item in parsed.parameters.items()}


def test_files_lie_where_triton_looks() -> None:
    made = repository("demo", gguf_path="/x.gguf", facts=FACTS, choice=CHOICE, threads=2)
    assert [file.path for file in made.files] == [
        "demo/config.pbtxt",
        "demo/1/model.py",
        "demo/1/text_requests.py",
        "demo/1/work_gauges.py",
    ]


def test_the_server_describes_itself() -> None:
    values = parameters(FACTS)
    assert values["gguf"] == "/a b/${x}.gguf"
    assert (values["slots"], values["max_seq_len"], values["threads"]) == ("4", "1024", "3")
    assert values["chat_template"] == CHAT.template
    assert (values["bos_token"], values["eos_token"]) == (CHAT.bos_token, CHAT.eos_token)
    assert json.loads(values["stop"]) == list(CHAT.stop)
    assert json.loads(values["questions"]) == list(FACTS.questions)
    assert values["special_tokens"] == pattern(CHAT)


def test_a_gate_makes_answers_greedy() -> None:
    assert "gate_min_probability" not in parameters(FACTS)
    assert float(parameters(FACTS)["default_temperature"]) > 0
    values = parameters(replace(FACTS, gate=Gate(0.8, 'I do not know "that".')))
    assert float(values["gate_min_probability"]) == 0.8
    assert values["gate_refusal"] == 'I do not know "that".'
    assert float(values["default_temperature"]) == 0


def test_a_base_model_has_no_template() -> None:
    assert not {"chat_template", "stop", "bos_token"} & set(parameters(replace(FACTS, chat=None)))


def test_the_shipped_model_needs_nothing_of_the_wizard() -> None:
    made = repository("demo", gguf_path="/x.gguf", facts=FACTS, choice=CHOICE, threads=2)
    tree = ast.parse(made.files[1].text, feature_version=(3, 10))
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert "triton_python_backend_utils" in imported
    assert not imported & {"wizard", "tritonclient", "transformers"}


@pytest.mark.parametrize(("counts", "text"), [((), None), ((21, 12), "21,12")])
def test_layers_on_gpus_are_parameters(counts: tuple[int, ...], text: str | None) -> None:
    assert not {"gpu_layers", "expert_layers", "gpu_shares"} & parameters(FACTS).keys()
    shares = tuple(Share(count, CHOICE.memory) for count in counts)
    split = replace(CHOICE, offload=Offload(33, 33, 4, CHOICE.memory, shares))
    config = repository("demo", gguf_path="/x.gguf", facts=FACTS, choice=split, threads=3).files[0]
    parsed = text_format.Parse(config.text, pb.ModelConfig())
    values = {key: item.string_value for key, item in parsed.parameters.items()}
    assert (values["gpu_layers"], values["expert_layers"], values.get("gpu_shares")) == ("33", "4", text)
