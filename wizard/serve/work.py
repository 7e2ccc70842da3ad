"""The work of a server, from Triton's metrics: the wizard's own models set them (``repository/work_gauges.py``)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from wizard.serve.endpoint import Endpoint
from wizard.serve.replicas import metrics

_LINE = re.compile(r'^triton_wizard_work_(running|steps)\{model="([^"]*)"\} (\d+(?:\.\d+)?(?:e\+\d+)?)$', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Work:
    """What a model has done.

    Attributes:
        running: Requests that it is answering.
        steps: Counts pieces of answers, and answers that ended; it grows while a request gets on.
    """

    running: int
    steps: int


def done(endpoint: Endpoint) -> Work | None:
    """The work of the endpoint's model so far; None if it does not report it, as models of NVIDIA's backends."""
    values = {
        name: int(float(value)) for name, model, value in _LINE.findall(metrics(endpoint)) if model == endpoint.model
    }
    return Work(values["running"], values["steps"]) if len(values) == 2 else None
