"""What an engine's log says that it took: KV-cache tokens, memory, CUDA graphs. Text in, a value out; never an error.

The wordings were seen in logs of llama.cpp (2024 to 2026), vLLM 0.5 to 0.27 and TensorRT-LLM 0.8 to 1.1; another
version's line that is not known leaves its figure unknown. Several ranks log the same; the fullest GPU's figure counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from wizard.advise.calibration import Measured
from wizard.kernel import proctable
from wizard.kernel.secrets import redact
from wizard.kernel.text import plain
from wizard.kernel.units import GIB, MIB
from wizard.serve.endpoint import Endpoint

KEPT_CHARACTERS = 300
"""Of a line that is kept as the evidence."""
UNITS = {"B": 1, "bytes": 1, "KB": 1024, "KiB": 1024, "MB": MIB, "MiB": MIB, "GB": GIB, "GiB": GIB}
"""All three engines divide by powers of 1024, also where they print ``GB``."""
NUMBER = r"(?P<number>\d[\d,]{0,14}(?:\.\d{1,6})?)"
BYTES = r"(?P<number>-?\d{1,12}(?:\.\d{1,6})?) ?(?P<unit>bytes|[KMG]i?B)"


class _Log:
    """The lines of a log, asked for figures; it remembers which lines gave one."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = [plain(line) for line in lines]
        self._used: set[int] = set()

    def all(self, *patterns: str) -> list[float]:
        """Every figure of the first of ``patterns`` that is there: bytes, or a count where it has no unit."""
        for pattern in patterns:
            found = [(n, hit) for n, line in enumerate(self._lines) if (hit := re.search(pattern, line))]
            if found:
                self._used.update(n for n, _ in found)
                return [_figure(hit) for _, hit in found]
        return []

    def used(self) -> tuple[str, ...]:
        """The lines that gave a figure."""
        return tuple(redact(self._lines[n].strip())[:KEPT_CHARACTERS] for n in sorted(self._used))


def _figure(hit: re.Match[str]) -> float:
    groups = hit.groupdict()
    return float(groups["number"].replace(",", "")) * UNITS[groups.get("unit", "B")]


def _one(figures: Sequence[float], which: Callable[[Sequence[float]], float] = max) -> int | None:
    return round(which(figures)) if figures else None


def _last(figures: Sequence[float]) -> float:
    return figures[-1]


def read(stack: str, lines: Iterable[str]) -> Measured:
    """What the log of ``stack`` says; all None for a stack that logs no memory."""
    log = _Log(lines)
    reader = READERS.get(stack)
    return replace(reader(log), lines=log.used()) if reader else Measured()


def _llamacpp(log: _Log) -> Measured:
    """Buffers of all devices are added up; the KV cache is logged once for each kind of layer."""
    weights = log.all(rf"model buffer size += +{BYTES}", rf"load_tensors: +\w+ buffer size = +{BYTES}")
    return Measured(
        weights_bytes=_one(weights, sum),
        kv_capacity_tokens=_one(
            log.all(rf"(?:llama_context|llama_new_context_with_model|llama_init_from_model): n_ctx += {NUMBER}")
        ),
        kv_bytes=_one(log.all(rf"(?:KV|RS) buffer size += +{BYTES}"), sum),
        activation_bytes=_one(log.all(rf"(?:compute|output|input) buffer size += +{BYTES}"), sum),
    )


def _vllm(log: _Log) -> Measured:
    loaded = rf"(?:Model loading|Loading model weights) took {BYTES}"
    weights = _one(log.all(loaded, rf"{BYTES} for weight", rf"weights take {BYTES}", rf"weights memory: {BYTES}"))
    runtime = _one(
        log.all(
            rf"non-torch forward increase memory: {BYTES}",
            rf"non_torch_memory takes {BYTES}",
            rf"{BYTES} for non-torch memory",
        )
    )
    consumed = _one(log.all(rf"{BYTES} for consumed memory")) if runtime is None else None
    if consumed is not None and weights is not None:
        runtime = consumed - weights
    return Measured(
        weights_bytes=weights,
        kv_capacity_tokens=_vllm_tokens(log),
        kv_bytes=_one(
            log.all(rf"Available KV cache memory: {BYTES}", rf"memory reserved for KV Cache is {BYTES}"), min
        ),
        activation_bytes=_one(
            log.all(
                rf"torch peak memory increase: {BYTES}",
                rf"PyTorch activation peak memory takes {BYTES}",
                rf"{BYTES} for peak activation",
            )
        ),
        graphs_bytes=_one(log.all(rf"Graph capturing finished in .*took {BYTES}", rf"{BYTES} for CUDAGraph memory")),
        runtime_bytes=runtime,
    )


def _vllm_tokens(log: _Log) -> int | None:
    """Tokens as they are, or blocks times what the logged concurrency says that a block holds (engine V0)."""
    tokens = log.all(rf"GPU KV cache size: {NUMBER} tokens")
    if tokens:
        return _one(tokens, min)
    blocks = _one(log.all(rf"# (?:GPU|cuda|CUDA) blocks: {NUMBER}"), min)
    length = log.all(rf"Maximum concurrency for {NUMBER} tokens per request")
    times = log.all(rf"tokens per request: {NUMBER}x")
    if not (blocks and length and times):
        return None
    return blocks * round(length[0] * times[0] / blocks)


def _tensorrt_llm(log: _Log) -> Measured:
    """An engine's log, or the LLM API's, which allocates a small KV cache first: the last one counts.

    What the LLM API calls "outside torch" is left out: other processes' memory is in it.
    """
    parts = (rf"Allocated {BYTES} for execution context memory", rf"Allocated {BYTES} GPU memory for runtime buffers")
    engine = [_one(log.all(one)) for one in (*parts, rf"Allocated {BYTES} GPU memory for decoder")]
    known = [one for one in engine if one is not None]
    inside = _one(log.all(rf"allocated during inference \(inside torch\) in memory usage profiling: {BYTES}"))
    return Measured(
        weights_bytes=_one(
            log.all(
                rf"after loading model weights \(inside torch\) in memory usage profiling: {BYTES}",
                rf"Loaded engine size: {BYTES}",
                rf"Use {BYTES} for model weights",
            )
        ),
        kv_capacity_tokens=_tensorrt_llm_tokens(log),
        kv_bytes=_one(
            log.all(rf"Allocated {BYTES} for max tokens in paged KV cache", rf"Allocate {BYTES} for k/v cache"), _last
        ),
        activation_bytes=inside if inside is not None else sum(known) if known else None,
    )


def _tensorrt_llm_tokens(log: _Log) -> int | None:
    tokens = log.all(rf"for max tokens in paged KV cache \({NUMBER}\)", rf"Using {NUMBER} tokens in paged KV cache")
    if tokens:
        return _one(tokens, _last)
    blocks = _one(log.all(rf"Number of blocks in KV cache primary pool: {NUMBER}"), _last)
    size = _one(log.all(rf"[Tt]okens per block[:=] ?{NUMBER}"), _last)
    return blocks * size if blocks and size else None


READERS: dict[str, Callable[[_Log], Measured]] = {
    "llamacpp": _llamacpp,
    "vllm": _vllm,
    "trtllm-llmapi": _tensorrt_llm,
    "trtllm-engine": _tensorrt_llm,
}


def measure(endpoint: Endpoint, stack: str, log: Iterable[str]) -> Measured:
    """What the server of ``endpoint`` took, just after it became ready: its log, and on the CPU its processes' memory.

    llama.cpp says nothing of what is beside its buffers; that is the processes' memory without the KV cache, which it
    has written to already. Its compute buffers are not touched before the first request, and the model's file, mapped
    into memory, is not among what `proctable.memory` counts.
    """
    found = read(stack, log)
    if stack != "llamacpp" or found.kv_bytes is None:
        return found
    held = sum(proctable.memory(row.pid) or 0 for row in proctable.group_members(endpoint.pid))
    copied = _one(_Log(log).all(rf"(?<!Mapped) model buffer size += +{BYTES}"), sum) or 0
    return replace(found, runtime_bytes=max(0, held - found.kv_bytes - copied))
