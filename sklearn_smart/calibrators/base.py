"""The contract of all calibrators: scores in, probabilities and logits out."""

from __future__ import annotations

import importlib
import numbers
import warnings

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils import assert_all_finite, check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from .._numerics.logits import (
    keep_prediction,
    logits_from_probabilities,
    predicted_class,
    row_blocks,
    two_columns,
)
from .._validation import (
    check_classes,
    check_labels,
    check_option,
    check_weight,
    encode_labels,
)

#: Rows of probabilities may miss a sum of 1 by this much: half-precision files do.
SUM_TOLERANCE = 1e-2

# Rows are answered by so many blocks of the numerics at once: Python's part of the work
# is then small, and so are temporary arrays.
_BLOCKS_AT_ONCE = 8

_FORMAT, _FORMAT_VERSION = "sklearn_smart.calibrator", 1


class BaseCalibrator(ClassifierMixin, TransformerMixin, BaseEstimator):
    """Base of calibrators: a classifier and a transformer of scores.

    A subclass implements ``_fit(logits, y, sample_weight)``, with ``y`` as column
    indices, weights positive or None and rows of weight 0 gone, and
    ``_log_proba(logits)``, calibrated log-probabilities (n, K); ``_proba`` where that
    is more than their exponential. Subclasses that work on the numbers as they are
    given set ``_wants_logits`` to False.

    Examples
    --------
    The smallest calibrator, which trusts nothing:

    >>> import numpy as np
    >>> from sklearn_smart import BaseCalibrator
    >>> class Frequencies(BaseCalibrator):
    ...     def __init__(self, *, input="logits", classes=None):
    ...         self.input = input
    ...         self.classes = classes
    ...
    ...     def _fit(self, logits, y, sample_weight):
    ...         counts = np.bincount(y, sample_weight, minlength=logits.shape[1])
    ...         self.prior_ = counts / counts.sum()
    ...
    ...     def _log_proba(self, logits):
    ...         log_prior = np.log(self.prior_).astype(logits.dtype)
    ...         return np.tile(log_prior, (len(logits), 1))
    >>> scores = [[2.0, 0.0], [0.0, 1.0], [3.0, 1.0], [1.0, 0.0]]
    >>> Frequencies().fit(scores, ["a", "b", "a", "a"]).predict_proba([[0.0, 5.0]])
    array([[0.75, 0.25]])
    """

    #: Whether the predicted class is that of the scores, whatever was fitted.
    preserves_prediction = False

    _wants_logits = True

    #: Whether ``_proba`` itself sees to it that rounding moves no largest probability.
    _proba_keeps_prediction = False

    def fit(self, scores, y, sample_weight=None):
        """Fit the calibrator on held-out scores.

        Parameters
        ----------
        scores : array-like of shape (n_samples, n_classes), (n_samples,) or \
(n_samples, 1)
            Logits or probabilities as ``input`` declares. One number per sample is
            the log-odds, or the probability, of the second of two classes.
        y : array-like of shape (n_samples,)
            The true labels.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Frequencies: weight 2 is a sample seen twice, weight 0 one not seen.

        Returns
        -------
        self : object
            The fitted calibrator.

        Raises
        ------
        ValueError
            If scores are not finite, labels are not class labels or not among the
            classes, ``classes`` is needed and missing, weights are negative or all
            zero, or a parameter is out of its range.
        """
        self._check_parameters()
        scores = self._check_scores(scores, reset=True)
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is "
                "None."
            )
        y = check_labels(y)
        if len(y) != len(scores):
            raise ValueError(
                "Found input variables with inconsistent numbers of samples: "
                f"{[len(scores), len(y)]} (scores and y)."
            )
        weight = check_weight(sample_weight, len(y))
        if weight is not None and not weight.all():
            kept = weight > 0
            scores, y, weight = scores[kept], y[kept], weight[kept]
        self.classes_ = check_classes(self.classes, y, scores.shape[1])
        index = encode_labels(y, self.classes_)
        self._fit(self._as_wanted(scores), index, weight)
        return self

    def predict_proba(self, scores, *, out=None):
        """Calibrated probabilities, in the order of ``classes_``.

        Parameters
        ----------
        scores : array-like of shape (n_samples, n_classes), (n_samples,) or \
(n_samples, 1)
            Scores of the kind that the calibrator was fitted on. A memory-mapped
            array is read block by block.
        out : ndarray of shape (n_samples, n_classes), default=None
            Where to write the answer, such as a memory-mapped file; of the dtype of
            the answer. Nothing is written before all scores are checked.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            Between 0 and 1, rows sum to 1; float32 for float32 scores. It is ``out``
            where that is given.
        """
        return self._by_blocks(self._fill_proba, self._checked(scores), out)

    def predict_log_proba(self, scores, *, out=None):
        """Logarithms of the calibrated probabilities.

        Parameters
        ----------
        scores : array-like of shape (n_samples, n_classes), (n_samples,) or \
(n_samples, 1)
            Scores of the kind that the calibrator was fitted on.
        out : ndarray of shape (n_samples, n_classes), default=None
            Where to write the answer, as in `predict_proba`.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
            At most 0, finite where the method gives no class probability 0.
        """
        return self._by_blocks(self._fill_log_proba, self._checked(scores), out)

    def transform(self, scores, *, out=None):
        """Calibrated logits: log-probabilities, always finite.

        Parameters
        ----------
        scores : array-like of shape (n_samples, n_classes), (n_samples,) or \
(n_samples, 1)
            Scores of the kind that the calibrator was fitted on.
        out : ndarray of shape (n_samples, n_classes), default=None
            Where to write the answer, as in `predict_proba`.

        Returns
        -------
        logits : ndarray of shape (n_samples, n_classes)
            Their softmax is ``predict_proba(scores)``, but that probabilities of
            exactly 0 are raised to the machine epsilon of the dtype.
        """
        return self._by_blocks(self._fill_logits, self._checked(scores), out)

    def predict(self, scores):
        """The class of the largest calibrated probability; ties go to the first.

        Parameters
        ----------
        scores : array-like of shape (n_samples, n_classes), (n_samples,) or \
(n_samples, 1)
            Scores of the kind that the calibrator was fitted on.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Entries of ``classes_``.
        """
        given = self._checked(scores)
        if self.preserves_prediction:
            return self.classes_[predicted_class(given)]
        index = np.empty(len(given), dtype=np.intp)
        for rows in row_blocks(*given.shape, n_blocks=_BLOCKS_AT_ONCE):
            block = given[rows]
            answer = np.empty_like(block)
            self._fill_proba(block, answer)
            index[rows] = answer.argmax(axis=1)
        return self.classes_[index]

    def get_feature_names_out(self, input_features=None):
        """Names of the transformed columns: the class labels as strings.

        Parameters
        ----------
        input_features : object, default=None
            Ignored; the classes name the columns.

        Returns
        -------
        names : ndarray of str objects of shape (n_classes,)
            One name per column.
        """
        check_is_fitted(self)
        return np.array([str(label) for label in self.classes_], dtype=object)

    def to_dict(self):
        """The fitted calibrator as plain JSON values.

        Returns
        -------
        state : dict
            Format name and version, class, parameters, classes and fitted values;
            ``json.dumps`` writes it and `from_dict` reads it back, without pickle.
        """
        check_is_fitted(self)
        return {
            "format": _FORMAT,
            "format_version": _FORMAT_VERSION,
            **_encode_calibrator(self),
        }

    @classmethod
    def from_dict(cls, state):
        """A fitted calibrator from what `to_dict` gave.

        Parameters
        ----------
        state : dict
            The parsed JSON.

        Returns
        -------
        calibrator : object
            An instance of the class named in ``state``, which is this class or, where
            called on the base class, any calibrator of this package.

        Raises
        ------
        ValueError
            If ``state`` is not of this format, of a newer version or of another class,
            or damaged: values are missing or give no probabilities.
        """
        if not isinstance(state, dict) or state.get("format") != _FORMAT:
            raise ValueError(f"not a saved calibrator: 'format' must be {_FORMAT!r}.")
        if state.get("format_version") != _FORMAT_VERSION:
            raise ValueError(
                f"format_version {state.get('format_version')!r} cannot be read by "
                f"this version of sklearn_smart, which reads {_FORMAT_VERSION}."
            )
        kind = _calibrator_class(state)
        if kind is None or not issubclass(kind, cls):
            raise ValueError(
                f"the saved calibrator is a {state.get('class')!r}, not a "
                f"{cls.__name__}."
            )
        try:
            calibrator = _decode_calibrator(state)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"the saved calibrator is damaged: {error}") from error
        if not hasattr(calibrator, "classes_"):
            raise ValueError("the saved calibrator is damaged: fitted values missing.")
        calibrator._check_loaded()
        return calibrator

    def _check_loaded(self):
        """Raise ValueError where loaded values give no probabilities.

        Found out on trial rows, so that not each calibrator has to list its values.
        """
        n_classes = len(self.classes_)
        trial = np.zeros((2, n_classes))  # a certain row and one of equal scores
        if self.input == "probabilities":
            trial[0, 0] = 1.0
            trial[1] = 1 / n_classes
        else:
            trial[0, 0] = 1e3
        try:
            self._check_parameters()
            with np.errstate(all="ignore"):
                answer = np.empty_like(trial)
                self._fill_proba(trial, answer)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"the saved calibrator is damaged: {error}") from error
        if answer.shape != trial.shape or not np.isfinite(answer).all():
            raise ValueError(
                "the saved calibrator is damaged: its values give no probabilities."
            )

    def _check_parameters(self):
        check_option(self, "input", ("logits", "probabilities"))

    def _proba(self, scores):
        return np.exp(self._log_proba(scores))

    def _write_proba(self, scores, out):
        """Write the probabilities of some rows; without a copy where a subclass can."""
        out[...] = self._proba(scores)

    def _by_blocks(self, fill, given, out):
        """What ``fill(block, out)`` writes for all rows, block by block."""
        if out is None:
            out = np.empty_like(given)
        else:
            _check_out(out, given)
        for rows in row_blocks(*given.shape, n_blocks=_BLOCKS_AT_ONCE):
            fill(given[rows], out[rows])
        return out

    def _fill_proba(self, given, out):
        wanted = self._as_wanted(given)
        self._write_proba(wanted, out)
        kept = self._proba_keeps_prediction and wanted is given
        if self.preserves_prediction and not kept:
            # The class of the scores themselves: converting them may round.
            keep_prediction(out, given.argmax(axis=1))

    def _fill_log_proba(self, given, out):
        out[...] = self._log_proba(self._as_wanted(given))

    def _fill_logits(self, given, out):
        self._fill_log_proba(given, out)
        lost = np.isneginf(out)
        if lost.any():
            out[lost] = np.log(np.finfo(out.dtype).eps)
        if self.preserves_prediction:
            keep_prediction(out, given.argmax(axis=1))

    def _checked(self, scores):
        check_is_fitted(self)
        scores = self._check_scores(scores, reset=False)
        if scores.shape[1] != len(self.classes_):
            raise ValueError(
                f"scores have {scores.shape[1]} columns, but {type(self).__name__} was "
                f"fitted with {len(self.classes_)} classes."
            )
        return scores

    def _check_scores(self, scores, reset):
        """Finite floating scores with one column per class, as declared."""
        if scores is None:
            raise ValueError(f"{type(self).__name__} requires scores, but got None.")
        if reset and hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        # Names are compared where the fit or these scores have any.
        named = hasattr(scores, "columns") or hasattr(self, "feature_names_in_")
        named = named and getattr(scores, "ndim", None) == 2
        # Another number of columns is reported with the number of classes.
        if named and (reset or scores.shape[1] == self.n_features_in_):
            validate_data(self, scores, reset=reset, skip_check_array=True)
        foreign = not isinstance(getattr(scores, "dtype", None), np.dtype)
        if foreign and hasattr(scores, "__array__") and not hasattr(scores, "iloc"):
            # A tensor: its float32 is not NumPy's and would become float64.
            scores = np.asarray(scores)
        given = check_array(
            scores,
            dtype=(np.float64, np.float32),
            ensure_2d=False,
            ensure_all_finite=False,  # checked below, with the range
            input_name="scores",
        )
        if given.ndim == 1:
            given = given[:, None]
        if reset:
            self.n_features_in_ = given.shape[1]
        single = given.shape[1] == 1
        if single or self.input == "probabilities":
            assert_all_finite(given, input_name="scores")
        if self.input == "probabilities":
            return _check_probabilities(given, single)
        if single:
            return two_columns(given[:, 0])
        _check_logits(given)
        return given

    def _as_wanted(self, scores):
        if self._wants_logits and self.input == "probabilities":
            return logits_from_probabilities(scores)
        return scores

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.one_d_array = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _check_out(out, given):
    """Refuse an array that cannot hold the answer, before any work."""
    if not isinstance(out, np.ndarray):
        raise ValueError(
            f"out must be a NumPy array. Got {type(out).__name__} instead."
        )
    if out.shape != given.shape or out.dtype != given.dtype:
        raise ValueError(
            f"out must have the shape {given.shape} and the dtype {given.dtype} of the "
            f"answer. Got shape {out.shape} and dtype {out.dtype}."
        )
    if not out.flags.writeable:
        raise ValueError("out is read-only. Pass an array that can be written to.")
    if np.may_share_memory(out, given):
        raise ValueError("out overlaps the scores. Pass another array.")


def _check_probabilities(given, single):
    low, high = given.min(), given.max()
    if low < 0 or high > 1 + SUM_TOLERANCE:
        raise ValueError(
            f"input='probabilities' but scores range from {low} to {high}; pass "
            "input='logits' for scores that are not probabilities."
        )
    if single:
        return np.concatenate([1 - given, given], axis=1)
    worst = np.abs(given.sum(axis=1, dtype=np.float64) - 1).max()
    if worst > SUM_TOLERANCE:
        raise ValueError(
            f"input='probabilities' but a row of scores misses a sum of 1 by {worst}, "
            f"more than {SUM_TOLERANCE}. Normalise the rows, or pass input='logits'."
        )
    return given


def _check_logits(given):
    """Refuse a range the dtype cannot hold; warn where the rows are probabilities."""
    # A single row of logits may well look like one of probabilities.
    simplex = len(given) > 1
    for rows in row_blocks(*given.shape):
        block = given[rows]
        low, high = block.min(), block.max()
        if not (np.isfinite(low) and np.isfinite(high)):
            assert_all_finite(block, input_name="scores")
        with np.errstate(over="ignore"):
            spread = float(high - low)
        # Inverse temperatures have to be within reach as well, and their squares.
        least, most = (1e-150, 1e152) if given.dtype == np.float64 else (1e-33, np.inf)
        if not (spread == 0 or least <= spread <= most) or spread == np.inf:
            raise ValueError(
                f"scores range from {low} to {high}: their difference is beyond what "
                f"{given.dtype} can calibrate. Rescale them."
            )
        if simplex and low >= 0:
            sums = block.sum(axis=1, dtype=np.float64)
            simplex = bool((np.abs(sums - 1) < 1e-3).all())
        else:
            simplex = False
    if simplex:
        warnings.warn(
            "input='logits' is declared, but every row of scores is non-negative and "
            "sums to 1, as probabilities do. If they are, pass input='probabilities'.",
            UserWarning,
            stacklevel=4,
        )


def _is_fitted_name(name):
    return name.endswith("_") and not name.startswith("_")


def _encode_calibrator(calibrator):
    fitted = {k: v for k, v in vars(calibrator).items() if _is_fitted_name(k)}
    parameters = calibrator.get_params(deep=False)
    return {
        "class": type(calibrator).__name__,
        "parameters": {k: _encode(v, k) for k, v in parameters.items()},
        "fitted": {k: _encode(v, k) for k, v in fitted.items()},
    }


def _calibrator_class(state):
    kind = getattr(importlib.import_module(__package__), str(state.get("class")), None)
    is_calibrator = isinstance(kind, type) and issubclass(kind, BaseCalibrator)
    return kind if is_calibrator else None


def _decode_calibrator(state):
    parameters = {k: _decode(v) for k, v in state["parameters"].items()}
    fitted = {k: _decode(v) for k, v in state["fitted"].items()}
    calibrator = _calibrator_class(state)(**parameters)
    if not all(map(_is_fitted_name, fitted)):
        raise KeyError("fitted values have other names")
    vars(calibrator).update(fitted)
    return calibrator


def _encode(value, name):
    """A parameter or fitted value as JSON."""
    if isinstance(value, BaseCalibrator):
        return {"calibrator": _encode_calibrator(value)}
    if isinstance(value, dict):
        return {"dict": {key: _encode(item, name) for key, item in value.items()}}
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            value = value.astype(str)
        return {"array": value.tolist(), "dtype": value.dtype.str}
    if isinstance(value, np.generic):
        return _encode(value.item(), name)
    if isinstance(value, tuple):
        return {"tuple": [_encode(item, name) for item in value]}
    if isinstance(value, list):
        return [_encode(item, name) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        if isinstance(value, numbers.Real) and not np.isfinite(value):
            return {"number": repr(float(value))}
        return value
    raise ValueError(f"{name}={value!r} cannot be written as JSON.")


def _decode(value):
    if isinstance(value, list):
        return [_decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return np.array(value["array"], dtype=np.dtype(value["dtype"]))
    if "tuple" in value:
        return tuple(_decode(item) for item in value["tuple"])
    if "dict" in value:
        return {key: _decode(item) for key, item in value["dict"].items()}
    if "calibrator" in value:
        return _decode_calibrator(value["calibrator"])
    return float(value["number"])
