"""Why NVIDIA's driver library is not usable: it is missing, cannot load, hangs, or reports an error."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

from wizard.kernel.errors import HostError
from wizard.kernel.language import tr

NAME = "libnvidia-ml.so.1"
FOLDERS = (
    *("usr/lib64", "usr/lib", "usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu"),
    *("usr/lib/wsl/lib", "usr/local/nvidia/lib64"),
)
"""Folders in which drivers, WSL and NVIDIA's container images install it."""
DRIVER_NOT_LOADED = 9
VERSION_MISMATCH = 18


def nvidia_on_pci(root: Path = Path("/")) -> bool:
    """Whether the PCI bus shows an NVIDIA display or 3D controller (vendor 0x10de, class 0x03), driver or not."""
    for vendor in (root / "sys/bus/pci/devices").glob("*/vendor"):
        with contextlib.suppress(OSError):
            if vendor.read_text().strip() == "0x10de" and (vendor.parent / "class").read_text().startswith("0x03"):
                return True
    return False


def unusable(code: int | None, error: str) -> HostError:
    """The error for NVML's result at its start (``code``, of nvml.h), or another reason why it did not start."""
    if code == DRIVER_NOT_LOADED:
        return HostError(
            "TW-P02",
            tr("NVIDIA's driver is installed but not loaded"),
            tr(
                "Run `sudo modprobe nvidia`. If that fails, check `dmesg` for the cause (Secure Boot, a new kernel) "
                "and reinstall the driver."
            ),
        )
    if code == VERSION_MISMATCH:
        return HostError(
            "TW-P03",
            tr("NVIDIA's driver library and the loaded kernel module have different versions"),
            tr("Reboot: the driver was updated while it was in use."),
        )
    return HostError(
        "TW-P04",
        tr("NVIDIA's driver library failed to initialize: {error}", error=error),
        tr(
            "Run `nvidia-smi`: it should report the same error. If a container lost its GPU (for example, after "
            "`systemctl daemon-reload`), restart the container; otherwise, reboot or reinstall NVIDIA's driver."
        ),
    )


def failed(error: str, *, crashed: bool) -> HostError:
    """The error for a library that crashed or hung at its start."""
    if crashed:
        return _damaged(error)
    return HostError(
        "TW-P11",
        tr("NVIDIA's driver library hangs: {error}", error=error),
        tr(
            "Check whether `nvidia-smi` hangs too. `dmesg` names the GPU that stopped (Xid); reboot, or reset that GPU."
        ),
    )


def not_loaded(error: str, root: Path = Path("/")) -> HostError:
    """The error for the loader's message about the library.

    The loader skips a library for another processor and then reports that it is missing (glibc, ``dl-load.c``).
    """
    if NAME not in error or "No such file" not in error:
        return _damaged(error)
    if foreign := _foreign(root):
        return _damaged(tr("{path} is built for another processor", path=foreign))
    if nvidia_on_pci(root):
        return HostError(
            "TW-P01",
            tr("an NVIDIA GPU was found on the PCI bus, but the driver library (libnvidia-ml.so.1) was not"),
            tr("Install NVIDIA's driver. If this is a container, start it with GPU access (docker run --gpus all …)."),
        )
    return HostError(
        "TW-P14",
        tr("no NVIDIA driver library (libnvidia-ml.so.1), and no NVIDIA GPU on the PCI bus"),
        tr("No action needed: models run on the CPU."),
    )


def _damaged(error: str) -> HostError:
    return HostError(
        "TW-P12",
        tr("NVIDIA's driver library (libnvidia-ml.so.1) cannot be loaded: {error}", error=error),
        tr(
            "Reinstall NVIDIA's driver. If a folder in LD_LIBRARY_PATH contains another copy of the library, "
            "remove that folder from the variable."
        ),
    )


def _foreign(root: Path) -> Path | None:
    """A library of that name on the loader's path whose ELF class or machine (elf(5)) is not this interpreter's."""
    folders = [Path(name) for name in os.environ.get("LD_LIBRARY_PATH", "").split(":") if name]
    for folder in [*folders, *(root / name for name in FOLDERS)]:
        with contextlib.suppress(OSError):
            if _architecture(folder / NAME) != _architecture(Path(sys.executable)):
                return folder / NAME
    return None


def _architecture(path: Path) -> tuple[bytes, bytes]:
    with path.open("rb") as file:
        header = file.read(20)
    return header[4:6], header[18:20]
