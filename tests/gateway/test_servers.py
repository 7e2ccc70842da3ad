"""Several servers behind one address: listed, chosen by name, shared by copies, as they come and go."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import openai
import pytest

from tests.chain_model import CYCLE, CYCLE_TOKENS
from tests.chat.conftest import Served
from tests.gateway.conftest import SECONDS, Address, added, running
from tests.gateway.test_answers import ASKED
from tests.gateway.test_owned import lives_as, other, until
from tests.ports import reserved
from wizard.gateway.faults import Fault
from wizard.gateway.servers import Server, Servers, listed
from wizard.kernel import proctable
from wizard.kernel.errors import ServerError
from wizard.kernel.paths import Workspace

__all__ = ["other"]
pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("gateway")]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


@pytest.fixture
def address(workspace: Workspace, served: Served) -> Iterator[Address]:
    """In front of two copies of one model, and another one."""
    added(workspace, served, "chain", "a", ref="org/Chain")
    added(workspace, served, "chain", "b", ref="org/Chain")
    added(workspace, served, "short", ref="org/Short")
    with running(workspace) as address:
        yield address


def ask(address: Address, model: str, **more: Any) -> Any:
    given: dict[str, Any] = {"model": model, "messages": ASKED, "temperature": 0, "max_tokens": CYCLE_TOKENS, **more}
    return address.client().chat.completions.create(**given)


def names(address: Address) -> list[str]:
    return [model.id for model in address.client().models.list().data]


def figures(address: Address) -> dict[str, str]:
    with urllib.request.urlopen(f"{address.url}/metrics", timeout=SECONDS) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        lines = answer.read().decode().splitlines()
    return dict(line.removeprefix("triton_wizard_gateway_").rsplit(" ", 1) for line in lines if line[0] != "#")


def test_every_name_of_a_model_is_accepted_and_copies_take_turns(address: Address) -> None:
    assert names(address) == ["org/Chain", "a", "b", "short"]
    for model in ("a", "b", "org/Chain", "org/Chain", "chain", "chain"):
        answer = ask(address, model)
        assert (answer.model, answer.choices[0].message.content) == (model, CYCLE)
    assert ask(address, "org/Short", max_tokens=3).usage.completion_tokens == 3
    assert address.client().models.retrieve("org/Short").id == "org/Short"
    seen = figures(address)
    asked = [seen[f'requests_total{{model_name="{name}",status="200"}}'] for name in ("a", "b", "short")]
    assert asked == ["3", "3", "1"]


async def test_a_copy_with_fewer_answers_running_is_chosen(workspace: Workspace, served: Served) -> None:
    for name in ("a", "b"):
        added(workspace, served, "chain", name, ref="org/Chain")
    servers = Servers(workspace)
    busy, free = servers.living()
    busy.running = 1
    assert [(await servers.serving("org/Chain"))[0] for _ in range(3)] == [free] * 3
    free.running = 2
    assert (await servers.serving("org/Chain"))[0] is busy
    await servers.close()


def test_an_answer_runs_until_its_client_has_hung_up(address: Address) -> None:
    long = ask(address, "a", stream=True, max_tokens=16000)
    assert next(iter(long)).choices
    assert figures(address)['num_requests_running{model_name="a"}'] == "1"
    long.close()
    until(lambda: figures(address)['num_requests_running{model_name="a"}'] == "0")


def test_servers_come_and_go_without_a_restart(
    address: Address, workspace: Workspace, served: Served, other: proctable.Process
) -> None:
    added(workspace, served, "chain", "later")
    assert "later" in names(address)
    assert ask(address, "later").choices[0].message.content == CYCLE
    workspace.server("later").endpoint.unlink()
    workspace.server("b").endpoint.unlink()
    assert names(address) == ["a", "short"]
    with pytest.raises(openai.NotFoundError, match=r"running: 'a', 'short'"):
        ask(address, "later")
    added(workspace, served, "chain", "dying", **lives_as(other))
    assert "dying" in names(address)
    os.kill(other.pid, signal.SIGKILL)
    until(lambda: "dying" not in names(address))


def test_one_that_is_starting_is_not_listed_and_its_copy_answers(
    address: Address, workspace: Workspace, served: Served
) -> None:
    """Its Triton does not know the model yet."""
    added(workspace, served, "starting", ref="org/Chain")
    assert "starting" not in names(address)
    assert {ask(address, "org/Chain").choices[0].message.content for _ in range(4)} == {CYCLE}
    with pytest.raises(openai.NotFoundError) as caught:
        ask(address, "starting")
    assert caught.value.body == caught.value.response.json()["error"]
    assert caught.value.response.json()["error"]["wizard_code"] == "TW-C02"


def test_times_and_tokens_are_measured(address: Address) -> None:
    usage = ask(address, "short", max_tokens=20).usage
    with pytest.raises(openai.BadRequestError):
        ask(address, "short", max_tokens=0)
    seen = figures(address)
    label = '{model_name="short"}'
    assert int(seen[f"prompt_tokens_total{label}"]) == usage.prompt_tokens
    assert int(seen[f"generation_tokens_total{label}"]) == usage.completion_tokens == 20
    assert seen[f"time_to_first_token_seconds_count{label}"] == "1"
    assert float(seen[f"time_to_first_token_seconds_sum{label}"]) > 0
    between = int(seen[f"inter_token_latency_seconds_count{label}"])
    assert between > 1
    assert seen['inter_token_latency_seconds_bucket{model_name="short",le="+Inf"}'] == str(between)
    assert seen['requests_total{status="400"}'] == "1"
    assert not [name for name in seen if 'model_name=""' in name]


def unheard(workspace: Workspace, served: Served, port: int) -> None:
    """A copy whose Triton has ended, after its model was found: nothing listens on its gRPC port."""
    ports = served.endpoint("chain").ports
    added(workspace, served, "chain", "a-dead", ref="org/Chain", ports=replace(ports, grpc=port))


@pytest.mark.parametrize("stream", [False, True])
def test_a_request_that_produced_nothing_is_tried_on_a_copy(workspace: Workspace, served: Served, stream: bool) -> None:
    with reserved() as port:
        unheard(workspace, served, port)
        with running(workspace) as address:
            with pytest.raises(openai.InternalServerError) as caught:
                ask(address, "org/Chain", stream=stream)
            assert caught.value.response.json()["error"]["wizard_code"] == "TW-C01"
            added(workspace, served, "chain", "b", ref="org/Chain")
            for _ in range(3):
                answer = ask(address, "org/Chain", stream=stream)
                texts = (
                    [each.choices[0].delta.content for each in answer]
                    if stream
                    else [answer.choices[0].message.content]
                )
                assert "".join(text or "" for text in texts) == CYCLE
            with pytest.raises(openai.InternalServerError):
                ask(address, "a-dead", stream=stream)
            seen = figures(address)
    assert seen['requests_total{model_name="b",status="200"}'] == "3"
    assert seen['requests_total{model_name="a-dead",status="503"}'] == "2"


async def test_a_server_whose_process_was_replaced_is_another_one(
    workspace: Workspace, served: Served, other: proctable.Process
) -> None:
    servers = Servers(workspace)
    added(workspace, served, "chain")
    (first,) = servers.living()
    assert servers.living() == [first]
    await first.client()
    added(workspace, served, "chain", **lives_as(other))
    (second,) = servers.living()
    assert (second.endpoint.pid, second is first) == (other.pid, False)
    assert (await servers.serving("chain"))[0] is second
    await servers.close()
    await asyncio.gather(*servers._closing)


async def test_a_workspace_without_servers(workspace: Workspace) -> None:
    servers = Servers(workspace)
    assert await servers.ready() == []
    with pytest.raises(Fault, match="running: none"):
        await servers.serving("")


async def test_one_that_does_not_respond_is_said(workspace: Workspace, served: Served) -> None:
    added(workspace, served, "no-such-model")
    with pytest.raises(ServerError, match="TW-C02"):
        await Servers(workspace).serving("no-such-model")


def test_a_single_server_is_listed_once(workspace: Workspace, served: Served) -> None:
    server = Server(added(workspace, served, "chain", ref="org/Chain"))
    assert listed([server]) == {"chain": server}


def test_the_list_is_json_that_openai_reads(address: Address) -> None:
    with urllib.request.urlopen(f"{address.url}/v1/models", timeout=SECONDS) as answer:
        lengths = {each["id"]: each["max_model_len"] for each in json.load(answer)["data"]}
    assert lengths["short"] == 256
