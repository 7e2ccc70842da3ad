"""A stand-in for an engine with a thinking model: thinks, then answers, in pieces of three characters.

    python fake_thinker.py '{"step_s": 0.002, "log": "FILE"}'

Its text is made as Qwen3 makes it (its template: Qwen-Qwen3-0.6B.jinja of llama.cpp): the thought between ``<think>``
and ``</think>``, unless the prompt ends with an empty one. A question with ``forever`` is thought about without end.
What the proxy sent is appended to the file ``log``, one JSON message a line.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path

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
    proxy.ready()
    while True:
        with changed:
            changed.wait_for(lambda: running)
            deltas = [step(request) for request in running.values()]
            for number, _text, _tokens, finish in deltas:
                if finish:
                    del running[number]
        proxy.say(deltas)
        time.sleep(settings.get("step_s", 0))


def step(request: dict) -> tuple[int, str, int, str]:
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
