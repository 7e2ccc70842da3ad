"""What the user decided about tools: for one call, or for a tool in this workspace."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from wizard.chat.tools.tool import Tool
from wizard.kernel.errors import UsageError, WizardError
from wizard.kernel.files import private_folder, write_whole
from wizard.kernel.language import mark, tr
from wizard.kernel.values import from_json, to_json

Decision: TypeAlias = Literal["once", "always", "deny", "never"]
"""Of the user, about a call: allow it, or this tool from now on; deny it, or this tool from now on."""
Standing: TypeAlias = Literal["always", "never"]
DECISIONS: tuple[tuple[Decision, str], ...] = (
    ("once", mark("Allow once")),
    ("always", mark("Always allow this tool")),
    ("deny", mark("Deny")),
    ("never", mark("Never allow this tool")),
)
CAUTIOUS = 2
"""Index of the decision that an accidental Enter makes."""
LARGEST_BYTES = 2**20


@dataclass(frozen=True, slots=True)
class _Stored:
    decision: Standing
    identity: str


@dataclass(slots=True)
class Consent:
    """Standing decisions. They apply to a tool as it was: if its program, address, description or arguments change, the
    user is asked again.

    Attributes:
        path: The file that they are kept in; None: they apply until the end of the program.
        allowed: Tools that may be called without a question, as the user said at the start (``SERVER/TOOL``).
        asks: Whether there is a user to ask; otherwise no other tools may be called.
    """

    path: Path | None = None
    allowed: frozenset[str] = frozenset()
    asks: bool = True
    _known: dict[str, _Stored] | None = field(default=None, repr=False)
    _kept: bool = field(default=False, repr=False)
    """Whether the file has all decisions."""

    def of(self, tool: Tool) -> Standing | None:
        """The standing decision; None: ask."""
        if tool.key in self.allowed:
            return "always"
        if not self.asks:
            return "never"
        there = self._decisions().get(tool.key)
        return there.decision if there and there.identity == tool.identity else None

    def set(self, tool: Tool, decision: Standing | None) -> None:
        """Decide about ``tool`` from now on, or ask again (None)."""
        if self._kept:
            self._known = None  # another chat may have decided meanwhile
        known = {key: value for key, value in self._decisions().items() if key != tool.key}
        self._known = known if decision is None else {**known, tool.key: _Stored(decision, tool.identity)}
        self._store()

    def check(self, tools: Mapping[str, Tool]) -> None:
        """Check that all allowed names are known.

        Raises:
            UsageError: TW-C42 if one is not.
        """
        for name in sorted(self.allowed):
            if name not in tools:
                raise UsageError(
                    "TW-C42",
                    tr(
                        "no tool {name}; available: {names}",
                        name=repr(name),
                        names=", ".join(sorted(tools)) or tr("none"),
                    ),
                    tr("Pass --allow-tool SERVER/TOOL."),
                )

    def _decisions(self) -> dict[str, _Stored]:
        if self._known is None:
            self._known, self._kept = {}, self.path is not None
            if self.path:
                with contextlib.suppress(OSError, UnicodeError, WizardError), self.path.open("rb") as file:
                    text = file.read(LARGEST_BYTES).decode()
                    self._known = from_json(dict[str, _Stored], text, where=str(self.path))
        return self._known

    def _store(self) -> None:
        """Write the file atomically; if that is not possible, the decisions apply until the end of the program."""
        self._kept = False
        if self.path is None:
            return
        with contextlib.suppress(OSError):
            private_folder(self.path.parent)
            write_whole(self.path, to_json(self._known), private=True)
            self._kept = True
