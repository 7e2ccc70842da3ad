"""The notebook interface in a real Jupyter kernel, over the fake journey."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.manager import KernelManager, start_new_kernel

from tests.prompts.terminal import CHECKOUT

PREPARE = """
from pathlib import Path
from tests.prompts.fake_journey import FakeJourney
from wizard import Journey
fake = FakeJourney(Path({notes!r}), running="demo")
journey = Journey("demo", workspace={workspace!r}, journey=fake)
"""


class Kernel:
    """A kernel and what its cells show."""

    def __init__(self, manager: KernelManager, client: BlockingKernelClient) -> None:
        self.manager = manager
        self.client = client

    def messages(self, code: str) -> Iterator[dict[str, Any]]:
        """What a cell sends to the front end, until it is done."""
        ident = self.client.execute(code)
        while True:
            message = self.client.get_iopub_msg(timeout=60)
            if message["parent_header"].get("msg_id") != ident:
                continue
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                return
            yield message

    def shows(self, code: str) -> list[tuple[str, str]]:
        """Type and HTML (or text) of what a cell shows; what is updated stands where it was shown first."""
        shown: dict[str, tuple[str, str]] = {}
        for number, message in enumerate(self.messages(code)):
            kind, content = message["msg_type"], message["content"]
            key = content.get("transient", {}).get("display_id", str(number))
            if kind in ("display_data", "update_display_data", "execute_result"):
                shown[key] = ("display" if "display" in kind else "result", content["data"].get("text/html", ""))
            elif kind == "stream":
                shown[key] = (content["name"], content["text"])
            elif kind == "error":
                shown[key] = ("error", "\n".join(content["traceback"]))
        return list(shown.values())


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    manager, client = start_new_kernel(env={**os.environ, "PYTHONPATH": str(CHECKOUT)}, startup_timeout=120)
    started = Kernel(manager, client)
    try:
        assert started.shows(PREPARE.format(notes=str(tmp_path / "notes"), workspace=str(tmp_path / "ws"))) == []
        yield started
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def test_what_cells_show(kernel: Kernel) -> None:
    """In one kernel, because starting one takes seconds."""
    ((kind, html), (_, compared)) = kernel.shows("endpoint = journey.up()")
    assert kind == "display", "a run is one output that is updated"
    for part in ("[1/2] Create the server environment", "skipped: already done", "done in 0.1 s", "127.0.0.1:8000"):
        assert part in html
    assert "<progress" not in html, "nothing runs any more"
    assert "predicted" in compared
    assert "measured" in compared

    (streamed, result) = kernel.shows("journey.chat('<b>bold</b>')")
    assert streamed == ("display", streamed[1])
    assert "You asked: &lt;b&gt;bold&lt;/b&gt;" in streamed[1]
    assert result == ("result", result[1])
    assert "12 tokens" in result[1]
    assert "You asked" not in result[1], "the answer stands there already"
    ((_, later),) = kernel.shows("_")
    assert "You asked: &lt;b&gt;bold&lt;/b&gt;" in later
    assert "12 tokens" in later

    kernel.shows("%load_ext wizard.notebook")
    assert "You asked: What is Triton?" in kernel.shows("%%chat\nWhat is Triton?")[0][1]

    ((kind, text),) = kernel.shows("journey.advise(user=3)")
    assert kind == "error"
    assert text.startswith("TW-U36: unknown option: 'user'"), "no traceback"
    assert "Did you mean users?" in text


def test_the_kernels_interrupt_really_stops_things(kernel: Kernel, tmp_path: Path) -> None:
    for code, sign, note in (
        ("journey.chat('on and on')", "You asked", "chat-stopped"),
        ("fake.runs = 'hang'\njourney.up()", "[2/2]", "run-stopped"),
    ):
        interrupted = False
        for message in kernel.messages(code):
            shown = message["content"].get("data", {}).get("text/html", "")
            if sign in shown and not interrupted:
                kernel.manager.interrupt_kernel()
                interrupted = True
            last = message
        assert last["content"]["ename"] == "KeyboardInterrupt"
        assert (tmp_path / "notes" / note).exists()
    assert "You asked: and now?" in kernel.shows("journey.chat('and now?')")[0][1]
