"""The content of the welcome screen: the machine in two lines, and the entries with the recommended one first. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wizard.kernel.language import join, ntr, tr
from wizard.kernel.text import one_line
from wizard.kernel.units import size

if TYPE_CHECKING:
    from wizard.chat.nearby import Nearby
    from wizard.doctor.finding import Finding
    from wizard.kernel.errors import WizardError
    from wizard.plan.offers import Suggestion
    from wizard.plan.plan import Plan
    from wizard.probe.host import Host
    from wizard.serve.endpoint import Endpoint


@dataclass(frozen=True, slots=True)
class Server:
    """A server that is running, being built in the background, or stopped."""

    name: str
    about: str
    endpoint: Endpoint | None
    """None unless it is running."""
    plan: Plan | None = None
    """Its plan, if it is not running."""
    building: bool = False
    """Whether its build is under way."""


@dataclass(frozen=True, slots=True)
class WelcomeView:
    """The state of the screen."""

    host: Host | None = None
    error: WizardError | None = None
    servers: tuple[Server, ...] | None = None
    """None until they are found."""
    ran: tuple[Endpoint, ...] | None = None
    """The servers that were running at the last check: the machine's free memory was measured with them."""
    suggestions: tuple[Suggestion, ...] | None = None
    """None until they are found."""
    nearby: tuple[Nearby, ...] = ()
    """Servers of other programs on this machine."""
    findings: tuple[Finding, ...] = ()
    """Of the checks that only read files."""
    explanations: bool = False
    """Whether explanations are on, so that the user sees every stage."""
    without: frozenset[str] = frozenset()
    """IDs of the entries that a facilitator has hidden."""


@dataclass(frozen=True, slots=True)
class Row:
    """An entry."""

    id: str
    """``server:NAME``, ``nearby:ADDRESS``, or one of serve, machine, model, recipes, settings, help, quit."""
    title: str
    about: str = ""
    recommended: bool = False


def best(view: WelcomeView) -> Suggestion | None:
    """The recommended model on this machine, once known; preferably one that needs no token."""
    usable = [suggestion for suggestion in view.suggestions or () if suggestion.usable]
    return next((suggestion for suggestion in usable if not suggestion.gated), next(iter(usable), None))


def first(suggestions: Sequence[Suggestion]) -> str:
    """The default model; empty, which is not a valid model name, if there is none."""
    return next((suggestion.ref for suggestion in suggestions if suggestion.usable), "")


def rows(view: WelcomeView) -> list[Row]:
    """The entries; pending ones have their place from the beginning, except for servers."""
    servers = [Row(f"server:{server.name}", _label(server), server.about) for server in view.servers or ()]
    options = [
        _serve(view),
        *map(_other, view.nearby),
        Row("machine", tr("Check the machine"), tr("its hardware and what that means for models")),
        Row("model", tr("Choose another model"), tr("from a list, the Hub, a folder or a .gguf file")),
        Row("recipes", tr("Use a recipe"), tr("the tutorials, with all answers filled in")),
    ]
    rest = [Row("settings", tr("Settings")), Row("help", tr("Help")), Row("quit", tr("Quit"))]
    return [*servers, *(row for row in options if row.id not in view.without), *rest]


def _other(server: Nearby) -> Row:
    model, more = one_line(server.endpoints[0].model), len(server.endpoints) - 1
    where = join(", ", server.kind, server.address) if server.kind else server.address
    about = tr("a server is running: {where}", where=where)
    if more:
        about = join(" · ", about, ntr("{count} more model", "{count} more models", more, count=more))
    return Row(f"nearby:{server.address}", tr("Chat with {name}", name=model), about)


def _label(server: Server) -> str:
    name = one_line(server.name)
    if server.endpoint is not None:
        return tr("Chat with {name}", name=name)
    return tr("Restart {name}", name=name) if server.plan else tr("See the progress of {name}", name=name)


def right(view: WelcomeView) -> str:
    """The ID of the entry that most users want now."""
    elsewhere = (
        view.host is not None and not view.host.is_here
    )  # a plan for another machine does not need a server here
    if view.servers and not elsewhere:
        return f"server:{view.servers[0].name}"
    lacking = view.error is not None or (view.host is not None and not view.host.runs_triton)
    return "machine" if (lacking or view.explanations) and "machine" not in view.without else "serve"


def listed(
    ready: Iterable[Endpoint],
    builds: Mapping[str, float | None],
    notes: Callable[[str], str],
    before: Plan | None = None,
) -> list[Server]:
    """Servers being built first, then running ones, then stopped ones.

    Args:
        ready: Running servers.
        builds: Name of a server that is being built → progress, 0 to 1; None if the build was stopped or has failed.
        notes: Other facts about a server, in a few words.
        before: The plan of the last server, if it is stopped.
    """
    answering = {endpoint.name: endpoint for endpoint in ready}
    over = tr("the build did not finish; open it to see why and try again")
    servers = [
        Server(name, over, None)
        if share is None
        else Server(name, tr("being built: {share:.0%}", share=share), None, building=True)
        for name, share in builds.items()
        if share is not None or name not in answering  # it may have been started elsewhere since
    ]
    for name in (server.name for server in servers if server.building):
        answering.pop(name, None)  # it responds before its build has ended
    for endpoint in answering.values():
        about = tr("model {model} at {url}", model=one_line(endpoint.model), url=endpoint.http)
        servers.append(Server(endpoint.name, " · ".join(filter(None, (about, notes(endpoint.name)))), endpoint))
    if before is not None:
        about = tr("{model}: not running; downloads and builds are kept", model=one_line(before.facts.name))
        servers.append(Server(before.name, about, None, before))
    return servers


def _serve(view: WelcomeView) -> Row:
    offer = best(view)
    if offer is not None:
        from wizard.plan.offer_list import why_first  # not loaded before there are suggestions

        facts = [
            tr("{size} to download", size=size(offer.download_bytes))
            if offer.download_bytes
            else tr("the model is on this machine")
            if offer.download_bytes == 0
            else tr("about {size} to download", size=size(offer.estimated.bytes))
            if offer.estimated
            else tr("size unknown"),
            one_line(offer.licence) if offer.licence else tr("license unknown"),
            *filter(None, (one_line(why_first(offer)),)),
        ]
        title = tr("Serve {model}", model=one_line(offer.title))
        return Row("serve", title, " · ".join(facts), recommended=True)
    waits = view.suggestions is None and view.error is None
    about = tr("◌ looking for a model that suits this machine …") if waits else tr("of your choice")
    return Row("serve", tr("Serve a model"), about)


def machine(view: WelcomeView) -> list[str]:
    """The machine: its compute hardware, and its runtimes."""
    host = view.host
    if host is None:
        return [] if view.error else [tr("◌ Checking this machine …")]
    return [*filter(None, (" · ".join(filter(None, (_where(host), *_parts(host)))), _can(host)))]


def _where(host: Host) -> str:
    return "" if host.is_here else tr("Planning for {machine}", machine=one_line(host.source))


def _parts(host: Host) -> Sequence[str]:
    if host.gpus:
        kinds = Counter((gpu.name, gpu.memory_total_bytes) for gpu in host.gpus)
        gpus = [f"{number} × {name}, {size(memory)}" for (name, memory), number in kinds.items()]
        driver = tr("driver {version}", version=host.driver_version) if host.driver_version else ""
        return [*map(one_line, gpus), driver]
    model = one_line(host.cpu.model or host.cpu.architecture)
    cpu = ntr("{model}, {count} core", "{model}, {count} cores", host.cpu.cores, model=model, count=host.cpu.cores)
    return [tr("no NVIDIA GPU"), cpu, tr("{size} RAM free", size=size(host.memory_available_bytes))]


def _can(host: Host) -> str:
    if not host.runs_triton:
        return tr("✗ No Python on this machine can run Triton's Python backend; see the machine screen for what to do.")
    options = [engine.name for engine in host.engines if engine.works]
    pythons = [interpreter for interpreter in host.interpreters if interpreter.usable]
    if pythons:
        options.append("Python " + ".".join(map(str, pythons[0].version[:2])))
    return tr("✓ Triton can run here with {ways}", ways=tr(" or ").join(options)) if options else ""
