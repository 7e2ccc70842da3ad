"""The results of a session: an answer, a log, figures; each shown as text and as HTML."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from wizard.kernel.language import tr
from wizard.kernel.secrets import redact
from wizard.kernel.text import plain
from wizard.notebook import live
from wizard.notebook.html import answer_html, figures_html, findings_html, stats_html, text
from wizard.texts.benchmark import terminal
from wizard.texts.benchmark.html import fragment
from wizard.texts.doctor.report import report

if TYPE_CHECKING:
    from wizard.bench.report import Report
    from wizard.bench.run import Run
    from wizard.chat.conversation import Stats
    from wizard.doctor.finding import Finding
    from wizard.texts.explain import Figure


COLUMNS = 100
"""Width of a report where there is no HTML."""


def cell() -> int | None:
    """Number of the running cell; None outside IPython."""
    number: int | None = getattr(live.shell(), "execution_count", None)
    return number


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer. The cell that it was streamed into shows only its figures again."""

    text: str
    stats: Stats | None
    """None if it was stopped."""
    shown_in: int | None = field(default=None, repr=False, compare=False)
    thought: str = field(default="", repr=False)
    """What the model thought before it."""

    @property
    def tokens_per_s(self) -> float | None:
        """Tokens per second after the first; see `wizard.chat.conversation.Stats`."""
        return self.stats.tokens_per_s if self.stats else None

    @property
    def ttft_s(self) -> float | None:
        """Seconds to the first token."""
        return self.stats.ttft_s if self.stats else None

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        shown = self.shown_in is not None and self.shown_in == cell()
        return ("" if shown else answer_html(self.text, self.thought, self.stats)) + stats_html(self.stats)


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark's report and its runs: its charts and tables."""

    report: Report
    runs: tuple[Run, ...] = field(default=(), repr=False)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Benchmark:
        """The report in the folder or file ``path``. Raises as `wizard.journey.benchmark` does."""
        from wizard import journey

        return cls(*journey.benchmark(Path(path)))

    def __str__(self) -> str:
        return terminal.text(self.report, COLUMNS)

    def _repr_html_(self) -> str:
        return fragment(self.report, self.runs)


class Log(str):
    """Lines of a log, or to copy."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return f"<pre>{text(self)}</pre>"

    def __repr__(self) -> str:
        return redact(plain(self))


class Findings(tuple["Finding", ...]):
    """What the checks of this machine found."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return findings_html(self)

    def __repr__(self) -> str:
        return report(self, COLUMNS)


class Figures(tuple["Figure", ...]):
    """Numbers with their formulas."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return figures_html(self)

    def __repr__(self) -> str:
        return "\n".join(
            f"{figure.name} = {figure.result}\n  = {figure.formula}\n  {tr('Source: {source}', source=figure.source)}"
            for figure in self
        )
