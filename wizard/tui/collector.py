"""Python's collector of reference cycles, set for a screen with many small values that live long."""

from __future__ import annotations

import gc


def rarely() -> None:
    """Look for garbage after more allocations, and hardly ever at everything that lives.

    A whole search takes 100 ms and more where the lines of a long conversation live (measured with
    ``benchmarks/terminal/transcript.py``): a key that is pressed then waits for it. What dies young is found as before,
    and the rest once in a while, so that it cannot pile up.
    """
    gc.set_threshold(20_000, 50, 20)
