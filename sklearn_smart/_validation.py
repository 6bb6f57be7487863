"""Checks of what a user passes: weights, labels, classes, parameters."""

from __future__ import annotations

import numbers
import warnings

import numpy as np
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import type_of_target


def check_weight(sample_weight, n_samples):
    """Weights as float64 of shape (n_samples,), or None; a scalar is broadcast.

    Raises ValueError where they are negative, not finite, all zero or of another
    length.
    """
    if sample_weight is None:
        return None
    if isinstance(sample_weight, numbers.Number):
        sample_weight = np.full(n_samples, sample_weight, dtype=np.float64)
    weight = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
    )
    if weight.shape != (n_samples,):
        raise ValueError(
            f"sample_weight has shape {weight.shape}, expected ({n_samples},): one "
            "weight per sample."
        )
    if (weight < 0).any():
        raise ValueError("sample_weight holds negative values; weights must be >= 0.")
    if not weight.any():
        raise ValueError("sample_weight is zero for all samples; nothing is left.")
    with np.errstate(over="ignore", under="ignore"):
        if not 0 < np.square(weight.sum()) < np.inf:
            raise ValueError(
                "sample_weight is too large or too small for double precision. Weights "
                "are frequencies: divide them by their mean."
            )
    return weight


def check_labels(y, name="y"):
    """Labels as a 1-D array with a dtype that sorts: ints, floats, bools or strings.

    Accepts lists, arrays, pandas columns (categorical and nullable too) and a single
    column. Raises ValueError, naming the kind of target, for continuous values,
    indicator matrices and missing labels.
    """
    values = np.asarray(y)
    if values.ndim > 1 and values.shape[1:] != (1,) * (values.ndim - 1):
        kind = "multilabel-indicator or one-hot" if values.ndim == 2 else "unknown"
        raise ValueError(
            f"{name} has shape {values.shape}: a {kind} target. One label per sample "
            "is expected, of shape (n_samples,); for one-hot rows pass "
            f"{name}.argmax(axis=1)."
        )
    if values.dtype == object:
        values = _plain_labels(values.ravel(), name)
    if values.ndim == 0:
        raise ValueError(f"{name} must be an array of labels. Got {y!r} instead.")
    values = column_or_1d(values)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        what = "NaN" if np.isnan(values).any() else "infinity"
        raise ValueError(f"{name} contains {what}: labels must not be missing.")
    with warnings.catch_warnings():
        # More classes than half the samples is normal for a calibration set.
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        kind = type_of_target(values, input_name=name) if len(values) else "binary"
    if kind not in ("binary", "multiclass"):
        raise ValueError(
            f"Unknown label type: {name} is {kind}, class labels are expected."
        )
    return values


def _plain_labels(values, name):
    """An object array of labels of one kind as an array of that kind."""
    items = values.tolist()
    if all(isinstance(item, str) for item in items):
        return values.astype(str)
    plain = None
    if all(isinstance(item, (numbers.Real, np.bool_)) for item in items):
        plain = np.array(items)
    if plain is None or plain.dtype == object:
        raise ValueError(
            f"{name} holds missing labels or labels of different types; labels must "
            "be all strings or all numbers, without missing values."
        )
    return plain


def check_classes(classes, y, n_columns):
    """Names of the score columns in their order.

    ``None`` takes the sorted distinct labels of ``y``, an integer K names 0..K-1.
    Raises ValueError where their number is not that of the columns.
    """
    if classes is None:
        found = np.unique(y)
        if len(found) != n_columns:
            raise ValueError(
                f"y holds {len(found)} distinct labels but scores have {n_columns} "
                "columns, so the columns cannot be named from y. Pass `classes` with "
                "the label of each column, in the order of the columns."
            )
        return found
    if isinstance(classes, numbers.Integral) and not isinstance(classes, bool):
        named = np.arange(classes)
    else:
        if isinstance(classes, (set, frozenset, dict)):
            raise ValueError(
                "`classes` must have an order, that of the columns: pass a list, not a "
                f"{type(classes).__name__}."
            )
        named = check_labels(classes, name="classes")
        if len(np.unique(named)) != len(named):
            raise ValueError("`classes` holds a label twice.")
    if len(named) != n_columns:
        raise ValueError(
            f"`classes` names {len(named)} classes but scores have {n_columns} columns"
            f"{' (one column is the second of two classes)' if n_columns == 2 else ''}."
        )
    return named


def encode_labels(y, classes, name="y"):
    """Position of each label in ``classes``; ValueError naming a label not there."""
    if (y.dtype.kind in "US") != (classes.dtype.kind in "US"):
        raise ValueError(
            f"{name} holds {y.dtype} labels but the classes are {classes.dtype}: "
            f"{classes[:5].tolist()}."
        )
    order = np.argsort(classes, kind="stable")
    at = np.searchsorted(classes, y, sorter=order)
    index = order[np.minimum(at, len(classes) - 1)]
    unknown = classes[index] != y
    if unknown.any():
        names = np.unique(y[unknown])[:5].tolist()
        raise ValueError(
            f"{name} holds labels that are not among the classes: {names}."
        )
    return index


def check_number(estimator, name, kind, low, high=np.inf, closed="left"):
    """The parameter ``name`` of an estimator, if it is a number of the given range."""
    value = getattr(estimator, name)
    wanted = numbers.Integral if kind is int else numbers.Real
    good = isinstance(value, wanted) and not isinstance(value, (bool, np.bool_))
    left, right = closed in ("left", "both"), closed in ("right", "both")
    if good:
        good = (value > low or (left and value == low)) and (
            value < high or (right and value == high)
        )
    if not good:
        interval = f"{'[' if left else '('}{low}, {high}{']' if right else ')'}"
        raise ValueError(
            f"The {name!r} parameter of {type(estimator).__name__} must be "
            f"{'an int' if kind is int else 'a float'} in the range {interval}. "
            f"Got {value!r} instead."
        )
    return value


def check_option(estimator, name, options):
    """The parameter ``name`` of an estimator, if it is one of ``options``."""
    value = getattr(estimator, name)
    if not isinstance(value, str) or value not in options:
        raise ValueError(
            f"The {name!r} parameter of {type(estimator).__name__} must be one of "
            f"{sorted(options)}. Got {value!r} instead."
        )
    return value
