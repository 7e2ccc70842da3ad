"""Whether this machine is ready."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wizard.doctor.finding import Finding
    from wizard.kernel.paths import Workspace
    from wizard.probe.host import Host


def doctor(
    workspace: Workspace, host: Host | None = None, *, quick: bool = False, offline: bool = False
) -> tuple[Finding, ...]:
    """Check this machine: driver, containers, storage, memory, limits, network, Hub (≤ 12 s).

    Args:
        workspace: The workspace.
        host: This machine, if it was described already.
        quick: Only the checks that read files (a few milliseconds if ``host`` is given).
        offline: Never access the network.
    """
    from wizard.doctor.examine import examine

    if host is None:
        from wizard.journey.planning import probe

        host = probe(workspace)
    return examine(workspace, host, quick=quick, offline=offline)
