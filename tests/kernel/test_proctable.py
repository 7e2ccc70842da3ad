"""Whether a process lives and how much memory it holds, as the kernel says."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
from pathlib import Path

from wizard.kernel import proctable
from wizard.kernel.units import MIB


def held() -> int:
    held = proctable.memory(os.getpid())
    assert held is not None
    return held


def test_memory_that_is_written_to_counts() -> None:
    before = held()
    block = mmap.mmap(-1, 64 * MIB)
    try:
        for page in range(0, 64 * MIB, mmap.PAGESIZE):
            block[page] = 1
        assert held() - before >= 60 * MIB
    finally:
        block.close()


def test_a_file_that_is_mapped_to_be_read_does_not(tmp_path: Path) -> None:
    """As llama.cpp maps the weights."""
    path = tmp_path / "weights"
    path.write_bytes(bytes(64 * MIB))
    before = held()
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ) as weights:
        assert sum(weights[page] for page in range(0, 64 * MIB, mmap.PAGESIZE)) == 0
        assert held() - before < 30 * MIB


def test_a_process_that_is_not_there_holds_nothing_that_is_known() -> None:
    assert proctable.memory(2**22 + 1) is None


def test_a_process_lives_as_long_as_one_of_its_threads() -> None:
    """Its first thread may end before the others; until then it holds its memory, its files and its GPUs."""
    program = (
        "import ctypes, sys, threading\n"
        "threading.Thread(target=sys.stdin.read).start()\n"
        "print('begun', flush=True)\n"
        "ctypes.CDLL(None).pthread_exit(None)\n"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", program], **pipes) as process:  # type: ignore[call-overload]
        process.stdout.readline()
        while Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
            pass  # the test's own time limit ends it
        assert proctable.read(process.pid) is not None
        process.stdin.close()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert proctable.read(process.pid) is None


def test_a_child_is_an_orphan_once_its_wizard_has_ended(tmp_path: Path) -> None:
    code = "import os, subprocess, sys; from pathlib import Path; from wizard.kernel import proctable; "
    code += f"env = {{**os.environ, **proctable.step_marks(Path({str(tmp_path)!r}))}}; "
    code += "child = subprocess.Popen(['sleep', '600'], env=env); print(child.pid, flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as wizard:
        assert wizard.stdin
        assert wizard.stdout
        child = int(wizard.stdout.readline())
        try:
            assert [row.pid for row in proctable.marked(proctable.STEP_MARK, str(tmp_path))] == [child]
            assert proctable.orphans(tmp_path) == []
            wizard.stdin.close()
            wizard.wait()
            assert [row.pid for row in proctable.orphans(tmp_path)] == [child]
        finally:
            os.kill(child, 9)
