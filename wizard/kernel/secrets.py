"""Keep secrets out of all output and all files.

A secret is never an argument of a command and never a value in a plan. Commands name the environment variables that
they need (`Command.secrets`) and get no others; their output goes through `redact` before it is shown or stored.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection

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

_PATTERNS = re.compile(
    r"""
      hf_[A-Za-z0-9]{16,}                    # Hugging Face user access tokens
    | nvapi-[A-Za-z0-9_-]{16,}               # NVIDIA API keys
    | (?<=://)[^/\s@]+(?=@)                  # user:password or a token in a URL
    | (?<=[Bb]earer\ )[A-Za-z0-9._~+/=-]{8,} # HTTP authorization headers
    """,
    re.VERBOSE,
)
MASK = "•••"


def environment_for(named: Collection[str] = ()) -> dict[str, str]:
    """This process's environment without the secrets that are not ``named``."""
    return {name: value for name, value in os.environ.items() if name in named or name not in SECRET_VARIABLES}


def redact(text: str) -> str:
    """Return ``text`` with every known secret (token shapes, values of `SECRET_VARIABLES`) replaced by ``•••``.

    A text without secrets is returned as the same object, so a `wizard.kernel.language.Message` stays one.
    """
    masked = text
    for name in SECRET_VARIABLES:
        value = os.environ.get(name, "")
        if len(value) >= 8 and value in masked:
            masked = masked.replace(value, MASK)
    masked = _PATTERNS.sub(MASK, masked)
    return text if masked == text else masked
