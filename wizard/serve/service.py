"""Start a server with the machine: a unit of the user's own systemd, written, removed and looked at on request only.

Sources: systemd.service(5), systemd.unit(5), systemd.kill(5), systemd.syntax(7), loginctl(1), of systemd 252; a oneshot
service may have ``Restart=`` from systemd 244 on (systemd/systemd pull request 13754).
"""

from __future__ import annotations

import getpass
import hashlib
import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from wizard.kernel.errors import HostError, UsageError
from wizard.kernel.files import write_whole
from wizard.kernel.language import tr
from wizard.kernel.paths import ServerFolder, Workspace
from wizard.kernel.program import command
from wizard.kernel.text import one_line, plain
from wizard.probe.ask import Answer, asking

SECONDS = 20.0
"""For a command of systemd."""
STOP_S = 60
"""Seconds that `down` may take when the machine shuts down."""
AGAIN_S = 30
"""Seconds before it is tried again, without end, if the server could not be started, for example because another one of
the workspace is being started.
"""
UNIT = """\
# Made by `triton-wizard service install`; `triton-wizard service remove {name}` removes it.
[Unit]
Description=Triton server {name} (triton-wizard)
StartLimitIntervalSec=0

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart={start}
ExecStop={stop}
TimeoutStartSec=infinity
TimeoutStopSec={stop_s}
KillMode=process
Restart=on-failure
RestartSec={again_s}

[Install]
WantedBy=default.target
"""
"""Its start ends once the server is ready. ``KillMode=process``: `down` has stopped what belongs to the server; other
servers of the workspace need the process with the OpenAI-compatible address, which may be in this unit's control group.
"""
DESCRIBED = re.compile(r"^Description=Triton server (\S+) ", re.MULTILINE)
"""The server's name in a unit."""


@dataclass(frozen=True, slots=True)
class Service:
    """The unit of a server.

    Attributes:
        server: Its name in the workspace.
        unit: The unit's name.
        path: The unit's file.
        installed: Whether that exists.
        enabled: Whether systemd starts it; None if systemd cannot be asked.
        lingers: Whether it is started with the machine, without a login of the user; None if that is unknown.
    """

    server: str
    unit: str
    path: str
    installed: bool
    enabled: bool | None
    lingers: bool | None


def unit_text(server: ServerFolder, python: str = sys.executable) -> str:
    """The unit's file: it runs the plan that the server was started with, and keeps it running."""
    wizard = (python, "-m", "wizard", "--workspace", str(server.workspace.root))
    start = _line(*wizard, "run", str(server.plan), "--yes", "--keep")
    stop = _line(*wizard, "down", server.name)
    return UNIT.format(name=server.name, start=start, stop=stop, stop_s=STOP_S, again_s=AGAIN_S)


def _line(*argv: str) -> str:
    """A command line as systemd reads it: quoted, without its own specifiers and variables."""
    escaped = (
        word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$").replace("\n", "\\n")
        for word in argv
    )
    return " ".join(f'"{word}"' for word in escaped)


def service(server: ServerFolder) -> Service:
    """The unit of ``server`` as it is now; blocks for some ms."""
    path = path_of(server)
    installed = path.is_file()
    enabled = _asked("systemctl", "--user", "is-enabled", path.name) if installed else None
    known = enabled is not None and enabled.out.strip() in ("enabled", "disabled")
    lingers = _asked("loginctl", "show-user", getpass.getuser(), "--property=Linger", "--value")
    return Service(
        server=server.name,
        unit=path.name,
        path=str(path),
        installed=installed,
        enabled=enabled.out.strip() == "enabled" if enabled and known else None,
        lingers={"yes": True, "no": False}.get(lingers.out.strip()),
    )


def install(server: ServerFolder) -> Service:
    """Write the unit and enable it; the server is started by the next login or start of the machine, not now.

    Raises:
        UsageError: TW-S32 if the server has no plan.
        HostError: TW-S31 if systemd does not manage the user's services, or its folder is not writable.
    """
    if not server.plan.is_file():
        raise UsageError(
            "TW-S32",
            tr("the server {name} was never set up, so there is nothing to start", name=server.name),
            tr("Set it up first: `triton-wizard up {name}`.", name=server.name),
        )
    _check(server)
    path = path_of(server)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, unit_text(server))
    except OSError as error:
        raise _impossible(server, f"{path}: {error.strerror}") from error
    for words in (("daemon-reload",), ("enable", path.name)):
        answer = _asked("systemctl", "--user", *words)
        if answer.status != 0:
            path.unlink(missing_ok=True)
            raise _impossible(server, answer.err)
    return service(server)


def remove(server: ServerFolder) -> bool:
    """Disable the unit and remove its file; whether there was one. A running server keeps running."""
    path = path_of(server)
    there = path.is_file()
    if there:
        _asked("systemctl", "--user", "disable", path.name)
        path.unlink(missing_ok=True)
        _asked("systemctl", "--user", "daemon-reload")
    return there


def installed(workspace: Workspace) -> list[ServerFolder]:
    """The workspace's servers with a unit, by name; their folders may be gone."""
    servers = []
    for path in sorted(_units().glob("triton-wizard-*.service")):
        with suppress(OSError, ValueError, UsageError):  # not one that this program wrote
            match = DESCRIBED.search(path.read_text(encoding="utf-8"))
            server = workspace.server(match[1] if match else "")
            servers += [server] if path_of(server) == path else []
    return servers


def path_of(server: ServerFolder) -> Path:
    """The unit's file; outside of the usual workspace its name has the workspace's fingerprint, too."""
    root = server.workspace.root
    usual = (Path.home() / ".local" / "share" / "triton-wizard").resolve()
    which = "" if root == usual else f"-{hashlib.sha256(str(root).encode()).hexdigest()[:8]}"
    return _units() / f"triton-wizard-{server.name}{which}.service"


def _units() -> Path:
    configuration = os.environ.get("XDG_CONFIG_HOME", "")
    base = Path(configuration) if configuration.startswith("/") else Path.home() / ".config"
    return base / "systemd" / "user"


def _check(server: ServerFolder) -> None:
    answer = _asked("systemctl", "--user", "show-environment")
    if answer.status != 0:
        raise _impossible(server, answer.err)


def _asked(*argv: str) -> Answer:
    with asking({argv: argv}, SECONDS) as running:
        return running[argv].answer()


def _impossible(server: ServerFolder, why: str) -> HostError:
    words: Sequence[str] = ("run", str(server.plan), "--yes", "--keep")
    line = f"@reboot {command(*words, workspace=server.workspace)}"
    return HostError(
        "TW-S31",
        tr("systemd cannot start the server for you: {why}", why=one_line(plain(why)).strip() or tr("no answer")),
        tr("Without systemd, let cron start it: run `crontab -e` and add the line `{line}`.", line=line),
    )
