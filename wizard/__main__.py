"""The program's entry: ``triton-wizard``, and ``python -m wizard``. Ctrl-C ends it with 130 from the first line on.

Until then Python is starting, and its own traceback shows. So nothing is imported here that it has not got anyway.
"""

import _signal  # type: ignore[import-not-found]  # built in; `signal` would import enum
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn


def main() -> "NoReturn":
    """Run one command and exit."""
    ours = _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler  # it is ignored under nohup, for example
    try:
        if ours:
            _signal.signal(_signal.SIGINT, _interrupted)
        from wizard.cli import main as run

        run()
    except KeyboardInterrupt:
        _leave()
    finally:  # while Python takes itself apart
        if ours:
            _signal.signal(_signal.SIGINT, _leave)


def _interrupted(_number: int, frame: "FrameType | None") -> "NoReturn":
    """Raise KeyboardInterrupt, but not into an import.

    There it may arrive as another error: a class that is being made turns it into a RuntimeError (before Python 3.12),
    a compiled module into an ImportError. And while Python imports nothing has begun that has to be cleaned up.
    """
    while frame:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            _leave()
        frame = frame.f_back
    raise KeyboardInterrupt


def _leave(*_: object) -> "NoReturn":
    os._exit(130)


if __name__ == "__main__":
    main()
