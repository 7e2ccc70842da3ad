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
PROBE = """<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20">
<text y="15" style="font-family:{font}">{text}</text></svg>"""
MISSING = "\U000f0000"
"""A character that no font has."""


def renderer() -> Callable[..., bytes]:
    """Draws SVG; see `png`. Call it before a long measurement whose charts will be drawn.

    Raises:
        UsageError: TW-U66 if the extra is not installed.
        HostError: TW-U67 if there is no font: a chart without its labels would mislead.
    """
    try:
        from resvg_py import svg_to_bytes
    except ImportError as error:
        raise UsageError(
            "TW-U66",
            tr("PNG files need resvg-py, which is not installed"),
            tr("Install it: `{command}`. The charts are in the HTML page, too.", command=install("png")),
        ) from error
    _check("M", "", svg_to_bytes)
    return svg_to_bytes


def _check(letter: str, otherwise: str, draw: Callable[..., bytes]) -> None:
    """Draw ``letter``. resvg leaves out text if there is no font, and draws a box for a letter that no font has."""
    drawn, not_drawn = (draw(svg_string=PROBE.format(font=FONT, text=text)) for text in (letter, otherwise))
    if drawn == not_drawn:
        raise HostError(
            "TW-U67",
            tr("this machine has no font to draw the charts' labels with"),
            tr(
                "Install one, for example fonts-dejavu-core on Debian or Ubuntu, or fonts-noto-cjk for Korean. The "
                "charts are in the HTML page, too."
            ),
        )


def png(chart: Chart) -> bytes:
    """The chart as a PNG file, light. Raises as `renderer` does."""
    draw = renderer()
    letters = {letter for letter in chart.title + chart.x.title + chart.y.title if letter.isalpha()}
    if foreign := sorted(letter for letter in letters if not letter.isascii()):
        _check(foreign[0], MISSING, draw)
    return bytes(draw(svg_string=svg(chart, LIGHT, alone=True), zoom=ZOOM))
