"""What Triton's images with TensorRT-LLM hold, as data with a graded source for each fact: ``profiles/releases``."""

from __future__ import annotations

from dataclasses import dataclass

from wizard.catalog import profiles
from wizard.catalog.releases import version

PACKAGE, TOOLS, APP, GIT, PYTHON = FACTS = ("python_package", "build_tools", "app", "git", "python")
"""What there is to know of an image."""


@dataclass(frozen=True, slots=True)
class Content:
    """One fact about the images of some releases.

    Attributes:
        fact: One of `FACTS`.
        value: Whether it is there, or which version.
        since: First tag (``24.04``).
        grade: How good the source is: a name in `Contents.grades`.
        source: Who says so.
        until: First tag of which it is not said; None: all later ones.
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
        """What is known of ``fact`` in the image ``tag`` (``24.04``); None where it is not known."""
        release = version(tag)
        rows = (content for content in self.contents if content.fact == fact and version(content.since) <= release)
        return next((row for row in rows if row.until is None or release < version(row.until)), None)


def contents() -> Contents:
    """What the images hold.

    Raises:
        UsageError: TW-D01 if there is no such profile, TW-D02 or TW-K01 if it is damaged.
    """
    return profiles.load(Contents, profiles.find("releases/contents.toml"))
