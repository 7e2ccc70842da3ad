"""The journey's values and events as plain text, for any terminal, any pipe and any screen reader.

Nothing here depends on colour, on box characters or on moving the cursor: those are added on a real terminal only.
"""

from __future__ import annotations

import os
import shutil
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TextIO, TypeAlias

from wizard.advise import report
from wizard.advise.advice import Advice, Choice, Note
from wizard.advise.explain import Figure
from wizard.catalog.lessons import Part
from wizard.catalog.workshops import Workshop
from wizard.kernel.language import mark, ntr, tr
from wizard.kernel.text import is_terminal, one_line, plain, table, width, wrap
from wizard.kernel.units import duration, size
from wizard.model.facts import ModelFacts
from wizard.plan.lesson import of_step
from wizard.plan.plan import Plan, Step, Write
from wizard.plan.words import cost, model_line, sums
from wizard.probe.host import Host
from wizard.probe.report import brief
from wizard.prompts.speech import fitted, spoken
from wizard.run.events import Event, Output, Progress, Ready, StepFinished, StepStarted
from wizard.serve.status import Status

SELDOM_S = 10.0
"""Seconds between two lines of progress where the line cannot be written over."""
TAIL_LINES = 10
"""Lines of output that are shown of a step that failed."""
TOP = 8
"""Choices that are shown unless more are asked for."""
MARKS = {"weights": "#", "cache": "=", "activations": "+", "overhead": "o", "left": ".", "excess": "!"}
"""Characters of the memory bar by kind of part."""
STATES = {"ready": mark("ready"), "starting": mark("starting"), "stopped": mark("stopped"), "dead": mark("dead")}
"""States of a server that are known to be said."""
SPOKEN_STEPS = frozenset({"question"})
"""Steps whose output is an answer to the user and therefore always shown."""
COLOURS = {"done": "32", "skipped": "33", "omitted": "33", "failed": "31", "cancelled": "33"}
"""SGR codes (ECMA-48) by outcome; the word is always there too."""


def columns(out: TextIO | None = None) -> int:
    """Columns of the terminal behind ``out`` (standard output if not given), 80 if there is none; at least 20."""
    try:
        found = os.get_terminal_size(out.fileno()).columns if out else shutil.get_terminal_size().columns
    except (OSError, ValueError):  # not a terminal, closed, or a file in memory (io.UnsupportedOperation)
        found = 80
    return max(20, found or 80)


def clip(text: str, limit: int) -> str:
    """``text`` cut to ``limit`` columns, with ``…`` where something is missing."""
    if width(text) <= limit:
        return text
    while text and width(text) > limit - 1:
        text = text[:-1]
    return text + "…"


class Shower:
    """Shows events as they come: one line for each step.

    On a real terminal the running step's line is written over with its progress; elsewhere progress is a line of its
    own at most every `SELDOM_S` seconds.

    Args:
        out: Where to write.
        verbose: Show all output of the steps.
        lesson: Id of a step → its lesson, which is shown before the step; not given, there are none.
        aloud: Whole lines in words and nothing written over, as a screen reader wants them.
    """

    def __init__(
        self,
        out: TextIO,
        verbose: bool = False,
        lesson: Callable[[str], str] | None = None,
        *,
        aloud: bool = False,
    ) -> None:
        self._out = out
        self._aloud = aloud
        self._verbose = verbose
        self._lesson = lesson
        terminal = is_terminal(out) and os.environ.get("TERM", "dumb") != "dumb" and not aloud
        self._in_place = terminal
        self._coloured = terminal and not os.environ.get("NO_COLOR")
        self._head = ""
        """``[2/6] Get the model`` of the running step; empty between steps."""
        self._open = False
        """Whether the cursor stands behind a line that is not ended yet."""
        self._tail: deque[str] = deque(maxlen=TAIL_LINES)
        self._said_at = 0.0

    def show(self, event: Event) -> None:
        """Show one event. A failed step names its error's code; the error itself is raised by the engine."""
        match event:
            case StepStarted():
                self._start(event)
            case Output():
                self._output(event)
            case Progress():
                self._progress(event)
            case StepFinished():
                self._finish(event)
            case Ready():
                where = event.endpoint
                name, http, grpc = plain(where.name), where.http, where.grpc
                self._line(tr("{name} is ready: {http} (gRPC {grpc})", name=name, http=http, grpc=grpc))

    def end(self) -> None:
        """End the line of a step that was interrupted."""
        if self._open:
            self._write("\n")
            self._open = False

    def _start(self, event: StepStarted) -> None:
        title = one_line(event.title)
        self._head = f"[{event.index}/{event.count}] {title}"
        if self._aloud:
            self._head = tr("Step {number} of {count}", number=event.index, count=event.count)
        self._tail.clear()
        self._said_at = event.at
        if self._lesson and (lesson := self._lesson(event.step)):
            self._line(f"\n{lesson}")
        if self._aloud:
            self._line(f"{self._head}: {title}")
        else:
            self._replace(f"{self._head} …")

    def _output(self, event: Output) -> None:
        lines = [plain(line) for line in event.lines]
        if self._verbose or event.step in SPOKEN_STEPS:
            for line in lines:
                self._line(f"      {line}")
            return
        self._tail.extend(lines)
        if self._in_place and lines:
            self._replace(f"{self._head} … {lines[-1].strip()}")

    def _progress(self, event: Progress) -> None:
        if event.fraction is None:
            done = one_line(event.text)
        else:
            done = f"{event.fraction:.0%}"
            if event.eta_s is not None:
                done = tr("{share}, {time} left", share=done, time=duration(event.eta_s))
        if self._in_place:
            self._replace(f"{self._head} … {done}")
        elif event.at - self._said_at >= SELDOM_S:
            self._said_at = event.at
            self._line(f"{self._head}: {done}" if self._aloud else f"{self._head} … {done}")

    def _finish(self, event: StepFinished) -> None:
        took, why = duration(event.seconds), one_line(event.reason)
        words = {
            "done": tr("done in {time}", time=took),
            "skipped": tr("skipped: {why}", why=why) if why else tr("skipped"),
            "omitted": why,
            "failed": tr("failed after {time}", time=took),
            "cancelled": tr("stopped after {time}", time=took),
        }[event.outcome]
        if event.outcome == "failed" and event.error:
            words += f" ({plain(event.error.get('code', ''))})"
        if self._coloured:
            words = f"\x1b[{COLOURS[event.outcome]}m{words}\x1b[0m"
        if self._aloud:
            self._line(f"{self._head}: {words}")
        elif self._open and not self._in_place:
            self._write(f" {words}\n")
        else:
            self._erase()
            self._write(f"{self._head} … {words}\n")
        self._open, self._head = False, ""
        if event.outcome == "failed":
            for line in self._tail:
                self._line(f"      {line}")

    def _line(self, text: str) -> None:
        """A whole line; a line that is still open is written over, or ended."""
        if self._open and not self._in_place:
            self._write("\n")
        self._erase()
        self._write(f"{fitted(text) if self._aloud else text}\n")
        self._open = False

    def _replace(self, text: str) -> None:
        """Leave ``text`` as the open line, in no more than the terminal's width so that it can be written over."""
        self._erase()
        self._write(clip(one_line(text), columns(self._out) - 1) if self._in_place else text)
        self._open = True

    def _erase(self) -> None:
        if self._open and self._in_place:
            self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


def wrapped(text: str, indent: str = "", *, first: str | None = None, limit: int | None = None) -> str:
    """``text`` made harmless and broken into lines that fit a terminal (100 columns at most)."""
    limit = limit or min(100, columns())
    return wrap(text, max(limit, len(indent) + 20), first=indent if first is None else first, indent=indent)


def aloud(text: str, indent: str = "", *, first: str | None = None) -> str:
    """``text`` in words for those who hear it, broken into lines that fit a terminal."""
    return wrapped(spoken(one_line(text)), indent, first=first)


Fit: TypeAlias = Callable[..., str]
"""`wrapped` or `aloud`."""


def host_text(host: Host, fit: Fit = wrapped) -> str:
    """A machine in a few lines."""
    return "\n".join(fit(value, " " * 10, first=f"{name:<10}") for name, value in brief(host))


def advice_text(
    advice: Advice, facts: ModelFacts, *, top: int | None = None, figures: Sequence[Figure] = (), fit: Fit = wrapped
) -> str:
    """The advice: the recommendation with its memory bill, the other ways in a line each, and what cannot be done.

    Args:
        advice: All of it.
        facts: The model.
        top: Show so many choices; with 1 nothing but the recommendation. `TOP` if not given.
        figures: Formulas of the recommendation's numbers, shown after it.
        fit: Makes lines of a text.
    """
    parts = [fit(f"{facts.name}: {model_line(facts)}", "  ", first="")]
    shown = report.ordered(advice.choices)[: top or TOP]
    for number, choice in enumerate(shown, 1):
        if number == 1:
            title = f"{report.choice_title(choice)} · {report.choice_room(choice)} · {one_line(choice.release)}"
            parts += ["", fit(tr("Recommended: {way}", way=title), "  ", first=""), choice_text(choice, fit)]
            parts += [figures_text(figures, fit)] if figures else []
            parts += _runner_up(advice, fit) if top != 1 else []
        else:
            parts += [""] * (number == 2) + [
                fit(tr("Or {number}: {way}", number=number, way=_row(choice)), "  ", first="")
            ]
    if (more := len(advice.choices) - len(shown)) and top != 1:
        flag = f"--top {len(advice.choices)}"
        parts.append(ntr("… and {count} more: {flag}", "… and {count} more: {flag}", more, count=more, flag=flag))
    if not advice.feasible:
        parts += ["", fit(tr("Nothing that the wizard knows can serve this model here as asked."))]
    for one in report.refusals(advice.rejections) if top != 1 or not advice.feasible else ():
        parts += ["", fit(tr("Not possible: {ways}", ways=one.ways), "  ", first="")]
        parts += [fit(one.text, "  "), fit(f"→ {one.remedy}", "    ", first="  ")]
    return "\n".join(parts)


def _row(choice: Choice) -> str:
    """A choice in a line."""
    parts = (report.choice_title(choice), report.pace(choice.speed), report.choice_room(choice))
    return " · ".join(part for part in parts if part)


def _runner_up(advice: Advice, fit: Fit) -> list[str]:
    second = next(iter(report.ordered(advice.choices)[1:]), None)
    if second is None or not (why := report.reason(second, report.BEHIND)):
        return []
    said = tr("Runner-up: {way}. {why}", way=report.choice_title(second), why=why)
    return [fit(said, "  ", first="")]


def choice_text(choice: Choice, fit: Fit = wrapped) -> str:
    """One choice: its memory bill, its speed, what limits it, its reasons and its warnings."""
    parts = [memory_text(choice, fit)]
    if speed := report.speed_sentence(choice.speed):
        parts.append(fit(tr("Expected: {speed}", speed=speed), "  ", first=""))
    if limit := report.reason(choice, report.LIMIT):
        parts.append(fit(limit, "  ", first=""))
    why = [note for note in choice.reasons if note.code not in (report.LIMIT, report.BEHIND)]
    if why:
        parts.append(f"{tr('Why:')}\n{_notes(why, fit)}")
    if choice.warnings:
        parts.append(f"{tr('Mind:')}\n{_notes(choice.warnings, fit)}")
    return "\n".join(parts)


def figures_text(figures: Iterable[Figure], fit: Fit = wrapped) -> str:
    """Numbers, each with its formula and its source."""
    lines = []
    for one in figures:
        lines += [
            fit(f"{one.name} = {one.result}", "    ", first="  "),
            fit(f"= {one.formula}", "      ", first="    "),
        ]
        lines.append(fit(tr("Source: {source}", source=one.source), "      ", first="    "))
    return "\n".join([tr("Why these numbers:"), *lines])


def _notes(notes: Iterable[Note], fit: Fit) -> str:
    return "\n".join(fit(note.text, "    ", first="  - ") for note in notes)


def memory_text(choice: Choice, fit: Fit = wrapped) -> str:
    """The memory bill: a bar of plain characters and what each of them means.

    Args:
        choice: Whose bill.
        fit: Makes lines of a text; where they are heard each part is a line of words.
    """
    parts = report.bill(choice.memory)
    title = fit(report.bill_title(choice), "  ", first="")
    if fit is aloud:
        lines = (": ".join((one.name, size(one.bytes))) + (f", {one.about}" if one.about else "") for one in parts)
        return "\n".join([title, *(fit(line, "    ", first="  - ") for line in lines)])
    cells = report.shares(parts, min(60, columns() - 4))
    drawn = "".join(MARKS[one.kind] * count for one, count in zip(parts, cells, strict=True))
    legend = table([(MARKS[one.kind], one.name, size(one.bytes), one.about) for one in parts], indent="  ")
    if max(map(width, legend.split("\n"))) > min(100, columns()):
        legend = table([(MARKS[one.kind], one.name, size(one.bytes)) for one in parts], indent="  ")
    return f"{title}\n  [{drawn}]\n{legend}"


def step_lessons(plan: Plan, workshop: Workshop, fit: Fit = wrapped) -> Callable[[str], str]:
    """What a `Shower` says before each step of ``plan``."""
    steps = {step.id: step for step in plan.steps}
    return lambda name: lesson_text(of_step(plan, steps[name], workshop), fit=fit) if name in steps else ""


def lesson_text(lesson: Iterable[Part], indent: str = "  ", fit: Fit = wrapped) -> str:
    """A lesson in plain lines, one paragraph for each of its parts; commands stay as they are."""
    lines = []
    for part in lesson:
        if part.commands:
            lines += [f"{indent}{part.heading}:", *(f"{indent}    {line}" for line in plain(part.text).splitlines())]
        else:
            lines.append(fit(f"{part.heading}: {part.text}", f"{indent}  ", first=indent))
    return "\n".join(lines)


def plan_text(
    plan: Plan, *, commands: bool = True, files: bool = False, workshop: Workshop | None = None, fit: Fit = wrapped
) -> str:
    """The whole plan: each step with its reason, its estimate and its exact commands, and what to know beforehand.

    Args:
        plan: The plan.
        commands: False leaves the commands out.
        files: True shows the whole text of the files that are written, not only their names and sizes.
        workshop: Show each step's lesson, with the words of this workshop.
        fit: Makes lines of a text.
    """
    head = tr(
        "Plan: serve {model} as {name!r} with {way}",
        model=one_line(plan.facts.name),
        name=plan.name,
        way=report.choice_title(plan.choice),
    )
    takes = tr("{sums} · everything in {folder}", sums=sums(plan), folder=plan.workspace)
    # with its licence, which counts before anything is fetched
    model = tr("Model: {facts}", facts=model_line(plan.facts))
    parts = [fit(line, "  ", first="") for line in (head, model, takes)]
    if plan.host != "this machine":
        elsewhere = tr("Made for {host}, not for this machine: it can be shown, not run.", host=one_line(plan.host))
        parts.append(fit(elsewhere, "  ", first=""))
    for number, step in enumerate(plan.steps, 1):
        lesson = lesson_text(of_step(plan, step, workshop, why=False), "   ", fit) if workshop else ""
        parts.append(_step_text(number, step, lesson, fit, commands=commands, files=files))
    if plan.notes:
        parts += ["", tr("To know beforehand:"), *(fit(note, "    ", first="  - ") for note in plan.notes)]
    return "\n".join(parts)


def _step_text(number: int, step: Step, lesson: str, fit: Fit, *, commands: bool, files: bool) -> str:
    title = fit(f"{one_line(step.title)} ({cost(step.estimate)})", "   ", first=f"{number}. ")
    parts = ["", title, fit(step.why, "   ")]
    parts += [lesson] if lesson else []
    for action in step.actions if commands else ():
        if isinstance(action, Write) and not files:
            count = len(action.text.splitlines())
            said = ntr(
                "write {path} ({count} line)", "write {path} ({count} lines)", count, count=count, path=action.path
            )
            parts.append(fit(said, "     ", first="   "))
            continue
        lines = plain(action.shell()).split("\n")
        # A here-document must stay as it is, or its text would change when it is pasted.
        indent = "" if isinstance(action, Write) else "     "
        parts.append("\n".join([f"   $ {lines[0]}", *(indent + line for line in lines[1:])]))
    return "\n".join(parts)


def statuses_text(statuses: list[Status]) -> str:
    """All servers, one line each."""
    if not statuses:
        return tr("There are no servers yet. Start one: {command}", command="triton-wizard up demo")
    return table(
        [
            (tr("SERVER"), tr("STATE"), tr("WHERE")),
            *((each.name, tr(STATES.get(each.state, each.state)), each.detail) for each in statuses),
        ]
    )
