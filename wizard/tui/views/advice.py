"""What the advice screen shows. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from wizard.advise.advice import Advice, Choice, Constraints
from wizard.kernel.errors import WizardError


@dataclass(frozen=True, slots=True)
class AdviceView:
    """What is on the screen."""

    advice: Advice | None = None
    choices: tuple[Choice, ...] = ()
    """The advice's, as they are listed."""
    at: int = 0
    """The choice under the cursor."""
    constraints: Constraints = field(default_factory=Constraints)
    given: Constraints = field(default_factory=Constraints)
    """The constraints before any "what if"."""
    field: int = 0
    """The constraint that keys change."""
    last: Choice | None = None
    """The choice that was shown last, to start from where nothing is possible."""
    error: WizardError | None = None

    @property
    def choice(self) -> Choice | None:
        """The choice under the cursor."""
        return self.choices[self.at] if self.choices else None
