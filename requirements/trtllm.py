"""Which releases of TensorRT-LLM name which architectures and quantization algorithms, read from a clone of it.

    git clone --filter=blob:none --no-checkout https://github.com/NVIDIA/TensorRT-LLM
    python requirements/trtllm.py TensorRT-LLM [--write]

prints, for each name, its list, and the first and the last of the release tags that has it: TensorRT-LLM's packages on
the public index contain no code. ``--write`` replaces the column ``llm_api`` of
``profiles/releases/architectures.toml`` if the clone has every release since the first one in an image. The column
``trtllm`` stays, because engines also need a conversion script, and the list names TensorRT-LLM's own classes.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from architectures import DECODER, ENGINES, FINAL, TABLE, Reader, span, table, tomllib, version

IMAGES = TABLE.with_name("trtllm.toml")
COLUMN = "llm_api"


def of_algorithms(tree: ast.Module) -> Iterator[str]:
    """The members of ``QuantAlgo``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name == "QuantAlgo":
            for part in node.body:
                if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name):
                    yield part.targets[0].id


@dataclass(frozen=True)
class Source:
    """A list in the repository: its name, files, and what reads them."""

    name: str
    files: tuple[str, ...]
    read: Reader


LISTS = (
    *(Source(each.column, each.files, each.read) for each in ENGINES if each.package == "tensorrt-llm"),
    Source("algorithm", ("tensorrt_llm/quantization/mode.py",), of_algorithms),
)


class Clone:
    """A git directory; only its objects are read."""

    def __init__(self, directory: Path) -> None:
        """``directory`` is a clone or a bare repository."""
        self.directory = directory

    def git(self, *words: str) -> str:
        """The output of a git command."""
        command = ["git", "-C", str(self.directory), *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def releases(self) -> list[str]:
        """Versions of the tags of final releases, oldest first."""
        tags = (tag.removeprefix("v") for tag in self.git("tag").split() if tag.startswith("v"))
        return sorted((tag for tag in tags if FINAL.fullmatch(tag)), key=version)

    def names(self, release: str, source: Source) -> set[str]:
        """What a list of ``release`` names; empty if it has no such files."""
        known = self.git("ls-tree", "-r", "--name-only", f"v{release}").splitlines()
        files = [file for file in known if any(fnmatch(file, pattern) for pattern in source.files)]
        read = {name for file in files for name in source.read(ast.parse(self.git("show", f"v{release}:{file}")))}
        return read if source.read is of_algorithms else {name for name in read if DECODER.fullmatch(name)}


def history(clone: Clone, source: Source) -> dict[str, set[str]]:
    """Releases that have the list, oldest first → what it names."""
    rows = {release: clone.names(release, source) for release in clone.releases()}
    return {release: row for release, row in rows.items() if row}


def lines(source: Source, rows: dict[str, set[str]]) -> Iterator[str]:
    """A line for each name that a release of ``rows`` has."""
    for name in sorted(set().union(*rows.values())):
        first, last = span(name, rows)
        yield f"{source.name} {name} {first} {last or '-'}"


def in_use() -> list[str]:
    """The versions of TensorRT-LLM in images that serve its LLM API."""
    images = tomllib.loads(IMAGES.read_text(encoding="utf-8"))["releases"]
    return [row["engine"] for row in images if row.get("llm_api") and row["engine"].count(".") < 3]


def main() -> None:
    """Print the lists, or write the column."""
    parser = argparse.ArgumentParser(description="Read the lists of TensorRT-LLM's releases")
    parser.add_argument("directory", type=Path, help="a clone of NVIDIA/TensorRT-LLM with its tags")
    parser.add_argument("--write", action="store_true", help=f"rewrite the column {COLUMN} of {TABLE.name}")
    given = parser.parse_args()
    rows = {source.name: (source, history(Clone(given.directory), source)) for source in LISTS}
    if not given.write:
        print("\n".join(line for source, row in rows.values() for line in lines(source, row)))
        return
    names = rows[COLUMN][1]
    if missing := sorted({*in_use()} - {*names}, key=version):
        raise SystemExit(f"The clone has no list of {', '.join(missing)}: nothing was written.")
    TABLE.write_text(table(TABLE.read_text(encoding="utf-8"), {COLUMN: names}), encoding="utf-8")


if __name__ == "__main__":
    main()
