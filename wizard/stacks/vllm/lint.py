"""Models of Triton's vLLM backend: ``model.json`` contains the engine's arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from wizard.kernel import bounded
from wizard.kernel.language import tr
from wizard.repository.linting import folders
from wizard.repository.linting.finding import Finding, Server
from wizard.repository.linting.folders import loaded
from wizard.repository.linting.instances import GPU
from wizard.repository.linting.model import Model, contents
from wizard.repository.linting.rules import StackRules

BACKEND = "vllm"
FILE = "model.json"

KNOWN = frozenset(
    """
    model served_model_name tokenizer tokenizer_mode skip_tokenizer_init trust_remote_code download_dir load_format
    config_format dtype kv_cache_dtype seed max_model_len distributed_executor_backend worker_use_ray
    tensor_parallel_size pipeline_parallel_size data_parallel_size enable_expert_parallel
    max_parallel_loading_workers block_size enable_prefix_caching disable_sliding_window swap_space cpu_offload_gb
    gpu_memory_utilization max_num_batched_tokens max_num_seqs max_logprobs disable_log_stats disable_log_requests
    enable_log_requests revision code_revision rope_scaling rope_theta hf_overrides tokenizer_revision quantization
    enforce_eager max_seq_len_to_capture disable_custom_all_reduce limit_mm_per_prompt mm_processor_kwargs
    language_model_only
    enable_lora enable_lora_bias max_loras max_lora_rank lora_dtype max_cpu_loras fully_sharded_loras device
    num_scheduler_steps multi_step_stream_outputs enable_chunked_prefill guided_decoding_backend
    structured_outputs_config speculative_config speculative_model num_speculative_tokens scheduling_policy
    override_generation_config generation_config enable_sleep_mode model_impl compilation_config kv_transfer_config
    ignore_patterns preemption_mode num_gpu_blocks_override use_v2_block_manager collect_detailed_traces
    otlp_traces_endpoint reasoning_parser task runner convert attention_backend async_scheduling additional_config
    """.split()  # noqa: SIM905 - one word each, for reading
)
"""Arguments of vLLM's engine in any release (docs.vllm.ai, "Engine Arguments"); each release accepts only its own."""


def findings(model: Model, models: Mapping[str, Model], server: Server) -> list[Finding]:
    """The engine's arguments, and the backend's requirements for config.pbtxt."""
    if model.backend != BACKEND:
        return []
    problems = folders.files(model, model.config.default_model_filename or FILE)
    for version in loaded(model):
        path = model.file(version, FILE)
        if path.is_file():
            problems += _arguments(model, version)
    policy = model.config
    if policy.HasField("model_transaction_policy") and not policy.model_transaction_policy.decoupled:
        message = tr("the vLLM backend is always decoupled, but config.pbtxt states otherwise")
        fix = tr("Set decoupled: true, or omit it and start the server without --disable-auto-complete-config.")
        problems.append(model.finding("R901", message, fix, severity="warning", at="model_transaction_policy"))
    return problems


def _arguments(model: Model, version: int) -> list[Finding]:
    where = f"{version}/{FILE}"
    try:
        engine: Any = bounded.loads(contents(model.file(version, FILE)))
    except (OSError, ValueError, RecursionError) as error:
        at = (error.lineno, error.colno) if isinstance(error, json.JSONDecodeError) else None
        return [
            model.finding(
                "R801", tr("not valid JSON: {error}", error=error), tr("Correct the JSON syntax."), file=where, at=at
            )
        ]
    if not isinstance(engine, dict):
        message = tr("the engine's arguments are not a single JSON object")
        return [model.finding("R801", message, tr('Use a single object such as {"model": "…"}.'), file=where)]
    findings = _several_gpus(model, engine)
    if not isinstance(engine.get("model"), str):
        message = tr("no model is set; vLLM would use its default")
        findings.append(model.finding("R803", message, tr('Add "model".'), file=where, severity="warning"))
    for key in sorted(set(engine) - KNOWN):
        message = tr(
            "{key!r} is not a known vLLM engine argument; an unsupported argument prevents the model from loading",
            key=key,
        )
        fix = tr("Check the options in `vllm serve --help` for the server's release.")
        findings.append(model.finding("R802", message, fix, file=where, severity="warning"))
    return findings


def _several_gpus(model: Model, engine: dict[str, Any]) -> list[Finding]:
    """vLLM over several GPUs must select them itself."""
    world = 1
    for key in ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size"):
        value = engine.get(key, 1)
        world *= value if isinstance(value, int) and value > 0 else 1
    # Triton's default with GPUs is KIND_GPU, but the backend's own default is set before.
    if world == 1 or not any(group.kind == GPU for group in model.config.instance_group):
        return []
    message = tr(
        "vLLM runs on {world} GPUs (tensor × pipeline × data parallel), but the instance group is KIND_GPU, which "
        "gives each instance one GPU",
        world=world,
    )
    at = "KIND_GPU" if re.search("KIND_GPU", model.text or "") else None
    return [model.finding("R404", message, tr("Use KIND_MODEL: vLLM selects the GPUs itself."), at=at)]


PORT = StackRules(findings)
