"""Pairs of probability and outcome, and their sums per bin.

Every metric of the binned family asks the same question of different pairs: does an
event of probability v happen with frequency v? The pair is (confidence, correct) for
the top label and (p_k, y = k) for a class k.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_smart._numerics.bins import (
    bin_index,
    bin_sums,
    equal_mass_edges,
    uniform_edges,
)
from sklearn_smart._numerics.logits import predicted_class

from ._inputs import check_count, check_option

KINDS = ("top_label", "class_wise", "positive_class")
STRATEGIES = ("uniform", "quantile")

# Values of a block of classes: 2 MiB of float64.
_BLOCK_SIZE = 262_144


class Events(NamedTuple):
    """Probability of an event, whether it happened, weight; each (n,)."""

    prob: np.ndarray
    outcome: np.ndarray
    sample_weight: np.ndarray | None


class BinSums(NamedTuple):
    """Sums over the events of each bin, each of shape (..., n_bins)."""

    weight: np.ndarray
    prob: np.ndarray
    outcome: np.ndarray

    @property
    def gap(self):
        """Weighted sum of probability minus outcome."""
        return self.prob - self.outcome


def check_binning(n_bins, strategy):
    """Check the two parameters that say which bins are meant."""
    check_count(n_bins, "n_bins")
    check_option(strategy, "strategy", STRATEGIES)


def top_label_events(prediction):
    """Confidence in the predicted class, and whether it is right.

    Ties go to the class of the lowest index, as in ``argmax``.
    """
    y, prob = prediction.y, prediction.prob
    if prob.ndim == 1:
        one = prob.dtype.type(1)
        return Events(
            np.maximum(prob, one - prob),
            (prob > 0.5) == (y == 1),
            prediction.sample_weight,
        )
    top = predicted_class(prob)
    confidence = np.take_along_axis(prob, top[:, None], axis=1)[:, 0]
    return Events(confidence, top == y, prediction.sample_weight)


def class_events(prediction, index):
    """Probability of the class ``index``, and whether it is the true one."""
    y, prob = prediction.y, prediction.prob
    if prob.ndim == 2:
        column = prob[:, index]
    else:
        column = prob if index == 1 else prob.dtype.type(1) - prob
    return Events(column, y == index, prediction.sample_weight)


def positive_index(prediction, pos_label):
    """Column of ``pos_label``; of the second label where it is None and K = 2."""
    if pos_label is None:
        if prediction.n_classes != 2:
            raise ValueError(
                "kind='positive_class' needs pos_label when there are more than two "
                f"classes. Got {prediction.n_classes} classes."
            )
        return 1
    at = np.flatnonzero(prediction.labels == pos_label)
    if len(at) == 0:
        raise ValueError(
            f"pos_label={pos_label!r} is not a label: {prediction.labels.tolist()[:10]}"
        )
    return int(at[0])


def one_event(prediction, kind, pos_label):
    """Events of a kind that has one event per sample."""
    if kind == "top_label":
        return top_label_events(prediction)
    return class_events(prediction, positive_index(prediction, pos_label))


def over_events(prediction, kind, pos_label, function):
    """``function`` of the events of a kind; its mean over classes for "class_wise"."""
    if kind != "class_wise":
        return function(one_event(prediction, kind, pos_label))
    classes = range(prediction.n_classes)
    return float(np.mean([function(class_events(prediction, k)) for k in classes]))


def edges_for(events, n_bins, strategy):
    """Edges of the bins, (n_bins + 1,)."""
    if strategy == "uniform":
        return uniform_edges(n_bins)
    return equal_mass_edges(events.prob, n_bins, events.sample_weight)


def sum_events(events, edges):
    """:class:`BinSums` of events in the bins between ``edges``."""
    index = bin_index(events.prob, edges)
    n_bins = len(edges) - 1
    sums = bin_sums(
        index,
        n_bins,
        events.prob,
        events.outcome,
        sample_weight=events.sample_weight,
    )
    return BinSums(*sums)


def sum_classes(prediction, n_bins, strategy):
    """:class:`BinSums` of every class, each (K, n_bins), by blocks of classes."""
    sums = BinSums(*np.zeros((3, prediction.n_classes, n_bins)))
    if strategy == "quantile" or prediction.prob.ndim == 1:
        for k in range(prediction.n_classes):
            events = class_events(prediction, k)
            one = sum_events(events, edges_for(events, n_bins, strategy))
            for total, part in zip(sums, one, strict=True):
                total[k] = part
        return sums
    step = max(1, _BLOCK_SIZE // prediction.n_samples)
    for start in range(0, prediction.n_classes, step):
        _sum_block(prediction, slice(start, start + step), n_bins, sums)
    return sums


def _sum_block(prediction, columns, n_bins, sums):
    """Fill the rows ``columns`` of ``sums`` with equal-width bins of those classes."""
    weight = prediction.sample_weight
    # One copy that is contiguous by class: everything after it is a single pass.
    block = np.ascontiguousarray(prediction.prob[:, columns].T)
    n_block = len(block)
    index = bin_index(block, uniform_edges(n_bins))
    index += n_bins * np.arange(n_block)[:, None]
    row_weight = None if weight is None else np.tile(weight, n_block)
    total = bin_sums(
        index.ravel(), n_block * n_bins, block.ravel(), sample_weight=row_weight
    )
    sums.weight[columns] = total[0].reshape(n_block, n_bins)
    sums.prob[columns] = total[1].reshape(n_block, n_bins)
    # Of the outcomes only one a row is not zero.
    k = prediction.y.astype(np.intp, copy=False) - columns.start
    rows = np.flatnonzero((k >= 0) & (k < n_block))
    happened = np.bincount(
        index[k[rows], rows],
        weights=None if weight is None else weight[rows],
        minlength=n_block * n_bins,
    )
    sums.outcome[columns] = happened.reshape(n_block, n_bins)
