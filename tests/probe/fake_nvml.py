"""A stand-in for the module ``pynvml`` that replays recorded readings, errors included."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pynvml

HOSTS = Path(__file__).parent.parent / "cases" / "hosts"


def error(code: int) -> dict[str, int]:
    """A reading that says: NVML answered with this error."""
    return {"code": code}


def readings(name: str) -> dict[str, Any]:
    """Raw readings of a real machine, to be changed at will."""
    data: dict[str, Any] = json.loads((HOSTS / f"{name}.json").read_text(encoding="utf-8"))
    return data


class FakeNvml:
    """Answers as NVML did on the recorded machine; what was not recorded is "function not found", as with old drivers.

    Handles are indices; a MIG slice's handle is (index, slot).
    """

    NVMLError = pynvml.NVMLError
    NVMLLibraryMismatchError = pynvml.NVMLLibraryMismatchError

    def __init__(self, data: dict[str, Any], *, init: int | None = None) -> None:
        self.data = copy.deepcopy(data)
        self._init = init
        self.open = 0

    def nvmlInit(self) -> None:
        if self._init is not None:
            raise pynvml.NVMLError(self._init)
        self.open += 1

    def nvmlShutdown(self) -> None:
        self.open -= 1

    def nvmlSystemGetDriverVersion(self) -> Any:
        return self._say(self.data, "driver")

    def nvmlSystemGetCudaDriverVersion_v2(self) -> Any:
        return self._say(self.data, "cuda_driver")

    def nvmlSystemGetProcessName(self, pid: int) -> Any:
        return self._say(self.data.get("process_names", {}), str(pid))

    def nvmlDeviceGetCount(self) -> Any:
        return self._say({"count": len(self.data["gpus"])} | self.data, "count")

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        self._say({"ok": index} | self.data["gpus"][index], "Handle" if "Handle" in self.data["gpus"][index] else "ok")
        return index

    def nvmlDeviceGetMemoryInfo(self, handle: Any, version: int | None = None) -> Any:
        return self._say(self._device(handle), "MemoryInfo_v2" if version else "MemoryInfo")

    def nvmlDeviceGetMaxClockInfo(self, handle: int, kind: int) -> Any:
        return self._say(self._device(handle)["MaxClockInfo"], str(kind))

    def nvmlDeviceGetFieldValues(self, handle: int, wanted: list[tuple[int, int]]) -> Any:
        """The device's reading "Fields": field → counter, or an error for all; what is not there is not supported."""
        counters = self._say(self._device(handle), "Fields").__dict__
        found = [counters.get(str(field)) for field, _scope in wanted]
        return [
            SimpleNamespace(nvmlReturn=3 if one is None else 0, value=SimpleNamespace(ullVal=one or 0)) for one in found
        ]

    def nvmlDeviceGetMigDeviceHandleByIndex(self, handle: int, slot: int) -> Any:
        self._say({"ok": True} | self._device(handle)["Slots"][slot], "ok")
        return handle, slot

    def nvmlDeviceGetNvLinkState(self, handle: int, link: int) -> Any:
        return self._nvlink(handle, link, "State")

    def nvmlDeviceGetNvLinkRemoteDeviceType(self, handle: int, link: int) -> Any:
        return self._nvlink(handle, link, "RemoteDeviceType")

    def nvmlDeviceGetNvLinkRemotePciInfo(self, handle: int, link: int) -> Any:
        return self._nvlink(handle, link, "RemotePciInfo")

    def nvmlDeviceGetTopologyCommonAncestor(self, first: int, second: int) -> Any:
        pair = next(each for each in self.data["pairs"] if (each["a"], each["b"]) == (first, second))
        return self._say(pair, "topology")

    def __getattr__(self, name: str) -> Any:
        """``nvmlDeviceGetX(handle)`` is the device's reading X."""
        if not name.startswith("nvmlDeviceGet"):
            raise AttributeError(name)
        return lambda handle, *_kind: self._say(self._device(handle), name.removeprefix("nvmlDeviceGet"))

    def _device(self, handle: Any) -> dict[str, Any]:
        if isinstance(handle, tuple):
            index, slot = handle
            part: dict[str, Any] = self.data["gpus"][index]["Slots"][slot]
            return part
        device: dict[str, Any] = self.data["gpus"][handle]
        return device

    def _nvlink(self, handle: int, link: int, name: str) -> Any:
        links = self._device(handle)["NvLink"]
        if link >= len(links):
            raise pynvml.NVMLError(pynvml.NVML_ERROR_INVALID_ARGUMENT)
        return self._say(links[link], name)

    @staticmethod
    def _say(place: dict[str, Any], name: str) -> Any:
        reading = place.get(name, error(pynvml.NVML_ERROR_FUNCTION_NOT_FOUND))
        if isinstance(reading, Exception):
            raise reading
        if isinstance(reading, dict) and "code" in reading:
            raise pynvml.NVMLError(reading["code"])
        if isinstance(reading, dict):
            encoded = {key: value.encode() if key == "busId" else value for key, value in reading.items()}
            return SimpleNamespace(**encoded)
        if isinstance(reading, list) and reading and isinstance(reading[0], dict):
            return [SimpleNamespace(**each) for each in reading]
        return reading
