"""FakeEvaluation: stands in for the process of ``evaluation.py``, with its order and its records, and misbehaves.

It sends nothing: half of its answers are right. ``$FAKE_EVALUATION`` is what it does: ``well``, ``some-fail`` (3%),
``empty``, ``fails`` (all), ``dies``, ``hangs`` (until SIGINT, after the first task), ``garbage``, or an error's code.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

QUESTIONS = 100


def item(task: str, at: int, behavior: str, *, sent: bool = True) -> dict[str, Any]:
    error = "" if sent else "not sent"
    if behavior == "fails" or (behavior == "some-fail" and at % 33 == 32):
        error = "HTTPError: 500 Server Error: Internal Server Error for url: http://127.0.0.1:1/v1/chat/completions"
    empty = behavior == "empty"
    score = None if error else 0.0 if empty else float(at % 2)
    answer = "" if error or empty else "an answer"
    texts = {"prompt": f"{task} {at}", "target": "an answer", "answer": answer}
    return {"id": at, "hash": f"{task}-{at}", "score": score, "error": error, **texts}


def record(task: str, count: int, behavior: str, sent: int = QUESTIONS) -> dict[str, Any]:
    items = [item(task, at, behavior, sent=at < sent) for at in range(count)]
    scores = [{"metric": "exact_match", "filter": "answer", "items": items}]
    return {"kind": "task", "task": task, "version": "1", "scores": scores}


def main() -> None:
    order = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    behavior = os.environ.get("FAKE_EVALUATION", "well")
    assert order["url"].endswith("/chat/completions")
    assert "key" not in order
    count = min(order["limit"] or QUESTIONS, QUESTIONS)
    print("2026-11-26:12:00:00 WARNING  [api_models:123] a warning of lm_eval")
    with Path(order["results"]).open("a", encoding="utf-8") as results:

        def keep(value: dict[str, Any]) -> None:
            results.write(json.dumps(value) + "\n")
            results.flush()

        if behavior in ("unknown", "loglikelihood", "broken", "dead"):
            keep({"kind": "error", "code": behavior, "task": "arc_easy", "why": "multiple_choice"})
            return
        if behavior == "garbage":
            results.write('[]\n{"kind": "task"}\nnot JSON\n{"kind": "ta')
            sys.exit(1)
        for number, task in enumerate(order["tasks"]):
            if behavior == "dies" and number:
                results.write('{"kind": "task", "task": "wiz')
                results.flush()
                os.kill(os.getpid(), signal.SIGKILL)
            if behavior == "hangs" and number:
                signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
                print(json.dumps({"task": task, "done": 30, "count": count, "failed": 0}), flush=True)
                signal.sigwait({signal.SIGINT})
                keep(record(task, count, behavior, sent=30))
                return
            print(json.dumps({"task": task, "done": count, "count": count, "failed": 0}), flush=True)
            keep(record(task, count, behavior))


if __name__ == "__main__":
    main()
