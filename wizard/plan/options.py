"""A recipe's options beyond the choice: how a stack is built and served."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field, fields
from typing import ClassVar, Literal

from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr
from wizard.kernel.values import STRICT


@dataclass(frozen=True, slots=True)
class Options:
    """Options of the stacks; each stack reads those that apply to it.

    Attributes:
        max_input_len: Maximum prompt length of a TensorRT engine, if less than the choice's context; None: the choice's
            context.
        bls: Whether to keep the business-logic-scripting model beside the ensemble.
        batching: ``continuous``, or ``none``: one request after another, as the plain pipeline (transformers).
        beside: Name of a second stack that serves the same model from the same repository, for comparison.
        lora: Adapters by name: folder or model ID.
        max_num_seqs: Concurrent sequences of vLLM if its KV cache has room, beyond the choice's users with full
            contexts; None: no more than those.
    """

    __pydantic_config__: ClassVar = STRICT
    max_input_len: int | None = None
    bls: bool = False
    batching: Literal["continuous", "none"] = "continuous"
    beside: str | None = None
    lora: dict[str, str] = field(default_factory=dict)
    max_num_seqs: int | None = None


def check(options: Options, stack: str, reads: Set[str], context: int | None) -> None:
    """Reject options that would be silently ignored.

    Args:
        options: A recipe's options.
        stack: The choice's.
        reads: Names of the fields that it reads, or that the stack ``beside`` it reads.
        context: Tokens that the model was trained for, if known.

    Raises:
        UsageError: TW-L09 if an option is set that no stack reads, or an impossible length.
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
