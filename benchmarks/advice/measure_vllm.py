"""What vLLM itself reports of its memory, for shapes with random weights: needs a GPU, vLLM, and no model files.

Each shape is a folder with a config.json only, loaded with ``load_format="dummy"`` in a process of its own. What vLLM
prints and counts (weights, peak activation, KV cache, CUDA graphs) goes to ``OUT/measured.json`` beside the full logs;
``memory.py`` compares it with what the wizard predicts.

    python benchmarks/advice/measure_vllm.py OUT [SHAPE …]

A SHAPE is a name in `SHAPES`, or the path of a config.json, which is measured with `OPTIONS`.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

LLAMA8B: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "rms_norm_eps": 1e-5,
    "rope_theta": 500000.0,
    "torch_dtype": "bfloat16",
    "tie_word_embeddings": False,
    "bos_token_id": 128000,
    "eos_token_id": 128001,
}
LLAMA2_7B = {
    **LLAMA8B,
    "intermediate_size": 11008,
    "num_key_value_heads": 32,
    "vocab_size": 32000,
    "max_position_embeddings": 4096,
    "torch_dtype": "float16",
    "rope_theta": 10000.0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
QWEN3_14B = {
    **LLAMA8B,
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "hidden_size": 5120,
    "intermediate_size": 17408,
    "num_hidden_layers": 40,
    "num_attention_heads": 40,
    "head_dim": 128,
    "vocab_size": 151936,
    "max_position_embeddings": 40960,
    "rms_norm_eps": 1e-6,
    "rope_theta": 1000000.0,
}
QWEN25_7B_AWQ = {
    **LLAMA8B,
    "architectures": ["Qwen2ForCausalLM"],
    "model_type": "qwen2",
    "hidden_size": 3584,
    "intermediate_size": 18944,
    "num_hidden_layers": 28,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "vocab_size": 152064,
    "max_position_embeddings": 32768,
    "torch_dtype": "float16",
    "quantization_config": {
        "quant_method": "awq",
        "bits": 4,
        "group_size": 128,
        "version": "gemm",
        "zero_point": True,
        "modules_to_not_convert": None,
    },
}
QWEN3_06B = {
    **QWEN3_14B,
    "hidden_size": 1024,
    "intermediate_size": 3072,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "tie_word_embeddings": True,
}

LLAMA8B_AWQ = {**LLAMA8B, "torch_dtype": "float16", "quantization_config": QWEN25_7B_AWQ["quantization_config"]}
LLAMA8B_GPTQ = {
    **LLAMA8B,
    "torch_dtype": "float16",
    "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": False, "sym": True},
}
GLM_45_AIR_8 = {
    "architectures": ["Glm4MoeForCausalLM"],  # eight layers of zai-org/GLM-4.5-Air
    "model_type": "glm4_moe",
    "hidden_size": 4096,
    "intermediate_size": 10944,
    "moe_intermediate_size": 1408,
    "num_hidden_layers": 8,
    "first_k_dense_replace": 1,
    "num_attention_heads": 96,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "n_routed_experts": 128,
    "num_experts_per_tok": 8,
    "n_shared_experts": 1,
    "n_group": 1,
    "topk_group": 1,
    "norm_topk_prob": True,
    "routed_scaling_factor": 1.0,
    "attention_bias": True,
    "use_qk_norm": False,
    "partial_rotary_factor": 0.5,
    "num_nextn_predict_layers": 1,
    "vocab_size": 151552,
    "max_position_embeddings": 131072,
    "rms_norm_eps": 1e-5,
    "rope_theta": 1000000,
    "hidden_act": "silu",
    "torch_dtype": "bfloat16",
    "tie_word_embeddings": False,
    "eos_token_id": 151329,
}
PROPOSED = 1
"""Tokens that layers for multi-token prediction propose in a step."""
SHAPES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "llama8b": (LLAMA8B, {"max_model_len": 8192, "max_num_seqs": 64, "max_num_batched_tokens": 8192}),
    "llama8b-4users": (LLAMA8B, {"max_model_len": 8192, "max_num_seqs": 4, "max_num_batched_tokens": 2048}),
    "llama8b-32k": (LLAMA8B, {"max_model_len": 32768, "max_num_seqs": 32, "max_num_batched_tokens": 8192}),
    "llama8b-fp8kv": (
        LLAMA8B,
        {"max_model_len": 8192, "max_num_seqs": 64, "max_num_batched_tokens": 8192, "kv_cache_dtype": "fp8"},
    ),
    "llama8b-fp8": (
        LLAMA8B,
        {"max_model_len": 8192, "max_num_seqs": 256, "max_num_batched_tokens": 8192, "quantization": "fp8"},
    ),
    "llama2-7b": (LLAMA2_7B, {"max_model_len": 4096, "max_num_seqs": 16, "max_num_batched_tokens": 8192}),
    "qwen3-14b": (QWEN3_14B, {"max_model_len": 16384, "max_num_seqs": 512, "max_num_batched_tokens": 8192}),
    "qwen25-7b-awq": (QWEN25_7B_AWQ, {"max_model_len": 8192, "max_num_seqs": 64, "max_num_batched_tokens": 2048}),
    "llama8b-awq": (LLAMA8B_AWQ, {"max_model_len": 8192, "max_num_seqs": 16, "max_num_batched_tokens": 2048}),
    "llama8b-gptq": (LLAMA8B_GPTQ, {"max_model_len": 8192, "max_num_seqs": 16, "max_num_batched_tokens": 2048}),
    "llama8b-16k-batch": (LLAMA8B, {"max_model_len": 8192, "max_num_seqs": 256, "max_num_batched_tokens": 16384}),
    "qwen3-0.6b": (QWEN3_06B, {"max_model_len": 8192, "max_num_seqs": 256, "max_num_batched_tokens": 2048}),
    "llama8b-ngram": (
        LLAMA8B,
        {
            "max_model_len": 8192,
            "max_num_seqs": 64,
            "max_num_batched_tokens": 8192,
            "speculative_config": {"method": "ngram", "num_speculative_tokens": 5, "prompt_lookup_max": 4},
        },
    ),
    "glm45-air-8": (GLM_45_AIR_8, {"max_model_len": 8192, "max_num_seqs": 64, "max_num_batched_tokens": 8192}),
    "glm45-air-8-mtp": (
        GLM_45_AIR_8,
        {
            "max_model_len": 8192,
            "max_num_seqs": 64,
            "max_num_batched_tokens": 8192,
            "speculative_config": {"method": "mtp", "num_speculative_tokens": PROPOSED},
        },
    ),
    "llama8b-tp2": (
        LLAMA8B,
        {
            "max_model_len": 8192,
            "max_num_seqs": 64,
            "max_num_batched_tokens": 8192,
            "tensor_parallel_size": 2,
            "enforce_eager": True,
        },
    ),
    "qwen3-14b-tp2": (
        QWEN3_14B,
        {
            "max_model_len": 8192,
            "max_num_seqs": 16,
            "max_num_batched_tokens": 2048,
            "tensor_parallel_size": 2,
            "enforce_eager": True,
        },
    ),
}
OPTIONS: dict[str, Any] = {"max_model_len": 8192, "max_num_seqs": 64, "max_num_batched_tokens": 8192}
UTILIZATION = 0.85
LONGEST_S = 240
REQUESTS = (1, 8, 32)
TOKENS_IN, TOKENS_OUT = 100, 128
PATTERNS = {
    "weights_gib": r"[Mm]odel loading took ([\d.]+) ?GiB",
    "available_kv_gib": r"Available KV cache memory: ([\d.]+) GiB",
    "kv_tokens": r"GPU KV cache size: ([\d,]+) tokens",
    "graphs_gib": r"Graph capturing finished in .*?took (-?[\d.]+) GiB",
    "non_torch_gib": r"non-torch forward increase memory: ([\d.]+) ?GiB",
    "activation_gib": r"torch peak memory increase: ([\d.]+) ?GiB",
}


def shape(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The configuration and the options of a shape."""
    if name in SHAPES:
        return SHAPES[name]
    config = json.loads(Path(name).read_text())
    text_only = {"limit_mm_per_prompt": {"image": 0, "video": 0}} if "vision_config" in config else {}
    return config, OPTIONS | text_only


def serve(folder: str, options: dict[str, Any]) -> None:
    """Load one shape, time a few batches, print what was counted as one JSON line (in a process of its own)."""
    import pynvml
    from vllm import LLM, SamplingParams

    llm = LLM(
        model=folder,
        load_format="dummy",
        skip_tokenizer_init=True,
        gpu_memory_utilization=UTILIZATION,
        enable_prefix_caching=False,
        **options,
    )
    pynvml.nvmlInit()
    handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    cache = llm.llm_engine.vllm_config.cache_config
    result: dict[str, Any] = {
        "blocks": cache.num_gpu_blocks,
        "block_size": cache.block_size,
        "nvml_used_mib": pynvml.nvmlDeviceGetMemoryInfo(handle).used >> 20,
        "nvml_total_mib": pynvml.nvmlDeviceGetMemoryInfo(handle).total >> 20,
        "gpu": pynvml.nvmlDeviceGetName(handle),
        "tokens_per_s": {},
    }
    for users in REQUESTS:
        if users > options["max_num_seqs"]:
            continue
        sampling = SamplingParams(max_tokens=TOKENS_OUT, ignore_eos=True, temperature=0, detokenize=False)
        prompts = [{"prompt_token_ids": [(7 * i + j) % 30000 + 3 for j in range(TOKENS_IN)]} for i in range(users)]
        seconds = []
        for _ in range(3):
            began = time.perf_counter()
            llm.generate(prompts, sampling, use_tqdm=False)
            seconds.append(time.perf_counter() - began)
        result["tokens_per_s"][users] = round(users * TOKENS_OUT / min(seconds), 1)
    print("MEASURED " + json.dumps(result), flush=True)


def measure(out: Path, name: str) -> dict[str, Any]:
    """One shape in a process of its own; its whole output goes to ``OUT/NAME.log``."""
    config, options = shape(name)
    name = Path(name).stem
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    # last, because a file there is called like the package `coverage`, which n-grams import
    code = f"import sys; sys.path.append({str(Path(__file__).parent)!r}); import measure_vllm as m; "
    code += f"m.serve({str(folder)!r}, {options!r})"
    began = time.perf_counter()
    path = out / f"{name}.log"
    variables = {"VLLM_LOGGING_LEVEL": "DEBUG", "VLLM_USE_FLASHINFER_SAMPLER": "0", "HF_HUB_OFFLINE": "1"}
    variables["VLLM_ALLREDUCE_USE_SYMM_MEM"] = "0"  # not every machine lets GPUs multicast
    with path.open("w") as log_file:
        child = subprocess.Popen(
            [sys.executable, "-c", code],
            stdout=log_file,
            stderr=subprocess.STDOUT,
            env={**os.environ, **variables},
            start_new_session=True,
        )
        try:
            status = child.wait(timeout=LONGEST_S)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            status = child.wait()
    log = path.read_text(errors="replace")
    result: dict[str, Any] = {"shape": name, "config": config, "options": options, "utilization": UTILIZATION}
    result["seconds"] = round(time.perf_counter() - began, 1)
    for line in log.splitlines():
        if line.startswith("MEASURED "):
            result.update(json.loads(line.removeprefix("MEASURED ")))
    for key, pattern in PATTERNS.items():
        if match := re.search(pattern, log):
            result[key] = float(match.group(1).replace(",", ""))
    if status:
        result["failed"] = log[-1500:]
    return result


def main() -> int:
    """Measure the shapes that are named, or all for one GPU."""
    out = Path(sys.argv[1])
    names = sys.argv[2:] or [name for name, (_, options) in SHAPES.items() if "tensor_parallel_size" not in options]
    results = []
    for name in names:
        results.append(measure(out, name))
        print(json.dumps({key: value for key, value in results[-1].items() if key != "config"}), flush=True)
        (out / "measured.json").write_text(json.dumps(results, indent=1))
    return 1 if any("failed" in result for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
