"""GPUs of other vendors: found in the kernel's list of devices, and named as the reason for the CPU."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.values import CPU_HOST, GGUF
from wizard.advise.advice import Constraints
from wizard.advise.ranking import advise
from wizard.probe.other_gpus import other_gpus
from wizard.probe.report import brief
from wizard.texts import advise as words


def device(root: Path, address: str, vendor: str, kind: str) -> None:
    folder = root / "sys/bus/pci/devices" / address
    folder.mkdir(parents=True)
    (folder / "vendor").write_text(f"{vendor}\n")
    (folder / "class").write_text(f"{kind}\n")


def test_display_controllers_of_other_vendors_are_found(tmp_path: Path) -> None:
    device(tmp_path, "0000:00:02.0", "0x8086", "0x030000")
    device(tmp_path, "0000:00:1f.3", "0x8086", "0x040300")  # sound
    device(tmp_path, "0000:01:00.0", "0x10de", "0x030200")  # NVML describes it
    device(tmp_path, "0000:03:00.0", "0x1002", "0x038000")
    device(tmp_path, "0000:04:00.0", "0x1002", "0x030000")
    assert other_gpus(tmp_path) == ("Intel", "AMD")


def test_an_apple_chip_is_named_by_its_devicetree(tmp_path: Path) -> None:
    (tmp_path / "proc/device-tree").mkdir(parents=True)
    (tmp_path / "proc/device-tree/compatible").write_bytes(b"apple,j314s\0apple,t6000\0apple,arm-platform\0")
    assert other_gpus(tmp_path) == ("Apple",)


def test_a_machine_without_such_files_has_none(tmp_path: Path) -> None:
    assert other_gpus(tmp_path) == ()


@pytest.mark.parametrize(("vendors", "named"), [(("AMD",), "AMD"), (("Intel", "AMD"), "Intel, AMD"), ((), None)])
def test_the_advice_says_why_the_cpu_serves(vendors: tuple[str, ...], named: str | None) -> None:
    host = replace(CPU_HOST, other_gpus=vendors)
    choice = advise(host, GGUF, Constraints()).choices[0]
    text = " ".join(map(words.note, choice.reasons))
    expected = f"The {named} GPU of this machine is not used: Triton and the wizard's builds of its engines support"
    assert (expected in text) == bool(named)
    assert (f"{named} GPU is not supported" in dict(brief(host))["GPU"]) == bool(named)
