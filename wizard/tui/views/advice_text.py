"""The advice screen's texts: a setup in the list, its headline, its notes, and what was rejected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual.content import Content

from wizard.advise import comparison, refusals
from wizard.advise.advice import Choice, Rejection
from wizard.advise.titles import stack_title
from wizard.kernel.language import ntr, tr
from wizard.kernel.text import one_line, plain
from wizard.texts import advise, reasons, remedies, report
from wizard.tui.views.advice import AdviceView
from wizard.tui.widgets.bill import bar
from wizard.tui.widgets.notes import Note

SMALL_BAR = 6
"""Cells of the memory bar in a row of the list."""
GOOD, MIND, BAD = (("✓", "$success"), ("!", "bold $warning"), ("✗", "$error"))
LIMIT, BEHIND, SECOND = (("◆", "$accent"), ("▾", "$accent"), ("2", "bold $accent"))


def lengths(choice: Choice | None) -> dict[str, int] | None:
    """The length of the requests that the speed of ``choice`` is for."""
    speed = choice.speed if choice else None
    return {"isl": speed.isl, "osl": speed.osl} if speed and speed.isl and speed.osl else None


def load(common: dict[str, int] | None) -> str:
    """What the figures in the list are, with the length of the requests that most of them are for."""
    return tr("tokens/s per user, for requests with {isl:,} tokens in and {osl:,} out", **common) if common else ""


def row(choice: Choice, recommended: bool, common: dict[str, int] | None) -> Content:
    """The choice in two lines; its load is shown if it differs from the ``common`` one above the list."""
    star = ("  " + tr("★ best") if recommended else "", "$accent")
    rest = f" {choice.users:,} × {choice.max_seq_len:,}"
    rate, asked = report.pace(choice.speed, loaded=False), lengths(choice)
    if rate and asked and asked != common:
        rate = tr("{rate} ({isl:,} in, {osl:,} out)", rate=rate, **asked)
    figures = f" {rate} ·{rest}" if rate else tr("{rest} tokens", rest=rest)
    return Content.assemble(
        (report.choice_title(choice), "bold"), star, "\n", bar(choice.memory, SMALL_BAR), (figures, "$text-muted")
    )


def headline(choice: Choice) -> Content:
    """The setup, its expected speed and its cost."""
    title = tr(
        "{stack} with {format} weights: {room}.",
        stack=stack_title(choice.stack),
        format=report.weights(choice),
        room=report.choice_room(choice),
    )
    lines = [Content.assemble((title, "bold"))]
    if speed := report.speed_sentence(choice.speed):
        lines.append(Content(tr("Expected: {speed}", speed=speed)))
    lines += [Content(sentence) for sentence in report.cost_sentences(choice)]
    return Content("\n").join(lines)


def impossible(view: AdviceView, *, remedy: bool) -> Content:
    """That nothing fits, and the keys that help."""
    fixed = view.constraints.restricts
    heading = (
        tr("Not possible with the constraints that you set.")
        if fixed
        else tr("This model cannot be served on this machine as is.")
    )
    steps = (
        tr("t: apply the fix.") if remedy else "",
        tr("r: reset.") if view.constraints != view.given else "",
        tr("Esc: another model."),
        tr("w: relax constraints."),
        tr("Or follow the steps below."),
    )
    return Content.assemble((f"✗ {heading}", "bold $error"), "\n" + " ".join(filter(None, steps)))


def notes(choice: Choice, second: Choice | None, refused: int) -> Iterable[Note]:
    """Notes about ``choice``; for the best one including the ``second``, and the reason for its rank."""

    def listed(sign: tuple[str, str], text: str, source: str | None = None) -> Note:
        return Content.assemble(sign), Content.assemble(
            plain(text), (f" ({plain(source)})" if source else "", "$text-muted")
        )

    runtime = tr(
        "{release} · runtime {runtime} · KV cache {cache}",
        release=choice.release,
        runtime=choice.runtime,
        cache=choice.kv_cache_dtype,
    )
    yield Content(""), Content.assemble((one_line(runtime), "$text-muted"))
    for sign, code in ((LIMIT, comparison.LIMIT), (BEHIND, comparison.BEHIND)):
        if text := report.reason(choice, code):
            yield listed(sign, tr("Why not first: {why}", why=text) if code == comparison.BEHIND else text)
    if second is not None and second is not choice:
        why = report.reason(second, comparison.BEHIND)
        named = {"way": report.choice_title(second), "pace": report.pace(second.speed) or report.choice_room(second)}
        text = (
            tr("Alternative: {way}, {pace}. {why}", **named, why=why)
            if why
            else tr("Alternative: {way}, {pace}.", **named)
        )
        yield listed(SECOND, text)
    for note in choice.warnings:
        yield listed(MIND, advise.note(note), advise.source(note))
    for note in report.choice_reasons(choice):
        yield listed(GOOD, advise.note(note), advise.source(note))
    if refused:
        count = ntr(
            "{count} more alternative is not possible: press x to see the reason and the fix.",
            "{count} more alternatives are not possible: press x to see the reasons and fixes.",
            refused,
            count=refused,
        )
        yield listed(BAD, count)


def rejections(refused: Sequence[Rejection]) -> Iterable[Note]:
    """What was rejected, why, and what would help."""
    yield Content(""), Content("")
    for refusal in refusals.grouped(refused):
        yield (
            Content.assemble(BAD),
            Content.assemble(
                (f"{advise.setups(refusal)}: ", "bold"),
                plain(reasons.text(refusal.reason)),
                "\n",
                ("→ ", "$accent"),
                remedies.text(refusal.remedies, flags=False),
            ),
        )
