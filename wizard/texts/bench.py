"""Texts of a benchmark's warnings. Code → message."""

from __future__ import annotations

from collections.abc import Mapping

from wizard.advise.reasons import Param
from wizard.kernel.language import mark, ntr, tr
from wizard.texts.table import Fields, Text
from wizard.texts.units import whole

WHAT = {"tokens_per_s": mark("tokens per second"), "ttft_ms": mark("time to first token")}
"""Field of `Measured` → its name in a sentence."""


def _wide(params: Mapping[str, Param], fields: Fields) -> tuple[str, ...]:
    name = tr(WHAT[str(params["what"])])
    text = mark(
        "The interval of the {what} is wide (±{percent}%): measure longer (--seconds, --requests) or more often "
        "(--repeats)."
    )
    return (tr(text, **{**fields, "what": name}),)


def _shared(params: Mapping[str, Param], fields: Fields) -> tuple[str, ...]:
    text = ntr(
        "{count} other process used GPU {gpu} meanwhile.",
        "{count} other processes used GPU {gpu} meanwhile.",
        whole(params["processes"]),
        count=params["processes"],
        **fields,
    )
    return (text,)


def _throttled(params: Mapping[str, Param], fields: Fields) -> tuple[str, ...]:
    why = params["why"]
    reasons = ", ".join(map(str, why if isinstance(why, tuple) else (why,)))
    text = mark("GPU {gpu} reduced its clocks in {percent}% of the samples ({why}), so it was slower than it can be.")
    return (tr(text, **{**fields, "why": reasons}),)


NOTES: dict[str, Text] = {
    "bench-errors": mark("{failed} of {sent} requests failed, first with {error}. The other figures count the rest."),
    "bench-no-tokens": mark("The server did not report token counts, so tokens per second are unknown."),
    "bench-pieces": mark(
        "The server did not report token counts: pieces of text were counted instead, which may have several tokens."
    ),
    "bench-slots": mark(
        "The server runs {slots} requests at once, and more were sent: the rest waited, which the time to first token "
        "includes. More slots (--users of `up`) may serve more."
    ),
    "bench-generator": mark(
        "The load generator itself used {used} of {cores} processor cores, so the server may be faster than measured."
        " Measure from another machine, or with fewer concurrent requests."
    ),
    "bench-late": mark(
        "Half of the requests waited {wait_ms} ms or longer in the load generator, of {ttft_ms} ms to the first token: "
        "the generator is a bottleneck."
    ),
    "bench-throttled": _throttled,
    "bench-shared-gpu": _shared,
    "bench-few": mark("Only {requests} requests were counted, so the percentiles are rough."),
    "bench-wide": _wide,
    "compare-shared-gpu": mark(
        "{first} and {second} share GPU {gpus}. Only one gets requests at a time, but both use memory, which is in the "
        "figures of both."
    ),
    "compare-shared-cpu": mark(
        "{first} and {second} share the processor. Only one gets requests at a time, but the other may use some of "
        "it, too."
    ),
    "compare-apart": mark(
        "These benchmarks were made at different times, so their ratios include what has changed meanwhile, such as "
        "temperature and load of the machine. Runs that alternate do not: compare the servers."
    ),
    "compare-prompts": mark("{name} was measured with other prompts."),
    "compare-api": mark("{name} was measured over another address, whose own time is included."),
    "compare-machine": mark("{name} was measured on another machine."),
    "tune-missed": mark(
        "When the settings were measured again, fewer than 90% of the requests kept the service level. Search again "
        "with longer runs (--seconds), or allow more."
    ),
    "bench-partial": mark("Not all of it was measured: {why}."),
}
