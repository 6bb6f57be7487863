"""Signals: one number per row of logits, on which its temperature may depend.

Every signal is invariant to a constant added to a row, and is taken of the logits in
units of ``unit`` (the fitted single temperature), so that a change of scale of all
logits leaves the standardised signal as it was.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, logsumexp

from .logits import margin, row_blocks, tempered_softmax

# Sharpness of the soft maximum over the rivals of the top class.
_TAIL_SHARPNESS = 5.0


def _margin(logits: NDArray, unit: float) -> NDArray:
    # In units of the logits: standardising makes any unit the same.
    return margin(logits)


def _top_logit(logits: NDArray, unit: float) -> NDArray:
    return (logits.max(axis=1) - logits.mean(axis=1)) / unit


def _confidence(logits: NDArray, unit: float) -> NDArray:
    return tempered_softmax(logits, unit).max(axis=1)


def _entropy(logits: NDArray, unit: float) -> NDArray:
    return entr(tempered_softmax(logits, unit)).sum(axis=1)


def _participation_ratio(logits: NDArray, unit: float) -> NDArray:
    probabilities = tempered_softmax(logits, unit)
    return 1.0 / np.einsum("ij,ij->i", probabilities, probabilities)


def _soft_tail_gap(logits: NDArray, unit: float) -> NDArray:
    at = np.arange(len(logits))
    arg = logits.argmax(axis=1)
    gaps = (logits - logits[at, arg][:, None]) * (_TAIL_SHARPNESS / unit)
    gaps[at, arg] = -np.inf
    return -logsumexp(gaps, axis=1) / _TAIL_SHARPNESS


SIGNALS: dict[str, Callable[[NDArray, float], NDArray]] = {
    "margin": _margin,
    "soft_tail_gap": _soft_tail_gap,
    "participation_ratio": _participation_ratio,
    "top_logit": _top_logit,
    "confidence": _confidence,
    "entropy": _entropy,
}


def signal(name: str, logits: NDArray, unit: float) -> NDArray:
    """The signal of every row, float64 (n,), computed by blocks."""
    out = np.empty(len(logits))
    for rows in row_blocks(*logits.shape):
        out[rows] = SIGNALS[name](logits[rows], unit)
    return out


def weighted_moments(values: NDArray, weight: NDArray) -> tuple[float, float]:
    """Mean and standard deviation (ddof 0); the latter 1 where all values agree."""
    share = weight / weight.sum()
    mean = float(share @ values)
    spread = float(np.sqrt(share @ (values - mean) ** 2))
    # Rounding of equal values is not a spread that one could divide by.
    tiny = 1e-12 * float(np.abs(values).max(initial=0.0))
    return mean, spread if spread > tiny else 1.0


def sorted_gaps(logits: NDArray, n_logits: int, temperature: float) -> NDArray:
    """Distances of the next largest logits from the largest, by temperature.

    (n, m - 1) in float64, increasing along a row, with ``m = min(n_logits, K)``.
    """
    n, n_classes = logits.shape
    seen = min(n_logits, n_classes)
    out = np.empty((n, seen - 1))
    for rows in row_blocks(n, n_classes):
        block = logits[rows]
        if seen < n_classes:
            block = np.partition(block, n_classes - seen, axis=1)[:, -seen:]
        ordered = np.sort(block, axis=1)[:, ::-1].astype(np.float64)
        out[rows] = (ordered[:, :1] - ordered[:, 1:]) / temperature
    return out
