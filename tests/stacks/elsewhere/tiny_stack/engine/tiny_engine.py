"""Counts up to ``max_tokens``."""

import threading

from engine_process import Front


def take(message):
    if ask := message.get("ask"):
        text = " ".join(map(str, range(ask["max_tokens"])))
        front.say([(ask["id"], text, ask["max_tokens"], "length")])


front = Front(take)
print("tiny weights: 5 MiB", flush=True)
front.ready()
threading.Event().wait()
