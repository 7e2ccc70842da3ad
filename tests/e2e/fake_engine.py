"""A stand-in for an engine program: says numbers at a given rate, and fails, hangs or dies when it is told to.

    python fake_engine.py '{"step_s": 0.01, "log": "FILE", "load": "fail"}'

It does what an engine does, with the shipped ``engine_process.py`` of the folder ``engines`` beside the model. The
prompt says how an answer goes: ``error`` refuses it, ``broken`` fails it, ``die`` ends the process, ``hang`` says one
token and then nothing, ``child`` starts a process that would outlive this one; anything else is answered with
``0 1 2 …`` up to ``max_tokens``. A word of the prompt is a token. What the proxy said is appended to the
file ``log``, one JSON message a line.

With ``"says": "thoughts"`` it is a thinking model, in pieces of three characters. Its text is made as Qwen3 makes it
(its template: Qwen-Qwen3-0.6B.jinja of llama.cpp): the thought between ``<think>`` and ``</think>``, unless the prompt
ends with an empty one. A question with ``forever`` is thought about without end.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

THOUGHT = "<think>\nLet me think about it.\n\nSECRET: 42, I suppose.\n</think>\n\n"
FOREVER = "Wait, let me check that again. "
SIZE = 3


def main(settings: dict) -> None:
    sys.path.insert(0, "engines")
    from engine_process import Proxy

    log = Path(settings["log"]).open("a", buffering=1)  # noqa: SIM115 - as long as the process
    running: dict[int, dict] = {}
    changed = threading.Condition()

    def take(message: dict) -> None:
        log.write(json.dumps(message) + "\n")
        with changed:
            if "ask" in message:
                running[message["ask"]["id"]] = {**message["ask"], "sent": 0}
            else:
                running.pop(message["cancel"], None)
            changed.notify()

    proxy = Proxy(take)
    log.write(json.dumps({"pid": os.getpid(), "cwd": str(Path.cwd()), "env": dict(os.environ)}) + "\n")
    print("loading the weights", flush=True)
    if settings.get("load") == "fail":
        print("progress 10%\rprogress 20%", flush=True)
        raise MemoryError("no memory for the weights")
    if settings.get("load") == "hang":
        threading.Event().wait()
    proxy.ready()
    step = thought if settings.get("says") == "thoughts" else number
    while True:
        with changed:
            changed.wait_for(
                lambda: any(request["text"] != "hang" or not request["sent"] for request in running.values())
            )
            deltas = [step(proxy, request) for request in tuple(running.values())]
            for ended, *_, finish in filter(None, deltas):
                if finish:
                    del running[ended]
            for ended in [ended for ended, request in running.items() if request.get("over")]:
                del running[ended]
        if any(deltas):
            proxy.say([delta for delta in deltas if delta])
        with changed:  # the rate of its steps
            changed.wait_for(lambda: not running, settings.get("step_s", 0))


def number(proxy: Any, request: dict) -> tuple | None:
    if request["text"] in ("error", "broken"):
        from engine_process import Refused

        error = Refused("this is refused") if request["text"] == "error" else KeyError("a defect")
        request["over"] = True
        proxy.refuse(request["id"], error)
        return None
    if request["text"] == "die" and request["sent"] == 2:
        os.kill(os.getpid(), 9)
    if request["text"] == "child" and not request["sent"]:
        subprocess.Popen(["sleep", "600"])
    if request["text"] == "hang" and request["sent"]:
        return None
    if not request["sent"]:
        proxy.count(request["id"], len(request["text"].split()))
    request["sent"] += 1
    finish = "length" if request["sent"] >= request["max_tokens"] else ""
    return (request["id"], f"{request['sent'] - 1} ", request["sent"], finish)


def thought(_proxy: object, request: dict) -> tuple[int, str, int, str]:
    prompt = request["text"]
    thinks = not prompt.endswith("</think>\n\n")
    question = prompt.rpartition("<|im_start|>user\n")[2].partition("<|im_end|>")[0]
    if "forever" in question and thinks:
        whole = "<think>\n" + FOREVER * (request["sent"] // 2 + 2)
    else:
        whole = f"{THOUGHT if thinks else ''}You asked: {question}"
    start = SIZE * request["sent"]
    request["sent"] += 1
    finish = "length" if request["sent"] >= request["max_tokens"] else "stop" if start + SIZE >= len(whole) else ""
    return request["id"], whole[start : start + SIZE], request["sent"], finish


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
