"""A real Docker engine of the tests' own, and an image with a real tritonserver made from what this machine has.

Nothing is pulled: the image holds the wheel's tritonserver, an interpreter and the shared libraries that they need. It
bears NVIDIA's names so that the wizard's own plans run in it; what NVIDIA's images have beside Triton (TensorRT-LLM,
vLLM) is not in there, and a test that needs such a tool brings a stand-in.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server_environment import server_environment

TOOLS = (
    "bash",
    "sh",
    "cat",
    "cp",
    "env",
    "id",
    "ln",
    "ls",
    "mkdir",
    "mv",
    "rm",
    "sleep",
    "test",
    "touch",
    "find",
    "sed",
)
CHANGES = (
    "ENV PATH=/opt/tritonserver/bin:/usr/bin:/bin",
    "ENV LD_LIBRARY_PATH=/opt/tritonserver/lib",
    "ENV PYTHONHOME=/usr",
)
"""What an image says beside its files."""
STARTS_S = 120.0
FIRST_PORT = 8600
"""For servers in containers: Triton's own ports are taken by other tests that run at the same time."""
FAKE_HOOK = """#!/bin/sh
# FakeNvidiaRuntime: dockerd takes --gpus when a program of this name is on its PATH; it gives the container no GPU.
exit 0
"""


def why_not() -> str | None:
    """Why no engine can be started here; None if one can."""
    if os.geteuid() != 0:
        return "a Docker engine of the tests' own needs root"
    missing = [name for name in ("docker", "dockerd", "ip", "setpriv") if shutil.which(name, path=_PATH) is None]
    return f"{', '.join(missing)} not installed (Debian: docker.io, iproute2, util-linux)" if missing else None


_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


@contextlib.contextmanager
def engine(*, gpus: bool = True) -> Iterator[str]:
    """Start dockerd with everything of its own; yields what ``DOCKER_HOST`` must be.

    Its bridge is its own too, and it changes no firewall: Docker's ``docker0`` and its chains belong to the machine's
    engine, and to what an engine that was killed left there. Without ``gpus`` it knows no NVIDIA runtime and has no
    network.
    """
    # not pytest's folder: its path is longer than that of a socket may be
    folder = Path(tempfile.mkdtemp(prefix="tw-docker-"))
    hooks = folder / "hooks"
    hooks.mkdir()
    if gpus:
        hook = hooks / "nvidia-container-runtime-hook"
        hook.write_text(FAKE_HOOK)
        hook.chmod(0o755)
    address = f"unix://{folder}/docker.sock"
    with (folder / "dockerd.log").open("wb") as log, bridge() if gpus else contextlib.nullcontext("none") as network:
        process = subprocess.Popen(
            [
                *(() if gpus else ("unshare", "--net")),
                *("setpriv", "--pdeathsig=TERM"),
                "dockerd",
                *(f"--bridge={network}", "--iptables=false", "--ip6tables=false"),
                f"--data-root={folder}/data",
                f"--exec-root={folder}/exec",
                f"--pidfile={folder}/docker.pid",
                f"--host={address}",
            ],
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PATH": f"{hooks}:{_PATH}"},
            start_new_session=True,
        )
        try:
            until = time.monotonic() + STARTS_S
            while docker(address, "info").returncode:
                if process.poll() is not None or time.monotonic() > until:
                    lines = (folder / "dockerd.log").read_text(errors="replace").splitlines()
                    pytest.skip(f"dockerd does not start here: {lines[-1][:300] if lines else 'its log is empty'}")
            yield address
        finally:
            left = docker(address, "ps", "--all", "--quiet").stdout.split()
            if left:
                docker(address, "rm", "--force", *left)
            process.terminate()
            process.wait(120)
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def bridge() -> Iterator[str]:
    """A bridge that no other engine uses; published ports of the loopback reach it through Docker's own proxy."""
    for number in range(256):
        name = f"tw-docker-{number}"
        if not _ip("link", "add", name, "type", "bridge"):
            break
    else:
        pytest.skip("a bridge for containers cannot be made here")
    try:
        # 198.18.0.0/15 is set aside for tests of networks (RFC 2544): nothing else is expected to be there
        _ip("address", "add", f"198.18.{number}.1/24", "dev", name)
        _ip("link", "set", name, "up")
        yield name
    finally:
        _ip("link", "delete", name)


def _ip(*arguments: str) -> int:
    return subprocess.run(["ip", *arguments], env={"PATH": _PATH}, capture_output=True, check=False).returncode


def docker(address: str, *arguments: str, stdin: bytes | None = None) -> subprocess.CompletedProcess[str]:
    """Run the client against the engine at ``address``."""
    env = {**os.environ, "DOCKER_HOST": address}
    return subprocess.run(["docker", *arguments], env=env, capture_output=True, text=True, check=False)


def standin_image(address: str, folder: Path, *names: str, extra: Path | None = None) -> None:
    """Make the image once and give it ``names``; the tree ``extra`` is laid over its root."""
    archive = folder / "standin.tar"
    with tarfile.open(archive, "w", dereference=True) as tar:
        pack(tar)
        if extra:
            for path in sorted(extra.rglob("*")):
                if path.is_file():
                    tar.add(path, str(path.relative_to(extra)))
    flags = [flag for change in CHANGES for flag in ("--change", change)]
    made = docker(address, "import", *flags, str(archive), names[0])
    assert made.returncode == 0, made.stderr
    archive.unlink()
    for name in names[1:]:
        assert docker(address, "tag", names[0], name).returncode == 0


def pack(tar: tarfile.TarFile) -> None:
    """Everything that the image has."""
    for target, source in _files().items():
        tar.add(source, target)
    _links(tar)


def _files() -> dict[str, Path]:
    """Path in the image → path here."""
    environment = server_environment()
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    packages = environment / "lib" / f"python{version}" / "site-packages"
    triton = packages / "pytriton" / "tritonserver"
    python = Path(sys.base_prefix)
    files = {
        "opt/tritonserver/backends/python/triton_python_backend_stub": triton
        / f"python_backend_stubs/{version}/triton_python_backend_stub",
        f"usr/bin/python{version}": (python / "bin" / f"python{version}").resolve(),
    }
    trees = {
        "opt/tritonserver/bin": triton / "bin",
        "opt/tritonserver/backends": triton / "backends",
        "opt/tritonserver/lib": packages / "nvidia_pytriton.libs",
        f"usr/lib/python{version}": python / "lib" / f"python{version}",
        f"usr/lib/python{version}/site-packages/numpy": packages / "numpy",
        f"usr/lib/python{version}/site-packages/numpy.libs": packages / "numpy.libs",
    }
    skipped = re.compile(r"/(test|tests|idlelib|tkinter|ensurepip|lib2to3|config-[^/]*)/|\.a$|\.pyc$")
    for target, tree in trees.items():
        for path in tree.rglob("*"):
            inside = f"/{path.relative_to(tree)}"
            other = target == f"usr/lib/python{version}" and inside.startswith("/site-packages/")
            if path.is_file() and not skipped.search(inside) and not other:
                files[target + inside] = path
    library = f"libpython{version}.so.1.0"
    places = (Path(str(sysconfig.get_config_var("LIBDIR"))), Path("/usr/lib/x86_64-linux-gnu"))
    files[f"opt/tritonserver/lib/{library}"] = next(place / library for place in places if (place / library).exists())
    for tool in TOOLS:
        files[f"usr/bin/{tool}"] = Path(str(shutil.which(tool))).resolve()
    return files | _libraries(files, packages, python)


def _libraries(files: dict[str, Path], packages: Path, python: Path) -> dict[str, Path]:
    """The system's shared libraries that the programs among ``files`` need."""
    programs = [str(path) for name, path in files.items() if ".so" in path.name or "/bin/" in name or "stub" in name]
    paths = f"{packages / 'nvidia_pytriton.libs'}:{sysconfig.get_config_var('LIBDIR')}"
    output = subprocess.run(
        ["ldd", *programs], env={**os.environ, "LD_LIBRARY_PATH": paths}, capture_output=True, text=True, check=False
    ).stdout
    needed = {Path(path) for path in re.findall(r"(/\S+) \(0x", output)}
    ours = [path for path in needed if not path.is_relative_to(packages) and not path.is_relative_to(python)]
    return {f"usr/lib/x86_64-linux-gnu/{path.name}": path for path in ours}


def _links(tar: tarfile.TarFile) -> None:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    links = {
        "bin": "usr/bin",
        "lib": "usr/lib",
        "lib64": "usr/lib/x86_64-linux-gnu",
        "nvidia_pytriton.libs": "opt/tritonserver/lib",
        "usr/bin/python3": f"python{version}",
    }
    for name, target in links.items():
        info = tarfile.TarInfo(name)
        info.type, info.linkname = tarfile.SYMTYPE, target
        tar.addfile(info)
    for name in ("tmp", "proc", "sys", "dev", "etc", "root", "var"):
        info = tarfile.TarInfo(name)
        info.type, info.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
        tar.addfile(info)
