"""``--hardware``: this machine, a recorded one, or a shorthand; and recording a machine."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
from pathlib import Path
from typing import Any

from wizard.kernel import bounded
from wizard.kernel.errors import UsageError, WorkspaceError
from wizard.kernel.language import tr
from wizard.kernel.reasons import unreadable
from wizard.kernel.values import from_json, to_data, to_json
from wizard.probe import machine, shorthand
from wizard.probe.host import Host

_MAX_FILE = 4 << 20
_MAX_NUMBER = 1 << 60
_LINK = re.compile(r"NV[1-9]\d?|PIX|PXB|PHB|NODE|SYS")


def find(hardware: str | None, workspace: Path) -> Host:
    """The machine specified by ``hardware``.

    Args:
        hardware: None for this machine, the path of a recorded host (it has a ``/`` or ends in ``.json``), or a
            shorthand such as ``4xA6000``, ``A100`` or ``cpu``.
        workspace: The workspace whose disk is measured on this machine.

    Raises:
        UsageError: TW-P05 unknown GPU, TW-P06 file not found, TW-P07 an invalid recorded value,
            TW-P10 too many GPUs, TW-K01 or TW-K02 if the file is not a recorded host.
    """
    if hardware is None:
        return machine.describe(workspace)
    if hardware.endswith(".json") or "/" in hardware:
        return _recorded(hardware)
    return shorthand.host(hardware)


def save(host: Host, path: Path) -> None:
    """Record ``host`` as JSON; a file is replaced atomically, a device or pipe is written to directly.

    Raises:
        WorkspaceError: TW-P08 if it is not writable.
    """
    path = path.expanduser()
    text = to_json(host, indent=2) + "\n"
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")
        else:
            unfinished.write_text(text, encoding="utf-8")
            unfinished.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            unfinished.unlink()
        message = tr("cannot write {path}: {error}", path=path, error=error.strerror or error)
        raise WorkspaceError("TW-P08", message, tr("Choose another path for --save.")) from error


def _recorded(name: str) -> Host:
    path = Path(name).expanduser()
    try:
        data = bounded.read(path, _MAX_FILE)
    except bounded.TooLargeError as error:
        message = tr("{name!r} is too large for a recorded host", name=name)
        raise UsageError("TW-P06", message, tr("Use a file written by --save.")) from error
    except (OSError, ValueError) as error:  # ValueError: a null character in the name
        raise UsageError(
            "TW-P06",
            tr("cannot read the recorded host {name!r}: {reason}", name=name, reason=unreadable(error)),
            tr("Record one with `triton-wizard probe --save FILE`."),
        ) from error
    host = dataclasses.replace(from_json(Host, data, where=name), source=path.name)
    if wrong := fault(host):
        message = tr("{name} is not a valid recorded host: {fault}", name=name, fault=wrong)
        raise UsageError("TW-P07", message, tr("Fix that field, or record the machine again."))
    return host


def fault(host: Host) -> str | None:
    """The first impossible value of a host from a file and its location, or None."""
    return _impossible(to_data(host), "host") or _inconsistent(host)


def _impossible(data: Any, where: str) -> str | None:
    """The first impossible number (negative, not finite, beyond 2^60) and its location, or None."""
    if isinstance(data, (int, float)):
        return None if 0 <= data < _MAX_NUMBER else tr("{field} is {value}", field=where, value=str(data)[:40])
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return next((fault for key, item in items if (fault := _impossible(item, f"{where}.{key}"))), None)


def _inconsistent(host: Host) -> str | None:
    if host.cpu.cores < 1:
        return tr("{field} is {value}", field="host.cpu.cores", value=0)
    indices = [gpu.index for gpu in host.gpus]
    if len(set(indices)) != len(indices):
        return tr("host.gpus contains a duplicate index")
    for position, link in enumerate(host.gpu_links):
        if link.a >= link.b or not {link.a, link.b} <= set(indices):
            return tr(
                "{field} connects {a} and {b}, which is not a valid GPU pair",
                field=f"host.gpu_links.{position}",
                a=link.a,
                b=link.b,
            )
        if not _LINK.fullmatch(link.kind):
            return tr("{field} is {value}", field=f"host.gpu_links.{position}.kind", value=repr(link.kind[:20]))
    return None
