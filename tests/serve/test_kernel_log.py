"""Xids in the kernel's log: a file in the place of /dev/kmsg, and a program in that of journalctl."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from wizard.serve import kernel_log
from wizard.serve.kernel_log import KernelLog

OLD = "NVRM: Xid (PCI:0000:01:00): 31, pid=1942, name=a, Ch 00000008"
FALLEN = "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
REPLACED = "NVRM: Xid (PCI:0000:3b:00): 63, pid='<unknown>', name=<unknown>, Row Remapper: New row marked for remapping"
UNKNOWN = "NVRM: Xid (PCI:0000:3b:00): 109, pid=2075, name=python3, Ch 0000002e, errorString CTX SWITCH TIMEOUT"
FAKE_JOURNALCTL = """#!/bin/sh
# FakeJournalctl: prints what `journalctl --dmesg` has, if it is asked for the last minutes
case "$*" in *--dmesg*--since=@*) echo "Feb 17 10:01:02 node7 kernel: {line}" ;; *) exit 1 ;; esac
"""


class FakeClock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def record(line: str) -> str:
    """As a read of /dev/kmsg returns it (Documentation/ABI/testing/dev-kmsg)."""
    return f"4,1093,26766388261,-;{line}\n SUBSYSTEM=pci\n DEVICE=+pci:0000:3b:00.0\n"


@pytest.fixture
def kmsg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "kmsg"
    path.write_text(record(OLD))
    monkeypatch.setattr(kernel_log, "KMSG", path)
    return path


def add(path: Path, *lines: str) -> None:
    with path.open("a") as file:
        file.writelines(map(record, lines))


def test_the_reason_is_named_among_new_records(kmsg: Path) -> None:
    log = KernelLog()
    assert log.xid() == "", "it was there before"
    add(kmsg, "usb 1-1: new device", FALLEN, "NVRM: Xid (PCI:0000:3b:00): 45, pid=1, name=python3, Ch 00000001")
    assert log.xid().startswith(
        "the kernel's log has Xid 79 of the GPU at 0000:3b:00 (The GPU stopped responding: Reboot the machine."
    )


def test_an_unknown_one_is_named_by_its_number(kmsg: Path) -> None:
    log = KernelLog()
    add(kmsg, UNKNOWN)
    assert log.xid() == "the kernel's log has Xid 109 of the GPU at 0000:3b:00"


def test_a_harmless_one_is_not_the_reason(kmsg: Path) -> None:
    log = KernelLog()
    add(kmsg, REPLACED)
    assert log.xid() == ""
    add(kmsg, UNKNOWN, REPLACED)
    assert log.xid() == "the kernel's log has Xid 109 of the GPU at 0000:3b:00"
    add(kmsg, FALLEN)
    assert "Xid 79" in log.xid()


def test_an_old_one_is_not_the_reason(kmsg: Path) -> None:
    clock = FakeClock()
    log = KernelLog(clock)
    add(kmsg, FALLEN)
    log.read()
    clock.now += kernel_log.RECENT_S + 1
    assert log.xid() == ""
    add(kmsg, UNKNOWN)
    assert "Xid 109" in log.xid()


def test_where_only_the_journal_can_be_read_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_log, "KMSG", tmp_path / "none")
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    program = tmp_path / "journalctl"
    program.write_text(FAKE_JOURNALCTL.format(line=FALLEN))
    program.chmod(0o755)
    assert "Xid 79 of the GPU at 0000:3b:00" in KernelLog().xid()


def test_where_nothing_can_be_read_nothing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_log, "KMSG", tmp_path / "none")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert KernelLog().xid() == ""


@pytest.mark.skipif(not os.access("/dev/kmsg", os.R_OK), reason="/dev/kmsg is not readable here")
def test_the_real_log_has_no_xid_now() -> None:
    log = KernelLog()
    log.read()
    assert log.xid() == ""
