"""Contents of Triton's images with TensorRT-LLM, as data with a graded source per fact: ``profiles/releases``."""

from __future__ import annotations

from dataclasses import dataclass

from wizard.catalog import profiles
from wizard.catalog.releases import version

PACKAGE, TOOLS, APP, GIT, PYTHON = FACTS = ("python_package", "build_tools", "app", "git", "python")
"""The facts about an image."""


@dataclass(frozen=True, slots=True)
class Content:
    """A fact about the images of some releases.

    Attributes:
        fact: One of `FACTS`.
        value: Whether the image has it, or its version.
        since: First tag (``24.04``).
        grade: Quality of the source: a name in `Contents.grades`.
        source: Source of the fact.
        until: First tag that it does not apply to; None: it applies to all later ones.
    """

    fact: str
    value: bool | str
    since: str
    grade: str
    source: str
    until: str | None = None


@dataclass(frozen=True, slots=True)
class Contents:
    """All of ``profiles/releases/contents.toml``."""

    about: str
    grades: dict[str, str]
    contents: tuple[Content, ...]

    def of(self, tag: str, fact: str) -> Content | None:
        """The value of ``fact`` for the image ``tag`` (``24.04``); None if unknown."""
        release = version(tag)
        rows = (content for content in self.contents if content.fact == fact and version(content.since) <= release)
        return next((row for row in rows if row.until is None or release < version(row.until)), None)


def contents() -> Contents:
    """The contents of the images.

    Raises:
        UsageError: TW-D01 if the profile is missing, TW-D02 or TW-K01 if it is damaged.
    """
    return profiles.load(Contents, profiles.find("releases/contents.toml"))
