"""When Python looks for garbage: not while a key waits."""

from __future__ import annotations

import gc

RARELY = (10_000, 20, 50)
"""Objects made and not thrown away before a look at the youngest, such looks before one at the next older, and so on.
What a picture is made of holds no circles and goes without any look (Python's own: 700, 10, 10)."""


def settle() -> None:
    """Look through everything once, now, and leave what is still there alone from here on.

    A full collection looks at every object of every module that is loaded, which delays a key by several frames, and
    where much is made and thrown away, as by a build that writes thousands of lines, it comes every few seconds. So a
    screen on which much streams does it once, before it begins; what was left alone before is looked at again then.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*RARELY)
