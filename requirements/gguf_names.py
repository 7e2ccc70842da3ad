"""Which releases of llama.cpp name which architectures and file types of GGUF files, read from the packages themselves.

    python requirements/gguf_names.py

rewrites ``profiles/releases/gguf.toml`` below its comment. Every source distribution of xllamacpp on the package index
that has llama.cpp's sources is read; the names of the Transformers classes come from the newest one's converter.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from architectures import INDEX, releases, sources, span, words

PACKAGE = "xllamacpp"
TABLE = Path(__file__).parent.parent / "profiles/releases/gguf.toml"
ARCHITECTURE = re.compile(r'\{\s*LLM_ARCH_\w+\s*,\s*"([^"]+)"\s*\}')
"""An entry of ``LLM_ARCH_NAMES``."""
NO_MODEL = ("(unknown)", "clip")
"""llama.cpp loads no model of these: the second marks encoders of images and sounds."""
FILE_TYPE = re.compile(r"^\s*LLAMA_FTYPE_(?:ALL|MOSTLY)_(\w+)\s*=", re.MULTILINE)
"""An entry of ``llama_ftype`` that is not commented out."""
CONSTANT = re.compile(r'MODEL_ARCH\.(\w+)\s*:\s*"([^"]+)"')
"""An entry of ``MODEL_ARCH_NAMES`` in gguf-py."""
NAMES = ("llama.cpp/src/llama-arch.cpp", "llama.cpp/include/llama.h")
CONVERTER = ("llama.cpp/conversion/*.py", "llama.cpp/convert_hf_to_gguf.py", "llama.cpp/gguf-py/gguf/constants.py")


@dataclass(frozen=True)
class Read:
    """What a release names."""

    architectures: frozenset[str]
    types: frozenset[str]


def named(texts: Iterable[str]) -> Read:
    """The names in llama.cpp's sources."""
    whole = "\n".join(texts)
    return Read(frozenset(ARCHITECTURE.findall(whole)) - {*NO_MODEL}, frozenset(FILE_TYPE.findall(whole)))


def classes(texts: Iterable[str]) -> Iterator[ast.ClassDef]:
    """The classes in the converter's files."""
    for text in texts:
        yield from (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef))


def own(node: ast.ClassDef) -> str:
    """The constant that the class assigns to ``model_arch``; empty if it assigns none."""
    for part in node.body:
        if isinstance(part, ast.Assign) and isinstance(part.value, ast.Attribute) and "model_arch" in words(part):
            return part.value.attr
    return ""


def registered(node: ast.ClassDef) -> Iterator[str]:
    """The Transformers classes that the class converts."""
    for mark in node.decorator_list:
        if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Attribute) and mark.func.attr == "register":
            yield from (arg.value for arg in mark.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str))


def converted(texts: Iterable[str]) -> dict[str, str]:
    """Transformers class → architecture of the file that the converter makes of it; not if it makes several."""
    files = list(texts)
    names = dict(pair for text in files for pair in CONSTANT.findall(text))
    known = {node.name: node for node in classes(text for text in files if "register(" in text)}

    def constant(node: ast.ClassDef) -> str:
        bases = (known[base.id] for base in node.bases if isinstance(base, ast.Name) and base.id in known)
        return own(node) or next(filter(None, map(constant, bases)), "")

    made: dict[str, set[str]] = {}
    for node in known.values():
        if (name := names.get(constant(node))) and name not in NO_MODEL:
            for model in registered(node):
                made.setdefault(model, set()).add(name)
    return {model: next(iter(names)) for model, names in made.items() if len(names) == 1}


def toml(title: str, values: dict[str, str]) -> str:
    """A table of texts, by name."""
    bare = {key: key if re.fullmatch(r"[\w-]+", key) else json.dumps(key) for key in values}
    return "\n".join([f"[{title}]", *(f"{bare[key]} = {json.dumps(value)}" for key, value in values.items())])


def table(text: str, rows: dict[str, Read], models: dict[str, str]) -> str:
    """The table ``text`` with what each release names, oldest first."""
    parts = [f'read = ["{next(iter(rows))}", "{list(rows)[-1]}"]']
    first: dict[str, str] = {}
    last: dict[str, str] = {}
    for title in ("architectures", "types"):
        history: dict[str, set[str]] = {number: set(getattr(row, title)) for number, row in rows.items()}
        spans = {name: span(name, history) for name in sorted(set().union(*history.values()))}
        first = {name: since for name, (since, _) in spans.items()}
        last |= {name: until for name, (_, until) in spans.items() if until}
        parts.append(toml(title, first))
    known = {name for row in rows.values() for name in row.architectures}
    parts.append(toml("models", {name: models[name] for name in sorted(models) if models[name] in known}))
    parts.append(toml("last", last))
    return text[: text.index("\nread = ") + 1] + "\n\n".join(parts) + "\n"


def main() -> None:
    """Rewrite the table."""
    if not INDEX:
        raise SystemExit("Set PIP_INDEX_URL to the package index: the releases are read there.")
    known = releases(PACKAGE, "0", ".tar.gz")
    with ThreadPoolExecutor(4) as pool:
        texts = pool.map(lambda where: [part.decode() for part in sources(*where, NAMES)], known.values())
        rows = dict(zip(known, map(named, texts), strict=True))
    rows = {number: row for number, row in rows.items() if row.architectures}
    models = converted(part.decode() for part in sources(*known[list(rows)[-1]], CONVERTER))
    TABLE.write_text(table(TABLE.read_text(encoding="utf-8"), rows, models), encoding="utf-8")


if __name__ == "__main__":
    main()
