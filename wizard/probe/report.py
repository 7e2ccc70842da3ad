"""A host as plain text for a terminal of 80 columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from wizard.kernel.language import mark, ntr, tr
from wizard.kernel.text import plain, table, width
from wizard.kernel.units import size
from wizard.probe import summary
from wizard.probe.host import ContainerEngine, EnginePython, Gpu, Host, Interpreter
from wizard.probe.ports import TRITON_PORTS

COLUMNS = 80
_LABEL = 10
_ROOM = COLUMNS - _LABEL - 2


def text(host: Host) -> str:
    """Describe ``host`` in lines of at most 80 columns, without colors; unknown values have their reason."""
    rows: list[tuple[str, str]] = []
    for label, lines in parts(host):
        folded = [piece for line in lines if line for piece in fold(line, _ROOM)]
        rows += [("" if later else label, line) for later, line in enumerate(folded)]
    return table([(label.ljust(_LABEL), line) for label, line in rows])


def brief(host: Host) -> list[tuple[str, str]]:
    """Label and value of the most important facts, a line each; GPUs of the same kind are counted."""
    kinds = Counter(f"{gpu.name}, {size(gpu.memory_total_bytes)}" for gpu in host.gpus)
    gpus = [
        tr("{count} × {gpu} each", count=number, gpu=kind) if number > 1 else kind for kind, number in kinds.items()
    ]
    problem = _unsupported(host) or (host.gpu_problem and host.gpu_problem.what)
    why = f"{tr('none')} ({problem})" if problem else tr("none")
    return [
        ("GPU", "; ".join(gpus) or why),
        (
            "CPU",
            ntr(
                "{model}, {count} core",
                "{model}, {count} cores",
                host.cpu.cores,
                model=host.cpu.model or host.cpu.architecture,
                count=host.cpu.cores,
            ),
        ),
        (tr("Memory"), summary.free_of(host.memory_available_bytes, host.memory_total_bytes)),
        (tr("Disk"), tr("{free} free at {path}", free=size(host.disk.free_bytes), path=host.disk.path)),
        (tr("System"), host.system.name),
    ]


def fold(line: str, room: int) -> list[str]:
    """``line`` broken at spaces into pieces of at most ``room`` columns; continuations are indented by two."""
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
    """``piece`` itself, or, if a single word (a long path) is wider than ``room``, parts of it."""
    part, columns = "", 0
    for character in piece:
        if columns + width(character) > room:
            yield part
            part, columns = "  ", 2
        part += character
        columns += width(character)
    yield part


def parts(host: Host) -> Iterator[tuple[str, list[str]]]:
    """Label and lines of all facts about ``host``, not folded."""
    system = host.system
    where = [
        system.libc or "",
        "WSL 2" if system.wsl2 else "",
        tr("in a container ({kind})", kind=system.container) if system.container else "",
    ]
    yield tr("machine"), [tr(host.source)]
    yield tr("system"), [", ".join([system.name, f"Linux {system.kernel}", *filter(None, where)])]
    cores = ntr("{count} core", "{count} cores", host.cpu.cores, count=host.cpu.cores)
    model = host.cpu.model or tr("unnamed")
    yield tr("processor"), [f"{model}, {host.cpu.architecture}, {cores}", " ".join(host.cpu.flags)]
    memory = tr(
        "{total}, {free} available", total=size(host.memory_total_bytes), free=size(host.memory_available_bytes)
    )
    yield tr("memory"), [memory]
    disk = tr(
        "{free} free of {total} at {path}",
        free=size(host.disk.free_bytes),
        total=size(host.disk.total_bytes),
        path=host.disk.path,
    )
    yield tr("disk"), [disk]
    yield "GPU", list(_gpus(host))
    engines = [_engine(engine) for engine in host.engines]
    yield tr("containers"), engines or [tr("neither docker nor podman is installed")]
    yield "Python", [_interpreter(each) for each in host.interpreters] or [tr("no interpreter found")]
    if host.engine_pythons:
        yield tr("engines"), [_engines(each) for each in host.engine_pythons]
    yield tr("ports"), [_ports(host)]
    if host.unknown:
        yield tr("unknown"), [f"{tr(name)}: {why}" for name, why in sorted(host.unknown.items())]


def _unsupported(host: Host) -> str:
    return tr("{vendors} GPU is not supported", vendors=", ".join(host.other_gpus)) if host.other_gpus else ""


def _gpus(host: Host) -> Iterator[str]:
    if not host.gpus and host.other_gpus:
        yield _unsupported(host)
    if host.gpu_problem:
        yield f"{host.gpu_problem.what} ({host.gpu_problem.code})"
        yield f"→ {host.gpu_problem.todo}"
        return
    if not host.gpus:
        yield tr("none")
        return
    driver, cuda = host.driver_version or tr("unknown"), host.cuda_driver_version or tr("unknown")
    yield tr("NVIDIA driver {driver}, supports CUDA up to {cuda}", driver=driver, cuda=cuda)
    for gpu in host.gpus:
        yield from _gpu(gpu)
    kinds: dict[str, list[str]] = {}
    for link in host.gpu_links:
        kinds.setdefault(link.kind, []).append(f"{link.a}-{link.b}")
    for kind, pairs in sorted(kinds.items()):
        which = tr("all pairs") if len(kinds) == 1 else " ".join(pairs)
        yield tr("links {kind}: {pairs}", kind=kind, pairs=which)


def _gpu(gpu: Gpu) -> Iterator[str]:
    total, free = size(gpu.memory_total_bytes), size(gpu.memory_free_bytes)
    memory = tr("{total}, {free} free", total=total, free=free)
    if gpu.memory_is_shared_with_host:
        memory = tr("{total}, {free} free (shared with the host)", total=total, free=free)
    known = ".".join(map(str, gpu.compute_capability)) if gpu.compute_capability else tr("unknown")
    capability = tr("compute capability {capability}", capability=known)
    yield f"{gpu.index}: {gpu.name}, {memory}, {capability}"
    for part in gpu.mig_slices:
        yield f"   MIG {part.profile}: {size(part.memory_total_bytes)}"
    if gpu.mig_enabled and not gpu.mig_slices:
        yield "   " + tr("MIG is on, but no slices exist")
    for process in gpu.processes:
        name, held = process.name or tr("name hidden"), size(process.used_bytes)
        yield "   " + tr("used by process {pid} ({name}): {size}", pid=process.pid, name=name, size=held)
    reasons: dict[str, list[str]] = {}
    for name, why in gpu.unknown.items():
        reasons.setdefault(why, []).append(name)
    for why, names in reasons.items():
        yield "   " + tr("unknown {fields}: {why}", fields=", ".join(names), why=why)


def _engine(engine: ContainerEngine) -> str:
    name = " ".join((engine.name, engine.client_version or tr("(version unknown)")))
    if engine.problem:
        return f"{name}: {engine.problem}"
    answers = tr("responds")
    if engine.server_version != engine.client_version:
        answers = tr("responds (server {version})", version=engine.server_version)
    return f"{name}: {answers}, {tr(RUNTIMES[engine.nvidia_runtime])}"


RUNTIMES = {
    True: mark("can use NVIDIA GPUs"),
    False: mark("has no NVIDIA runtime"),
    None: mark("NVIDIA runtime unknown"),
}
"""Display text of `ContainerEngine.nvidia_runtime`."""


def _interpreter(each: Interpreter) -> str:
    version = ".".join(map(str, each.version))
    state = tr("usable by Triton") if each.usable else each.why_not
    venv = "" if each.has_venv else " " + tr("(cannot create virtual environments)")
    return f"{version} {each.path}: {state}{venv}"


def _engines(each: EnginePython) -> str:
    """``/opt/venv/bin/python: vllm 0.26.0, torch 2.11.0, CUDA 13.0``; ready for ``--engine-python``."""
    has = [f"{name} {version}" for name, version in each.packages.items()]
    return f"{each.path}: {', '.join([*has, *([f'CUDA {each.cuda}'] if each.cuda else [])])}"


def _ports(host: Host) -> str:
    free = [str(port) for port in TRITON_PORTS if port not in host.busy_ports]
    busy = [str(port) for port in host.busy_ports]
    parts = [
        tr("{ports} free", ports=", ".join(free)) if free else "",
        tr("{ports} in use (the wizard picks other ports)", ports=", ".join(busy)) if busy else "",
    ]
    return "; ".join(filter(None, parts))
