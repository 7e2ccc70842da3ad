"""The worst output that a tool may write, as fast as it can be read: ``noise.py BLOCKS [deaf]``.

Every block is the same bytes: ordinary lines, progress bars that overwrite one another, colors, a line of 1 MiB, bytes
that are no UTF-8, NULs, line ends of Windows, and what looks like the end of a line and is none. ``deaf``: it ignores
Ctrl-C and SIGTERM and never ends.
"""

from __future__ import annotations

import os
import signal
import sys

LINES = 20_000
BLOCK = b"".join(
    (
        b"I0221 12:00:00.%06d 17 model_repository_manager.cc:1077] loading: resnet_%d:1\n" % (n, n),
        b"\rLoading safetensors checkpoint shards:  %d%% Completed | %d/20000 [00:13<00:11,  2.87s/it]" % (n // 200, n),
        b"\r\n\x1b[32mINFO\x1b[0m 05-06 \x1b]0;title\x07%d\r\n" % n,
        b"not UTF-8: \xff\xfe\xc3( \xed\xa0\x80 and \x00 NUL \x0b\x0c\x1c\xe2\x80\xa8 no end\n",
    )[n % 4]
    for n in range(LINES)
) + (b"x" * (1 << 20) + b"\n")
"""It ends with a whole line."""


def main() -> None:
    blocks = int(sys.argv[1])
    deaf = "deaf" in sys.argv
    if deaf:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while blocks or deaf:
        left = memoryview(BLOCK)
        while left:
            left = left[os.write(1, left) :]
        blocks -= 1


if __name__ == "__main__":
    main()
