"""podman for real, where it is installed: the same step in a container of the same image; a store of its own."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.docker_engine import CHANGES, pack
from tests.e2e.test_docker import IMAGE, output_text, python, reached
from tests.e2e.test_docker import plan as plan_of
from wizard.kernel.errors import StepError
from wizard.kernel.paths import Workspace
from wizard.plan.runtimes.docker import Docker
from wizard.probe import engines
from wizard.probe.ask import asking

PODMAN = shutil.which("podman")


def why_not() -> str | None:
    """Why nothing here can be tried."""
    if PODMAN is None:
        return "podman is not installed"
    if os.geteuid():
        return "a store of the tests' own needs root"
    with asking(engines.questions()) as asked:
        answers = engines.read({key: each.answer() for key, each in asked.items()})
    return next((answer.problem for answer in answers if answer.name == "podman"), None)


WHY_NOT = why_not()
CONF = """\
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
{runtime}
"""
STORAGE = """\
[storage]
driver = "overlay"
graphroot = "{folder}/store"
runroot = "{folder}/run"
"""
WRAPPER = """\
#!/bin/sh
# podman with limits that this machine may give: as root it asks for more open files than a sandbox allows
[ "$1" = run ] && shift && exec {podman} run --ulimit=nofile={files}:{files} --ulimit=nproc={processes}:{processes} "$@"
exec {podman} "$@"
"""

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.xdist_group("docker"),
    pytest.mark.skipif(WHY_NOT is not None, reason=WHY_NOT or ""),
]


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Docker]:
    folder = tmp_path / "podman"
    (folder / "bin").mkdir(parents=True)
    # crun of Debian 12 refuses the hybrid cgroups that some machines have
    (folder / "containers.conf").write_text(CONF.format(runtime='runtime = "runc"' if shutil.which("runc") else ""))
    (folder / "storage.conf").write_text(STORAGE.format(folder=folder))
    limits = {"files": resource.RLIMIT_NOFILE, "processes": resource.RLIMIT_NPROC}
    highest = {name: min(10_000, resource.getrlimit(kind)[1] % 2**31) for name, kind in limits.items()}
    wrapper = folder / "bin" / "podman"
    wrapper.write_text(WRAPPER.format(podman=PODMAN, **highest))
    wrapper.chmod(0o755)
    for name, value in {
        "CONTAINERS_CONF": str(folder / "containers.conf"),
        "CONTAINERS_STORAGE_CONF": str(folder / "storage.conf"),
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}:/usr/sbin",
    }.items():
        monkeypatch.setenv(name, value)
    with tarfile.open(folder / "image.tar", "w", dereference=True) as tar:
        pack(tar)
    flags = [flag for change in CHANGES for flag in ("--change", change)]
    made = podman("import", *flags, str(folder / "image.tar"), IMAGE)
    if made.returncode:
        pytest.skip(f"podman does not work here: {made.stderr.strip().splitlines()[-1][:300]}")
    workspace = Workspace.at(tmp_path / "work")
    workspace.models.mkdir(parents=True)
    server = workspace.server("test")
    server.root.mkdir(parents=True)
    yield Docker(workspace, server, IMAGE, "podman")
    podman("rm", "--all", "--force")
    podman("rmi", "--all", "--force")


def podman(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["podman", *arguments], capture_output=True, text=True, check=False)


async def test_a_step_and_a_gpu_that_is_not_there(runtime: Docker, tmp_path: Path) -> None:
    """One after the other in one test: making the image takes longest."""
    odd = tmp_path / "a folder, of 'mine'"
    odd.mkdir()
    (odd / "file").write_text("read in a container")
    made = runtime.server.root / "made"
    code = f"print(open({str(odd / 'file')!r}).read()); open({str(made)!r}, 'w').write('x')"
    step = python(runtime, "build", code, made)
    command = runtime.command("build", ("python3", "-c", code), reads=(odd,))
    recorded = await reached(plan_of(runtime, *runtime.prepare(), replace(step, actions=(command,))))
    assert "read in a container" in output_text(recorded)
    assert "Trying to pull" not in output_text(recorded)
    assert made.stat().st_uid == os.getuid()
    assert podman("ps", "--all", "--quiet").stdout == ""

    with pytest.raises(StepError, match="unresolvable CDI devices"):
        await reached(plan_of(runtime, python(replace(runtime, devices=(7,)), "gpu", "print(1)")))
    assert podman("ps", "--all", "--quiet").stdout == ""
