"""A tokenizer.json, read by the ``tokenizers`` library: a program that answers questions about one, within limits.

Its regular expressions and normalizers are a stranger's; the library holds Python's lock while it computes, so that in
the wizard's own process even Ctrl-C would wait.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from wizard.chat.readers.serving import serve

MEMORY = 512 << 20
"""Bytes of address space: a vocabulary of 128,000 tokens takes 160 MiB, Gemma's has twice as many."""
SECONDS = 5
"""Of processor time, to read the file or to encode a prompt; a million characters take 0.7 s."""


def prepare(path: str) -> Any:
    """The function that answers, for the file at ``path``."""
    from tokenizers import Tokenizer

    return partial(answer, Tokenizer.from_file(path))


def answer(
    tokenizer: Any,
    *,
    encode: str | None = None,
    begin: bool = False,
    decode: list[int] | None = None,
    special: bool = False,
    token: str | None = None,
) -> dict[str, Any]:
    """``{"ids": …}`` of a text to ``encode``, ``{"text": …}`` of IDs to ``decode``, or ``{"id": …}`` of a ``token``."""
    if encode is not None:
        return {"ids": tokenizer.encode(encode, add_special_tokens=begin).ids}
    if decode is not None:
        return {"text": tokenizer.decode(decode, skip_special_tokens=not special)}
    return {"id": tokenizer.token_to_id(token)}


if __name__ == "__main__":
    serve(prepare, memory=MEMORY, seconds=SECONDS)
