"""Tools of real MCP servers, and of scripted ones that misbehave."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.chat.tools.conftest import real, says, scripted
from wizard.chat.tools.config import ToolServer
from wizard.chat.tools.tool import LONGEST_RESULT, Tool, ToolServerError
from wizard.chat.tools.toolbox import Limits, Toolbox
from wizard.kernel import proctable

Make = Callable[..., Toolbox]
SHORT = Limits(start_s=3, call_s=0.5)


async def tools(box: Toolbox) -> dict[str, Tool]:
    return {tool.offered: tool for tool in (await box.offer()).tools}


async def problem(box: Toolbox) -> str:
    """Why its only server is not used."""
    offer = await box.offer()
    assert offer.tools == ()
    (text,) = offer.problems
    assert (await box.offer()).problems == (), "reported once"
    return text


def groups(box: Toolbox) -> list[int]:
    """The process groups of the running servers."""
    return [each.child.pid for each in box._servers.values() if each.child]


async def test_tools_of_a_real_server_are_listed_and_called(toolbox: Make, tmp_path: Path) -> None:
    box = toolbox(real(cwd=str(tmp_path)))
    there = await tools(box)
    add = there["add"]
    assert (add.server, add.name, add.key, add.description) == ("real", "add", "real/add", "Add two numbers.")
    assert add.schema["required"] == ["a", "b"]
    assert (await box.call(add, {"a": 2, "b": 3})).text == "5"
    wrong = await box.call(add, {"a": "x"})
    assert wrong.failed
    assert "valid integer" in wrong.text
    assert (await box.call(there["fail"], {"why": "because"})).failed
    assert (await box.call(there["picture"], {})).text == "[image/png, 2 KiB: not shown]"
    assert (await box.call(there["folder"], {})).text == str(tmp_path)


async def test_nothing_is_started_before_tools_are_needed(toolbox: Make) -> None:
    box = toolbox(real())
    assert box._thread is None
    await box.offer()
    assert all(proctable.group_members(group) for group in groups(box))


async def test_a_server_gets_no_secret_of_ours(toolbox: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_TOKEN", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "PYTHONPATH"):
        monkeypatch.setenv(name, "secret")
    box = toolbox(real(env={"MINE": "1"}))
    names = (await box.call((await tools(box))["environment"], {})).text.split()
    assert {"MINE", "PATH"} <= {*names}
    assert not {"HF_TOKEN", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "PYTHONPATH"} & {*names}


async def test_a_cancelled_call_ends_in_the_server(toolbox: Make, tmp_path: Path) -> None:
    box, file = toolbox(real()), tmp_path / "state"
    there = await tools(box)
    call = asyncio.ensure_future(box.call(there["wait"], {"file": str(file)}))
    await says(file, "called")
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await says(file, "cancelled")
    assert (await box.call(there["add"], {"a": 1, "b": 1})).text == "2"


async def test_a_server_that_dies_is_started_again_with_the_next_question(toolbox: Make) -> None:
    box = toolbox(real())
    there = await tools(box)
    with pytest.raises(ToolServerError, match="it exited: out of cheese"):
        await box.call(there["leave"], {})
    with pytest.raises(ToolServerError, match="exited"):
        await box.call(there["add"], {"a": 1, "b": 1})
    there = await tools(box)
    assert (await box.call(there["add"], {"a": 1, "b": 1})).text == "2"


async def test_the_same_tool_of_two_servers_has_two_names(toolbox: Make) -> None:
    box = toolbox(real("a"), real("a.b"), real("a_b"))
    there = await tools(box)
    adds = {name: tool.key for name, tool in there.items() if tool.name == "add"}
    assert adds == {"a__add": "a/add", "a_b__add": "a.b/add", "a_b__add_2": "a_b/add"}


def test_it_works_from_one_event_loop_after_another(toolbox: Make) -> None:
    box = toolbox(real())
    there = asyncio.run(tools(box))
    before = groups(box)
    assert asyncio.run(box.call(there["echo"], {"text": "é\U0001f600"})).text == "é\U0001f600"
    assert groups(box) == before
    box.close()
    assert not any(proctable.group_members(group) for group in before)


@pytest.mark.parametrize(
    ("behavior", "words"),
    [
        ("hang", "did not answer within 3 s"),
        ("hang-list", "did not answer within 3 s"),
        ("flood", "it wrote a message of more than 16.0 MiB"),
        ("noise", "what it writes are not messages of the protocol"),
        ("array", "invalid reply"),
        ("exit", "it exited: cannot find the database"),
        ("wrong-list", "invalid reply"),
        ("no-schema", "invalid reply"),
    ],
)
async def test_servers_that_cannot_be_used(toolbox: Make, behavior: str, words: str) -> None:
    box = toolbox(scripted(behavior), limits=SHORT)
    assert words in await problem(box)
    assert not any(proctable.group_members(group) for group in groups(box))


async def test_a_program_that_does_not_exist(toolbox: Make) -> None:
    words = "The tool server none is not used: it cannot be started: No such file or directory."
    assert await problem(toolbox(ToolServer("none", ("/nonesuch",)))) == words


async def test_one_bad_server_leaves_the_others(toolbox: Make) -> None:
    box = toolbox(real(), scripted("exit"), scripted("chatty", "chatty"))
    offer = await box.offer()
    assert {tool.server for tool in offer.tools} == {"real", "chatty"}
    assert len(offer.problems) == 1


async def test_tools_that_lie_are_left_out(toolbox: Make) -> None:
    offer = await toolbox(scripted("schemas")).offer()
    assert [tool.name for tool in offer.tools] == ["good"]
    assert len(offer.problems) == 3
    assert not any("\x1b" in text or "\x07" in text for text in offer.problems)


async def test_lists_are_bounded(toolbox: Make) -> None:
    many = await toolbox(scripted("many")).offer()
    assert len(many.tools) == 128
    assert many.problems == ("72 tools are not used: a model can have at most 128.",)
    assert len((await toolbox(scripted("endless-list")).offer()).tools) == 20
    twice = (await toolbox(scripted("twice")).offer()).tools
    assert [tool.offered for tool in twice] == ["odd__same", "odd__same_2"]


async def test_descriptions_are_cleaned(toolbox: Make) -> None:
    (tool,) = (await toolbox(scripted("normal")).offer()).tools
    assert tool.description == "Do it."


@pytest.mark.parametrize(
    ("behavior", "words"),
    [
        ("hang-call", "did not answer within 0.5 s"),
        ("flood-call", "it wrote a message of more than 16.0 MiB"),
        ("die-call", "it exited: out of memory"),
        ("wrong-result", "invalid reply"),
    ],
)
async def test_calls_that_fail(toolbox: Make, behavior: str, words: str) -> None:
    box = toolbox(scripted(behavior), limits=Limits(start_s=60, call_s=0.5 if behavior == "hang-call" else 60))
    (tool,) = (await box.offer()).tools
    with pytest.raises(ToolServerError) as caught:
        await box.call(tool, {})
    assert words in str(caught.value)


async def test_results_are_bounded(toolbox: Make) -> None:
    box = toolbox(scripted("huge-result"))
    (tool,) = (await box.offer()).tools
    text = (await box.call(tool, {})).text
    assert len(text) < LONGEST_RESULT + 100
    assert text.endswith("[2,900,000 more characters were left out]")


@pytest.mark.parametrize(("behavior", "text"), [("no-content", '{"a": 1}'), ("empty", "")])
async def test_results_without_a_text(toolbox: Make, behavior: str, text: str) -> None:
    box = toolbox(scripted(behavior))
    (tool,) = (await box.offer()).tools
    assert (await box.call(tool, {})).text == text


async def test_a_stubborn_server_is_killed(toolbox: Make) -> None:
    box = toolbox(scripted("stubborn"))
    await box.offer()
    (group,) = groups(box)
    assert proctable.group_members(group)
    await asyncio.to_thread(box.close)
    assert not proctable.group_members(group)


async def test_a_server_outlives_neither_the_program_nor_its_signals(tmp_path: Path) -> None:
    """Python's end stops servers, also a stubborn one."""
    program = """
import asyncio, sys
from pathlib import Path
from tests.chat.tools.conftest import scripted
from wizard.chat.tools.config import ToolServers
from wizard.chat.tools.toolbox import Toolbox
box = Toolbox(ToolServers(Path("x"), (scripted("stubborn"),)))
asyncio.run(box.offer())
print(*[each.child.pid for each in box._servers.values()])
"""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE, env={**os.environ, "PYTHONPATH": "."}
    )
    out, _ = await child.communicate()
    group = int(out)
    assert not proctable.group_members(group)
    with contextlib.suppress(OSError):
        os.killpg(group, 9)
