"""Thinking models of OpenAI-compatible servers, against a stand-in on loopback."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest

from tests.chat.fake_openai import DONE, ROLE, SAID, STOP, USAGE, WORDS, FakeOpenAI, asked, event, read
from wizard import journey
from wizard.chat.chunk import Text
from wizard.chat.conversation import Conversation, Sampling
from wizard.chat.openai import at
from wizard.prompts.chat import run_chat


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
async def test_a_thought_in_a_field_of_its_own(fake: FakeOpenAI, name: str) -> None:
    thought = b"".join(event({name: word, "content": None}) for word in ("Let me ", "see."))
    fake.body = ROLE + thought + SAID + STOP + USAGE + DONE
    text, chunks = Text(), await read(at(fake.url))
    for chunk in chunks:
        text.add(chunk)
    assert (text.thought, text.answer) == ("Let me see.", "".join(WORDS))
    stats = chunks[-1].stats
    assert stats is not None
    assert stats.ttft_s is not None
    assert stats.answer_s is not None
    assert stats.ttft_s < stats.answer_s
    assert chunks[0].ttft_s == stats.ttft_s
    assert (stats.tokens, stats.thought_tokens, stats.thought_pieces) == (3, None, 2)


THOUGHT = "SECRET: 42, I suppose."
STREAMS = {
    "reasoning_content": event({"reasoning_content": THOUGHT}) + event({"content": "Yes."}),
    "reasoning": event({"reasoning": THOUGHT}) + event({"content": "Yes."}),
    "tags": event({"content": f"<think>\n{THOUGHT}\n</th"}) + event({"content": "ink>\n\nYes."}),
    "no opening tag": event({"content": f"{THOUGHT}\n</think>\n\n"}) + event({"content": "Yes."}),
    "channels": event({"content": f"<|channel|>analysis<|message|>{THOUGHT}<|end|><|start|>assistant"})
    + event({"content": "<|channel|>final<|message|>Yes."}),
}
"""How servers send a thought, with and without a parser of the engine."""


@pytest.mark.parametrize("stream", STREAMS)
def test_ten_turns_keep_no_thought_in_their_requests(
    fake: FakeOpenAI, stream: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.body = ROLE + STREAMS[stream] + STOP + DONE
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"Question {number}?\n" for number in range(10))))
    run_chat(at(fake.url), json_output=True, journey=journey)
    replies = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {(reply["thought"], reply["answer"]) for reply in replies} == {(THOUGHT, "Yes.")}
    sent = [request["messages"] for request in fake.asked]
    assert [len(messages) for messages in sent] == [*range(1, 20, 2)]
    assert {message["content"] for message in sent[-1] if message["role"] == "assistant"} == {"Yes."}
    assert not [messages for messages in sent if "SECRET" in json.dumps(messages) or "think" in json.dumps(messages)]


@pytest.mark.parametrize(("counted", "tokens", "pieces"), [(2, 2, None), (0, None, 2), (None, None, 2)])
async def test_the_tokens_of_a_thought_if_the_server_counts_them(
    fake: FakeOpenAI, counted: int | None, tokens: int | None, pieces: int | None
) -> None:
    """OpenAI's API reference: usage.completion_tokens_details.reasoning_tokens; some servers always send 0."""
    details = {} if counted is None else {"completion_tokens_details": {"reasoning_tokens": counted}}
    usage = b"data: " + json.dumps({"choices": [], "usage": {"completion_tokens": 5, **details}}).encode() + b"\n\n"
    fake.body = ROLE + event({"reasoning": "Let "}) + event({"reasoning": "me."}) + SAID + STOP + usage + DONE
    stats = (await read(at(fake.url)))[-1].stats
    assert stats is not None
    assert (stats.tokens, stats.thought_tokens, stats.thought_pieces) == (5, tokens, pieces)


async def test_an_answer_without_a_thought_has_no_tokens_of_one(fake: FakeOpenAI) -> None:
    stats = (await read(at(fake.url)))[-1].stats
    assert stats is not None
    assert (stats.thought_s, stats.thought_tokens, stats.thought_pieces) == (None, None, None)


@pytest.mark.parametrize(
    ("length", "words", "limit"),
    [
        (None, 1, 4096),  # it may think before it answers
        (32_768, 1, 4096),
        (4096, 300, 4096 - 316),  # vLLM refuses a request that exceeds the context with its answer
        (4096, 5000, 512),  # by the estimate there is no room: the server knows better
    ],
)
async def test_an_answer_has_room_for_a_thought_but_no_more_than_the_context_has(
    fake: FakeOpenAI, length: int | None, words: int, limit: int
) -> None:
    fake.length = length
    await read(at(fake.url), Conversation().with_message("user", "x  " * words))
    assert abs(fake.asked[0]["max_tokens"] - limit) <= 16
    talk = Conversation(sampling=Sampling(max_tokens=9_000)).with_message("user", "y")
    await read(at(fake.url), talk)
    assert fake.asked[1]["max_tokens"] <= (length or 9_000)


@pytest.mark.parametrize("opened", ["<think>\n", ""])
async def test_a_thought_in_the_text_of_an_unknown_model(fake: FakeOpenAI, opened: str) -> None:
    """Its server may have opened the thought in the prompt, which nobody sees."""
    words = [*filter(None, [opened]), "Let me see.", "\n</th", "ink>\n", "\nHi"]
    fake.body = ROLE + b"".join(event({"content": word}) for word in words) + STOP + DONE
    text = Text()
    for chunk in await read(at(fake.url)):
        text.add(chunk)
    assert (text.thought, text.answer) == ("Let me see.", "Hi")


@pytest.mark.parametrize(
    ("owner", "mode", "sent"),
    [
        ("", "off", {"chat_template_kwargs": {"enable_thinking": False, "thinking": False}}),
        ("", "on", {"chat_template_kwargs": {"enable_thinking": True, "thinking": True}}),
        ("", "low", {"reasoning_effort": "low"}),
        ("", "512", {"chat_template_kwargs": {"thinking_budget": 512}}),
        ("", None, {}),
        ("library", "off", {"reasoning_effort": "none"}),  # Ollama's: it does not render the model's own template
        ("organization_owner", "off", {"reasoning_effort": "none"}),
        ("library", "high", {"reasoning_effort": "high"}),
        ("llamacpp", "512", {"chat_template_kwargs": {"thinking_budget": 512}, "thinking_budget_tokens": 512}),
        ("vllm", "off", {"chat_template_kwargs": {"enable_thinking": False, "thinking": False}}),
    ],
)
async def test_thinking_is_switched_as_servers_take_it(
    fake: FakeOpenAI, owner: str, mode: str | None, sent: object
) -> None:
    fake.owner = owner
    await read(at(fake.url), replace(asked(), sampling=Sampling(thinking=mode)))
    keys = ("chat_template_kwargs", "reasoning_effort", "thinking_budget_tokens")
    assert {name: fake.asked[0][name] for name in keys if name in fake.asked[0]} == sent
