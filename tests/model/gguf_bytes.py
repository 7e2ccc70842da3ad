"""Writes small GGUF and safetensors files, byte by byte (ggml's docs/gguf.md; safetensors' README)."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

U32, I32, F32, BOOL, STRING, ARRAY, U64 = 4, 5, 6, 7, 8, 9, 10
Q8_0, F32_TENSOR = 8, 0


def text(value: str | bytes) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(raw)) + raw


def value(kind: int, item: Any) -> bytes:
    if kind == STRING:
        return text(item)
    if kind == ARRAY:
        inner, items = item
        return struct.pack("<IQ", inner, len(items)) + b"".join(value(inner, each) for each in items)
    return struct.pack("<" + {U32: "I", I32: "i", F32: "f", BOOL: "?", U64: "Q"}[kind], item)


@dataclass
class Gguf:
    """A GGUF file to be: pairs of metadata, and tensors as (dimensions, ggml type, bytes)."""

    pairs: dict[str, tuple[int, Any]] = field(default_factory=dict)
    tensors: dict[str, tuple[tuple[int, ...], int, int]] = field(default_factory=dict)
    version: int = 3
    magic: bytes = b"GGUF"

    def header(self) -> bytes:
        out = self.magic + struct.pack("<IQQ", self.version, len(self.tensors), len(self.pairs))
        for key, (kind, item) in self.pairs.items():
            out += text(key) + struct.pack("<I", kind) + value(kind, item)
        offset = 0
        for name, (dimensions, kind, size) in self.tensors.items():
            out += text(name) + struct.pack(f"<I{len(dimensions)}QIQ", len(dimensions), *dimensions, kind, offset)
            offset += -(-size // 32) * 32
        return out

    def bytes(self) -> bytes:
        out = self.header()
        out += bytes(-len(out) % 32)
        sizes = [size for _, _, size in self.tensors.values()]
        return out + b"".join(bytes(-(-size // 32) * 32) for size in sizes[:-1]) + bytes(sizes[-1] if sizes else 0)


TEMPLATE = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"


def tiny(**changes: tuple[int, Any] | None) -> Gguf:
    """A small Llama with two tensors: 64 x 4 weights in Q8_0 (272 bytes) and 64 in float32 (256 bytes).

    Keyword names are metadata keys with ``__`` for the dot; None as a value removes the key.
    """
    pairs: dict[str, tuple[int, Any]] = {
        "general.architecture": (STRING, "llama"),
        "general.name": (STRING, "Tiny"),
        "general.license": (STRING, "apache-2.0"),
        "general.file_type": (U32, 7),
        "llama.block_count": (U32, 2),
        "llama.context_length": (U32, 512),
        "llama.embedding_length": (U32, 64),
        "llama.feed_forward_length": (U32, 128),
        "llama.attention.head_count": (U32, 4),
        "llama.attention.head_count_kv": (U32, 2),
        "llama.attention.key_length": (U32, 16),
        "llama.vocab_size": (U32, 4),
        "tokenizer.ggml.tokens": (ARRAY, (STRING, ["<s>", "</s>", "<|im_end|>", "é"])),
        "tokenizer.ggml.scores": (ARRAY, (F32, [0.0, 0.0, 0.0, 0.0])),
        "tokenizer.ggml.merges": (ARRAY, (STRING, ["a b", "c d"])),
        "tokenizer.ggml.bos_token_id": (U32, 0),
        "tokenizer.ggml.eos_token_id": (U32, 1),
        "tokenizer.ggml.eot_token_id": (U32, 2),
        "tokenizer.ggml.add_bos_token": (BOOL, False),
        "tokenizer.chat_template": (STRING, TEMPLATE),
    }
    for name, pair in changes.items():
        pairs.pop(name.replace("__", "."), None)
        if pair is not None:
            pairs[name.replace("__", ".")] = pair
    return Gguf(pairs, {"token_embd.weight": ((64, 4), Q8_0, 272), "output_norm.weight": ((64,), F32_TENSOR, 256)})


def safetensors(tensors: dict[str, Any], body: int | None = None) -> bytes:
    """A safetensors file; ``tensors`` is its header. Its body has as many zero bytes as the offsets ask for."""
    header = json.dumps(tensors).encode()
    if body is None:
        body = max((t["data_offsets"][1] for name, t in tensors.items() if name != "__metadata__"), default=0)
    return struct.pack("<Q", len(header)) + header + bytes(body)


LLAMA_CONFIG: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "num_hidden_layers": 2,
    "hidden_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 128,
    "vocab_size": 100,
    "max_position_embeddings": 512,
    "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
}


def folder(where: Path, config: dict[str, Any] | None = None, **files: Any) -> Path:
    """Make a model folder: config.json, and ``name__ext`` → bytes, text or JSON data."""
    where.mkdir(parents=True, exist_ok=True)
    contents = {"config.json": LLAMA_CONFIG if config is None else config}
    contents |= {name.replace("__", "."): item for name, item in files.items()}
    for name, item in contents.items():
        raw = item if isinstance(item, bytes) else (item if isinstance(item, str) else json.dumps(item)).encode()
        (where / name).write_bytes(raw)
    return where
