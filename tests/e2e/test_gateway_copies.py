"""Two real servers of one model behind the address, and one of them is killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import openai
import pytest

from tests.e2e import test_proxy
from tests.e2e.test_gateway import create, messages
from tests.e2e.test_proxy import Served, wait_until
from tests.gateway.conftest import Address, noted, running
from tests.gateway.test_servers import figures
from wizard.kernel.paths import Workspace

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("proxy")]
NUMBERS = "".join(f"{number} " for number in range(9))


@pytest.fixture
def copies(tmp_path: Path) -> Iterator[tuple[dict[str, Served], Address]]:
    """Servers ``a`` and ``b``, whose engines say numbers."""
    workspace, servers = Workspace(tmp_path / "workspace"), dict[str, Served]()
    with ExitStack() as stack:
        for name in ("a", "b"):
            (tmp_path / name).mkdir()
            servers[name] = stack.enter_context(test_proxy.serving(tmp_path / name, step_s=0.01))
            noted(workspace, replace(servers[name].endpoint, name=name, ref="org/Copy"))
        yield servers, stack.enter_context(running(workspace))


def killed(served: Served) -> None:
    os.killpg(served.triton.process.pid, signal.SIGKILL)


@pytest.mark.parametrize("stream", [False, True])
def test_a_server_that_dies_before_the_first_piece_is_replaced_by_its_copy(
    copies: tuple[dict[str, Served], Address], stream: bool
) -> None:
    servers, address = copies
    os.kill(servers["a"].engine, signal.SIGSTOP)  # it will never send a piece

    def asked() -> str:
        answer = create(address, model="org/Copy", stream=stream)
        if not stream:
            return str(answer.choices[0].message.content)
        return "".join(event.choices[0].delta.content or "" for event in answer)

    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(asked)
        wait_until(lambda: figures(address)['num_requests_running{model_name="a"}'] == "1")
        killed(servers["a"])
        try:
            assert answer.result(60) == NUMBERS
        finally:
            os.kill(servers["a"].engine, signal.SIGKILL)
    assert len(messages(servers["b"], "ask")) == 1
    assert figures(address)['requests_total{model_name="b",status="200"}'] == "1"


def test_a_server_that_dies_amid_an_answer_ends_it_with_an_error(copies: tuple[dict[str, Served], Address]) -> None:
    """What the client has cannot be taken back; the next request is answered by the copy."""
    servers, address = copies
    answer = create(address, model="org/Copy", stream=True, max_tokens=10**6)
    assert next(event for event in answer if event.choices[0].delta.content)
    killed(servers["a"])
    with pytest.raises(openai.APIError, match="was lost during the answer") as caught:
        list(answer)
    assert isinstance(caught.value.body, dict)
    assert caught.value.body["wizard_code"] == "TW-C03"
    assert messages(servers["b"], "ask") == []
    assert create(address, model="org/Copy").choices[0].message.content == NUMBERS
