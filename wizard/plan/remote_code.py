"""Python code in a model's repository: where it may run, and where the engine must work without it.

The Hugging Face libraries run such code only with ``trust_remote_code``. The wizard never sets it.
"""

from __future__ import annotations

from wizard.advise.advice import Choice
from wizard.advise.titles import stack_title
from wizard.catalog.releases import architectures
from wizard.kernel.language import tr
from wizard.model.facts import ModelFacts
from wizard.probe.host import Host


def notes(choice: Choice, host: Host, facts: ModelFacts) -> tuple[str, ...]:  # noqa: ARG001 - as all stacks' notes
    """Notes for the user about the model's own code; none if it has none or none is needed."""
    if not facts.needs_remote_code or facts.architecture in {model.name for model in architectures().models}:
        return ()  # the engine's own code loads it
    return (
        tr(
            "The model contains its own Python code for {architecture}, which is not run. If {stack_title} does not "
            "support that architecture itself, the model does not load.",
            architecture=facts.architecture or tr("its architecture"),
            stack_title=stack_title(choice.stack),
        ),
    )
