"""The chat of the plain prompts: one question, a pipe, a terminal."""

from __future__ import annotations

import io
import json
import os
import select
import signal
import subprocess
import sys
import termios
from dataclasses import replace
from pathlib import Path

import pytest

from tests.prompts.fake_journey import ENDPOINT, FakeJourney
from tests.prompts.terminal import CTRL_C, CTRL_D, Terminal, command, environment
from wizard.chat.ask import engine_restarting, model_ended
from wizard.chat.chunk import Chunk
from wizard.chat.conversation import Conversation, Sampling, Stats
from wizard.kernel.errors import ServerError, UsageError
from wizard.prompts import chat_care
from wizard.prompts.chat import run_chat
from wizard.prompts.question_input import forget_typed, read_question, unechoed
from wizard.serve.care import Care, News


@pytest.fixture
def journey(tmp_path: Path) -> FakeJourney:
    return FakeJourney(tmp_path / "notes")


def piped(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))


# -- one question ------------------------------------------------------------------------------------------------------


def test_one_question(journey: FakeJourney, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run_chat(ENDPOINT, Conversation().with_message("system", "Be brief."), message="Hello?", journey=journey) == 0
    )
    out, err = capsys.readouterr()
    assert out == "You asked: Hello?\n"
    assert err == "220.0 tokens/s · TTFT 50 ms · 12 tokens\n"
    (conversation,) = journey.asked
    assert [(message.role, message.content) for message in conversation.messages] == [
        ("system", "Be brief."),
        ("user", "Hello?"),
    ]


def test_settings_out_of_range_are_refused_before_anything_is_asked(journey: FakeJourney) -> None:
    with pytest.raises(UsageError) as raised:
        run_chat(ENDPOINT, Conversation(sampling=Sampling(temperature=-1)), journey=journey)
    assert raised.value.code == "TW-C08"
    assert not journey.asked


def test_one_question_as_json(journey: FakeJourney, capsys: pytest.CaptureFixture[str]) -> None:
    run_chat(ENDPOINT, message="Hello?", json_output=True, journey=journey)
    out, err = capsys.readouterr()
    assert err == ""
    assert json.loads(out) == {
        "question": "Hello?",
        "answer": "You asked: Hello?",
        "thought": "",
        "tokens": 12,
        "thought_tokens": None,
        "thought_pieces": None,
        "ttft_s": 0.05,
        "thought_s": None,
        "answer_s": None,
        "tokens_per_s": pytest.approx(220),
        "pieces": None,
        "pieces_per_s": None,
        "total_s": 0.1,
        "finish": "stop",
        "model": "demo",
    }


def test_what_a_model_says_cannot_move_the_cursor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    class Rude(FakeJourney):
        async def chat(self, endpoint, conversation, *, protocol="grpc"):  # type: ignore[no-untyped-def,override]
            for text in ("\x1b", "[31mred\x1b]0;title\x07", "\rgone\n"):
                yield Chunk(text)
            yield Chunk("", Stats(3, 0.1, 0.2, "stop"), note="a \x1b[2Jnote")

    run_chat(ENDPOINT, message="?", journey=Rude(tmp_path))
    out, err = capsys.readouterr()
    assert "\x1b" not in out + err
    assert "\r" not in out
    assert err.startswith("a note\n")


def test_an_error_in_the_middle_ends_the_line_and_is_raised(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ServerError, match="went away"):
        run_chat(ENDPOINT, message="?", journey=FakeJourney(tmp_path, chat="fail"))
    assert capsys.readouterr().out == "You asked: \n"


def test_ctrl_c_stops_the_only_answer_in_the_server(tmp_path: Path) -> None:
    with subprocess.Popen(
        command("chat", str(tmp_path), "message=on and on"),
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.read(11) == "You asked: "
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "TW-U22" in err
    assert (tmp_path / "notes" / "chat-stopped").exists()


# -- a pipe ------------------------------------------------------------------------------------------------------------


def test_a_pipe_is_one_question_a_line(
    journey: FakeJourney, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    piped(monkeypatch, "one\n\n  \n/set seed 5\ntwo\\\nlines\n/multi\na\nb\n.\nlast")
    assert run_chat(ENDPOINT, journey=journey) == 0
    assert [asked.messages[-1].content for asked in journey.asked] == ["one", "two\nlines", "a\nb", "last"]
    assert [asked.sampling.seed for asked in journey.asked] == [None, 5, 5, 5]
    assert len(journey.asked[-1].messages) == 7
    assert capsys.readouterr().out.startswith("You asked: one\nYou asked: two\nlines\n")


def test_all_of_a_pipe_can_be_one_question(
    journey: FakeJourney, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    piped(monkeypatch, "Say this shorter:\n\n/bye\n\tand tidy\n")
    assert run_chat(ENDPOINT, message="-", journey=journey) == 0
    (asked,) = journey.asked
    assert asked.messages[-1].content == "Say this shorter:\n\n/bye\n\tand tidy"
    assert capsys.readouterr().out.startswith("You asked: Say this shorter:\n\n/bye\n")


def test_a_pipe_with_json_is_an_object_a_line(
    journey: FakeJourney, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    piped(monkeypatch, "one\ntwo\n")
    run_chat(ENDPOINT, json_output=True, journey=journey)
    assert [json.loads(line)["question"] for line in capsys.readouterr().out.splitlines()] == ["one", "two"]


def test_a_pipe_ends_at_bye_and_at_the_first_error(journey: FakeJourney, monkeypatch: pytest.MonkeyPatch) -> None:
    piped(monkeypatch, "one\n/bye\ntwo\n")
    run_chat(ENDPOINT, journey=journey)
    piped(monkeypatch, "/nonsense\nthree\n")
    with pytest.raises(UsageError) as raised:
        run_chat(ENDPOINT, journey=journey)
    assert raised.value.code == "TW-U23"
    assert [asked.messages[-1].content for asked in journey.asked] == ["one"]


def test_a_pipe_continues_after_a_question_about_a_thought_that_there_is_not(
    journey: FakeJourney, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    piped(monkeypatch, "one\n/think\ntwo\n")
    run_chat(ENDPOINT, journey=journey)
    assert [asked.messages[-1].content for asked in journey.asked] == ["one", "two"]
    assert "No thought yet." in capsys.readouterr().err


def test_a_server_that_was_started_again_on_other_ports_is_found_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    journey = FakeJourney(tmp_path, chat="moved")
    piped(monkeypatch, "one\n/questions\n/compare demo\n")
    with pytest.raises(UsageError) as raised:
        run_chat(ENDPOINT, journey=journey)
    assert "demo already answers in this chat" in raised.value.what
    out, err = capsys.readouterr()
    assert out == "You asked: one\n"
    assert err.startswith("demo was restarted at a new address: http://127.0.0.1:9000.\n")
    assert err.count("was restarted") == 1
    assert [asked.messages[-1].content for asked in journey.asked] == ["one"]


KEPT = Care(1, "1")
RESTARTED = replace(KEPT, restarts=1, reason="its process 7 exited", at=7.0)


def test_a_kept_server_that_was_restarted_on_other_ports_is_asked_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    journey = FakeJourney(tmp_path, chat="moved")
    restarting = replace(RESTARTED, restarts=0, state="restarting")
    journey.keeps = [KEPT, restarting, restarting, RESTARTED]
    piped(monkeypatch, "one\n")
    assert run_chat(ENDPOINT, journey=journey) == 0
    out, err = capsys.readouterr()
    assert out == "You asked: one\n"
    assert err.splitlines()[:3] == [
        "demo is being restarted: its process 7 exited.",
        "demo was restarted: its process 7 exited.",
        "demo was restarted at a new address: http://127.0.0.1:9000.",
    ]


def test_a_restart_that_does_not_begin_is_waited_for_briefly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr(News, "await_begin", lambda _, seconds: waited.append(seconds))
    piped(monkeypatch, "one\n")
    with pytest.raises(ServerError, match="the server went away"):
        run_chat(ENDPOINT, journey=FakeJourney(tmp_path, chat="fail"))
    assert waited == [chat_care.BEGIN_S]
    assert chat_care.BEGIN_S < 10


def test_an_engine_that_its_proxy_restarts_is_not_waited_for() -> None:
    """Nothing would be noted of it: the server itself runs on (TW-C33)."""
    assert engine_restarting("demo").code not in chat_care.LOST
    assert model_ended("demo").code in chat_care.LOST


@pytest.mark.parametrize("typed", ["one", "/questions", "/context"])
def test_a_server_that_runs_no_more_is_started_by_the_command_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str
) -> None:
    piped(monkeypatch, typed)
    with pytest.raises(ServerError) as raised:
        run_chat(ENDPOINT, journey=FakeJourney(tmp_path, chat="down"))
    assert raised.value.code == "TW-S02"
    assert "`triton-wizard up demo`" in raised.value.todo


def test_a_server_at_a_url_that_answers_no_more_is_not_looked_for_in_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    piped(monkeypatch, "one")
    with pytest.raises(ServerError) as raised:
        run_chat(replace(ENDPOINT, url="http://elsewhere/v1"), journey=FakeJourney(tmp_path, chat="moved"))
    assert raised.value.code == "TW-C01"


@pytest.mark.parametrize("given", [(), ("message=-",)], ids=["lines", "whole"])
@pytest.mark.parametrize(("stdin", "code"), [("<&-", "TW-U20"), ("</dev/null", "TW-U21")], ids=["closed", "empty"])
def test_nothing_to_read_questions_from(tmp_path: Path, stdin: str, code: str, given: tuple[str, ...]) -> None:
    done = subprocess.run(
        ["sh", "-c", f'"$@" {stdin}', "sh", *command("chat", str(tmp_path), *given)],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert code in done.stderr
    assert "--message" in done.stderr


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    done = subprocess.run(
        command("chat", str(tmp_path)),
        env=environment(PYTHONUTF8="0", PYTHONIOENCODING="ascii"),
        input=b"caf\xc3\xa9 \xff?\n",
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(b"You asked: caf")


# -- a terminal --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
def test_a_talk_in_a_terminal(tmp_path: Path, term: str) -> None:
    saved = tmp_path / "chat.md"
    with Terminal("chat", str(tmp_path), TERM=term) as terminal:
        terminal.sees("/help lists the commands")
        for typed, seen in (
            ("Hello?", "You asked: Hello?"),
            ("first \\\rsecond", "You asked: first \r\nsecond"),
            ("/multi\ra\rb\r.", "You asked: a\r\nb"),
            ("/help", "/versions"),
            ("/regenerate", "You asked: a\r\nb"),
            ("/set temprature 0", "Did you mean temperature?"),
            ("/set temperature 9", "TW-U32"),
            ("/set temperature 0.2", "0.2"),
            ("/questions", "2  What is a KV cache?"),
            ("/questions 2", "You asked: What is a KV cache?"),
            ("/frobnicate", "TW-U23"),
            ("long", "cut off at max_tokens"),
            ("/versions", "(current): long"),
            (f"/save {saved}", "Saved to"),
            ("/clear", "New conversation started."),
        ):
            terminal.sees("> ")
            terminal.types(typed + "\r")
            terminal.sees(seen)
        terminal.types(CTRL_D)
        assert terminal.ends() == 0
    assert "What is a KV cache?" in saved.read_text()


def test_ctrl_c_at_the_prompt_clears_what_is_typed_and_the_second_ends(tmp_path: Path) -> None:
    with Terminal("chat", str(tmp_path)) as terminal:
        terminal.sees("> ")
        terminal.types("half a question")
        terminal.sees("half a question")
        terminal.types(CTRL_C)
        terminal.sees("Press Ctrl-C again, /bye or Ctrl-D to exit")
        terminal.sees("> ")
        terminal.types("Hello?\r")
        terminal.sees("You asked: Hello?\r\n")
        terminal.sees("> ")
        terminal.types(CTRL_C)
        terminal.sees("Press Ctrl-C again, /bye or Ctrl-D to exit")
        terminal.sees("> ")
        terminal.types(CTRL_C)
        assert terminal.ends() == 0


def test_ctrl_c_gives_up_a_question_that_was_to_be_changed(tmp_path: Path) -> None:
    with Terminal("chat", str(tmp_path)) as terminal:
        terminal.sees("> ")
        terminal.types("Hello?\r")
        terminal.sees("You asked: Hello?\r\n")
        terminal.sees("> ")
        terminal.types("/edit\r")
        terminal.sees("> Hello?")
        terminal.types(CTRL_C)
        terminal.sees("Ctrl-C again")
        terminal.sees("> ")
        terminal.types("/bye\r")
        assert terminal.ends() == 0
    assert "You asked" not in terminal.rest


def test_ctrl_c_stops_an_answer_and_then_the_chat(tmp_path: Path) -> None:
    with Terminal("chat", str(tmp_path)) as terminal:
        terminal.sees("> ")
        terminal.types("on and on\r")
        terminal.sees("You asked: ")
        terminal.types(CTRL_C)
        terminal.sees("stopped")
        assert (tmp_path / "notes" / "chat-stopped").exists()
        terminal.sees("> ")
        terminal.types("Still there?\r")
        terminal.sees("You asked: Still there?")
        terminal.sees("> ")
        terminal.types(CTRL_C)
        terminal.sees("Ctrl-C again")
        terminal.sees("> ")
        terminal.types(CTRL_C)
        assert terminal.ends() == 0


def test_an_error_does_not_end_a_talk(tmp_path: Path) -> None:
    with Terminal("chat", str(tmp_path), "chat=fail") as terminal:
        for _ in range(2):
            terminal.sees("> ")
            terminal.types("Hello?\r")
            terminal.sees("TW-C03: the server went away")
            terminal.sees("  What to do: ")
        terminal.sees("> ")
        terminal.types(CTRL_D)
        assert terminal.ends() == 0


# -- pieces ------------------------------------------------------------------------------------------------------------


def test_what_was_typed_while_nothing_was_asked_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = os.openpty()
    with os.fdopen(ours, "wb", buffering=0) as keys, os.fdopen(theirs) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        keys.write(b"impatient\n")
        select.select([stdin], [], [], 20)
        forget_typed()
        keys.write(b"meant\n")
        assert stdin.readline() == "meant\n"


def test_keys_between_two_questions_are_not_shown_by_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = os.openpty()
    with os.fdopen(ours, "rb", buffering=0), os.fdopen(theirs) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        before = termios.tcgetattr(stdin)
        assert before[3] & termios.ECHO
        with unechoed():
            assert not termios.tcgetattr(stdin)[3] & termios.ECHO
        assert termios.tcgetattr(stdin) == before


def test_ctrl_c_in_a_multi_line_question_gives_it_up() -> None:
    lines = iter(["begin \\"])

    def read(prompt: str, draft: str) -> str:
        try:
            return next(lines)
        except StopIteration:
            raise KeyboardInterrupt from None

    assert read_question(read) == ""


def test_a_question_without_an_answer_is_not_sent_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chat templates want user and assistant to alternate."""
    journey = FakeJourney(tmp_path, chat="fail")
    conversation = Conversation().with_message("user", "never answered")
    with pytest.raises(ServerError):
        run_chat(ENDPOINT, conversation, message="next", journey=journey)
    assert [message.content for message in journey.asked[0].messages] == ["next"]


# -- pasting -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("editor", ["with_readline=", "without_readline="])
def test_100_kilobytes_that_are_pasted_are_one_question(tmp_path: Path, editor: str) -> None:
    pasted = "\n".join(f"line {number:05} {'x' * 80}" for number in range(1100))
    assert len(pasted) > 100_000
    saved = tmp_path / "chat.json"
    with Terminal("chat", str(tmp_path), editor) as terminal:
        terminal.sees(">")  # prompt_toolkit moves the cursor instead of writing a blank
        terminal.pastes(pasted)
        terminal.types("\r")
        terminal.sees("TTFT")
        terminal.sees(">")
        terminal.types(f"/save {saved}\r")
        terminal.sees("Saved to")
        terminal.sees(">")
        terminal.types(CTRL_D)
        assert terminal.ends() == 0
    question, answer = json.loads(saved.read_text())["messages"]
    assert question["content"] == pasted
    assert answer["content"] == f"You asked: {pasted}"
