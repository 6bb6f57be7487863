"""The arrays that are calibrated: made from a seed, or read from a file of scores."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Problem:
    """Over-confident logits whose right temperature depends on the margin.

    ``path`` names a file of ``val_logits, val_labels, test_logits, test_labels`` that
    takes the place of the made arrays.
    """

    n: int
    n_classes: int
    dtype: str
    n_test: int = 0
    path: str | None = None

    @cached_property
    def calibration(self):
        """Logits (n, K) and labels (n,) to fit on."""
        if self.path is None:
            return _draw(self.n, self.n_classes, self.dtype, seed=0)
        return self._read("val")

    @property
    def test(self):
        """Logits and labels that no fit has seen."""
        if self.path is None:
            return _draw(self.n_test, self.n_classes, self.dtype, seed=1)
        return self._read("test")

    @property
    def logits(self):
        return self.calibration[0]

    @property
    def y(self):
        return self.calibration[1]

    def __str__(self):
        source = f", {Path(self.path).stem}" if self.path else ""
        return f"{self.n:,} x {self.n_classes:,}, {self.dtype}{source}"

    def _read(self, part):
        with np.load(self.path, allow_pickle=False) as file:
            logits, y = file[f"{part}_logits"], file[f"{part}_labels"]
        return np.ascontiguousarray(logits, dtype=self.dtype), y.astype(np.int64)


def from_file(path, dtype="float64"):
    """The problem of a file of scores."""
    with np.load(path, allow_pickle=False) as file:
        shape = file["val_logits"].shape
    return Problem(*shape, dtype, path=str(path))


def _draw(n, n_classes, dtype, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    logits = rng.normal(size=(n, n_classes))
    logits[np.arange(n), y] += 1.5 * np.sqrt(np.log(n_classes))
    logits *= 2.0 * rng.uniform(0.5, 3.0, size=(n, 1))
    return logits.astype(dtype), y


PROBLEMS = {
    # The suite itself can be tried on this one in seconds.
    "tiny": Problem(500, 4, "float64", n_test=2_000),
    "small": Problem(5_000, 10, "float64", n_test=100_000),
    "large": Problem(25_000, 1_000, "float32"),
    "wide": Problem(2_000, 20_000, "float32"),
}
