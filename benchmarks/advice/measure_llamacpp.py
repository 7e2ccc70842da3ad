"""Measure llama.cpp on this machine's CPU with files of random weights, one JSON line per file.

Run it with a Python that has xllamacpp, gguf and numpy, with nothing else running:
``python benchmarks/advice/measure_llamacpp.py FOLDER [SHAPE …] >> benchmarks/advice/llamacpp_cpu.jsonl``. The files
are written to FOLDER and removed. The shapes are those of public models; only the weights are random.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from wizard.probe.cpu_rates import read_bandwidth

# name: layers, hidden, heads, kv heads, head size, feed-forward, vocabulary, experts, experts per token
SHAPES = {
    "smollm2-135m": (30, 576, 9, 3, 64, 1536, 49152, 0, 0),
    "smollm2-360m": (32, 960, 15, 5, 64, 2560, 49152, 0, 0),
    "qwen2.5-0.5b": (24, 896, 14, 2, 64, 4864, 151936, 0, 0),
    "qwen3-0.6b": (28, 1024, 16, 8, 128, 3072, 151936, 0, 0),
    "llama3.2-1b": (16, 2048, 32, 8, 64, 8192, 128256, 0, 0),
    "qwen2.5-1.5b": (28, 1536, 12, 2, 128, 8960, 151936, 0, 0),
    "smollm2-1.7b": (24, 2048, 32, 32, 64, 8192, 49152, 0, 0),
    "olmoe-6-layers": (6, 2048, 16, 16, 128, 1024, 50304, 64, 8),
}
BLOCK = {"Q8_0": (32, 34), "Q4_K": (256, 144), "Q4_0": (32, 18), "Q6_K": (256, 210)}
PROMPT, ANSWER = 256, 48


def blocks(kind: str, rows: int, columns: int, rng: Any) -> tuple[str, Any]:
    """Random blocks with small scales, so that no product is infinite or denormal."""
    import numpy

    size, width = BLOCK[kind]
    if columns % size:
        kind, (size, width) = "Q8_0", BLOCK["Q8_0"]
    raw = rng.integers(0, 256, (rows * columns // size, width), dtype=numpy.uint8)
    scale = numpy.array([0.001], dtype=numpy.float16).view(numpy.uint8)
    places = {"Q8_0": (0,), "Q4_0": (0,), "Q4_K": (0, 2), "Q6_K": (208,)}[kind]
    for place in places:
        raw[:, place : place + 2] = scale
    return kind, raw.reshape(rows, columns // size * width)


def write(path: Path, shape: tuple[int, ...], kind: str) -> None:
    """A GGUF file of ``shape``, architecture ``llama``, all matrices in ``kind`` (norms in float32)."""
    import gguf  # type: ignore[import-not-found]  # not installed with the wizard
    import numpy

    layers, hidden, heads, kv, head, wide, vocabulary, experts, active = shape
    rng, file = numpy.random.default_rng(0), gguf.GGUFWriter(str(path), "llama")
    file.add_block_count(layers)
    file.add_context_length(4096)
    file.add_embedding_length(hidden)
    file.add_feed_forward_length(wide)
    file.add_head_count(heads)
    file.add_head_count_kv(kv)
    file.add_key_length(head)
    file.add_value_length(head)
    file.add_rope_dimension_count(head)
    file.add_layer_norm_rms_eps(1e-5)
    file.add_vocab_size(vocabulary)
    if experts:
        file.add_expert_count(experts)
        file.add_expert_used_count(active)
    file.add_tokenizer_model("llama")
    names = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    names += [f"word{number}" for number in range(vocabulary - len(names))]
    file.add_token_list(names)
    file.add_token_scores([0.0] * vocabulary)
    file.add_token_types([2, 3, 3, *([6] * 256), *([1] * (vocabulary - 259))])

    def matrix(name: str, rows: int, columns: int, copies: int = 0) -> None:
        stored, raw = blocks(kind, max(1, copies) * rows, columns, rng)
        if copies:
            raw = raw.reshape(copies, rows, -1)
        file.add_tensor(name, raw, raw_dtype=gguf.GGMLQuantizationType[stored])

    ones = numpy.ones(hidden, dtype=numpy.float32)
    matrix("token_embd.weight", vocabulary, hidden)
    file.add_tensor("output_norm.weight", ones)
    for layer in range(layers):
        at = f"blk.{layer}."
        file.add_tensor(f"{at}attn_norm.weight", ones)
        file.add_tensor(f"{at}ffn_norm.weight", ones)
        matrix(f"{at}attn_q.weight", heads * head, hidden)
        matrix(f"{at}attn_k.weight", kv * head, hidden)
        matrix(f"{at}attn_v.weight", kv * head, hidden)
        matrix(f"{at}attn_output.weight", hidden, heads * head)
        if experts:
            file.add_tensor(f"{at}ffn_gate_inp.weight", numpy.zeros((experts, hidden), dtype=numpy.float32))
        end = "_exps" if experts else ""
        matrix(f"{at}ffn_gate{end}.weight", wide, hidden, experts)
        matrix(f"{at}ffn_up{end}.weight", wide, hidden, experts)
        matrix(f"{at}ffn_down{end}.weight", hidden, wide, experts)
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()


def measure(path: Path, threads: int) -> dict[str, float]:
    """Tokens per second of a prompt and of its answer: the median of three requests, timed by llama.cpp itself."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx, params.n_parallel = 1024, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.cache_ram_mib, params.fit_params, params.warmup, params.ui = 0, False, True, False
    server, runs = xllamacpp.Server(params), []
    for number in range(3):
        ids = [300 + (number * 7919 + 31 * place) % 1000 for place in range(PROMPT)]
        body = {"prompt": ids, "n_predict": ANSWER, "ignore_eos": True, "temperature": 0.0, "cache_prompt": False}
        answer: list[dict[str, Any]] = []
        server.handle_completions(body, answer.append)
        runs.append(answer[-1]["timings"])
    middle = {key: sorted(run[key] for run in runs)[1] for key in ("prompt_per_second", "predicted_per_second")}
    return {"prefill": round(middle["prompt_per_second"], 2), "decode": round(middle["predicted_per_second"], 2)}


def main(folder: Path, *names: str) -> None:
    """Write, measure and remove each file."""
    import xllamacpp

    model = next((line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), platform.machine())  # fmt: skip
    threads = len(os.sched_getaffinity(0))
    about = {"cpu": model, "threads": threads, "date": time.strftime("%Y-%m-%d", time.gmtime())}
    print(json.dumps({**about, "bandwidth": round(read_bandwidth(threads))}), flush=True)
    for name in names or SHAPES:
        for kind in ("Q8_0", "Q4_K", "Q4_0"):
            path = folder / f"{name}-{kind}.gguf"
            write(path, SHAPES[name], kind)
            row = {"shape": name, "type": kind, "bytes": path.stat().st_size, **measure(path, threads)}
            path.unlink()
            print(json.dumps({**row, **about, "engine": f"xllamacpp {xllamacpp.__version__}"}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
