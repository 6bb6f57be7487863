"""Calibration of a file of scores that is larger than memory may be.

    python benchmarks/large_files.py --folder . --rows 100000 1000000 --classes 1000

Writes float32 logits and labels to a memory-mapped file by blocks, fits temperature
scaling and SMART to it, writes their probabilities to another file, and deletes both.
Printed are the seconds and the largest anonymous memory beyond that at the start, which
is what a process must have; pages of files are not counted, as the system takes them
back. The first pass over a file that is not in memory depends on the disk: each file is
read once before. The largest difference from a fit and an answer in memory is taken on
the first 1000 rows.
"""

from __future__ import annotations

import argparse
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from sklearn_smart import SMARTCalibrator, TemperatureScaling

MAKERS = {
    "temperature": TemperatureScaling,
    "SMART, alpha=0.3": lambda **settings: SMARTCalibrator(alpha=0.3, **settings),
    "SMART": SMARTCalibrator,
}


def anonymous():
    """Anonymous memory of this process in bytes (Linux)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) * 1024
    raise SystemExit("RssAnon is not in /proc/self/status: this needs Linux")


@contextmanager
def watched():
    """Seconds and largest growth of anonymous memory of a block of work."""
    found = {"peak": 0}
    start, before = time.perf_counter(), anonymous()
    over = threading.Event()

    def watch():
        while not over.wait(0.01):
            found["peak"] = max(found["peak"], anonymous() - before)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield found
    finally:
        over.set()
        thread.join()
        found["seconds"] = time.perf_counter() - start


def write(path, n_rows, n_classes):
    """Scores that are too sure, written by blocks, mapped for reading; and labels."""
    rng = np.random.default_rng(0)
    scores = np.lib.format.open_memmap(path, "w+", np.float32, (n_rows, n_classes))
    labels = rng.integers(n_classes, size=n_rows)
    step = max(1, 4_000_000 // n_classes)
    for start in range(0, n_rows, step):
        rows = slice(start, min(start + step, n_rows))
        block = rng.standard_normal(
            (rows.stop - rows.start, n_classes), dtype=np.float32
        )
        block[np.arange(len(block)), labels[rows]] += 4
        scores[rows] = 2 * block
    scores.flush()
    return np.load(path, mmap_mode="r"), labels


def one_size(folder, n_rows, n_classes):
    scores, labels = write(folder / "scores.npy", n_rows, n_classes)
    scores.max()
    rows = {}
    for name, make in MAKERS.items():
        out = np.lib.format.open_memmap(
            folder / "out.npy", "w+", np.float32, scores.shape
        )
        calibrator = make(classes=n_classes)
        with watched() as fit:
            calibrator.fit(scores, labels)
        with watched() as answer:
            calibrator.predict_proba(scores, out=out)
        some = np.array(scores[:1000])
        difference = np.abs(out[:1000] - calibrator.predict_proba(some)).max()
        few = [
            make(classes=n_classes).fit(s[:1000], labels[:1000]) for s in (some, scores)
        ]
        difference = max(
            difference, np.abs(np.subtract(*(c.predict_proba(some) for c in few))).max()
        )
        rows[name] = fit, answer, difference
        print(
            f"{n_rows:>9}  {name:18}{fit['seconds']:8.1f}{fit['peak'] / 2**20:8.0f}"
            f"{answer['seconds']:10.1f}{answer['peak'] / 2**20:8.0f}{difference:12.1e}",
            flush=True,
        )
        del out
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path())
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--classes", type=int, default=1000)
    arguments = parser.parse_args()
    print(
        f"{'rows':>9}  {'method':18}{'fit s':>8}{'MiB':>8}{'predict s':>10}{'MiB':>8}"
    )
    found = []
    for n_rows in sorted(arguments.rows):
        with TemporaryDirectory(dir=arguments.folder) as folder:
            found.append(one_size(Path(folder), n_rows, arguments.classes))
    if len(found) > 1:
        factor = max(arguments.rows) / min(arguments.rows)
        for name in MAKERS:
            (fit, answer, _), (first_fit, first_answer, _) = (
                found[-1][name],
                found[0][name],
            )
            print(
                f"{name}: time per row at the largest, in units of the smallest: fit "
                f"{fit['seconds'] / first_fit['seconds'] / factor:.2f}, predict "
                f"{answer['seconds'] / first_answer['seconds'] / factor:.2f}"
            )


if __name__ == "__main__":
    main()
