"""The plan of SGLang, and its program, against the names that SGLang's wheels have (`contract.json`)."""

from __future__ import annotations

from wizard.texts.notes import NOTES  # noqa: F401
