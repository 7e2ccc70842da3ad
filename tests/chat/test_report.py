from __future__ import annotations

import time

import pytest

from wizard.chat.conversation import Message, Stats
from wizard.chat.report import about, figures, thought_line


@pytest.mark.parametrize(
    ("stats", "text"),
    [
        (Stats(12, 0.05, 0.1, "stop"), "220.0 tokens/s · TTFT 50 ms · 12 tokens"),
        (Stats(5, 12.3, 112.3, "length"), "0.0 tokens/s · TTFT 12 s · 5 tokens · cut off at max_tokens"),
        (Stats(1, 0.05, 0.05, "stop"), "TTFT 50 ms · 1 token"),
        (Stats(0, None, 0.1, "gate"), "0 tokens · the model was not confident, so it answered that it does not know"),
        (Stats(None, 0.05, 2.0, "end"), "TTFT 50 ms"),
        (Stats(None, None, 2.0, "end"), "2.0 s in total"),
        (None, "stopped"),
    ],
)
def test_what_was_measured_in_words(stats: Stats | None, text: str) -> None:
    assert figures(stats) == text


@pytest.mark.parametrize(
    ("stats", "answered", "line"),
    [
        (Stats(300, 0.1, 4.0, "stop", 214, 3.2, 3.4), True, "Thought for 3.2 s · 214 tokens"),
        (Stats(None, 0.1, 4.0, "stop", None, 0.25, 0.4), True, "Thought for 250 ms"),
        (Stats(9, 0.1, 4.0, "stop", None, 0.25, 0.4, thought_pieces=7), True, "Thought for 250 ms · ≈ 7 tokens"),
        (None, True, "Thinking"),
        (None, False, "Thinking · stopped before the answer"),
        (
            Stats(512, 0.1, 4.0, "length", 512, 3.9),
            False,
            "Thought for 3.9 s · 512 tokens · max_tokens reached before the answer: raise it, or turn thinking off",
        ),
        (Stats(9, 0.1, 4.0, "stop", 9, 3.9), False, "Thought for 3.9 s · 9 tokens · no answer"),
    ],
)
def test_the_line_of_a_thought(stats: Stats | None, answered: bool, line: str) -> None:
    assert thought_line(stats, answered=answered) == line


def test_the_answers_first_text_is_shown_where_it_differs() -> None:
    thought = Stats(300, 0.1, 4.0, "stop", 214, 3.2, 3.4)
    assert figures(thought) == "76.7 tokens/s · TTFT 100 ms · answer after 3.4 s · 300 tokens"
    assert "answer after" not in figures(Stats(300, 0.1, 4.0, "stop", answer_s=0.1))


def test_who_wrote_a_message_and_when(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Seoul")
    time.tzset()
    answer = Message("assistant", "Yes.", Stats(12, 0.05, 0.1, "stop"), at=1_000_000_000, model="qwen\x1b[3\n")
    assert about(answer) == "qwen[3 · 2001-09-09 10:46:40 · 220.0 tokens/s · TTFT 50 ms · 12 tokens"
    assert about(Message("user", "Why?")) == "You"
    assert about(Message("assistant", "Imported.")) == "Model"
    assert about(Message("system", "Be brief.")) == "System prompt"
    monkeypatch.undo()
    time.tzset()
