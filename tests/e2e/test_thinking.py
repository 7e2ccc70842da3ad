"""A thinking model behind the proxy in the real tritonserver: its thoughts are shown, kept, and not sent again."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import AsyncGenerator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.fake_engine import SIZE, THOUGHT
from tests.e2e.test_proxy import Served
from tests.server_environment import running_triton, write
from tests.tui.chatting import chatting, in_sight, lines
from tests.tui.fake_journey import FakeJourney
from tests.tui.walking import wait_for
from tests.values import CHOICE, GGUF
from wizard import journey
from wizard.chat.chunk import Chunk, Text
from wizard.chat.conversation import Conversation, Sampling, Stats
from wizard.chat.stream import answer
from wizard.model.chat_format import ChatFormat
from wizard.notebook.session import Journey
from wizard.prompts.chat import run_chat
from wizard.repository.proxy import Engine, repository
from wizard.serve.endpoint import Endpoint

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("proxy")]

HERE = Path(__file__).parent
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}"
)
"""As Qwen3's, but it keeps any thought that it gets."""
THINKS = "Let me think about it.\n\nSECRET: 42, I suppose."


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    scratch = tmp_path_factory.mktemp("thinker")
    log = scratch / "engine.log"
    made = repository(
        "demo",
        engine=Engine(HERE / "fake_engine.py", every_setting=False),
        python=sys.executable,
        settings={"log": str(log), "step_s": 0.002, "says": "thoughts"},
        env={"LD_LIBRARY_PATH": None},
        facts=replace(GGUF, chat=ChatFormat(TEMPLATE, stop=("<|im_end|>",))),
        choice=replace(CHOICE, max_seq_len=100_000),
    )
    with running_triton(write(made, scratch / "models"), scratch) as triton:
        yield Served(triton, log)


def prompts(served: Served) -> list[str]:
    return [message["ask"]["text"] for message in served.messages() if "ask" in message]


async def asked(served: Served, question: str, **sampling: Any) -> tuple[Text, Stats | None]:
    text, stats = Text(), None
    conversation = Conversation(sampling=Sampling(**sampling)).with_message("user", question)
    async for chunk in answer(served.endpoint, conversation):
        text.add(chunk)
        stats = chunk.stats or stats
    return text, stats


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_ten_turns_keep_no_thought_in_their_requests(
    served: Served, protocol: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = len(prompts(served))
    questions = [f"Question {number}?" for number in range(10)]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(questions)))
    run_chat(served.endpoint, json_output=True, protocol=protocol, journey=journey)
    replies = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [reply["answer"] for reply in replies] == [f"You asked: {question}" for question in questions]
    assert {reply["thought"] for reply in replies} == {THINKS}
    sent = prompts(served)[before:]
    assert len(sent) == 10
    assert "You asked: Question 0?" in sent[-1]
    assert "You asked: Question 8?" in sent[-1]
    assert not [prompt for prompt in sent if "SECRET" in prompt or "think>" in prompt]


async def test_its_measurements(served: Served) -> None:
    text, stats = await asked(served, "Why?")
    assert (text.thought, text.answer) == (THINKS, "You asked: Why?")
    assert stats is not None
    assert stats.tokens == -(-len(THOUGHT + "You asked: Why?") // SIZE)
    assert 0 < (stats.thought_tokens or 0) <= len(THOUGHT) // SIZE + 1  # pieces that arrive together count as one
    assert stats.ttft_s is not None
    assert stats.thought_s is not None
    assert stats.answer_s is not None
    assert 0 < stats.ttft_s < stats.ttft_s + stats.thought_s <= stats.answer_s < stats.total_s


async def test_it_is_switched_off_by_the_template(served: Served) -> None:
    text, stats = await asked(served, "Why?", thinking="off")
    assert (text.thought, text.answer) == ("", "You asked: Why?")
    assert prompts(served)[-1].endswith("<think>\n\n</think>\n\n")
    assert stats is not None
    assert (stats.thought_tokens, stats.thought_s) == (None, None)


async def test_a_mode_that_the_template_lacks_is_reported(served: Served) -> None:
    conversation = Conversation(sampling=Sampling(thinking="high")).with_message("user", "Why?")
    notes = [chunk.note async for chunk in answer(served.endpoint, conversation) if chunk.note]
    assert notes == ["This model does not support thinking high; the answer is generated without it."]


async def test_a_thought_that_takes_all_tokens_is_kept_and_its_turn_is_not_sent_again(served: Served) -> None:
    text, stats = await asked(served, "Think forever.", max_tokens=50)
    assert text.answer == ""
    assert text.thought.startswith("Wait, let me check that again. Wait")
    assert stats is not None
    assert (stats.finish, stats.thought_tokens, stats.answer_s) == ("length", 50, None)
    conversation = Conversation().with_message("user", "Think forever.")
    conversation = conversation.with_message("assistant", "", stats=stats, thought=text.thought)
    async for _ in answer(served.endpoint, conversation.with_message("user", "And now?")):
        pass
    assert prompts(served)[-1] == "<|im_start|>user\nAnd now?<|im_end|>\n<|im_start|>assistant\n"


class ServedJourney(FakeJourney):
    """The wizard's journey in a screen test, except that its chat is the real one with a real server."""

    def __init__(self, served: Served) -> None:
        super().__init__()
        self.served_at = served.endpoint

    def chat(
        self, endpoint: Endpoint, conversation: Conversation, *, protocol: str = "grpc"
    ) -> AsyncGenerator[Chunk, None]:
        del endpoint
        return answer(self.served_at, conversation, protocol=protocol)


async def test_a_thought_is_folded_and_opened_with_one_key(served: Served) -> None:
    async with chatting(ServedJourney(served)) as (pilot, chat):
        transcript = chat.talks.first.transcript
        await pilot.press(*"Why?", "enter")
        await wait_for(pilot, lambda: chat.view.stats)
        answer_at = next(at for at, line in enumerate(lines(transcript)) if line == "You asked: Why?")
        (folded,) = [line for line in lines(transcript)[:answer_at] if line.startswith("▸ Thought for ")]
        assert folded.endswith(" tokens · F12")
        assert not [line for line in lines(transcript) if "SECRET" in line]
        await pilot.press("f12")
        await wait_for(pilot, lambda: "SECRET: 42, I suppose." in in_sight(transcript))
        await pilot.press("f12")
        await wait_for(pilot, lambda: "SECRET: 42, I suppose." not in in_sight(transcript))
        await pilot.press(*"And?", "enter")
        await wait_for(pilot, lambda: chat.view.stats and len(chat.view.texts("assistant")) == 2)
        titles = [line for line in lines(transcript) if line.startswith("▸ Thought for ")]
        assert [title.endswith("F12") for title in titles] == [False, True], "the key opens the last one"
        at = next(at for at, line in enumerate(lines(transcript)) if line.startswith("▸ Thought for "))
        await pilot.click(transcript, offset=(4, at - transcript.scroll_offset.y))
        await wait_for(pilot, lambda: "SECRET: 42, I suppose." in lines(transcript)[: at + 6])
        assert chat.view.texts("assistant") == ["You asked: Why?", "You asked: And?"]
        assert chat.view.conversation.messages[-1].thought == THINKS


async def test_escape_stops_a_model_that_never_stops_thinking(served: Served) -> None:
    async with chatting(ServedJourney(served)) as (pilot, chat):
        transcript = chat.talks.first.transcript
        chat.talks.first.change(replace(chat.view.conversation, sampling=Sampling(max_tokens=90_000)))
        await pilot.press(*"Think forever.", "enter")
        await wait_for(pilot, lambda: "▾ Thinking …" in in_sight(transcript))
        await wait_for(pilot, lambda: chat.view.tokens > 300)
        assert len(in_sight(transcript)) < 40
        assert sum(line.startswith("Wait, let me") or "check" in line for line in lines(transcript)) <= 7
        await pilot.press("escape")
        await wait_for(pilot, lambda: not chat.view.busy)
        number = [message["ask"]["id"] for message in served.messages() if "ask" in message][-1]
        await wait_for(pilot, lambda: {"cancel": number} in served.messages())
        assert "▸ Thinking · stopped before the answer · F12" in in_sight(transcript)
        kept = chat.view.conversation.messages[-1]
        assert (kept.role, kept.content) == ("assistant", "")
        assert kept.thought.startswith("Wait, let me check")
        await pilot.press(*"And?", "enter")
        await wait_for(pilot, lambda: "You asked: And?" in in_sight(transcript))
        assert "forever" not in prompts(served)[-1]


def test_a_notebook_folds_the_thought(served: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session = Journey("demo", workspace=tmp_path, journey=journey)
    with contextlib.ExitStack() as stack:
        stack.enter_context(pytest.MonkeyPatch.context()).setattr(session, "endpoint", lambda: served.endpoint)
        reply = session.chat("Why?")
        short = session.chat("Why?", thinking="off")
    assert (reply.text, reply.thought, short.thought) == ("You asked: Why?", THINKS, "")
    assert "SECRET" not in capsys.readouterr().out
    html = replace(reply, shown_in=None)._repr_html_()
    assert "<details><summary>Thought for " in html
    assert html.index("SECRET") < html.index("</details>") < html.index("You asked")
