"""Pictures of a terminal, one after the other, as one SVG that moves by itself: CSS alone, no script.

A line that is the same in several pictures is there once, so that a minute of a session is no larger than a photograph.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

FIRST, HEIGHT = 1.5, 24.4
"""Where the first line's background begins in Rich's pictures, and how high a line is."""
_RULE = re.compile(r"\.(terminal-[\w-]+-r\d+) \{ (.*?) \}")
_PIECE = re.compile(
    r'<rect fill[^>]* y="(?P<top>[\d.]+)"[^>]*/>|<text class="terminal[^>]* y="(?P<base>[\d.]+)"[^>]*>[^<]*</text>'
)
_BODY = re.compile(
    r'(?P<frame><g transform="translate\(9, 41\)"[^>]*>).*(?P<font><g class="[^"]*-matrix">).*</svg>', re.DOTALL
)


def animated(frames: Sequence[tuple[str, float]]) -> str:
    """One SVG of ``frames``: each a picture by Textual (all of one size) and the seconds for which it is seen.

    It begins again at its end. Whoever wants no motion (``prefers-reduced-motion``) sees the last picture.
    """
    seen: dict[tuple[int, str], list[int]] = defaultdict(list)
    styles: dict[str, str] = {}
    for number, (svg, _seconds) in enumerate(frames):
        for line, text in _lines(svg, styles).items():
            seen[line, text].append(number)
    ends = [sum(seconds for _svg, seconds in frames[: number + 1]) for number in range(len(frames))]
    rules = [f".{name}{{{style}}}" for style, name in styles.items()]
    rules.append(f".k{{animation:{ends[-1]:g}s step-end infinite}}")
    lines: list[str] = []
    for number, ((_line, text), shown) in enumerate(seen.items()):
        last = len(frames) - 1 in shown
        if len(shown) == len(frames):
            lines.append(text)
            continue
        rules.append(f"@keyframes k{number}{{{_keyframes(shown, ends)}}}.k{number}{{animation-name:k{number}}}")
        lines.append(f'<g class="k k{number}{" z" if last else ""}">{text}</g>')
    rules.append("@media (prefers-reduced-motion:reduce){.k{animation:none;visibility:hidden}.z{visibility:visible}}")
    return _put_in(frames[-1][0], "".join(rules), "".join(lines))


def _lines(svg: str, styles: dict[str, str]) -> dict[int, str]:
    """Number of a line → all that is drawn in it; ``styles`` gives a style one name in all pictures."""
    names = {old: styles.setdefault(style, f"c{len(styles)}") for old, style in _RULE.findall(svg)}
    lines: dict[int, str] = defaultdict(str)
    for piece in _PIECE.finditer(svg[svg.index("translate(9, 41)") :]):
        top = float(piece["top"]) if piece["top"] else float(piece["base"]) - HEIGHT + FIRST + 4.4
        text = re.sub(r' clip-path="[^"]*"| shape-rendering="[^"]*"', "", piece[0])
        text = re.sub(r'class="([^"]*)"', lambda match: f'class="{names[match[1]]}"', text)
        if ">\n<" not in text:  # Rich's end of a line
            lines[round((top - FIRST) / HEIGHT)] += text
    return lines


def _keyframes(shown: Sequence[int], ends: Sequence[float]) -> str:
    """When a line is visible, in percent of the whole."""
    rules: list[str] = []
    before = None
    for number in range(len(ends)):
        now = "visible" if number in shown else "hidden"
        if now != before:
            begin = 100 * (ends[number - 1] if number else 0) / ends[-1]
            rules.append(f"{begin:.3f}%{{visibility:{now}}}")
        before = now
    return "".join([*rules, f"100%{{visibility:{before}}}"])


def _put_in(svg: str, rules: str, lines: str) -> str:
    """The window around the terminal of one picture, with other contents."""
    svg = re.sub(r"<clipPath id=\"[^\"]*-line-\d+\">.*?</clipPath>\s*", "", svg, flags=re.DOTALL)
    svg = _RULE.sub("", svg).replace("</style>", f"{rules}</style>")
    return _BODY.sub(lambda match: f"{match['frame']}{match['font']}{lines}</g></g></svg>", svg)
