"""What all stages share that teach: whether explanations are shown now, and the workshop that the user is in."""

from __future__ import annotations

from wizard.catalog.workshops import Workshop


class Guide:
    """One for the whole run of the wizard.

    Attributes:
        workshop: What the facilitator decided; an empty one outside of workshops.
        shown: Whether every stage shows its explanation; a key of every stage changes it.
    """

    def __init__(self, workshop: Workshop | None = None, *, shown: bool = False) -> None:
        self.workshop = workshop or Workshop()
        self.shown = shown

    @property
    def closed(self) -> frozenset[str]:
        """Ways of the welcome that lead to what the workshop hides, or to a model that it does not allow."""
        decided = "model" in self.workshop.hide or "model" in self.workshop.pin
        return frozenset(self.workshop.hide) & {"machine"} | (
            frozenset({"model", "recipes"}) if decided else frozenset()
        )
