"""What the wizard teaches IPython: to show the journey's values, to keep its errors short, and ``%%chat``."""

from __future__ import annotations

from typing import Any

from wizard.advise.advice import Advice, Choice
from wizard.kernel.errors import WizardError
from wizard.model.facts import ModelFacts
from wizard.notebook.html import advice_html, choice_html, host_html, model_html, plan_html, status_html
from wizard.notebook.session import Journey
from wizard.notebook.values import Answer
from wizard.plan.plan import Plan
from wizard.probe.host import Host
from wizard.serve.status import Status


def load(ipython: Any) -> None:
    """Everything at once; what ``%load_ext wizard.notebook`` does."""
    show_richly(ipython)
    attached: dict[str, Journey] = {}

    def chat(line: str, cell: str) -> Answer:
        """Ask the served model: ``%%chat [NAME]``, the question below."""
        return _journey(ipython.user_ns, line.strip(), attached).chat(cell.strip())

    ipython.register_magic_function(chat, "cell", "chat")


def show_richly(ipython: Any) -> None:
    """Show values as HTML, and the wizard's errors without a traceback: they say what to do themselves."""
    html = ipython.display_formatter.formatters["text/html"]
    html.for_type(Host, host_html)
    html.for_type(ModelFacts, model_html)
    html.for_type(Advice, advice_html)
    html.for_type(Choice, choice_html)
    html.for_type(Plan, plan_html)
    html.for_type(Status, status_html)
    # IPython's own protocol for exceptions; set from here because the kernel of the wizard knows no notebook.
    WizardError._render_traceback_ = lambda error: str(error).split("\n")  # type: ignore[attr-defined]


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
