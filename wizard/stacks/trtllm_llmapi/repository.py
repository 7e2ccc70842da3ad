"""The arguments of TensorRT-LLM's LLM API, and its model repository in an image: ``model.yaml`` for the image's own
model.

Sources: ``all_models/llmapi`` of tensorrtllm_backend v0.19.0 and ``triton_backend/all_models/llmapi`` of
NVIDIA/TensorRT-LLM (044a90d2, 0a710573). Inputs that only some releases read are declared for all: unused declarations
cost nothing, and a request with an undeclared input is rejected.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from wizard.advise.advice import Choice
from wizard.model.facts import ModelFacts
from wizard.repository.config_pbtxt import Tensor, config_pbtxt
from wizard.repository.proxy import Engine
from wizard.repository.python_models import described
from wizard.repository.repository import Repository, RepositoryFile

ENGINE = Engine(Path(__file__).parent / "engine" / "trtllm_engine.py")
"""Natively: the LLM API behind our proxy."""

Value: TypeAlias = "str | int | float | bool | Values"
Values: TypeAlias = Mapping[str, Value]

INPUTS = (
    Tensor("text_input", "STRING", (-1,)),
    Tensor("streaming", "BOOL", optional=True),
    Tensor("stop", "BOOL", optional=True),
    Tensor("sampling_param_best_of", "INT32", optional=True),
    Tensor("sampling_param_beam_width", "INT32", optional=True),
    Tensor("sampling_param_temperature", "FP32", optional=True),
    Tensor("sampling_param_top_k", "INT32", optional=True),
    Tensor("sampling_param_top_p", "FP32", optional=True),
    Tensor("sampling_param_frequency_penalty", "FP32", optional=True),
    Tensor("sampling_param_presence_penalty", "FP32", optional=True),
    Tensor("sampling_param_max_tokens", "INT32", optional=True),
    Tensor("sampling_param_stop", "STRING", (-1,), optional=True),
    Tensor("sampling_param_seed", "UINT64", optional=True),
    Tensor("sampling_param_exclude_input_from_output", "BOOL", optional=True),
    Tensor("return_finish_reason", "BOOL", optional=True),
    Tensor("return_stop_reason", "BOOL", optional=True),
    Tensor("return_cumulative_logprob", "BOOL", optional=True),
)
OUTPUTS = (
    Tensor("text_output", "STRING", (-1,)),
    Tensor("finish_reason", "STRING", (-1,)),
    Tensor("stop_reason", "STRING", (-1,)),
    Tensor("cumulative_logprob", "FP32", (-1,)),
)


def llm_args(
    model: str, choice: Choice, *, limits: bool = True, steps: bool = True, draft: str | None = None
) -> dict[str, Value]:
    """Arguments of ``tensorrt_llm.LLM``.

    Args:
        model: The model's folder, as seen by the engine.
        choice: The choice: split over GPUs, KV cache and limits.
        limits: Whether the release's LLM accepts ``max_batch_size`` and ``max_seq_len``.
        steps: Whether it accepts the size of a step, chunked prompts, and reuse of the KV cache.
        draft: The draft model's folder, as seen by the engine; None: there is none.
    """
    arguments: dict[str, Value] = {
        "model": model,
        "tensor_parallel_size": choice.tp * choice.dp,
        "pipeline_parallel_size": choice.pp,
    }
    if choice.dp > 1:  # as many ranks as GPUs, each with limits of its own
        arguments["enable_attention_dp"] = True
    if choice.expert_parallel:  # the rest of the GPUs, here 1, splits each expert
        arguments["moe_expert_parallel_size"] = choice.tp * choice.dp
    if choice.speculative:
        arguments["speculative_config"] = _speculation(choice, draft)
    if limits:
        arguments |= {"max_batch_size": choice.max_batch_size, "max_seq_len": choice.max_seq_len}
    cache: dict[str, Value] = {}
    if steps and choice.step_tokens:  # its default, 8,192 tokens, is not what the memory was counted for on every GPU
        most = 1 + choice.proposed_tokens  # tokens of a sequence in a step
        arguments["max_num_tokens"] = max(choice.step_tokens, choice.max_batch_size * most)
        arguments["enable_chunked_prefill"] = choice.max_seq_len > choice.step_tokens
        cache["enable_block_reuse"] = True
    if choice.kv_cache_fraction is not None:
        cache["free_gpu_memory_fraction"] = choice.kv_cache_fraction
    if choice.kv_cache_dtype == "fp8":
        cache["dtype"] = "fp8"
    if cache:
        arguments["kv_cache_config"] = cache
    return arguments


def _speculation(choice: Choice, draft: str | None) -> Values:
    """``speculative_config``: the decoding configuration whose name begins with its type (``llmapi/llm_args.py``).

    Newer releases call the folder ``speculative_model`` and accept this name too.
    """
    if draft:
        tokens = choice.proposed_tokens
        return {
            "decoding_type": "Eagle",
            "max_draft_len": tokens,
            "speculative_model_dir": draft,
            "eagle3_one_model": True,
        }
    if choice.speculative == "mtp":
        return {"decoding_type": "MTP", "num_nextn_predict_layers": choice.proposed_tokens}
    # The length of the search that AutoDecodingConfig takes with this number of tokens; the default differs by release.
    return {"decoding_type": "NGram", "max_draft_len": choice.proposed_tokens, "max_matching_ngram_size": 3}


def repository(
    model_name: str,
    *,
    model: str,
    facts: ModelFacts,
    choice: Choice,
    limits: bool,
    steps: bool = True,
    draft: str | None = None,
) -> Repository:
    """The repository that serves ``facts`` as ``choice``.

    Args:
        model_name: Name in Triton.
        model: The model's folder, as seen by the server.
        facts: The model: chat format and questions.
        choice: The choice: split over GPUs, KV cache and limits.
        limits: See `llm_args`.
        steps: See `llm_args`.
        draft: See `llm_args`.
    """
    own = llm_args(model, choice, limits=limits, steps=steps, draft=draft)
    arguments: dict[str, Value] = {"model": model, "backend": "pytorch", **own}
    # Triton's own batching is not used: the engine does its own batching, at every token.
    arguments["triton_config"] = {"max_batch_size": 0, "decoupled": True}
    config = config_pbtxt(
        model_name,
        inputs=INPUTS,
        outputs=OUTPUTS,
        parameters=described(facts, choice),
        # Also set here: model.py sets it from model.yaml only while Triton completes the configuration, and NVIDIA's
        # launch script turns that off; the model would then reject streaming.
        decoupled=True,
    )
    text = "".join(f"{line}\n" for line in _yaml(arguments))
    files = (RepositoryFile(f"{model_name}/config.pbtxt", config), RepositoryFile(f"{model_name}/1/model.yaml", text))
    return Repository(files, (f"{model_name}/1",))


def _yaml(values: Values, indent: str = "") -> Iterator[str]:
    """Block mappings with JSON scalars, which are valid YAML 1.2."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield f"{indent}{key}:"
            yield from _yaml(value, indent + "  ")
        else:
            yield f"{indent}{key}: {json.dumps(value, ensure_ascii=False)}"
