"""Runs in the serving image: starts Triton's ranks with NVIDIA's launch script and runs as long as they do.

    python3 launch_and_wait.py launch_triton_server.py --world_size=2 --model_repo=…

launch_triton_server.py starts ``mpirun`` and returns at once, which would end a container. It runs inside this process,
so that ``mpirun`` becomes our own child: we wait for it, and forward a stop signal to it. Only ``mpirun`` is in our
process group; it passes the signal to the ranks, which have separate groups.
"""

from __future__ import annotations

import os
import runpy
import signal
import subprocess
import sys
from types import FrameType


def _pass_on(number: int, _: FrameType | None) -> None:
    signal.signal(number, signal.SIG_IGN)  # the group includes this process, which waits for the others to exit
    os.killpg(0, number)


def main(argv: list[str]) -> int:
    """Run the script ``argv`` and wait for its children; the first nonzero status is ours."""
    # Handlers, unlike SIG_IGN, are not inherited by children: mpirun must still receive these signals.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _pass_on)
    # The script drops its Popen, whose finalizer would take the status of an mpirun that has failed already.
    subprocess.Popen.__del__ = lambda _: None  # type: ignore[method-assign]
    sys.argv = argv
    runpy.run_path(argv[0], run_name="__main__")
    exit_code = 0
    while True:
        try:
            _, status = os.wait()
        except ChildProcessError:  # none is left
            return exit_code
        code = os.waitstatus_to_exitcode(status)
        exit_code = exit_code or (code if code >= 0 else 128 - code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
