"""The Hugging Face hub: the only file that imports ``huggingface_hub``, and only inside its functions."""

from __future__ import annotations

import re
from dataclasses import dataclass

from wizard.kernel.errors import UsageError
from wizard.model.facts import ModelFacts

FORMS = "Give a journey (`triton-wizard journeys`), a folder or .gguf file (./PATH), or a hub id such as ORG/NAME."
"""What names a model, in one sentence for error messages."""

_REF = re.compile(
    r"(?P<repo>[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95})"
    r"(?:@(?P<revision>[A-Za-z0-9][\w./-]{0,127}))?"
    r"(?::(?P<file>[A-Za-z0-9][\w.+/ -]{0,191}\.gguf))?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class HubRef:
    """A repository on the hub, ``ORG/NAME[@REVISION][:FILE.gguf]``."""

    repo: str
    revision: str | None = None
    file: str | None = None


def parse_ref(ref: str) -> HubRef:
    """Take a hub id apart (the rules of ``huggingface_hub.utils.validate_repo_id``).

    Raises:
        UsageError: TW-M01 if it is none.
    """
    match = _REF.fullmatch(ref)
    if match is None or ".." in ref or "--" in match["repo"] or match["repo"].endswith((".git", "-", ".")):
        raise UsageError("TW-M01", f"{ref[:100]!r} is neither a journey nor a path nor a hub id", FORMS)
    return HubRef(match["repo"], match["revision"], match["file"])


def find(ref: HubRef, *, offline: bool = False) -> ModelFacts:
    """Facts of a repository."""
    raise NotImplementedError
