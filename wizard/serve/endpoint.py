"""The value of the sixth stage: the served model's address and process."""

from __future__ import annotations

from dataclasses import dataclass

from wizard.kernel.language import tr
from wizard.kernel.text import one_line
from wizard.plan.ports import Ports


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A served model: enough to chat with it, to identify its process, and to stop it."""

    name: str
    """Name of the server in the workspace."""
    model: str
    """Name of the model in Triton."""
    host: str
    """Address that it listens on, ``127.0.0.1`` by default."""
    ports: Ports
    pid: int
    started: str
    """The process's start time as the kernel counts it, so that a reused process ID is not mistaken for the server."""
    log: str
    protocol: str = "triton"
    """``triton`` or ``openai``."""
    folder: str | None = None
    """The model's folder on this machine, with tokenizer and chat template; for models that do not include theirs."""
    url: str | None = None
    """Base URL of a server that the wizard did not start; of an OpenAI-compatible one, it usually ends with ``/v1``."""
    remove: tuple[str, ...] = ()
    """Program and arguments that remove its container, if it has one; ``pid`` is the container's client then."""

    image: str = ""
    """The image of its container, ``REPOSITORY:TAG@sha256:DIGEST`` if it is from a registry; empty without one."""
    image_id: str = ""
    """The ID of that image, by which the container is started, and restarted."""
    ref: str = ""
    """The model's ID on the Hub, otherwise its display name: several servers may serve the same model."""
    openai: str | None = None
    """Base URL of the OpenAI-compatible address of the workspace, ``http://127.0.0.1:PORT/v1``; None if none runs.
    Never in the server's own file: see `wizard.serve.gateway`.
    """
    openai_key: str | None = None
    """The file with the API key that this address requires; None if it requires none."""

    @property
    def http(self) -> str:
        """Base URL of the HTTP endpoint."""
        return self.url or f"http://{self.host}:{self.ports.http}"

    @property
    def title(self) -> str:
        """What the user calls it: the server's name in the workspace, or the model's on a server elsewhere."""
        return self.name if self.url is None else self.model

    def answers_as(self, other: Endpoint) -> bool:
        """Whether it is the same model at the same address, however it was found."""
        return (self.http, self.model) == (other.http, other.model)

    @property
    def grpc(self) -> str:
        """``host:port`` of the gRPC endpoint."""
        return f"{self.host}:{self.ports.grpc}"


def label(endpoint: Endpoint) -> str:
    """A model in a list."""
    return tr("{name} at {address}", name=one_line(endpoint.title), address=endpoint.http)
