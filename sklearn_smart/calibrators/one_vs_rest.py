"""One-vs-rest calibrators: a curve per class, and rows scaled to a sum of one."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.special import expit, logit
from sklearn.exceptions import ConvergenceWarning
from sklearn.isotonic import IsotonicRegression

from .._numerics.logits import softmax
from .._validation import check_option
from .base import BaseCalibrator

# Columns are fitted together by blocks of about this many numbers, which fit into a
# processor's cache.
_BLOCK_SIZE = 131_072
_MAX_ITER = 100


class OneVsRestCalibrator(BaseCalibrator):
    """Base of calibrators that map the score of each class by a curve of its own.

    For two classes there is one curve: of the log-odds ``z_1 - z_0``, or of the
    probability ``p_1``, of the second class. A subclass fits its curves in
    ``_fit_curves(columns, y, weight)``, where ``y == j`` marks the positives of
    column j, and maps columns to [0, 1] in ``_curves(columns)``.
    """

    # A row whose class the base estimator has never seen is a negative for every
    # curve, so that CalibratedClassifierCV need not leave it out.
    one_vs_rest = True

    _wants_logits = False

    def __init__(self, *, input="logits", classes=None, zero_rows="uncalibrated"):
        self.input = input
        self.classes = classes
        self.zero_rows = zero_rows

    def _check_parameters(self):
        super()._check_parameters()
        check_option(self, "zero_rows", ("uncalibrated", "uniform"))

    def _fit(self, scores, y, sample_weight):
        columns = self._columns(scores)
        if columns.shape[1] == 1:
            y = y - 1  # the second class is the positive one
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        self._fit_curves(columns, y, weight)

    def _columns(self, scores):
        """The numbers that the curves are functions of: (n, K), or (n, 1) for K = 2."""
        if scores.shape[1] > 2:
            return scores
        if self.input == "probabilities":
            return scores[:, 1:]
        return scores[:, 1:] - scores[:, :1]

    def _proba(self, scores):
        mapped = self._curves(self._columns(scores))
        if mapped.shape[1] == 1:
            mapped = np.concatenate([1 - mapped, mapped], axis=1)
        else:
            self._normalise(mapped, scores)
        return mapped.astype(scores.dtype, copy=False)

    def _normalise(self, mapped, scores):
        """Divide the rows by their sums, in place; rows of zeros are replaced."""
        total = mapped.sum(axis=1, keepdims=True)
        zero = total[:, 0] == 0
        np.divide(mapped, total, out=mapped, where=total > 0)
        if zero.any():
            mapped[zero] = self._instead_of_zeros(scores[zero])

    def _instead_of_zeros(self, scores):
        if self.zero_rows == "uniform":
            return 1 / scores.shape[1]
        if self.input == "probabilities":
            return scores
        return softmax(scores)

    def _log_proba(self, scores):
        with np.errstate(divide="ignore"):
            return np.log(self._proba(scores))


class SigmoidCalibrator(OneVsRestCalibrator):
    r"""Calibrate by a sigmoid per class: Platt scaling, one-vs-rest.

    For class k with score :math:`f_k`, :math:`q_k = 1 / (1 + \exp(-(a_k f_k + b_k)))`
    with slope and intercept of least log loss against Platt's smoothed targets [1]_:
    :math:`(n_+ + 1) / (n_+ + 2)` for the :math:`n_+` samples of the class and
    :math:`1 / (n_- + 2)` for the others. The rows of q are divided by their sums [2]_.
    For two classes there is one sigmoid, of the log-odds or the probability of the
    second class.

    The minimum is found by Newton's method on standardised scores, so that the scale
    of the scores does not matter.

    Parameters
    ----------
    input : {"logits", "probabilities"}, default="logits"
        What the scores are. The sigmoids are functions of the numbers as they are
        given, except that two columns of logits stand for their difference.
    classes : int or array-like, default=None
        Labels of the columns in their order; see `TemperatureScaling`.
    zero_rows : {"uncalibrated", "uniform"}, default="uncalibrated"
        What takes the place of a row that all sigmoids map to 0: its uncalibrated
        probabilities, or 1/K, which scikit-learn uses.

    Attributes
    ----------
    slope_ : ndarray of shape (n_classes,) or (1,)
        Slope of each sigmoid, per unit of the scores; one for two classes.
    intercept_ : ndarray of shape (n_classes,) or (1,)
        Intercept of each sigmoid.
    classes_ : ndarray of shape (n_classes,)
        Labels in the order of the columns.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of str
        Names of the columns, where the scores had any.

    See Also
    --------
    IsotonicCalibrator : Non-decreasing curves instead of sigmoids.

    References
    ----------
    .. [1] J. Platt. Probabilistic Outputs for Support Vector Machines and Comparisons
       to Regularized Likelihood Methods. 1999.
    .. [2] B. Zadrozny, C. Elkan. Transforming Classifier Scores into Accurate
       Multiclass Probability Estimates. KDD 2002. doi:10.1145/775047.775151

    Examples
    --------
    >>> from sklearn_smart import SigmoidCalibrator
    >>> calibrator = SigmoidCalibrator().fit([5.0, -4.0, 1.0], [1, 0, 0])
    >>> calibrator.slope_.round(4), calibrator.intercept_.round(4)
    (array([0.2026]), array([-0.6524]))
    >>> calibrator.predict_proba([3.0]).round(4)
    array([[0.5111, 0.4889]])
    """

    def _fit_curves(self, columns, y, weight):
        n, n_columns = columns.shape
        self.slope_ = np.empty(n_columns)
        self.intercept_ = np.empty(n_columns)
        converged = True
        step = max(1, _BLOCK_SIZE // n)
        for start in range(0, n_columns, step):
            block = slice(start, start + step)
            fitted = fit_sigmoids(columns[:, block], y - start, weight)
            self.slope_[block], self.intercept_[block], done = fitted
            converged &= done
        if not converged:
            warnings.warn(
                f"Newton's method did not converge in {_MAX_ITER} steps for a sigmoid. "
                "Look for scores that are far away from all others.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _curves(self, columns):
        return expit(columns * self.slope_ + self.intercept_)


class IsotonicCalibrator(OneVsRestCalibrator):
    """Calibrate by a non-decreasing curve per class, one-vs-rest.

    For each class the isotonic regression of its indicator on its score, by
    `sklearn.isotonic.IsotonicRegression`: linear between its thresholds and constant
    outside of them. The rows are divided by their sums [1]_. For two classes there is
    one curve, of the log-odds or the probability of the second class. It is flexible,
    and overfits calibration sets below about a thousand samples.

    Parameters
    ----------
    input : {"logits", "probabilities"}, default="logits"
        What the scores are. The curves are functions of the numbers as they are given,
        except that two columns of logits stand for their difference.
    classes : int or array-like, default=None
        Labels of the columns in their order; see `TemperatureScaling`.
    zero_rows : {"uncalibrated", "uniform"}, default="uncalibrated"
        What takes the place of a row that all curves map to 0: its uncalibrated
        probabilities, or 1/K, which scikit-learn uses.

    Attributes
    ----------
    thresholds_ : list of ndarray
        For each curve the scores between which it is linear, increasing.
    values_ : list of ndarray
        For each curve its values in [0, 1] at the thresholds, non-decreasing.
    classes_ : ndarray of shape (n_classes,)
        Labels in the order of the columns.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of str
        Names of the columns, where the scores had any.

    See Also
    --------
    SigmoidCalibrator : Two parameters per class.

    References
    ----------
    .. [1] B. Zadrozny, C. Elkan. Transforming Classifier Scores into Accurate
       Multiclass Probability Estimates. KDD 2002. doi:10.1145/775047.775151

    Examples
    --------
    >>> from sklearn_smart import IsotonicCalibrator
    >>> scores, y = [-2.0, -1.0, 0.0, 1.0, 2.0], [0, 1, 0, 1, 1]
    >>> calibrator = IsotonicCalibrator().fit(scores, y)
    >>> calibrator.predict_proba([-3.0, -1.5, 0.0, 3.0])
    array([[1.  , 0.  ],
           [0.75, 0.25],
           [0.5 , 0.5 ],
           [0.  , 1.  ]])
    """

    def _fit_curves(self, columns, y, weight):
        self.thresholds_, self.values_ = [], []
        for k, column in enumerate(columns.T):
            curve = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
            curve.fit(column, y == k, sample_weight=weight)
            self.thresholds_.append(np.asarray(curve.X_thresholds_, dtype=np.float64))
            self.values_.append(np.asarray(curve.y_thresholds_, dtype=np.float64))

    def _curves(self, columns):
        out = np.empty(columns.shape)
        for k, (x, q) in enumerate(zip(self.thresholds_, self.values_, strict=True)):
            out[:, k] = np.interp(columns[:, k], x, q)
        return out


def log_odds(prob):
    """``log(p / (1 - p))``, with p kept off 0 and 1 by the machine epsilon."""
    eps = np.finfo(np.float64).eps
    return logit(np.clip(prob, eps, 1 - eps))


def fit_sigmoid(values, happened, weight):
    """Slope and intercept of Platt's sigmoid of one column of values, (2,)."""
    column = np.where(happened, 0, -1)
    slope, intercept, _ = fit_sigmoids(values[:, None], column, weight)
    return np.array([slope[0], intercept[0]])


def fit_sigmoids(columns, y, weight):
    """Slopes and intercepts of Platt's sigmoids for all columns at once.

    ``y == j`` marks the positives of column j; other values are positives of no
    column. Newton's method in two parameters per column with step halving: the loss is
    convex, and as the smoothed targets are inside (0, 1) it has one minimum.
    """
    n_columns = columns.shape[1]
    total = weight.sum()
    columns, centre, scale = _standardised(columns, weight)

    own = np.flatnonzero((y >= 0) & (y < n_columns))
    at, own_weight = y[own], weight[own]
    positive = np.bincount(at, own_weight, minlength=n_columns)
    high = (positive + 1) / (positive + 2)
    low = 1 / (total - positive + 2)
    # The loss is sum w softplus(r) - sum w t r with r = slope * f + intercept, and its
    # second sum is linear in the parameters: these are its coefficients.
    target = np.stack(
        [
            low * (weight @ columns)
            + (high - low)
            * np.bincount(at, own_weight * columns[own, at], minlength=n_columns),
            low * total + (high - low) * positive,
        ]
    )

    theta = np.zeros((2, n_columns))
    theta[1] = np.log((positive + 1) / (total - positive + 1))
    loss = _sigmoid_loss(theta, columns, weight, target)
    done = np.zeros(n_columns, dtype=bool)
    for _ in range(_MAX_ITER):
        step, decrement = _newton_step(theta, columns, weight, target)
        # Near the minimum the loss is flat to its last digit: the full step is right.
        near = decrement <= 1e-12 * total
        length = np.where(done, 0.0, 1.0)
        for _ in range(50):
            trial = theta + length * step
            trial_loss = _sigmoid_loss(trial, columns, weight, target)
            worse = trial_loss > loss - 1e-4 * length * decrement
            worse &= ~(near | done)
            if not worse.any():
                break
            length[worse] /= 2
        theta, loss = trial, trial_loss
        done |= decrement <= 1e-20 * total
        if done.all():
            break
    slope = theta[0] / scale
    return slope, theta[1] - slope * centre, bool(done.all())


def _standardised(columns, weight):
    """Columns with weighted mean 0 and variance 1 in float64, their centre and scale.

    A column that is constant up to rounding becomes zero, so that no sigmoid is fitted
    to noise in the last digit.
    """
    rounding = 8 * np.finfo(columns.dtype).eps * np.abs(columns).max(axis=0)
    columns = columns.astype(np.float64)
    total = weight.sum()
    # The sum of weights times large scores may overflow where their mean does not.
    centre = (weight / total) @ columns
    columns -= centre
    scale = np.abs(columns).max(axis=0)
    constant = scale <= rounding
    scale[constant] = 1.0
    columns[:, constant] = 0.0
    # In two steps, as squares of large scores would overflow.
    columns /= scale
    deviation = np.sqrt(weight @ columns**2 / total)
    deviation[constant] = 1.0
    columns /= deviation
    return columns, centre, scale * deviation


def _sigmoid_loss(theta, columns, weight, target):
    raw = theta[0] * columns + theta[1]
    return weight @ np.logaddexp(0, raw) - (theta * target).sum(axis=0)


def _newton_step(theta, columns, weight, target):
    """Newton's step for each column and the decrease of the loss that it promises."""
    raw = theta[0] * columns + theta[1]
    q = expit(raw)
    gradient = np.stack([weight @ (q * columns), weight @ q]) - target
    curvature = q * expit(-raw)
    h00 = weight @ (curvature * columns**2)
    # The slope of a constant column has no curvature and no gradient: any will do.
    h00[h00 == 0] = 1.0
    h01 = weight @ (curvature * columns)
    h11 = weight @ curvature
    determinant = h00 * h11 - h01**2
    floor = np.finfo(np.float64).tiny
    determinant = np.maximum(determinant, floor)
    step = -np.stack(
        [
            (h11 * gradient[0] - h01 * gradient[1]) / determinant,
            (h00 * gradient[1] - h01 * gradient[0]) / determinant,
        ]
    )
    return step, -(gradient * step).sum(axis=0)
