"""What a stack cannot do with a checkpoint, reported while planning: before any download."""

from __future__ import annotations

from wizard.advise.advice import Choice
from wizard.advise.titles import stack_title
from wizard.catalog import stacks
from wizard.kernel.errors import InfeasibleError
from wizard.kernel.language import tr
from wizard.model.facts import ModelFacts


def check(choice: Choice, facts: ModelFacts) -> None:
    """Reject a setup that cannot work.

    Args:
        choice: The choice.
        facts: The model.

    Raises:
        InfeasibleError: TW-L30 if the weights are stored in another format than the choice's, TW-L32 for a split that
            does not divide the model, TW-L33 without safetensors.
    """
    stored = facts.quantization.format or facts.quantization.method if facts.quantization else "none"
    chosen = choice.quantization or "none"
    online = stacks.on_gpu(choice.stack).formats.online
    if chosen != stored and not (stored == "none" and online and chosen in online.formats):
        raise InfeasibleError(
            "TW-L30",
            tr(
                "{ref} is stored as {format}; {stack_title} serves it as is, not as {format_2}",
                ref=facts.ref,
                format=_format(stored),
                stack_title=stack_title(choice.stack),
                format_2=_format(chosen),
            ),
            tr(
                "Use --quantization {stored}, or a repository that stores this model as {format}.",
                stored=stored,
                format=_format(chosen),
            ),
        )
    _check_split(choice, facts)
    formats = {file.format for file in facts.weights}
    if formats and "safetensors" not in formats:
        raise InfeasibleError(
            "TW-L33",
            tr(
                "{ref} has no safetensors: its weights are {formats} files",
                ref=facts.ref,
                formats=", ".join(sorted(formats)),
            ),
            tr(
                "Use a repository with safetensors files; pickle files can run code, so the wizard does not download "
                "them."
            ),
        )


def _check_split(choice: Choice, facts: ModelFacts) -> None:
    if facts.heads and facts.heads % choice.tp:
        raise InfeasibleError(
            "TW-L32",
            tr("{heads} attention heads cannot be split evenly across {tp} GPUs", heads=facts.heads, tp=choice.tp),
            tr("Choose a --tp that divides the number of heads."),
        )
    if facts.layers and choice.pp > facts.layers:
        raise InfeasibleError(
            "TW-L32",
            tr("{layers} layers cannot be split into {pp} pipeline stages", layers=facts.layers, pp=choice.pp),
            tr("Choose a smaller --pp, or use --tp."),
        )


def _format(name: str) -> str:
    return tr("16-bit weights") if name == "none" else name
