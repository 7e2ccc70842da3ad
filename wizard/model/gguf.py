"""The metadata and tensor shapes of a ``.gguf`` file, from its header; no weights are read.

A small reader of our own, bounded by the file's size and a `Budget` in every loop. Layout: https://github.com/ggml-org/ggml,
docs/gguf.md; numbers of types and file types: llama.cpp, ``ggml/include/ggml.h`` and ``include/llama.h``
(``llama_ftype``), block sizes as in gguf-py's ``GGML_QUANT_SIZES``.
"""

from __future__ import annotations

import io
import math
import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

from wizard.kernel.errors import ModelError
from wizard.kernel.language import tr
from wizard.kernel.text import plain
from wizard.kernel.units import size
from wizard.model.gguf_parts import incomplete, parts
from wizard.model.gguf_reader import Budget, Reader, TooShortError, refused
from wizard.model.safetensors import Tensor
from wizard.model.untrusted import unreadable

_TYPES: dict[int, tuple[str, int, int]] = {
    0: ("F32", 1, 4),
    1: ("F16", 1, 2),
    2: ("Q4_0", 32, 18),
    3: ("Q4_1", 32, 20),
    6: ("Q5_0", 32, 22),
    7: ("Q5_1", 32, 24),
    8: ("Q8_0", 32, 34),
    9: ("Q8_1", 32, 40),
    10: ("Q2_K", 256, 84),
    11: ("Q3_K", 256, 110),
    12: ("Q4_K", 256, 144),
    13: ("Q5_K", 256, 176),
    14: ("Q6_K", 256, 210),
    15: ("Q8_K", 256, 292),
    16: ("IQ2_XXS", 256, 66),
    17: ("IQ2_XS", 256, 74),
    18: ("IQ3_XXS", 256, 98),
    19: ("IQ1_S", 256, 50),
    20: ("IQ4_NL", 32, 18),
    21: ("IQ3_S", 256, 110),
    22: ("IQ2_S", 256, 82),
    23: ("IQ4_XS", 256, 136),
    24: ("I8", 1, 1),
    25: ("I16", 1, 2),
    26: ("I32", 1, 4),
    27: ("I64", 1, 8),
    28: ("F64", 1, 8),
    29: ("IQ1_M", 256, 56),
    30: ("BF16", 1, 2),
    34: ("TQ1_0", 256, 54),
    35: ("TQ2_0", 256, 66),
    39: ("MXFP4", 32, 17),
    40: ("NVFP4", 64, 36),
    41: ("Q1_0", 128, 18),
    42: ("Q2_0", 64, 18),
}
"""ggml type → name, weights per block, bytes per block."""

FILE_TYPES = {
    **{0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K", 11: "Q3_K_S"},
    **{12: "Q3_K_M", 13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K"},
    **{19: "IQ2_XXS", 20: "IQ2_XS", 21: "Q2_K_S", 22: "IQ3_XS", 23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL"},
    **{26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S", 29: "IQ2_M", 30: "IQ4_XS", 31: "IQ1_M", 32: "BF16"},
    **{36: "TQ1_0", 37: "TQ2_0", 38: "MXFP4_MOE", 39: "NVFP4", 40: "Q1_0", 41: "Q2_0"},
}
"""``general.file_type`` → llama.cpp's name without ``MOSTLY_``."""

_MAX_KEY = 65_535  # docs/gguf.md: a key is at most 2^16 - 1 bytes
_TOKENS = "tokenizer.ggml.tokens"
_ALIGNMENT = 32


@dataclass(frozen=True, slots=True)
class Header:
    """A GGUF file's header.

    Attributes:
        metadata: Key → scalar, text or short tuple of numbers.
        file_type: ``Q8_0``, ``Q4_K_M`` … after ``general.file_type``, else the type of most weights.
        parameters: Weights of all tensors; None if the header is incomplete (`parse` with ``partial``).
        weight_bytes: Bytes of all tensors; None likewise, and if a tensor's type is not in the table above.
        vocabulary: Number of tokens, if the file has a tokenizer.
        tensors: All tensors, with ggml's names of their types; none if the header is incomplete.
        tokens: Special token's name (``bos``, ``eos``, ``eot``, ``eom``) → its text.
    """

    metadata: dict[str, Any]
    file_type: str | None
    parameters: int | None
    weight_bytes: int | None
    vocabulary: int | None = None
    tensors: tuple[Tensor, ...] = ()
    tokens: dict[str, str] = field(default_factory=dict)


def read(path: Path) -> Header:
    """Read the header of ``path``, if it is split those of all parts, and check that they are long enough.

    Raises:
        ModelError: TW-M09 if it is not a usable GGUF model; TW-M10 if it is truncated; TW-M17 if unreadable; TW-M20 if
            parts are missing.
    """
    files = [path.with_name(name) for name in parts(path.name)]
    if absent := [file.name for file in files if len(files) > 1 and not file.exists()]:
        raise incomplete(str(path), absent, len(files))
    budget = Budget()
    return joined([_read(file, budget) for file in files], str(path))


def _read(path: Path, budget: Budget) -> Header:
    try:
        with path.open("rb") as file:
            total = file.seek(0, 2)
            file.seek(0)
            return parse(file, total, str(path), budget=budget)
    except OSError as error:
        raise unreadable(path, error) from error


def parse(file: BinaryIO, total: int, where: str, *, partial: bool = False, budget: Budget | None = None) -> Header:
    """Read a header from ``file``, the beginning of a GGUF file of ``total`` bytes.

    With ``partial`` the bytes may end early (a ranged download): the part that was read is returned.

    Raises:
        ModelError: see `read`.
    """
    reader = Reader(file, total, where, budget or Budget())
    metadata: dict[str, Any] = {}
    tensors = None
    try:
        tensor_count, pair_count = _counts(reader)
        for _ in range(pair_count):
            key = reader.text(_MAX_KEY)
            metadata[key] = reader.value(reader.number("I"), keep_texts=key == _TOKENS)
        tensors = _Tensors.read(reader, tensor_count, metadata)
    except TooShortError as error:
        if not partial:
            raise _truncated(where, str(error)) from error
    _refuse_others(metadata, where)
    tokens = metadata.pop(_TOKENS, None)
    known = FILE_TYPES.get(file_type) if isinstance(file_type := metadata.get("general.file_type"), int) else None
    return Header(
        metadata=metadata,
        file_type=known or (tensors.main_type if tensors else None) or None,
        parameters=tensors.parameters if tensors else None,
        weight_bytes=tensors.bytes if tensors else None,
        vocabulary=len(tokens) if isinstance(tokens, tuple) else None,
        tensors=tensors.all if tensors else (),
        tokens=_special_tokens(metadata, tokens),
    )


def parse_beginning(raw: bytes, total: int, where: str) -> Header:
    """`parse` for the first bytes of a remote file."""
    return parse(io.BytesIO(raw), total, where, partial=True)


def joined(headers: Sequence[Header], where: str) -> Header:
    """The header of a model from those of all its parts, which is the first one's if there is only one.

    Raises:
        ModelError: TW-M09 if they are not the parts of one model, in this order.
    """
    first = headers[0]
    for number, header in enumerate(headers):
        if (count := header.metadata.get("split.count") or 1) != len(headers):
            end = _end(header, count)
            why = tr("it is one of {count} parts, and its name does not end in {end}", count=count, end=end)
            raise refused(where, why)
        if count > 1 and header.metadata.get("split.no") != number:
            raise refused(where, tr("part {number} is another one, according to its header", number=number + 1))
    if any(header.parameters is None for header in headers):
        return first if len(headers) == 1 else replace(first, parameters=None, weight_bytes=None, tensors=())
    tensors = tuple(tensor for header in headers for tensor in header.tensors)
    if not tensors:
        raise refused(where, tr("it contains no tensors"))
    if len(tensors) != (stated := first.metadata.get("split.tensors.count", len(tensors))):
        why = tr("its parts have {count} tensors instead of {stated}", count=len(tensors), stated=stated)
        raise refused(where, why)
    sizes = [header.weight_bytes for header in headers]
    return replace(
        first,
        file_type=first.file_type or next((header.file_type for header in headers if header.file_type), None),
        parameters=sum(header.parameters or 0 for header in headers),
        weight_bytes=None if None in sizes else sum(size or 0 for size in sizes),
        tensors=tensors,
    )


def _end(header: Header, count: object) -> str:
    """What the name of this part ends in."""
    number = header.metadata.get("split.no", 0)
    plain_numbers = isinstance(number, int) and isinstance(count, int)
    return f"-{number + 1:05}-of-{count:05}.gguf" if plain_numbers else "-00001-of-00002.gguf"


@dataclass(frozen=True, slots=True)
class _Tensors:
    all: tuple[Tensor, ...]
    parameters: int
    bytes: int | None
    main_type: str

    @classmethod
    def read(cls, reader: Reader, count: int, metadata: dict[str, Any]) -> _Tensors:
        """Read all tensor descriptions; check that they are inside the file, aligned and disjoint."""
        reader.expect(count, 24)
        if count > reader.budget.tensors:
            raise refused(reader.where, tr("its header claims too many tensors: {count}", count=count))
        reader.budget.tensors -= count
        weights: Counter[str] = Counter()
        spans: list[tuple[int, int]] = []
        tensors: list[Tensor] = []
        for _ in range(count):
            name = reader.text(_MAX_KEY)
            dimensions = reader.number("I")
            if dimensions > 8:  # GGML_MAX_DIMS is 4 today
                raise refused(
                    reader.where,
                    tr("tensor {name!r} has too many dimensions: {dimensions}", name=name, dimensions=dimensions),
                )
            shape = struct.unpack(f"<{dimensions}Q", reader.take(8 * dimensions))
            elements = math.prod(shape)
            kind, offset = reader.number("I"), reader.number("Q")
            type_name, block, block_bytes = _TYPES.get(kind, (f"type {kind}", 1, 0))
            if elements % block:
                raise refused(
                    reader.where,
                    tr("tensor {name!r} does not divide evenly into {type} blocks", name=name, type=type_name),
                )
            weights[type_name] += elements
            spans.append((offset, offset + elements // block * block_bytes))
            tensors.append(Tensor(name, type_name, shape, elements // block * block_bytes))
        _check_spans(reader, spans, metadata.get("general.alignment", _ALIGNMENT))
        main = max(weights, key=lambda kind: weights[kind], default="")
        known = all(not name.startswith("type ") for name in weights)
        total = sum(tensor.bytes for tensor in tensors) if known else None
        return cls(tuple(tensors), sum(weights.values()), total, main)


def _check_spans(reader: Reader, spans: list[tuple[int, int]], alignment: object) -> None:
    if not isinstance(alignment, int) or not 1 <= alignment <= 1 << 20:
        raise refused(reader.where, tr("its alignment is invalid"))
    start = -(-reader.position // alignment) * alignment
    end = 0
    for begin, stop in sorted(spans):
        if begin < end:
            raise refused(reader.where, tr("its tensors overlap"))
        end = stop
    if spans and start + end > reader.total:
        raise TooShortError(tr("{size} of weights are missing at the end", size=size(start + end - reader.total)))


def _counts(reader: Reader) -> tuple[int, int]:
    """Check magic and version; return the number of tensors and of metadata pairs."""
    if reader.take(4) != b"GGUF":
        raise refused(reader.where, tr("it does not start with GGUF"))
    version = reader.number("I")
    if version not in (2, 3):
        if version >> 16:
            raise refused(reader.where, tr("it is for big-endian machines"))
        raise refused(reader.where, tr("its version is {version}, not 2 or 3", version=version))
    tensors, pairs = reader.number("Q"), reader.number("Q")
    reader.expect(pairs, 13)
    reader.budget.entries -= pairs
    return tensors, pairs


def _refuse_others(metadata: dict[str, Any], where: str) -> None:
    """Adapters and projectors are GGUF too, but cannot be served alone."""
    kind = metadata.get("general.type", "model")
    if kind != "model":
        raise refused(where, tr("it contains {kind!r}, not a model", kind=plain(str(kind))[:40]))


def _special_tokens(metadata: dict[str, Any], tokens: tuple[bytes, ...] | None) -> dict[str, str]:
    texts = {}
    for name in ("bos", "eos", "eot", "eom"):
        index = metadata.get(f"tokenizer.ggml.{name}_token_id")
        if tokens and isinstance(index, int) and 0 <= index < len(tokens):
            texts[name] = tokens[index].decode("utf-8", "replace")
    return texts


def _truncated(where: str, why: str) -> ModelError:
    return ModelError(
        "TW-M10",
        tr("{where} is truncated: {why}", where=where, why=why),
        tr("Delete it and download it again; the usual cause is an interrupted download."),
    )
