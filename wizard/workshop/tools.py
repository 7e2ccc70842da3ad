"""Programs that make and install a bundle: pip and the container engine."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from wizard.kernel.secrets import environment_for


def quiet(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run ``command`` to its end (minutes) without secrets and without input; what it prints is in the result.

    Raises:
        OSError: It cannot be started.
    """
    return subprocess.run(
        command,
        env=environment_for(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
