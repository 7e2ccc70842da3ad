"""How fast this machine's processor reads memory, and how many cores its threads amount to; measured in a few seconds.

Threads scan buffers that are far larger than any cache with ``memchr``, which uses the widest loads of the processor;
ctypes releases the interpreter's lock meanwhile. An engine reads its weights in the same way: once, in order. What all
cores compute together is compared with what one does alone: it is less than their number if some are slower, if a
container may use only a part of their time, or if other programs use them.
"""

from __future__ import annotations

import ctypes
import hashlib
import threading
import time
from dataclasses import dataclass

from wizard.kernel.units import MIB

BUFFER_BYTES = 256 * MIB
"""Of all threads together; larger than any processor's last-level cache but those of a few servers."""
ROUNDS_SECONDS = 2.0
"""Time spent reading; the fastest round counts, because other programs only make it slower."""


ROUNDS, ROUND_SECONDS = 3, 0.4
"""Rounds of computing, for one core and for all, and the time that each takes."""
CACHED = bytes(MIB // 4)
"""Fits into the cache of each core, so that memory does not matter."""


@dataclass(frozen=True, slots=True)
class CpuRates:
    """The rates of a processor.

    Attributes:
        processor: Its name; the rates do not apply to another one.
        cores: Threads that read at the same time.
        bandwidth: Bytes read from memory per second by all threads together.
        at: Date of the measurement, ISO 8601, UTC.
        effective: How many times as much all cores compute together as one alone; None if only reading was measured.
    """

    processor: str
    cores: int
    bandwidth: float
    at: str
    effective: float | None = None

    @property
    def computing(self) -> float:
        """Cores to count on."""
        return self.effective or float(self.cores)


def read_bandwidth(threads: int, *, total_bytes: int = BUFFER_BYTES, seconds: float = ROUNDS_SECONDS) -> float:
    """Bytes per second that ``threads`` read from memory.

    Raises:
        OSError: The C library has no ``memchr``.
        MemoryError: There is not enough free memory.
    """
    scan = _memchr()
    each = max(1, total_bytes // threads)
    buffers = [ctypes.create_string_buffer(each) for _ in range(threads)]
    for buffer in buffers:
        ctypes.memset(buffer, 1, each)  # otherwise all pages are the same one, full of zeros
    best, end = 0.0, time.perf_counter() + seconds
    while not best or time.perf_counter() < end:
        readers = [threading.Thread(target=scan, args=(buffer, 0, each)) for buffer in buffers]
        start = time.perf_counter()
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        best = max(best, each * threads / (time.perf_counter() - start))
    return best


def effective_cores(threads: int, *, seconds: float = ROUND_SECONDS) -> float:
    """How many times as much ``threads`` compute together as one alone; the best of `ROUNDS` rounds of each counts."""
    alone = max(_hashed(1, seconds) for _ in range(ROUNDS))
    together = max(_hashed(threads, seconds) for _ in range(ROUNDS))
    return min(float(threads), max(1.0, together / alone))


def _hashed(threads: int, seconds: float) -> float:
    """Bytes per second that ``threads`` hash: `hashlib` computes without the interpreter's lock."""
    done = [0] * threads
    start = time.perf_counter()

    def work(number: int) -> None:
        while not done[number] or time.perf_counter() < start + seconds:
            hashlib.sha512(CACHED)
            done[number] += len(CACHED)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(done) / (time.perf_counter() - start)


def _memchr() -> ctypes._NamedFuncPointer:
    try:
        scan = ctypes.CDLL(None).memchr
    except AttributeError as error:
        raise OSError("no memchr") from error
    scan.restype, scan.argtypes = ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t)
    return scan


def measured(processor: str, cores: int) -> CpuRates:
    """Measure now.

    Raises:
        OSError: See `read_bandwidth`.
        MemoryError: See `read_bandwidth`.
    """
    at = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())
    return CpuRates(processor, cores, read_bandwidth(cores), at, effective_cores(cores))
