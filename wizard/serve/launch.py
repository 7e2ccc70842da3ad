"""Start Triton in the background so that it outlives the wizard, and write its endpoint file."""

from __future__ import annotations

import subprocess

from wizard.kernel import proctable
from wizard.kernel.errors import ServerError
from wizard.kernel.language import tr
from wizard.kernel.paths import ServerFolder
from wizard.kernel.secrets import environment_for
from wizard.plan.plan import Start
from wizard.plan.ports import free
from wizard.serve import find, log_files
from wizard.serve.endpoint import Endpoint


def launch(start: Start, server: ServerFolder, ref: str = "", *, image: str = "") -> tuple[Endpoint, list[str]]:
    """Start the server of the model ``ref``, whose log folder exists; return its endpoint and remarks for the user.

    ``image`` is what `Endpoint.image` says, if ``start`` has an image's ID.

    Raises:
        ServerError: TW-S03 if the program cannot be executed.
    """
    ports, changes = free(start.ports, start.host)
    command = start.command(ports)
    environment = environment_for() | dict(command.env) | {proctable.SERVER_MARK: str(server.root)}
    for mark in (proctable.STEP_MARK, proctable.OWNER_MARK, proctable.KEEPER_MARK):
        environment.pop(mark, None)
    with log_files.begun(server) as (log, output):
        try:
            process = subprocess.Popen(
                command.argv,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                restore_signals=False,  # SIGPIPE stays ignored: the server survives whoever writes its log
                env=environment,
                cwd=server.root,
            )
        except OSError as error:
            raise ServerError(
                "TW-S03",
                tr("cannot start {argv}: {strerror}", argv=command.argv[0], strerror=error.strerror),
                tr("Create the server environment again: remove its folder under environments/ and rerun `up`."),
            ) from error
    row = proctable.read(process.pid)
    endpoint = Endpoint(
        name=server.name,
        model=start.model,
        host=start.host,
        ports=ports,
        pid=process.pid,
        started=row.started if row else "",
        log=str(log),
        remove=command.cleanup.remove if command.cleanup else (),
        image=image,
        image_id=start.container.image if start.container and image else "",
        ref=ref,
    )
    find.write(server, endpoint)
    return endpoint, changes
