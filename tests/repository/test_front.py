from __future__ import annotations

import ast
import json
from dataclasses import replace
from pathlib import Path

import pytest
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2 as pb

from tests.chain_model import CHAT
from tests.server_environment import write
from tests.values import CHOICE, GGUF
from wizard.repository.front import ENGINE_PROCESS, Engine, repository
from wizard.repository.lint import Server, lint
from wizard.repository.repository import Repository
from wizard.repository.python_models import INPUTS, LOGPROBS, MORE_INPUTS, OUTPUTS

FACTS = replace(GGUF, chat=CHAT)
ARGV = engine_argv("vllm", "/env/bin/python", {"model": '/a "b"/${x}'})


def made() -> Repository:
    return repository(
        "demo", engine_argv=ARGV, engine_env={"LD_LIBRARY_PATH": None, "A": "é"}, facts=FACTS, choice=CHOICE
    )


def config() -> pb.ModelConfig:
    return text_format.Parse(made().files[0].text, pb.ModelConfig())


def test_files_lie_where_triton_and_the_command_look() -> None:
    paths = [file.path for file in made().files]
    assert paths[:3] == ["demo/config.pbtxt", "demo/1/model.py", "demo/1/text_requests.py"]
    assert {f"demo/1/{program}" for program in (ARGV[1], "engines/engine_process.py")} <= set(paths)
    assert sorted(paths[3:]) == paths[3:]


def test_the_linter_finds_nothing_in_it(tmp_path: Path) -> None:
    argv = engine_argv("transformers", "/env/bin/python", {"model": "/m"})
    one = repository("demo", engine_argv=argv, engine_env={}, facts=FACTS, choice=CHOICE)
    assert lint(write(one, tmp_path), Server(frozenset({"python"}))).findings == ()


def test_chat_needs_nothing_new() -> None:
    parsed = config()
    assert [tensor.name for tensor in parsed.input] == [tensor.name for tensor in (*INPUTS, *MORE_INPUTS)]
    assert [tensor.name for tensor in parsed.output] == [tensor.name for tensor in (*OUTPUTS, LOGPROBS)]
    assert parsed.model_transaction_policy.decoupled
    said = {key: item.string_value for key, item in parsed.parameters.items()}
    assert said["chat_template"] == CHAT.template
    assert json.loads(said["stop"]) == list(CHAT.stop)
    assert said["max_seq_len"] == str(CHOICE.max_seq_len)


def test_transformers_declares_no_more_than_its_continuous_batching_can() -> None:
    argv = engine_argv("transformers", "/env/bin/python", {})
    one = repository("demo", engine_argv=argv, engine_env={}, facts=FACTS, choice=CHOICE)
    parsed = text_format.Parse(one.files[0].text, pb.ModelConfig())
    assert [tensor.name for tensor in parsed.input] == [tensor.name for tensor in INPUTS]
    assert [tensor.name for tensor in parsed.output] == [tensor.name for tensor in OUTPUTS]


def test_tensorrt_llm_declares_no_more_than_every_sampler_of_it_can() -> None:
    argv = engine_argv("trtllm", "/env/bin/python", {})
    one = repository("demo", engine_argv=argv, engine_env={}, facts=FACTS, choice=CHOICE)
    parsed = text_format.Parse(one.files[0].text, pb.ModelConfig())
    assert [tensor.name for tensor in parsed.input] == [tensor.name for tensor in INPUTS]


def test_the_command_and_its_environment_come_through_byte_for_byte() -> None:
    parameters = config().parameters
    argv = json.loads(parameters["engine_argv"].string_value)
    assert argv[:2] == ["/env/bin/python", "engines/vllm_engine.py"]
    assert json.loads(argv[2]) == {"model": '/a "b"/${x}'}
    assert json.loads(parameters["engine_env"].string_value) == {"LD_LIBRARY_PATH": None, "A": "é"}


def test_transformers_is_told_the_choice() -> None:
    choice = replace(CHOICE, dtype="bfloat16", max_seq_len=2048, max_batch_size=16, tp=2)
    settings = transformers_settings("/m", choice)
    assert settings == {
        "model": "/m",
        "mode": "continuous",
        "dtype": "bfloat16",
        "max_seq_len": 2048,
        "max_batch_size": 16,
        "tp": 2,
    }
    assert transformers_settings("/m", replace(choice, dtype="int4"), unbatched=True) == {
        **settings,
        "mode": "unbatched",
        "dtype": "auto",
    }


SHIPPED = [Path(file.path).name for file in made().files if file.path.endswith(".py")]


@pytest.mark.parametrize("name", SHIPPED)
def test_what_is_shipped_is_for_old_pythons_and_needs_nothing_of_the_wizard(name: str) -> None:
    text = next(file.text for file in made().files if Path(file.path).name == name)
    stub = name in ("model.py", "text_requests.py")
    allowed = {"triton_python_backend_utils", "numpy"} if stub else {"vllm", "torch", "transformers", "tensorrt_llm"}
    tree = ast.parse(text, feature_version=(3, 9))
    imported = {
        alias.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
    }
    imported |= {(node.module or "").split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    import sys

    own = {"text_requests"} if stub else {"engine_process", "tokenizers"}
    assert imported <= allowed | own | sys.stdlib_module_names
    assert not any(isinstance(node, ast.Match) for node in ast.walk(tree))


def test_the_engines_are_a_folder_and_no_package() -> None:
    """So nothing of the wizard can import them by accident."""
    assert not (ENGINES / "__init__.py").exists()
