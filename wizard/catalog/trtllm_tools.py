"""TensorRT-LLM's own tools, from release to release: ``profiles/releases/trtllm-tools.toml``.

The differences between releases are rows of that file, not conditions in the code: this module answers "which flag has
this meaning, in this tool, in this release?".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from wizard.catalog import profiles

Version: TypeAlias = tuple[int, ...]


def version_of(text: str) -> Version:
    """``0.17.0.post1`` → (0, 17, 0): the numbers that order releases, without a rebuild's suffix."""
    return tuple(int(part) for part in re.split(r"[.+-]?(?:post|dev|rc)", text)[0].split(".") if part.isdecimal())


@dataclass(frozen=True, slots=True)
class Sources:
    """Location of the scripts: two repositories at the release's tag, or folders of the image.

    Attributes:
        since: First release.
        source: Source of the fact.
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
    """Architectures that the same script converts.

    Attributes:
        name: As in the rows of flags.
        source: Source of the fact.
        architectures: Architecture of config.json → first release that converts it.
        folders: First release → the script's folder below ``examples``.
    """

    name: str
    source: str
    architectures: dict[str, str]
    folders: dict[str, str]


@dataclass(frozen=True, slots=True)
class Format:
    """A quantization.

    Attributes:
        name: The wizard's name.
        qformat: ``quantize.py``'s.
        since: First release that supports it.
        source: Source of the fact.
        precision: ``--weight_only_precision`` if the conversion quantizes without calibration.
        block: Whether weights share their scale in blocks.
    """

    name: str
    qformat: str
    since: str
    source: str
    precision: str | None = None
    block: bool = False


@dataclass(frozen=True, slots=True)
class QuantizedCheckpoint:
    """A published quantization that a family's conversion reads, and from which release on."""

    method: str
    family: str
    since: str
    source: str


@dataclass(frozen=True, slots=True)
class Library:
    """A package that ``quantize.py`` imports and the image lacks, with its package index."""

    since: str
    until: str
    requirement: str
    index: str
    source: str


@dataclass(frozen=True, slots=True)
class Flags:
    """The flags of a tool: meaning → flag.

    Attributes:
        tool: File name.
        names: Meaning → flag; an empty one means that the tool has none.
        source: Source of the fact.
        family: Only for this family of models.
        since: First release.
        until: First release without them.
    """

    tool: str
    names: dict[str, str]
    source: str
    family: str | None = None
    since: str = "0"
    until: str | None = None

    def known_in(self, version: Version) -> bool:
        """Whether this row applies to ``version``."""
        return version_of(self.since) <= version and (self.until is None or version < version_of(self.until))


@dataclass(frozen=True, slots=True)
class Engines:
    """The end of TensorRT-LLM's engines.

    Attributes:
        last: Last release with them.
        preview: Last pre-release with them.
        removed: Year and month in which the code was removed (``2026-07``).
        source: Source of the fact.
    """

    last: str
    preview: str
    removed: str
    source: str


@dataclass(frozen=True, slots=True)
class Tools:
    """The whole file.

    Attributes:
        about: Description.
        source: Its source, in addition to each row's own.
        auto_plugins: First release whose plugins choose their dtype themselves.
        engines: The last releases with engines.
        sources: Locations of the scripts.
        families: Model families.
        formats: Quantizations that the tools can create.
        checkpoints: Published quantizations that the conversion reads.
        libraries: Packages that ``quantize.py`` needs besides the image.
        flags: The tools' flags.
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

    def reads(self, method: str, architecture: str) -> str | None:
        """First version that builds engines from checkpoints with this ``quant_method``; None: none does."""
        family = self.family(architecture)
        rows = (row for row in self.checkpoints if family and (row.method, row.family) == (method, family.name))
        return next((row.since for row in rows), None)

    def names(self, tool: str, version: str, family: str | None = None) -> dict[str, str]:
        """Meaning → flag of ``tool`` in ``version``; meanings without a flag are omitted."""
        release = version_of(version)
        rows = [row for row in self.flags if row.tool == tool and row.family in (None, family)]
        flags: dict[str, str] = {}
        for row in sorted(rows, key=lambda row: (row.family is not None, version_of(row.since))):
            if row.known_in(release):
                flags |= row.names
        return {meaning: flag for meaning, flag in flags.items() if flag}

    def sources_of(self, version: str) -> Sources:
        """Location of the scripts of ``version``."""
        return max(
            (source for source in self.sources if version_of(source.since) <= version_of(version)),
            key=lambda source: version_of(source.since),
        )

    def family(self, architecture: str | None) -> Family | None:
        """The family whose script converts ``architecture``."""
        return next((family for family in self.families if architecture in family.architectures), None)

    def format(self, name: str) -> Format | None:
        """The quantization ``name``."""
        return next((row for row in self.formats if row.name == name), None)

    def plugin(self, version: str, dtype: str) -> str:
        """The plugin dtype to pass in ``version``."""
        return "auto" if version_of(version) >= version_of(self.auto_plugins) else dtype

    def library(self, version: str) -> Library | None:
        """The package that ``quantize.py`` of ``version`` needs besides the image, or None."""
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
        UsageError: TW-D01 if the profile is missing, TW-D02 or TW-K01 if it is damaged.
    """
    return profiles.load(Tools, profiles.find("releases/trtllm-tools.toml"))
