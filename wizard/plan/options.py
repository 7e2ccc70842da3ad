"""What a recipe may settle beyond the choice: how a stack is built and served."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field, fields
from typing import ClassVar, Literal

from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr
from wizard.kernel.values import STRICT


@dataclass(frozen=True, slots=True)
class Options:
    """Each stack reads what concerns it.

    Attributes:
        max_input_len: Tokens of the longest prompt that a TensorRT engine is built for, where that is less than the
            choice's context; None: the choice's context.
        bls: Keep the business-logic-scripting model beside the ensemble.
        batching: ``continuous``, or ``none``: one request after another, as the plain pipeline does (transformers).
        beside: Name of the stack whose model of the same is in the repository too, to compare with.
        lora: Adapters by name: folder or hub id.
        max_num_seqs: Sequences that vLLM runs at the same time where its KV cache has room, beyond the people that the
            choice counts with whole contexts; None: no more than those.
    """

    __pydantic_config__: ClassVar = STRICT
    max_input_len: int | None = None
    bls: bool = False
    batching: Literal["continuous", "none"] = "continuous"
    beside: str | None = None
    lora: dict[str, str] = field(default_factory=dict)
    max_num_seqs: int | None = None


def check(options: Options, stack: str, reads: Set[str], context: int | None) -> None:
    """Refuse what would be passed over in silence.

    Args:
        options: What a recipe settles.
        stack: The choice's.
        reads: Names of the fields that it reads, or that the stack ``beside`` it does.
        context: Tokens that the model was trained for, where that is known.

    Raises:
        UsageError: TW-L09 if an option is set that nobody reads, or a length that no prompt has.
    """
    plain = Options()
    changed = {field.name for field in fields(Options) if getattr(options, field.name) != getattr(plain, field.name)}
    if unread := sorted(changed - reads):
        known = ", ".join(sorted(reads)) or "none"
        raise UsageError(
            "TW-L09",
            tr("the stack {stack} does not support {unread}", stack=stack, unread=", ".join(unread)),
            tr("Supported options: {known}.", known=known),
        )
    if options.max_num_seqs is not None and options.max_num_seqs < 1:
        raise UsageError(
            "TW-L09",
            tr("max_num_seqs cannot be {count}", count=options.max_num_seqs),
            tr("Set an integer of 1 or more, or omit it."),
        )
    length = options.max_input_len
    if length is not None and not 1 <= length <= (context or length):
        most = tr(" up to {context:,}, the model's context", context=context) if context else ""
        raise UsageError(
            "TW-L09",
            tr("max_input_len cannot be {length}", length=length),
            tr("Set a number of tokens{most}, or omit it.", most=most),
        )
