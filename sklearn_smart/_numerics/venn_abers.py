"""Isotonic regressions of a sample with one more point, for every place of it.

With cumulated weights and positives of the distinct values as points of a plane, an
isotonic regression is the slope of the greatest convex minorant. One more point of
weight 1 at a place shifts everything behind it; its value is the slope of the common
tangent of the hull before and of the shifted hull behind. Both hulls change by one
point from place to place.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def venn_abers_curves(mass: NDArray, positive: NDArray) -> tuple[NDArray, NDArray]:
    """``p_0`` and ``p_1`` at and between the distinct values.

    Parameters
    ----------
    mass, positive : ndarray of shape (m,)
        Weight, and weight of the positives, of each distinct value in order.

    Returns
    -------
    low, high : ndarray of shape (2 m + 1,)
        The isotonic regression at a new point of weight 1 without, and with, the event.
        Entry ``2 i + 1`` is at the i-th value, where the point joins its block; entry
        ``2 i`` in the gap before it, 0 and ``2 m`` outside of all.
    """
    high = _with_event(mass, positive)
    # Without an event, seen from the other end, it is an event of the mirror image.
    mirrored = _with_event(mass[::-1], (mass - positive)[::-1])
    return 1 - mirrored[::-1], high


def _with_event(mass: NDArray, positive: NDArray) -> NDArray:
    """The isotonic regression at a new point with the event, (2 m + 1,).

    It is ``max over a <= i of min over b >= i of (S_ab + 1) / (W_ab + 1)``, which the
    block of everything from a to the new point's right neighbours reaches; a block that
    ends at the point itself is never better for it, as its own value is 1.
    """
    m = len(mass)
    # Lists: their items are numbers of Python, which a loop handles faster.
    x = [0.0, *np.cumsum(mass).tolist()]
    y = [0.0, *np.cumsum(positive).tolist()]
    out = np.empty(2 * m + 1)
    # Right hulls: the lower convex hull of the points i..m, as a chain of successors.
    following = [-1] * (m + 1)
    for i in range(m - 1, -1, -1):
        k = i + 1
        while following[k] >= 0 and _slope(x, y, i, k) >= _slope(x, y, i, following[k]):
            k = following[k]
        following[i] = k
    left = [0]  # the hull of the points 0..i
    for i in range(m + 1):
        if i > 0:
            while len(left) > 1 and _slope(x, y, left[-2], i) <= _slope(
                x, y, left[-2], left[-1]
            ):
                left.pop()
            left.append(i)
        # In the gap before value i the points i..m lie behind the new one.
        out[2 * i] = _tangent(x, y, left, following, i)
        if i < m:
            # At value i the block of the value itself lies behind: points i + 1..m.
            out[2 * i + 1] = _tangent(x, y, left, following, i + 1)
    return out


def _slope(x: list[float], y: list[float], a: int, b: int) -> float:
    return (y[b] - y[a]) / (x[b] - x[a])


def _tangent(
    x: list[float], y: list[float], left: list[int], following: list[int], first: int
) -> float:
    """Slope of the tangent of the left hull and of the right one, shifted by (1, 1)."""

    def slope(a: int, b: int) -> float:
        return (y[b] + 1 - y[a]) / (x[b] + 1 - x[a])

    at, b = len(left) - 1, first
    while True:
        moved = False
        while following[b] >= 0 and slope(left[at], following[b]) <= slope(left[at], b):
            b = following[b]
            moved = True
        while at > 0 and slope(left[at - 1], b) >= slope(left[at], b):
            at -= 1
            moved = True
        if not moved:
            return slope(left[at], b)
