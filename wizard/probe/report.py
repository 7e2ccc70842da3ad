"""A host as plain text for a terminal of 80 columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from wizard.kernel.text import plain, table, width
from wizard.kernel.units import size
from wizard.probe.host import ContainerEngine, Gpu, Host, Interpreter
from wizard.probe.ports import TRITON_PORTS

COLUMNS = 80
_LABEL = 10
_ROOM = COLUMNS - _LABEL - 2


def text(host: Host) -> str:
    """Describe ``host`` in lines of at most 80 columns, without colours; what is unknown is said with its reason."""
    rows: list[tuple[str, str]] = []
    for label, lines in parts(host):
        folded = [piece for line in lines if line for piece in fold(line, _ROOM)]
        rows += [("" if later else label, line) for later, line in enumerate(folded)]
    return table([(label.ljust(_LABEL), line) for label, line in rows])


def brief(host: Host) -> list[tuple[str, str]]:
    """Label and value of what matters most, a line each; GPUs of one kind are counted."""
    kinds = Counter(f"{gpu.name}, {size(gpu.memory_total_bytes)}" for gpu in host.gpus)
    gpus = [f"{number} × {kind} each" if number > 1 else kind for kind, number in kinds.items()]
    why = f"none ({host.gpu_problem.what})" if host.gpu_problem else "none"
    return [
        ("GPU", "; ".join(gpus) or why),
        ("CPU", f"{host.cpu.model or host.cpu.architecture}, {host.cpu.cores} cores"),
        ("Memory", f"{size(host.memory_available_bytes)} free of {size(host.memory_total_bytes)}"),
        ("Disk", f"{size(host.disk.free_bytes)} free at {host.disk.path}"),
        ("System", host.system.name),
    ]


def fold(line: str, room: int) -> list[str]:
    """``line`` broken at spaces into pieces of at most ``room`` columns; what continues is indented by two."""
    line = plain(line).expandtabs(1).replace("\n", " ")
    words = line.lstrip(" ").split(" ")
    indent = " " * (len(line) - len(line.lstrip(" ")))
    pieces: list[str] = []
    current = indent + words[0]
    for word in words[1:]:
        if width(f"{current} {word}") > room:
            pieces.append(current)
            current = f"{indent}  {word}"
        else:
            current = f"{current} {word}"
    pieces.append(current)
    return [short for piece in pieces for short in _cut(piece, room)]


def _cut(piece: str, room: int) -> Iterator[str]:
    """``piece`` itself, or, if one word alone (a long path) is wider than ``room``, parts of it."""
    while width(piece) > room:
        end = next(i for i in range(len(piece), 0, -1) if width(piece[:i]) <= room)
        yield piece[:end]
        piece = "  " + piece[end:]
    yield piece


def parts(host: Host) -> Iterator[tuple[str, list[str]]]:
    """Label and lines of everything that is said about ``host``, unfolded."""
    system = host.system
    where = [
        system.libc or "",
        "WSL 2" if system.wsl2 else "",
        f"in a container ({system.container})" if system.container else "",
    ]
    yield "machine", [host.source]
    yield "system", [", ".join([system.name, f"Linux {system.kernel}", *filter(None, where)])]
    cores = f"{host.cpu.cores} core" + "s" * (host.cpu.cores != 1)
    yield "processor", [f"{host.cpu.model or 'unnamed'}, {host.cpu.architecture}, {cores}", " ".join(host.cpu.flags)]
    yield "memory", [f"{size(host.memory_total_bytes)}, {size(host.memory_available_bytes)} of it available"]
    yield "disk", [f"{size(host.disk.free_bytes)} free of {size(host.disk.total_bytes)} at {host.disk.path}"]
    yield "GPU", list(_gpus(host))
    yield "containers", [_engine(engine) for engine in host.engines] or ["neither docker nor podman is installed"]
    yield "Python", [_interpreter(each) for each in host.interpreters] or ["no interpreter found"]
    yield "ports", [_ports(host)]
    if host.unknown:
        yield "unknown", [f"{name}: {why}" for name, why in sorted(host.unknown.items())]


def _gpus(host: Host) -> Iterator[str]:
    if host.gpu_problem:
        yield f"{host.gpu_problem.what} ({host.gpu_problem.code})"
        yield f"→ {host.gpu_problem.todo}"
        return
    if not host.gpus:
        yield "none"
        return
    yield f"NVIDIA driver {host.driver_version or 'unknown'}, runs CUDA up to {host.cuda_driver_version or 'unknown'}"
    for gpu in host.gpus:
        yield from _gpu(gpu)
    kinds: dict[str, list[str]] = {}
    for link in host.gpu_links:
        kinds.setdefault(link.kind, []).append(f"{link.a}-{link.b}")
    for kind, pairs in sorted(kinds.items()):
        yield f"links {kind}: " + ("every pair" if len(kinds) == 1 else " ".join(pairs))


def _gpu(gpu: Gpu) -> Iterator[str]:
    memory = f"{size(gpu.memory_total_bytes)}, {size(gpu.memory_free_bytes)} free"
    if gpu.memory_is_shared_with_host:
        memory += " (shared with the host)"
    capability = ".".join(map(str, gpu.compute_capability)) if gpu.compute_capability else "unknown"
    yield f"{gpu.index}: {gpu.name}, {memory}, compute capability {capability}"
    for part in gpu.mig_slices:
        yield f"   MIG {part.profile}: {size(part.memory_total_bytes)}"
    if gpu.mig_enabled and not gpu.mig_slices:
        yield "   MIG is on, but no slice has been made"
    for process in gpu.processes:
        yield f"   held by process {process.pid} ({process.name or 'name hidden'}): {size(process.used_bytes)}"
    reasons: dict[str, list[str]] = {}
    for name, why in gpu.unknown.items():
        reasons.setdefault(why, []).append(name)
    for why, names in reasons.items():
        yield f"   unknown {', '.join(names)}: {why}"


def _engine(engine: ContainerEngine) -> str:
    name = f"{engine.name} {engine.client_version or '(version unknown)'}"
    if engine.problem:
        return f"{name}: {engine.problem}"
    nvidia = {True: "can use NVIDIA GPUs", False: "has no NVIDIA runtime", None: "NVIDIA runtime unknown"}
    server = "" if engine.server_version == engine.client_version else f" (server {engine.server_version})"
    return f"{name}: answers{server}, {nvidia[engine.nvidia_runtime]}"


def _interpreter(each: Interpreter) -> str:
    version = ".".join(map(str, each.version))
    venv = "" if each.has_venv else " (cannot make virtual environments by itself)"
    return f"{version} {each.path}: {'usable by Triton' if each.usable else each.why_not}{venv}"


def _ports(host: Host) -> str:
    free = [str(port) for port in TRITON_PORTS if port not in host.busy_ports]
    busy = [str(port) for port in host.busy_ports]
    said = [
        f"{', '.join(free)} free" if free else "",
        f"{', '.join(busy)} in use (the wizard takes others)" if busy else "",
    ]
    return "; ".join(filter(None, said))
