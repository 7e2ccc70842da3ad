"""Answers with tools: a stand-in of an OpenAI-compatible server whose model calls them, and a real MCP server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.chat.fake_openai import DONE, ROLE, SAID, STOP, USAGE, WORDS, FakeOpenAI, asked, calling, event
from tests.chat.tools.conftest import real, says, scripted
from wizard.chat import stream
from wizard.chat.chunk import Chunk, Text
from wizard.chat.conversation import Conversation, Stats
from wizard.chat.openai import at
from wizard.chat.tools.answer import address, answer
from wizard.chat.tools.called import STOPPED, Called
from wizard.chat.tools.consent import Consent, Decision
from wizard.chat.tools.loop import DENIED, MOST_ROUNDS, NOT_ALLOWED, ToolUse, _together
from wizard.chat.tools.tool import Tool
from wizard.chat.tools.toolbox import Toolbox
from wizard.kernel.errors import ServerError, UsageError
from wizard.plan.ports import Ports
from wizard.serve.endpoint import Endpoint

Make = Callable[..., Toolbox]
ADD = ("add", '{"a": 2, "b": 3}')


class User:
    """Decides, and remembers what was shown."""

    def __init__(self, *decisions: Decision) -> None:
        self.decisions = list(decisions)
        self.shown: list[tuple[Called, Tool]] = []

    async def __call__(self, call: Called, tool: Tool) -> Decision:
        self.shown.append((call, tool))
        return self.decisions.pop(0)


def use(box: Toolbox, user: User, path: Path | None = None) -> ToolUse:
    return ToolUse(box, Consent(path), user)


async def read(endpoint: Endpoint, tools: ToolUse, talk: Conversation | None = None) -> tuple[Text, list[Chunk]]:
    text, chunks = Text(), []
    async for chunk in answer(endpoint, talk or asked(), tools):
        text.add(chunk)
        chunks.append(chunk)
    return text, chunks


async def test_a_call_is_shown_allowed_made_and_answered(fake: FakeOpenAI, toolbox: Make) -> None:
    fake.bodies = [calling(ADD, before="Let me add.")]
    user = User("once")
    text, chunks = await read(at(fake.url), use(toolbox(real()), user))
    ((shown, tool),) = user.shown
    assert (shown.server, shown.tool, shown.arguments, shown.outcome) == ("real", "add", ADD[1], "asking")
    assert tool.description == "Add two numbers."
    (call,) = text.calls
    assert (call.outcome, call.result, call.before, call.round) == ("done", "5", "Let me add.", 0)
    assert text.answer == "".join(WORDS)
    first, second = fake.asked
    names = [each["function"]["name"] for each in first["tools"]]
    assert "add" in names
    assert first["messages"][-1] == {"role": "user", "content": "Hello"}
    function = {"name": "add", "arguments": ADD[1]}
    assert second["messages"][2:] == [
        {
            "role": "assistant",
            "content": "Let me add.",
            "tool_calls": [{"id": "chat-0", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "chat-0", "content": "5"},
    ]
    stats = [chunk.stats for chunk in chunks if chunk.stats]
    assert len(stats) == 1
    assert (stats[0].tokens, stats[0].finish) == (6, "stop")
    outcomes = [chunk.called.outcome for chunk in chunks if chunk.called]
    assert outcomes == ["asking", "running", "done"]


async def test_the_next_question_has_the_calls_of_earlier_answers(fake: FakeOpenAI, toolbox: Make) -> None:
    call = Called("c1", "add", "real", "add", "{}", "done", "5", 0, "Hm.")
    later = replace(call, id="c2", round=1, outcome="running", result="", before="")
    talk = asked().with_message("assistant", "It is 5.", calls=(call, later)).with_message("user", "Sure?")
    await read(at(fake.url), use(toolbox(real()), User()), talk)
    (sent,) = fake.asked
    roles = [(each["role"], each["content"]) for each in sent["messages"][2:]]
    assert roles == [
        ("assistant", "Hm."),
        ("tool", "5"),
        ("assistant", ""),
        ("tool", STOPPED),
        ("assistant", "It is 5."),
        ("user", "Sure?"),
    ]


async def test_a_denied_call_is_told_to_the_model(fake: FakeOpenAI, toolbox: Make) -> None:
    fake.bodies = [calling(ADD)]
    text, _ = await read(at(fake.url), use(toolbox(real()), User("deny")))
    assert [(each.outcome, each.result) for each in text.calls] == [("denied", DENIED)]
    assert fake.asked[1]["messages"][-1]["content"] == DENIED
    assert text.answer == "".join(WORDS)


async def test_always_and_never_are_kept_for_the_workspace(fake: FakeOpenAI, toolbox: Make, tmp_path: Path) -> None:
    fake.bodies = [calling(ADD, ("echo", '{"text": "a"}'))]
    user, path, box = User("always", "never"), tmp_path / "here" / "tools.json", toolbox(real())
    text, _ = await read(at(fake.url), use(box, user, path))
    assert [each.outcome for each in text.calls] == ["done", "denied"]
    assert text.calls[1].result == NOT_ALLOWED
    assert [each.round for each in text.calls] == [0, 0]
    fake.bodies = [calling(ADD, ("echo", "{}"))]
    text, _ = await read(at(fake.url), use(box, User(), path))  # another run, and nothing is asked
    names = [each["function"]["name"] for each in fake.asked[2]["tools"]]
    assert "add" in names
    assert "echo" not in names
    assert [(each.tool, each.outcome) for each in text.calls] == [("add", "done"), ("echo", "failed")]
    assert oct(path.stat().st_mode)[-3:] == "600"


async def test_a_tool_that_changed_is_asked_about_again(fake: FakeOpenAI, toolbox: Make, tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    fake.bodies = [calling(ADD)]
    await read(at(fake.url), use(toolbox(real()), User("always"), path))
    user, fake.bodies = User("deny"), [calling(ADD)]
    await read(at(fake.url), use(toolbox(real(cwd=str(tmp_path))), user, path))
    assert len(user.shown) == 1


@pytest.mark.parametrize("content", [b"", b"\xff", b"[" * 100_000, b'{"real/add": {"decision": "maybe"}}', b"[]"])
async def test_damaged_decisions_are_not_trusted(
    fake: FakeOpenAI, toolbox: Make, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "tools.json"
    path.write_bytes(content)
    fake.bodies = [calling(ADD)]
    user = User("deny")
    await read(at(fake.url), use(toolbox(real()), user, path))
    assert len(user.shown) == 1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (("nothing", "{}"), "There is no tool 'nothing'."),
        (("add", '{"a": 2'), "The arguments are not a JSON object."),
        (("add", "[1]"), "The arguments are not a JSON object."),
        (("add", "[" * 100_000), "The arguments are not a JSON object."),
    ],
    ids=["unknown", "cut", "list", "deep"],
)
async def test_calls_that_cannot_be_made_are_not_asked_about(
    fake: FakeOpenAI, toolbox: Make, call: tuple[str, str], words: str
) -> None:
    fake.bodies = [calling(call, cut=10_000)]
    text, _ = await read(at(fake.url), use(toolbox(real()), User()))
    assert [(each.outcome, each.result) for each in text.calls] == [("failed", words)]


async def test_a_server_that_dies_fails_the_call_only(fake: FakeOpenAI, toolbox: Make) -> None:
    fake.bodies = [calling(("leave", "{}"), ADD)]
    text, _ = await read(at(fake.url), use(toolbox(real()), User("once", "once")))
    assert [each.outcome for each in text.calls] == ["failed", "failed"]
    assert "out of cheese" in text.calls[0].result
    assert text.answer == "".join(WORDS)


async def test_rounds_are_bounded(fake: FakeOpenAI, toolbox: Make) -> None:
    fake.bodies = [calling(ADD) for _ in range(MOST_ROUNDS)]
    text, chunks = await read(at(fake.url), use(toolbox(real()), User(*["once"] * MOST_ROUNDS)))
    assert len(text.calls) == MOST_ROUNDS
    assert len({each.id for each in text.calls}) == MOST_ROUNDS
    assert all(each.id.isalnum() and len(each.id) == 9 for each in text.calls[1:])  # as Mistral's template wants
    assert "tools" not in fake.asked[-1]
    assert text.answer == "".join(WORDS)
    assert "16 times in a row" in [chunk.note for chunk in chunks if chunk.note][-1]
    fake.bodies = [calling(ADD) for _ in range(MOST_ROUNDS + 1)]  # it calls without tools, too
    text, _ = await read(at(fake.url), use(toolbox(real()), User(*["once"] * MOST_ROUNDS)))
    assert len(text.calls) == MOST_ROUNDS


async def test_thoughts_of_several_rounds_stay_apart(fake: FakeOpenAI, toolbox: Make) -> None:
    thought = event({"reasoning_content": "First."})
    fake.bodies = [thought + calling(ADD)]
    fake.body = event({"reasoning_content": "Second."}) + SAID + STOP + USAGE + DONE
    text, chunks = await read(at(fake.url), use(toolbox(real()), User("once")))
    assert text.thought == "First.\n\nSecond."
    times = [chunk.at_s for chunk in chunks if chunk.at_s is not None]
    assert times == sorted(times), "the times of the second request follow those of the first"
    stats = chunks[-1].stats
    assert stats is not None
    assert stats.thought_s is not None
    assert stats.answer_s is not None
    assert (stats.ttft_s or 0) < stats.answer_s <= stats.total_s


async def test_decisions_of_another_chat_are_not_overwritten(fake: FakeOpenAI, toolbox: Make, tmp_path: Path) -> None:
    path, box = tmp_path / "tools.json", toolbox(real())
    tools = {tool.name: tool for tool in (await box.offer()).tools}
    add, echo = tools["add"], tools["echo"]
    mine, other = Consent(path), Consent(path)
    mine.set(add, "always")
    other.set(echo, "never")
    other.set(add, None)
    mine.set(echo, "always")
    again = Consent(path)
    assert (again.of(add), again.of(echo)) == (None, "always")


async def test_decisions_that_cannot_be_kept_apply_until_the_end(
    fake: FakeOpenAI, toolbox: Make, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    add, echo = (await toolbox(real()).offer()).tools[:2]
    consent = Consent(tmp_path / "file" / "tools.json")
    consent.set(add, "always")
    consent.set(echo, "never")
    assert (consent.of(add), consent.of(echo)) == ("always", "never")


@pytest.mark.parametrize(
    "refusal",
    [
        '{"error": {"message": "\\"auto\\" tool choice requires --enable-auto-tool-choice and --tool-call-parser"}}',
        '{"error": {"message": "registry.ollama.ai/library/gemma3:1b does not support tools"}}',
        '{"error": {"message": "tools param requires --jinja flag", "code": 500}}',
    ],
)
async def test_a_model_without_tools_answers_without_them(fake: FakeOpenAI, toolbox: Make, refusal: str) -> None:
    fake.status, fake.body = 400, refusal.encode()
    tools = use(toolbox(real()), User())
    await tools.offer()
    chunks = answer(at(fake.url), asked(), tools)
    note = (await chunks.__anext__()).note or ""
    with pytest.raises(ServerError):  # the stand-in refuses everything
        await chunks.__anext__()
    assert [("tools" in each) for each in fake.asked] == [True, False]
    assert "this model cannot use tools here" in note
    fake.status, fake.body = 200, ROLE + SAID + STOP + DONE
    text, more = await read(at(fake.url), tools)
    assert "tools" not in fake.asked[-1]
    assert text.answer == "".join(WORDS)
    assert not any(chunk.note for chunk in more), "said once"


async def test_a_refusal_of_tools_is_an_error_with_a_remedy(fake: FakeOpenAI) -> None:
    fake.status, fake.body = 400, b'{"error": {"message": "m does not support tools"}}'
    tool = Tool("s", "t", "", {"type": "object", "properties": {}}, "", "t")
    with pytest.raises(UsageError) as caught:
        await stream.answer(at(fake.url), asked(), tools=[tool.definition]).__anext__()
    assert caught.value.code == "TW-C41"
    assert "--no-tools" in caught.value.todo


async def test_other_errors_are_not_taken_for_that(fake: FakeOpenAI, toolbox: Make) -> None:
    fake.status, fake.body = 500, b'{"error": {"message": "out of memory"}}'
    with pytest.raises(ServerError) as caught:
        await read(at(fake.url), use(toolbox(real()), User()))
    assert caught.value.code == "TW-C04"
    assert len(fake.asked) == 1


def whole_calls(*calls: object) -> bytes:
    return event({"tool_calls": [*calls]}) + event({}, "tool_calls") + DONE


async def test_calls_in_one_piece_and_without_numbers(fake: FakeOpenAI, toolbox: Make) -> None:
    function = {"name": "add", "arguments": '{"a": 1, "b": 1}'}
    fake.bodies = [whole_calls({"function": function}, {"id": "", "function": {**function, "name": "echo"}})]
    text, _ = await read(at(fake.url), use(toolbox(real()), User("once", "deny")))
    assert [(each.tool, each.outcome) for each in text.calls] == [("add", "done"), ("echo", "denied")]


@pytest.mark.parametrize(
    "body",
    [
        event({"tool_calls": 7}),
        event({"tool_calls": [7]}),
        event({"tool_calls": [{"index": "x"}]}),
        event({"tool_calls": [{"index": number} for number in range(200)]}),
        event({"tool_calls": [{"index": 0, "function": {"arguments": "x" * 2**21}}]}),
    ],
    ids=["number", "numbers", "index", "many", "long"],
)
async def test_malformed_calls(fake: FakeOpenAI, toolbox: Make, body: bytes) -> None:
    fake.body = body + STOP + DONE
    with pytest.raises(ServerError) as caught:
        await read(at(fake.url), use(toolbox(real()), User()))
    assert caught.value.code == "TW-C14"


async def test_stopping_the_answer_stops_the_call(fake: FakeOpenAI, toolbox: Make, tmp_path: Path) -> None:
    file = tmp_path / "state"
    fake.bodies = [calling(("wait", json.dumps({"file": str(file)})))]
    text = Text()

    async def drive() -> None:
        async with aclosing(answer(at(fake.url), asked(), use(toolbox(real()), User("once")))) as chunks:
            async for chunk in chunks:
                text.add(chunk)

    task = asyncio.ensure_future(drive())
    await says(file, "called")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await says(file, "cancelled")
    assert text.calls[0].outcome == "running"


async def test_only_named_tools_without_a_user(fake: FakeOpenAI, toolbox: Make) -> None:
    fake.bodies = [calling(ADD, ("echo", '{"text": "x"}'))]
    tools = ToolUse(toolbox(real()), Consent(allowed=frozenset({"real/add"}), asks=False))
    text, _ = await read(at(fake.url), tools)
    assert [each["function"]["name"] for each in fake.asked[0]["tools"]] == ["add"]
    assert [each.outcome for each in text.calls] == ["done", "failed"]


async def test_a_named_tool_that_does_not_exist(fake: FakeOpenAI, toolbox: Make) -> None:
    tools = ToolUse(toolbox(real()), Consent(allowed=frozenset({"real/ad"}), asks=False))
    with pytest.raises(UsageError) as caught:
        await read(at(fake.url), tools)
    assert caught.value.code == "TW-C42"
    assert "real/add" in caught.value.what


async def test_problems_are_noted_once(fake: FakeOpenAI, toolbox: Make) -> None:
    tools = use(toolbox(scripted("exit")), User())
    _, chunks = await read(at(fake.url), tools)
    assert [chunk.note for chunk in chunks if chunk.note] == [
        "Starting tool servers: odd",
        "The tool server odd is not used: it exited: cannot find the database.",
    ]
    _, chunks = await read(at(fake.url), tools)
    assert not any(chunk.note for chunk in chunks)
    assert "tools" not in fake.asked[0]


async def test_tools_that_are_off(fake: FakeOpenAI, toolbox: Make) -> None:
    tools = use(toolbox(real()), User())
    tools.off = True
    await read(at(fake.url), tools)
    assert "tools" not in fake.asked[0]
    assert tools.toolbox._thread is None


async def test_escape_sequences_stay_in_the_result_for_the_model(fake: FakeOpenAI, toolbox: Make) -> None:
    fake.bodies = [calling(("do", "{}"))]
    text, _ = await read(at(fake.url), use(toolbox(scripted("escapes")), User("once")))
    assert text.calls[0].result.startswith("\x1b]52")  # what is shown is sanitized: test_text.py


def test_where_tools_are_used(fake: FakeOpenAI) -> None:
    elsewhere = at(fake.url)
    assert address(elsewhere) == elsewhere
    triton = Endpoint("demo", "demo", "127.0.0.1", Ports(8000, 8001, 8002), 1, "1", "log")
    assert address(triton) is None
    there = address(replace(triton, openai="http://127.0.0.1:9000/v1", openai_key="/key"))
    assert there is not None
    assert (there.http, there.model, there.protocol) == ("http://127.0.0.1:9000/v1", "demo", "openai")
    assert there.openai_key == "/key"


async def test_the_key_of_the_address_is_read_from_its_file(fake: FakeOpenAI, toolbox: Make, tmp_path: Path) -> None:
    fake.key = "k" * 20
    (tmp_path / "key").write_text(f"{fake.key}\n", encoding="utf-8")
    triton = Endpoint("m", "m", "127.0.0.1", Ports(8000, 8001, 8002), 1, "1", "log")
    there = replace(triton, openai=f"{fake.url}/v1", openai_key=str(tmp_path / "key"))
    text, _ = await read(there, use(toolbox(real()), User()))
    assert text.answer == "".join(WORDS)
    assert f"Bearer {fake.key}" in fake.keys


@pytest.mark.parametrize(
    ("measured", "rate"),
    [
        ([Stats(21, 1.0, 2.0, "tool_calls"), Stats(31, 3.0, 4.0, "stop")], 25.0),
        ([Stats(9, None, 2.0, "tool_calls"), Stats(31, 3.0, 4.0, "stop")], 30.0),  # a call alone has no first text
        ([Stats(None, 1.0, 2.0, "tool_calls", pieces=21), Stats(None, 3.0, 4.0, "stop", pieces=31)], 25.0),
        ([Stats(9, None, 2.0, "tool_calls"), Stats(9, None, 4.0, "stop")], None),
        ([Stats(3, 1.0, 1.01, "tool_calls"), Stats(3, 1.0, 1.01, "stop")], 6 / 2.02),  # too short to measure
    ],
)
def test_the_rate_is_that_of_generating_only(measured: list[Stats], rate: float | None) -> None:
    """Each request waits for its first token again: that time is not the model's rate."""
    stats = _together(measured)
    assert stats is not None
    assert (stats.tokens_per_s if stats.tokens else stats.pieces_per_s) == (rate and pytest.approx(rate))
