"""The workflow's values and events as plain text, for any terminal, any pipe and any screen reader.

Nothing here depends on color, on box characters or on moving the cursor: those are added on a real terminal only.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TextIO, TypeAlias

from wizard.advise import refusals
from wizard.advise.advice import Advice, Choice, Memory
from wizard.advise.calibration import Measurement, rows
from wizard.advise.comparison import LIMIT
from wizard.advise.pareto import Front
from wizard.advise.reasons import Note
from wizard.catalog.explanations import Part
from wizard.catalog.workshops import Workshop
from wizard.kernel.language import ntr, tr
from wizard.kernel.text import one_line, plain, table, width, wrap
from wizard.kernel.units import size
from wizard.model.facts import ModelFacts
from wizard.plan.explanation import of_step
from wizard.plan.plan import Action, Command, Plan, Start, Step, Write
from wizard.plan.summary import cost, model_line, takes
from wizard.probe.host import Host
from wizard.probe.report import brief
from wizard.prompts.speech import spoken
from wizard.serve.status import STATES, Status
from wizard.texts import advise, pareto, reasons, remedies, report
from wizard.texts.explain import Figure

TOP = 8
"""Default number of choices to show."""
PLOT = (76, 16)
"""Columns and lines of a plot."""
MARKS = {"weights": "#", "cache": "=", "activations": "+", "overhead": "o", "left": ".", "excess": "!"}
"""Characters of the memory bar by type of part."""


def columns(out: TextIO | None = None) -> int:
    """Columns of the terminal behind ``out`` (default: standard output), 80 if there is none; at least 20."""
    try:
        width = os.get_terminal_size(out.fileno()).columns if out else shutil.get_terminal_size().columns
    except (OSError, ValueError):  # not a terminal, closed, or a file in memory (io.UnsupportedOperation)
        width = 80
    return max(20, width or 80)


def wrapped(text: str, indent: str = "", *, first: str | None = None, limit: int | None = None) -> str:
    """``text`` sanitized and wrapped to the terminal (at most 100 columns)."""
    limit = limit or min(100, columns())
    return wrap(text, max(limit, len(indent) + 20), first=indent if first is None else first, indent=indent)


def aloud(text: str, indent: str = "", *, first: str | None = None) -> str:
    """``text`` in words for screen readers, wrapped to the terminal."""
    return wrapped(spoken(one_line(text)), indent, first=first)


Fit: TypeAlias = Callable[..., str]
"""`wrapped` or `aloud`."""


def host_text(host: Host, fit: Fit = wrapped) -> str:
    """A machine in a few lines."""
    return "\n".join(fit(value, " " * 10, first=name + " " * max(1, 10 - width(name))) for name, value in brief(host))


def advice_text(
    advice: Advice, facts: ModelFacts, *, top: int | None = None, figures: Sequence[Figure] = (), fit: Fit = wrapped
) -> str:
    """The advice: the recommendation with its memory breakdown, the alternatives in a line each, and what is not
    possible.

    Args:
        advice: The advice.
        facts: The model.
        top: Number of choices to show; 1 shows the recommendation only. Default: `TOP`.
        figures: Formulas of the recommendation's figures, shown after it.
        fit: Wraps a text.
    """
    parts = [fit(f"{facts.name}: {model_line(facts)}", "  ", first="")]
    shown = report.ordered(advice.choices)[: top or TOP]
    for number, choice in enumerate(shown, 1):
        if number == 1:
            title = f"{report.choice_title(choice)} · {report.choice_room(choice)} · {one_line(choice.release)}"
            parts += ["", fit(tr("Recommended: {way}", way=title), "  ", first=""), choice_text(choice, fit)]
            parts += [figures_text(figures, fit)] if figures else []
            if top != 1 and (second := report.runner_up(advice.choices)):
                parts.append(fit(second, "  ", first=""))
        else:
            parts += [""] * (number == 2) + [
                fit(tr("Option {number}: {way}", number=number, way=_row(choice)), "  ", first="")
            ]
    interactive = fit is aloud  # flags are not useful where questions are asked, and the menu offers the rest
    if (more := len(advice.choices) - len(shown)) and top != 1 and not interactive:
        flag = f"--top {len(advice.choices)}"
        parts.append(ntr("… and {count} more: {flag}", "… and {count} more: {flag}", more, count=more, flag=flag))
    if not advice.feasible:
        parts += ["", fit(tr("No supported configuration can serve this model on this machine as requested."))]
    for refusal in refusals.grouped(advice.rejections) if top != 1 or not advice.feasible else ():
        parts += _refusal(refusal, fit)
    return "\n".join(parts)


def _refusal(refusal: refusals.Refusal, fit: Fit) -> list[str]:
    remedy = remedies.text(refusal.remedies, flags=fit is not aloud)
    heading = fit(tr("Not possible: {ways}", ways=advise.setups(refusal)), "  ", first="")
    return ["", heading, fit(reasons.text(refusal.reason), "  "), fit(f"→ {remedy}", "    ", first="  ")]


def _row(choice: Choice) -> str:
    """A choice in a line."""
    parts = (report.choice_title(choice), report.pace(choice.speed), report.choice_room(choice))
    return " · ".join(part for part in parts if part)


def choice_text(choice: Choice, fit: Fit = wrapped) -> str:
    """A choice: its memory breakdown, its speed, its limit, its reasons and its warnings."""
    parts = [memory_text(choice, fit)]
    if speed := report.speed_sentence(choice.speed):
        parts.append(fit(tr("Expected: {speed}", speed=speed), "  ", first=""))
    parts += [fit(sentence, "  ", first="") for sentence in report.cost_sentences(choice)]
    if limit := report.reason(choice, LIMIT):
        parts.append(fit(limit, "  ", first=""))
    if why := report.choice_reasons(choice):
        parts.append(f"{tr('Why:')}\n{_notes(why, fit)}")
    if choice.warnings:
        parts.append(f"{tr('Note:')}\n{_notes(choice.warnings, fit)}")
    return "\n".join(parts)


def pareto_text(front: Front, fit: Fit = wrapped) -> str:
    """The Pareto front: a plot, its points in a table, and what is not among them.

    Args:
        front: The front.
        fit: Wraps a text; for screen readers, and if the table is wider than the terminal, each point is a sentence.
    """
    parts = [fit(pareto.heading(front))]
    names = table([(letter, name) for name, letter in pareto.setups(front).items()], indent="  ")
    points = table([pareto.head(front), *pareto.rows(front)], indent="  ")
    widest = max(map(width, f"{points}\n{names}".split("\n")))
    if front.points and (fit is aloud or widest > columns()):
        parts += [fit(sentence, "    ", first="  - ") for sentence in pareto.sentences(front)]
    elif front.points:
        plot = pareto.plot(front, min(PLOT[0], columns() - 2), PLOT[1])
        parts += ["", *([*plot, ""] if plot else []), points, "", names]
    parts += [fit(remark, "  ", first="") for remark in pareto.remarks(front)]
    for refusal in refusals.grouped(front.rejections):
        parts += _refusal(refusal, fit)
    return "\n".join(parts)


def figures_text(figures: Iterable[Figure], fit: Fit = wrapped) -> str:
    """Numbers, each with its formula and its source."""
    lines = []
    for figure in figures:
        lines += [
            fit(f"{figure.name} = {figure.result}", "    ", first="  "),
            fit(f"= {figure.formula}", "      ", first="    "),
        ]
        lines.append(fit(tr("Source: {source}", source=figure.source), "      ", first="    "))
    return "\n".join([tr("Explanation of these figures:"), *lines])


def _notes(notes: Iterable[Note], fit: Fit) -> str:
    return "\n".join(fit(advise.note(note), "    ", first="  - ") for note in notes)


def memory_text(choice: Choice, fit: Fit = wrapped) -> str:
    """The memory breakdown: a bar of plain characters with a legend; for a GPU and the host, one of each.

    Args:
        choice: The choice.
        fit: Wraps a text; for screen readers each part is a sentence.
    """
    return "\n".join(_bill_text(title, memory, fit) for title, memory in report.bills(choice))


def _bill_text(heading: str, memory: Memory, fit: Fit) -> str:
    parts = report.bill(memory)
    title = fit(heading, "  ", first="")
    if fit is aloud:
        lines = (": ".join((part.name, size(part.bytes))) + (f", {part.about}" if part.about else "") for part in parts)
        return "\n".join([title, *(fit(line, "    ", first="  - ") for line in lines)])
    cells = report.shares(parts, min(60, columns() - 4))
    drawn = "".join(MARKS[part.kind] * count for part, count in zip(parts, cells, strict=True))
    legend = table([(MARKS[part.kind], part.name, size(part.bytes), part.about) for part in parts], indent="  ")
    if max(map(width, legend.split("\n"))) > min(100, columns()):
        legend = table([(MARKS[part.kind], part.name, size(part.bytes)) for part in parts], indent="  ")
    return f"{title}\n  [{drawn}]\n{legend}"


def measured_text(measurement: Measurement) -> str:
    """A server's measured and predicted memory, a line per part: a table is hard to listen to."""
    (memory, predicted, measured), *parts = rows(measurement)
    lines = (f"  - {name}: {predicted} {before}, {measured} {after}" for name, before, after in parts)
    return "\n".join([f"{memory}:", *lines])


def step_explanations(plan: Plan, workshop: Workshop, fit: Fit = wrapped) -> Callable[[str], str]:
    """The explanations that an `EventPrinter` prints before each step of ``plan``."""
    steps = {step.id: step for step in plan.steps}
    return lambda name: explanation_text(of_step(plan, steps[name], workshop), fit=fit) if name in steps else ""


def explanation_text(explanation: Iterable[Part], indent: str = "  ", fit: Fit = wrapped) -> str:
    """An explanation in plain lines, a paragraph per part; commands are unchanged."""
    lines = []
    for part in explanation:
        if part.commands:
            lines.append(f"{indent}{part.heading}:")
            mark = "$"
            for line in plain(part.text).splitlines():
                lines.append(f"{indent}  {mark} {line}")
                mark = " " if line.endswith("\\") else "$"
        else:
            lines.append(fit(f"{part.heading}: {part.text}", f"{indent}  ", first=indent))
    return "\n".join(lines)


def plan_text(
    plan: Plan, *, commands: bool = True, files: bool = False, workshop: Workshop | None = None, fit: Fit = wrapped
) -> str:
    """The whole plan: each step with its reason, its estimate and its exact commands, and remarks.

    Args:
        plan: The plan.
        commands: Whether to show the commands.
        files: Whether to show the whole text of written files, not only their names and sizes.
        workshop: Show each step's explanation, with this workshop's notes.
        fit: Wraps a text.
    """
    head = tr(
        "Plan: serve {model} as {name!r} with {way}",
        model=one_line(plan.facts.name),
        name=plan.name,
        way=report.choice_title(plan.choice),
    )
    # with its license, which matters before the download
    model = tr("Model: {facts}", facts=model_line(plan.facts))
    parts = [fit(line, "  ", first="") for line in (head, model, *takes(plan))]
    for number, step in enumerate(plan.steps, 1):
        explanation = explanation_text(of_step(plan, step, workshop, why=False), "   ", fit) if workshop else ""
        parts.append(_step_text(number, step, explanation, fit, commands=commands, files=files))
    if plan.notes:
        parts += ["", tr("Before you start:"), *(fit(note, "    ", first="  - ") for note in plan.notes)]
    return "\n".join(parts)


def _beside(action: Action) -> Iterator[str]:
    """What an action runs or gets that its shell line does not have."""
    command = action.command() if isinstance(action, Start) else action
    if isinstance(command, Command) and command.cleanup:
        yield tr("before it, and if it fails: {command}", command=plain(shlex.join(command.cleanup.remove)))
    if isinstance(command, Command) and command.secrets:
        yield tr("it gets the environment variables {names}", names=plain(", ".join(command.secrets)))


def _step_text(number: int, step: Step, explanation: str, fit: Fit, *, commands: bool, files: bool) -> str:
    title = fit(f"{one_line(step.title)} ({cost(step.estimate)})", "   ", first=f"{number}. ")
    parts = ["", title, fit(step.why, "   ")]
    parts += [explanation] if explanation else []
    for action in step.actions if commands else ():
        if isinstance(action, Write) and not files:
            count = len(action.text.splitlines())
            estimate = ntr(
                "write {path} ({count} line)", "write {path} ({count} lines)", count, count=count, path=action.path
            )
            parts.append(fit(estimate, "     ", first="   "))
            continue
        lines = plain(action.shell()).split("\n")
        # A here-document must not be reformatted, or its text would change when it is pasted.
        indent = "" if isinstance(action, Write) else "     "
        parts.append("\n".join([f"   $ {lines[0]}", *(indent + line for line in lines[1:])]))
        if files:
            parts += [fit(line, "     ", first="   ") for line in _beside(action)]
    return "\n".join(parts)


def statuses_text(statuses: list[Status], start: str) -> str:
    """All servers, one line each; if there are none, ``start`` is the command that starts one."""
    if not statuses:
        return tr("No servers yet. Start one: {command}", command=start)
    return table(
        [
            (tr("SERVER"), tr("STATE"), tr("DETAILS")),
            *((each.name, tr(STATES.get(each.state, each.state)), each.detail) for each in statuses),
        ]
    )
