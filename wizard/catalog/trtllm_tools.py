"""TensorRT-LLM's own tools, from release to release: ``profiles/releases/trtllm-tools.toml``.

The differences between releases are rows of that file, not conditions in the code: what is asked here is "what is the
flag for this meaning, of this tool, in this release?".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from wizard.catalog import profiles

Version: TypeAlias = tuple[int, ...]


def version_of(text: str) -> Version:
    """``0.17.0.post1`` → (0, 17, 0): the numbers that releases are ordered by, without what a rebuild adds."""
    return tuple(int(part) for part in re.split(r"[.+-]?(?:post|dev|rc)", text)[0].split(".") if part.isdecimal())


@dataclass(frozen=True, slots=True)
class Sources:
    """Where the scripts are from: two repositories at the release's tag, or folders of the image.

    Attributes:
        since: First release.
        source: Who says so.
        examples: Repository that has ``examples``; empty: the image has them.
        backend: Repository that has ``all_models`` and ``scripts``.
        in_image: Folders of the image that may hold ``all_models`` and ``scripts``.
        examples_in_image: Folders of the image that may be ``examples``.
    """

    since: str
    source: str
    examples: str = ""
    backend: str = ""
    in_image: tuple[str, ...] = ()
    examples_in_image: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Family:
    """Architectures that one script converts.

    Attributes:
        name: As in the rows of flags.
        source: Who says so.
        architectures: Architecture of config.json → first release that converts it.
        folders: First release → the script's folder below ``examples``.
    """

    name: str
    source: str
    architectures: dict[str, str]
    folders: dict[str, str]


@dataclass(frozen=True, slots=True)
class Format:
    """A quantisation.

    Attributes:
        name: The wizard's name.
        qformat: ``quantize.py``'s.
        since: First release that makes it.
        source: Who says so.
        precision: ``--weight_only_precision`` where a conversion makes it without calibration.
        block: Weights share their scale in blocks.
    """

    name: str
    qformat: str
    since: str
    source: str
    precision: str | None = None
    block: bool = False


@dataclass(frozen=True, slots=True)
class QuantizedCheckpoint:
    """A published quantisation that a family's conversion reads, and since when."""

    method: str
    family: str
    since: str
    source: str


@dataclass(frozen=True, slots=True)
class Library:
    """What ``quantize.py`` imports and the image does not have, and the package index that has it."""

    since: str
    until: str
    requirement: str
    index: str
    source: str


@dataclass(frozen=True, slots=True)
class Flags:
    """What a tool calls what it is told: meaning → flag.

    Attributes:
        tool: File name.
        names: Meaning → flag; an empty one says that the tool has none.
        source: Who says so.
        family: Only for this family of models.
        since: First release.
        until: First release that these are not in.
    """

    tool: str
    names: dict[str, str]
    source: str
    family: str | None = None
    since: str = "0"
    until: str | None = None

    def known_in(self, version: Version) -> bool:
        """Whether ``version`` is one of the releases that this row is about."""
        return version_of(self.since) <= version and (self.until is None or version < version_of(self.until))


@dataclass(frozen=True, slots=True)
class Engines:
    """Until when TensorRT-LLM has engines.

    Attributes:
        last: Last release with them.
        preview: Last pre-release with them.
        removed: Year and month in which the code was removed (``2026-07``).
        source: Who says so.
    """

    last: str
    preview: str
    removed: str
    source: str


@dataclass(frozen=True, slots=True)
class Tools:
    """The whole file.

    Attributes:
        about: What it holds.
        source: Where that is from, beside each row's own source.
        auto_plugins: First release whose plugins choose their dtype themselves.
        engines: Until when there are any.
        sources: Where the scripts are from.
        families: Model families.
        formats: Quantisations that are made here.
        checkpoints: Published quantisations that are read.
        libraries: What ``quantize.py`` needs beside the image.
        flags: What the tools call what they are told.
    """

    about: str
    source: str
    auto_plugins: str
    engines: Engines
    sources: tuple[Sources, ...]
    families: tuple[Family, ...]
    formats: tuple[Format, ...]
    checkpoints: tuple[QuantizedCheckpoint, ...]
    libraries: tuple[Library, ...]
    flags: tuple[Flags, ...]

    def names(self, tool: str, version: str, family: str | None = None) -> dict[str, str]:
        """Meaning → flag of ``tool`` in ``version``; what the tool has no flag for is not in it."""
        release = version_of(version)
        rows = [row for row in self.flags if row.tool == tool and row.family in (None, family)]
        flags: dict[str, str] = {}
        for row in sorted(rows, key=lambda row: (row.family is not None, version_of(row.since))):
            if row.known_in(release):
                flags |= row.names
        return {meaning: flag for meaning, flag in flags.items() if flag}

    def sources_of(self, version: str) -> Sources:
        """Where the scripts of ``version`` are from."""
        return max(
            (source for source in self.sources if version_of(source.since) <= version_of(version)),
            key=lambda source: version_of(source.since),
        )

    def family(self, architecture: str | None) -> Family | None:
        """Whose script converts ``architecture``."""
        return next((family for family in self.families if architecture in family.architectures), None)

    def format(self, name: str) -> Format | None:
        """The quantisation ``name``."""
        return next((row for row in self.formats if row.name == name), None)

    def plugin(self, version: str, dtype: str) -> str:
        """The dtype that a plugin is given in ``version``."""
        return "auto" if version_of(version) >= version_of(self.auto_plugins) else dtype

    def library(self, version: str) -> Library | None:
        """What ``quantize.py`` of ``version`` needs beside the image, or None."""
        return next(
            (
                library
                for library in self.libraries
                if version_of(library.since) <= version_of(version) < version_of(library.until)
            ),
            None,
        )


def folder(family: Family, version: str) -> str | None:
    """The folder of the family's script below ``examples`` in ``version``, or None before the first."""
    fitting = [since for since in family.folders if version_of(since) <= version_of(version)]
    return family.folders[max(fitting, key=version_of)] if fitting else None


def tools() -> Tools:
    """The table of all releases.

    Raises:
        UsageError: TW-D01 if there is no such profile, TW-D02 or TW-K01 if it is damaged.
    """
    return profiles.load(Tools, profiles.find("releases/trtllm-tools.toml"))
