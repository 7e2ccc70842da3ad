"""FakeAiperf: stands in for AIPerf's process, with its command line and its records (0.13.0), and misbehaves.

Made from the output in ``recorded/`` and from ``aiperf profile --help``. It sends nothing: its records are the recorded
ones, repeated, with times as a server would take: ``$FAKE_AIPERF_FULL`` is the number of streams that make each twice
as slow. ``$FAKE_AIPERF`` is what it does: ``well``, ``dies``, ``hangs``,
``garbage``, ``nothing``, ``fails`` (all requests), ``some-fail`` (3%), ``server-dies`` (all from the 10th on).
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parent / "recorded" / "profile_export.jsonl"
LINES = [json.loads(line) for line in RECORDED.read_text(encoding="utf-8").splitlines()]
GOOD = next(line for line in LINES if not line.get("error") and line["metadata"]["benchmark_phase"] == "profiling")
BAD = next(line for line in LINES if line.get("error"))
ANSWER_NS = 120_000_000


def record(number: int, streams: int, begin: int, *, warmup: bool, fails: bool) -> dict[str, Any]:
    """A record like the recorded ones, of the request ``number`` of a closed loop."""
    made = copy.deepcopy(BAD if fails else GOOD)
    slow = 1 + streams / float(os.environ.get("FAKE_AIPERF_FULL", "inf"))
    answer = round(ANSWER_NS * slow)
    for name in ("time_to_first_token", "request_latency") if not fails else ():
        made["metrics"][name]["value"] *= slow
    start = begin + (number // streams) * answer + (number % streams) * 1_000_000
    times = {"credit_issued_ns": start - 500_000, "request_start_ns": start, "request_end_ns": start + answer}
    made["metadata"].update(times, benchmark_phase="warmup" if warmup else "profiling")
    return made


def fails(behavior: str, number: int) -> bool:
    """Whether the request ``number`` fails."""
    return (
        behavior == "fails"
        or (behavior == "some-fail" and number % 33 == 32)
        or (behavior == "server-dies" and number >= 10)
    )


def main() -> None:
    """Write the records."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("profile")
    for name in ("model-names", "endpoint-type", "custom-endpoint", "url", "tokenizer", "input-file", "random-seed"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("custom-dataset-type", "ui-type", "request-timeout-seconds", "output-artifact-dir"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("concurrency", "warmup-request-count", "request-count", "benchmark-grace-period", "workers-max"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--request-rate", type=float)
    parser.add_argument("--concurrency-ramp-duration", type=float)
    parser.add_argument("--benchmark-duration", type=float)
    parser.add_argument("--request-rate-mode")
    parser.add_argument("--config")
    parser.add_argument("--extra-inputs", action="append")
    for name in ("streaming", "use-server-token-count", "use-legacy-max-tokens", "no-gpu-telemetry"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--no-server-metrics", action="store_true")
    given = parser.parse_args()
    for path in (Path(given.input_file), Path(given.tokenizer) / "tokenizer.json"):
        assert path.is_file(), path
    assert json.loads(Path(given.input_file).read_text(encoding="utf-8").splitlines()[0])["output_length"] > 0
    assert "HF_TOKEN" not in os.environ
    write(given, os.environ.get("FAKE_AIPERF", "well"))


def write(given: argparse.Namespace, behavior: str) -> None:
    """Write what ``behavior`` says."""
    folder = Path(given.output_artifact_dir)
    folder.mkdir(parents=True)
    signal.signal(signal.SIGINT, lambda *_: sys.exit(130))
    streams = given.concurrency or 4
    count = given.request_count or max(8, int(given.benchmark_duration * streams * 1e9 / ANSWER_NS))
    begin = time.time_ns()
    with (folder / "profile_export.jsonl").open("w", encoding="utf-8") as file:
        if behavior == "nothing":
            return
        if behavior == "garbage":
            file.write('{"metadata": {}}\nnot JSON\n\x00\xff\n[]\n{"metadata": {"request_start_ns": "soon"}')
            return
        for number in range(given.warmup_request_count or 0):
            made = record(number, streams, begin - 10**9, warmup=True, fails=behavior == "fails")
            file.write(json.dumps(made) + "\n")
        for number in range(count):
            made = record(number, streams, begin, warmup=False, fails=fails(behavior, number))
            file.write(json.dumps(made) + "\n")
            file.flush()
            if number == count // 2:
                half_way(behavior, file.name)
    if behavior in ("fails", "server-dies"):
        print(f"│    Reason: All {count} inference request(s) failed. │")
        sys.exit(1)


def half_way(behavior: str, name: str) -> None:
    """What happens after half of the requests."""
    if behavior == "dies":
        print("12:00:00.000 ERROR    Failed for SystemController (id=system_controller): the worker has died")
        with Path(name).open("a", encoding="utf-8") as file:
            file.write('{"metadata": {"session_num": 4, "x_requ')
        os.kill(os.getpid(), signal.SIGKILL)
    if behavior == "hangs":
        Path(name).with_name("hanging").touch()
        signal.pause()


if __name__ == "__main__":
    main()
