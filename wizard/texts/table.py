"""Types of text tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from wizard.advise.reasons import Param

Fields: TypeAlias = dict[str, object]
"""Parameters as display texts."""
Sentences: TypeAlias = Callable[[Mapping[str, Param], Fields], tuple[str, ...]]
"""Creates sentences from parameters, raw and as display texts; empty sentences are dropped."""
Text: TypeAlias = str | Sentences
"""A message (see `wizard.kernel.language.mark`), or a function that creates the sentences."""
