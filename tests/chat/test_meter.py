"""How much of the context a conversation takes."""

from __future__ import annotations

from pathlib import Path

from tests.chat.fake_repository import write_tokenizer
from wizard.chat.conversation import Conversation, Stats
from wizard.chat.meter import BYTES_PER_TOKEN, LONGEST_COUNTED, TURN_TOKENS, Meter, bytes_per_token, meter
from wizard.chat.served import ServedModel


def test_an_estimate_without_a_tokenizer() -> None:
    usage = Meter(1000).usage(Conversation().with_message("user", "x" * 300), "y" * 30)
    assert (usage.tokens, usage.counted) == (330 // BYTES_PER_TOKEN + 2 * TURN_TOKENS, False)
    assert usage.share == usage.tokens / 1000
    assert Meter().usage(Conversation()).share is None


def test_what_the_server_counted_makes_the_estimate_better() -> None:
    talk = (
        Conversation()
        .with_message("user", "x" * 600)
        .with_message("assistant", "y" * 600, stats=Stats(100, 0.1, 0.2, "stop"))
    )
    assert Meter().usage(talk).tokens == 100 + 100 + 2 * TURN_TOKENS  # six bytes a token here


def test_the_models_own_tokenizer_counts(tmp_path: Path) -> None:
    folder = write_tokenizer(tmp_path / "model")  # a token is a byte
    count = meter(ServedModel("m", None, (), 50, None, folder=str(folder)))
    usage = count.usage(Conversation().with_message("user", "é."), "ab")
    assert (usage.tokens, usage.context, usage.counted) == (5 + 2 * TURN_TOKENS, 50, True)


def test_a_folder_without_a_tokenizer_is_no_reason_to_fail(tmp_path: Path) -> None:
    assert not meter(ServedModel("m", None, (), 50, None, folder=str(tmp_path))).usage(Conversation(), "ab").counted


def test_a_message_is_counted_once_and_a_long_draft_not_at_all() -> None:
    asked: list[str] = []

    def encode(text: str) -> list[int]:
        asked.append(text)
        return [0] * len(text)

    count = Meter(None, encode)
    talk = Conversation().with_message("user", "Hello").with_message("assistant", "Hi")
    for draft in ("a", "ab"):
        assert count.usage(talk, draft).counted
    assert asked == ["Hello", "Hi", "a", "ab"]
    assert not count.usage(talk, "x" * (LONGEST_COUNTED + 1)).counted
    assert len(asked) == 4


def test_a_thought_does_not_count_because_it_is_not_sent_again() -> None:
    stats = Stats(300, 0.1, 4.0, "stop", 200, 3.0, 3.1)
    talk = Conversation().with_message("assistant", "a" * 500, stats=stats, thought="t" * 1000)
    assert Meter().usage(talk).tokens == 100 + TURN_TOKENS
    assert bytes_per_token(talk) == 5


def test_an_answer_with_a_thought_of_unknown_length_is_estimated_by_its_text() -> None:
    """Its tokens include the thought, which is not sent again."""
    stats = Stats(300, 0.1, 4.0, "stop", None, 3.0, 3.1, thought_pieces=200)
    talk = Conversation().with_message("assistant", "a" * 300, stats=stats, thought="t" * 1000)
    assert Meter().usage(talk).tokens == 300 // BYTES_PER_TOKEN + TURN_TOKENS
