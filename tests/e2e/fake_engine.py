"""A stand-in for an engine program: says numbers at a given rate, and fails, hangs or dies when it is told to.

    python fake_engine.py '{"step_s": 0.01, "log": "FILE", "load": "fail"}'

It does what an engine does, with the shipped ``engine_process.py`` of the folder ``engines`` beside the model. The
prompt says how an answer goes: ``error`` refuses it, ``broken`` fails it, ``die`` ends the process, ``hang`` says one
token and then nothing, ``child`` starts a process that would outlive this one; anything else is answered with
``0 1 2 …`` up to ``max_tokens``. A word of the prompt is a token. What the proxy said is appended to the
file ``log``, one JSON message a line.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, "engines")

from engine_process import Proxy, Refused


def main(settings: dict) -> None:
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
    while True:
        with changed:
            changed.wait_for(
                lambda: any(request["text"] != "hang" or not request["sent"] for request in running.values())
            )
            deltas = [step(proxy, request) for request in tuple(running.values())]
            for number, *_, finish in filter(None, deltas):
                if finish:
                    del running[number]
            for number in [number for number, request in running.items() if request.get("over")]:
                del running[number]
        if any(deltas):
            proxy.say([delta for delta in deltas if delta])
        time.sleep(settings.get("step_s", 0))


def step(proxy: Proxy, request: dict) -> tuple | None:
    if request["text"] in ("error", "broken"):
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


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
