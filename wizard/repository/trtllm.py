"""The model repository of TensorRT-LLM's C++ backend: ``preprocessing`` → ``tensorrt_llm`` → ``postprocessing``.

``ensemble`` chains the three; ``tensorrt_llm_bls`` does the same from a Python model. The configurations are written
here, whole, for releases 0.7 to 1.2; the Python models stay the backend's own and are copied from its checkout or image
(`Repository.copied`), from ``all_models/inflight_batcher_llm``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Literal

from wizard.kernel.errors import UsageError
from wizard.repository import trtllm_tensors as tensors
from wizard.repository.config_pbtxt import DataType, DynamicBatching, Tensor, config_pbtxt, ensemble_pbtxt
from wizard.repository.repository import Repository, RepositoryFile

FIRST, LAST = (0, 7), (1, 2)

SINCE: dict[str, tuple[int, int]] = {
    "max_tokens_in_paged_kv_cache": (0, 7),
    "max_attention_window_size": (0, 7),
    "batch_scheduler_policy": (0, 7),
    "enable_kv_cache_reuse": (0, 7),
    "max_num_sequences": (0, 7),
    "enable_trt_overlap": (0, 7),
    "enable_chunked_context": (0, 8),
    "gpu_device_ids": (0, 8),
    "normalize_log_probs": (0, 8),
    "decoding_mode": (0, 9),
    "lora_cache_gpu_memory_fraction": (0, 9),
    "lora_cache_host_memory_bytes": (0, 9),
    "lora_cache_max_adapter_size": (0, 9),
    "lora_cache_optimal_adapter_size": (0, 9),
    "medusa_choices": (0, 9),
    "cancellation_check_period_ms": (0, 10),
    "gpu_weights_percent": (0, 10),
    "iter_stats_max_iterations": (0, 10),
    "kv_cache_host_memory_bytes": (0, 10),
    "kv_cache_onboard_blocks": (0, 10),
    "request_stats_max_iterations": (0, 10),
    "sink_token_length": (0, 10),
    "stats_check_period_ms": (0, 10),
    "encoder_model_path": (0, 11),
    "enable_context_fmha_fp32_acc": (0, 12),
    "multi_block_mode": (0, 12),
    "participant_ids": (0, 13),
    "cross_kv_cache_fraction": (0, 14),
    "cuda_graph_cache_size": (0, 15),
    "cuda_graph_mode": (0, 15),
    "speculative_decoding_fast_logits": (0, 15),
    "eagle_choices": (0, 16),
    "guided_decoding_backend": (0, 19),
    "lookahead_ngram_size": (0, 19),
    "lookahead_verification_set_size": (0, 19),
    "lookahead_window_size": (0, 19),
    "lora_prefetch_dir": (0, 19),
    "num_nodes": (0, 19),
    "tokenizer_dir": (0, 19),
    "xgrammar_tokenizer_info_path": (0, 19),
}
"""Parameters of ``tensorrt_llm`` that ``settings`` may name → first release (the backend's templates to 0.19.0)."""

UNTIL: dict[str, tuple[int, int]] = {"max_num_sequences": (0, 8), "enable_trt_overlap": (0, 10)}
"""The first release without it."""


def version_of(release: str) -> tensors.Version:
    """Major and minor of a backend's release.

    Args:
        release: ``0.13.0``, ``1.2.1``; a leading ``v`` and whatever follows the second number are ignored.

    Raises:
        UsageError: TW-L60 if it is no release from 0.7 to 1.2.
    """
    parts = release.removeprefix("v").split(".")
    if len(parts) >= 2 and all(part.isdecimal() for part in parts[:2]):
        version = (int(parts[0]), int(parts[1]))
        if FIRST <= version <= LAST:
            return version
    raise UsageError(
        "TW-L60",
        f"there is no repository for TensorRT-LLM {release!r}",
        "Name a release of its Triton backend from 0.7 to 1.2, such as 0.13.0; later ones serve the LLM API only.",
    )


def repository(
    release: str,
    *,
    engine_dir: str,
    tokenizer_dir: str,
    max_batch_size: int,
    decoupled: bool = True,
    bls: bool = True,
    kv_cache_fraction: float | None = None,
    instances: int = 1,
    batching_strategy: Literal["v1", "inflight_batching", "inflight_fused_batching"] = "inflight_fused_batching",
    max_beam_width: int = 1,
    max_queue_delay_microseconds: int = 0,
    max_queue_size: int = 0,
    exclude_input_in_output: bool = True,
    add_special_tokens: bool = True,
    accumulate_tokens: bool = False,
    logits_type: DataType = "FP32",
    backend: str = "tensorrtllm",
    settings: Mapping[str, str] | None = None,
) -> Repository:
    """The repository that serves one engine.

    Args:
        release: Of the backend, which must be the engine's TensorRT-LLM: ``0.13.0``.
        engine_dir: The engine's folder, as the server will see it.
        tokenizer_dir: The tokenizer's folder, as the server will see it.
        max_batch_size: No larger than the engine's own.
        decoupled: Answers can be streamed; then one request may have many responses.
        bls: With ``tensorrt_llm_bls``.
        kv_cache_fraction: Share of the GPU memory left beside the engine that its KV cache takes; None is the
            backend's own, 0.9.
        instances: Copies of each Python model.
        batching_strategy: ``gpt_model_type`` of the backend.
        max_beam_width: As the engine was built.
        max_queue_delay_microseconds: How long a request may wait for others.
        max_queue_size: Requests that may wait, 0 for any number; from 0.12.
        exclude_input_in_output: The answer without the prompt.
        add_special_tokens: The tokenizer puts its begin token before the prompt; from 0.9.
        accumulate_tokens: Each response of BLS holds all of the text so far.
        logits_type: Type of the logits: the engine's, from 0.17; before, always FP32.
        backend: ``tensorrtllm``; ``python`` runs ``tensorrt_llm/1/model.py`` instead (from 0.10).
        settings: More parameters of ``tensorrt_llm`` by their names in config.pbtxt (`SINCE`).

    Raises:
        UsageError: TW-L60 if there is no such release, TW-L61 if it does not know one of ``settings``.
    """
    version = version_of(release)
    logits: DataType = logits_type if version >= (0, 17) else "FP32"
    queue = DynamicBatching(
        (max_batch_size,), max_queue_delay_microseconds, max_queue_size if version >= (0, 12) else None
    )
    parameters = {
        "gpt_model_type": batching_strategy,
        "gpt_model_path": engine_dir,
        "max_beam_width": str(max_beam_width),
        "exclude_input_in_output": _flag(exclude_input_in_output),
        **_engine(version, kv_cache_fraction),
        **_known(release, version, settings or {}),
    }
    python = partial(_config, max_batch_size=max_batch_size, instances=instances)
    before = _preprocessing(version, engine_dir, tokenizer_dir, add_special_tokens)
    asked = tensors.request(version)
    texts = {
        "preprocessing": python(
            "preprocessing", tensors.preprocessing(version), before, batching=queue if version >= (0, 19) else None
        ),
        "tensorrt_llm": _config(
            "tensorrt_llm",
            tensors.engine(version, logits),
            parameters,
            max_batch_size=max_batch_size,
            backend=backend,
            decoupled=decoupled,
            batching=queue,
        ),
        "postprocessing": python(
            "postprocessing", tensors.postprocessing(version, logits), _postprocessing(version, tokenizer_dir)
        ),
        "ensemble": ensemble_pbtxt(
            "ensemble",
            inputs=asked,
            outputs=tensors.ensemble_outputs(version, logits),
            steps=tensors.steps(version, logits),
            max_batch_size=max_batch_size,
        ),
    }
    if bls:
        wires = (asked, tensors.bls_outputs(version, logits))
        texts["tensorrt_llm_bls"] = python(
            "tensorrt_llm_bls", wires, _bls(version, accumulate_tokens), decoupled=decoupled
        )
    return _repository(texts, engine_is_python=backend == "python")


def _repository(texts: dict[str, str], *, engine_is_python: bool) -> Repository:
    copied = [name for name in texts if name != "ensemble" and (name != "tensorrt_llm" or engine_is_python)]
    # Triton wants a version's folder of every model, also where there is nothing to put into it.
    empty = [RepositoryFile(f"{name}/1/.keep", "") for name in texts if name not in copied]
    files = [RepositoryFile(f"{name}/config.pbtxt", text) for name, text in texts.items()]
    return Repository((*files, *empty), tuple(f"{name}/1" for name in copied))


def _config(
    name: str,
    wires: tuple[list[Tensor], list[Tensor]],
    parameters: dict[str, str],
    *,
    max_batch_size: int,
    instances: int = 1,
    backend: str = "python",
    decoupled: bool = False,
    batching: DynamicBatching | None = None,
) -> str:
    return config_pbtxt(
        name,
        inputs=wires[0],
        outputs=wires[1],
        parameters=parameters,
        backend=backend,
        decoupled=decoupled,
        max_batch_size=max_batch_size,
        instances=instances,
        batching=batching,
    )


def _engine(version: tensors.Version, kv_cache_fraction: float | None) -> dict[str, str]:
    found = {"FORCE_CPU_ONLY_INPUT_TENSORS": "no"}
    if kv_cache_fraction is not None:
        found["kv_cache_free_gpu_mem_fraction"] = str(kv_cache_fraction)
    if version >= (0, 10):  # needed where one process leads and others compute (``--multi-model``)
        found["executor_worker_path"] = "/opt/tritonserver/backends/tensorrtllm/trtllmExecutorWorker"
    return found


def _flag(value: bool) -> str:
    return str(value).lower()


def _known(release: str, version: tensors.Version, settings: Mapping[str, str]) -> dict[str, str]:
    for name in settings:
        if not SINCE.get(name, (9, 9)) <= version < UNTIL.get(name, (9, 9)):
            raise UsageError(
                "TW-L61",
                f"TensorRT-LLM {release} has no parameter {name!r}",
                "Leave it out, or name one of: "
                + ", ".join(each for each in SINCE if SINCE[each] <= version < UNTIL.get(each, (9, 9)))
                + ".",
            )
    return dict(settings)


def _preprocessing(version: tensors.Version, engine_dir: str, tokenizer_dir: str, special: bool) -> dict[str, str]:
    # The Python models read some parameters without asking whether they are there; an empty path is none.
    found = {"tokenizer_dir": tokenizer_dir}
    if version < (0, 9):
        found["tokenizer_type"] = "auto"
    else:
        found["add_special_tokens"] = _flag(special)
    if version >= (0, 12):
        found["gpt_model_path"] = engine_dir
        found["visual_model_path" if version < (0, 19) else "multimodal_model_path"] = ""
    return found


def _postprocessing(version: tensors.Version, tokenizer_dir: str) -> dict[str, str]:
    if version < (0, 9):
        return {"tokenizer_dir": tokenizer_dir, "tokenizer_type": "auto"}
    return {"tokenizer_dir": tokenizer_dir, **({"skip_special_tokens": "true"} if version >= (0, 11) else {})}


def _bls(version: tensors.Version, accumulate_tokens: bool) -> dict[str, str]:
    found = {"accumulate_tokens": _flag(accumulate_tokens)}
    if version >= (0, 9):
        found["tensorrt_llm_model_name"] = "tensorrt_llm"
    return found
