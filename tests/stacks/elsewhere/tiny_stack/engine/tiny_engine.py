"""Counts up to ``max_tokens``."""

import threading

from engine_process import Proxy


def take(message):
    if ask := message.get("ask"):
        text = " ".join(map(str, range(ask["max_tokens"])))
        proxy.say([(ask["id"], text, ask["max_tokens"], "length")])


proxy = Proxy(take)
print("tiny weights: 5 MiB", flush=True)
proxy.ready()
threading.Event().wait()
