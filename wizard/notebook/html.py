"""The workflow's values as HTML for a notebook, in light and dark themes. All text is escaped.

Colors are either inherited or of medium lightness on a translucent background, so that they fit any theme.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from wizard.advise import calibration, refusals
from wizard.advise.advice import Advice, Choice, Memory
from wizard.advise.calibration import Measurement
from wizard.advise.comparison import BEHIND, LIMIT
from wizard.advise.pareto import Front
from wizard.advise.reasons import Note
from wizard.chat.conversation import Stats
from wizard.chat.report import figures, thought_line
from wizard.doctor.finding import Finding
from wizard.kernel.errors import WizardError
from wizard.kernel.language import ntr, tr
from wizard.kernel.secrets import redact
from wizard.kernel.text import plain
from wizard.kernel.units import size
from wizard.model.facts import ModelFacts
from wizard.plan.plan import Plan, Step
from wizard.plan.summary import cost, model_line, takes
from wizard.probe.host import Host
from wizard.probe.report import brief
from wizard.serve.endpoint import Endpoint
from wizard.serve.status import STATES, Status
from wizard.texts import advise, pareto, reasons, remedies, report
from wizard.texts.doctor import report as doctor
from wizard.texts.figure import Figure

PLOT = (90, 20)
"""Columns and lines of a plot."""
SHOWN = 8
"""Number of visible choices; the others are folded."""
MUTED = "opacity:.7"
RULE = "border-bottom:1px solid rgba(127,127,127,.3);text-align:left;vertical-align:top;padding:.2em 1em .2em 0"
TABLE = "margin:.3em 0"
"""Notebooks center tables, away from their headings."""
LIST = "margin:.2em 0;padding-left:1.5em"
APART = "margin-top:.6em"
PRE = "white-space:pre-wrap;overflow-wrap:anywhere;background:rgba(127,127,127,.12);padding:.5em;margin:.3em 0"
TAIL = "overflow:auto;display:flex;flex-direction:column-reverse;max-height:"
"""Shows the end of a long text; the height follows."""
PARTS = {
    "weights": "#4c8dd6",
    "cache": "#c98a1b",
    "activations": "#8a6fc7",
    "overhead": "#5c9e5c",
    "left": "rgba(127,127,127,.25)",
    "excess": "#d0504c",
}
"""Colors of the memory bar by type of part."""


def text(value: object) -> str:
    """``value`` as escaped HTML text, without secrets: a notebook is saved with its outputs and passed on."""
    return escape(redact(plain(str(value))))


def host_html(host: Host) -> str:
    """A machine as a table."""
    rows = [*brief(host), *((tr("unknown"), f"{name}: {why}") for name, why in host.unknown.items())]
    title = tr("Your machine") if host.is_here else host.source
    return f"<div><b>{text(title)}</b>{_table(rows)}</div>"


def model_html(facts: ModelFacts) -> str:
    """A model: its line, and the questions that are known to work."""
    known = _folded(tr("Suggested questions"), _list(facts.questions)) if facts.questions else ""
    unknown = _table([(tr("unknown"), f"{name.replace('_', ' ')}: {why}") for name, why in facts.unknown.items()])
    return f"<div><b>{text(facts.name)}</b><br>{text(model_line(facts))}{unknown}{known}</div>"


def advice_html(advice: Advice) -> str:
    """The recommendation with its memory breakdown and reasons, the alternatives, and what is not possible."""
    choices = report.ordered(advice.choices)
    parts = [_choice(choice, best=not number) for number, choice in enumerate(choices[:SHOWN])]
    if runner := report.runner_up(choices):
        parts.insert(1, f'<div style="{APART}">{text(runner)}</div>')
    if rest := choices[SHOWN:]:
        more = "".join(_choice(choice, best=False) for choice in rest)
        count = len(rest)
        parts.append(_folded(ntr("{count} more alternative", "{count} more alternatives", count, count=count), more))
    if not advice.feasible:
        nothing = tr("No supported configuration can serve this model on this machine as requested.")
        parts.append(f"<b>{text(nothing)}</b>")
    refused = "".join(_refusal(refusal) for refusal in refusals.grouped(advice.rejections))
    if refused and advice.feasible:
        refused = _folded(tr("Not possible on this machine"), refused)
    return f"<div>{''.join(parts)}{refused}</div>"


def pareto_html(front: Front) -> str:
    """The Pareto front: its plot, its points in a table, and what is not among them."""
    head, setups = [f"<b>{text(title)}</b>" for title in pareto.head(front)], pareto.setups(front).items()
    rows = _row(head) + "".join(_row([text(cell) for cell in row]) for row in pareto.rows(front))
    drawn = "\n".join(pareto.plot(front, *PLOT))
    shown = f"<pre>{text(drawn)}</pre>{_grid(rows)}{_table([(letter, name) for name, letter in setups])}"
    lines = "".join(f"<div>{text(line)}</div>" for line in pareto.remarks(front))
    refused = "".join(_refusal(refusal) for refusal in refusals.grouped(front.rejections))
    return f"<div>{text(pareto.heading(front))}{shown if front.points else ''}{lines}{refused}</div>"


def choice_html(choice: Choice) -> str:
    """A single choice."""
    return f"<div>{_choice(choice, best=True, recommended=False)}</div>"


def _choice(choice: Choice, *, best: bool, recommended: bool = True) -> str:
    title = f"{report.choice_title(choice)} · {report.choice_room(choice)} · {choice.release}"
    expected = report.speed_sentence(choice.speed)
    details = (
        tr("Expected: {speed}", speed=expected) if expected else "",
        *report.cost_sentences(choice),
        report.reason(choice, LIMIT),
        report.reason(choice, BEHIND),
    )
    lines = "".join(f"<div>{text(line)}</div>" for line in details if line)
    body = (
        memory_html(choice)
        + lines
        + _notes(tr("Why:"), report.choice_reasons(choice))
        + _notes(tr("Note:"), choice.warnings)
    )
    if best:
        heading = tr("Recommended: {way}", way=title) if recommended else title
        return f"<div><b>{text(heading)}</b>{body}</div>"
    pace = report.pace(choice.speed)
    return _folded(tr("Or: {way}", way=f"{title} · {pace}" if pace else title), body)


def _refusal(refusal: refusals.Refusal) -> str:
    remedy = remedies.text(refusal.remedies, flags=False)
    head = f"<b>{text(tr('Not possible: {ways}', ways=advise.setups(refusal)))}</b>"
    return f'<div style="{APART}">{head}<br>{text(reasons.text(refusal.reason))}<br>→ {text(remedy)}</div>'


def _notes(title: str, notes: Sequence[Note]) -> str:
    if not notes:
        return ""
    return f"<div>{text(title)}{_list(advise.note(note) for note in notes)}</div>"


def memory_html(choice: Choice) -> str:
    """The memory breakdown as a bar with a legend, which has everything that the colors show; for a GPU and the host,
    one of each.
    """
    return "".join(_bill_html(title, memory) for title, memory in report.bills(choice))


def _bill_html(title: str, memory: Memory) -> str:
    parts = report.bill(memory)
    cells = "".join(
        f'<span title="{text(part.name)}: {size(part.bytes)}" '
        f'style="flex:{0 if part.kind == "excess" else part.bytes} 0 2px;background:{PARTS[part.kind]}"></span>'
        for part in parts
    )
    legend = " ".join(
        f'<span style="display:inline-block;margin-right:1em" title="{text(part.about)}">'
        f'<span style="color:{PARTS[part.kind]}">■</span> {text(part.name)} {size(part.bytes)}</span>'
        for part in parts
    )
    bar = f'<div style="display:flex;height:1em;max-width:40em">{cells}</div>'
    return f"<div>{text(title)}{bar}{legend}</div>"


def figures_html(figures: Sequence[Figure]) -> str:
    """Numbers, each with its formula and its source."""
    rows = "".join(
        _row(
            (text(figure.name), f"<b>{text(figure.result)}</b><br>= {text(figure.formula)}<br>{_muted(figure.source)}")
        )
        for figure in figures
    )
    return _grid(rows)


def findings_html(findings: Sequence[Finding]) -> str:
    """What the checks of this machine found, a table with a row for each check."""
    rows = []
    for name, members in doctor.grouped(doctor.problems_first(findings)):
        rows.append(_row([f"<b>{text(name)}</b>", ""]))
        for finding in members:
            details = map(_detail, doctor.details(finding))
            sign = f"{text(doctor.SIGNS[finding.status])} {text(doctor.title(finding))}"
            rows.append(_row([sign, "<br>".join([text(doctor.text(finding)), *details])]))
    return f"<div><b>{text(doctor.summary(findings))}</b>{_grid(''.join(rows))}</div>"


def _detail(line: str) -> str:
    return f"<code>{text(line[2:])}</code>" if line.startswith("$ ") else _muted(line)


def plan_html(plan: Plan) -> str:
    """The steps as a table, each with its reason, its estimate and its commands."""
    lines = (model_line(plan.facts), *takes(plan))
    setup = report.choice_title(plan.choice)
    head = tr("Serve {model} as {name} with {way}", model=plan.facts.name, name=plan.name, way=setup)
    rows = "".join(_step(number, step) for number, step in enumerate(plan.steps, 1))
    notes = f"{text(tr('Before you start:'))}{_list(plan.notes)}" if plan.notes else ""
    return f"<div><b>{text(head)}</b><br>{'<br>'.join(map(text, lines))}{_grid(rows)}{notes}</div>"


def _step(number: int, step: Step) -> str:
    commands = "\n".join(action.shell() for action in step.actions)
    details = _folded(tr("Commands"), f'<pre style="{PRE}">{text(commands)}</pre>')
    title = f"<b>{text(step.title)}</b> {_muted(cost(step.estimate))}"
    return _row((str(number), f"{title}<br>{text(step.why)}{details}"))


def progress_html(lines: Iterable[tuple[str, str]], running: str, fraction: float | None, output: Sequence[str]) -> str:
    """A running plan: finished steps, the running one with its progress, the last lines of its output.

    Args:
        lines: Titles of the finished steps and how they ended.
        running: Title of the running step; empty if none runs.
        fraction: Its progress, 0 to 1; None if unknown.
        output: Its last lines.
    """
    done = _table(list(lines))
    if not running:
        return f"<div>{done}</div>"
    value = "" if fraction is None else f' value="{fraction:.3f}"'
    tail = f'<div style="{TAIL}14em"><pre style="{PRE}">{text(chr(10).join(output))}</pre></div>' if output else ""
    return f"<div>{done}{text(running)} … <progress{value}></progress>{tail}</div>"


def measured_html(measurement: Measurement) -> str:
    """Predicted and measured memory as a table."""
    head, *rows = calibration.rows(measurement)
    return _grid(_row([f"<b>{name}</b>" for name in head]) + "".join(map(_row, rows)))


def status_html(status: Status) -> str:
    """A server in a line."""
    heading = tr("{name}: {state}", name=status.name, state=tr(STATES[status.state]))
    return f"<div><b>{text(heading)}</b><br>{text(status.detail)}</div>"


def endpoint_html(endpoint: Endpoint) -> str:
    """A server's addresses."""
    rows = [("HTTP", endpoint.http), ("gRPC", endpoint.grpc)]
    rows += [("OpenAI", endpoint.openai)] if endpoint.openai else []
    return f"<div><b>{text(endpoint.name)}</b>{_table(rows)}</div>"


def answer_html(answer: str, thought: str = "", stats: Stats | None = None) -> str:
    """An answer: its text unchanged, fenced code as code. No HTML or Markdown in it is interpreted.

    Its thought is folded, ``stats`` in its summary.
    """
    folded = _thought_html(answer, thought, stats) if thought else ""
    pieces = answer.split("```")
    shown = []
    for index, piece in enumerate(pieces):
        if index % 2:
            language, newline, code = piece.partition("\n")
            shown.append(f'<pre style="{PRE}">{text(code if newline else language)}</pre>')
        elif piece:
            shown.append(f'<div style="white-space:pre-wrap">{text(piece.strip(chr(10)))}</div>')
    return f"<div>{folded}{''.join(shown)}</div>"


def _thought_html(answer: str, thought: str, stats: Stats | None) -> str:
    summary = thought_line(stats, answered=bool(answer)) if stats else tr("Thinking")
    return _folded(summary, f'<div style="white-space:pre-wrap;{MUTED}">{text(thought)}</div>')


def error_html(error: WizardError) -> str:
    """An error with what to do about it."""
    return f"<div><b>{text(error.code)}</b> {text(error.what)}<br>→ {text(error.todo)}</div>"


def turn_html(question: str, answer: str) -> str:
    """A question and its answer, which is HTML."""
    return f'<div style="{APART}"><b>{text(question)}</b>{answer}</div>'


def stats_html(stats: Stats | None) -> str:
    """The measurements of an answer, in one line."""
    return f'<div style="{MUTED}">{text(figures(stats))}</div>'


def _folded(summary: str, html: str) -> str:
    """``html`` folded behind its summary, which is text."""
    return f"<details><summary>{text(summary)}</summary>{html}</details>"


def _muted(words: str) -> str:
    return f'<span style="{MUTED}">{text(words)}</span>'


def _table(rows: Sequence[tuple[str, str]]) -> str:
    if not rows:
        return ""
    return _grid("".join(_row((text(a), text(b))) for a, b in rows))


def _list(lines: Iterable[str]) -> str:
    items = "".join(f"<li>{text(line)}</li>" for line in lines)
    return f'<ul style="{LIST}">{items}</ul>'


def _grid(rows: str) -> str:
    return f'<table style="{TABLE}">{rows}</table>'


def _row(cells: Sequence[str]) -> str:
    """A row of cells, which are already HTML."""
    return "<tr>" + "".join(f'<td style="{RULE}">{cell}</td>' for cell in cells) + "</tr>"
