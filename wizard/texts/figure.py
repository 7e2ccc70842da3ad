"""A figure with its explanation. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from wizard.kernel.language import mark, tr
from wizard.kernel.units import size
from wizard.texts.units import money

UNITS = {
    "bytes": mark("bytes"),
    "tokens": mark("tokens"),
    "ms": "ms",
    "tokens/s": mark("tokens/s"),
    "parameters": mark("parameters"),
    "kWh": "kWh",
    "": "",
}
"""Display name of `Figure.unit`."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure with its formula.

    Attributes:
        name: Its name.
        value: Its value in ``unit``.
        unit: ``bytes``, ``tokens``, ``ms``, ``tokens/s``, ``parameters``, ``kWh``; empty for money.
        formula: The formula, with the numbers written out.
        source: Source of the numbers.
    """

    name: str
    value: float
    unit: str
    formula: str
    source: str

    @property
    def result(self) -> str:
        """The value as text: ``81,920 bytes (80 KiB)``."""
        if self.unit == "bytes":
            return tr("{value:,.0f} bytes ({size})", value=self.value, size=size(int(self.value)))
        if self.unit in ("", "kWh"):
            return f"{money(self.value)} {self.unit}".rstrip()
        return f"{self.value:,.{0 if self.unit in ('tokens', 'parameters') else 2}f} {tr(UNITS[self.unit])}"
