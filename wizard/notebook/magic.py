"""The IPython extension: values shown as HTML, and ``%%chat``."""

from __future__ import annotations

from typing import Any

from wizard.notebook.display import show_richly
from wizard.notebook.session import Journey
from wizard.notebook.values import Answer


def load(ipython: Any) -> None:
    """Activate everything; called by ``%load_ext wizard.notebook``."""
    show_richly(ipython)
    attached: dict[str, Journey] = {}

    def chat(line: str, cell: str) -> Answer:
        """Send a question to the served model: ``%%chat [NAME]``, with the question below."""
        return _journey(ipython.user_ns, line.strip(), attached).chat(cell.strip())

    ipython.register_magic_function(chat, "cell", "chat")


def _journey(names: dict[str, Any], name: str, attached: dict[str, Journey]) -> Journey:
    """The notebook's own journey with that name (by default the newest), or one attached to a running server."""
    own = [value for key, value in names.items() if isinstance(value, Journey) and not key.startswith("_")]
    mine = [journey for journey in own if not name or journey.name == name]
    if mine:
        return mine[-1]
    if not name:
        from wizard import journey
        from wizard.kernel.paths import Workspace

        name = journey.endpoint(Workspace.at(None)).name
    return attached.setdefault(name, Journey(name, name=name))
