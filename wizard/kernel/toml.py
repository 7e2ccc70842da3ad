"""TOML 1.0: the standard library's parser under a single name, and a writer for scalars."""

from __future__ import annotations

import json
import sys

if sys.version_info >= (3, 11):
    from tomllib import TOMLDecodeError, loads
else:  # the same parser under its older name
    from tomli import TOMLDecodeError, loads

__all__ = ["TOMLDecodeError", "loads", "scalar"]


def scalar(value: object) -> str:
    """A string, number or Boolean as TOML; basic strings use JSON's escapes, and DEL must be escaped too."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
