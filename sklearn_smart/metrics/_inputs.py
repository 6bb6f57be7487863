"""What every metric takes, checked once: labels, probabilities and weights.

Conventions
-----------
After :func:`check_prediction` labels are codes ``0..K-1`` in the order of the
columns, probabilities keep the caller's floating dtype (bin edges are compared in
it), weights are float64 and positive: a row of weight 0 is gone, whatever it held.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklearn_smart._validation import check_labels, check_weight

# The calibrators' tolerance too: probabilities kept in half precision, or printed
# with three digits, are meant to sum to 1.
SUM_TOLERANCE = 1e-2


@dataclass(frozen=True)
class Prediction:
    """Checked labels and probabilities of a classifier.

    Attributes
    ----------
    y : ndarray of shape (n_samples,)
        Codes of the true labels, integers in [0, K).
    prob : ndarray of shape (n_samples,) or (n_samples, K)
        One-dimensional: the probability of ``labels[1]``, K = 2.
    labels : ndarray of shape (K,)
        The label of each column.
    sample_weight : ndarray of shape (n_samples,) or None
        Positive weights; None is 1 for every row.
    """

    y: np.ndarray
    prob: np.ndarray
    labels: np.ndarray
    sample_weight: np.ndarray | None

    @property
    def n_classes(self):
        """Number of classes K."""
        return len(self.labels)

    @property
    def n_samples(self):
        """Number of rows of positive weight."""
        return len(self.y)


def check_prediction(y_true, y_prob, *, labels=None, sample_weight=None):
    """Check the three arrays together and return a :class:`Prediction`."""
    prob = _check_prob_shape(y_prob)
    y = _check_1d(y_true, "y_true")
    if len(y) != len(prob):
        raise ValueError(
            "y_true and y_prob must have the same number of rows. "
            f"Got {len(y)} and {len(prob)}."
        )
    if len(y) == 0:
        raise ValueError("y_true and y_prob are empty: at least one sample is needed.")
    y, prob, sample_weight = drop_zero_weight(y, prob, sample_weight=sample_weight)
    _check_prob_values(prob)
    n_classes = 2 if prob.ndim == 1 else prob.shape[1]
    y, labels = encode_labels(y, n_classes, labels)
    return Prediction(y=y, prob=prob, labels=labels, sample_weight=sample_weight)


def drop_zero_weight(*arrays, sample_weight):
    """``arrays`` and checked weights without the rows of weight 0."""
    weight = check_weight(sample_weight, len(arrays[0]))
    if weight is not None and not weight.all():
        keep = weight > 0
        arrays = tuple(array[keep] for array in arrays)
        weight = weight[keep]
    return *arrays, weight


def _check_prob_shape(y_prob):
    """Floating array of shape (n,) or (n, K) with K >= 2."""
    prob = np.asarray(y_prob)
    if prob.dtype.kind not in "f":
        try:
            prob = prob.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                "y_prob must hold numbers: probabilities of shape (n_samples,) or "
                f"(n_samples, n_classes). Got dtype {prob.dtype}."
            ) from error
    if prob.ndim == 2 and prob.shape[1] == 1:
        prob = prob[:, 0]
    if prob.ndim not in (1, 2) or (prob.ndim == 2 and prob.shape[1] == 0):
        raise ValueError(
            "y_prob must have shape (n_samples,) or (n_samples, n_classes). "
            f"Got shape {prob.shape}."
        )
    return prob


def _check_prob_values(prob):
    # min and max carry NaN along, so that no array of flags is needed.
    low, high = prob.min(), prob.max()
    if np.isnan(low):
        raise ValueError("y_prob contains NaN.")
    if low < 0 or high > 1:
        raise ValueError(
            "y_prob must hold probabilities in [0, 1]. "
            f"Got values from {low} to {high}; logits must be converted first."
        )
    if prob.ndim == 2:
        total = prob.sum(axis=1, dtype=np.float64)
        worst = np.abs(total - 1).argmax()
        if abs(total[worst] - 1) > SUM_TOLERANCE:
            raise ValueError(
                f"The rows of y_prob must sum to 1 within {SUM_TOLERANCE}. "
                f"A row sums to {total[worst]:.6g}; divide each row by its sum if "
                "that is what is meant."
            )


def _check_1d(y, name):
    """1-D array of class labels, without missing values."""
    values = np.asarray(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim == 1 and values.dtype.kind in "biu":
        return values  # nothing can be wrong, and millions of them are not sorted
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError(f"{name} contains NaN or infinity.")
    return check_labels(values, name=name)


def encode_labels(y, n_classes, labels=None):
    """Codes of ``y`` and the label of each column.

    ``labels=None`` takes the sorted distinct labels of ``y``; where there are two
    columns and ``y`` holds only one label of {0, 1} or {-1, 1}, the pair is meant.
    """
    present, codes = _distinct(y)
    if labels is None:
        labels = _default_labels(present, n_classes)
    else:
        labels = _check_labels(labels, n_classes)
    position = {label: i for i, label in enumerate(labels.tolist())}
    at = [position.get(label, -1) for label in present.tolist()]
    unknown = [label for label, i in zip(present.tolist(), at, strict=True) if i < 0]
    if unknown:
        raise ValueError(
            f"y_true contains labels that are not in labels: {unknown[:5]}. "
            f"labels is {labels.tolist()[:10]}."
        )
    if at == list(range(len(at))):
        return codes(), labels
    return np.asarray(at, dtype=np.intp)[codes()], labels


def _distinct(y):
    """Sorted distinct labels, and a function that gives each row's index in them."""
    if y.dtype.kind == "b":
        y = y.view(np.uint8)
        present = np.flatnonzero(np.bincount(y, minlength=2)).astype(bool)
        return present, lambda: y - y.dtype.type(present[0])
    if y.dtype.kind in "iu":
        low, high = int(y.min()), int(y.max())
        # A table over the range of the labels costs no sorting.
        if high - low <= max(65_536, 2 * len(y)):
            return _distinct_in_range(y, low, high)
    present, codes = np.unique(y, return_inverse=True)
    return present, lambda: codes.reshape(-1)


def _distinct_in_range(y, low, high):
    shifted = y if low == 0 else np.subtract(y, low, dtype=np.intp)
    seen = np.zeros(high - low + 1, dtype=bool)
    seen[shifted] = True
    present = np.flatnonzero(seen)
    if len(present) == len(seen):
        return present + low, lambda: shifted
    rank = np.cumsum(seen, dtype=np.intp) - 1
    return present + low, lambda: rank[shifted]


def _default_labels(present, n_classes):
    if len(present) == n_classes:
        return present
    if n_classes == 2 and len(present) == 1 and present.dtype.kind in "biuf":
        if present.dtype.kind == "b" or present[0] in (0, 1):
            return np.array([0, 1]).astype(present.dtype)
        if present[0] == -1:
            return np.array([-1, 1]).astype(present.dtype)
    raise ValueError(
        f"y_true holds {len(present)} distinct labels and y_prob has {n_classes} "
        "classes. Pass labels, the label of each column of y_prob (an estimator's "
        "classes_)."
    )


def _check_labels(labels, n_classes):
    labels = _check_1d(labels, "labels")
    if len(set(labels.tolist())) != len(labels):
        raise ValueError("labels contains a label twice.")
    if len(labels) != n_classes:
        raise ValueError(
            f"labels must name each of the {n_classes} classes of y_prob. "
            f"Got {len(labels)} labels."
        )
    return labels


def align_labels(y, prob, classes):
    """Codes of ``y`` against ``classes``, with a column of 0 for each unknown label.

    The columns grow to at least two: a classifier that knows one class has one
    column, which is not the probability of a second class.
    """
    y, classes = _check_1d(y, "y_true"), _check_1d(classes, "labels")
    position = {label: i for i, label in enumerate(classes.tolist())}
    present, codes = _distinct(y)
    for label in present.tolist():
        position.setdefault(label, len(position))
    at = np.array([position[label] for label in present.tolist()], dtype=np.intp)
    missing = max(2, len(position)) - prob.shape[1]
    if missing > 0:
        prob = np.pad(prob, ((0, 0), (0, missing)))
    return at[codes()], prob, list(position)


def check_option(value, name, allowed):
    """Raise ValueError unless ``value`` is one of the strings ``allowed``."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(
            f"The '{name}' parameter must be a str among {set(allowed)}. "
            f"Got {value!r} instead."
        )


def check_count(value, name):
    """Raise ValueError unless ``value`` is an integer >= 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(
            f"The '{name}' parameter must be an int in the range [1, inf). "
            f"Got {value!r} instead."
        )
