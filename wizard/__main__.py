"""The program's entry point: ``triton-wizard``, and ``python -m wizard``. Ctrl-C exits with 130 from the first line on.

Before that, Python is starting, and shows its own traceback. So no module is imported here that is not loaded already.
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
    finally:  # while Python shuts down
        if ours:
            _signal.signal(_signal.SIGINT, _leave)


def _interrupted(_number: int, frame: "FrameType | None") -> "NoReturn":
    """Raise KeyboardInterrupt, but not into an import.

    There it may surface as another error: a class being created turns it into a RuntimeError (before Python 3.12), a
    compiled module into an ImportError. And while Python imports, there is nothing to clean up yet.
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
