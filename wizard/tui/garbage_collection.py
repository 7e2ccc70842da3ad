"""When Python looks for garbage: not while a key waits."""

from __future__ import annotations

import gc

RARELY = (2_000, 25, 400)
"""Objects made and not thrown away before a look at the youngest, such looks before one at the next older, and so on.
A look at 20,000 young ones took 20 to 36 ms of processor time while somebody scrolled, at 2,000 it took 4 ms at most;
one at the next older, after 500 of them, took 244 ms while an answer came, after 25 it took 9 ms at most
(Python's own: 700, 10, 10)."""
EVERY_S = 60.0
"""Seconds between two looks at everything that was made since the wizard began."""


def collect_rarely() -> None:
    """Look for garbage after more allocations, and by their number hardly ever at everything that lives.

    A whole search takes 100 ms and more where the lines of a long conversation live (measured with
    ``benchmarks/terminal/transcript.py``): a key that is pressed then waits for it. What dies young is found as before,
    the rest by `whole`.
    """
    gc.set_threshold(*RARELY)


def collect_all() -> None:
    """Look at everything; called every `EVERY_S` seconds, so that nothing piles up.

    Lines that were drawn hold themselves (a Textual ``Strip`` keeps what it was divided into, itself too), and those
    that stayed for a while die old: without this, 500 tokens per second left 4.4 MB a minute behind.
    """
    gc.collect()


def collect_and_freeze() -> None:
    """Look through everything once, now, and leave what is still there alone from here on.

    A full collection looks at every object of every module that is loaded, which delays a key by several frames, and
    where much is made and thrown away, as by a build that writes thousands of lines, it comes every few seconds. So a
    screen on which much streams does it once, before it begins; what was left alone before is looked at again then.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    collect_rarely()
