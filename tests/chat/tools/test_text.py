"""Calls in words, and in saved conversations."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from tests.chat.fake_openai import asked
from wizard.chat.conversation import Conversation
from wizard.chat.history import History, Kept
from wizard.chat.saving import load, save
from wizard.chat.tools.called import Called, ended
from wizard.chat.tools.text import arguments, folded, name, whole

CALL = Called("c1", "time__now", "time", "now", '{"zone": "UTC", "n": 1}', "done", "\n12:00\nmore", 0, "Let me look.")
EVIL = "\x1b]0;title\x07\x1b[2J\u202ered"


def talk(*calls: Called) -> Conversation:
    return asked().with_message("assistant", "Noon.", calls=calls or (CALL,))


def test_a_call_on_a_line() -> None:
    assert folded(CALL) == '✓ time/now {"zone": "UTC", "n": 1} · 12:00 · 11 B'
    assert folded(replace(CALL, arguments="{}", result="")) == "✓ time/now · no text · 0 B"
    assert folded(replace(CALL, arguments="", outcome="denied")) == "■ time/now · denied"
    assert folded(replace(CALL, arguments="", outcome="failed", result="no")) == "✗ time/now · failed · no · 2 B"
    assert folded(replace(CALL, arguments="", outcome="running")) == "◌ time/now · running …"


def test_everything_is_sanitized() -> None:
    evil = Called("c", EVIL, EVIL, f"{EVIL}\nx", json.dumps({"a": EVIL}), "done", EVIL)
    raw = replace(evil, arguments=f"{EVIL} no JSON")
    for call in (evil, raw):
        for text in (folded(call), name(call), arguments(call), whole(call), talk(call).to_markdown()):
            assert not {"\x1b", "\x07", "\u202e"} & {*text}
            assert "red" in text
        assert "\n" not in folded(call) + name(call)


def test_arguments_are_readable() -> None:
    assert arguments(CALL) == '{\n  "zone": "UTC",\n  "n": 1\n}'
    assert arguments(replace(CALL, arguments='{"a": "x\\ny"}')) == '{\n  "a": "x\\ny"\n}'
    long = arguments(replace(CALL, arguments=json.dumps({"a": "b" * 50_000, "end": True})))
    assert len(long) < 20_100
    assert '"end": true' in long
    assert "more characters" in long


def test_markdown_folds_calls_and_cannot_be_broken_out_of() -> None:
    text = talk(replace(CALL, result="```\n</details>\n````")).to_markdown()
    assert '<summary>✓ time/now {"zone": "UTC", "n": 1} · &lt;/details&gt; · 19 B</summary>' in text
    assert "Let me look.\n\n<details>" in text
    assert "`````\n```\n</details>\n````\n`````" in text
    assert text.endswith("</details>\n\nNoon.\n")
    assert "<summary>✓ a&lt;b" in talk(replace(CALL, server="", tool="a<b")).to_markdown()


def test_calls_are_saved_and_exported(tmp_path: Path) -> None:
    save(tmp_path / "chat.json", "m", talk())
    assert load(tmp_path / "chat.json").conversation.messages[-1].calls == (CALL,)
    history = History(tmp_path / "chats.sqlite3")
    kept = history.save(Kept(talk()))
    assert kept.id is not None
    assert history.load(kept.id).conversation.messages[-1].calls == (CALL,)


def test_calls_belong_to_a_version() -> None:
    again = talk().asked_again().with_message("assistant", "Midnight.")
    (first, second), now = again.versions()
    assert (first.calls, second.calls, now) == ((CALL,), (), 1)
    assert again.chosen(0).messages[-1].calls == (CALL,)


def test_calls_without_a_result_were_stopped() -> None:
    running = replace(CALL, outcome="running", result="")
    assert [each.outcome for each in ended((CALL, running))] == ["done", "stopped"]
