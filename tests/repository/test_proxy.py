from __future__ import annotations

import ast
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2 as pb

from tests.chain_model import CHAT
from tests.server_environment import write
from tests.values import CHOICE, GGUF
from wizard import stacks
from wizard.catalog import stacks as known
from wizard.model.facts import Gate
from wizard.repository.lint import Server, lint
from wizard.repository.proxy import MODEL as PROXY_MODEL
from wizard.repository.proxy import Engine, repository
from wizard.repository.python_models import (
    INPUTS,
    JSON_SCHEMA,
    LOGPROBS,
    MORE_INPUTS,
    OUTPUTS,
    TOOL_CALLS,
    TOOLS,
    Abilities,
    abilities,
    described,
)
from wizard.repository.repository import Repository
from wizard.stacks import vllm

FACTS = replace(GGUF, chat=CHAT)
PROGRAM = Path(vllm.__file__).parent / "engine" / "vllm_engine.py"
SETTINGS = {"model": '/a "b"/${x}'}


def made(
    *, every_setting: bool = True, settings: dict[str, Any] = SETTINGS, replicas: Sequence[dict[str, str]] = ({},)
) -> Repository:
    return repository(
        "demo",
        engine=Engine(PROGRAM, every_setting),
        python="/env/bin/python",
        settings=settings,
        env={"LD_LIBRARY_PATH": None, "A": "é"},
        facts=FACTS,
        choice=CHOICE,
        replicas=replicas,
    )


def config(replicas: Sequence[dict[str, str]] = ({},)) -> pb.ModelConfig:
    return text_format.Parse(made(replicas=replicas).files[0].text, pb.ModelConfig())


@pytest.mark.parametrize("count", [2, 3])
def test_several_engines_are_started_each_with_its_own_gpus(count: int) -> None:
    gpus = [{"CUDA_VISIBLE_DEVICES": str(number)} for number in range(count)]
    assert json.loads(config(gpus).parameters["engine_replicas"].string_value) == gpus
    assert "engine_replicas" not in config().parameters


def test_files_lie_where_triton_and_the_command_look() -> None:
    paths = [file.path for file in made().files]
    assert paths[:3] == ["demo/config.pbtxt", "demo/1/model.py", "demo/1/text_requests.py"]
    assert paths[3:5] == ["demo/1/work_gauges.py", "demo/1/engine_replicas.py"]
    assert paths[5:] == [f"demo/1/engines/{name}.py" for name in ("engine_process", "call_pieces", "vllm_engine")]


def test_the_linter_finds_nothing_in_it(tmp_path: Path) -> None:
    assert lint(write(made(settings={"model": "/m"}), tmp_path), Server(frozenset({"python"}))).findings == ()


def test_chat_needs_nothing_new() -> None:
    parsed = config()
    own = (*INPUTS, *MORE_INPUTS, JSON_SCHEMA, TOOLS)
    assert [tensor.name for tensor in parsed.input] == [tensor.name for tensor in own]
    assert [tensor.name for tensor in parsed.output] == [tensor.name for tensor in (*OUTPUTS, LOGPROBS, TOOL_CALLS)]
    assert parsed.model_transaction_policy.decoupled
    parameters = {key: item.string_value for key, item in parsed.parameters.items()}
    assert parameters["chat_template"] == CHAT.template
    assert json.loads(parameters["stop"]) == list(CHAT.stop)
    assert parameters["max_seq_len"] == str(CHOICE.max_seq_len)


def test_the_inputs_are_those_that_are_documented() -> None:
    """All but the text may be left out; the table in ``text_requests.py`` has their types."""
    table = re.findall(r"^(\w+) +([A-Z]+\d*) ", PROXY_MODEL.with_name("text_requests.py").read_text(), re.MULTILINE)
    declared = {tensor.name: tensor for tensor in config().input}
    assert {name: pb.DataType.Name(tensor.data_type) for name, tensor in declared.items()} == {
        name: f"TYPE_{kind}" for name, kind in table
    }
    assert [name for name, tensor in declared.items() if not tensor.optional] == ["text_input"]
    assert {name: list(tensor.dims) for name, tensor in declared.items() if tensor.dims != [1]} == {"stop_words": [-1]}
    assert not any(tensor.optional for tensor in (*OUTPUTS, LOGPROBS, TOOL_CALLS))


def test_the_temperature_is_that_of_a_talk_or_that_at_which_a_gate_judges() -> None:
    gated = described(replace(FACTS, gate=Gate(0.9, "No.")), CHOICE)
    assert (described(FACTS, CHOICE)["default_temperature"], gated["default_temperature"]) == ("0.7", "0.0")


def test_a_model_describes_itself_in_letters() -> None:
    chat = replace(CHAT, stop=("é",), bos_token=None, eos_token="</s>")
    parameters = described(replace(FACTS, chat=chat, questions=("Où ?",)), CHOICE)
    assert (parameters["questions"], parameters["stop"]) == ('["Où ?"]', '["é"]')
    assert "bos_token" not in parameters
    assert parameters["eos_token"] == "</s>"
    other = described(replace(FACTS, chat=replace(CHAT, bos_token="", eos_token=None)), CHOICE)
    assert other["bos_token"] == ""
    assert "eos_token" not in other
    plain = described(replace(FACTS, chat=None), CHOICE)
    assert {"chat_template", "stop", "bos_token", "eos_token"}.isdisjoint(plain)


def test_an_engine_takes_the_common_settings_unless_it_says_otherwise() -> None:
    assert not Engine(PROGRAM).every_setting
    assert Engine(PROGRAM).argv("python3", {"a": "é"}) == ("python3", "engines/vllm_engine.py", '{"a": "é"}')
    assert '"A": "é"' in config().parameters["engine_env"].string_value
    (file, *_) = made(settings={"model": "/é"}).files
    assert "/é" in text_format.Parse(file.text, pb.ModelConfig()).parameters["engine_argv"].string_value


def test_an_engine_that_takes_less_declares_less() -> None:
    parsed = text_format.Parse(made(every_setting=False).files[0].text, pb.ModelConfig())
    assert [tensor.name for tensor in parsed.input] == [tensor.name for tensor in (*INPUTS, JSON_SCHEMA, TOOLS)]
    assert [tensor.name for tensor in parsed.output] == [tensor.name for tensor in (*OUTPUTS, TOOL_CALLS)]


def test_a_model_is_guided_and_read_as_far_as_its_stack_and_its_template_go() -> None:
    """Named by the facts of the stack; a gate judges free answers only."""
    hermes = replace(FACTS, chat=replace(CHAT, template="{{ tools }}<tool_call>{{ messages }}"))
    vllm, sglang = (abilities(hermes, replace(CHOICE, stack=name)) for name in ("vllm", "sglang"))
    assert (vllm.inputs, vllm.outputs) == ((JSON_SCHEMA, TOOLS), (TOOL_CALLS,))
    assert json.loads(vllm.parameters["tool_calls"]) == {
        "parser": "hermes",
        "begins": ["<tool_call>"],
        "arguments": "arguments",
    }
    assert sglang.inputs == (JSON_SCHEMA, TOOLS)
    assert json.loads(sglang.parameters["tool_calls"])["parser"] == "qwen25"
    assert abilities(FACTS, replace(CHOICE, stack="vllm")) == Abilities((JSON_SCHEMA,))
    assert abilities(hermes, replace(CHOICE, stack="trtllm-llmapi")) == Abilities((JSON_SCHEMA,))
    for facts, stack in ((replace(hermes, gate=Gate(0.9, "No.")), "vllm"), (hermes, "transformers")):
        assert abilities(facts, replace(CHOICE, stack=stack)) == Abilities()


def test_the_command_and_its_environment_come_through_byte_for_byte() -> None:
    parameters = config().parameters
    argv = json.loads(parameters["engine_argv"].string_value)
    assert argv[:2] == ["/env/bin/python", "engines/vllm_engine.py"]
    assert json.loads(argv[2]) == {"model": '/a "b"/${x}'}
    assert json.loads(parameters["engine_env"].string_value) == {"LD_LIBRARY_PATH": None, "A": "é"}


PROGRAMS = sorted(Path(stacks.__file__).parent.glob("*/engine/*_engine.py"))
ENGINES = {package for name in known.names() if (native := known.facts(name).native) for package in native.packages}
SHIPPED = [Path(file.path) for file in made().files if file.path.endswith(".py")] + PROGRAMS


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_what_is_shipped_is_for_old_pythons_and_needs_nothing_of_the_wizard(path: Path) -> None:
    shipped = {file.path: file.text for file in made().files}
    text = shipped.get(str(path)) or path.read_text()
    stub = path.name in ("model.py", "text_requests.py", "work_gauges.py", "engine_replicas.py")
    allowed = {"triton_python_backend_utils", "numpy"} if stub else {"torch", "transformers", *ENGINES}
    tree = ast.parse(text, feature_version=(3, 9))
    imported = {
        alias.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
    }
    imported |= {(node.module or "").split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    import sys

    own = (
        {"text_requests", "work_gauges", "engine_replicas"} if stub else {"engine_process", "call_pieces", "tokenizers"}
    )
    assert imported <= allowed | own | sys.stdlib_module_names
    assert not any(isinstance(node, ast.Match) for node in ast.walk(tree))


def test_engines_programs_are_in_a_folder_and_no_package() -> None:
    """So nothing of the wizard can import them by accident."""
    assert PROGRAM in PROGRAMS
    assert not [program for program in PROGRAMS if (program.parent / "__init__.py").exists()]
