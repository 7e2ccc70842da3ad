"""What to measure: from a server and the user's options to a report without results, and its prompts."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from wizard import __version__
from wizard.bench.dataset import Dataset, Prompt
from wizard.bench.generator import Rig
from wizard.bench.load import Load, Point, ServiceLevel
from wizard.bench.prompts import GENERATED, kind_of, read
from wizard.bench.report import FORMAT, Api, Machine, Report, Target
from wizard.bench.sampling import Watched
from wizard.chat.ask import API_KEY
from wizard.chat.openai import private
from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr
from wizard.kernel.paths import Workspace
from wizard.plan.plan import Plan
from wizard.plan.runtimes.venv import Venv
from wizard.plan.server_plan import earlier_plan
from wizard.probe.host import Host
from wizard.probe.live import Reading
from wizard.serve import find
from wizard.serve.endpoint import Endpoint

UNKNOWN_SLOTS = 8
"""Concurrent requests up to which a server is measured whose slots are unknown."""
MOST_SLOTS = 64
"""Concurrent requests up to which a server is measured by default: there the load generator becomes the limit."""
QUICK_S, NORMAL_S = 8.0, 20.0
"""Seconds of a run."""
REPEATS = 3
ISL, OSL = 128, 64
MOST_PROMPTS = 2000
"""Prompts to generate for a run that is limited by time."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The user's options; None and empty: the default.

    Attributes:
        quick: Two levels for a few seconds, once.
        concurrency: Levels of concurrent requests.
        rates: Levels in requests per second, instead.
        requests: Requests of a run.
        seconds: Seconds of a run, instead.
        repeats: Runs of a level.
        warmup: Requests before each run, per concurrent request.
        dataset: ``generated``, or a file.
        isl: Tokens of a prompt; of one from a file, the most.
        osl: Maximum tokens of an answer.
        ttft: Service level: maximum time to first token in ms.
        tpot: Service level: maximum time between tokens in ms.
        seed: Of prompts and arrivals.
        api: How requests are sent.
    """

    quick: bool = False
    concurrency: tuple[int, ...] = ()
    rates: tuple[float, ...] = ()
    requests: int | None = None
    seconds: float | None = None
    repeats: int | None = None
    warmup: int = 1
    dataset: str = GENERATED
    isl: int | None = None
    osl: int | None = None
    ttft: float | None = None
    tpot: float | None = None
    seed: int = 0
    api: Api | None = None


def ordered(
    workspace: Workspace, endpoint: Endpoint, wanted: Wanted, host: Host, venv: Venv, command: str
) -> tuple[Report, tuple[Prompt, ...]]:
    """The report to be, and its prompts.

    Raises:
        UsageError: TW-C66 if the dataset cannot be used, TW-C67 if options exclude each other or the server.
    """
    plan = plan_of(workspace, endpoint)
    return order_of(target_of(endpoint, plan, wanted.api), plan, wanted, host, venv, command)


def plan_of(workspace: Workspace, endpoint: Endpoint) -> Plan | None:
    """The plan that the server was started from; None if the wizard did not start it."""
    return None if endpoint.url else earlier_plan(workspace, endpoint.name)


def order_of(
    target: Target, plan: Plan | None, wanted: Wanted, host: Host, venv: Venv, command: str
) -> tuple[Report, tuple[Prompt, ...]]:
    """As `ordered`, of a target that may not run yet."""
    load = load_of(wanted, target.slots)
    context = plan.choice.max_seq_len if plan else None
    _check_length(wanted, context)
    dataset, prompts = read(_dataset(wanted, context), _count(load), wanted.seed, context)
    report = Report(
        format=FORMAT,
        made=datetime.now().astimezone().isoformat(timespec="seconds"),
        command=command,
        target=target,
        machine=_machine(host),
        versions=_versions(plan, venv),
        load=load,
        dataset=dataset,
        level=ServiceLevel(wanted.ttft, wanted.tpot),
    )
    return report, prompts


def for_all(wanted: Wanted, plans: Sequence[Plan | None]) -> Wanted:
    """``wanted`` with the same load and prompts for the servers of all ``plans``: up to the most requests that one of
    them runs at once, and as long as all of them support.
    """
    known = [plan.choice for plan in plans if plan]
    slots = max((choice.users for choice in known), default=None)
    context = min((choice.max_seq_len for choice in known), default=None)
    counts = wanted.concurrency or (() if wanted.rates else levels(slots, quick=wanted.quick))
    dataset = _dataset(wanted, context)
    return replace(wanted, concurrency=counts, isl=dataset.isl, osl=dataset.osl)


def load_of(wanted: Wanted, slots: int | None) -> Load:
    """The load that ``wanted`` stands for on a server with ``slots``.

    Raises:
        UsageError: TW-C67 if options exclude each other.
    """
    for name, both in (
        ("--concurrency, --request-rate", bool(wanted.concurrency and wanted.rates)),
        ("--requests, --seconds", wanted.requests is not None and wanted.seconds is not None),
    ):
        if both:
            raise UsageError("TW-C67", tr("these options exclude each other: {names}", names=name), tr("Pass one."))
    points = tuple(Point(rate=rate) for rate in wanted.rates)
    points = points or tuple(Point(number) for number in wanted.concurrency or levels(slots, quick=wanted.quick))
    seconds = wanted.seconds
    if wanted.requests is None and seconds is None:
        seconds = QUICK_S if wanted.quick else NORMAL_S
    repeats = wanted.repeats or (1 if wanted.quick else REPEATS)
    return Load(tuple(dict.fromkeys(points)), wanted.requests, seconds, wanted.warmup, repeats, wanted.seed)


def levels(slots: int | None, *, quick: bool) -> tuple[int, ...]:
    """Concurrent requests to measure: powers of two up to the server's slots; for ``quick``, one and four."""
    most = min(slots or UNKNOWN_SLOTS, MOST_SLOTS)
    if quick:
        return tuple(dict.fromkeys((1, min(4, most))))
    return tuple(dict.fromkeys([*(2**power for power in range(most.bit_length()) if 2**power < most), most]))


def _check_length(wanted: Wanted, context: int | None) -> None:
    """Reject generated requests that the server does not support.

    Raises:
        UsageError: TW-C67 if they are too long.
    """
    need = (wanted.isl or 0) + (wanted.osl or 0)
    if context is not None and need > context and kind_of(wanted.dataset) == "generated":
        message = tr(
            "requests of {need:,} tokens do not fit: the server supports {context:,}", need=need, context=context
        )
        raise UsageError("TW-C67", message, tr("Use smaller --isl and --osl, or serve with a larger --max-len."))


def _dataset(wanted: Wanted, context: int | None) -> Dataset:
    kind = kind_of(wanted.dataset)
    if kind != "generated":
        return Dataset(kind, wanted.osl or OSL, wanted.isl, wanted.dataset)
    room = context or 8 * (ISL + OSL)
    return Dataset(kind, wanted.osl or min(OSL, room // 4), wanted.isl or min(ISL, room // 4))


def _count(load: Load) -> int:
    return min(MOST_PROMPTS, load.requests or MOST_PROMPTS)


def target_of(endpoint: Endpoint, plan: Plan | None, api: Api | None) -> Target:
    """The running server as a target.

    Raises:
        UsageError: TW-C67 if it cannot be measured with ``api``.
    """
    mine = endpoint.url is None
    base = endpoint.openai if mine else endpoint.http if endpoint.protocol == "openai" else None
    chosen: Api = api or ("openai" if base else "generate_stream")
    if (chosen == "openai" and base is None) or (chosen != "openai" and endpoint.protocol == "openai"):
        message = tr("{name} cannot be measured with --api {api}", name=endpoint.title, api=chosen)
        raise UsageError("TW-C67", message, tr("Omit --api, or pass the URL of another server."))
    return Target(
        name=endpoint.title,
        model=endpoint.name if mine and chosen == "openai" else endpoint.model,
        url=base if base and chosen == "openai" else endpoint.http,
        api=chosen,
        ref=endpoint.ref,
        **_served(plan),
    )


def planned_target(plan: Plan, api: Api | None) -> Target:
    """The server of ``plan``, which does not run: without its address."""
    return Target(plan.name, plan.name, "", api or "openai", plan.facts.ref, **_served(plan))


def _served(plan: Plan | None) -> dict[str, Any]:
    """What the plan tells about a target."""
    if plan is None:
        return {}
    choice = plan.choice
    return {"stack": choice.stack, "setup": _setup(plan), "slots": choice.users, "plan": plan.fingerprint}


def _setup(plan: Plan) -> dict[str, str]:
    names = ("runtime", "dtype", "quantization", "kv_cache_dtype", "tp", "pp", "dp", "replicas", "max_batch_size")
    setup = {name: str(getattr(plan.choice, name)) for name in (*names, "max_seq_len", "release")}
    return {**setup, "machine": plan.machine}


def _machine(host: Host) -> Machine:
    return Machine(
        cpu=host.cpu.model or host.cpu.architecture,
        cores=host.cpu.cores,
        memory_bytes=host.memory_total_bytes,
        gpus=tuple(gpu.name for gpu in host.gpus),
        driver=host.driver_version or "",
        os=host.system.name,
    )


def _versions(plan: Plan | None, venv: Venv) -> dict[str, str]:
    versions = {
        "triton-wizard": __version__,
        "aiperf": venv.environment.engine_version,
        "python": ".".join(map(str, sys.version_info[:3])),
    }
    if plan:
        versions |= {"release": plan.choice.release, "engine": plan.choice.engine_version or ""}
    return versions


def rig_of(
    workspace: Workspace, endpoint: Endpoint, target: Target, venv: Venv, cores: int, read: Callable[[], Reading]
) -> Rig:
    """What the benchmark of ``endpoint`` runs with; ``read`` reads the machine."""
    mine = endpoint.url is None
    plan = plan_of(workspace, endpoint)
    root = urlsplit(target.url)
    address = f"{root.scheme}://{root.netloc}/metrics"
    beside = (f"http://{endpoint.host}:{endpoint.ports.metrics}/metrics",) if mine else ()
    return Rig(
        program=(str(venv.root / "bin" / "aiperf"),),
        watched=Watched(
            read,
            (address, *beside),
            target.model,
            endpoint.pid if mine and not endpoint.remove else None,
            plan.choice.devices if plan else None,
        ),
        cores=cores,
        mark=str(workspace.root),
        key=_key(endpoint),
        lives=_lives(endpoint) if mine else lambda: True,
    )


def _lives(endpoint: Endpoint) -> Callable[[], bool]:
    """Tells whether the server is alive, and the process of its model if it has one of its own now."""
    own = find.model_process(endpoint) is not None
    return lambda: find.alive(endpoint) and (not own or find.model_process(endpoint) is not None)


def _key(endpoint: Endpoint) -> str | None:
    """The API key for the address: the workspace's own, or the user's if the connection is private."""
    if endpoint.openai_key:
        return Path(endpoint.openai_key).read_text(encoding="utf-8").split()[0]
    if endpoint.url and private(endpoint.url):
        return os.environ.get(API_KEY, "").strip() or None
    return None


def folder_of(workspace: Workspace, name: str) -> Path:
    """A folder for a benchmark of ``name`` that does not exist yet: two may begin in the same second."""
    bare = name.rpartition("://")[2]
    text = "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in bare)
    stem = f"{text[:40]}-{datetime.now():%Y%m%d-%H%M%S}"
    names = (f"{stem}-{number}" if number else stem for number in count())
    return next(path for path in map(workspace.bench.joinpath, names) if not path.exists())
