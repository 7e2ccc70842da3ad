"""How much a model thinks, over the address: OpenAI's parameter, vLLM's, and what the wizard's own chat sends."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.chat.test_thinking_modes import BODY, BUDGET, COMPARED, QWEN, chat
from wizard.chat.ask import Ask
from wizard.chat.client import Client
from wizard.chat.openai import _thinking
from wizard.chat.served import ServedModel
from wizard.chat.templates import process_of
from wizard.gateway import bodies, requests
from wizard.gateway.faults import Fault
from wizard.model.chat_format import ChatFormat
from wizard.plan.ports import Ports
from wizard.serve.endpoint import Endpoint

ENDPOINT = Endpoint("s", "m", "127.0.0.1", Ports(1, 1, 1), 1, "", "log")


def wanted(**more: Any) -> bodies.Wanted:
    return bodies.chat(json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hi"}], **more}).encode())


def prompt(format_: ChatFormat | None, **more: Any) -> str:
    client = Client(ENDPOINT, ServedModel("m", format_, (), None, None), None, None)
    question = requests.question(wanted(**more), client)
    text = process_of(format_.template).ask(question)["text"] if question and format_ else None
    return requests.asks(wanted(**more), client, text)[0].prompt


@pytest.mark.parametrize("mode", ["off", "on", "low", "max", "200"])
def test_what_the_wizards_chat_sends_is_understood(mode: str) -> None:
    assert wanted(**_thinking(Ask("m", "", 8, None, 1.0, None, thinking=mode))).sampling.thinking == mode


@pytest.mark.parametrize(
    ("given", "mode"),
    [
        ({}, None),
        ({"reasoning_effort": None, "chat_template_kwargs": None}, None),
        ({"reasoning_effort": "none"}, "off"),
        ({"chat_template_kwargs": {"reasoning_effort": "high"}}, "high"),
        ({"chat_template_kwargs": {"enable_thinking": False}}, "off"),
        ({"reasoning_effort": "low", "chat_template_kwargs": {"enable_thinking": True}}, "low"),
        ({"chat_template_kwargs": {"enable_thinking": True, "thinking_budget": 9}}, "9"),
    ],
)
def test_the_names_that_programs_send(given: dict[str, Any], mode: str | None) -> None:
    assert wanted(**given).sampling.thinking == mode


@pytest.mark.parametrize(
    "given",
    [
        {"reasoning_effort": "banana"},
        {"reasoning_effort": "low", "chat_template_kwargs": {"enable_thinking": False}},
        {"chat_template_kwargs": {"thinking_budget": -1}},
    ],
)
def test_a_mode_that_is_none(given: dict[str, Any]) -> None:
    with pytest.raises(Fault) as caught:
        wanted(**given)
    assert (caught.value.code, caught.value.param) == ("TW-G03", "reasoning_effort")


@pytest.mark.parametrize(
    ("template", "given", "end"),
    [
        (QWEN, {}, "<a>"),
        (QWEN, {"reasoning_effort": "none"}, "<a><think></think>"),
        (QWEN, {"chat_template_kwargs": {"thinking": False}}, "<a><think></think>"),
        (BUDGET, {"chat_template_kwargs": {"thinking_budget": 4}}, "8<u>Hi<a>"),
        (COMPARED, {"reasoning_effort": "low"}, "/less<u>Hi<a>"),
        (BODY, {"reasoning_effort": "none"}, "<a>"),  # a model that does not think
    ],
)
def test_the_models_own_template_switches_it(template: str, given: dict[str, Any], end: str) -> None:
    assert prompt(chat(template), **given).endswith(end)


@pytest.mark.parametrize(
    ("format_", "effort", "message"),
    [
        (chat(QWEN), "high", "this model's chat template has no thinking mode 'high', only: off, on"),
        (chat(BODY), "low", "this model's chat template has no thinking mode 'low'"),
        (chat(BODY + "<think></think>"), "none", "this model's chat template has no thinking mode 'off'"),
        (None, "low", "this model's chat template has no thinking mode 'low'"),
    ],
)
def test_a_mode_that_the_template_lacks_is_refused(format_: ChatFormat | None, effort: str, message: str) -> None:
    with pytest.raises(Fault, match=f"^{message}$") as caught:
        prompt(format_, reasoning_effort=effort)
    assert (caught.value.code, caught.value.param) == ("TW-G04", "reasoning_effort")
