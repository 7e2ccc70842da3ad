"""A process in the place of Triton and its Python backend's stub: known by its program's name and its argument."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

from wizard.kernel import proctable
from wizard.plan.ports import Ports
from wizard.serve import find
from wizard.serve.endpoint import Endpoint


@contextlib.contextmanager
def living(folder: Path, port: int = 9, program: str = find.STUB, model: str = "demo") -> Iterator[Endpoint]:
    """The endpoint ``demo`` of a process that runs ``program`` on a repository's ``model`` until the block ends."""
    path = folder / "repository" / model / "1" / "model.py"
    path.parent.mkdir(parents=True)
    path.write_text("read line")
    (folder / program).symlink_to("/bin/sh")
    with subprocess.Popen(
        [folder / program, path], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    ) as process:
        row = proctable.read(process.pid)
        assert row is not None
        log = folder / "triton.log"
        log.touch()
        yield Endpoint("demo", "demo", "127.0.0.1", Ports(port, 9, 9), process.pid, row.started, str(log))
        process.kill()
