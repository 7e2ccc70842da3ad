"""The chat with a server of the workspace uses tools: a real MCP server, and the real llama.cpp behind the address."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from tests.chain_model import CYCLE, CYCLE_TOKENS
from tests.chat.conftest import Served, silent_port
from tests.chat.tools.conftest import real, toolbox
from tests.chat.tools.test_loop import User, read
from tests.gateway.conftest import Address
from wizard.chat.conversation import Conversation, Sampling
from wizard.chat.tools.consent import Consent
from wizard.chat.tools.loop import ToolUse
from wizard.chat.tools.toolbox import Toolbox

__all__ = ["silent_port", "toolbox"]
pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("gateway")]
QUESTION = Conversation(sampling=Sampling(max_tokens=90)).with_message("user", "Is it raining in Oslo?")


@pytest.fixture
def use(toolbox: Callable[..., Toolbox]) -> Iterator[ToolUse]:
    """One tool of the real server: the model knows only this one."""
    consent = Consent(allowed=frozenset({"real/weather"}), asks=False)
    return ToolUse(toolbox(real()), consent)


async def test_the_model_calls_a_tool_and_reads_its_result(
    served: Served, start: Callable[[str], Address], use: ToolUse
) -> None:
    endpoint = replace(served.endpoint("tools"), name="tools", openai=f"{start('tools').url}/v1")
    text, chunks = await read(endpoint, use, QUESTION)
    (call,) = text.calls
    assert (call.tool, call.arguments, call.outcome, call.result) == (
        "weather",
        '{"city": "Oslo"}',
        "done",
        "rain in Oslo",
    )
    assert text.answer.startswith(CYCLE)
    assert chunks[-1].stats is not None
    assert (chunks[-1].stats.tokens or 0) > CYCLE_TOKENS
    again = QUESTION.with_message("assistant", text.answer, calls=text.calls).with_message("user", "And now?")
    text, _ = await read(endpoint, use, again)
    assert len(text.calls) == 1


async def test_a_model_that_cannot_call_tools_answers_without_them(
    served: Served, start: Callable[[str], Address], toolbox: Callable[..., Toolbox]
) -> None:
    endpoint = replace(served.endpoint("chain"), name="chain", openai=f"{start('chain').url}/v1")
    tools = ToolUse(toolbox(real()), Consent(), User())
    text, chunks = await read(endpoint, tools, QUESTION)
    assert text.calls == ()
    assert text.answer.startswith(CYCLE)
    notes = [chunk.note for chunk in chunks if chunk.note]
    assert len(notes) == 2
    assert "this model cannot use tools here" in notes[1]
    _, chunks = await read(endpoint, tools, QUESTION)
    assert not any(chunk.note for chunk in chunks)


async def test_an_address_that_does_not_answer_leaves_the_chat(
    served: Served, silent_port: int, toolbox: Callable[..., Toolbox]
) -> None:
    endpoint = replace(served.endpoint("chain"), openai=f"http://127.0.0.1:{silent_port}/v1")
    tools = ToolUse(toolbox(real()), Consent(), User())
    text, chunks = await read(endpoint, tools, QUESTION)
    assert text.answer.startswith(CYCLE)
    notes = [chunk.note for chunk in chunks if chunk.note]
    assert "no server responds at" in notes[1]


async def test_without_the_address_there_are_no_tools(served: Served, toolbox: Callable[..., Toolbox]) -> None:
    tools = ToolUse(toolbox(real()), Consent(), User())
    text, chunks = await read(served.endpoint("chain"), tools, QUESTION)
    assert text.answer.startswith(CYCLE)
    (note,) = [chunk.note for chunk in chunks if chunk.note]
    assert "OpenAI-compatible address" in note
    assert tools.toolbox.unstarted == ("real",)
