"""Logits and probabilities: softmax, the two largest logits, conversions.

Conventions
-----------
``logits`` is (n, K) with K >= 2 and finite. Every function is invariant to a
constant added to a row. Floating arrays keep their dtype; the passes over (n, K)
go by blocks of rows that fit into a processor's cache, so that no temporary array
of the size of the input is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

# Rows per block times classes: 1 MiB of float64, a typical second-level cache.
_BLOCK_SIZE = 131_072

# With fewer classes the loops along a row are too short to be fast: such blocks are
# transposed.
_FEW_CLASSES = 64


def row_blocks(n_rows: int, n_columns: int, n_blocks: int = 1) -> Iterator[slice]:
    """Slices that cover ``n_rows`` rows by blocks of about equal memory.

    With ``n_blocks`` they are so many times larger.
    """
    step = max(1, n_blocks * _BLOCK_SIZE // max(1, n_columns))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def softmax(logits: NDArray) -> NDArray:
    """Probabilities ``exp(z_k) / sum_j exp(z_j)`` by row."""
    return tempered_softmax(logits, 1.0)


def tempered_softmax(
    logits: NDArray,
    temperature: float | NDArray | Callable[[NDArray], NDArray],
    out: NDArray | None = None,
) -> NDArray:
    """``softmax(z / T)`` with one temperature, one per row, or a function of rows.

    A function gets a block of rows of ``logits`` and returns their temperatures, so
    that a temperature that depends on the row costs no second pass over memory. The
    answer is written to ``out`` where that is given.
    """
    if out is None:
        out = np.empty(logits.shape, dtype=logits.dtype)
    for rows, gaps in _tempered_gaps(logits, temperature, out):
        np.exp(gaps, out=gaps)
        # A sum of K float32 terms by numpy's pairwise order is off by less than an
        # ulp or two; float64 costs nothing here as it is one number a row.
        total = gaps.sum(axis=1, dtype=np.float64)
        gaps /= total.astype(gaps.dtype)[:, None]
        del rows
    return out


def margin_softmax(
    logits: NDArray,
    temperature_of_margin: Callable[[NDArray], NDArray],
    out: NDArray | None = None,
) -> NDArray:
    """``softmax(z / h(g))`` with a temperature of each row's margin ``g``.

    One pass by blocks. The largest probability of a row stands where its largest
    logit does, also where rounding would tie it with another, as after
    `keep_prediction`.
    """
    if out is None:
        out = np.empty(logits.shape, dtype=logits.dtype)
    few = logits.shape[1] < _FEW_CLASSES
    info = np.finfo(out.dtype)
    for rows in row_blocks(*logits.shape):
        block = logits[rows]
        if few:
            # Always a copy: the transpose of a single row is contiguous as it is.
            z = terms = np.array(block.T, order="C")
            top, runner_up = _two_largest(z)
        else:
            # Views with the classes first, too; numpy loops in memory's order.
            z, terms = block.T, out[rows].T
            top, runner_up, _ = _top_two(block, scratch=out[rows])
        # As in `_tempered_gaps`.
        with np.errstate(over="ignore", under="ignore"):
            gap = np.minimum(top - runner_up, info.max)
            beta = _in_dtype(1.0 / temperature_of_margin(gap), terms.dtype)
            np.subtract(z, top, out=terms)
            terms *= beta
            np.exp(terms, out=terms)
            total = terms.sum(axis=0, dtype=np.float64).astype(terms.dtype)
            np.divide(terms, total, out=out[rows].T)
            # Only a term this near to that of the largest logit, 1, could round to it.
            close = np.flatnonzero(gap * beta <= 16 * info.eps)
        if close.size:
            index = logits[rows][close].argmax(axis=1)
            out[rows][close] = keep_prediction(out[rows][close], index)
    return out


def _two_largest(z: NDArray) -> tuple[NDArray, NDArray]:
    """Largest and second largest along the first axis, equal where they tie.

    By halves: each step keeps the two largest of every pair of entries.
    """
    half = len(z) // 2
    high = np.maximum(z[:half], z[half : 2 * half])
    low = np.minimum(z[:half], z[half : 2 * half])
    if len(z) % 2:
        np.maximum(low[0], np.minimum(high[0], z[-1]), out=low[0])
        np.maximum(high[0], z[-1], out=high[0])
    while len(high) > 1:
        half = len(high) // 2
        first, second = high[:half], high[half : 2 * half]
        below = np.maximum(low[:half], low[half : 2 * half])
        np.maximum(below, np.minimum(first, second), out=below)
        above = np.maximum(first, second)
        if len(high) % 2:
            np.maximum(below[0], low[-1], out=below[0])
            np.maximum(below[0], np.minimum(above[0], high[-1]), out=below[0])
            np.maximum(above[0], high[-1], out=above[0])
        high, low = above, below
    return high[0], low[0]


def tempered_log_softmax(
    logits: NDArray, temperature: float | NDArray | Callable[[NDArray], NDArray]
) -> NDArray:
    """``log softmax(z / T)``, finite also where the probability underflows."""
    out = np.empty(logits.shape, dtype=logits.dtype)
    for _, gaps in _tempered_gaps(logits, temperature, out):
        total = np.exp(gaps).sum(axis=1, dtype=np.float64)
        gaps -= np.log(total).astype(gaps.dtype)[:, None]
    # Only the differences of numbers near the end of the dtype's range overflow.
    return np.maximum(out, np.finfo(out.dtype).min, out=out)


def _tempered_gaps(
    logits: NDArray,
    temperature: float | NDArray | Callable[[NDArray], NDArray],
    out: NDArray,
) -> Iterator[tuple[slice, NDArray]]:
    """Fill ``out`` with ``(z - max z) / T`` block by block, yielding each block."""
    for rows in row_blocks(*logits.shape):
        block, gaps = logits[rows], out[rows]
        divisor = temperature(block) if callable(temperature) else temperature
        if isinstance(temperature, np.ndarray):
            divisor = temperature[rows]
        beta = np.asarray(1.0 / np.asarray(divisor, dtype=np.float64))
        # Scores near the limits of the dtype may differ by more than it holds: the
        # gap is then -inf and its probability 0, which is right.
        with np.errstate(over="ignore", under="ignore"):
            np.subtract(block, block.max(axis=1, keepdims=True), out=gaps)
            gaps *= _in_dtype(beta, gaps.dtype).reshape(-1, 1)
        # 0 * inf: a gap of zero stays zero, whatever the temperature.
        yield rows, gaps


def _in_dtype(beta: NDArray, dtype: np.dtype) -> NDArray:
    info = np.finfo(dtype)
    return np.clip(beta, info.smallest_subnormal, info.max).astype(dtype)


def top_two(logits: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """The largest logit of each row, the runner-up, and the index of the largest.

    Ties go to the lowest index; the runner-up then equals the largest. Linear in K.
    """
    n, _ = logits.shape
    top = np.empty(n, dtype=logits.dtype)
    runner_up = np.empty(n, dtype=logits.dtype)
    index = np.empty(n, dtype=np.intp)
    for rows in row_blocks(*logits.shape):
        block = logits[rows]
        top[rows], runner_up[rows], index[rows] = _top_two(block, np.empty_like(block))
    return top, runner_up, index


def _top_two(block: NDArray, scratch: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """`top_two` of one block; ``scratch``, of its shape, is overwritten."""
    index = block.argmax(axis=1)
    at = np.arange(len(index))
    np.copyto(scratch, block)
    scratch[at, index] = -np.inf
    return block[at, index], scratch.max(axis=1), index


def predicted_class(scores: NDArray) -> NDArray:
    """Index of the largest score of each row; ties go to the lowest index.

    By blocks, as ``argmax`` copies an array that cannot be written to, such as a file
    that is mapped for reading.
    """
    index = np.empty(len(scores), dtype=np.intp)
    for rows in row_blocks(*scores.shape):
        index[rows] = scores[rows].argmax(axis=1)
    return index


def margin(logits: NDArray) -> NDArray:
    """``z_(1) - z_(2)``: top minus runner-up logit, shape (n,), >= 0."""
    top, runner_up, _ = top_two(logits)
    with np.errstate(over="ignore"):
        gap = top - runner_up
    return np.minimum(gap, np.finfo(gap.dtype).max)


def logits_from_probabilities(probabilities: NDArray) -> NDArray:
    """``log p`` with p clipped from below at the machine epsilon of its dtype.

    The bound depends on the dtype alone, never on the other rows of a batch.
    """
    return np.log(np.maximum(probabilities, np.finfo(probabilities.dtype).eps))


def two_columns(scores: NDArray) -> NDArray:
    """Logits ``(0, s)`` from log-odds ``s`` of the second class, (n,) to (n, 2)."""
    out = np.zeros((len(scores), 2), dtype=scores.dtype)
    out[:, 1] = scores
    return out


def keep_prediction(probabilities: NDArray, index: NDArray) -> NDArray:
    """Raise ``probabilities[i, index[i]]`` by one ulp where rounding tied it.

    In exact arithmetic the class ``index[i]`` has the largest probability of its row.
    Where rounding makes a class of lower index equal to it, ``argmax`` would name
    that class; the smallest step up restores the order. Works in place.
    """
    wrong = np.flatnonzero(probabilities.argmax(axis=1) != index)
    if wrong.size:
        largest = probabilities[wrong].max(axis=1)
        towards = np.array(np.inf, dtype=probabilities.dtype)
        probabilities[wrong, index[wrong]] = np.nextafter(largest, towards)
    return probabilities
