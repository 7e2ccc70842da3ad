"""``triton-wizard web`` with another program as the wizard: ``python -m tests.tui.in_browser PORT PROGRAM …``."""

from __future__ import annotations

import sys

from wizard.kernel.errors import WizardError
from wizard.tui.web.server import serve


def main() -> int:
    port, *argv = sys.argv[1:]
    try:
        serve(argv, port=int(port) or None, browser=False)
    except WizardError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
