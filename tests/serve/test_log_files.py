"""Logs of a server: one for each start, bounded, complete, and no reason for the server to fail."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from wizard.kernel import proctable
from wizard.kernel.paths import ServerFolder, Workspace
from wizard.serve import log, log_files, log_writer

MOST = 400_000


@pytest.fixture
def server(tmp_path: Path) -> ServerFolder:
    server = Workspace(tmp_path / "w").server("demo")
    server.logs.mkdir(parents=True)
    return server


def complete(path: Path) -> None:
    while not log_files.is_complete(path):
        pass  # the test's own time limit ends it


def written(server: ServerFolder, text: str, most: int = log_files.MOST_BYTES) -> Path:
    with log_files.begun(server, most) as (path, pipe):
        pipe.write(text.encode())
    complete(path)
    return path


def test_a_start_leaves_the_logs_of_others_alone(server: ServerFolder) -> None:
    paths = [written(server, f"start {number}\n") for number in range(1, 8)]
    assert [path.exists() for path in paths] == [False, False, True, True, True, True, True]
    assert log_files.starts(server) == paths[-log_files.STARTS :]
    assert [path.read_text() for path in paths[2:]] == [f"start {number}\n" for number in range(3, 8)]
    assert server.newest_log.resolve() == paths[-1]
    assert log.view(Workspace(server.root.parent.parent), "demo", lines=5, step=None, raw=True) == ["start 7"]
    assert log.view(Workspace(server.root.parent.parent), "demo", lines=5, step="triton-3", raw=True) == ["start 3"]
    assert {path.stat().st_mode & 0o777 for path in paths[2:]} == {0o600}


def test_a_long_log_keeps_its_end_without_a_gap(server: ServerFolder) -> None:
    lines = [f"line {number} {'x' * (number % 97)}\n" for number in range(50_000)]
    path = written(server, "".join(lines), MOST)
    older = path.with_suffix(".1.log")
    assert path.stat().st_size + older.stat().st_size <= MOST
    kept = (older.read_text() + path.read_text()).splitlines(keepends=True)
    assert len(kept) > 1000
    assert kept == lines[-len(kept) :]
    assert older.read_text().endswith("\n")
    assert log_files.starts(server) == [path]


def test_a_line_without_end_is_cut_and_not_lost(server: ServerFolder) -> None:
    text = "".join(f"{number:07}" for number in range(100_000))
    path = written(server, text, MOST)
    assert text.endswith(path.with_suffix(".1.log").read_text() + path.read_text())
    assert path.stat().st_size <= MOST / 2


def test_a_log_is_complete_only_when_no_process_can_write_to_it(server: ServerFolder) -> None:
    with log_files.begun(server) as (path, pipe):
        child = subprocess.Popen([sys.executable, "-c", "input(); print('last')"], stdin=subprocess.PIPE, stdout=pipe)
    assert not log_files.is_complete(path)
    child.communicate(b"\n")
    complete(path)
    assert path.read_text() == "last\n"
    assert log_files.is_complete(path.with_name("none.log"))


def test_the_writer_is_no_part_of_a_step_and_has_no_secrets(
    server: ServerFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(proctable.STEP_MARK, str(server.root))
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    with log_files.begun(server) as (path, _):
        (writer,) = [row for row in proctable.processes() if proctable.command(row.pid)[-2:-1] == (str(path),)]
        assert os.getsid(writer.pid) == writer.pid
        assert {proctable.STEP_MARK, "HF_TOKEN"}.isdisjoint(proctable.environment(writer.pid))


def test_a_server_survives_the_writer(server: ServerFolder) -> None:
    """As `launch` starts it: with SIGPIPE ignored."""
    script = "input(); import os\ntry: os.write(1, b'x')\nexcept BrokenPipeError: raise SystemExit(7)"
    with log_files.begun(server) as (path, pipe):
        child = subprocess.Popen(
            [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=pipe, restore_signals=False
        )
        (writer,) = [row for row in proctable.processes() if proctable.command(row.pid)[-2:-1] == (str(path),)]
        os.kill(writer.pid, signal.SIGKILL)
        complete(path)
    child.communicate(b"\n")
    assert child.returncode == 7


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "none", folder], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("cannot mount a tmpfs (needs root)")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def test_a_full_disk_costs_lines_but_not_the_server(small_disk: Path) -> None:
    path, hog = small_disk / "triton-1.log", small_disk / "hog"
    with path.open("xb") as output:
        writer = log_writer.Log(str(path), 1 << 20, output.fileno())
        writer.add(b"before\n")
        hog.write_bytes(b"x" * (small_disk_free(small_disk) - 4096))
        for _ in range(4):
            writer.add(b"y" * 4095 + b"\n")
        hog.unlink()
        writer.add(b"after\n")
    text = path.read_text()
    assert text.startswith("before\ny")
    lost = len("before\n") + 4 * 4096 - text.index("\n[") if "\n[" in text else 0
    assert lost > 0
    assert text.endswith("bytes of this log could not be written]\nafter\n")


def small_disk_free(folder: Path) -> int:
    state = os.statvfs(folder)
    return state.f_bavail * state.f_frsize
