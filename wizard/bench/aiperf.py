"""AIPerf's command line and its records, as of 0.13: the only file that knows them.

Options: ``aiperf profile --help``. Records: a JSON object per request in ``profile_export.jsonl``, written as they come
(``aiperf/common/models/record_models.py``, ``MetricRecordInfo``). Its summaries are not used.

It always loads a tokenizer, though the server counts the tokens. Its built-in one is downloaded, so it gets one of a
single word. It must not reach the Hub: ``HF_HUB_OFFLINE`` makes it reject a local folder (seen with 0.13.0), so the
Hub's address is a port of this machine where nothing listens.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from wizard.bench.dataset import Prompt
from wizard.bench.load import Load, Point
from wizard.bench.report import Target
from wizard.bench.run import Request

RECORDS = "profile_export.jsonl"
GRACE_S = 60
"""Seconds that requests may take to end after a run's time is over; later ones are not counted."""
RAMP_S = 2.0
"""Seconds over which the first requests of a closed loop start. If they started together, requests of the same length
would end and start together for the whole run, and AIPerf, which takes about a millisecond for each, would add the
waiting time of that crowd to the time to first token (seen with 64 streams on 2 cores: 14 ms instead of 6).
"""
LOOKS = 1000
"""How often a second AIPerf looks whether a request has ended, so that the next one can start: it is the rate that the
concurrency limits. Without a rate it looks all the time and keeps a whole core busy (0.13.0, ``RequestRateStrategy``),
which a model on the CPU of the same machine does not get: the demo then answered in seconds instead of 50 ms.
"""
WORKERS = 2
"""Processes of AIPerf that send requests. One sends to hundreds of streams, but was later (measured as above)."""
REQUEST_S = 300
"""Seconds that a request may take; then it counts as failed."""
TOKENIZER: dict[str, dict[str, Any]] = {
    "tokenizer.json": {
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": {"type": "Whitespace"},
        "model": {"type": "WordLevel", "vocab": {"[UNK]": 0}, "unk_token": "[UNK]"},
    },
    "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "[UNK]"},
}
TEMPLATE = '{"text_input": {{ text|tojson }}, "parameters": {"stream": true, "max_tokens": {{ max_tokens }}}}'
"""The body for ``generate_stream``. Triton makes inputs of the parameters that the model has as inputs (as ours and
TensorRT-LLM's), and passes the others on, which the vLLM backend reads.
"""
KEY = "TRITON_WIZARD_BENCH_KEY"
"""The environment variable with the API key."""
EMPTY = "InvalidInferenceResultError"
"""AIPerf's error for an answer without text."""


@dataclass(frozen=True, slots=True)
class Files:
    """What AIPerf reads and writes, in the folder of a benchmark."""

    folder: Path

    @property
    def prompts(self) -> Path:
        """The prompts, an object per line."""
        return self.folder / "prompts.jsonl"

    @property
    def tokenizer(self) -> Path:
        """The tokenizer that it loads."""
        return self.folder / "tokenizer"

    @property
    def template(self) -> Path:
        """The template of a request to ``generate_stream``."""
        return self.folder / "template.json"

    @property
    def config(self) -> Path:
        """The configuration that names the variable with the API key: an argument would show it to everybody."""
        return self.folder / "config.json"

    def output(self, run: str) -> Path:
        """The folder that it writes for ``run``."""
        return self.folder / "aiperf" / run

    def write(self, prompts: Iterable[Prompt], target: Target) -> None:
        """Write what it reads.

        Raises:
            OSError: A file cannot be written.
        """
        self.tokenizer.mkdir(parents=True, exist_ok=True)
        for name, content in TOKENIZER.items():
            (self.tokenizer / name).write_text(json.dumps(content), encoding="utf-8")
        self.template.write_text(TEMPLATE, encoding="utf-8")
        self.config.write_text(json.dumps({"benchmark": _configured(target, self)}), encoding="utf-8")
        with self.prompts.open("w", encoding="utf-8") as file:
            for prompt in prompts:
                file.write(json.dumps({"text": prompt.text, "output_length": prompt.osl}, ensure_ascii=False) + "\n")


def environment(base: dict[str, str], key: str | None) -> dict[str, str]:
    """The process's environment: ``base`` without the Hub, with the API key, which is never an argument."""
    without = {name: value for name, value in base.items() if not name.startswith("HF_")}
    fixed = {"HF_ENDPOINT": "http://127.0.0.1:9", "AIPERF_RECORD_EXPORT_BATCH_SIZE": "1", "PYTHONUNBUFFERED": "1"}
    return {**without, **fixed, **({KEY: key} if key else {})}


def argv(
    target: Target, point: Point, load: Load, files: Files, run: str, *, key: str | None = None
) -> tuple[str, ...]:
    """AIPerf's arguments for a run, without the ``key``."""
    return (
        *("profile", *(("--config", str(files.config)) if key else ())),
        *("--model-names", target.model, *_endpoint(target, files), "--streaming"),
        *("--tokenizer", str(files.tokenizer)),
        *("--input-file", str(files.prompts), "--custom-dataset-type", "single_turn"),
        *_limits(point, load),
        *("--workers-max", str(WORKERS)),
        *("--random-seed", str(load.seed), "--request-timeout-seconds", str(REQUEST_S)),
        *("--output-artifact-dir", str(files.output(run)), "--ui-type", "none"),
        *("--no-gpu-telemetry", "--no-server-metrics"),
    )


def _endpoint(target: Target, files: Files) -> tuple[str, ...]:
    if target.api == "openai":
        root = target.url.removesuffix("/v1")
        path = "/v1/chat/completions" if root != target.url else "/chat/completions"
        chat = ("--endpoint-type", "chat", "--custom-endpoint", path, "--url", root)
        return (*chat, "--use-server-token-count", "--use-legacy-max-tokens")
    path = f"/v2/models/{quote(target.model, safe='')}/generate_stream"
    extra = (f"payload_template:{files.template}", "response_field:text_output")
    return (
        *("--endpoint-type", "template", "--custom-endpoint", path, "--url", target.url),
        *(word for each in extra for word in ("--extra-inputs", each)),
    )


def _configured(target: Target, files: Files) -> dict[str, Any]:
    """The key, and what a configuration must have; AIPerf's arguments take precedence over it."""
    return {
        "endpoint": {"api_key": f"${{{KEY}}}", "urls": [target.url]},
        "models": [target.model],
        "datasets": [{"name": "main", "type": "file", "path": str(files.prompts), "format": "single_turn"}],
        "phases": [{"name": "profiling", "type": "concurrency", "concurrency": 1, "requests": 1}],
    }


def _limits(point: Point, load: Load) -> tuple[str, ...]:
    if point.concurrency is not None:
        streams, words = point.concurrency, ["--concurrency", str(point.concurrency)]
        words += ["--request-rate", str(LOOKS), "--request-rate-mode", "constant"]
        if streams > 1:
            words += ["--concurrency-ramp-duration", f"{min(RAMP_S, (load.seconds or RAMP_S) / 5):g}"]
    else:
        rate = point.rate or 1.0
        streams, words = max(1, round(rate)), ["--request-rate", f"{rate:g}", "--request-rate-mode", "poisson"]
    if load.warmup:
        words += ["--warmup-request-count", str(load.warmup * streams)]
    if load.requests is not None:
        words += ["--request-count", str(load.requests)]
    else:
        words += ["--benchmark-duration", f"{load.seconds or 1:g}", "--benchmark-grace-period", str(GRACE_S)]
    return tuple(words)


@dataclass(frozen=True, slots=True)
class Record:
    """A line of the records: a request with absolute times, in seconds since 1970."""

    start: float
    end: float
    request: Request
    """Its times count from 1970 too."""
    warmup: bool
    cancelled: bool
    message: str = ""
    """What the server said of its error."""


def record(line: str) -> Record | None:
    """A line of the records; None if it is not one, such as the last line of a process that was killed."""
    try:
        data = json.loads(line)
        meta, metrics, error = data["metadata"], data["metrics"], data.get("error")
        start, end = meta["request_start_ns"] / 1e9, meta["request_end_ns"] / 1e9
        request = Request(
            start_s=start,
            end_s=end,
            ttft_ms=_value(metrics, "time_to_first_token"),
            latency_ms=None if error else _value(metrics, "request_latency"),
            input_tokens=_count(metrics, "usage_prompt_tokens"),
            output_tokens=_count(metrics, "usage_completion_tokens") or _pieces(metrics),
            error=_error(error),
            wait_ms=max(0.0, start - meta.get("credit_issued_ns", start * 1e9) / 1e9) * 1000,
        )
        message = str(error.get("message") or "") if error else ""
        warmup = meta["benchmark_phase"] == "warmup"
        return Record(start, end, request, warmup, bool(meta.get("was_cancelled")), message)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _value(metrics: dict[str, Any], name: str) -> float | None:
    return float(metrics[name]["value"]) if name in metrics else None


def _count(metrics: dict[str, Any], name: str) -> int | None:
    return int(metrics[name]["value"]) if name in metrics else None


def _pieces(metrics: dict[str, Any]) -> int | None:
    """Pieces of text, which stand for tokens where the server counts none: ``generate_stream`` sends one for each."""
    gaps = metrics.get("inter_chunk_latency", {}).get("value")
    return len(gaps) + 1 if gaps is not None else None


def _error(error: dict[str, Any] | None) -> str:
    if not error:
        return ""
    code, kind = error.get("code"), str(error.get("type") or "").replace(EMPTY, "EmptyAnswer")
    return f"HTTP {code}" if isinstance(code, int) and code >= 400 else kind or str(error.get("message"))[:80]
