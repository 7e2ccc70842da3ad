"""A serving stack that another package brings: installed, it is one of the wizard's, without a line of it changed."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2 as pb

from tests.chat.conftest import Served
from tests.server_environment import running_triton
from tests.values import CHOICE, CPU_HOST, GGUF
from wizard.catalog import plugins, stacks
from wizard.chat.conversation import Conversation, Sampling
from wizard.chat.stream import answer
from wizard.chat.wire import wire_of
from wizard.kernel.errors import UsageError
from wizard.kernel.paths import Workspace
from wizard.plan.build import build
from wizard.plan.options import Options
from wizard.plan.plan import Plan, Ports, Write
from wizard.plan.questions import STACK
from wizard.plan.stack import StackPlan, built
from wizard.repository.lint import lint
from wizard.repository.linting.rules import StackRules
from wizard.serve.endpoint import Endpoint
from wizard.serve.measured import StackLog, measure

TINY = replace(CHOICE, stack="tiny")


def forget() -> None:
    plugins.packages.cache_clear()
    stacks.forget()
    for name in [name for name in sys.modules if name.partition(".")[0] == "tiny_stack"]:
        del sys.modules[name]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The package as pip would install it: modules and metadata on the path, data files in the prefix."""
    prefix = Path(shutil.copytree(Path(__file__).parent / "elsewhere", tmp_path / "prefix"))
    monkeypatch.syspath_prepend(str(prefix))
    monkeypatch.setattr(sys, "prefix", str(prefix))
    forget()
    yield prefix
    monkeypatch.undo()
    forget()


def planned(tmp_path: Path, options: Options | None = None) -> Plan:
    return build(CPU_HOST, GGUF, TINY, Workspace(tmp_path / "w"), name="demo", options=options)


def test_it_can_be_chosen(site: Path) -> None:
    assert STACK.check("tiny") == "tiny"
    assert stacks.title("tiny") == "Tiny"
    assert "tiny" in built()


def test_without_it_there_is_none() -> None:
    assert "tiny" not in STACK.choices()
    assert plugins.port("tiny", "plan", StackPlan) is None


def test_a_stage_that_it_does_without(site: Path) -> None:
    assert plugins.port("tiny", "lint", StackRules) is None
    assert plugins.port("tiny", "serve", StackLog) is not None


def test_its_plan_is_made(site: Path, tmp_path: Path) -> None:
    plan = planned(tmp_path, Options(max_num_seqs=3))
    assert [step.id for step in plan.steps] == ["environment", "model", "repository", "start", "ready", "question"]
    with pytest.raises(UsageError, match="tiny does not support bls") as caught:
        planned(tmp_path, Options(bls=True))
    assert caught.value.code == "TW-L09"


async def test_it_serves(site: Path, tmp_path: Path) -> None:
    """What its plan writes, loaded by a real tritonserver; the engine's interpreter is the tests'."""
    (step,) = (step for step in planned(tmp_path).steps if step.id == "repository")
    root = tmp_path / "w" / "servers" / "demo" / "repository"
    for file in (action for action in step.actions if isinstance(action, Write)):
        Path(file.path).parent.mkdir(parents=True, exist_ok=True)
        Path(file.path).write_text(file.text)
    config = text_format.Parse((root / "demo/config.pbtxt").read_text(), pb.ModelConfig())
    argv = json.loads(config.parameters["engine_argv"].string_value)
    config.parameters["engine_argv"].string_value = json.dumps([sys.executable, *argv[1:]])
    (root / "demo/config.pbtxt").write_text(text_format.MessageToString(config))
    assert lint(root).findings == ()
    with running_triton(root, tmp_path) as triton:
        talk = Conversation(sampling=Sampling(max_tokens=3)).with_message("user", "Count!")
        async with aclosing(answer(Served(triton).endpoint("demo"), talk)) as chunks:
            assert "".join([chunk.text async for chunk in chunks]) == "0 1 2"


def test_its_models_are_asked_and_its_log_is_read(site: Path) -> None:
    tensors = [{"name": name, "data_type": "TYPE_STRING", "dims": [1]} for name in ("tiny_text", "text_output")]
    wire = wire_of({"input": tensors[:1], "output": tensors[1:]})
    assert wire
    assert wire.format.name == "Tiny's own models"
    endpoint = Endpoint("demo", "demo", "127.0.0.1", Ports(), 1, "", "")
    assert measure(endpoint, "tiny", ["tiny weights: 5 MiB"]).weights_bytes == 5 * 2**20


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("PORT = 1", "PORT is not a StackPlan"),
        ("", "AttributeError"),
    ],
)
def test_a_damaged_package_is_reported(site: Path, text: str, why: str) -> None:
    (site / "tiny_stack" / "plan.py").write_text(text)
    with pytest.raises(UsageError) as caught:
        plugins.port("tiny", "plan", StackPlan)
    assert caught.value.code == "TW-D30"
    assert why in caught.value.what


def test_a_missing_package_is_reported(site: Path) -> None:
    shutil.rmtree(site / "tiny_stack")
    with pytest.raises(UsageError, match="No module named 'tiny_stack'") as caught:
        plugins.port("tiny", "plan", StackPlan)
    assert caught.value.code == "TW-D30"
