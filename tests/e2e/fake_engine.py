"""A stand-in for an engine program: says numbers at a given rate, and fails, hangs or dies when it is told to.

    python fake_engine.py '{"step_s": 0.01, "log": "FILE", "load": "fail"}'

It does what an engine does, with the shipped ``engine_process.py`` of the folder ``engines`` beside the model. The
prompt says how an answer goes: ``error`` refuses it, ``broken`` fails it, ``die`` ends the process, ``hang`` says one
token and then nothing, ``child`` starts a process that would outlive this one; anything else is answered with
``0 1 2 …`` up to ``max_tokens``. What the proxy said is appended to the file ``log``, one JSON message a line.
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
                running[message["ask"]["id"]] = {**message["ask"], "said": 0}
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
            changed.wait_for(lambda: any(one["text"] != "hang" or not one["said"] for one in running.values()))
            deltas = [step(proxy, one) for one in tuple(running.values())]
            for number, *_, finish in filter(None, deltas):
                if finish:
                    del running[number]
            for number in [number for number, one in running.items() if one.get("over")]:
                del running[number]
        if any(deltas):
            proxy.say([delta for delta in deltas if delta])
        time.sleep(settings.get("step_s", 0))


def step(proxy: Proxy, one: dict) -> tuple | None:
    if one["text"] in ("error", "broken"):
        error = Refused("this is refused") if one["text"] == "error" else KeyError("a defect")
        one["over"] = True
        proxy.refuse(one["id"], error)
        return None
    if one["text"] == "die" and one["said"] == 2:
        os.kill(os.getpid(), 9)
    if one["text"] == "child" and not one["said"]:
        subprocess.Popen(["sleep", "600"])
    if one["text"] == "hang" and one["said"]:
        return None
    one["said"] += 1
    finish = "length" if one["said"] >= one["max_tokens"] else ""
    return (one["id"], f"{one['said'] - 1} ", one["said"], finish)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
