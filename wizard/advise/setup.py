"""The value that is enumerated, validated, sized and timed: one way to run a model on a group of GPUs."""

from __future__ import annotations

from dataclasses import dataclass

from wizard.model.anatomy import Anatomy, Parts

LOOKAHEAD = {"ngram": 5, "eagle3": 3}
"""Method of speculative decoding → proposed tokens. N-grams: ``num_speculative_tokens`` in vLLM's example
(docs/features/speculative_decoding/n_gram.md), and what TensorRT-LLM takes for few requests (``AutoDecodingConfig``).
EAGLE-3: TensorRT-LLM's example (examples/llm_speculative_decoding.html). A model's layers for multi-token prediction
propose a token each.
"""


@dataclass(frozen=True, slots=True)
class Draft:
    """A model that proposes tokens, on the same GPUs and split in the same way.

    Attributes:
        anatomy: Its layers.
        stored: Bytes of its weights, without what it shares with the model.
    """

    anatomy: Anatomy
    stored: Parts


@dataclass(frozen=True, slots=True)
class Setup:
    """A configuration, before it is known to work.

    Attributes:
        stack: One of `wizard.catalog.stacks.names`.
        dtype: Type of activations and unquantized parts: ``bfloat16`` or ``float16``.
        quantization: A format of `wizard.model.formats`; ``none`` keeps the weights in ``dtype``.
        kv_cache_dtype: ``auto`` (as ``dtype``) or ``fp8``.
        tp: Tensor parallel size.
        pp: Pipeline parallel size.
        dp: Data parallel size: ranks of ``tp`` GPUs, each with the whole attention and the cache of its users, that
            share the experts.
        expert_parallel: Whether each rank holds whole experts instead of a part of every expert.
        speculative: Method of speculative decoding, as vLLM names it; empty: none.
        draft: The model that proposes tokens (`speculation.prepared`); None: the method has none.
        replicas: Copies of it, each on its own GPUs, that share the users.
        triton_bytes: Memory on each GPU that Triton itself uses besides the engine (`memory.triton`).
        correction_bytes: Added to the overhead of a GPU because of measurements (`calibration`).
    """

    stack: str
    dtype: str
    quantization: str
    kv_cache_dtype: str = "auto"
    tp: int = 1
    pp: int = 1
    dp: int = 1
    expert_parallel: bool = False
    speculative: str = ""
    draft: Draft | None = None
    replicas: int = 1
    triton_bytes: int = 0
    correction_bytes: int = 0

    @property
    def gpus(self) -> int:
        """GPUs of one replica."""
        return self.tp * self.pp * self.dp

    @property
    def shares(self) -> int:
        """Parts into which the users are divided: one for each data-parallel rank of each replica."""
        return self.replicas * self.dp

    @property
    def lookahead(self) -> int:
        """Tokens of a sequence that are proposed and verified in a step."""
        own = self.draft.anatomy.layers if self.draft else 0
        return LOOKAHEAD.get(self.speculative, own)

    @property
    def unestimated(self) -> str:
        """What prevents an estimate of its speed, because no such server was measured; empty if nothing does."""
        if self.dtype == "float32":
            return "float32"
        if self.speculative:
            return "speculative"
        return "experts" if self.expert_parallel and self.dp == 1 else ""

    @property
    def kv_bytes(self) -> int:
        """Bytes of a KV cache element."""
        return 1 if self.kv_cache_dtype == "fp8" else self.element_bytes

    @property
    def element_bytes(self) -> int:
        """Bytes of an element in ``dtype``."""
        return 4 if self.dtype == "float32" else 2
