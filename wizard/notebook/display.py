"""Display of the workflow's values, and of the wizard's errors, in IPython."""

from __future__ import annotations

from typing import Any

from wizard.advise.advice import Advice, Choice
from wizard.advise.pareto import Front
from wizard.bench.comparison import Comparison
from wizard.bench.quality.report import Quality
from wizard.bench.report import Report
from wizard.kernel.errors import WizardError
from wizard.model.facts import ModelFacts
from wizard.notebook.html import (
    advice_html,
    choice_html,
    endpoint_html,
    host_html,
    model_html,
    pareto_html,
    plan_html,
    status_html,
)
from wizard.notebook.values import report_html, report_text
from wizard.plan.plan import Plan
from wizard.probe.host import Host
from wizard.serve.endpoint import Endpoint
from wizard.serve.status import Status


def show_richly(ipython: Any) -> None:
    """Show values as HTML, and the wizard's errors without a traceback: they contain the remedy."""
    html = ipython.display_formatter.formatters["text/html"]
    html.for_type(Host, host_html)
    html.for_type(ModelFacts, model_html)
    html.for_type(Advice, advice_html)
    html.for_type(Choice, choice_html)
    html.for_type(Front, pareto_html)
    html.for_type(Plan, plan_html)
    html.for_type(Endpoint, endpoint_html)
    html.for_type(Status, status_html)
    lines = ipython.display_formatter.formatters["text/plain"]
    for kind in (Report, Comparison, Quality):
        html.for_type(kind, report_html)
        lines.for_type(kind, lambda report, printer, _: printer.text(report_text(report)))
    # IPython's own protocol for exceptions; set here because the wizard's kernel package must not know about notebooks.
    WizardError._render_traceback_ = lambda error: str(error).split("\n")  # type: ignore[attr-defined]
