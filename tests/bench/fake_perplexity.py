"""FakePerplexity: stands in for llama-perplexity, with its options and its output (``recorded/``, October 2026).

``$FAKE_PERPLEXITY`` is what it does: ``well``, ``short`` (text), ``unloadable`` (model); ``dies`` or ``hangs`` after
the first chunk; ``hangs-later``: after three chunks of the comparison with the reference; ``nan`` or ``nan-later``: the
predictions are no numbers, and it goes on to the end all the same, which here never comes. As the real one
(``LOG("[%d]%.4lf,", …)`` in perplexity.cpp), it ends no line between the chunks of a single file.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path

RECORDED = Path(__file__).parent / "recorded"
SHORT = """perplexity: you need at least 1024 tokens to evaluate perplexity with a context of 512
perplexity: the data file you provided tokenizes to only 203 tokens
"""
UNLOADABLE = """0.00.047.092 E llama_model_load: error loading model: tensor data is not within bounds
0.00.047.175 E llama_perplexity: unable to load model
"""


def main() -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for name in ("-c", "-f", "-m", "--kl-divergence-base"):
        parser.add_argument(name)
    parser.add_argument("--kl-divergence", action="store_true")
    given = parser.parse_args()
    behavior = os.environ.get("FAKE_PERPLEXITY", "well")
    if behavior == "short":
        sys.stdout.write(SHORT)
        return
    if behavior == "unloadable":
        sys.stdout.write(UNLOADABLE)
        sys.exit(1)
    if given.kl_divergence:
        assert Path(given.kl_divergence_base).is_file()
        compare(behavior)
        return
    if given.kl_divergence_base:
        Path(given.kl_divergence_base).write_bytes(b"_logits_")
    text = (RECORDED / "llama-perplexity-base.txt").read_text(encoding="utf-8")
    head, _, rest = text.partition("[2]")
    print(head, end="", flush=True)
    if behavior == "nan":
        print("[2]-nan,", end="", flush=True)
    if behavior in ("hangs", "nan"):
        signal.pause()
    if behavior == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    sys.stdout.write("[2]" + rest)


def compare(behavior: str) -> None:
    text = (RECORDED / "llama-perplexity-kld.txt").read_text(encoding="utf-8")
    head, mark, rest = text.partition("   4    ")
    print(head, end="", flush=True)
    if behavior == "nan-later":
        print("   4          nan ±       nan           nan ±        nan", end="", flush=True)
        print("           nan ±        nan     0.000 ±   -nan %     0.000 ±  0.000 %", flush=True)
    if behavior in ("hangs-later", "nan-later"):
        signal.pause()
    sys.stdout.write(mark + rest)


if __name__ == "__main__":
    main()
