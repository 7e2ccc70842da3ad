"""What the wizard's chat client adds to each streamed token over the bare ``tritonclient``.

Usage: ``.venv/bin/python benchmarks/stream_overhead.py [--environment DIR] [--rounds N]``.

A real tritonserver serves a model that sends tokens without computing anything. Each round reads `STREAMS` answers of
`TOKENS` tokens one after another (longer ones overrun Triton's HTTP front end, see `wizard.chat.triton_http`). The bare
loop is ``tritonclient.grpc.aio`` reading every text; ours is `wizard.chat.stream.answer` over gRPC and over HTTP. All
three take turns, so that a busy machine slows all of them; figures are medians over the rounds (9). ``wall`` holds the
server's share, too; ``client CPU`` is this process alone. Set goal: at most 1 ms more per token than the bare loop.
Exit status 1 if it is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Coroutine
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # for tests/, which is in no wheel

from tests.server_environment import running_triton
from wizard.chat.conversation import Conversation, Sampling
from wizard.chat.served import served_model
from wizard.chat.stream import answer
from wizard.kernel.paths import default_workspace
from wizard.repository.config_pbtxt import config_pbtxt
from wizard.repository.python_models import INPUTS, OUTPUTS
from wizard.serve.endpoint import Endpoint

GOAL_MS = 1.0
TOKENS = 200
STREAMS = 10
MODEL = "counting"


def write_repository(root: Path) -> None:
    """Write the repository with the counting model."""
    parameters = {"questions": "[]", "max_seq_len": "1000000", "default_temperature": "0"}
    config = config_pbtxt(MODEL, inputs=INPUTS, outputs=OUTPUTS, parameters=parameters, decoupled=True)
    version = root / MODEL / "1"
    version.mkdir(parents=True)
    (root / MODEL / "config.pbtxt").write_text(config, encoding="utf-8")
    source = Path(__file__).with_name("counting_model.py").read_text(encoding="utf-8")
    (version / "model.py").write_text(source, encoding="utf-8")


async def bare(endpoint: Endpoint) -> None:
    """Read one answer with tritonclient and nothing else."""
    import numpy as np
    from tritonclient.grpc.aio import InferenceServerClient, InferInput

    text = InferInput("text_input", [1], "BYTES")
    text.set_data_from_numpy(np.array([b"x"], dtype=np.object_))
    count = InferInput("max_tokens", [1], "INT32")
    count.set_data_from_numpy(np.array([TOKENS], dtype=np.int32))

    async def once() -> AsyncGenerator[dict[str, Any], None]:
        yield {"model_name": MODEL, "inputs": [text, count]}

    seen = 0
    async with InferenceServerClient(endpoint.grpc) as client:
        async for result, error in client.stream_infer(once()):
            if error is not None:
                raise error
            seen += bool(result.as_numpy("text_output")[0])
    assert seen == TOKENS, seen


def ours(protocol: str) -> Callable[[Endpoint], Coroutine[Any, Any, None]]:
    """The same through the wizard's client."""

    async def read(endpoint: Endpoint) -> None:
        served = served_model(endpoint.http, MODEL)
        talk = Conversation(sampling=Sampling(max_tokens=TOKENS)).with_message("user", "x")
        seen = 0
        async for chunk in answer(endpoint, talk, protocol=protocol, served=served):
            seen += bool(chunk.text)
        assert seen == TOKENS, seen

    return read


def measure(client: Callable[[Endpoint], Coroutine[Any, Any, None]], endpoint: Endpoint) -> tuple[float, float]:
    """Milliseconds per token: wall clock, and CPU time of this process."""

    async def read() -> None:
        for _ in range(STREAMS):
            await client(endpoint)

    wall, cpu = time.perf_counter(), time.process_time()
    asyncio.run(read())
    tokens = STREAMS * TOKENS
    return (time.perf_counter() - wall) * 1e3 / tokens, (time.process_time() - cpu) * 1e3 / tokens


def find_environment() -> Path | None:
    """The newest server environment of the workspace."""
    environments = (default_workspace() / "environments").glob("llamacpp-*")
    return max(environments, key=lambda path: path.stat().st_mtime, default=None)


def main() -> int:
    """Measure and print; 1 if the goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environment", type=Path, default=find_environment(), help="a server environment's folder")
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    clients = {"bare tritonclient": bare, "wizard, gRPC": ours("grpc"), "wizard, HTTP": ours("http")}
    with tempfile.TemporaryDirectory() as folder:
        write_repository(Path(folder) / "repository")
        with running_triton(Path(folder) / "repository", Path(folder), environment=given.environment) as triton:
            endpoint = Endpoint("b", MODEL, "127.0.0.1", triton.ports, triton.process.pid, "", str(triton.log))
            for client in clients.values():
                measure(client, endpoint)  # imports and connections
            rounds = [[measure(client, endpoint) for client in clients.values()] for _ in range(given.rounds)]
    medians = [
        [statistics.median(times) for times in zip(*column, strict=True)] for column in zip(*rounds, strict=True)
    ]
    base = medians[0]
    title = f"median of {given.rounds} rounds"
    print(f"{title:<26}{'wall':>10}{'more':>10}{'ratio':>7}{'client CPU':>13}")
    for name, (wall, cpu) in zip(clients, medians, strict=True):
        more = wall - base[0]
        print(f"{name:<26}{wall:>7.3f} ms{more:>+7.3f} ms{wall / base[0]:>7.2f}{cpu:>10.3f} ms per token")
    return 1 if any(wall - base[0] > GOAL_MS for wall, _ in medians) else 0


if __name__ == "__main__":
    sys.exit(main())
