"""``triton-wizard chat``: what is kept of a conversation, and how it is gone on with."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chat.fake_openai import FakeOpenAI, serving
from wizard.chat.conversation import Conversation
from wizard.chat.history import History, Kept
from wizard.cli import main
from wizard.kernel.paths import Workspace


@pytest.fixture
def fake() -> Iterator[FakeOpenAI]:
    with serving(FakeOpenAI()) as server:
        yield server


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History.of(Workspace.at(tmp_path / "ws"))


def chat(history: History, fake: FakeOpenAI, *flags: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["--workspace", str(history.path.parent.parent), "chat", "--url", fake.url, *flags])
    return int(ended.value.code or 0)


def test_one_question_of_a_script_is_not_kept(history: History, fake: FakeOpenAI) -> None:
    assert chat(history, fake, "-m", "Hello?") == 0
    assert not history.path.exists()


def test_the_last_conversation_is_resumed_and_saved(history: History, fake: FakeOpenAI) -> None:
    history.save(
        Kept(Conversation().with_system("Be kind.").with_message("user", "First?").with_message("assistant", "Yes."))
    )
    assert chat(history, fake, "--continue", "-m", "And then?", "--temperature", "0.5") == 0
    assert [each["content"] for each in fake.asked[0]["messages"]] == ["Be kind.", "First?", "Yes.", "And then?"]
    assert fake.asked[0]["temperature"] == 0.5
    kept = history.load(1)
    assert kept.conversation.messages[-1].content == "Hi 😀é."
    assert kept.conversation.messages[-1].stats is not None
    assert kept.conversation.messages[-1].at > 0
    assert kept.title == "First?"
    assert kept.model == "m"


def test_in_private_nothing_is_added(history: History, fake: FakeOpenAI) -> None:
    saved = history.save(Kept(Conversation().with_message("user", "First?").with_message("assistant", "Yes.")))
    assert chat(history, fake, "--continue", "--private", "-m", "And then?") == 0
    assert history.load(1) == saved
    assert len(history.entries()) == 1


def test_the_settings_forbid_it(
    history: History, fake: FakeOpenAI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    settings = tmp_path / "triton-wizard" / "settings.toml"
    settings.parent.mkdir()
    saved = history.save(Kept(Conversation().with_message("user", "First?").with_message("assistant", "Yes.")))
    for text in ("keep_chats = false\n", "damaged"):
        settings.write_text(text)
        assert chat(history, fake, "--continue", "-m", "And then?") == 0
        assert history.load(1) == saved


def test_a_preset_and_flags_that_go_before_it(history: History, fake: FakeOpenAI) -> None:
    assert chat(history, fake, "--preset", "precise", "--max-tokens", "7", "-m", "Hello?") == 0
    (asked,) = fake.asked
    assert asked["messages"][0]["role"] == "system"
    assert (asked["temperature"], asked["max_tokens"]) == (0.0, 7)


def test_every_setting_can_be_given(history: History, fake: FakeOpenAI) -> None:
    assert chat(history, fake, "--set", "top_k=4", "--set", r"stop=END|a\nb", "--set", "top_p=", "-m", "Hello?") == 0
    (asked,) = fake.asked
    assert (asked["top_k"], asked["stop"], asked["top_p"]) == (4, ["END", "a\nb"], 0.95)


@pytest.mark.parametrize(
    ("flags", "status", "code"),
    [
        (["--continue"], 2, "TW-C19"),
        (["--set", "topk=4"], 2, "TW-U24"),
        (["--set", "top_k=x"], 2, "TW-U31"),
        (["--preset", "nonsense"], 2, "TW-D10"),
    ],
)
def test_what_is_not_there(
    history: History, fake: FakeOpenAI, flags: list[str], status: int, code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert chat(history, fake, *flags, "-m", "Hello?") == status
    assert code in capsys.readouterr().err


def test_a_history_that_cannot_be_written_does_not_cost_the_answer(
    history: History, fake: FakeOpenAI, capsys: pytest.CaptureFixture[str]
) -> None:
    history.save(Kept(Conversation().with_message("user", "First?").with_message("assistant", "Yes.")))
    with sqlite3.connect(history.path) as store:
        store.execute("CREATE TRIGGER full BEFORE UPDATE ON chat BEGIN SELECT RAISE(ABORT, 'disk full'); END")
    assert chat(history, fake, "--continue", "-m", "And then?") == 0
    out, err = capsys.readouterr()
    assert out == "Hi 😀é.\n"
    assert "disk full" in err
