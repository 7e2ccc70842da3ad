"""Runs tasks of lm-evaluation-harness 0.4.13 in its own environment: ``python evaluation.py ORDER.json``.

The only file that imports it, and never in the wizard's process. Prompts, datasets, filters and scores are lm_eval's,
and requests are sent by its ``local-chat-completions``. What it lacks is added: a failed request is recorded instead of
ending the evaluation, and SIGINT ends it with what was answered so far.

Reads an order: tasks, folders, url, model, concurrency, limit, osl, results. Writes an object per line to the file
``results``: ``{"kind": "task", …}`` after each task, or ``{"kind": "error", "code", "task", "why"}``. Standard output
has a line of progress per answer: ``{"task", "done", "count", "failed"}``.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

IN_A_ROW = 20
"""Failed requests in a row after which the server counts as dead."""
NOT_SENT = "not sent"
STOP = threading.Event()


class OrderError(Exception):
    """A task that cannot be evaluated."""

    def __init__(self, code: str, task: str, why: str = "") -> None:
        super().__init__(why)
        self.record = {"kind": "error", "code": code, "task": task, "why": why}


def leaves(manager: Any, name: str) -> Iterator[str]:
    """The tasks in a group or tag; a task itself."""
    entry = manager.task_index.get(name)
    if entry is None:
        raise OrderError("unknown", name, ", ".join(_similar(name, manager.all_tasks)))
    children = (entry.cfg or {}).get("task") if entry.kind.name == "GROUP" else sorted(entry.tags)
    if entry.kind.name not in ("GROUP", "TAG"):
        yield name
        return
    for child in children or ():
        yield from leaves(manager, child if isinstance(child, str) else str(child.get("task")))


def _similar(name: str, known: list[str]) -> list[str]:
    from difflib import get_close_matches

    return get_close_matches(name, known, 3, 0.7)


def checked(manager: Any, names: list[str]) -> list[str]:
    """The tasks that ``names`` stand for, all of which generate text; nothing is downloaded for this."""
    results = list(dict.fromkeys(leaf for name in names for leaf in leaves(manager, name)))
    for name in results:
        kind = (manager.task_index[name].cfg or {}).get("output_type", "generate_until")
        if kind != "generate_until":
            raise OrderError("loglikelihood", name, kind)
    return results


def loaded(manager: Any, name: str) -> Any:
    """The task with its dataset; a dataset's path is relative to the task's file."""
    path = manager.task_index[name].yaml_path
    if path is not None:
        os.chdir(Path(path).parent)
    try:
        (task,) = manager.load([name])["tasks"].values()
    except Exception as error:
        raise OrderError("broken", name, f"{type(error).__name__}: {error}") from error
    if task.OUTPUT_TYPE != "generate_until":
        raise OrderError("loglikelihood", name, str(task.OUTPUT_TYPE))
    return task


def model_of(order: dict[str, Any]) -> Any:
    """lm_eval's client, which records failures."""
    from lm_eval.models.openai_completions import LocalChatCompletion  # type: ignore[import-not-found]

    class Recorder(LocalChatCompletion):  # type: ignore[misc]
        """Sends single requests and records which failed."""

        task = ""
        errors: dict[int, str]
        dead = ""

        def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
            del disable_tqdm  # there are no bars
            answers = [""] * len(requests)
            self.errors = {request.doc_id: NOT_SENT for request in requests}
            pool = ThreadPoolExecutor(order["concurrency"])
            send = super().generate_until
            futures: dict[Future[list[str]], int] = {
                pool.submit(send, [request]): at for at, request in enumerate(requests)
            }
            pending, failing, failed = set(futures), 0, 0
            while pending and not STOP.is_set() and not self.dead:
                ended, pending = wait(pending, 0.2, FIRST_COMPLETED)
                for future in ended:
                    at = futures[future]
                    try:
                        answers[at] = future.result()[0]
                        failing = 0
                        del self.errors[requests[at].doc_id]
                    except Exception as error:
                        failing, failed = failing + 1, failed + 1
                        self.errors[requests[at].doc_id] = f"{type(error).__name__}: {error}"[:200]
                    done = len(requests) - len(pending)
                    say({"task": self.task, "done": done, "count": len(requests), "failed": failed})
                if failing >= IN_A_ROW:
                    self.dead = next(iter(each for each in self.errors.values() if each != NOT_SENT))
            pool.shutdown(wait=False, cancel_futures=True)
            return answers

    return Recorder(
        base_url=order["url"],
        model=order["model"],
        tokenizer_backend=None,
        tokenized_requests=False,
        num_concurrent=1,
        max_retries=1,
        timeout=300,
    )


def evaluated(manager: Any, task: Any, model: Any, order: dict[str, Any]) -> dict[str, Any]:
    """Evaluate a task; its record."""
    from lm_eval import simple_evaluate  # type: ignore[import-not-found]

    name = model.task = task.config.task
    try:
        results = simple_evaluate(
            model=model,
            tasks=[task],
            task_manager=manager,  # otherwise it reads all of its files for each task
            limit=order["limit"],
            gen_kwargs={"max_gen_toks": order["osl"]} if order["osl"] else None,
            apply_chat_template=True,
            bootstrap_iters=0,
            confirm_run_unsafe_code=False,
        )
    except Exception as error:
        raise OrderError("broken", name, f"{type(error).__name__}: {error}") from error
    scores: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for sample in results["samples"][name]:
        metric = next((each for each in sample["metrics"] if _is_score(sample.get(each))), None)
        if metric is not None:
            scores.setdefault((metric, sample["filter"]), []).append(_item(sample, metric, model.errors))
    if not scores:
        raise OrderError("broken", name, "no metric has a number for each question")
    version = str(results.get("versions", {}).get(name, ""))
    rows = [{"metric": metric, "filter": filtered, "items": items} for (metric, filtered), items in scores.items()]
    return {"kind": "task", "task": name, "version": version, "scores": rows}


def _is_score(value: Any) -> bool:
    return isinstance(value, (bool, int, float)) or hasattr(value, "dtype")


def _item(sample: dict[str, Any], metric: str, errors: dict[int, str]) -> dict[str, Any]:
    error = errors.get(sample["doc_id"], "")
    answer = sample["resps"][0][0]
    return {
        "id": sample["doc_id"],
        "hash": sample["prompt_hash"],
        "score": None if error else float(sample[metric]),
        "error": error,
        "prompt": str(sample["arguments"][0][0]),
        "target": str(sample["target"]),
        "answer": answer if isinstance(answer, str) else str(answer),
    }


def say(value: dict[str, Any]) -> None:
    """A line of progress."""
    os.write(PROGRESS, f"\n{json.dumps(value)}\n".encode())


def main(order: dict[str, Any]) -> None:
    """Evaluate all tasks of an order."""
    from lm_eval.tasks import TaskManager  # type: ignore[import-not-found]

    with Path(order["results"]).open("a", encoding="utf-8") as results:

        def keep(record: dict[str, Any]) -> None:
            results.write(json.dumps(record) + "\n")
            results.flush()

        try:
            manager = TaskManager(include_path=order["folders"], include_defaults=False)
            if any(name not in manager.task_index for name in order["tasks"]):  # its own are thousands of files
                manager = TaskManager(include_path=order["folders"])
            names = checked(manager, order["tasks"])
            tasks = [loaded(manager, name) for name in names]
            model = model_of(order)
            for task in tasks:
                if not STOP.is_set():
                    keep(evaluated(manager, task, model, order))
                if model.dead:
                    raise OrderError("dead", task.config.task, model.dead)
        except OrderError as error:
            keep(error.record)


if __name__ == "__main__":
    PROGRESS = os.dup(1)
    os.dup2(2, 1)  # what lm_eval and its libraries print
    signal.signal(signal.SIGINT, lambda *_: STOP.set())
    main(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    sys.stderr.flush()
    os._exit(0)  # requests that still run do not delay it
