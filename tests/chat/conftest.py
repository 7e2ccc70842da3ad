"""One real tritonserver for all tests of the chat, with models whose answers are known."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.chain_model import CHAT, TOOLS_TEMPLATE, split_chain_model, write_chain_model
from tests.chat.fake_openai import FakeOpenAI, serving
from tests.server_environment import SECONDS, RunningTriton, running_triton, write
from tests.values import CHOICE
from wizard.model.facts import Gate, ModelFacts
from wizard.serve.endpoint import Endpoint
from wizard.stacks.llamacpp.repository import repository

REFUSAL = "I do not know that."
SHORT_CONTEXT = 256
"""Tokens of the models ``short`` and ``begun``, which have one slot."""

LONG = replace(CHOICE, max_batch_size=8, max_seq_len=16384)
_SHORT = replace(CHOICE, max_batch_size=1, max_seq_len=SHORT_CONTEXT)
FACTS = ModelFacts("chain", "gguf", "chain.gguf", "chain", "llama", 1000, chat=CHAT, questions=("is it?",))


@dataclass(frozen=True)
class Served:
    """The server and how to name its models."""

    triton: RunningTriton

    def endpoint(self, model: str = "chain") -> Endpoint:
        process = self.triton.process.pid
        return Endpoint("test", model, "127.0.0.1", self.triton.ports, process, "0", str(self.triton.log))

    def requests(self, model: str) -> int:
        """How many requests the model has taken so far; Triton counts one when the model's ``execute`` has it."""
        with urlopen(f"{self.triton.url}/v2/models/{model}/stats", timeout=SECONDS) as answer:
            count: int = json.load(answer)["model_stats"][0]["execution_count"]
        return count

    def wait_for_requests(self, model: str, count: int) -> None:
        """Wait until the model has taken ``count`` requests; every look asks the server."""
        deadline = time.monotonic() + SECONDS
        while self.requests(model) < count:
            assert time.monotonic() < deadline, f"{model} never took {count} requests\n{self.triton.logged()[-4000:]}"


def chain_repository(root: Path) -> Path:
    """Write the repository of all models; ``begun`` adds a begin token by itself, ``base`` has no template, ``split``
    is a file in three parts, ``tools`` calls functions.
    """
    gguf = write_chain_model(root.parent / "chain.gguf")
    parts = split_chain_model(root.parent, 3)
    called = write_chain_model(root.parent / "called.gguf", template=TOOLS_TEMPLATE)
    begun = write_chain_model(root.parent / "begun.gguf", add_bos=True)
    for name, path, facts, choice in (
        ("chain", gguf, FACTS, LONG),
        ("gated", gguf, replace(FACTS, gate=Gate(0.9, REFUSAL)), replace(LONG, max_batch_size=1)),
        ("short", gguf, FACTS, _SHORT),
        ("begun", begun, FACTS, _SHORT),
        ("split", parts[0], FACTS, _SHORT),
        ("tools", called, replace(FACTS, chat=replace(CHAT, template=TOOLS_TEMPLATE)), LONG),
        ("base", gguf, replace(FACTS, chat=None, questions=()), _SHORT),
    ):
        write(repository(name, gguf_path=str(path), facts=facts, choice=choice, threads=1), root)
    return root


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    scratch = tmp_path_factory.mktemp("triton")
    with running_triton(chain_repository(scratch / "repository"), scratch) as triton:
        yield Served(triton)


@pytest.fixture
def fake() -> Iterator[FakeOpenAI]:
    with serving(FakeOpenAI()) as server:
        yield server


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that is taken, so that nobody else gets it, and on which nobody listens."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]
