from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wizard.chat.conversation import Conversation, Message, Sampling, Stats, Version
from wizard.kernel.errors import UsageError
from wizard.kernel.values import from_json, to_json


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(temperature=-0.1),
        Sampling(temperature=math.nan),
        Sampling(temperature=math.inf),
        Sampling(top_p=0),
        Sampling(top_p=1.5),
        Sampling(top_p=math.nan),
        Sampling(max_tokens=0),
        Sampling(max_tokens=2**31),
        Sampling(seed=-1),
        Sampling(seed=2**64),
        Sampling(top_k=-1),
        Sampling(min_p=1.1),
        Sampling(repetition_penalty=0),
        Sampling(presence_penalty=2.1),
        Sampling(frequency_penalty=math.nan),
        Sampling(logprobs=21),
    ],
)
def test_values_out_of_range_are_refused(sampling: Sampling) -> None:
    with pytest.raises(UsageError) as caught:
        sampling.check()
    assert caught.value.code == "TW-C08"


def test_values_at_the_edges_are_taken() -> None:
    Sampling(temperature=0, top_p=1, max_tokens=1, seed=2**64 - 1).check()
    Sampling().check()


@given(st.lists(st.tuples(st.sampled_from(["system", "user", "assistant"]), st.text()), max_size=5))
def test_json_and_back(messages: list[tuple[str, str]]) -> None:
    talk = Conversation(tuple(Message(role, text) for role, text in messages), Sampling(seed=3))  # type: ignore[arg-type]
    assert from_json(Conversation, to_json(talk), where="here") == talk


def test_markdown_for_people() -> None:
    talk = Conversation().with_message("user", "What is Triton?").with_message("assistant", "A server.\n")
    assert talk.to_markdown() == "## User\n\nWhat is Triton?\n\n## Assistant\n\nA server.\n"


def test_the_oldest_turn_goes_and_the_system_prompt_stays() -> None:
    talk = (
        Conversation()
        .with_message("system", "s")
        .with_message("user", "1")
        .with_message("assistant", "a")
        .with_message("user", "2")
    )
    shorter = talk.without_oldest_turn()
    assert shorter is not None
    assert [each.content for each in shorter.messages] == ["s", "2"]
    assert shorter.without_oldest_turn() is None


@given(st.booleans(), st.integers(0, 6))
def test_turns_run_out(system: bool, turns: int) -> None:
    talk = Conversation().with_message("system", "s") if system else Conversation()
    for index in range(turns):
        talk = talk.with_message("user", str(index)).with_message("assistant", "a")
    talk = talk.with_message("user", "last")
    seen = 0
    shorter: Conversation | None = talk
    while shorter is not None:
        last, seen = shorter, seen + 1
        assert shorter.messages[-1].content == "last"
        shorter = shorter.without_oldest_turn()
    assert seen == turns + 1
    assert [each.content for each in last.messages] == (["s"] if system else []) + ["last"]


@pytest.mark.parametrize(
    ("stats", "rate"),
    [
        (Stats(11, 1.0, 2.0, "stop"), 10.0),
        (Stats(1, 1.0, 2.0, "stop"), None),
        (Stats(0, None, 2.0, "gate"), None),
        (Stats(5, 2.0, 2.0, "stop"), 2.5),
        (Stats(40, 0.05, 0.0625, "stop"), 640.0),
        (Stats(None, 1.0, 2.0, "end"), None),
    ],
)
def test_the_rate_is_of_the_tokens_after_the_first(stats: Stats, rate: float | None) -> None:
    assert stats.tokens_per_s == rate


TURN = (
    Conversation()
    .with_message("user", "Why?")
    .with_message("assistant", "Because.", stats=Stats(2, 0.1, 0.2, "stop"), at=1.0)
)


def test_regenerating_keeps_the_earlier_answers() -> None:
    second = TURN.asked_again().with_message("assistant", "So.", at=2.0)
    third = second.asked_again("What for?").with_message("assistant", "For fun.", at=3.0)
    versions, now = third.versions()
    assert [(version.question, version.answer) for version in versions] == [
        ("Why?", "Because."),
        ("Why?", "So."),
        ("What for?", "For fun."),
    ]
    assert now == 2
    assert versions[0].stats == TURN.messages[-1].stats
    assert len(third.messages) == 2


def test_any_version_can_be_continued_and_none_is_lost() -> None:
    talk = TURN.asked_again().with_message("assistant", "So.", at=2.0)
    for index, answer in ((0, "Because."), (1, "So."), (0, "Because.")):
        talk = talk.chosen(index)
        versions, now = talk.versions()
        assert (talk.messages[-1].content, now, len(versions)) == (answer, index, 2)
    assert talk.messages[-1] == TURN.messages[-1]
    for index in (-1, 2):
        with pytest.raises(UsageError) as caught:
            talk.chosen(index)
        assert caught.value.code == "TW-C18"


def test_an_answer_that_never_came_brings_the_earlier_one_back() -> None:
    talk = TURN.asked_again("Edited?")
    assert talk.messages[-1].content == "Edited?"
    assert talk.versions()[1] == 1
    assert talk.without_open_question() == TURN
    assert TURN.with_message("user", "More?").without_open_question() == TURN
    first = Conversation().with_message("user", "Why?")
    assert first.asked_again("How?").messages[-1].content == "How?"
    assert first.asked_again("How?").versions() == ((Version("How?", ""),), 0)


def test_nothing_was_asked_yet() -> None:
    for refused in (Conversation().asked_again, Conversation().versions, lambda: Conversation().chosen(0)):
        with pytest.raises(UsageError) as caught:
            refused()
        assert caught.value.code == "TW-C18"


@pytest.mark.parametrize(
    ("question", "title"),
    [("Why?", "Why?"), ("  two\nlines\x1b[31m ", "two lines"), ("x" * 100, "x" * 59 + "…"), ("\n", "")],
)
def test_the_first_question_is_the_title(question: str, title: str) -> None:
    assert Conversation().with_system("S").with_message("user", question).with_message("user", "other").title == title


def test_the_system_prompt_is_set_replaced_and_removed() -> None:
    talk = TURN.with_system("One.").with_system("Two.")
    assert (talk.system, len(talk.messages)) == ("Two.", 3)
    assert talk.with_system("") == TURN
    assert TURN.system == ""


def test_thoughts_are_kept_apart_and_not_sent() -> None:
    talk = Conversation().with_message("user", "A?").with_message("assistant", "a", thought="Hm.")
    talk = talk.with_message("user", "B?").with_message("assistant", "", thought="On and on")
    talk = talk.with_message("user", "C?")
    sent = talk.to_send()
    assert [(each.role, each.content, each.thought) for each in sent.messages] == [
        ("user", "A?", ""),
        ("assistant", "a", ""),
        ("user", "C?", ""),
    ]
    assert "<summary>Thinking</summary>\n\nHm.\n\n</details>\n\na\n" in talk.to_markdown()
    assert from_json(Conversation, to_json(talk), where="here") == talk


def test_versions_have_their_thoughts() -> None:
    talk = Conversation().with_message("user", "A?").with_message("assistant", "a", thought="Hm.", at=1.0)
    talk = talk.asked_again().with_message("assistant", "", thought="On and on", at=2.0)
    versions, now = talk.versions()
    assert [(each.answer, each.thought) for each in versions] == [("a", "Hm."), ("", "On and on")]
    assert now == 1
    first = talk.chosen(0)
    assert (first.messages[-1].content, first.messages[-1].thought) == ("a", "Hm.")
    assert first.chosen(1).messages[-1] == talk.messages[-1]


@pytest.mark.parametrize("mode", ["off", "on", "minimal", "low", "medium", "high", "max", "0", "32768", None])
def test_modes_of_thinking(mode: str | None) -> None:
    Sampling(thinking=mode).check()


@pytest.mark.parametrize("mode", ["", "no", "OFF", "-1", "1.5", "٣", "99999999"])
def test_no_modes_of_thinking(mode: str) -> None:
    with pytest.raises(UsageError) as caught:
        Sampling(thinking=mode).check()
    assert caught.value.code == "TW-C08"
