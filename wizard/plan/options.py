"""What a journey may settle beyond the choice: how a stack is built and served."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Literal

from wizard.kernel.errors import UsageError


@dataclass(frozen=True, slots=True)
class Options:
    """Each stack reads what concerns it.

    Attributes:
        max_input_len: Tokens of the longest prompt that a TensorRT engine is built for, where that is less than the
            choice's context; None: the choice's context.
        bls: Keep the business-logic-scripting model beside the ensemble.
        batching: ``continuous``, or ``none``: one request after another, as the plain pipeline does (transformers).
        beside: Another stack's model in the same repository, to compare with.
        lora: Adapters by name: folder or hub id.
    """

    max_input_len: int | None = None
    bls: bool = False
    batching: Literal["continuous", "none"] = "continuous"
    beside: Literal["transformers"] | None = None
    lora: dict[str, str] = field(default_factory=dict)


READS = {
    "trtllm-engine": {"max_input_len", "bls", "beside", "batching"},
    "transformers": {"batching"},
    "vllm": {"lora"},
}
"""Fields that each stack reads; the others' stacks read none."""


def check(options: Options, stack: str) -> None:
    """Refuse what would be passed over in silence.

    Raises:
        UsageError: TW-L09 if an option is set that ``stack`` does not read, or a length that is none.
    """
    plain = Options()
    changed = {one.name for one in fields(Options) if getattr(options, one.name) != getattr(plain, one.name)}
    if unread := sorted(changed - READS.get(stack, set())):
        known = ", ".join(sorted(READS.get(stack, set()))) or "none"
        raise UsageError("TW-L09", f"the stack {stack} has no option {', '.join(unread)}", f"Its options are: {known}.")
    if options.max_input_len is not None and options.max_input_len < 1:
        raise UsageError(
            "TW-L09", f"max_input_len cannot be {options.max_input_len}", "Give a number of tokens, or leave it out."
        )
