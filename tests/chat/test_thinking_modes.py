"""Modes of thinking, read from chat templates.

The templates are written for this test, each after the shape of a family's: what it branches on, not its words.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from wizard.catalog.profiles import find, load
from wizard.catalog.thinking import Thinking, thinking
from wizard.chat.thinking_modes import modes, variables
from wizard.kernel.errors import UsageError
from wizard.model.chat_format import ChatFormat

BODY = "{% for m in messages %}<u>{{ m.content }}{% endfor %}<a>"
QWEN = BODY + "{% if enable_thinking is defined and enable_thinking is false %}<think></think>{% endif %}"
DEEPSEEK = (
    "{% if not thinking is defined %}{% set thinking = enable_thinking | default(false) %}{% endif %}"
    + BODY
    + "{% if thinking %}<think>{% else %}</think>{% endif %}"
)
PRINTED = "{% if reasoning_effort is not defined %}{% set reasoning_effort = 'medium' %}{% endif %}" + (
    "Reasoning: {{ reasoning_effort + '.' }}" + BODY
)
COMPARED = "{% if reasoning_effort is defined and reasoning_effort in ['low', 'no_think'] %}/less{% endif %}" + BODY
CHECKED = (
    "{% set thinking_effort = thinking_effort | default('max') %}"
    "{% if thinking_effort not in ['low', 'high', 'max'] %}{{ raise_exception('no') }}{% endif %}"
    "{{ thinking_effort }}" + BODY
)
BUDGET = "{% if thinking_budget is defined %}{% if thinking_budget == 0 %}</t>{% endif %}" + (
    "{{ thinking_budget * 2 }}{% endif %}" + BODY
)


def chat(template: str) -> ChatFormat:
    return ChatFormat(template, "<s>", "</s>")


@pytest.mark.parametrize(
    ("template", "offered"),
    [
        (QWEN, {"off": {"enable_thinking": False}, "on": {"enable_thinking": True}}),
        (
            DEEPSEEK,
            {
                "off": {"enable_thinking": False, "thinking": False},
                "on": {"enable_thinking": True, "thinking": True},
            },
        ),
        (PRINTED, {level: {"reasoning_effort": level} for level in ("low", "medium", "high")}),
        (COMPARED, {"off": {"reasoning_effort": "no_think"}, "low": {"reasoning_effort": "low"}}),
        (CHECKED, {level: {"thinking_effort": level} for level in ("low", "high", "max")}),
        (BUDGET, {"off": {"thinking_budget": 0}}),
        (BODY, {}),
        ("{% set enable_thinking = true %}{% if enable_thinking %}a{% endif %}" + BODY, {}),
        ("{% if enable_thinking is defined %}{% endif %}" + BODY, {}),
        ("{% if enable_thinking", {}),
        ("{{ raise_exception('no') }}{{ enable_thinking }}", {}),
    ],
)
def test_what_a_template_offers(template: str, offered: dict[str, object]) -> None:
    assert modes(chat(template)).values == offered


def test_values_for_a_mode() -> None:
    assert variables(chat(QWEN), "off") == {"enable_thinking": False}
    assert variables(chat(QWEN), "high") == variables(chat(QWEN), None) == variables(chat(QWEN), "100") == {}
    assert variables(chat(BUDGET), "512") == {"thinking_budget": 512}
    assert modes(chat(BUDGET)).names == "off, a number of tokens"


def test_every_fact_has_its_source() -> None:
    assert all(switch.source for switch in thinking().switches)


def test_the_table_is_read_as_any_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert thinking() == load(Thinking, find("thinking.toml"))
    monkeypatch.setenv("TRITON_WIZARD_PROFILES", str(tmp_path))
    (tmp_path / "thinking.toml").write_text('[[formats]]\nname = "a"\nopens = "<a>"\n')
    with pytest.raises(UsageError) as caught:
        thinking()
    assert caught.value.code == "TW-K01"
