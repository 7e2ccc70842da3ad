"""Plans as text, to be compared with golden ones."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.plan.stack_values import engine
from wizard.catalog import profiles
from wizard.plan.plan import Step, Write

GOLDEN = Path(__file__).parent.parent / "golden"
UPDATE = bool(os.environ.get("UPDATE_GOLDEN"))


def compared(folder: str, name: str, made: str) -> None:
    """Compare ``made`` with the golden text; ``UPDATE_GOLDEN=1`` writes it first."""
    path = GOLDEN / folder / f"{name}.txt"
    if UPDATE:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(made, encoding="utf-8")
    assert path.exists(), f"there is no {path}: UPDATE_GOLDEN=1 writes it"
    assert made == path.read_text(encoding="utf-8")


def shown(steps: tuple[Step, ...]) -> str:
    """Every command, what the tools and an engine behind the front are told; nothing that differs between machines."""
    made = "\n".join(_lines(steps)).replace(sys.executable, "PYTHON")
    made = made.replace(str(profiles.find("environments/front.txt").parent), "PROFILES")
    made = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", made)  # whichever are free where the tests run
    made = re.sub(r"--user=\d+:\d+", "--user=UID:GID", made)
    made = re.sub(r"/environments/([\w-]+)-[0-9a-f]{16}", r"/environments/\1-FINGERPRINT", made)
    made = re.sub(r"TRITON_WIZARD_MADE_FROM=\w+", "TRITON_WIZARD_MADE_FROM=FINGERPRINT", made)
    if "front-FINGERPRINT" in made:
        argv, settings, env = engine(steps)
        lines = [f"engine: {' '.join(argv)}", *(f"  {name}: {value}" for name, value in settings.items())]
        lines += [f"  {name}={value}" if value is not None else f"  without {name}" for name, value in env.items()]
        made += re.sub(r"/environments/([\w-]+)-[0-9a-f]{16}", r"/environments/\1-FINGERPRINT", "\n".join(lines))
    return made + "\n"


def _lines(steps: tuple[Step, ...]) -> Iterator[str]:
    for step in steps:
        yield f"# {step.id}: {step.title}"
        yield f"# reads {', '.join(step.reads) or 'nothing'}; writes {', '.join(step.writes) or 'nothing'}"
        for action in step.actions:
            # Our scripts and the config.pbtxt are tested where they are made.
            ours = isinstance(action, Write) and not action.path.endswith((".json", ".yaml"))
            yield f"write {action.path}" if ours and isinstance(action, Write) else action.shell()
        yield ""
