"""Run random inputs, each with its own seed, and measure them."""

from __future__ import annotations

import random
import resource
import shutil
import tempfile
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz.parsers import PARSERS, changed
from wizard.kernel.errors import WizardError


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an input came to.

    Attributes:
        seed: Makes the same input again.
        parser: Key of `PARSERS`.
        code: Of the error; ``ok`` without one, or ``fault``.
        seconds: Processor time, with that of processes that ended.
        mb: Most memory of this process and of the largest process that ended.
        fault: The traceback.
    """

    seed: int
    parser: str
    code: str
    seconds: float
    mb: int
    fault: str = ""


def run(seed: int, folder: Path, parser: str | None = None) -> Outcome:
    """Run the input of ``seed`` in ``folder``, which is emptied."""
    chance = random.Random(seed)
    chosen = chance.choices([*PARSERS], [each.weight for each in PARSERS.values()])[0]
    name = parser or chosen
    given = PARSERS[name]
    raw = changed(chance.choice(given.seeds()), chance)
    shutil.rmtree(folder, ignore_errors=True)
    path = folder / "repository" / "m" / given.name
    path.parent.mkdir(parents=True)
    for other, content in given.beside:
        (folder / "repository" / "m" / other).write_bytes(content)
    path.write_bytes(raw)
    Path("/proc/self/clear_refs").write_text("5")  # proc(5): the peak starts again
    began, code, fault = _spent(), "ok", ""
    try:
        given.read(path)
    except WizardError as error:
        code = error.code
        if not (error.what and error.todo):
            fault = f"{code} without a text"
    except Exception:
        code, fault = "fault", traceback.format_exc()
    return Outcome(seed, name, code, _spent() - began, _peak_mb(), fault)


def batch(seeds: list[int], parser: str | None) -> tuple[list[Outcome], int]:
    """The outcomes of ``seeds``, and the most memory of a process that one of them started, in MB."""
    with tempfile.TemporaryDirectory() as folder:
        outcomes = [run(seed, Path(folder) / "f", parser) for seed in seeds]
    return outcomes, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10


def _spent() -> float:
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


def _peak_mb() -> int:
    status = Path("/proc/self/status").read_text()
    own = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
    return own >> 10
