"""References of models on the Hub: ``ORG/NAME``, ``ORG/NAME@REVISION``, ``ORG/NAME:FILE.gguf``, ``ORG/NAME:Q4_K_M``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from wizard.kernel.errors import UsageError
from wizard.kernel.language import mark, tr

FORMS = mark("Use a recipe (`triton-wizard recipes`), a folder or .gguf file (./PATH), or a model ID such as ORG/NAME.")
"""The valid forms of a model reference, in a sentence for error messages."""

_REF = re.compile(
    r"(?P<repo>[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95})"
    r"(?:@(?P<revision>[A-Za-z0-9][\w./-]{0,127}))?"
    r"(?::(?:(?P<file>[A-Za-z0-9][\w.+/ -]{0,191}\.gguf)|(?P<type>(?:I?Q\d_\w{1,8}|[A-Z]{2,5}\d{1,2}|F\d{2}))))?",
    re.ASCII | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class HubRef:
    """A repository on the Hub, optionally with a revision, and a GGUF file of it or the type of one."""

    repo: str
    revision: str | None = None
    file: str | None = None
    type: str | None = None
    """llama.cpp's name: ``Q4_K_M``."""

    @property
    def name(self) -> str:
        """The repository's name without the organization."""
        return self.repo.partition("/")[2]

    def __str__(self) -> str:
        at = f"@{self.revision}" if self.revision else ""
        named = self.file or self.type
        return f"{self.repo}{at}" + (f":{named}" if named else "")


def parse_ref(ref: str) -> HubRef:
    """Parse a model ID (by the rules of ``huggingface_hub.utils.validate_repo_id``).

    Raises:
        UsageError: TW-M01 if it is invalid.
    """
    match = _REF.fullmatch(ref)
    if match is None or ".." in ref or "--" in match["repo"] or match["repo"].endswith((".git", "-", ".")):
        text = tr("{ref!r} is not a recipe, a path or a model ID", ref=ref[:100])
        raise UsageError("TW-M01", text, tr(FORMS))
    return HubRef(match["repo"], match["revision"], match["file"], match["type"].upper() if match["type"] else None)
