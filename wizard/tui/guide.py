"""State that all stages share: whether explanations are shown, and the workshop."""

from __future__ import annotations

from wizard.catalog.workshops import Workshop


class Guide:
    """A single instance per run of the wizard.

    Attributes:
        workshop: The facilitator's workshop; an empty one without a workshop.
        shown: Whether every stage shows its explanation; a key on every stage toggles it.
    """

    def __init__(self, workshop: Workshop | None = None, *, shown: bool = False) -> None:
        self.workshop = workshop or Workshop()
        self.shown = shown

    @property
    def closed(self) -> frozenset[str]:
        """Entries of the welcome that lead to a stage that the workshop hides, or to a model that it does not allow."""
        decided = "model" in self.workshop.hide or "model" in self.workshop.pin
        return frozenset(self.workshop.hide) & {"machine"} | (
            frozenset({"model", "recipes"}) if decided else frozenset()
        )
