"""The charts as PNG, drawn from the SVG by resvg: the extra ``png``, the only place that imports it."""

from __future__ import annotations

from collections.abc import Callable

from wizard.kernel.errors import HostError, UsageError
from wizard.kernel.extras import install
from wizard.kernel.language import tr
from wizard.texts.benchmark.chart import Chart
from wizard.texts.benchmark.colors import LIGHT
from wizard.texts.benchmark.svg import FONT, svg

ZOOM = 2
"""Pixels per unit of the SVG: sharp on screens with a high density, and in print."""
PROBE = f"""<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20">
<text y="15" style="font-family:{FONT}">Mx</text></svg>"""
"""resvg leaves out text in a font that it does not have."""


def renderer() -> Callable[..., bytes]:
    """Draws SVG; see `png`. Call it before a long measurement whose charts will be drawn.

    Raises:
        UsageError: TW-C60 if the extra is not installed.
        HostError: TW-C61 if there is no font: a chart without its labels would mislead.
    """
    try:
        from resvg_py import svg_to_bytes
    except ImportError as error:
        raise UsageError(
            "TW-C60",
            tr("PNG files need resvg-py, which is not installed"),
            tr("Install it: `{command}`. The charts are in the HTML page, too.", command=install("png")),
        ) from error
    if svg_to_bytes(svg_string=PROBE) == svg_to_bytes(svg_string=PROBE.replace("Mx", "")):
        raise HostError(
            "TW-C61",
            tr("this machine has no font to draw the charts' labels with"),
            tr("Install one, for example fonts-dejavu-core on Debian or Ubuntu. The charts are in the HTML page, too."),
        )
    return svg_to_bytes


def png(chart: Chart) -> bytes:
    """The chart as a PNG file, light. Raises as `renderer` does."""
    return bytes(renderer()(svg_string=svg(chart, LIGHT, alone=True), zoom=ZOOM))
