"""Resampling by weights: how often each sample is drawn, and no copy of the data."""

from __future__ import annotations

import numpy as np

# Counts of a block of replicates: 8 MiB of float64.
_BLOCK_SIZE = 1_048_576


def resampled_counts(n_resamples, sample_weight, strata, rng):
    """Yield how often each of n samples is drawn, in blocks (r, n) of replicates.

    A replicate draws as many samples as there are: weights are frequencies, so that
    number is their sum, rounded, and the chance of a sample its share of it.

    Parameters
    ----------
    n_resamples : int
        Number of replicates in all.

    sample_weight : ndarray of shape (n,)
        Positive weights.

    strata : ndarray of shape (n,) or None
        Codes of the strata within which samples are drawn; None is one stratum.

    rng : numpy.random.RandomState
        Source of randomness.
    """
    n = len(sample_weight)
    draws = [(rows, _Draw(sample_weight[rows])) for rows in _groups(strata, n)]
    step = max(1, _BLOCK_SIZE // n)
    for start in range(0, n_resamples, step):
        counts = np.empty((min(step, n_resamples - start), n))
        for row in counts:
            for rows, draw in draws:
                row[rows] = draw(rng)
        yield counts


class _Draw:
    """Counts of samples drawn with replacement in proportion to their weights."""

    def __init__(self, weight):
        self.size = len(weight)
        self.n_draws = max(1, int(np.rint(weight.sum())))
        self.upto = None if (weight == weight[0]).all() else np.cumsum(weight)

    def __call__(self, rng):
        if self.upto is None:
            drawn = rng.randint(0, self.size, self.n_draws)
        else:
            place = self.upto[-1] * rng.random_sample(self.n_draws)
            drawn = np.minimum(np.searchsorted(self.upto, place), self.size - 1)
        return np.bincount(drawn, minlength=self.size)


def _groups(strata, n):
    if strata is None:
        return [slice(0, n)]
    order = np.argsort(strata, kind="stable")
    ends = np.flatnonzero(np.diff(strata[order])) + 1
    return np.split(order, ends)
