"""The façade that the three doors share: one function per stage, values in and values out. No user interface, no SDK.

Blocking functions take well under a second unless they say otherwise; asynchronous ones stream.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wizard.kernel.paths import Workspace

if TYPE_CHECKING:
    from wizard.advise.advice import Advice, Choice, Wishes
    from wizard.catalog.journeys import Journey
    from wizard.chat.conversation import Chunk, Conversation
    from wizard.model.facts import ModelFacts
    from wizard.plan.plan import Plan
    from wizard.probe.host import Host
    from wizard.run.events import Event
    from wizard.serve.endpoint import Endpoint
    from wizard.serve.status import Status


def probe(workspace: Workspace, *, hardware: str | None = None) -> Host:
    """Stage 1. Describe this machine, or the one that ``hardware`` names: ``host.json``, ``4xA6000``."""
    from wizard.probe.hardware import find

    return find(hardware, workspace.root)


def journeys() -> list[Journey]:
    """Ready answers from ``profiles/journeys``."""
    from wizard.catalog.journeys import journeys as read

    return read()


def model(ref: str, *, offline: bool = False) -> ModelFacts:
    """Stage 2. Describe the model that ``ref`` names: a journey, a folder, a .gguf file or a hub id. May ask the hub (≤ 10 s)."""
    from wizard.model.source import find

    return find(ref, offline=offline)


def suggestions(host: Host, *, offline: bool = False) -> list[Suggestion]:
    """Models to offer on this machine, best first; asks the hub whether it answers (≤ 3 s) unless ``offline``."""
    raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A model to offer: what to pass to `model`, and what to say about it before anything is fetched."""

    ref: str
    title: str
    about: str
    licence: str | None
    download_bytes: int | None
    needs_network: bool
    usable: bool
    why_not: str | None = None


def advise(host: Host, facts: ModelFacts, wishes: Wishes) -> Advice:
    """Stage 3. What to run here and why; pure."""
    from wizard.advise.ranking import advise as rank

    return rank(host, facts, wishes)


def plan(
    host: Host,
    facts: ModelFacts,
    choice: Choice,
    workspace: Workspace,
    *,
    name: str | None = None,
    http_port: int | None = None,
) -> Plan:
    """Stage 4. Everything that will be done; checks what can be checked beforehand and touches nothing."""
    raise NotImplementedError


def run(plan: Plan) -> AsyncIterator[Event]:
    """Stage 5. Carry the plan out. Closing the iterator (or cancelling its task) stops the running step gracefully."""
    raise NotImplementedError


def statuses(workspace: Workspace) -> list[Status]:
    """Stage 6. Every server of the workspace and whether it runs and is ready."""
    raise NotImplementedError


def endpoint(workspace: Workspace, name: str | None = None) -> Endpoint:
    """The running server ``name``, or the only one that runs."""
    raise NotImplementedError


def stop(workspace: Workspace, name: str | None = None) -> Status:
    """Stop a server and wait until its ports are free (a few seconds)."""
    raise NotImplementedError


def chat(endpoint: Endpoint, conversation: Conversation, *, protocol: str = "grpc") -> AsyncIterator[Chunk]:
    """Stage 7. Stream the answer to the conversation's last message. Closing the iterator cancels it in the server."""
    raise NotImplementedError
