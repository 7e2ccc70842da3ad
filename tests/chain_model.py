"""A tiny real GGUF model whose answers are known: every token decides the next one.

It is a Llama of one layer whose attention and feed-forward weights are zero. Its embeddings are one-hot, so the
output matrix alone says which token follows which. llama.cpp tokenizes, batches, samples and streams as with any
other model, and a test knows every byte that must come out. Format: ggml-org/ggml, docs/gguf.md (version 3).

What it says depends on the last character of the prompt::

    newline   Hi 😀é.Hi 😀é. … without end, the characters of several bytes as one token for each byte
    ?         yes, then the end token
    !         m or n, each with probability 1/2, then the end token
    )         a call of the function ``weather``, as three tokens, then the end token
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from wizard.model.chat_format import ChatFormat

CYCLE = "Hi 😀é."
"""What it says after a newline, again and again."""
CYCLE_TOKENS = len(CYCLE.encode())
"""One token for each byte."""

BOS, END = "<|im_start|>", "<|im_end|>"
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CALL = ('<tool_call>\n{"name": "weather", "arguments": {"ci', 'ty": "Os', 'lo"}}\n</tool_call>')
"""As the Hermes models write it; each text is a token."""
TOOLS_TEMPLATE = (
    "{%- if tools %}<|im_start|>system\n<tools>{% for tool in tools %}{{ tool | tojson }}\n{% endfor %}</tools>"
    "<|im_end|>\n{% endif %}"
    "{%- for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] or '' }}"
    "{%- for call in m['tool_calls'] or [] %}<tool_call>\n"
    '{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}\n</tool_call>'
    "{% endfor %}<|im_end|>\n{% endfor %}"
    "{%- if add_generation_prompt %}<|im_start|>assistant"
    "{{ ')' if tools and messages[-1]['role'] == 'user' else '\n' }}{% endif %}"
)
"""With functions: the model calls one after a question, and says its words after the function's result."""
CHAT = ChatFormat(TEMPLATE, bos_token=BOS, eos_token=END, stop=(END,))

HIDDEN, HEAD, FEED = 288, 32, 32
UINT16, UINT32, FLOAT32, BOOL, STRING, ARRAY, INT32 = 2, 4, 6, 7, 8, 9, 5
Metadata = list[tuple[str, int, object]]


def write_chain_model(path: Path, *, context: int = 131072, add_bos: bool = False, template: str = TEMPLATE) -> Path:
    """Write the model to ``path`` and return it."""
    path.write_bytes(_gguf(*_contents(context, add_bos, template)))
    return path


def split_chain_model(folder: Path, count: int, name: str = "chain-F32") -> list[Path]:
    """Write the model as ``count`` parts and return them: metadata in the first, and in each the keys that gguf-py's
    ``GGUFWriter`` writes with ``split_max_tensors`` (gguf 0.19.0).
    """
    metadata, tensors = _contents(131072, False)
    names = list(tensors)
    paths = []
    for number in range(count):
        keys: Metadata = [
            ("split.no", UINT16, number),
            ("split.count", UINT16, count),
            ("split.tensors.count", INT32, len(names)),
        ]
        mine = {
            each: tensors[each] for each in names[number * len(names) // count : (number + 1) * len(names) // count]
        }
        paths.append(folder / f"{name}-{number + 1:05}-of-{count:05}.gguf")
        paths[-1].write_bytes(_gguf([*(metadata if number == 0 else []), *keys], mine))
    return paths


def _contents(
    context: int, add_bos: bool, template: str = TEMPLATE
) -> tuple[Metadata, dict[str, npt.NDArray[np.float32]]]:
    letters = alphabet()
    call = ["".join(letters[byte] for byte in part.encode()) for part in CALL]
    tokens = [*letters, "<|endoftext|>", BOS, END, "Ġt", *call]
    end = tokens.index(END)
    follows = [*_follows(end), *itertools.pairwise([ord(")"), *map(tokens.index, call), end])]
    embedding = np.zeros((len(tokens), HIDDEN), np.float32)
    np.fill_diagonal(embedding, 1.0)
    output = np.zeros_like(embedding)
    for before, after in follows:
        output[after, before] = 1.0
    metadata: Metadata = [
        ("general.architecture", STRING, "llama"),
        ("general.name", STRING, "chain"),
        ("llama.context_length", UINT32, context),
        ("llama.embedding_length", UINT32, HIDDEN),
        ("llama.block_count", UINT32, 1),
        ("llama.feed_forward_length", UINT32, FEED),
        ("llama.attention.head_count", UINT32, 1),
        ("llama.attention.head_count_kv", UINT32, 1),
        ("llama.attention.key_length", UINT32, HEAD),
        ("llama.attention.value_length", UINT32, HEAD),
        ("llama.rope.dimension_count", UINT32, HEAD),
        ("llama.attention.layer_norm_rms_epsilon", FLOAT32, 1e-5),
        ("tokenizer.ggml.model", STRING, "gpt2"),
        ("tokenizer.ggml.pre", STRING, "gpt-2"),
        ("tokenizer.ggml.tokens", ARRAY, (STRING, tokens)),
        ("tokenizer.ggml.token_type", ARRAY, (INT32, [1] * 256 + [3] * 3 + [1] * 4)),
        ("tokenizer.ggml.merges", ARRAY, (STRING, ["Ġ t"])),
        ("tokenizer.ggml.bos_token_id", UINT32, tokens.index(BOS)),
        ("tokenizer.ggml.eos_token_id", UINT32, end),
        ("tokenizer.ggml.add_bos_token", BOOL, add_bos),
        ("tokenizer.chat_template", STRING, template),
    ]
    zeros = {
        "attn_q": (HEAD, HIDDEN),
        "attn_k": (HEAD, HIDDEN),
        "attn_v": (HEAD, HIDDEN),
        "attn_output": (HIDDEN, HEAD),
        "ffn_gate": (FEED, HIDDEN),
        "ffn_up": (FEED, HIDDEN),
        "ffn_down": (HIDDEN, FEED),
    }
    ones = np.ones(HIDDEN, np.float32)
    tensors = {
        "token_embd.weight": embedding,
        "output.weight": output,
        "output_norm.weight": ones,
        "blk.0.attn_norm.weight": ones,
        "blk.0.ffn_norm.weight": ones,
        **{f"blk.0.{name}.weight": np.zeros(shape, np.float32) for name, shape in zeros.items()},
    }
    return metadata, tensors


def _follows(end: int) -> list[tuple[int, int]]:
    """Pairs of a token and one that follows it; a plain byte's token id is the byte."""
    cycle = CYCLE.encode()
    pairs = list(zip(cycle, cycle[1:] + cycle[:1], strict=True))
    yes = b"?yes"
    return [
        *pairs,
        (ord("\n"), cycle[0]),
        *itertools.pairwise(yes),
        (ord("s"), end),
        (ord("!"), ord("m")),
        (ord("!"), ord("n")),
        (ord("m"), end),
        (ord("n"), end),
    ]


def alphabet() -> list[str]:
    """The 256 bytes as the printable characters by which byte-level BPE writes them, in the order of the bytes."""
    plain = {*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(256, 512))
    return [chr(byte) if byte in plain else chr(next(others)) for byte in range(256)]


def _gguf(metadata: Metadata, tensors: dict[str, npt.NDArray[np.float32]]) -> bytes:
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    head += b"".join(_string(key) + struct.pack("<I", kind) + _value(kind, value) for key, kind, value in metadata)
    offset, data = 0, b""
    for name, tensor in tensors.items():
        sizes = tensor.shape[::-1]
        head += _string(name) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, 0, offset)
        data += _padded(tensor.tobytes())
        offset = len(data)
    return _padded(head) + data


def _value(kind: int, value: object) -> bytes:
    if isinstance(value, tuple):
        element, items = value
        return struct.pack("<IQ", element, len(items)) + _joined(element, items)
    if isinstance(value, str):
        return _string(value)
    return struct.pack({UINT16: "<H", UINT32: "<I", FLOAT32: "<f", BOOL: "<?", INT32: "<i"}[kind], value)


def _joined(kind: int, items: Iterable[object]) -> bytes:
    return b"".join(_value(kind, item) for item in items)


def _string(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def _padded(raw: bytes) -> bytes:
    return raw + b"\0" * (-len(raw) % 32)
