"""What is running, in the plain flow: its entry in the list, and the command for a chat with a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wizard.flow.values import Talk, Watch
from wizard.kernel.language import ntr, tr
from wizard.kernel.text import one_line
from wizard.plan.plan import Plan
from wizard.serve.endpoint import Endpoint

if TYPE_CHECKING:
    from wizard.chat.nearby import Nearby


def running(subject: Plan | Endpoint | Nearby) -> tuple[str, Watch | Talk]:
    """The entry for a running build or server, and what it leads to; for another program's server, its first model."""
    if isinstance(subject, Plan):
        return tr("See the progress of {name}", name=one_line(subject.name)), Watch(subject)
    if isinstance(subject, Endpoint):
        return tr("Chat with {name}, running at {where}", name=subject.name, where=subject.http), Talk(subject)
    first, more = subject.endpoints[0], len(subject.endpoints) - 1
    count = ntr("{count} more model", "{count} more models", more, count=more) if more else ""
    about = "; ".join(filter(None, (subject.kind, count)))
    where = f"{subject.address} ({about})" if about else subject.address
    return tr("Chat with {name}, running at {where}", name=one_line(first.model), where=where), Talk(first)


def chat_words(endpoint: Endpoint) -> tuple[str, ...]:
    """Arguments of `triton-wizard chat` for this server."""
    return (endpoint.name,) if endpoint.url is None else ("--url", endpoint.url, "--model", endpoint.model)
