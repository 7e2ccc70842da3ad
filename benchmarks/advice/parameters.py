"""Parameters from config.json against the library's own model, built on the meta device.

    python benchmarks/advice/parameters.py [--folder FOLDER] [--write]

Needs torch (any build) and transformers 5, neither of which the wizard installs. Without ``--folder`` it reads
``public.json`` and ``more.json`` in ``tests/model/configs``; ``--write`` puts the counts there, which the tests hold
the wizard to (an entry with ``published`` has the published number instead). ``FOLDER`` holds ``*config.json`` files,
such as ``aiconfigurator_core/model_configs`` of the wheel aiconfigurator-core.

Parameters are those of the language model; buffers that belong to a checkpoint (DeepSeek-V3's router bias) are added.
The last column says whether the formula and the names of the model's tensors share them out to the same parts.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wizard.model import tensor_parts
from wizard.model.config import describe
from wizard.model.facts import ModelFacts
from wizard.model.safetensors import Tensor

CONFIGS = Path(__file__).parents[2] / "tests" / "model" / "configs"
DATA = (CONFIGS / "public.json", CONFIGS / "more.json")
OTHER_NAMES = {
    "baichuan": "llama",
    "chatglm": "glm",
    "glm4v_moe_text": "glm4_moe",
    "internlm": "llama",
    "internlm2": "llama",
    "kimi_k2": "deepseek_v3",
    "mimo": "qwen2",
    "mimo_v2": "mimo_v2_flash",
    "minicpm": "llama",
    "minimax_m3": "minimax_m3_vl_text",
    "orion": "stablelm",
    "phi3_v": "phi3",
    "qwen": "qwen2",
    "qwen3_vl_moe_text": "qwen3_moe",
}
"""``model_type`` of files that bring code of their own → the library's, which has the same modules."""
OTHER_FIELDS: dict[str, dict[str, str]] = {
    "chatglm": {
        "multi_query_group_num": "num_key_value_heads",
        "kv_channels": "head_dim",
        "ffn_hidden_size": "intermediate_size",
        "padded_vocab_size": "vocab_size",
        "add_qkv_bias": "attention_bias",
        "num_layers": "num_hidden_layers",
    },
    "internlm": {"bias": "attention_bias"},
}
"""The same for their fields."""


def main() -> int:
    """Print a row for each model; return 1 if one differs by more than 0.05 %, or if none could be compared."""
    parser = argparse.ArgumentParser(description="Parameters from config.json against transformers' own models.")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    files = (
        [dict(_of_folder(arguments.folder))] if arguments.folder else [json.loads(path.read_text()) for path in DATA]
    )
    cases = {name: case for file in files for name, case in file.items()}
    worst, compared = 0.0, 0
    print(f"{'model':<46} {'expected':>18} {'ours':>18} {'difference':>12} {'%':>9} {'parts':>7}")
    for name, case in cases.items():
        if "published" in case:
            continue
        try:
            tensors = built(case["config"])
        except Exception as error:
            print(f"{name:<46} {type(error).__name__}: {str(error)[:90]}")
            continue
        expected = case["expected"] = sum(tensor.elements for tensor in tensors)
        facts = describe(ModelFacts(name, "folder", name, name, None, None), case["config"])
        if facts.parameters is None or facts.anatomy is None:
            print(f"{name:<46} {expected:>18,} {'unknown':>18}")
            continue
        ours, sizes = facts.parameters, {"heads": facts.heads, "kv_heads": facts.kv_heads}
        kept = tensor_parts.loaded(tensors, facts.layers, tied=not facts.anatomy.parts.head)
        same = tensor_parts.parameters_by_part(kept, sizes, None) == facts.anatomy.parts
        worst, compared = max(worst, abs(ours / expected - 1)), compared + 1
        row = f"{name:<46} {expected:>18,} {ours:>18,} {ours - expected:>12,} {(ours / expected - 1) * 100:>9.4f}"
        print(f"{row} {'same' if same else 'differ':>7}")
    print(f"\n{compared} of {len(cases)} models compared, largest difference {worst * 100:.4f} %")
    if arguments.write and not arguments.folder:
        for path, file in zip(DATA, files, strict=True):
            lines = [f" {json.dumps(name)}: {json.dumps(case)}" for name, case in file.items()]
            path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    return int(worst > 0.0005 or not compared)


def built(config: dict[str, Any]) -> list[Tensor]:
    """Tensors of the language model that transformers builds from ``config``, as a checkpoint would hold them."""
    torch: Any = importlib.import_module("torch")  # no dependency of the wizard, nor of its development
    transformers: Any = importlib.import_module("transformers")
    text = config.get("text_config", {})
    alone = text.get("model_type") in (*OTHER_NAMES, config["model_type"])  # the library has no class for all of it
    data = _as_the_library_has_it({**config, **text} if alone else config, alone=alone)
    made = transformers.AutoConfig.for_model(**data).get_text_config()
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(made)
    state = model.state_dict(keep_vars=True)  # has no buffers that are made anew
    once = {id(tensor): name for name, tensor in reversed(state.items())}  # a tied head is the embedding
    return [Tensor(name, "BF16", tuple(state[name].shape), 2 * state[name].numel()) for name in once.values()]


def _as_the_library_has_it(config: dict[str, Any], *, alone: bool) -> dict[str, Any]:
    """``config`` of a language model, for the library's class with the same modules."""
    kind = config["model_type"]
    fields = OTHER_FIELDS.get(kind, {})
    left_out = ("auto_map", "quantization_config", *(("text_config", "vision_config") if alone else ()))
    data = {fields.get(key, key): value for key, value in config.items() if key not in left_out}
    if kind == "qwen":  # it counts both halves of the gated feed-forward
        data |= {
            "intermediate_size": data["intermediate_size"] // 2,
            "num_key_value_heads": data["num_attention_heads"],
        }
    if kind == "minicpm" and data.get("num_experts"):
        data |= {"model_type": "mixtral", "num_local_experts": data["num_experts"]}
    if kind == "chatglm":
        data["pad_token_id"] = None
    data["model_type"] = OTHER_NAMES.get(data["model_type"], data["model_type"])
    return data


def _of_folder(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for path in sorted(folder.glob("*config.json")):
        if "hf_quant" not in path.name:
            yield path.name.removesuffix("_config.json"), {"config": json.loads(path.read_text())}


if __name__ == "__main__":
    sys.exit(main())
