"""``python -m tests.fuzz [--inputs 20000] [--seed N] [--parser NAME]``: what random inputs come to, and the worst."""

from __future__ import annotations

import argparse
import multiprocessing
import random
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import partial

from tests.fuzz.inputs import Outcome, batch
from tests.fuzz.parsers import PARSERS

BATCH = 1000
"""Inputs of a process."""
MOST_SECONDS, MOST_MB = 10, 300


def batches(first: int, count: int) -> Iterator[list[int]]:
    for begin in range(0, count, BATCH):
        yield list(range(first + begin, first + min(begin + BATCH, count)))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=random.randrange(10**9))
    parser.add_argument("--parser", choices=[*PARSERS])
    given = parser.parse_args()
    print(f"seeds {given.seed} to {given.seed + given.inputs - 1}", flush=True)
    outcomes: list[Outcome] = []
    children, began = 0, time.monotonic()
    with multiprocessing.get_context("spawn").Pool(maxtasksperchild=1) as pool:
        work = pool.imap_unordered(partial(batch, parser=given.parser), batches(given.seed, given.inputs))
        for done, most in work:
            outcomes += done
            children = max(children, most)
    return report(outcomes, children, time.monotonic() - began)


def report(outcomes: list[Outcome], children: int, elapsed: float) -> int:
    by: dict[str, list[Outcome]] = defaultdict(list)
    for each in outcomes:
        by[each.parser].append(each)
    for name, those in sorted(by.items()):
        codes = ", ".join(f"{code} {count}" for code, count in Counter(each.code for each in those).most_common(6))
        slowest = max(each.seconds for each in those)
        print(f"{name:22} {len(those):6}  {slowest:6.2f} s  {max(each.mb for each in those):4} MB  {codes}")
    faults = [each for each in outcomes if each.fault]
    slow = [each for each in outcomes if each.seconds > MOST_SECONDS or each.mb > MOST_MB]
    for each in (*faults[:10], *slow[:10]):
        print(f"\nseed {each.seed} {each.parser}: {each.code}, {each.seconds:.1f} s, {each.mb} MB\n{each.fault}")
    print(
        f"{len(outcomes)} inputs in {elapsed:.0f} s: {len(faults)} tracebacks, {len(slow)} over {MOST_SECONDS} s or "
        f"{MOST_MB} MB; slowest {max(each.seconds for each in outcomes):.2f} s, most memory "
        f"{max(each.mb for each in outcomes)} MB, of a process with limits {children} MB"
    )
    return bool(faults or slow)


if __name__ == "__main__":
    raise SystemExit(main())
