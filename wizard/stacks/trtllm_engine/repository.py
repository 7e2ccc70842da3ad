"""The model repository of TensorRT-LLM's C++ backend: ``preprocessing`` → ``tensorrt_llm`` → ``postprocessing``.

``ensemble`` chains the three; ``tensorrt_llm_bls`` does the same from a Python model. Complete configurations are
written here, for releases 0.7 to 1.2; the Python models are the backend's own, copied from its checkout or image
(`Repository.copied`), from ``all_models/inflight_batcher_llm``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr
from wizard.repository.config_pbtxt import DynamicBatching, Tensor, config_pbtxt, ensemble_pbtxt
from wizard.repository.repository import Repository, RepositoryFile
from wizard.stacks.trtllm_engine import tensors

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
"""Parameters of ``tensorrt_llm`` that ``settings`` may contain → first release (the backend's templates to 0.19.0)."""

UNTIL: dict[str, tuple[int, int]] = {"max_num_sequences": (0, 8), "enable_trt_overlap": (0, 10)}
"""The first release without it."""


def version_of(release: str) -> tensors.Version:
    """Major and minor of a backend's release.

    Args:
        release: ``0.13.0``, ``1.2.1``; a leading ``v`` and everything after the second number are ignored.

    Raises:
        UsageError: TW-L60 if it is not a release from 0.7 to 1.2.
    """
    parts = release.removeprefix("v").split(".")
    if len(parts) >= 2 and all(part.isdecimal() for part in parts[:2]):
        version = (int(parts[0]), int(parts[1]))
        if FIRST <= version <= LAST:
            return version
    raise UsageError(
        "TW-L60",
        tr("cannot generate a repository for TensorRT-LLM {release!r}", release=release),
        tr(
            "Use a release of TensorRT-LLM's Triton backend from 0.7 to 1.2, such as 0.13.0; later ones support "
            "only the LLM API."
        ),
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
    backend: str = "tensorrtllm",
    settings: Mapping[str, str] | None = None,
) -> Repository:
    """The repository that serves an engine.

    Args:
        release: Release of the backend, which must be the engine's TensorRT-LLM: ``0.13.0``.
        engine_dir: The engine's folder, as seen by the server.
        tokenizer_dir: The tokenizer's folder, as seen by the server.
        max_batch_size: No larger than the engine's own.
        decoupled: Whether answers can be streamed, so that a request may have many responses.
        bls: Whether to include ``tensorrt_llm_bls``.
        kv_cache_fraction: Share of the GPU memory left by the engine that its KV cache uses; None: the backend's
            default, 0.9.
        backend: ``tensorrtllm``; ``python`` runs ``tensorrt_llm/1/model.py`` instead (from 0.10).
        settings: More parameters of ``tensorrt_llm`` by their names in config.pbtxt (`SINCE`).

    Raises:
        UsageError: TW-L60 if the release is unknown, TW-L61 if it does not support one of ``settings``.
    """
    version = version_of(release)
    engine = _engine(version, engine_dir, kv_cache_fraction) | _known(release, version, settings or {})
    config = partial(_config, max_batch_size=max_batch_size)
    # Any number of requests may wait; templates before 0.12 do not set it.
    queue = DynamicBatching((max_batch_size,), max_queue_size=0 if version >= (0, 12) else None)
    before, after = _preprocessing(version, engine_dir, tokenizer_dir), _postprocessing(version, tokenizer_dir)
    early = queue if version >= (0, 19) else None
    more: dict[str, Any] = {"backend": backend, "decoupled": decoupled, "batching": queue}
    texts = {
        "preprocessing": config("preprocessing", tensors.preprocessing(version), before, batching=early),
        "tensorrt_llm": config("tensorrt_llm", tensors.engine(version), engine, **more),
        "postprocessing": config("postprocessing", tensors.postprocessing(version), after),
        "ensemble": _ensemble(version, max_batch_size),
    }
    if bls:
        texts["tensorrt_llm_bls"] = config("tensorrt_llm_bls", tensors.bls(version), _bls(version), decoupled=decoupled)
    return _repository(texts, engine_is_python=backend == "python")


def _repository(texts: dict[str, str], *, engine_is_python: bool) -> Repository:
    copied = [name for name in texts if name != "ensemble" and (name != "tensorrt_llm" or engine_is_python)]
    # Triton requires a version folder for every model, even an empty one.
    empty = [RepositoryFile(f"{name}/1/.keep", "") for name in texts if name not in copied]
    files = [RepositoryFile(f"{name}/config.pbtxt", text) for name, text in texts.items()]
    return Repository((*files, *empty), tuple(f"{name}/1" for name in copied))


def _config(name: str, wires: tuple[list[Tensor], list[Tensor]], parameters: dict[str, str], **more: Any) -> str:
    return config_pbtxt(name, inputs=wires[0], outputs=wires[1], parameters=parameters, **more)


def _ensemble(version: tensors.Version, max_batch_size: int) -> str:
    return ensemble_pbtxt(
        "ensemble",
        inputs=tensors.request(version),
        outputs=tensors.ensemble_outputs(version),
        steps=tensors.steps(version),
        max_batch_size=max_batch_size,
    )


def _engine(version: tensors.Version, engine_dir: str, kv_cache_fraction: float | None) -> dict[str, str]:
    parameters = {
        "gpt_model_type": "inflight_fused_batching",
        "gpt_model_path": engine_dir,
        "max_beam_width": "1",
        "exclude_input_in_output": "true",
        "FORCE_CPU_ONLY_INPUT_TENSORS": "no",
    }
    if kv_cache_fraction is not None:
        parameters["kv_cache_free_gpu_mem_fraction"] = str(kv_cache_fraction)
    if version >= (0, 10):  # required if one process leads and others compute (``--multi-model``)
        parameters["executor_worker_path"] = "/opt/tritonserver/backends/tensorrtllm/trtllmExecutorWorker"
    return parameters


def _known(release: str, version: tensors.Version, settings: Mapping[str, str]) -> dict[str, str]:
    for name in settings:
        if not SINCE.get(name, (9, 9)) <= version < UNTIL.get(name, (9, 9)):
            raise UsageError(
                "TW-L61",
                tr("TensorRT-LLM {release} has no parameter {name!r}", release=release, name=name),
                tr(
                    "Omit it, or use one of: {known}.",
                    known=", ".join(each for each in SINCE if SINCE[each] <= version < UNTIL.get(each, (9, 9))),
                ),
            )
    return dict(settings)


def _preprocessing(version: tensors.Version, engine_dir: str, tokenizer_dir: str) -> dict[str, str]:
    # The Python models read some parameters without checking that they exist; an empty path means none.
    parameters = {"tokenizer_dir": tokenizer_dir}
    if version < (0, 9):
        parameters["tokenizer_type"] = "auto"
    else:
        parameters["add_special_tokens"] = "true"
    if version >= (0, 12):
        parameters["gpt_model_path"] = engine_dir
        parameters["visual_model_path" if version < (0, 19) else "multimodal_model_path"] = ""
    return parameters


def _postprocessing(version: tensors.Version, tokenizer_dir: str) -> dict[str, str]:
    if version < (0, 9):
        return {"tokenizer_dir": tokenizer_dir, "tokenizer_type": "auto"}
    return {"tokenizer_dir": tokenizer_dir, **({"skip_special_tokens": "true"} if version >= (0, 11) else {})}


def _bls(version: tensors.Version) -> dict[str, str]:
    parameters = {"accumulate_tokens": "false"}
    if version >= (0, 9):
        parameters["tensorrt_llm_model_name"] = "tensorrt_llm"
    return parameters
