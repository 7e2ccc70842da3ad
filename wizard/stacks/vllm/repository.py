"""Configuration of vLLM: Triton's own vLLM backend in NVIDIA's images, and the arguments of every vLLM here.

Source: triton-inference-server/vllm_backend, ``src/model.py`` and samples, r23.10 to main of 2026-01-09.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from wizard.advise import encoders
from wizard.advise.advice import Choice
from wizard.advise.memory import recurrent
from wizard.catalog.float16 import overflows
from wizard.catalog.releases import version
from wizard.catalog.stacks import on_gpu
from wizard.model.facts import ModelFacts
from wizard.repository.config_pbtxt import InstanceGroup, Tensor, config_pbtxt
from wizard.repository.proxy import Engine
from wizard.repository.python_models import described
from wizard.repository.repository import Repository, RepositoryFile

Release: TypeAlias = tuple[int, int]
"""Year and month of an image: ``(26, 7)``."""

FIRST: Release = (23, 10)
"""The only release whose backend does not complete its configuration, so all of it is written."""
LAST_LOG_REQUESTS: Release = (25, 8)
"""The next release's vLLM no longer supports ``disable_log_requests``, and fails on an unknown argument."""
CHUNKS = (0, 11)
"""First vLLM whose only engine processes long prompts in chunks (``AsyncLLMEngine`` of ``engine/async_llm_engine.py``
in the wheels 0.10.2 and 0.11.0). An older one may process a prompt as a whole, and rejects a step that is shorter.
"""
LAST_LORA_TEXT: Release = (24, 9)
"""Up to this release the backend calls ``.lower()`` on ``enable_lora``, so it is the text "true"."""

FIRST_INPUTS = (
    Tensor("text_input", "STRING"),
    Tensor("stream", "BOOL", optional=True),
    Tensor("sampling_parameters", "STRING", optional=True),
)
FIRST_OUTPUTS = (Tensor("text_output", "STRING", (-1,)),)

ENGINE = Engine(Path(__file__).parent / "engine" / "vllm_engine.py", every_setting=True)
"""Natively: vLLM behind our proxy."""

HALF = ("awq", "gptq")
"""Formats whose kernels compute in float16."""


def release_of(choice: Choice) -> Release | None:
    """The release of the serving image, from a tag such as ``26.07-vllm-python-py3``; None without an image."""
    match = re.match(r"(\d\d)\.(\d\d)\b", choice.release)
    return (int(match[1]), int(match[2])) if match else None


def engine_args(model: str, facts: ModelFacts, choice: Choice, draft: str | None = None) -> dict[str, Any]:
    """Arguments of vLLM's ``AsyncEngineArgs`` that every release since 0.2 supports; defaults are omitted.

    Args:
        model: The model's folder or name, as seen by vLLM.
        facts: The model: its stored quantization, which vLLM detects.
        choice: The choice, for everything else.
        draft: The draft model's folder, as seen by vLLM; None: there is none.
    """
    stored = facts.quantization.format if facts.quantization else None
    packed = facts.quantization is not None and facts.quantization.method == "compressed-tensors"  # keeps its dtype
    half = (choice.quantization or "").endswith(HALF) and not packed and not overflows(facts.architecture)
    args: dict[str, Any] = {
        "model": model,
        "dtype": "float16" if half else choice.dtype if choice.dtype in ("bfloat16", "float16", "float32") else "auto",
        "max_model_len": choice.max_seq_len,
        "max_num_seqs": choice.max_batch_size,
    }
    if choice.gpu_memory_utilization is not None:
        args["gpu_memory_utilization"] = choice.gpu_memory_utilization
    if choice.tp > 1:
        args["tensor_parallel_size"] = choice.tp
    if choice.pp > 1:
        args["pipeline_parallel_size"] = choice.pp
    if choice.dp > 1:
        args["data_parallel_size"] = choice.dp
    if choice.expert_parallel:
        args["enable_expert_parallel"] = True
    if choice.speculative:
        args["speculative_config"] = _speculation(choice, draft)
    if kv := _cache_dtype(facts, choice):
        args["kv_cache_dtype"] = kv
    if text_only := encoders.setting(facts, choice.stack, choice.engine_version):
        args[text_only] = True
    if choice.quantization == "fp8" and stored is None:
        args["quantization"] = "fp8"  # vLLM quantizes the weights while loading
    return args


def _cache_dtype(facts: ModelFacts, choice: Choice) -> str:
    """The type of the KV cache to ask for; empty for vLLM's default, which is the checkpoint's if it has scales."""
    if choice.kv_cache_dtype.startswith("fp8"):
        return "fp8"
    name = choice.dtype if choice.kv_cache_dtype == "auto" else choice.kv_cache_dtype
    since = on_gpu(choice.stack).cache.named.get(name)
    scaled = facts.quantization is not None and facts.quantization.kv_dtype is not None
    return name if scaled and since and version(choice.engine_version) >= version(since) else ""


def _speculation(choice: Choice, draft: str | None) -> dict[str, Any]:
    """Fields of vLLM's ``SpeculativeConfig`` (``config/speculative.py``)."""
    settings: dict[str, Any] = {"method": choice.speculative, "num_speculative_tokens": choice.proposed_tokens}
    if choice.speculative == "ngram":
        settings["prompt_lookup_max"] = 4  # as in its example; without it, vLLM looks for 5 tokens at a time
    return {**settings, "model": draft} if draft else settings


def step_args(facts: ModelFacts, choice: Choice) -> dict[str, Any]:
    """Arguments for which the memory was counted; empty if that is not known (`Choice.step_tokens`).

    vLLM's own defaults differ by GPU, by release and by how it is started (``engine/arg_utils.py`` of the wheels 0.9.2
    to 0.33.0: 2,048 to 16,384 tokens a step). With prefix caching, newer releases keep two recurrent states per
    sequence instead of the one that is counted (``mamba_cache_mode`` ``align``, default from 0.27.1 on).
    """
    if choice.step_tokens is None:
        return {}
    most = 1 + choice.proposed_tokens  # tokens of a sequence in a step
    return {
        "max_num_batched_tokens": max(choice.step_tokens, choice.max_batch_size * most),
        "enable_chunked_prefill": True,
        "enable_prefix_caching": not recurrent(facts.anatomy),
    }


def repository(
    model_name: str,
    *,
    model: str,
    facts: ModelFacts,
    choice: Choice,
    lora: Mapping[str, str] | None = None,
    lora_rank: int | None = None,
    draft: str | None = None,
) -> Repository:
    """The repository that serves ``facts`` as ``choice`` with Triton's vLLM backend.

    The backend completes its inputs and outputs, so Triton must be started without ``--disable-auto-complete-config``,
    except for release 23.10.

    Args:
        model_name: Name in Triton.
        model: The model's folder or name, as seen by the server.
        facts: The model: chat format, questions and stored quantization.
        choice: The choice; its ``release`` determines the supported arguments.
        lora: Name of each LoRA adapter → its folder, as seen by the server.
        lora_rank: One of vLLM's ranks, at least every adapter's; None: its default.
        draft: See `engine_args`.
    """
    release = release_of(choice)
    args = engine_args(model, facts, choice, draft)
    if version(choice.engine_version) >= CHUNKS:
        args |= step_args(facts, choice)
    if release and release <= LAST_LOG_REQUESTS:
        args["disable_log_requests"] = True
    if lora:
        args["enable_lora"] = "true" if release and release <= LAST_LORA_TEXT else True
        if lora_rank:
            args["max_lora_rank"] = lora_rank
    whole = release == FIRST
    config = config_pbtxt(
        model_name,
        backend="vllm",
        inputs=FIRST_INPUTS if whole else (),
        outputs=FIRST_OUTPUTS if whole else (),
        # The backend reads "true" or "false" here; releases before 24.08 have no metrics and ignore it.
        parameters={"REPORT_CUSTOM_METRICS": "true", **described(facts, choice)},
        decoupled=True,
        # With KIND_GPU the backend rejects a model on several GPUs.
        instances=(InstanceGroup(1, "KIND_MODEL"),),
    )
    files = [RepositoryFile(f"{model_name}/config.pbtxt", config), _json(f"{model_name}/1/model.json", args)]
    if lora:
        files.append(_json(f"{model_name}/1/multi_lora.json", lora))
    return Repository(tuple(files))


def _json(path: str, value: Mapping[str, Any]) -> RepositoryFile:
    return RepositoryFile(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")
