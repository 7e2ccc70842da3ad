"""The contents of a ``.safetensors`` file, from its header alone; no weights are read.

Layout: 8 bytes little-endian header length N, N bytes of JSON ``{name: {dtype, shape, data_offsets}}``, then the
tensors without gaps (https://github.com/huggingface/safetensors, README "Format"; dtypes: its
``safetensors/src/tensor.rs``).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from wizard.kernel.errors import ModelError
from wizard.kernel.language import tr
from wizard.kernel.text import plain
from wizard.kernel.units import size
from wizard.model.untrusted import parse_object, unreadable

LARGEST_HEADER = 32_000_000
"""Bytes. The format allows 100 MB (``MAX_HEADER_SIZE`` in safetensors/src/tensor.rs); real ones have some 100 bytes per
tensor.
"""
MOST_TENSORS = 400_000
"""Of a checkpoint. Kimi K2 has 140,000, in 61 files."""

_BITS = {
    **dict.fromkeys(("F4",), 4),
    **dict.fromkeys(("F6_E2M3", "F6_E3M2"), 6),
    **dict.fromkeys(("BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"), 8),
    **dict.fromkeys(("U16", "I16", "F16", "BF16"), 16),
    **dict.fromkeys(("U32", "I32", "F32"), 32),
    **dict.fromkeys(("U64", "I64", "F64", "C64"), 64),
}

DTYPES = {"BF16": "bfloat16", "F16": "float16", "F32": "float32", "F64": "float64", "F8_E4M3": "float8_e4m3fn"}
"""safetensors' dtype → the name that config.json uses."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor: its name, the file format's name of its type, its shape and its size in bytes."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    bytes: int

    @property
    def elements(self) -> int:
        """Stored elements; packed formats have several weights in one."""
        return math.prod(self.shape)


def elements(tensors: Iterable[Tensor]) -> dict[str, int]:
    """Elements per stored dtype. Packed formats count their containers as elements."""
    counts: Counter[str] = Counter()
    for tensor in tensors:
        counts[tensor.dtype] += tensor.elements
    return dict(counts)


def read(path: Path) -> tuple[Tensor, ...]:
    """Read and check the header of one file: its tensors, which fill it.

    Raises:
        ModelError: TW-M07 if the file is truncated or its header is invalid; TW-M17 if it is not readable.
    """
    try:
        with path.open("rb") as file:
            total = file.seek(0, 2)
            file.seek(0)
            length = int.from_bytes(file.read(8), "little")
            if LARGEST_HEADER < length <= total - 8:
                raise damaged(path, tr("its header is larger than {size}", size=size(LARGEST_HEADER)))
            if total < 8 or length > total - 8:
                raise damaged(
                    path,
                    tr(
                        "its header claims to be {length} bytes long, but the file has {total}",
                        length=length,
                        total=total,
                    ),
                )
            raw = file.read(length)
    except OSError as error:
        raise unreadable(path, error) from error
    try:
        tensors = parse_object(raw, tr("its header"))
    except ModelError as error:
        raise damaged(path, error.what) from error
    return _check(path, tensors, total - 8 - length)


def damaged(path: Path, why: str) -> ModelError:
    """The error for a file that is truncated or invalid."""
    return ModelError(
        "TW-M07",
        tr("{path} is damaged or truncated: {why}", path=path, why=plain(why)[:300]),
        tr("Delete {file} and download it again; the usual cause is an interrupted download.", file=path.name),
    )


def _check(path: Path, tensors: dict[str, Any], body: int) -> tuple[Tensor, ...]:
    """Check that the tensors fill ``body`` bytes without gaps or overlaps."""
    checked: list[Tensor] = []
    spans: list[tuple[int, int]] = []
    for name, tensor in tensors.items():
        if name == "__metadata__":
            continue
        dtype, shape, span = _tensor(path, name[:100], tensor)
        checked.append(Tensor(name, dtype, shape, span[1] - span[0]))
        spans.append(span)
    end = 0
    for begin, stop in sorted(spans):
        if begin != end:
            raise damaged(path, tr("tensors overlap or leave a gap at byte {byte}", byte=min(begin, end)))
        end = stop
    if end > body:
        raise damaged(path, tr("{size} of weights are missing at the end", size=size(end - body)))
    if end < body:
        raise damaged(path, tr("the last {size} do not belong to any tensor", size=size(body - end)))
    return tuple(checked)


def _tensor(path: Path, name: str, tensor: object) -> tuple[str, tuple[int, ...], tuple[int, int]]:
    """Dtype, shape and byte span of an entry."""
    fields = tensor if isinstance(tensor, dict) else {}
    dtype, shape, offsets = fields.get("dtype"), fields.get("shape"), fields.get("data_offsets")
    if not (isinstance(dtype, str) and _naturals(shape) and _naturals(offsets) and len(offsets) == 2):
        raise damaged(path, tr("invalid dtype, shape or offsets in tensor {name!r}", name=name))
    begin, end = offsets
    if begin > end or len(shape) > 32:
        raise damaged(path, tr("tensor {name!r} ends before it starts", name=name))
    count = math.prod(shape)
    bits = _BITS.get(dtype)
    if bits is not None and (count * bits + 7) // 8 != end - begin:
        raise damaged(
            path, tr("tensor {name!r} has {bytes} bytes, which does not match its shape", name=name, bytes=end - begin)
        )
    return dtype[:20], tuple(shape), (begin, end)


def _naturals(value: object) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(type(item) is int and 0 <= item < 2**63 for item in value)
