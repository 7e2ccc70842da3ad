"""Python code that a model's repository brings: where it may run, and where the engine must do without it.

The Hugging Face libraries run such code only when told to (``trust_remote_code``). The wizard tells no engine. The
preprocessing model of TensorRT-LLM's Triton backend does tell the tokenizer's loader (``model.py`` of
``all_models/inflight_batcher_llm/preprocessing``, triton-inference-server/tensorrtllm_backend).
"""

from __future__ import annotations

from wizard.advise.advice import Choice
from wizard.advise.titles import stack_title
from wizard.catalog.releases import architectures
from wizard.kernel.language import tr
from wizard.model.facts import ModelFacts


def notes(facts: ModelFacts, choice: Choice) -> tuple[str, ...]:
    """What the user should know of the model's own code; nothing where it brings none or none is needed."""
    if not facts.needs_remote_code or choice.stack == "llamacpp":
        return ()
    if choice.stack == "trtllm-engine":
        where = facts.location if facts.local else f"https://huggingface.co/{facts.location}/tree/main"
        return (
            tr(
                "The model brings Python code of its own, which TensorRT-LLM's scripts may run "
                "in the container: read the .py files in {where} first.",
                where=where,
            ),
        )
    if facts.architecture in {one.name for one in architectures().models}:
        return ()  # the engine's own code loads it
    return (
        tr(
            "The model brings Python code of its own for {architecture}, which is not run: "
            "if {stack_title} does not know that architecture itself, the model will not load.",
            architecture=facts.architecture or tr("its architecture"),
            stack_title=stack_title(choice.stack),
        ),
    )
