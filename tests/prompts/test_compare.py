"""A second model that is asked the same, one after the other."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from tests.prompts.fake_journey import ENDPOINT, FakeJourney
from tests.prompts.terminal import CTRL_C, CTRL_D, Terminal
from wizard.chat.commands.models import compare, save_comparison
from wizard.chat.conversation import Conversation
from wizard.chat.history import History
from wizard.chat.race import Lane
from wizard.flow.session import begin
from wizard.kernel.errors import UsageError, WizardError
from wizard.prompts.chat import run_chat
from wizard.prompts.compare import compared


@pytest.fixture
def journey(tmp_path: Path) -> FakeJourney:
    return FakeJourney(tmp_path / "notes")


def piped(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines)))


def asked(journey: FakeJourney) -> list[list[str]]:
    return [[message.content for message in conversation.messages] for conversation in journey.asked]


def test_both_answer_the_same_questions_each_in_a_conversation_of_its_own(
    journey: FakeJourney, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    piped(monkeypatch, "before", "/compare other", "both", "/compare", "after")
    assert run_chat(ENDPOINT, journey=journey) == 0
    first, second = ["before", "You asked: before", "both"], ["both"]
    assert asked(journey) == [["before"], first, second, [*first, "You asked: both", "after"]]
    out, err = capsys.readouterr()
    assert out.splitlines() == [f"You asked: {word}" for word in ("before", "both", "both", "after")]
    lines = err.splitlines()
    assert lines.index("demo:") < lines.index("other:") < lines.index("demo: 100 ms in total · other: 100 ms in total")
    assert "Both models get the same questions from now on." in err
    assert lines[-2:] == ["Only demo answers from now on.", "220.0 tokens/s · TTFT 50 ms · 12 tokens"]


def test_both_answer_with_the_same_settings_and_again(journey: FakeJourney, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ("/compare other", "/set seed 5", "/system Be brief.", "one", "/again", "/edit two", "/new", "three")
    piped(monkeypatch, *lines)
    assert run_chat(ENDPOINT, journey=journey) == 0
    both = ["one", "one", "two", "three"]
    assert asked(journey) == [["Be brief.", question] for question in both for _model in range(2)]
    assert {conversation.sampling.seed for conversation in journey.asked} == {5}


def test_an_object_for_each_answer(
    journey: FakeJourney, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    piped(monkeypatch, "/compare other", "both")
    run_chat(ENDPOINT, json_output=True, journey=journey)
    *answers, result = map(json.loads, capsys.readouterr().out.splitlines())
    assert [answer["model"] for answer in answers] == ["demo", "other"]
    assert [lane["model"] for lane in result["lanes"]] == ["demo", "other"]
    assert [lane["tokens"] for lane in result["lanes"]] == [answer["tokens"] for answer in answers] == [12, 12]


def test_each_is_kept_until_nothing_is(tmp_path: Path, journey: FakeJourney, monkeypatch: pytest.MonkeyPatch) -> None:
    history = History(tmp_path / "chats.sqlite3")
    piped(monkeypatch, "/compare other", "kept", "/private", "secret")
    run_chat(ENDPOINT, history=history, journey=journey)
    assert sorted((entry.model, entry.title, entry.messages) for entry in history.entries()) == [
        ("demo", "kept", 2),
        ("other", "kept", 2),
    ]


@pytest.mark.parametrize(("line", "code"), [("/compare", "TW-U24"), ("/compare demo", "TW-U24")])
def test_there_must_be_another_one(journey: FakeJourney, monkeypatch: pytest.MonkeyPatch, line: str, code: str) -> None:
    piped(monkeypatch, line)
    with pytest.raises(UsageError) as raised:
        run_chat(ENDPOINT, Conversation(), journey=journey)
    assert raised.value.code == code


def test_stopping_the_first_answer_skips_the_second(tmp_path: Path) -> None:
    with Terminal("chat", str(tmp_path)) as terminal:
        terminal.sees("> ")
        terminal.types("/compare other\r")
        terminal.sees("Both models get the same questions")
        terminal.sees("> ")
        terminal.types("on and on\r")
        terminal.sees("demo:\r\nYou asked: ")
        terminal.types(CTRL_C)
        terminal.sees("stopped")
        terminal.sees("> ")
        assert "other:" not in str(terminal.child.before)
        assert "other was not queried." in str(terminal.child.before)
        terminal.types(CTRL_D)
        assert terminal.ends() == 0


@pytest.mark.parametrize(("command", "question"), [("/edit two", "two"), ("/edit two\r/again", "two")])
def test_a_question_that_the_second_was_not_asked_replaces_none_of_its_own(
    tmp_path: Path, command: str, question: str
) -> None:
    with Terminal("chat", str(tmp_path), "kept=yes") as terminal:
        terminal.sees("> ")
        terminal.types("/compare other\r")
        terminal.sees("Both models get the same questions")
        terminal.sees("> ")
        terminal.types("one\r")
        terminal.sees("total")
        terminal.sees("> ")
        terminal.types("on and on\r")
        terminal.sees("demo:\r\nYou asked: ")
        terminal.types(CTRL_C)
        for line in command.split("\r"):
            terminal.sees("> ")
            terminal.types(f"{line}\r")
            terminal.sees("total")
        terminal.sees("> ")
        terminal.types(CTRL_D)
        assert terminal.ends() == 0
    history = History(tmp_path / "chats.sqlite3")
    kept = {entry.model: history.load(entry.id).conversation for entry in history.entries()}
    for conversation in kept.values():
        contents = [message.content for message in conversation.messages]
        assert contents == ["one", "You asked: one", question, f"You asked: {question}"]
    assert len(kept["other"].versions()[0]) == command.count("\r") + 1


def test_the_result_is_saved_with_the_same_command_as_the_conversation(
    journey: FakeJourney, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = ("one", "/compare other", "two", "/save comparison a.json", "/save b.svg", "/save c.json")
    piped(monkeypatch, *lines)
    assert run_chat(ENDPOINT, journey=journey) == 0
    result = json.loads(Path("a.json").read_text())
    assert (result["prompt"], result["order"], result["earlier_messages"]) == ("two", "turns", [2, 0])
    assert [lane["name"] for lane in result["lanes"]] == ["demo", "other"]
    assert "demo vs. other" in Path("b.svg").read_text()
    assert json.loads(Path("c.json").read_text())["messages"], "the conversation"
    lines = capsys.readouterr().err.splitlines()[-10:]
    assert "They answered one after the other." in lines
    assert "Both wrote for less than 200 ms: too short to compare speeds." in lines


@pytest.mark.parametrize("line", ["/save comparison a.json", "/save a.svg"])
def test_there_is_nothing_to_save_before_a_comparison(
    journey: FakeJourney, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    piped(monkeypatch, "one", "/compare other", line)
    with pytest.raises(UsageError) as raised:
        run_chat(ENDPOINT, journey=journey)
    assert (raised.value.code, raised.value.what) == ("TW-U24", "there is no comparison yet")
    assert not list(Path().glob("a.*"))


def test_a_picture_has_a_name_that_says_so(journey: FakeJourney, monkeypatch: pytest.MonkeyPatch) -> None:
    piped(monkeypatch, "/compare other", "one", "/save comparison a.md")
    with pytest.raises(UsageError) as raised:
        run_chat(ENDPOINT, journey=journey)
    assert (raised.value.code, raised.value.what) == ("TW-U24", "the file name must end in .svg or .json")


def test_one_question_to_two_servers_without_a_command(
    journey: FakeJourney, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_chat(ENDPOINT, message="Why?", json_output=True, compare="other", journey=journey) == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 3
    assert json.loads(out.splitlines()[-1])["prompt"] == "Why?"
    assert err == ""


@pytest.mark.parametrize(("name", "code"), [("demo", "TW-U24"), ("nobody", "TW-S01"), ("", "TW-U24")])
def test_a_second_server_that_cannot_be_is_reported_before_the_first_is_asked(
    journey: FakeJourney, name: str, code: str
) -> None:
    with pytest.raises(WizardError) as raised:
        run_chat(ENDPOINT, message="Why?", compare=name, journey=journey)
    assert raised.value.code == code
    assert journey.asked == []


def test_a_failing_first_answer_is_a_comparison_that_says_so(
    journey: FakeJourney, monkeypatch: pytest.MonkeyPatch
) -> None:
    journey.chats = "fail"
    talk = begin(ENDPOINT, Conversation(), journey=journey, workspace=None, history=None, keeps=False)
    compare(talk, "other")
    assert talk.rival is not None

    def fails(*_args: object, lane: Lane, **_options: object) -> None:
        lane.start(0.0, Conversation().with_message("user", "Why?"))
        lane.end(1.0, None, "TW-C03")
        raise UsageError("TW-C03", "gone", "Look.")

    with pytest.raises(UsageError):
        compared(talk, talk.rival, "Why?", fails, again=False, json_output=True)
    save_comparison(talk, "a.json")
    lanes = json.loads(Path("a.json").read_text())["lanes"]
    assert [(lane["outcome"], lane["error"]) for lane in lanes] == [("failed", "TW-C03"), ("not_asked", "")]
