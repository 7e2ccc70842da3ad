"""Garbage collection that does not delay keys."""

from __future__ import annotations

import gc

RARELY = (2_000, 25, 400)
"""Thresholds of the generations: surviving allocations before the youngest is collected, such collections before the
next older is, and so on. Collecting 20,000 young objects took 20 to 36 ms of processor time during scrolling, 2,000
took at most 4 ms; the next older generation, after 500 of them, took 244 ms during an answer, after 25 at most 9 ms
(Python's own: 700, 10, 10).
"""
EVERY_S = 60.0
"""Seconds between two collections of everything created since the wizard began."""


def collect_rarely() -> None:
    """Collect garbage after more allocations, and hardly ever all living objects.

    A full collection takes 100 ms and more with the lines of a long conversation (measured with
    ``benchmarks/terminal/transcript.py``): a key that is pressed then waits for it. Short-lived objects are collected
    as before, the rest by `collect_all`.
    """
    gc.set_threshold(*RARELY)


def collect_all() -> None:
    """Collect everything; called every `EVERY_S` seconds, so that nothing accumulates.

    Drawn lines refer to themselves (a Textual ``Strip`` keeps its divisions, including itself), and some die only in
    the oldest generation: without this, 500 tokens per second leaked 4.4 MB per minute.
    """
    gc.collect()


def collect_and_freeze() -> None:
    """Collect everything once, now, and exclude the surviving objects from then on.

    A full collection scans every object of every loaded module, which delays a key by several frames, and with many
    short-lived objects, as in a build that writes thousands of lines, it runs every few seconds. So a screen with
    streamed output runs it once, at its beginning; objects that were excluded before are scanned again then.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    collect_rarely()
