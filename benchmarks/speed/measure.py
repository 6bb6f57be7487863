"""Seconds in interleaved rounds, and the peak memory of another process."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np

# Calls shorter than this are repeated within a round, for about this long.
_SHORT = 0.05


def seconds_of(function):
    """Seconds of one call."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def interleaved(functions, rounds, budget):
    """Seconds by round of each function, {name: (rounds,)}, in turn.

    What the machine does beside slows all of one round alike, so ratios are taken
    within rounds. A first call of each is not counted; where it is short, a round is
    the median of some calls, as the first of them finds the caches full of the work of
    others. A function is left out of further rounds, with nan, once its calls have
    taken ``budget`` seconds.
    """
    seconds = {name: np.full(rounds, np.nan) for name in functions}
    spent = dict.fromkeys(functions, 0.0)
    calls = {}
    for name, function in functions.items():
        first = seconds_of(function)
        calls[name] = int(np.clip(_SHORT / first, 1, 50))
        # A call this slow needs no other to warm up.
        if first > budget / 2:
            seconds[name][0], spent[name] = first, first
    for turn in range(rounds):
        for name, function in functions.items():
            if np.isnan(seconds[name][turn]) and spent[name] < budget:
                times = [seconds_of(function) for _ in range(calls[name])]
                seconds[name][turn] = np.median(times)
                spent[name] += sum(times)
    return seconds


def median_ratio(above, below):
    """Median of the ratios of two series, over the rounds that both have."""
    ratios = above / below
    ratios = ratios[np.isfinite(ratios)]
    return float(np.median(ratios)) if len(ratios) else float("nan")


def anonymous_memory(pid):
    """Bytes of anonymous memory that a process holds now (Linux).

    Pages of files, such as libraries being loaded, are not counted.
    """
    for line in Path(f"/proc/{pid}/status").read_text("ascii").splitlines():
        if line.startswith("RssAnon:"):
            return 1024 * int(line.split()[1])
    raise RuntimeError(f"/proc/{pid}/status has no RssAnon: this needs Linux >= 4.5")


class PeakMemory:
    """Most bytes that a process held during a block beyond what it held before.

    Sampled each millisecond from outside, so that the process itself is not slowed.
    """

    def __init__(self, pid):
        self.pid = pid

    def __enter__(self):
        self.before = self.most = anonymous_memory(self.pid)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def _watch(self):
        while not self._ended.wait(1e-3):
            self.most = max(self.most, anonymous_memory(self.pid))

    def __exit__(self, *error):
        self._ended.set()
        self._thread.join()

    @property
    def bytes(self):
        return self.most - self.before
