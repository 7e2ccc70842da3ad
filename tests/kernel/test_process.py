"""Real children: output in pieces, and nothing of them left after a stop."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wizard.kernel import proctable
from wizard.kernel.process import Child, Line, LineSplitter


def split(chunks: list[bytes]) -> list[Line]:
    splitter = LineSplitter()
    lines = [line for chunk in chunks for line in splitter.feed(chunk)]
    return lines + splitter.feed(b"", end=True)


def test_newlines_and_carriage_returns_end_lines() -> None:
    assert split([b"a\nb\r\nc\rd"]) == [Line("a"), Line("b"), Line("c", update=True), Line("d")]


def test_a_pair_cut_between_chunks_is_one_end() -> None:
    assert split([b"a\r", b"\nb\n"]) == [Line("a"), Line("b")]


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\r")), st.data())
def test_any_cutting_gives_the_same_lines(text: str, data: st.DataObject) -> None:
    raw = text.encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=5)))
    chunks = [raw[a:b] for a, b in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    expected = text.split("\n")
    assert [line.text for line in split(chunks)] == (expected if expected[-1] else expected[:-1])


def test_bytes_that_are_not_utf_8_are_replaced() -> None:
    assert split([b"\xff\xfe\n"]) == [Line("\ufffd\ufffd")]


async def collect(child: Child) -> list[Line]:
    return [line async for lines in child.output() for line in lines]


async def test_a_long_progress_bar_without_newlines_is_read() -> None:
    code = "import sys\nfor i in range(20000): sys.stdout.write('\\r%d of 20000 ' % i)"
    child = await Child.start([sys.executable, "-c", code], env=dict(os.environ))
    lines = await collect(child)
    assert await child.wait() == 0
    assert len(lines) == 20001  # the first is the empty one before the first carriage return
    assert all(line.update for line in lines[:-1])


async def test_standard_input_is_closed_so_that_nothing_waits_for_it() -> None:
    child = await Child.start([sys.executable, "-c", "print(repr(input()))"], env=dict(os.environ))
    lines = await collect(child)
    assert await child.wait() == 1
    assert lines[-1].text.startswith("EOFError")


GRANDCHILD = """
import subprocess, sys, signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c",
    "import signal; [signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)]\\n"
    "print('deaf', flush=True)\\nsignal.pause()"])
child.wait()
"""


async def test_stop_ends_even_a_grandchild_that_ignores_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    import signal

    from wizard.kernel import process

    child = await Child.start([sys.executable, "-c", GRANDCHILD], env=dict(os.environ))
    async for lines in child.output():
        if any(line.text == "deaf" for line in lines):
            break
    assert len(proctable.group_members(child.pid)) == 2
    ladder = ((signal.SIGINT, 0.1), (signal.SIGTERM, 0.1), (signal.SIGKILL, 10.0))
    assert await process.stop_group(child.pid, ladder)
    assert proctable.group_members(child.pid) == []
    assert await child.wait() == -signal.SIGTERM


async def test_a_mark_identifies_children(tmp_path: Path) -> None:
    mark = str(tmp_path)
    code = "import signal; print('here', flush=True); signal.pause()"
    child = await Child.start([sys.executable, "-c", code], env={**os.environ, proctable.STEP_MARK: mark})
    async for _ in child.output():
        break
    assert [row.pid for row in proctable.marked(proctable.STEP_MARK, mark)] == [child.pid]
    await child.stop()
    await child.wait()
    assert proctable.marked(proctable.STEP_MARK, mark) == []


def test_a_process_is_known_by_pid_and_start_time() -> None:
    me = proctable.read(os.getpid())
    assert me is not None
    assert me.group == os.getpgrp()
    assert proctable.read(2**22 + 1) is None


async def test_a_missing_program_is_an_os_error() -> None:
    with pytest.raises(FileNotFoundError):
        await Child.start(["/no/such/program"], env={})


def test_output_arrives_while_the_child_still_runs(tmp_path: Path) -> None:
    async def first_line() -> str:
        code = "import signal; print('now', flush=True); signal.pause()"
        child = await Child.start([sys.executable, "-c", code], env=dict(os.environ))
        try:
            async for lines in child.output():
                return lines[0].text
        finally:
            await child.stop()
        return ""

    assert asyncio.run(first_line()) == "now"
