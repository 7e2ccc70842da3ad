"""Container engines: docker and podman, with this user's access to them.

They are queried through their command lines, which a plan also uses: contexts, ``DOCKER_HOST``, permissions and
rootless setups are then the same. ``--version`` never talks to the daemon; ``info`` does.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from wizard.kernel.language import tr
from wizard.kernel.secrets import redact
from wizard.kernel.text import plain
from wizard.probe.ask import Answer, asking
from wizard.probe.host import ContainerEngine

Question = tuple[str, Literal["version", "info"]]
_INFO = {"docker": "{{json .}}", "podman": "json"}
"""Formats that old releases support too (docker's plain ``json`` came with 23.0)."""
_CAP_SYS_RESOURCE = 24
"""Its bit in the sets of capabilities (linux/capability.h)."""
CDI_FOLDERS = ("etc/cdi", "var/run/cdi")
"""Folders of CDI specifications (Container Device Interface specification; podman's ``--device
nvidia.com/gpu=all``).
"""


INIT = "catatonit"
"""Podman's init process for ``--init``; docker has its own."""
NO_INIT, NO_RIGHTS = "init", "rights"
"""Values of `ContainerEngine.obstacle`."""
_INIT_FOLDERS = ("usr/libexec/podman", "usr/lib/podman", "usr/local/libexec/podman", "usr/local/lib/podman")
_INIT_SETTINGS = (
    "etc/containers/containers.conf",
    "etc/containers/containers.conf.d/*.conf",
    "usr/share/containers/containers.conf",
)
"""Where podman looks for it, besides PATH, and the files that may configure another (containers.conf(5): ``init_path``,
``helper_binaries_dir``). Without it Debian's podman 4.3.1 reports "container-init binary not found on the host".
"""


def questions() -> dict[Question, tuple[str, ...]]:
    """The queries for the engines that are on PATH."""
    commands: dict[Question, tuple[str, ...]] = {}
    for name, format_ in _INFO.items():
        if path := shutil.which(name):
            commands[name, "version"] = (path, "--version")
            commands[name, "info"] = (path, "info", "--format", format_)
    return commands


def read(answers: Mapping[Question, Answer], root: Path = Path("/")) -> tuple[ContainerEngine, ...]:
    """Engines from their output; ``root`` is the root folder for CDI specifications."""
    engines: list[ContainerEngine] = []
    for name in _INFO:
        if (name, "version") not in answers:
            continue
        version, info = answers[name, "version"], answers[name, "info"]
        if name == "docker" and version.out.startswith("podman"):
            continue  # the package podman-docker: podman under another name
        match = re.search(r"version (\d[^\s,]*)", version.out)
        client = match.group(1) if match else None
        engines.append(_docker(client, info) if name == "docker" else _podman(client, info, root))
    return tuple(engines)


def has_image(engine: str, image: str) -> bool:
    """Whether ``engine`` already has ``image`` (≤ 3 s)."""
    with asking({"image": (engine, "image", "inspect", image)}) as running:
        return running["image"].answer().status == 0


def images_folder(engine: str) -> Path | None:
    """The folder of images of ``engine``, if it is on this machine (≤ 3 s)."""
    where = "{{.DockerRootDir}}" if engine == "docker" else "{{.Store.GraphRoot}}"
    with asking({"info": (engine, "info", "--format", where)}) as running:
        folder = Path(running["info"].answer().out.strip() or "nowhere")
    return folder if folder.is_absolute() and folder.is_dir() else None


def is_rootless(engine: str) -> bool:
    """Whether ``engine`` runs rootless, so that root in a container is this user (≤ 3 s)."""
    template = "{{.SecurityOptions}}" if engine == "docker" else "rootless={{.Host.Security.Rootless}}"
    with asking({"info": (engine, "info", "--format", template)}) as running:
        return re.search(r"name=rootless|rootless=true", running["info"].answer().out) is not None


def elsewhere(engine: str) -> str | None:
    """The address of another machine's engine that the client would use; None if the engine is this machine's.

    ``DOCKER_HOST`` overrides the current context, as in docker's own client (≤ 3 s); podman runs containers here unless
    ``CONTAINER_HOST`` is set.
    """
    if engine == "podman":
        address = os.environ.get("CONTAINER_HOST", "")
    elif not (address := os.environ.get("DOCKER_HOST", "")):
        ask = (engine, "context", "inspect", "--format", "{{.Endpoints.docker.Host}}")
        with asking({"context": ask}) as running:
            address = running["context"].answer().out.strip()
    remote = re.match(r"\w+://", address)  # an old client has no contexts, and reports something else
    here = re.match(r"unix:|tcp://(127\.|localhost|\[::1\])", address)
    return redact(address) if remote and not here else None


def lifts_limits(root: Path = Path("/")) -> bool:
    """Whether root may give a container higher limits than a user's, such as for locked memory.

    That requires ``CAP_SYS_RESOURCE`` (getrlimit(2)), which a sandbox may remove; ``root`` is the parent of ``/proc``.
    """
    try:
        status = (root / "proc/self/status").read_text(encoding="utf-8")
    except OSError:
        return False
    bounds = re.search(r"^CapBnd:\s*([0-9a-f]+)$", status, re.MULTILINE)
    return bounds is not None and int(bounds.group(1), 16) >> _CAP_SYS_RESOURCE & 1 == 1


def _docker(client: str | None, info: Answer) -> ContainerEngine:
    data = _json(info.out)
    server = str(data.get("ServerVersion") or "") or None
    if server is None:
        errors = "\n".join([info.err, *map(str, data.get("ServerErrors") or ())])
        return ContainerEngine("docker", client, None, None, _docker_problem(errors), _rights(errors))
    devices = [str(device.get("ID", "")) for device in data.get("DiscoveredDevices") or () if isinstance(device, dict)]
    nvidia = (
        "nvidia" in (data.get("Runtimes") or {})
        or any(device.startswith("nvidia.com/gpu") for device in devices)
        # dockerd itself looks for this hook for --gpus, registered runtime or not
        or shutil.which("nvidia-container-runtime-hook") is not None
    )
    return ContainerEngine("docker", client, server, nvidia)


def _rights(errors: str) -> str | None:
    return NO_RIGHTS if "permission" in errors.lower() else None


def _docker_problem(errors: str) -> str:
    where = f" (DOCKER_HOST={redact(os.environ['DOCKER_HOST'])})" if os.environ.get("DOCKER_HOST") else ""
    if "permission denied" in errors.lower():
        return tr(
            "no permission to access the Docker socket{where}: run `sudo usermod -aG docker $USER` and log in "
            "again, or use podman",
            where=where,
        )
    if "cannot connect" in errors.lower() or "is the docker daemon running" in errors.lower():
        return tr("the Docker daemon does not respond{where}: start it with `sudo systemctl start docker`", where=where)
    return _last_line(errors) + where


def _podman(client: str | None, info: Answer, root: Path) -> ContainerEngine:
    version = _json(info.out).get("version")
    if info.status != 0 or not isinstance(version, dict) or not version.get("Version"):
        return ContainerEngine("podman", client, None, None, _last_line(info.err), _rights(info.err))
    nvidia = _has_nvidia_cdi(root)
    if _has_init(root):
        return ContainerEngine("podman", client, str(version["Version"]), nvidia)
    lacking = tr("{program} is missing; podman cannot start a server without it", program=INIT)
    return ContainerEngine("podman", client, str(version["Version"]), nvidia, lacking, NO_INIT)


def _has_init(root: Path) -> bool:
    places = [root / folder / INIT for folder in _INIT_FOLDERS]
    if shutil.which(INIT) or any(place.exists() for place in places):
        return True
    settings = [path for pattern in _INIT_SETTINGS for path in root.glob(pattern)]
    settings.append(Path.home() / ".config/containers/containers.conf")
    if conf := os.environ.get("CONTAINERS_CONF"):
        settings.append(Path(conf))
    for path in settings:
        try:
            named = re.findall(r'^\s*init_path\s*=\s*"([^"]+)"', path.read_text(errors="replace"), re.MULTILINE)
        except OSError:
            continue
        if any(Path(path).exists() for path in named):
            return True
    return False


def _has_nvidia_cdi(root: Path) -> bool:
    for folder in CDI_FOLDERS:
        for path in (root / folder).glob("*"):
            try:
                if path.suffix in (".yaml", ".json") and "nvidia.com/gpu" in path.read_text(errors="replace"):
                    return True
            except OSError:
                continue
    return False


def _json(text: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def _last_line(output: str) -> str:
    lines = [line.strip() for line in plain(redact(output)).splitlines() if line.strip()]
    return lines[-1][:200] if lines else tr("the container engine returned no readable response")
