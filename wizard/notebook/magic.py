"""What ``%load_ext wizard.notebook`` brings: values that are shown as HTML, and ``%%chat``."""

from __future__ import annotations

from typing import Any

from wizard.notebook.display import show_richly
from wizard.notebook.session import Journey
from wizard.notebook.values import Answer


def load(ipython: Any) -> None:
    """Everything at once; what ``%load_ext wizard.notebook`` does."""
    show_richly(ipython)
    attached: dict[str, Journey] = {}

    def chat(line: str, cell: str) -> Answer:
        """Ask the served model: ``%%chat [NAME]``, the question below."""
        return _journey(ipython.user_ns, line.strip(), attached).chat(cell.strip())

    ipython.register_magic_function(chat, "cell", "chat")


def _journey(names: dict[str, Any], name: str, attached: dict[str, Journey]) -> Journey:
    """The notebook's own journey of that name (the newest if no name is given), or one to a server that runs."""
    own = [value for key, value in names.items() if isinstance(value, Journey) and not key.startswith("_")]
    mine = [journey for journey in own if not name or journey.name == name]
    if mine:
        return mine[-1]
    if not name:
        from wizard import journey
        from wizard.kernel.paths import Workspace

        name = journey.endpoint(Workspace.at(None)).name
    return attached.setdefault(name, Journey(name, name=name))
