"""What a journey may settle beyond the choice: how a stack is built and served."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """Each stack reads what concerns it.

    Attributes:
        max_input_len: Tokens of the longest prompt that a TensorRT engine is built for; None: the choice's context.
        max_output_len: Tokens of the longest answer, for releases that ask for it (up to 0.10).
        bls: Keep the business-logic-scripting model beside the ensemble.
        batching: ``continuous``, or ``none``: one request after another, as the plain pipeline does (transformers).
        beside: Another stack's model in the same repository, to compare with: ``transformers``.
        lora: Adapters by name: folder or hub id (vLLM).
    """

    max_input_len: int | None = None
    max_output_len: int | None = None
    bls: bool = False
    batching: str = "continuous"
    beside: str | None = None
    lora: tuple[tuple[str, str], ...] = ()
