"""Keep secrets out of all output and all files.

A secret is never an argument of a command and never a value in a plan. Commands name the environment variables that
they need (`Command.secrets`) and get no others; their output goes through `redact` before it is shown or stored.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from pathlib import Path

SECRET_VARIABLES = (
    "HF_TOKEN",
    "HUGGING_FACE_HUB_TOKEN",
    "NGC_API_KEY",
    "NVIDIA_API_KEY",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GITHUB_TOKEN",
    "GH_TOKEN",
)
"""Environment variables whose values are secrets wherever they appear."""

_PATTERNS = tuple(
    (hint, re.compile(pattern))
    for hint, pattern in (
        ("hf_", r"()hf_[A-Za-z0-9]{16,}"),  # Hugging Face user access tokens
        ("nvapi-", r"()nvapi-[A-Za-z0-9_-]{16,}"),  # NVIDIA API keys
        ("://", r"(://)[^/\s@]+(?=@)"),  # user:password or a token in a URL
        ("earer ", r"([Bb]earer )[A-Za-z0-9._~+/=-]{8,}"),  # HTTP authorization headers
    )
)
"""What every match contains, which is found much faster, and the pattern; its first group stays."""
_LONGEST = 4096
"""Characters of the longest secret that is kept together by `boundary`."""
MASK = "•••"


def environment_for(named: Collection[str] = ()) -> dict[str, str]:
    """This process's environment without the secrets that are not ``named``, for a program in any folder: the paths in
    ``PYTHONPATH`` are absolute.
    """
    kept = {name: value for name, value in os.environ.items() if name in named or name not in SECRET_VARIABLES}
    if paths := kept.get("PYTHONPATH"):
        kept["PYTHONPATH"] = os.pathsep.join(path and str(Path(path).absolute()) for path in paths.split(os.pathsep))
    return kept


def given_secrets() -> dict[str, str]:
    """The secrets of this process's environment, by their variables."""
    return {name: value for name in SECRET_VARIABLES if (value := os.environ.get(name))}


def redact(text: str) -> str:
    """Return ``text`` with every known secret (token shapes, values of `SECRET_VARIABLES`) replaced by ``•••``.

    A text without secrets is returned as the same object, so a `wizard.kernel.language.Message` stays one.
    """
    masked = text
    for value in _values():
        masked = masked.replace(value, MASK)
    for hint, pattern in _PATTERNS:
        if hint in masked:
            masked = pattern.sub(rf"\1{MASK}", masked)
    return text if masked == text else masked


def redact_bytes(raw: bytes) -> bytes:
    """`redact` for output in any encoding: all other bytes stay as they are."""
    if not any(hint.encode() in raw for hint in (*_values(), *(hint for hint, _ in _PATTERNS))):
        return raw
    return redact(raw.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def boundary(raw: bytes, at: int) -> int:
    """The last position in ``raw`` up to ``at`` where it can be cut without cutting a secret."""
    start = max(0, at - _LONGEST)
    text = raw[start : at + _LONGEST].decode("latin-1")
    named = (re.compile(re.escape(value.encode().decode("latin-1"))) for value in _values())
    matches = (match for pattern in (*named, *(each for _, each in _PATTERNS)) for match in pattern.finditer(text))
    secrets = [match.span() for match in matches]
    return min([at, *(start + first for first, last in secrets if first < at - start < last)])


def _values() -> list[str]:
    return [value for name in SECRET_VARIABLES if len(value := os.environ.get(name, "")) >= 8]
