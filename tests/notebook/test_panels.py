"""The panels in a real kernel, driven by the messages that a front end sends. What they look like: docs/pictures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.notebook.kernel import Kernel
from tests.notebook.test_kernel import PREPARE

WITHOUT_WIDGETS = "import sys; kept = sys.modules.pop('ipywidgets', None); sys.modules['ipywidgets'] = None"
WITH_WIDGETS = "sys.modules['ipywidgets'] = kept"
WIDGET = "application/vnd.jupyter.widget-view+json"


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("panels")


@pytest.fixture(scope="module")
def kernel(notes: Path) -> Iterator[Kernel]:
    """One for all: starting one takes seconds."""
    started = Kernel.start()
    try:
        assert started.shows(PREPARE.format(notes=str(notes / "notes"), workspace=str(notes / "ws"))) == []
        yield started
    finally:
        started.end()


def panel(kernel: Kernel, call: str) -> dict[str, str]:
    """What a cell shows that ends with a panel, by type; the panel is called ``p``."""
    messages = [(message["msg_type"], message["content"]) for message in kernel.messages(f"p = {call}\np")]
    assert [content for kind, content in messages if kind in ("error", "stream")] == []
    ((_, content),) = [each for each in messages if each[0] == "execute_result"]
    return dict(content["data"])


def test_options_are_advised_again(kernel: Kernel) -> None:
    shown = panel(kernel, "journey.what_if()")
    assert WIDGET in shown
    assert "Recommended: llama.cpp" in shown["text/html"], "for a front end without widgets"
    assert "Use journey.advise(users=8) instead." in shown["text/plain"]
    users = kernel.value("p._options['users'].model_id")
    kernel.change(users, index=7)
    assert "So many do not fit." in kernel.until("No supported configuration")
    kernel.change(users, index=4)
    assert "16 users at a time" in kernel.until("Recommended")
    assert kernel.value("journey.plan().choice.max_batch_size") == "16", "the plan is for what was chosen"


def test_a_chat_streams_stops_and_begins_again(kernel: Kernel, notes: Path) -> None:
    assert WIDGET in panel(kernel, "journey.chat_box()")
    names = {name: kernel.value(f"p._{name}.model_id") for name in ("question", "send", "stop", "new")}
    kernel.change(names["question"], value="<b>on</b>")
    kernel.click(names["question"], "submit")
    assert "You asked: &lt;b&gt;on&lt;/b&gt;" in kernel.until("12 tokens")
    kernel.change(names["question"], value="on and on")
    kernel.click(names["send"])
    kernel.until("<b>on and on</b><div><div")
    kernel.click(names["stop"])
    shown = kernel.until("stopped")
    assert "12 tokens" in shown, "the first answer stays"
    assert (notes / "notes" / "chat-stopped").exists()
    assert kernel.value("[m.content for m in journey.conversation.messages][2:]") == "['on and on', 'You asked: ']"
    kernel.click(names["new"])
    assert kernel.value("len(journey.conversation.messages)") == "0"


def test_an_empty_question_is_not_sent(kernel: Kernel) -> None:
    panel(kernel, "journey.chat_box()")
    kernel.click(kernel.value("p._send.model_id"))
    assert kernel.value("p._send.disabled") == "False"


def test_an_error_of_the_server_is_in_the_chat(kernel: Kernel) -> None:
    panel(kernel, "journey.chat_box()")
    kernel.value("setattr(fake, 'chats', 'fail')")
    kernel.change(kernel.value("p._question.model_id"), value="Why?")
    kernel.click(kernel.value("p._send.model_id"))
    assert "<b>TW-C03</b> the server went away<br>→ Look at its log." in kernel.until("TW-C03")
    kernel.value("setattr(fake, 'chats', 'answer')")


def test_a_build_leaves_the_notebook_free_and_stops(kernel: Kernel, notes: Path) -> None:
    kernel.value("setattr(fake, 'runs', 'hang')")
    assert "[2/2]" in panel(kernel, "journey.build()")["text/html"] or kernel.until("[2/2]")
    assert kernel.value("1 + 1") == "2"
    kernel.click(kernel.value("p._stop.model_id"))
    assert "[2/2] Create the model repository</td><td" in kernel.until("stopped")
    assert (notes / "notes" / "run-stopped").exists()
    kernel.value("setattr(fake, 'runs', 'ready')")
    kernel.click(kernel.value("p._continue.model_id"))
    assert "127.0.0.1:8000" in kernel.until("127.0.0.1:8000")
    assert kernel.value("(p._stop.disabled, p._continue.disabled)") == "(True, False)"


def test_a_build_that_fails_shows_its_error(kernel: Kernel) -> None:
    kernel.value("setattr(fake, 'runs', 'fail')")
    panel(kernel, "journey.build()")
    assert "Fix the cause." in kernel.value("p._shown.value") or kernel.until("Fix the cause.")
    kernel.value("setattr(fake, 'runs', 'ready')")


def test_benchmarks_side_by_side(kernel: Kernel) -> None:
    assert "No benchmark yet" in kernel.value("str(journey.benchmarks())")
    kernel.shows("for name in 'ab': journey.bench(folder=journey.workspace.bench / name)")
    shown = panel(kernel, "journey.benchmarks()")
    assert WIDGET in shown
    assert "4 at once" in shown["text/html"]
    choices = "[side.children[0] for side in p._box.children]"
    assert kernel.value(f"[choice.index for choice in {choices}]") == "[0, 0]"
    assert kernel.value("p._box.children[1].children[1].value") == ""
    kernel.value(f"setattr({choices}[1], 'index', 2)")
    assert "4 at once" in kernel.value("p._box.children[1].children[1].value")
    kernel.shows(WITHOUT_WIDGETS)
    assert "4 at once" in kernel.shows("journey.benchmarks()")[0][1]
    kernel.shows(WITH_WIDGETS)


def test_benchmarks_of_every_kind_are_shown(kernel: Kernel) -> None:
    kernel.shows("journey.compare('other', folder=journey.workspace.bench / 'compared')")
    assert "Comparison of demo, other" in panel(kernel, "journey.benchmarks()")["text/html"]
    kernel.shows("journey.quality(folder=journey.workspace.bench / 'quality')")
    assert "Quality of demo" in panel(kernel, "journey.benchmarks()")["text/html"]


def test_a_vote_by_buttons(kernel: Kernel) -> None:
    kernel.shows("out = journey.workspace.root / 'votes'")
    ((_, progress),) = kernel.shows("p = journey.vote('other', count=3, folder=out)")
    assert "Answers of both servers</td>" in progress
    ((_, content),) = [
        (each["msg_type"], each["content"]) for each in kernel.messages("p") if "data" in each["content"]
    ]
    result = content["data"]
    assert WIDGET in result
    assert "Prompt 2 of 3:" in result["text/html"], "a pair of equal answers is a tie"
    assert "Use ballot.choose(1) instead." in result["text/plain"]
    buttons = [kernel.value(f"p._buttons[{answer}].model_id") for answer in range(3)]
    kernel.click(buttons[1])
    assert "Prompt 3 of 3:" in kernel.until("Prompt 3 of 3:")
    kernel.click(buttons[0])
    assert "2 ties" in kernel.until("Votes")
    assert kernel.value("[button.disabled for button in p._buttons]") == "[True, True, True]"
    assert kernel.value("sum(vote.choice == -1 for vote in p.report.votes)") == "2"


def test_without_ipywidgets_there_is_plain_output(kernel: Kernel) -> None:
    kernel.shows(WITHOUT_WIDGETS)
    try:
        ((_, html),) = kernel.shows("journey.what_if()")
        assert html.startswith("<div>")
        assert "Recommended" in html
        ((_, html),) = kernel.shows("journey.chat_box()")
        assert "There are no widgets here. Use journey.chat" in html
        assert "triton-wizard[notebook]" in html
        ((_, html), _) = kernel.shows("journey.build()")
        assert re.search(r"127\.0\.0\.1:\d+", html)
    finally:
        kernel.shows(WITH_WIDGETS)
