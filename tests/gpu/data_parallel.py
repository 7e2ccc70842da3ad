"""The stage ``data_parallel`` of ``journey.py``: two data-parallel ranks of vLLM, dummy weights, predicted and measured
memory.

    python tests/gpu/journey.py --out OUT --engine-python PYTHON --shape tiny --stages data_parallel

The settings are those that the wizard writes for ``--dp 2``, apart from the dummy weights, and the engine is started as
the wizard's engine program does it: one process with vLLM's ``AsyncLLM``, which starts both ranks. `CONFIGS` has a
model with multi-head latent attention and one with grouped-query attention.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from machine_parts import MIB, gone
from stack_parts import ANSWERED

if TYPE_CHECKING:
    from journey import Journey

    from wizard.advise.advice import Choice
    from wizard.model.facts import ModelFacts

PARTS = Path(__file__).with_name("stack_parts.py")
RANKS, USERS, CONTEXT, ANSWER = 2, 64, 4096, 32
"""GPUs, users of both ranks together, tokens of a request at most, tokens of an answer here."""
RATIO = 0.03
"""By how much measured weights, tokens and memory may differ from the predicted ones."""
COMMON: dict[str, Any] = {
    "hidden_size": 2048,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "tie_word_embeddings": False,
    "attention_bias": False,
    "torch_dtype": "bfloat16",
    "bos_token_id": 0,
    "eos_token_id": 1,
}
CONFIGS: dict[str, dict[str, Any]] = {
    "deepseek-v2-lite": {
        **COMMON,
        "architectures": ["DeepseekV2ForCausalLM"],
        "model_type": "deepseek_v2",
        "intermediate_size": 10944,
        "num_hidden_layers": 27,
        "num_attention_heads": 16,
        "num_key_value_heads": 16,
        "vocab_size": 102400,
        "max_position_embeddings": 163840,
        "moe_intermediate_size": 1408,
        "n_routed_experts": 64,
        "n_shared_experts": 2,
        "num_experts_per_tok": 6,
        "first_k_dense_replace": 1,
        "moe_layer_freq": 1,
        "n_group": 1,
        "topk_group": 1,
        "topk_method": "greedy",
        "scoring_func": "softmax",
        "norm_topk_prob": False,
        "routed_scaling_factor": 1.0,
        "kv_lora_rank": 512,
        "q_lora_rank": None,
        "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64,
        "v_head_dim": 128,
    },
    "qwen3-30b-a3b": {
        **COMMON,
        "architectures": ["Qwen3MoeForCausalLM"],
        "model_type": "qwen3_moe",
        "intermediate_size": 6144,
        "num_hidden_layers": 48,
        "num_attention_heads": 32,
        "num_key_value_heads": 4,
        "head_dim": 128,
        "vocab_size": 151936,
        "max_position_embeddings": 40960,
        "moe_intermediate_size": 768,
        "num_experts": 128,
        "num_experts_per_tok": 8,
        "norm_topk_prob": True,
        "decoder_sparse_step": 1,
        "mlp_only_layers": [],
    },
}


def data_parallel(journey: Journey) -> dict[str, Any]:
    """Each model of `CONFIGS`: what the advice predicts for a GPU, and what vLLM and NVML count."""
    return {name: _measured(journey, name, config) for name, config in CONFIGS.items()}


def _measured(journey: Journey, name: str, config: dict[str, Any]) -> dict[str, Any]:
    from wizard.serve.measured import Log
    from wizard.stacks.vllm.serve import read

    folder = journey.out / f"dummy-{name}"
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    facts, choice = _advised(journey, folder)
    before = journey.free(f"{name}-before")
    log = journey.out / f"{name}-dp.log"
    reply, used, seconds = _served(journey, name, _settings(folder, facts, choice), choice, before, log)
    journey.settled()
    after = journey.free(f"{name}-after")
    journey.check(f"{name}: no GPU memory is left", gone({gpu: (before[gpu] - after[gpu]) // MIB for gpu in before}))
    journey.note(f"{name}: loaded after", f"{seconds:.1f} s")
    requests = USERS + 1
    journey.check(f"{name}: all tokens of {requests} requests", reply == [ANSWER] * requests, reply)

    seen, predicted = read(Log(log.read_text(errors="replace").splitlines())), choice.memory
    cache = predicted.kv_bytes_per_token * predicted.kv_capacity_tokens
    rows = {
        "weights": (predicted.weights_bytes, seen.weights_bytes),
        "KV cache": (cache, seen.kv_bytes),
        "activations": (predicted.activation_bytes, seen.activation_bytes),
        "graphs": (None, seen.graphs_bytes),
        "outside PyTorch": (None, seen.runtime_bytes),
        "used, by NVML": (predicted.total_bytes, max(used.values())),
    }
    for label, (ours, theirs) in rows.items():
        shown = [None if value is None else round(value / MIB) for value in (ours, theirs)]
        if label in ("weights", "used, by NVML"):
            near = ours is not None and theirs is not None and abs(theirs / ours - 1) <= RATIO
            journey.check(f"{name}: {label} of a GPU in MiB, predicted and measured", near, shown)
        else:
            journey.note(f"{name}: {label} of a GPU in MiB, predicted and measured", shown)
    tokens = predicted.kv_capacity_tokens, seen.kv_capacity_tokens
    near = tokens[1] is not None and abs(tokens[1] / tokens[0] - 1) <= RATIO
    journey.check(f"{name}: tokens of a rank's KV cache, predicted and measured", near, tokens)
    return {"rows": rows, "tokens": tokens, "used_bytes": used, "seconds": seconds, "memory": predicted}


def _advised(journey: Journey, folder: Path) -> tuple[ModelFacts, Choice]:
    """The model, and the setup with data-parallel ranks."""
    from wizard import journey as stages
    from wizard.advise.advice import Constraints
    from wizard.kernel.paths import Workspace

    asked = Constraints(
        stack="vllm",
        runtime="native",
        engine_python=journey.given.engine_python,
        quantization="none",
        tp=1,
        dp=RANKS,
        replicas=1,
        users=USERS,
        max_len=CONTEXT,
    )
    facts = stages.model(str(folder), offline=True)
    return facts, stages.recommended(stages.advise(stages.probe(Workspace(journey.workspace)), facts, asked))


def _settings(folder: Path, facts: ModelFacts, choice: Choice) -> dict[str, Any]:
    """Arguments for vLLM, as in a plan for ``choice``."""
    from wizard.stacks.vllm.repository import engine_args, step_args

    made = engine_args(str(folder), facts, choice) | step_args(facts, choice)
    return {**made, "load_format": "dummy", "skip_tokenizer_init": True}


def _served(
    journey: Journey, name: str, settings: dict[str, Any], choice: Choice, before: dict[int, int], log: Path
) -> tuple[list[int], dict[int, int], float]:
    """Tokens of each answer, bytes that NVML shows on each GPU meanwhile, and seconds until the first answer."""
    from wizard.stacks.vllm.plan import NATIVELY, SETTINGS

    environment = {**os.environ, **dict(SETTINGS), **NATIVELY, "VLLM_LOGGING_LEVEL": "DEBUG"}
    environment["VLLM_ALLREDUCE_USE_SYMM_MEM"] = "0"  # not every machine lets GPUs multicast
    environment["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, choice.devices))
    argument = {"settings": settings, "requests": USERS, "answer": ANSWER}
    words = [str(choice.engine_python), str(PARTS), "dummy-vllm", json.dumps(argument)]
    journey.note(f"{name}: arguments", json.dumps({key: value for key, value in settings.items() if key != "model"}))
    began = time.monotonic()
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, start_new_session=True
    )
    limit = threading.Timer(journey.given.limit, _kill, [process])
    limit.start()
    try:
        reply = _reply(process, log)
        seconds = time.monotonic() - began
        now = journey.free(f"{name}-serving")
    finally:
        limit.cancel()
        _kill(process)
        process.wait()
    return reply, {gpu: before[gpu] - now[gpu] for gpu in choice.devices}, seconds


def _reply(process: subprocess.Popen[bytes], log: Path) -> list[int]:
    """What the engine prints at the end; all that comes before is kept in ``log``, where vLLM's own lines are too."""
    mark = ANSWERED.encode()
    with log.open("wb") as kept:
        for line in process.stdout or ():
            kept.write(line)
            if line.startswith(mark):
                return list(json.loads(line.removeprefix(mark)))
    raise RuntimeError(f"vLLM has ended, or took too long; see {log}: {log.read_text(errors='replace')[-2000:]}")


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the engine with the processes that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
