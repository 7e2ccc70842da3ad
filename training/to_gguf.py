"""Convert a Hugging Face Llama checkpoint with a byte-level BPE tokenizer to one GGUF file (Q8_0).

Needs numpy and the ``gguf`` package only; neither torch nor transformers.

Usage::

    python training/to_gguf.py CHECKPOINT_DIR OUT.gguf
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import numpy.typing as npt
from gguf.quants import quantize

PRE_TOKENIZER = "gpt-2"  # llama.cpp's name for the plain ByteLevel split that train.py uses
Q8_0_BLOCK = 32  # weights in one Q8_0 block; a row must be a multiple of it

DTYPES = {"F32": np.float32, "F16": np.float16}
OUTER_NAMES = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
LAYER_NAMES = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def read_tensors(path: Path) -> Iterator[tuple[str, npt.NDArray[np.float32]]]:
    """Yield each tensor of a safetensors file as float32.

    Args:
        path: A file whose tensors are F32 or F16.

    Yields:
        Name and array, in the file's own shape.

    Raises:
        ValueError: A tensor has another dtype.
    """
    raw = path.read_bytes()
    body = 8 + int.from_bytes(raw[:8], "little")
    for name, entry in json.loads(raw[8:body]).items():
        if name == "__metadata__":
            continue
        if entry["dtype"] not in DTYPES:
            raise ValueError(f"{path.name}: tensor {name} has dtype {entry['dtype']}; only F32 and F16 are read")
        start, end = entry["data_offsets"]
        flat = np.frombuffer(raw[body + start : body + end], dtype=DTYPES[entry["dtype"]])
        yield name, flat.astype(np.float32).reshape(entry["shape"])


def permute_for_rope(weight: npt.NDArray[np.float32], heads: int) -> npt.NDArray[np.float32]:
    """Reorder the rows of a query or key projection from Hugging Face's rotary halves to llama.cpp's pairs.

    Args:
        weight: Shape (heads * head_dim, hidden).
        heads: Number of heads in this projection.

    Returns:
        The same rows in the other order, same shape.
    """
    halves = weight.reshape(heads, 2, weight.shape[0] // heads // 2, *weight.shape[1:])
    pairs: npt.NDArray[np.float32] = halves.swapaxes(1, 2).reshape(weight.shape)
    return pairs


def gguf_name(name: str) -> str:
    """Translate a Hugging Face Llama tensor name, for example ``model.layers.0.mlp.up_proj.weight``."""
    stem = name.removesuffix(".weight")
    if stem in OUTER_NAMES:
        return OUTER_NAMES[stem] + ".weight"
    _, _, layer, rest = stem.split(".", 3)
    return f"blk.{layer}.{LAYER_NAMES[rest]}.weight"


def add_hyperparameters(writer: gguf.GGUFWriter, config: dict[str, Any]) -> None:
    """Write the model's shape as GGUF metadata."""
    heads = config["num_attention_heads"]
    head_dim = config.get("head_dim") or config["hidden_size"] // heads
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_rope_dimension_count(head_dim)
    writer.add_key_length(head_dim)
    writer.add_value_length(head_dim)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(float(config["rope_theta"]))
    writer.add_vocab_size(config["vocab_size"])
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)


def add_tokenizer(writer: gguf.GGUFWriter, source: Path, vocab_size: int) -> None:
    """Write vocabulary, merges, special tokens and chat template as GGUF metadata."""
    tokenizer = json.loads((source / "tokenizer.json").read_text(encoding="utf-8"))
    settings = json.loads((source / "tokenizer_config.json").read_text(encoding="utf-8"))
    tokens = [f"[PAD{i}]" for i in range(vocab_size)]
    kinds = [gguf.TokenType.UNUSED] * vocab_size
    for text, index in tokenizer["model"]["vocab"].items():
        tokens[index], kinds[index] = text, gguf.TokenType.NORMAL
    special: dict[str, int] = {}
    for entry in tokenizer["added_tokens"]:
        tokens[entry["id"]] = entry["content"]
        kinds[entry["id"]] = gguf.TokenType.CONTROL if entry["special"] else gguf.TokenType.USER_DEFINED
        special[entry["content"]] = entry["id"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(PRE_TOKENIZER)
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in tokenizer["model"]["merges"]])
    writer.add_bos_token_id(special[settings["bos_token"]])
    writer.add_eos_token_id(special[settings["eos_token"]])
    writer.add_pad_token_id(special[settings["pad_token"]])
    writer.add_add_bos_token(False)
    writer.add_chat_template(settings["chat_template"])


def add_weights(writer: gguf.GGUFWriter, source: Path, config: dict[str, Any]) -> None:
    """Write every tensor: matrices as Q8_0 (F16 where a row does not fill its blocks), vectors as F32."""
    for name, tensor in read_tensors(source / "model.safetensors"):
        if name.startswith("lm_head") and config["tie_word_embeddings"]:
            continue
        heads = {"q_proj": "num_attention_heads", "k_proj": "num_key_value_heads"}.get(name.split(".")[-2])
        weight = permute_for_rope(tensor, config[heads]) if heads else tensor
        if weight.ndim == 1:
            writer.add_tensor(gguf_name(name), weight)
        elif weight.shape[-1] % Q8_0_BLOCK:
            writer.add_tensor(gguf_name(name), weight.astype(np.float16))
        else:
            kind = gguf.GGMLQuantizationType.Q8_0
            writer.add_tensor(gguf_name(name), quantize(np.ascontiguousarray(weight), kind), raw_dtype=kind)


def convert(source: Path, target: Path, name: str = "triton-wizard-demo") -> None:
    """Convert the checkpoint folder ``source`` to the GGUF file ``target``.

    Raises:
        ValueError: The checkpoint is not a Llama model, or holds a dtype that is not read.
    """
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    if config["model_type"] != "llama":
        raise ValueError(f"{source}: model_type is {config['model_type']}; only llama is converted")
    writer = gguf.GGUFWriter(target, "llama")
    writer.add_name(name)
    writer.add_license("apache-2.0")
    add_hyperparameters(writer, config)
    add_tokenizer(writer, source, config["vocab_size"])
    add_weights(writer, source, config)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main() -> None:
    """Parse the command line and convert."""
    parser = argparse.ArgumentParser(description="Convert a Llama checkpoint folder to GGUF (Q8_0).")
    parser.add_argument("source", type=Path, help="folder with config.json, model.safetensors and the tokenizer")
    parser.add_argument("target", type=Path, help="GGUF file to write")
    options = parser.parse_args()
    convert(options.source, options.target)
    print(f"{options.target}: {options.target.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
