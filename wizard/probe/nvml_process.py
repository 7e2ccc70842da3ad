"""The process in which NVIDIA's driver library runs: a separate program, and the only file that imports ``pynvml``.

A library that hangs, crashes or returns nonsense affects this process and not the wizard's. The wizard (`nvml_child`)
sends one query after another: a line of JSON each way. A query is ``[function, arguments, options]``, where
``{"device": [index]}`` or ``{"device": [index, MIG slot]}`` represents a handle; the response is ``{"value": …}``, or
``{"raised": class, "said": text, "code": NVML's error code or null}``.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import sys
from typing import Any

LIBRARY = "libnvidia-ml.so.1"
MEMORY = 1 << 30
"""Memory limit of this process in bytes: the binding allocates arrays of the length that the library reports."""
_MEMBERS = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
"""Of nvmlValue_t, by nvmlValueType_t (nvml.h)."""

_handles: dict[tuple[int, ...], Any] = {}


def main() -> None:
    """Answer on the descriptor in the first argument; the library's own output is discarded."""
    most = resource.getrlimit(resource.RLIMIT_DATA)[1]
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY if most == resource.RLIM_INFINITY else min(MEMORY, most), most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answers = os.fdopen(int(sys.argv[1]), "w", encoding="ascii")
    for line in sys.stdin:
        print(json.dumps(_answer(*json.loads(line))), file=answers, flush=True)


def _answer(function: str, arguments: list[Any], options: dict[str, Any]) -> dict[str, Any]:
    try:
        import pynvml

        return {"value": _call(pynvml, function, arguments, options)}
    except Exception as error:  # any exception is the response to this query
        code = getattr(error, "value", None)
        return {
            "raised": type(error).__name__,
            "said": _error_text(error),
            "code": code if isinstance(code, int) else None,
        }


def _call(pynvml: Any, function: str, arguments: list[Any], options: dict[str, Any]) -> Any:
    if function == "nvmlInit":
        _handles.clear()
        ctypes.CDLL(LIBRARY)  # raises the loader's message; the binding would always report "not found"
    given = [_given(pynvml, each) for each in arguments]
    if function.endswith("HandleByIndex"):
        return None
    value = getattr(pynvml, function)(*given, **options)
    if function == "nvmlDeviceGetFieldValues":
        return [_counter(pynvml, field) for field in value]
    return _plain(value)


def _given(pynvml: Any, argument: Any) -> Any:
    """``argument``, or the handle of its device."""
    if not isinstance(argument, dict):
        return argument
    key = tuple(argument["device"])
    if key not in _handles:
        handle = pynvml.nvmlDeviceGetHandleByIndex(key[0])
        _handles[key] = handle if len(key) == 1 else pynvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, key[1])
    return _handles[key]


def _plain(value: Any) -> Any:
    """The value as JSON: the fields of a structure by name, None for unreadable text."""
    if isinstance(value, ctypes.Structure):
        return {field[0]: _plain(_field(value, field[0])) for field in value._fields_}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, bytes):
        return value.decode()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return {name: _plain(each) for name, each in vars(value).items()}  # the binding's "friendly object"


def _field(structure: Any, name: str) -> Any:
    try:
        return getattr(structure, name)
    except UnicodeDecodeError:
        return None


def _counter(pynvml: Any, field: Any) -> tuple[int | float | None, int, str]:
    """Value, error code and message."""
    if field.nvmlReturn:
        return None, field.nvmlReturn, _error_text(pynvml.NVMLError(field.nvmlReturn))
    return getattr(field.value, _MEMBERS[field.valueType]), 0, ""


def _error_text(error: Exception) -> str:
    try:
        return str(error)
    except Exception:  # an NVMLError gets its message from the library
        return type(error).__name__


if __name__ == "__main__":
    main()
