"""What llama-perplexity prints, line by line, as a result that grows. Pure.

Its output: tools/perplexity/perplexity.cpp of llama.cpp, as in llama-cpp-python 0.3.36 (October 2026). Its ``±`` is one
standard error.
"""

from __future__ import annotations

import re
from dataclasses import replace
from math import exp
from typing import Any

from wizard.bench.measured import Interval
from wizard.bench.quality.proportions import Z
from wizard.bench.quality.report import Divergence, Perplexity

NUMBER = r"(-?\d+(?:\.\d+)?)"
BOTH = rf"{NUMBER} ± +{NUMBER}"
ENDS = re.compile(r"\r\n|\n|\r|(?<=\.\d{4}),|(?<=nan),")
"""Ends of its lines; of the chunks of a single file, ``[1]5.1234,[2]…``, it ends none until the last."""
CHUNKS = re.compile(r"(?:over|computing) (\d+) chunks|(\d+) chunks, n_ctx")
SO_FAR = re.compile(rf"^\[(\d+)\]{NUMBER}$")
"""A single file: the perplexity of all chunks until this one."""
FINAL = re.compile(rf"Final estimate: PPL = {NUMBER} \+/- {NUMBER}")
ROW = re.compile(rf"^ *(\d+) +{BOTH} +{BOTH} +{BOTH} +{BOTH} % +{BOTH} %")
"""A file and its reference, until this chunk: perplexity, logarithm of the ratio, KL divergence, Δp, same token."""
NAN = re.compile(r"^\[\d+\]-?nan$|^ *\d+ +-?nan ± ")
"""A chunk without a number. No later one has any: its figures are means of all chunks until then."""
VALUE = re.compile(rf"^Mean PPL\(Q\) *: +{BOTH}")
P99 = re.compile(rf"^99\.0% +KLD: +{NUMBER}")
COMPARED = (
    ("perplexity", re.compile(rf"^Mean PPL\(base\) *: +{BOTH}"), 1),
    ("ratio", re.compile(rf"^Mean PPL\(Q\)/PPL\(base\) *: +{BOTH}"), 1),
    ("mean", re.compile(rf"^Mean +KLD *: +{BOTH}"), 1),
    ("same_top", re.compile(rf"^Same top p *: +{BOTH}"), 100),
)
"""Final figures of a `Divergence`, each with what it is divided by."""


def taken(known: Perplexity, line: str) -> Perplexity:
    """``known``, and what ``line`` adds to it; unchanged by any other line."""
    if match := CHUNKS.search(line):
        return replace(known, of=int(match[1] or match[2]))
    if match := SO_FAR.search(line):
        return replace(_alone(known, Interval(float(match[2]))), chunks=int(match[1]))
    if match := FINAL.search(line):
        return _alone(known, _around(float(match[1]), float(match[2])))
    return known if known.divergence is None else _compared(known, known.divergence, line)


def complete(known: Perplexity) -> bool:
    """Whether it has all figures."""
    other = known.divergence
    if other is None:
        return known.value is not None and known.value.low is not None
    return None not in (known.value, other.perplexity, other.ratio, other.mean, other.p99, other.same_top)


def _alone(known: Perplexity, value: Interval) -> Perplexity:
    """The perplexity of the first run: of the reference, if there is one."""
    if known.divergence is None:
        return replace(known, value=value)
    return replace(known, divergence=replace(known.divergence, perplexity=value))


def _compared(known: Perplexity, other: Divergence, line: str) -> Perplexity:
    if match := ROW.search(line):
        return _row(known, other, int(match[1]), [float(each) for each in match.groups()[1:]])
    if match := VALUE.search(line):
        return replace(known, value=_around(float(match[1]), float(match[2])))
    if match := P99.search(line):
        return replace(known, divergence=replace(other, p99=float(match[1])))
    for name, pattern, unit in COMPARED:
        if match := pattern.search(line):
            value: Any = _around(float(match[1]) / unit, float(match[2]) / unit)
            return replace(known, divergence=replace(other, **{name: value}))
    return known


def _row(known: Perplexity, other: Divergence, chunk: int, numbers: list[float]) -> Perplexity:
    perplexity, error, logarithm, logarithm_error, mean, mean_error, _, _, same, same_error = numbers
    ratio = exp(logarithm)
    other = Divergence(
        other.reference,
        Interval(perplexity / ratio),
        _around(ratio, ratio * logarithm_error),  # as llama-perplexity derives the error of the final ratio
        _around(mean, mean_error),
        None,
        _around(same / 100, same_error / 100),
    )
    return replace(known, chunks=chunk, value=_around(perplexity, error), divergence=other)


def _around(value: float, error: float) -> Interval:
    return Interval(value, value - Z * error, value + Z * error)
