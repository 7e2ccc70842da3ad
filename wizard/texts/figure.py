"""A number that explains itself. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from wizard.kernel.language import mark, tr
from wizard.kernel.units import size

UNITS = {
    "bytes": mark("bytes"),
    "tokens": mark("tokens"),
    "ms": "ms",
    "tokens/s": mark("tokens/s"),
    "parameters": mark("parameters"),
}
"""`Figure.unit` in words."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its formula.

    Attributes:
        name: What it is.
        value: In ``unit``.
        unit: ``bytes``, ``tokens``, ``ms``, ``tokens/s``, ``parameters``.
        formula: What it was computed from, with the numbers written out.
        source: Where they are from.
    """

    name: str
    value: float
    unit: str
    formula: str
    source: str

    @property
    def result(self) -> str:
        """The value for people: ``81,920 bytes (80 KiB)``."""
        if self.unit == "bytes":
            return tr("{value:,.0f} bytes ({size})", value=self.value, size=size(int(self.value)))
        return f"{self.value:,.{0 if self.unit in ('tokens', 'parameters') else 2}f} {tr(UNITS[self.unit])}"
