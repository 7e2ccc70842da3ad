"""Command name → its function."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from wizard.cli import (
    bench,
    building,
    bundle,
    diagnose,
    doctor,
    down,
    lint,
    prerequisites,
    recipes,
    room,
    service,
    serving,
    stages,
    web,
)

COMMANDS: dict[str | None, Callable[[argparse.Namespace], int]] = {
    None: serving.wizard,
    "probe": stages.probe,
    "model": stages.model,
    "advise": stages.advise,
    "speed": stages.speed,
    "plan": stages.plan,
    "lint": lint.lint,
    "run": serving.run,
    "up": serving.up,
    "demo": serving.demo,
    "attach": building.attach,
    "cancel": building.cancel,
    "status": serving.status,
    "logs": serving.logs,
    "diagnose": diagnose.diagnose,
    "doctor": doctor.doctor,
    "down": down.down,
    "service": service.service,
    "chat": serving.chat,
    "bench": bench.bench,
    "bundle": bundle.bundle,
    "workshop": room.workshop,
    "recipes": recipes.recipes,
    "prerequisites": prerequisites.prerequisites,
    "web": web.web,
    "clean": serving.clean,
}
