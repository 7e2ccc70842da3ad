"""The gateway to NVML, NVIDIA's management library. No other file imports ``pynvml``.

Any call may have no answer (an old driver, a virtual machine, WSL, a MIG slice, a GPU that fell off the bus), so a
query returns a value or `Unknown` with the reason. Only three errors mean that NVML as a whole is of no use: no
library, no driver loaded, library and driver of different versions. (After nvitop's ``libnvml.nvmlQuery``; error codes:
nvml.h.)
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wizard.kernel.errors import HostError
from wizard.kernel.language import tr

# Constants of nvml.h that queries need; they are part of its binary interface and do not change.
CLOCK_SM = 1
CLOCK_MEMORY = 2
MEMORY_V2 = 0x02000028
TEMPERATURE_GPU = 0
FIELD_NVLINK_TX = 138
FIELD_NVLINK_RX = 139
FIELD_PCIE_TX = 197
FIELD_PCIE_RX = 198
ALL_LINKS = 0xFFFFFFFF
NVLINK_MAX_LINKS = 36
NVLINK_TO_GPU = 0
NVLINK_TO_SWITCH = 2

_NOT_SUPPORTED = 3
_DRIVER_NOT_LOADED = 9
_LIBRARY_NOT_FOUND = 12
_VERSION_MISMATCH = 18
_FATAL = (_DRIVER_NOT_LOADED, _LIBRARY_NOT_FOUND, _VERSION_MISMATCH)


@dataclass(frozen=True, slots=True)
class Unknown:
    """NVML had no answer. ``code`` is its error code, None if the installed binding lacks the function."""

    because: str
    code: int | None = None

    @property
    def not_supported(self) -> bool:
        """The device has no such thing (as against: it may not be asked now)."""
        return self.code == _NOT_SUPPORTED


class Nvml:
    """An open session with NVML."""

    def __init__(self, library: Any) -> None:
        self._library = library
        # Not an NVMLError, and not in old bindings: the driver is older than the function's version.
        self._mismatch = getattr(library, "NVMLLibraryMismatchError", library.NVMLError)

    def query(self, function: str, *arguments: Any, **options: Any) -> Any:
        """Call ``function`` of pynvml; its value, or `Unknown`.

        Raises:
            HostError: TW-P01, TW-P02 or TW-P03 if NVML as a whole has become unusable.
        """
        call = getattr(self._library, function, None)
        if call is None:
            return Unknown(tr("this version of nvidia-ml-py has no {function}", function=function))
        try:
            return call(*arguments, **options)
        except self._library.NVMLError as error:
            if error.value in _FATAL:
                raise _unusable(error) from error
            return Unknown(f"{error} ({function})", error.value)
        except self._mismatch:
            return Unknown(tr("the driver is too old for it ({function})", function=function))
        except UnicodeDecodeError:  # a process may have any bytes for a name
            return Unknown(tr("not readable text ({function})", function=function))

    def fields(self, handle: Any, *wanted: tuple[int, int]) -> list[int | Unknown]:
        """Counters of a device, one for each (field, scope); ``nvmlDeviceGetFieldValues`` asks for all at once."""
        answers = self.query("nvmlDeviceGetFieldValues", handle, list(wanted))
        if isinstance(answers, Unknown):
            return [answers] * len(wanted)
        return [
            int(one.value.ullVal) if one.nvmlReturn == 0 else Unknown(self._said(one.nvmlReturn), one.nvmlReturn)
            for one in answers
        ]

    def _said(self, code: int) -> str:
        return f"{self._library.NVMLError(code)} (nvmlDeviceGetFieldValues)"


@contextlib.contextmanager
def opened(library: Any = None) -> Iterator[Nvml]:
    """Load NVML and open a session.

    Args:
        library: Stands in for the module ``pynvml``.

    Raises:
        HostError: TW-P01 no library, TW-P02 no driver loaded, TW-P03 library and driver do not match,
            TW-P04 NVML does not start for another reason, TW-P14 no NVIDIA GPU.
    """
    if library is None:
        import pynvml

        library = pynvml
    try:
        library.nvmlInit()
    except library.NVMLError as error:
        raise _unusable(error) from error
    try:
        yield Nvml(library)
    finally:
        with contextlib.suppress(library.NVMLError):
            library.nvmlShutdown()


def nvidia_on_pci(root: Path = Path("/")) -> bool:
    """Whether the PCI bus shows an NVIDIA display or 3D controller (vendor 0x10de, class 0x03), driver or not."""
    for vendor in (root / "sys/bus/pci/devices").glob("*/vendor"):
        with contextlib.suppress(OSError):
            if vendor.read_text().strip() == "0x10de" and (vendor.parent / "class").read_text().startswith("0x03"):
                return True
    return False


def _no_library(*, on_bus: bool) -> HostError:
    if on_bus:
        return HostError(
            "TW-P01",
            tr("there is an NVIDIA GPU on the PCI bus, but no driver library (libnvidia-ml.so.1)"),
            tr("Install NVIDIA's driver; in a container, start it with the GPU (docker run --gpus all …)."),
        )
    return HostError(
        "TW-P14",
        tr("no NVIDIA driver library (libnvidia-ml.so.1), and no NVIDIA GPU on the PCI bus"),
        tr("Nothing, if this machine has no NVIDIA GPU: models can be served on the CPU."),
    )


def _unusable(error: Any) -> HostError:
    if error.value == _LIBRARY_NOT_FOUND:
        return _no_library(on_bus=nvidia_on_pci())
    if error.value == _DRIVER_NOT_LOADED:
        return HostError(
            "TW-P02",
            tr("NVIDIA's driver is installed but not loaded"),
            tr(
                "Run `sudo modprobe nvidia`; if that fails, `dmesg` says why (Secure Boot, a new kernel); reinstall it."
            ),
        )
    if error.value == _VERSION_MISMATCH:
        return HostError(
            "TW-P03",
            tr("NVIDIA's driver library and the loaded kernel module have different versions"),
            tr("Reboot: the driver was updated while it was in use."),
        )
    return HostError(
        "TW-P04",
        tr("NVIDIA's driver library does not start: {error}", error=error),
        tr("`nvidia-smi` should say the same. Restart a container that lost its GPU (`systemctl daemon-reload`)."),
    )
