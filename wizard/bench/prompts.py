"""Reads and makes the prompts of a dataset.

Tutorial 003's file is a JSON list of objects with ``instruction``, ``input`` and ``output`` (the summary, not used):
NVIDIA/TensorRT-LLM, triton_backend/tools/dataset/mini_cnn_eval.json, 98 articles of the CNN/DailyMail dataset. That
repository is under the Apache License 2.0; the articles are their publishers', so the wizard does not ship them.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from wizard.bench.dataset import Dataset, Kind, Prompt
from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr

GENERATED = "generated"
CHARACTERS = 4
"""Of English text per token, roughly."""
MOST = 10_000
"""Prompts of a file; the rest is not read."""
LARGEST = 400_000
"""Characters of a prompt; longer ones are left out."""
LARGEST_FILE = 512 * 1024**2
FIELDS = ("prompt", "text", "question", "input")
"""Names under which a row of the user's own has its prompt; the first one counts."""
LENGTHS = ("output_length", "max_tokens")
WORDS = (
    "time year people way day man thing woman life child world school state family student group country problem hand "
    "part place case week company system program question work government number night point home water room mother "
    "area money story fact month lot right study book eye job word business issue side kind head house service friend"
)
"""Common English words, which most tokenizers know as one token each."""


def kind_of(name: str) -> Kind:
    """The kind of the dataset that the user named: `GENERATED`, or a file by its suffix."""
    if name == GENERATED:
        return "generated"
    return "cnn" if Path(name).suffix.lower() == ".json" else "prompts"


def read(dataset: Dataset, count: int, seed: int, context: int | None = None) -> tuple[Dataset, tuple[Prompt, ...]]:
    """The prompts of ``dataset``, and ``dataset`` with what was found.

    Args:
        dataset: Kind, lengths and path.
        count: Prompts to generate.
        seed: For generating them.
        context: Tokens of a request that the server supports; longer prompts are left out. None: unknown.

    Raises:
        UsageError: TW-C66 if the file cannot be used, or no prompt is left.
    """
    if dataset.kind == "generated":
        made = tuple(generated(count, dataset.isl or 1, dataset.osl, seed))
        return replace(dataset, prompts=len(made)), made
    path = Path(dataset.path or "")
    data = _bytes(path)
    changed: Counter[str] = Counter()
    limit = LARGEST if context is None else min(LARGEST, max(0, context - dataset.osl) * CHARACTERS)
    prompts: list[Prompt] = []
    for text, osl in _rows(dataset.kind, data, path):
        prompt = _fitting(text.strip(), osl or dataset.osl, dataset.isl, limit, changed)
        if prompt and len(prompts) < MOST:
            prompts.append(prompt)
    if not prompts:
        left = ", ".join(f"{reason}: {number}" for reason, number in sorted(changed.items())) or tr("it has no rows")
        raise invalid(path, tr("no prompt is left ({reasons})", reasons=left))
    rows = tuple(sorted(changed.items()))
    digest = hashlib.sha256(data).hexdigest()
    return replace(dataset, path=str(path), sha256=digest, prompts=len(prompts), changed=rows), tuple(prompts)


def generated(count: int, isl: int, osl: int, seed: int) -> Iterator[Prompt]:
    """``count`` prompts of ``isl`` words. Each begins differently, so a prefix cache does not help."""
    random_ = random.Random(seed)  # noqa: S311
    for number in range(count):
        words = [str(number), *random_.choices(WORDS.split(), k=isl)]
        yield Prompt(" ".join(words[:isl]), osl)


def _fitting(text: str, osl: int, isl: int | None, limit: int, changed: Counter[str]) -> Prompt | None:
    if not text:
        changed["empty"] += 1
        return None
    if isl is not None and len(text) > isl * CHARACTERS:
        changed["cut"] += 1
        text = text[: isl * CHARACTERS]
    if len(text) > limit:
        changed["too-long"] += 1
        return None
    return Prompt(text, osl)


def _bytes(path: Path) -> bytes:
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise invalid(path, tr("it is larger than {size} MiB", size=LARGEST_FILE // 1024**2))
        return path.read_bytes()
    except OSError as error:
        raise invalid(path, error.strerror or str(error)) from error


def _rows(kind: Kind, data: bytes, path: Path) -> Iterator[tuple[str, int | None]]:
    """The text of each row, and the length of its answer if it has one; empty rows are empty texts."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise invalid(path, tr("it is not UTF-8 text")) from error
    if kind == "cnn":
        yield from _articles(text, path)
        return
    as_json = path.suffix.lower() == ".jsonl"
    for number, line in enumerate(text.splitlines(), 1):
        if not as_json or not line.strip():
            yield line, None
            continue
        try:
            yield _row(json.loads(line))
        except (ValueError, RecursionError, TypeError) as error:
            raise invalid(path, tr("line {number} is not valid: {why}", number=number, why=error)) from error


def _row(row: Any) -> tuple[str, int | None]:
    """The prompt of a row of the user's own; TypeError if it has none."""
    if isinstance(row, str):
        return row, None
    if not isinstance(row, Mapping):
        raise TypeError(tr("expected a string or an object"))
    prompt = next((row[name] for name in FIELDS if name in row), None)
    if not isinstance(prompt, str):
        raise TypeError(tr("none of the fields {names} is a string", names=", ".join(FIELDS)))
    length = next((row[name] for name in LENGTHS if name in row), None)
    if length is not None and (type(length) is not int or length < 1):
        raise TypeError(tr("the length of the answer is not a positive number"))
    return prompt, length


def _articles(text: str, path: Path) -> Iterator[tuple[str, int | None]]:
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise invalid(path, tr("it is not JSON: {why}", why=error)) from error
    if not isinstance(rows, list):
        raise invalid(path, tr("expected a list of objects with 'instruction' and 'input'"))
    for number, row in enumerate(rows, 1):
        article = row.get("input") if isinstance(row, dict) else None
        if not isinstance(article, str):
            raise invalid(path, tr("row {number} has no text 'input'", number=number))
        instruction = row.get("instruction")
        parts = [instruction, article] if isinstance(instruction, str) and article.strip() else [article]
        yield "\n".join(parts), None


def invalid(path: Path, why: str) -> UsageError:
    """The error for a dataset that cannot be used."""
    todo = tr("Pass a JSON list like mini_cnn_eval.json, a .jsonl file with an object per line, or a prompt per line.")
    return UsageError("TW-C66", tr("cannot use the dataset {path}: {why}", path=path, why=why), todo)
