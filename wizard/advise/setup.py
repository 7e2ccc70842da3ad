"""What is enumerated, judged, measured out and timed: one way to run one model on one group of GPUs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Setup:
    """One configuration, before it is known whether it works.

    Attributes:
        stack: One of `wizard.catalog.stacks.names`.
        dtype: Of activations and of what is not quantised: ``bfloat16`` or ``float16``.
        quantization: A format of `wizard.advise.formats`; ``none`` leaves the weights in ``dtype``.
        kv_cache_dtype: ``auto`` (as ``dtype``) or ``fp8``.
        tp: Tensor parallel size.
        pp: Pipeline parallel size.
        triton_bytes: Of one GPU, what Triton itself holds beside the engine (`memory.triton`).
        correction_bytes: Added to the overhead of one GPU because of what was measured there (`calibration`).
    """

    stack: str
    dtype: str
    quantization: str
    kv_cache_dtype: str = "auto"
    tp: int = 1
    pp: int = 1
    triton_bytes: int = 0
    correction_bytes: int = 0

    @property
    def gpus(self) -> int:
        """GPUs of one copy."""
        return self.tp * self.pp

    @property
    def kv_bytes(self) -> int:
        """Bytes of one element of the KV cache."""
        return 1 if self.kv_cache_dtype == "fp8" else 2
