"""GenAI-Perf's command lines, translated to `triton-wizard bench`: NVIDIA stopped it in favor of AIPerf.

Tutorial 004 has ``genai-perf -m MODEL --num-of-output-prompts 10 …`` and ``triton -v profile -m MODEL … -b 16``. The
options' names changed over its releases: those here are of 0.0.1 (perf_analyzer's own script, recalled) to 0.0.16, of
perf_analyzer's that it passes on, and of ``triton profile`` (triton_cli 0.0.x, recalled), as far as they change what is
measured. An option that is not needed any more is dropped, which the translation shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr

PROGRAMS = ("genai-perf", "triton")
VALUES = {
    **dict.fromkeys(("--num-of-output-prompts", "--num-prompts", "--num-dataset-entries"), "--requests"),
    **dict.fromkeys(("--request-count", "--measurement-request-count"), "--requests"),
    **dict.fromkeys(("--input-tokens-mean", "--synthetic-input-tokens-mean", "--input-length", "--isl"), "--isl"),
    **dict.fromkeys(("--expected-output-tokens", "--output-tokens-mean", "--output-length", "--osl"), "--osl"),
    **dict.fromkeys(("--concurrency", "--batch-size", "-b"), "--concurrency"),
    **dict.fromkeys(("--random-seed",), "--seed"),
    **dict.fromkeys(("--request-rate", "--request-rate-range"), "--request-rate"),
    **dict.fromkeys(("--warmup-request-count", "--num-warmup-requests"), "--warmup"),
    **dict.fromkeys(("--artifact-dir", "--profile-export-file"), "--out"),
    **dict.fromkeys(("--input-file", "--input-data", "--input-dataset"), "--dataset"),
}
"""Option with a value → ours with the same meaning. A batch of a vLLM or TensorRT-LLM server is the requests that run
at once, so a batch size is a concurrency.
"""
SETTINGS = {
    **dict.fromkeys(("-m", "--model"), "model"),
    **dict.fromkeys(("-u", "--url"), "url"),
    **dict.fromkeys(("-p", "--measurement-interval"), "interval"),
}
"""Options with a value that several of ours depend on."""
DROPPED = {
    *("--service-kind", "--backend", "--endpoint-type", "--endpoint", "--tokenizer", "-i", "--output-format"),
    *("--synthetic-input-tokens-stddev", "--input-tokens-stddev", "--output-tokens-stddev", "--stability-percentage"),
    *("--measurement-mode", "--max-threads", "--shape", "--percentile", "--tokenizer-revision", "--prompt-source"),
    *("--latency-threshold", "--string-length", "--extra-inputs", "--dataset"),
}
"""Options with a value that ours does not need, or cannot have."""
FLAGS = {"--streaming", "--async", "-v", "--verbose", "--generate-plots", "--output-tokens-mean-deterministic", "--"}
"""Options without a value, dropped too: answers are always streamed."""
GRPC, HTTP = 8001, 8000
"""Triton's default ports: GenAI-Perf used gRPC, AIPerf speaks HTTP."""
LOCAL = ("localhost", "127.0.0.1", "::1")


def translated(words: Sequence[str]) -> tuple[list[str], list[str]] | None:
    """The command line with `bench`'s own options, and what was dropped; None if it has no old command.

    Raises:
        UsageError: TW-U70 for an option that is not known.
    """
    start = next((at for at, word in enumerate(words[:-1]) if word == "bench" and _old(words[at + 1 :])), None)
    if start is None:
        return None
    rest = [word for word in words[start + 1 :] if word != "--"]
    new, dropped = _options(rest[1:])
    return [*words[: start + 1], *new], dropped


def _old(words: Sequence[str]) -> bool:
    first = next((word for word in words if word != "--"), "")
    return first in PROGRAMS


def _options(words: Sequence[str]) -> tuple[list[str], list[str]]:
    settings = dict.fromkeys(SETTINGS.values(), "")
    new: list[str] = []
    dropped: list[str] = []
    left = iter([word for each in words for word in _halves(each)])
    for word in left:
        if word in FLAGS:
            dropped.append(word)
        elif word != "profile":
            value = next(left, "")
            if word in SETTINGS:
                settings[SETTINGS[word]] = value
            elif word in DROPPED:
                dropped.append(f"{word} {value}".rstrip())
            else:
                new += _renamed(word, value)
    if settings["interval"] and "--requests" not in new:
        new += ["--seconds", _seconds(settings["interval"])]
    return [*_target(settings["model"], settings["url"]), *new], dropped


def _renamed(option: str, value: str) -> list[str]:
    if option == "--concurrency-range":
        return ["--concurrency", _range(value)]
    if option in VALUES or option in OURS:
        return [VALUES.get(option, option), value]
    raise _unknown(option)


def _halves(word: str) -> list[str]:
    """``--name=value`` as two words."""
    name, equals, value = word.partition("=")
    return [name, value] if equals and word.startswith("--") else [word]


OURS = {"--repeats", "--ttft", "--tpot", "--workspace", "--language", "--seconds", "--requests", "--seed", "--out"}
"""Options of ours that may be mixed in."""


def _target(model: str, url: str) -> list[str]:
    """A server of the workspace for this machine's Triton, else the URL."""
    if not url:
        return [model] if model else []
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port
    except ValueError as error:
        raise _unknown(f"-u {url}") from error
    if parts.hostname in LOCAL and port in (None, GRPC, HTTP):
        return [model] if model else []
    port = HTTP if port == GRPC else port or HTTP
    return [f"{parts.scheme}://{parts.hostname}:{port}", *(["--model", model] if model else [])]


def _range(value: str) -> str:
    """``1:9:4``, start, end and step, as a list: ``1,5,9``."""
    try:
        start, end, step = (*map(int, value.split(":")), *(None, None, None))[:3]
    except ValueError as error:
        raise _unknown(f"--concurrency-range {value}") from error
    return ",".join(map(str, range(start or 1, (end or start or 1) + 1, step or 1)))


def _seconds(interval: str) -> str:
    """An interval in ms as seconds."""
    try:
        return f"{float(interval) / 1000:g}"
    except ValueError as error:
        raise _unknown(f"--measurement-interval {interval}") from error


def _unknown(option: str) -> UsageError:
    message = tr("GenAI-Perf's option {option} cannot be translated", option=option)
    return UsageError("TW-U70", message, tr("Omit it, or see `triton-wizard bench --help` for the options here."))
