"""What a table of texts holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from wizard.advise.reasons import Param

Fields: TypeAlias = dict[str, object]
"""Parameters as they stand in a sentence."""
Sentences: TypeAlias = Callable[[Mapping[str, Param], Fields], tuple[str, ...]]
"""What makes sentences of parameters, given as they are and for people; empty ones are left out."""
Text: TypeAlias = str | Sentences
"""A message (see `wizard.kernel.language.mark`), or what makes the sentences."""
