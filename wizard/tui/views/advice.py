"""The content of the advice screen. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from wizard.advise.advice import Advice, Choice, Constraints
from wizard.kernel.errors import WizardError


@dataclass(frozen=True, slots=True)
class AdviceView:
    """The state of the screen."""

    advice: Advice | None = None
    choices: tuple[Choice, ...] = ()
    """The advice's choices, in display order."""
    at: int = 0
    """The selected choice."""
    constraints: Constraints = field(default_factory=Constraints)
    given: Constraints = field(default_factory=Constraints)
    """The constraints before any "what if"."""
    field: int = 0
    """The constraint that keys change."""
    last: Choice | None = None
    """The choice that was shown last, as the starting point if nothing is possible."""
    error: WizardError | None = None

    @property
    def choice(self) -> Choice | None:
        """The selected choice."""
        return self.choices[self.at] if self.choices else None
