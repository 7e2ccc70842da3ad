"""The gateway to NVML, NVIDIA's management library, which runs in a separate process (`nvml_process`).

Any call may fail (an old driver, a virtual machine, WSL, a MIG slice, a GPU that fell off the bus, a library that hangs
or crashes), so a query returns a value or `Unknown` with the reason. It is an error only if NVML as a whole is not
usable. (Error codes: nvml.h.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from wizard.kernel.errors import HostError
from wizard.kernel.language import tr
from wizard.probe import nvml_library
from wizard.probe.nvml_child import FailedError, Process

# Constants of nvml.h for queries; they are part of its binary interface and do not change.
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
NVLINK_TO_NPU = 1
NVLINK_TO_SWITCH = 2
P2P_NVLINK = 2
P2P_OK = 0

STARTS_S = 6.0
"""Time limit for starting the library, and waking a GPU that no program used (a second or two each)."""
ANSWERS_S = 2.0
"""Time limit for other queries, which take microseconds."""
MOST_DEVICES = 64
_MAX_FAILURES = 3
_MAX_NUMBER = 1 << 60

_NOT_SUPPORTED = 3
_FATAL = (nvml_library.DRIVER_NOT_LOADED, nvml_library.VERSION_MISMATCH)


@dataclass(frozen=True, slots=True)
class Unknown:
    """NVML returned no value. ``code`` is its error code, None if the error is not NVML's."""

    because: str
    code: int | None = None

    @property
    def not_supported(self) -> bool:
        """The device lacks the feature (rather than denying access)."""
        return self.code == _NOT_SUPPORTED


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU by its index, or the MIG instance in one of its slots."""

    index: int
    slot: int | None = None

    @property
    def key(self) -> list[int]:
        """The device's key in `nvml_process`."""
        return [self.index] if self.slot is None else [self.index, self.slot]


class Nvml:
    """A session with NVML; opened by the first query, and again after an error. For one thread at a time.

    A query that hung or crashed is not repeated: not that function of that device, the second time neither that
    function nor that device, the third time no query at all (`spent`).
    """

    def __init__(self) -> None:
        self._process = Process()
        self._started = False
        self._closed = False
        self._awake: set[Device] = set()
        self._failures: Counter[tuple[object, ...]] = Counter()

    @property
    def spent(self) -> bool:
        """Whether the library failed so often that this session sends no more queries."""
        return self._failures[()] >= _MAX_FAILURES

    def devices(self) -> list[Device | Unknown]:
        """The GPUs by index; `Unknown` for one that fell off the bus or is not accessible to this user.

        Raises:
            HostError: TW-P04 if NVML does not report a plausible number; others see `query`.
        """
        count = self.query("nvmlDeviceGetCount")
        if not isinstance(count, Unknown) and count > MOST_DEVICES:
            count = Unknown(tr("it reports an implausible number of GPUs ({count})", count=count))
        if isinstance(count, Unknown):
            message = tr("NVIDIA's driver library does not list the GPUs: {error}", error=count.because)
            raise HostError(
                "TW-P04", message, tr("Run `nvidia-smi`. If it fails too, reboot or reinstall NVIDIA's driver.")
            )
        devices = (self._handle("nvmlDeviceGetHandleByIndex", Device(index)) for index in range(count))
        return list(devices)

    def mig_devices(self, device: Device, slots: int) -> list[Device]:
        """The MIG instances of a GPU; a slot without one returns "not found" and is skipped."""
        parts = [Device(device.index, slot) for slot in range(slots)]
        return [part for part in parts if self._handle("nvmlDeviceGetMigDeviceHandleByIndex", part) == part]

    def _handle(self, function: str, device: Device) -> Device | Unknown:
        answer = self.query(function, device)
        return answer if isinstance(answer, Unknown) else device

    def query(self, function: str, *arguments: Any, read: Callable[[Any], Any] | None = None, **options: Any) -> Any:
        """Call ``function`` of pynvml; its value, or `Unknown`.

        Args:
            function: Its name.
            arguments: Numbers, texts, and a `Device` for a handle.
            read: Converts the result, in which a structure is a dictionary and an implausible value is None; its
                exception is the reason why the value is unknown.
            options: Named arguments.

        Raises:
            HostError: TW-P01 no library, TW-P02 no driver loaded, TW-P03 library and driver do not match, TW-P04 NVML
                does not start for another reason, TW-P11 it hangs, TW-P12 the library cannot load.
        """
        device = next((each for each in arguments if isinstance(each, Device)), None)
        if self._closed or self._given_up(function, device):
            return Unknown(tr("NVIDIA's driver library failed earlier ({function})", function=function))
        try:
            self._start()
            patience = ANSWERS_S if device is None or device in self._awake else STARTS_S
            given = [{"device": each.key} if isinstance(each, Device) else each for each in arguments]
            answer = self._process.ask(patience, function, given, options)
        except FailedError as failure:
            self._started = False
            self._failures.update([(), (function,), (device,), (function, device)])
            return Unknown(f"{failure} ({function})")
        if "raised" in answer:
            return self._unknown(function, answer)
        if device is not None:
            self._awake.add(device)
        try:
            value = _possible(answer["value"])
            if value is None and answer["value"] is not None:
                raise ValueError(repr(answer["value"]))
            return value if read is None else read(value)
        except Exception as error:  # a broken library may return anything
            return Unknown(tr("invalid response: {error} ({function})", error=str(error)[:80], function=function))

    def fields(self, device: Device, *ids: tuple[int, int]) -> list[int | Unknown]:
        """Counters of a device, one per (field, scope); ``nvmlDeviceGetFieldValues`` reads all at once."""
        function = "nvmlDeviceGetFieldValues"

        def counter(value: Any, code: int, error: str) -> int | Unknown:
            error = error or tr("invalid number")
            return Unknown(f"{error} ({function})", code) if value is None else int(value)

        answers = self.query(function, device, list(ids), read=lambda each: [counter(*field) for field in each])
        return [answers] * len(ids) if isinstance(answers, Unknown) else answers

    def kill(self) -> None:
        """Kill the process, from any thread and without waiting; a running query ends as well."""
        self._closed = True
        self._process.kill()

    def close(self) -> None:
        """End the process."""
        self._closed = True
        self._process.end()

    def _given_up(self, function: str, device: Device | None) -> bool:
        failed = self._failures
        of_device = 0 if device is None else failed[device,]
        return self.spent or failed[function, device] > 0 or failed[function,] > 1 or of_device > 1

    def _unknown(self, function: str, answer: dict[str, Any]) -> Unknown:
        """The reason of an exception.

        Raises:
            HostError: See `query`.
        """
        if answer["code"] in _FATAL:
            raise self._refused(answer)
        if answer["code"] is not None:
            return Unknown(f"{answer['said']} ({function})", answer["code"])
        why = {
            "AttributeError": tr("this version of nvidia-ml-py has no {function}", function=function),
            # Not an NVMLError, and not in old bindings: the driver is older than the function's version.
            "NVMLLibraryMismatchError": tr("the driver is too old to support {function}", function=function),
            "UnicodeDecodeError": tr("{function} returned invalid text", function=function),
        }
        return Unknown(why.get(answer["raised"]) or f"{answer['raised']}: {answer['said']} ({function})")

    def _start(self) -> None:
        """Start the process and NVML, unless they are running.

        Raises:
            HostError: See `query`.
            FailedError: It was running before and does not start again.
        """
        if self._started:
            return
        self._awake.clear()
        try:
            answer = self._process.ask(STARTS_S, "nvmlInit", [], {})
        except FailedError as failure:
            if self._failures:
                raise
            raise nvml_library.failed(str(failure), crashed=failure.crashed) from failure
        if answer.get("raised") == "OSError":
            raise nvml_library.not_loaded(answer["said"])  # the same process may find it later
        if "raised" in answer:
            raise self._refused(answer)
        self._started = True

    def _refused(self, answer: dict[str, Any]) -> HostError:
        self._started = False
        if answer["code"] == nvml_library.VERSION_MISMATCH:  # another library may be there the next time
            self._process.end()
        return nvml_library.unusable(answer["code"], answer["said"])


def _possible(value: Any) -> Any:
    """``value`` with None for each impossible number (negative, beyond 2^60, not finite) and each empty text."""
    if isinstance(value, dict):
        return {name: _possible(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_possible(each) for each in value]
    if value == "" or (isinstance(value, (int, float)) and not 0 <= value < _MAX_NUMBER):
        return None
    return value
