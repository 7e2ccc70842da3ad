"""A template that computes for ever, at the address: refused, and no other request waits for it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.chat.test_rendering import CHAT, SERVED
from tests.chat.test_templates import BOMBS
from wizard.chat.client import Client
from wizard.gateway import bodies
from wizard.gateway.app import Gateway
from wizard.gateway.faults import fault
from wizard.gateway.servers import Servers
from wizard.gateway.templates import MOST, Templates
from wizard.kernel.errors import ModelError
from wizard.kernel.fenced_process import frame
from wizard.kernel.paths import Workspace
from wizard.plan.ports import Ports
from wizard.serve.endpoint import Endpoint

ENDPOINT = Endpoint("s", "m", "127.0.0.1", Ports(1, 1, 1), 1, "", "log")


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[Gateway]:
    gateway = Gateway(Servers(Workspace(tmp_path)))
    yield gateway
    gateway.templates.end()


def client(template: str) -> Client:
    return Client(ENDPOINT, replace(SERVED, chat=replace(CHAT, template=template)), None, None)


async def prompt(gateway: Gateway, template: str, **more: Any) -> str:
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hi"}], **more}).encode()
    return (await gateway._asks(len(body), bodies.chat(body), client(template)))[0].prompt


async def test_prompts_come_from_the_template(gateway: Gateway) -> None:
    template = "{{ bos_token }}{{ messages[-1].content }}"
    assert [await prompt(gateway, template) for _ in range(3)] == [f"{CHAT.bos_token or ''}Hi"] * 3
    text = "한\U0001f600" * 100_000  # more than a pipe holds
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}).encode()
    (ask,) = await gateway._asks(len(body), bodies.chat(body), client("{{ messages[-1].content }}"))
    assert ask.prompt == text


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
async def test_a_bomb_is_refused_while_others_are_answered(gateway: Gateway, bomb: str) -> None:
    good = "{{ messages[-1].content }}"
    await prompt(gateway, good)  # its process runs
    waiting = asyncio.create_task(prompt(gateway, bomb))
    answered = 0
    while not waiting.done():
        assert await prompt(gateway, good) == "Hi"
        answered += 1
    assert answered > 20
    with pytest.raises(ModelError) as refused:
        await waiting
    assert refused.value.code == "TW-C50"
    failed = fault(refused.value)
    assert (failed.status, failed.body()["error"]["wizard_code"]) == (400, "TW-C50")


async def test_a_template_that_rejects_keeps_its_process(gateway: Gateway) -> None:
    template = "{{ raise_exception('no') if messages | length > 1 else messages[0].content }}"
    await prompt(gateway, template)
    with pytest.raises(ModelError, match="no") as refused:
        await prompt(
            gateway, template, messages=[{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
        )
    assert refused.value.code == "TW-C06"
    assert await prompt(gateway, template) == "Hi"


async def test_few_processes_are_kept() -> None:
    templates = Templates()
    for number in range(MOST + 2):
        assert await templates.prompt(f"{number}", frame({"do": "apply"})) == str(number)
    assert len(templates._templates) == MOST
    templates.end()
