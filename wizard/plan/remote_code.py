"""Python code in a model's repository: where it may run, and where the engine must work without it.

The Hugging Face libraries run such code only with ``trust_remote_code``. The wizard never sets it.
"""

from __future__ import annotations

from wizard.advise.advice import Choice
from wizard.advise.titles import stack_title
from wizard.catalog.releases import NONE, architectures, floor
from wizard.kernel.language import tr
from wizard.model.facts import ModelFacts
from wizard.probe.host import Host


def notes(choice: Choice, host: Host, facts: ModelFacts) -> tuple[str, ...]:  # noqa: ARG001 - as all stacks' notes
    """Notes for the user about the model's own code; none if it has none or none is needed."""
    named = floor(architectures().models, facts.architecture, choice.stack) not in (None, NONE)
    if not facts.needs_remote_code or named:
        return ()  # the engine's own code loads it
    return (
        tr(
            "The model contains its own Python code for {architecture}. This code is not run; if {stack_title} "
            "has no built-in support for that architecture, the model does not load.",
            architecture=facts.architecture or tr("its architecture"),
            stack_title=stack_title(choice.stack),
        ),
    )
