"""The folder of a benchmark: the report and its runs, written so that a reader never sees half a file."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from wizard.bench.environment import unwritable
from wizard.bench.quality.report import Quality
from wizard.bench.report import Report, read
from wizard.bench.run import Run
from wizard.kernel import bounded
from wizard.kernel.errors import UsageError, WorkspaceError
from wizard.kernel.files import private_folder, write_whole
from wizard.kernel.language import tr
from wizard.kernel.units import size
from wizard.kernel.values import from_json, to_json

REPORT = "report.json"
LARGEST_BYTES = 64 * 1024**2
"""Of a report that is read."""
MOST_VALUES = 20_000_000
"""Of a run: it has a row for each request."""
LEAST_BYTES = 64 * 1024**2
"""Free space to begin with: AIPerf writes some 4 kB per request."""


def text_of(path: Path, kind: str) -> bytes | None:
    """The text of the report in the folder or file ``path`` if it is of this ``kind``; None if it is another one, is
    damaged, or is not there.
    """
    file = path / REPORT if path.is_dir() else path
    try:
        if file.stat().st_size > LARGEST_BYTES:
            return None
        text = file.read_bytes()
        there = bounded.loads(text)
    except (OSError, ValueError, RecursionError):
        return None  # reading it as a benchmark's says what is wrong with it
    return text if isinstance(there, dict) and there.get("kind") == kind else None


@dataclass(frozen=True, slots=True)
class Folder:
    """The folder of a benchmark."""

    root: Path

    @property
    def report(self) -> Path:
        """The report."""
        return self.root / REPORT

    def run(self, name: str) -> Path:
        """The file of a run."""
        return self.root / "runs" / f"{name}.json"

    def check_new(self) -> None:
        """Check that nothing is overwritten.

        Raises:
            UsageError: TW-C69 if it has a report already.
        """
        if self.report.exists():
            message = tr("{folder} already has a report", folder=self.root)
            raise UsageError("TW-C69", message, tr("Choose another folder with --out DIR."))

    def make(self) -> None:
        """Create it.

        Raises:
            UsageError: TW-C69 if it has a report already.
            WorkspaceError: TW-C68 if it is not writable, or too little space is free.
        """
        self.check_new()
        try:
            private_folder(self.run("").parent)
            free = shutil.disk_usage(self.root).free
        except OSError as error:
            raise unwritable(self.root, error) from error
        if free < LEAST_BYTES:
            message = tr("only {free} are free in {folder}", free=size(free), folder=self.root)
            raise WorkspaceError("TW-C68", message, tr("Free some space or choose another folder with --out DIR."))

    def keep(self, value: Report | Quality | Run) -> None:
        """Write the report, or a run.

        Raises:
            WorkspaceError: TW-C68 if it cannot be written; what was there before is unchanged.
        """
        path = self.run(value.id) if isinstance(value, Run) else self.report
        write(path, to_json(value, indent=None if isinstance(value, Run) else 2) + "\n")

    def read(self) -> tuple[Report, tuple[Run, ...]]:
        """The report and its runs, as far as their files are there.

        Raises:
            UsageError: TW-C60, TW-K01, TW-K02 if a file is damaged, TW-C69 if there is no report.
        """
        try:
            report = read(self.report.read_bytes(), where=str(self.report))
        except OSError as error:
            message = tr("cannot read {path}: {why}", path=self.report, why=error.strerror)
            raise UsageError("TW-C69", message, tr("Choose a folder that `triton-wizard bench` wrote.")) from error
        paths = [self.run(name) for point in report.points for name in point.runs]
        there = [path for path in paths if path.is_file()]
        return report, tuple(from_json(Run, path.read_bytes(), where=str(path), most=MOST_VALUES) for path in there)


def write(path: Path, text: str) -> None:
    """Write ``text``, so that a reader sees all of it or what was there before.

    Raises:
        WorkspaceError: TW-C68 if it cannot be written.
    """
    try:
        write_whole(path, text)
    except OSError as error:
        raise unwritable(path, error) from error
