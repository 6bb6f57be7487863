"""Two revisions on the same cases, in turn and in one session.

A case is slower where the median over the rounds is above 15 % and above 50 ms: both,
as a ratio of two short times says little, and so does a difference of two long ones.
"""

from __future__ import annotations

import subprocess
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np

from .measure import median_ratio
from .worker import ROOT, Worker

RATIO, SECONDS = 1.15, 0.05

#: Pairs of problem and case that are compared.
COMPARED = (
    ("small", "smart"),
    ("small", "smart default"),
    ("small", "temperature"),
    ("small", "predict"),
    ("small", "search"),
    ("large", "smart"),
    ("large", "smart default"),
    ("large", "temperature"),
    ("large", "predict"),
    ("wide", "metric: expected_calibration_error"),
    ("wide", "metric: class-wise ECE, equal mass"),
    ("wide", "metric: log_loss"),
    ("wide", "metric: brier_score"),
    ("wide", "metric: calibration_report"),
)


@contextmanager
def _tree(revision):
    """The tree of a revision, or for None the one that this file is in."""
    if revision is None:
        yield ROOT
        return
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run(
            [*git, "add", "--quiet", "--detach", str(tree), revision], check=True
        )
        try:
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def is_slower(base, head):
    """Whether the seconds of ``head`` by round are above those of ``base``."""
    extra = float(np.median(head - base))
    return median_ratio(head, base) > RATIO and extra > SECONDS


def compare(base, head=None, *, rounds=7, problems=None):
    """Print a table, and return the names of the cases that are slower."""
    slower = []
    print("| problem | case | base, s | head, s | ratio | |")
    print("| --- | --- | --- | --- | --- | --- |")
    with _tree(base) as base_tree, _tree(head) as head_tree:
        for problem, case in COMPARED:
            if problems and problem not in problems:
                continue
            with ExitStack() as stack:
                workers = [
                    stack.enter_context(Worker(tree)) for tree in (base_tree, head_tree)
                ]
                missing = [worker.prepare(case, problem) for worker in workers]
                if any(missing):
                    side = "base" if missing[0] else "head"
                    print(
                        f"| {problem} | {case} | | | | only measured without {side} |"
                    )
                    continue
                seconds = _alternate(workers, rounds)
            verdict = "slower" if is_slower(*seconds) else ""
            if verdict:
                slower.append(f"{problem}: {case}")
            medians = [float(np.median(s)) for s in seconds]
            ratio = median_ratio(seconds[1], seconds[0])
            print(
                f"| {problem} | {case} | {medians[0]:.4f} | {medians[1]:.4f} "
                f"| {ratio:.2f} | {verdict} |",
                flush=True,
            )
    return slower


def _alternate(workers, rounds):
    """Seconds (2, rounds), either side first in every other round."""
    for worker in workers:
        worker.run()
    seconds = np.empty((2, rounds))
    for turn in range(rounds):
        for side in (0, 1) if turn % 2 else (1, 0):
            seconds[side, turn] = workers[side].run()
    return seconds
