"""Two processes look after each other: the one that serves the address, and its keeper, which starts it again.

Both hold the listening socket, so programs that connect meanwhile wait instead of being refused. The keeper imports
next to nothing. If it is killed itself, the process that serves becomes a keeper (`succeed`), and starts another one.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any

UNABLE_S = 10.0
"""A process that fails within this time, without having been killed, cannot start at all."""
STEADY_S = 60.0
"""A process that ran for this long is started again at once."""
PAUSES_S = (0.0, 1.0, 5.0, 30.0)
"""Before it is started again, the last one for ever: something may end it each time."""


def keep() -> int:
    """Return in a new process, which is to serve; this one ends with it, or starts another one if that died.

    Returns:
        The process of the keeper.
    """
    keeper, child, ending, restarts = os.getpid(), 0, False, 0

    def end(*_: Any) -> None:
        nonlocal ending
        ending = True
        if not child:
            sys.exit(0)
        os.kill(child, signal.SIGTERM)

    signal.signal(signal.SIGTERM, end)
    while True:
        started = time.monotonic()
        child = os.fork()
        if not child:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            return keeper
        if ending:
            os.kill(child, signal.SIGTERM)
        _, status = os.waitpid(child, 0)
        child, code, ran = 0, os.waitstatus_to_exitcode(status), time.monotonic() - started
        if ending or code == 0 or (code > 0 and ran < UNABLE_S):
            sys.exit(max(code, 0))
        restarts = 0 if ran >= STEADY_S else restarts
        pause = PAUSES_S[min(restarts, len(PAUSES_S) - 1)]
        restarts += 1
        print(f"the process of the address ended ({code}); another one starts in {pause:.0f} s", flush=True)
        time.sleep(pause)


def dismiss(keeper: int) -> None:
    """End the ``keeper``: this process ends for good, and then the port must be free."""
    if lives(keeper):
        os.kill(keeper, signal.SIGKILL)


def lives(keeper: int) -> bool:
    """Whether the ``keeper`` of this process is alive."""
    return os.getppid() == keeper


def succeed() -> None:
    """Become the keeper, in place of one that was killed: the same command again, with the same listening socket."""
    os.execv(sys.executable, [sys.executable, "-m", "wizard.gateway", *sys.argv[1:]])  # noqa: S606
