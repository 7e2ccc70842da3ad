"""Writes the tables that come from the program into the documentation: ``python docs/tables.py``."""

from __future__ import annotations

import re
from pathlib import Path

from wizard.catalog.failures import by_stage
from wizard.doctor.examine import CHECKS
from wizard.kernel.errors import EXIT_CODES
from wizard.texts.doctor.checks import GROUPS, TITLES, WHY
from wizard.tui.keys import markdown

DOCS = Path(__file__).parent


def exit_codes() -> str:
    """The exit codes of the command line as a table."""
    rows = (f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items())
    return "\n".join(["| code | meaning |", "|---|---|", *rows])


def failures() -> str:
    """The known failures as a table per stage."""
    tables, stages = [], by_stage()
    for stage, heading in STAGES.items():
        head = [f"### {heading}", "", "| what happened | cause | what to do | ID |", "|---|---|---|---|"]
        cells = ((known.title, known.cause, known.fix, f"`{name}`") for name, known in stages[stage].items())
        rows = ("| " + " | ".join(text.replace("|", "\\|") for text in row) + " |" for row in cells)
        tables.append("\n".join([*head, *rows]))
    return "\n" + "\n\n".join(tables) + "\n"


def checks() -> str:
    """The checks of `doctor` as a table; those of the first screen are marked."""
    quick = {check.name: check.quick for check in CHECKS}
    rows = (
        f"| {group} | {TITLES[name]} | {WHY[name]} | {'yes' if quick[name] else ''} | `{name}` |"
        for group, names in GROUPS.items()
        for name in names
    )
    return "\n".join(["| group | check | why it matters | `--quick` | name |", "|---|---|---|---|---|", *rows])


STAGES = {
    "probe": "Machine and driver",
    "prerequisites": "Containers and packages",
    "download": "Downloads",
    "convert": "Checkpoints",
    "quantize": "Quantization",
    "build": "Engine builds",
    "repository": "Model repository",
    "serve": "Servers",
    "chat": "Requests",
    "benchmark": "Benchmarks",
    "deploy": "Clusters and clouds",
}
"""Stage of a failure → heading, in the order of the stages."""

TABLES = {
    "terminal.md": ("keys", markdown),
    "reference.md": ("exit codes", exit_codes),
    "troubleshooting.md": ("failures", failures),
    "doctor.md": ("checks", checks),
}
"""Page → the name in the comments around its table, and the table."""


def main() -> None:
    """Replace the tables."""
    for page, (name, table) in TABLES.items():
        path = DOCS / page
        pattern = rf"(?<=<!-- {name} -->\n).*?(?=<!-- end of {name} -->)"
        text = path.read_text(encoding="utf-8")
        path.write_text(re.sub(pattern, lambda _: f"{table()}\n", text, flags=re.DOTALL), encoding="utf-8")  # noqa: B023


if __name__ == "__main__":
    main()
