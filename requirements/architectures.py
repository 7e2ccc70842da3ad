"""Which releases of each engine name which model architectures, read from the packages themselves.

    python requirements/architectures.py [ARCHITECTURE...]

rewrites `read`, the ``[[models]]`` and the ``[[methods]]`` of ``profiles/releases/architectures.toml``: models that are
in it, that two of the engines name, or that are given. Of every final release on the package index only the files of
its registry are read, from the wheel by ranged requests or from the source distribution, and parsed; nothing is
installed or imported. An engine whose packages have no such files keeps its versions, and `source` what it says of
them: TensorRT-LLM's on the public index contain no code, so its versions come from release notes.
"""

from __future__ import annotations

import ast
import io
import json
import os
import re
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import urljoin
from urllib.request import Request, urlopen

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

INDEX = (os.environ.get("UV_INDEX_URL") or os.environ.get("PIP_INDEX_URL") or "").rstrip("/")
"""The package index that pip or uv is told to use; without one of the two variables nothing is found."""
TABLE = Path(__file__).parent.parent / "profiles/releases/architectures.toml"
FINAL = re.compile(r"\d+(\.\d+)*(\.post\d+)?")
WHOLE = 24 << 20
"""A wheel up to this many bytes is fetched at once if many of its members are read."""
DICTIONARIES = re.compile(
    r"_(MODEL_REGISTRY|(GENERATION|CONDITIONAL_GENERATION|DECODER_ONLY|TEXT_GENERATION|MULTIMODAL|TRANSFORMERS_SUPPORTED"
    r"|TRANSFORMERS_BACKEND)?_?MODELS)"
)
"""vLLM's dictionaries of models that generate text, of all its releases."""
MAPPINGS = re.compile(
    r"MODEL_FOR_(CAUSAL_LM|IMAGE_TEXT_TO_TEXT|VISION_2_SEQ|MULTIMODAL_LM|SEQ_TO_SEQ_CAUSAL_LM)_MAPPING(_NAMES)?"
)
DECODER = re.compile(r"\w+(ForCausalLM|ForConditionalGeneration|LMHeadModel)")
OTHERS = re.compile(
    r"^(Transformers|Whisper|Blip|Florence|Voxtral|Music|M?Bart|Moss|VibeVoice|Cosmos)"
    r"|Asr|ASR|Audio|Speech|Ocr|OCR|Assistant|Omni"
)
"""No models to chat with: they recognize speech or pages, draft for others, or are no architecture at all."""

Reader = Callable[[ast.Module], Iterator[str]]


def assigned(tree: ast.Module, names: re.Pattern[str]) -> Iterator[ast.expr]:
    """The values that are assigned to variables of such names, in whatever block."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign) and node.value:
            targets = [node.target]
        else:
            continue
        if node.value and any(isinstance(target, ast.Name) and names.fullmatch(target.id) for target in targets):
            yield node.value


def words(value: ast.AST) -> Iterator[str]:
    """All texts and names in an expression."""
    for node in ast.walk(value):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.Name):
            yield node.id


def keys(tree: ast.Module, names: re.Pattern[str]) -> Iterator[str]:
    """The keys of dictionaries of such names."""
    for value in assigned(tree, names):
        for node in ast.walk(value):
            if isinstance(node, ast.Dict):
                yield from (text for key in node.keys if key for text in words(key))


def of_vllm(tree: ast.Module) -> Iterator[str]:
    """The keys of vLLM's dictionaries."""
    return keys(tree, DICTIONARIES)


def of_sglang(tree: ast.Module) -> Iterator[str]:
    """The classes that one of SGLang's modules registers."""
    for value in assigned(tree, re.compile("EntryClass")):
        yield from words(value)


def of_transformers(tree: ast.Module) -> Iterator[str]:
    """The classes that transformers maps models to."""
    for value in assigned(tree, MAPPINGS):
        yield from words(value)


def of_llm_api(tree: ast.Module) -> Iterator[str]:
    """The classes that TensorRT-LLM's PyTorch backend registers."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and getattr(mark.func, "id", "") == "register_auto_model":
                    yield from (text for argument in mark.args for text in words(argument))


def of_methods(tree: ast.Module) -> Iterator[str]:
    """The quantization methods that vLLM's or SGLang's package of them names: in dictionaries, or in a literal."""
    listed = assigned(tree, re.compile("QuantizationMethods|QUANTIZATION_METHODS"))
    keys_of = (key for node in ast.walk(tree) if isinstance(node, ast.Dict) for key in node.keys if key)
    for node in (each for value in (*listed, *keys_of) for each in ast.walk(value)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def of_trtllm(tree: ast.Module) -> Iterator[str]:
    """The models that TensorRT-LLM builds engines of."""
    return keys(tree, re.compile("MODEL_MAP"))


@dataclass(frozen=True)
class Engine:
    """What is read of an engine.

    Attributes:
        column: Its column of the table.
        package: Its name on the index.
        files: Patterns of the files that name models.
        read: Returns the names in one of them.
        source: How the table names the files.
        oldest: The oldest release that is read.
        by_name: Whether the engine finds its class by the architecture's name, so that one which it does not name is
            one that it does not serve. transformers finds it by the model's type: its own name may differ.
    """

    column: str
    package: str
    files: tuple[str, ...]
    read: Reader
    source: str
    oldest: str = "0"
    by_name: bool = True


ENGINES = (
    Engine(
        "vllm",
        "vllm",
        (
            "vllm/model_executor/models/registry.py",
            "vllm/model_executor/models/__init__.py",
            "vllm/model_executor/model_loader.py",
        ),
        of_vllm,
        "vLLM models/registry.py",
    ),
    Engine("sglang", "sglang", ("sglang/srt/models/*.py",), of_sglang, "SGLang srt/models"),
    Engine(
        "transformers",
        "transformers",
        ("transformers/models/auto/modeling_auto.py", "transformers/models/auto/auto_mappings.py"),
        of_transformers,
        "transformers modeling_auto.py",
        "4.20.0",
        by_name=False,
    ),
    Engine("trtllm", "tensorrt-llm", ("tensorrt_llm/models/__init__.py",), of_trtllm, "TensorRT-LLM MODEL_MAP"),
    Engine("llm_api", "tensorrt-llm", ("tensorrt_llm/_torch/models/*.py",), of_llm_api, "TensorRT-LLM _torch/models"),
)


METHODS = (
    Engine(
        "vllm",
        "vllm",
        ("vllm/model_executor/layers/quantization/__init__.py",),
        of_methods,
        "vLLM layers/quantization/__init__.py",
    ),
    Engine(
        "sglang",
        "sglang",
        ("sglang/srt/layers/quantization/__init__.py",),
        of_methods,
        "SGLang srt/layers/quantization/__init__.py",
    ),
)
"""The same for methods of quantization."""
NAMES = {
    "auto-round": ("auto-round", "inc"),
    **{name: (name,) for name in ("awq", "bitsandbytes", "compressed-tensors", "eetq", "fbgemm_fp8", "fp8", "gptq")},
    **{name: (name,) for name in ("gptq_marlin", "modelopt", "mxfp4", "nvfp4")},
}
"""``quant_method`` of checkpoints that the wizard knows → the engines' names for it."""


def version(text: str) -> tuple[int, ...]:
    """Its numbers, for ordering."""
    return tuple(map(int, re.findall(r"\d+", text)))


def fetch(url: str, first: int | None = None, last: int | None = None, kind: str = "*/*") -> bytes:
    """GET, or its bytes from ``first`` to ``last``."""
    headers = {"Accept": kind, **({} if first is None else {"Range": f"bytes={first}-{last}"})}
    with urlopen(Request(url, headers=headers), timeout=180) as answer:
        return bytes(answer.read())


class Remote(io.RawIOBase):
    """A file on the index of which only the bytes that are read are fetched."""

    def __init__(self, url: str, size: int) -> None:
        """``size`` is what the index says."""
        self.url, self.size, self.at = url, size, 0

    def seekable(self) -> bool:
        """It is."""
        return True

    def readable(self) -> bool:
        """It is."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """As of any file."""
        self.at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self.at, io.SEEK_END: self.size}[whence]
        return self.at

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """One ranged request."""
        end = min(self.at + len(buffer), self.size)
        if end <= self.at:
            return 0
        data = fetch(self.url, self.at, end - 1)
        buffer[: len(data)] = data
        self.at += len(data)
        return len(data)


def sources(url: str, size: int, files: tuple[str, ...]) -> Iterator[bytes]:
    """The members of a wheel that fit ``files``, or of a source distribution, where they lie in folders."""
    if url.endswith(".whl"):
        many = any("*" in file for file in files) and size <= WHOLE
        file = io.BytesIO(fetch(url)) if many else io.BufferedReader(Remote(url, size), 1 << 17)
        with zipfile.ZipFile(file) as archive:
            for name in archive.namelist():
                if any(fnmatch(name, pattern) for pattern in files):
                    yield archive.read(name)
        return
    with tarfile.open(fileobj=io.BytesIO(fetch(url))) as archive:
        for member in archive:
            if any(fnmatch(member.name, f"*/{pattern}") for pattern in files) and (data := archive.extractfile(member)):
                yield data.read()


def releases(package: str, oldest: str, suffix: str = "") -> dict[str, tuple[str, int]]:
    """Final releases from ``oldest`` on that are not withdrawn, oldest first → address and size of a wheel, or of the
    source distribution; of files whose name ends in ``suffix``.
    """
    page = f"{INDEX}/{package}/"
    listed = json.loads(fetch(page, kind="application/vnd.pypi.simple.v1+json"))["files"]
    files: dict[str, tuple[str, int]] = {}
    for each in sorted(listed, key=lambda each: bool(each["filename"].endswith(".whl"))):
        number = each["filename"].removesuffix(".tar.gz")[len(package) + 1 :].split("-")[0]
        usable = FINAL.fullmatch(number) and not each.get("yanked") and each["filename"].endswith(suffix)
        if usable and version(number) >= version(oldest):
            files[number] = (urljoin(page, each["url"]), each["size"])
    return {number: files[number] for number in sorted(files, key=version)}


@cache  # most files are the same in many releases
def named(read: Reader, text: bytes) -> frozenset[str]:
    """The decoders that a file names, or the methods of quantization."""
    names = frozenset(read(ast.parse(text)))
    if read is of_methods:
        return frozenset(name for name, theirs in NAMES.items() if not names.isdisjoint(theirs))
    return frozenset(name for name in names if DECODER.fullmatch(name))


def history(engine: Engine) -> dict[str, set[str]]:
    """Releases with files that name models, oldest first → the names."""
    known = releases(engine.package, engine.oldest)

    def names(where: tuple[str, int]) -> set[str]:
        return {name for text in sources(*where, engine.files) for name in named(engine.read, text)}

    with ThreadPoolExecutor(8) as pool:
        rows = dict(zip(known, pool.map(names, known.values()), strict=True))
    return {number: row for number, row in rows.items() if row}


def span(name: str, rows: dict[str, set[str]]) -> tuple[str, str]:
    """The first and the last release of those that name it without a gap, the newest such; ``none`` for never, and an
    empty last for all since.
    """
    runs = [(has, [number for number, _ in run]) for has, run in groupby(rows.items(), lambda row: name in row[1])]
    mine = [run for has, run in runs if has]
    if not mine:
        return "none", ""
    if len(mine) > 1:
        print(f"{name}: named from {', from '.join(f'{run[0]} to {run[-1]}' for run in mine)}", file=sys.stderr)
    return mine[-1][0], "" if mine[-1][-1] == list(rows)[-1] else mine[-1][-1]


def entry(
    name: str,
    old: dict[str, Any],
    read: dict[str, dict[str, set[str]]],
    known: tuple[Engine, ...] = ENGINES,
    kind: str = "models",
) -> str:
    """The text of a model's entry, or a method's."""
    first, last = dict(old.get("first", {})), dict(old.get("last", {}))
    engines = [engine for engine in known if engine.column in read]
    for engine in engines:
        since, until = span(name, read[engine.column])
        first[engine.column] = since if since != "none" or engine.by_name else ""
        last[engine.column] = until
    by_hand = [part for part in old.get("source", "").split("; ") if not any(each.source in part for each in known)]
    files = [engine.source for engine in engines if first[engine.column] not in ("none", "")]
    files = files or [f"not in {engine.source}" for engine in engines]
    lines = [f"[[{kind}]]", f'name = "{name}"']
    lines += [f"{key} = {inline(row)}" for key, row in (("first", first), ("last", last)) if any(row.values())]
    return "\n".join([*lines, f'source = "{"; ".join([", ".join(files), *by_hand]).strip("; ")}"'])


def inline(values: dict[str, str]) -> str:
    """A table of TOML in one line, in the order of the engines."""
    pairs = [f'{each.column} = "{values[each.column]}"' for each in ENGINES if values.get(each.column)]
    return "{ " + ", ".join(pairs) + " }"


def table(text: str, read: dict[str, dict[str, set[str]]], more: Iterable[str] = ()) -> str:
    """The table ``text`` with what was ``read`` of each engine: column → release → names."""
    old = {model["name"]: model for model in tomllib.loads(text)["models"]}
    ever = [set().union(*rows.values()) for rows in read.values()]
    chat = {name for names in ever for name in names if not OTHERS.search(name)}
    shared = {name for name in chat if sum(name in names for names in ever) > 1}
    wanted = sorted({*old, *shared, *more}, key=lambda name: (name.lower(), name))
    by_hand = tomllib.loads(text).get("read", {})
    newest = inline({**by_hand, **{column: list(rows)[-1] for column, rows in read.items()}})
    before, _, rest = re.sub(r"^read = .*$", f"read = {newest}", text, flags=re.MULTILINE).partition("[[models]]")
    after = rest[rest.index("\n# ") :]
    return before + "\n\n".join(entry(name, old.get(name, {}), read) for name in wanted) + "\n" + after


def methods(text: str, read: dict[str, dict[str, set[str]]]) -> str:
    """The table ``text`` with the methods of quantization that were ``read`` of each engine."""
    old = {method["name"]: method for method in tomllib.loads(text).get("methods", ())}
    before, _, rest = text.partition("[[methods]]")
    after = rest[rest.index("\n# ") :]
    written = "\n\n".join(entry(name, old.get(name, {}), read, METHODS, "methods") for name in sorted(NAMES))
    return f"{before}{written}\n{after}"


def main(more: list[str]) -> None:
    """Rewrite the table."""
    if not INDEX:
        raise SystemExit("Set PIP_INDEX_URL to the package index: the releases are read there.")
    read = {engine.column: rows for engine in ENGINES if (rows := history(engine))}
    text = table(TABLE.read_text(encoding="utf-8"), read, more)
    TABLE.write_text(methods(text, {engine.column: history(engine) for engine in METHODS}), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
