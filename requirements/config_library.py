"""Which transformers each release of vLLM and SGLang requires, and which models' configurations they bring themselves.

    python requirements/config_library.py

rewrites ``profiles/releases/config-library.toml`` below its comment, from the metadata and the registry of
configurations in every final release on the package index. Nothing is installed or imported.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from architectures import ENGINES, INDEX, MAPPINGS, TABLE, Engine, assigned, releases, sources, span, tomllib, words

OUTPUT = TABLE.with_name("config-library.toml")
REQUIRES = re.compile(r"^Requires-Dist: transformers(?![\w.-]) ?\(?([^);\n]*)", re.MULTILINE)
REGISTRY = re.compile("_CONFIG_REGISTRY")
FILES = {
    "vllm": ("vllm/transformers_utils/config.py",),
    "sglang": ("sglang/srt/configs/*.py", "sglang/srt/hf_transformers_utils.py"),
}
"""Where an engine registers configurations; SGLang's classes state the model's type themselves."""
METADATA = ("*.dist-info/METADATA", "PKG-INFO")
OLDEST = {"vllm": "0.6.0", "sglang": "0.4.6"}


@dataclass(frozen=True)
class Read:
    """What a release requires of transformers, and the model types whose configuration it has itself."""

    requires: str
    types: frozenset[str]


def registered(tree: ast.Module) -> Iterator[str]:
    """Model types in vLLM's registry of configurations, a call or a dictionary, and in SGLang's classes."""
    for value in assigned(tree, REGISTRY):
        if isinstance(value, ast.Call):
            yield from (keyword.arg for keyword in value.keywords if keyword.arg)
        for node in ast.walk(value):
            if isinstance(node, ast.Dict):
                yield from (text for key in node.keys if key for text in words(key))
    for value in assigned(tree, re.compile("model_type")):
        yield from words(value)


def read(texts: Iterable[str]) -> Read:
    """What the files of a release state."""
    requires, types = "", set[str]()
    for text in texts:
        if text.startswith("Metadata-Version"):
            specifier = REQUIRES.search(text)
            requires = specifier[1].strip() if specifier else ""
        else:
            types |= set(registered(ast.parse(text)))
    return Read(requires, frozenset(types))


def types_of(texts: Iterable[str]) -> dict[str, set[str]]:
    """Class → model types that transformers maps to it."""
    types: dict[str, set[str]] = {}
    for text in texts:
        for value in assigned(ast.parse(text), MAPPINGS):
            for node in ast.walk(value):
                if isinstance(node, ast.List):
                    pairs = [pair.elts for pair in node.elts if isinstance(pair, ast.Tuple) and len(pair.elts) == 2]
                    for kind, names in pairs:
                        for name in words(names):
                            types.setdefault(name, set()).update(words(kind))
    return types


def changes(rows: dict[str, Read]) -> dict[str, str]:
    """Release from which on a requirement holds → the requirement."""
    made: dict[str, str] = {}
    for number, row in rows.items():
        if not made or row.requires != list(made.values())[-1]:
            made[number] = row.requires
    return made


def own(rows: dict[str, Read], models: Iterable[str], types: dict[str, set[str]]) -> Iterator[str]:
    """Lines of the models whose configuration an engine brings: the first release, and the last if one dropped it."""
    for model in models:
        history = {number: {model} if types.get(model, set()) & row.types else set() for number, row in rows.items()}
        since, last = span(model, history)
        if since != "none":
            yield f'{model} = ["{since}", "{last}"]'


def table(text: str, read_of: dict[str, dict[str, Read]], models: list[str], types: dict[str, set[str]]) -> str:
    """The table ``text`` with what each engine's releases state."""
    parts = []
    for column, rows in read_of.items():
        parts.append([f"[ranges.{column}]", *(f'"{since}" = "{value}"' for since, value in changes(rows).items())])
    for column, rows in read_of.items():
        parts.append([f"[own.{column}]", *own(rows, models, types)])
    return text.partition("\n[")[0].rstrip("\n") + "\n\n" + "\n\n".join(map("\n".join, parts)) + "\n"


def history(engine: Engine) -> dict[str, Read]:
    """Releases, oldest first → what their packages state."""
    known = releases(engine.package, OLDEST[engine.column])
    files = (*METADATA, *FILES[engine.column])
    with ThreadPoolExecutor(8) as pool:
        rows = pool.map(lambda where: read([part.decode() for part in sources(*where, files)]), known.values())
        return dict(zip(known, rows, strict=True))


def main() -> None:
    """Rewrite the table."""
    if not INDEX:
        raise SystemExit("Set PIP_INDEX_URL to the package index: the releases are read there.")
    mapped = next(engine for engine in ENGINES if engine.column == "transformers")
    *_, newest = releases(mapped.package, mapped.oldest).values()
    types = types_of(part.decode() for part in sources(*newest, mapped.files))
    models = [model["name"] for model in tomllib.loads(TABLE.read_text(encoding="utf-8"))["models"]]
    known = {engine.column: history(engine) for engine in ENGINES if engine.column in FILES}
    OUTPUT.write_text(table(OUTPUT.read_text(encoding="utf-8"), known, models, types), encoding="utf-8")


if __name__ == "__main__":
    main()
