"""How tools report their progress: which lines, and what the tool does then.

The files in ``profiles/progress`` have a table per message. How a bar's figures are written is not in there: that is
the same for most tools (`wizard.run.progress`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from wizard.catalog import profiles
from wizard.kernel.values import STRICT


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a tool about its progress.

    Attributes:
        lines: Texts of log lines, or of a bar's name, as `wizard.catalog.failures.Failure.lines` has them.
        activity: What the tool does from then on, in a few words.
        source: Where the lines are from.
        even: Whether each part of a bar takes about the same time, so that the remaining time follows from the speed.
    """

    __pydantic_config__: ClassVar = STRICT
    lines: tuple[str, ...]
    activity: str
    source: str
    even: bool = True


def messages() -> dict[str, Message]:
    """ID → message.

    Raises:
        UsageError: TW-D02 or TW-K01 if a file is damaged.
    """
    files = profiles.files("progress").values()
    return {name: message for path in files for name, message in profiles.load(dict[str, Message], path).items()}
