"""Calibrators of a shape: monotone, sigmoid, beta, spline and Venn-Abers curves."""

from __future__ import annotations

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression

from .._numerics.bins import quantile_centres
from .._numerics.solvers import scoring
from .._numerics.venn_abers import venn_abers_curves
from .._validation import check_number, check_option
from .curves import CurveCalibrator
from .one_vs_rest import fit_sigmoid, log_odds

# Places of the cumulative gap to which a spline is fitted.
_GRID = 1024


class TopLabelIsotonic(CurveCalibrator):
    """Calibrate the confidence by a non-decreasing curve; the predicted class stays.

    Isotonic regression of whether the prediction is right on its confidence, by
    `sklearn.isotonic.IsotonicRegression`. Unlike `IsotonicCalibrator`, which has a
    curve for each class, it needs no more data for more classes.

    Parameters
    ----------
    input : {"logits", "probabilities"}, default="logits"
        What the scores are; see `TemperatureScaling`.
    classes : int or array-like, default=None
        Labels of the columns in their order; see `TemperatureScaling`.

    Attributes
    ----------
    curves_ : list of list of ndarray
        The confidences between which the curve is linear, and its values there.
    n_raised_ : int
        Rows of the calibration set whose confidence is raised for the predicted class
        to stay; `raised` tells those of other scores.
    classes_ : ndarray of shape (n_classes,)
        Labels in the order of the columns.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of str
        Names of the columns, where the scores had any.

    See Also
    --------
    IsotonicCalibrator : A curve for each class.

    References
    ----------
    B. Zadrozny, C. Elkan. Transforming Classifier Scores into Accurate Multiclass
    Probability Estimates. KDD 2002. doi:10.1145/775047.775151

    Examples
    --------
    >>> from sklearn_smart import TopLabelIsotonic
    >>> prob = [[0.6, 0.4], [0.7, 0.3], [0.8, 0.2], [0.9, 0.1]]
    >>> calibrator = TopLabelIsotonic(input="probabilities").fit(prob, [1, 0, 1, 0])
    >>> calibrator.predict_proba([[0.75, 0.25], [0.95, 0.05]])
    array([[0.5, 0.5],
           [1. , 0. ]])
    """

    kind, zero_rows = "top_label", "uncalibrated"

    def __init__(self, *, input="logits", classes=None):
        self.input = input
        self.classes = classes

    def _fit_curve(self, values, happened, weight):
        curve = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
        curve.fit(values, happened, sample_weight=weight)
        return [np.asarray(curve.X_thresholds_), np.asarray(curve.y_thresholds_)]

    def _map(self, curve, values):
        return np.interp(values, *curve)


class TopLabelSigmoid(CurveCalibrator):
    """Calibrate the confidence by a sigmoid of its log-odds; the class stays.

    ``c' = 1 / (1 + exp(-(a log(c / (1 - c)) + b)))`` with slope and intercept of least
    log loss against Platt's smoothed targets, as in `SigmoidCalibrator`.

    Parameters
    ----------
    input : {"logits", "probabilities"}, default="logits"
        What the scores are; see `TemperatureScaling`.
    classes : int or array-like, default=None
        Labels of the columns in their order; see `TemperatureScaling`.

    Attributes
    ----------
    curves_ : list of list of ndarray
        Slope and intercept.
    n_raised_ : int
        Rows of the calibration set whose confidence is raised for the predicted class
        to stay; `raised` tells those of other scores.
    classes_ : ndarray of shape (n_classes,)
        Labels in the order of the columns.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of str
        Names of the columns, where the scores had any.

    See Also
    --------
    SigmoidCalibrator : A sigmoid for each class.

    References
    ----------
    J. Platt. Probabilistic Outputs for Support Vector Machines and Comparisons to
    Regularized Likelihood Methods. 1999.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_smart import TopLabelSigmoid
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=1000)
    >>> scores = 4 * (np.eye(3)[y] + rng.normal(size=(1000, 3)))
    >>> ((slope, intercept),) = TopLabelSigmoid().fit(scores, y).curves_[0]
    >>> bool(slope < 1)
    True
    """

    kind, zero_rows = "top_label", "uncalibrated"

    def __init__(self, *, input="logits", classes=None):
        self.input = input
        self.classes = classes

    def _fit_curve(self, values, happened, weight):
        return [fit_sigmoid(log_odds(values), happened, weight)]

    def _map(self, curve, values):
        slope, intercept = curve[0]
        return expit(slope * log_odds(values) + intercept)


class BetaCalibrator(CurveCalibrator):
    r"""Beta calibration: a curve that is a ratio of Beta densities.

    .. math:: q = \frac{1}{1 + \exp(-(a \log p - b \log(1 - p) + c))},
              \quad a, b \geq 0,

    of least log loss [1]_. With ``a = b = 1`` and ``c = 0`` it is the identity, which a
    sigmoid of the probability itself is never.

    Parameters
    ----------
    parameters : {"abm", "am", "ab"}, default="abm"
        All three; ``a = b``, a sigmoid of the log-odds; or the curve through (1/2,
        1/2), ``c = (a - b) log 2``.
    kind : {"top_label", "one_vs_rest"}, default="one_vs_rest"
        One curve, of the confidence, which keeps the predicted class; or one for the
        probability of each class, of which rows are then divided by their sums.
    zero_rows : {"uncalibrated", "uniform"}, default="uncalibrated"
        What takes the place of a row that all curves map to 0.
    input : {"logits", "probabilities"}, default="logits"
        What the scores are; see `TemperatureScaling`.
    classes : int or array-like, default=None
        Labels of the columns in their order; see `TemperatureScaling`.

    Attributes
    ----------
    curves_ : list of list of ndarray
        For each curve ``a``, ``b`` and ``c``.
    n_raised_ : int
        Rows of the calibration set whose confidence is raised for the predicted class
        to stay; `raised` tells those of other scores.
    classes_ : ndarray of shape (n_classes,)
        Labels in the order of the columns.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of str
        Names of the columns, where the scores had any.

    See Also
    --------
    SigmoidCalibrator : For scores that are no probabilities.

    References
    ----------
    .. [1] M. Kull, T. Silva Filho, P. Flach. Beta Calibration: a Well-Founded and
       Easily Implemented Improvement on Logistic Calibration for Binary Classifiers.
       AISTATS 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_smart import BetaCalibrator
    >>> rng = np.random.default_rng(0)
    >>> prob = rng.random(5000)
    >>> y = (rng.random(5000) < prob).astype(int)
    >>> calibrator = BetaCalibrator(input="probabilities").fit(prob, y)
    >>> a, b, c = calibrator.curves_[0][0]
    >>> bool(abs(a - 1) < 0.1), bool(abs(b - 1) < 0.1), bool(abs(c) < 0.2)
    (True, True, True)
    """

    def __init__(
        self,
        *,
        parameters="abm",
        kind="one_vs_rest",
        zero_rows="uncalibrated",
        input="logits",
        classes=None,
    ):
        super().__init__(kind=kind, zero_rows=zero_rows, input=input, classes=classes)
        self.parameters = parameters

    def _check_parameters(self):
        super()._check_parameters()
        check_option(self, "parameters", ("abm", "am", "ab"))

    def _fit_curve(self, values, happened, weight):
        low, high = _log_and_log_rest(values)
        one = np.ones_like(low)
        if self.parameters == "am":
            (a, c) = _logistic([low - high, one], happened, weight, positive=1)
            return [np.array([a, a, c])]
        if self.parameters == "ab":
            half = np.log(2)
            a, b = _logistic([low + half, -high - half], happened, weight, positive=2)
            return [np.array([a, b, (a - b) * half])]
        return [_logistic([low, -high, one], happened, weight, positive=2)]

    def _map(self, curve, values):
        a, b, c = curve[0]
        low, high = _log_and_log_rest(values)
        return expit(a * low - b * high + c)


class SplineCalibrator(CurveCalibrator):
    r"""Calibrate by a natural cubic spline on the cumulative gap.

    The samples in order of their probability, let :math:`G(t)` be the sum of outcome
    minus probability over the share t of the smallest ones, divided by n: for true
    probabilities it stays near 0. A natural cubic spline of few knots is fitted to it
    by least squares, and its slope is added to the probability: q = p + G'(t(p)) [1]_.

    Parameters
    ----------
    n_knots : int, default=6
        Knots of the spline, evenly spaced in t, from 3 to 200.
    kind : {"top_label", "one_vs_rest"}, default="top_label"
        One curve, of the confidence, which keeps the predicted class; or one for the
        probability of each class, of which rows are then divided by their sums.
    zero_rows : {"uncalibrated", "uniform"}, default="uncalibrated"
        What takes the place of a row that all curves map to 0.
    input : {"logits", "probabilities"}, default="logits"
        What the scores are; see `TemperatureScaling`.
    classes : int or array-like, default=None
        Labels of the columns in their order; see `TemperatureScaling`.

    Attributes
    ----------
    curves_ : list of list of ndarray
        For each curve up to 257 quantiles of the probability, increasing, and what is
        added there; linear in between.
    n_raised_ : int
        Rows of the calibration set whose confidence is raised for the predicted class
        to stay; `raised` tells those of other scores.
    classes_ : ndarray of shape (n_classes,)
        Labels in the order of the columns.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of str
        Names of the columns, where the scores had any.

    See Also
    --------
    TopLabelIsotonic : A monotone curve of the confidence.

    References
    ----------
    .. [1] K. Gupta, A. Rahimi, T. Ajanthan, T. Mensink, C. Sminchisescu, R. Hartley.
       Calibration of Neural Networks Using Splines. ICLR 2021. arXiv:2006.12800

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_smart import SplineCalibrator
    >>> rng = np.random.default_rng(0)
    >>> prob = rng.random(5000)
    >>> y = (rng.random(5000) < prob**2).astype(int)
    >>> calibrator = SplineCalibrator(kind="one_vs_rest", input="probabilities")
    >>> bool(abs(calibrator.fit(prob, y).predict_proba([0.5])[0, 1] - 0.25) < 0.05)
    True
    """

    def __init__(
        self,
        *,
        n_knots=6,
        kind="top_label",
        zero_rows="uncalibrated",
        input="logits",
        classes=None,
    ):
        super().__init__(kind=kind, zero_rows=zero_rows, input=input, classes=classes)
        self.n_knots = n_knots

    def _check_parameters(self):
        super()._check_parameters()
        check_number(self, "n_knots", int, 3, 200, closed="both")

    def _fit_curve(self, values, happened, weight):
        unique, place = np.unique(values, return_inverse=True)
        mass = np.bincount(place, weight)
        gap = np.bincount(place, weight * (happened - values))
        upto = np.cumsum(mass) / mass.sum()
        cumulative = np.cumsum(gap) / mass.sum()
        # The gap as a line from sum to sum, equal values in no order among themselves:
        # a sample of weight 2 is then the same as two samples.
        t = (np.arange(_GRID) + 0.5) / _GRID
        line = np.interp(t, np.append(0.0, upto), np.append(0.0, cumulative))
        knots = np.linspace(0, 1, self.n_knots)
        basis = CubicSpline(knots, np.eye(self.n_knots), bc_type="natural")(t)
        heights = np.linalg.solve(basis.T @ basis, basis.T @ line)
        slope = CubicSpline(knots, heights, bc_type="natural").derivative()
        # In the middle of the mass of a value; equal values have one place.
        middle = upto - mass / (2 * mass.sum())
        at = np.unique(quantile_centres(unique, 257, mass))
        return [at, slope(np.interp(at, unique, middle))]

    def _map(self, curve, values):
        return values + np.interp(values, *curve)


class VennAbersCalibrator(CurveCalibrator):
    r"""Inductive Venn-Abers prediction: two isotonic regressions bracket the truth.

    For a new sample the isotonic regression of the calibration set is fitted twice
    more, with the sample added as an event and as none: :math:`p_1` and :math:`p_0` at
    it. One of the two is calibrated, whatever the distribution [1]_. The probability
    is :math:`p_1 / (1 - p_0 + p_1)`, which has the least regret in log loss, and the
    interval is `predict_interval`. All fits together take one pass over the sorted
    calibration set [2]_.

    Parameters
    ----------
    kind : {"top_label", "one_vs_rest"}, default="one_vs_rest"
        One curve, of the confidence, which keeps the predicted class; or one for the
        probability of each class, of which rows are then divided by their sums.
    zero_rows : {"uncalibrated", "uniform"}, default="uncalibrated"
        What takes the place of a row that all curves map to 0.
    input : {"logits", "probabilities"}, default="logits"
        What the scores are; see `TemperatureScaling`.
    classes : int or array-like, default=None
        Labels of the columns in their order; see `TemperatureScaling`.

    Attributes
    ----------
    curves_ : list of list of ndarray
        For each curve the distinct probabilities of the calibration set, and p_0 and
        p_1 at and between them.
    n_raised_ : int
        Rows of the calibration set whose confidence is raised for the predicted class
        to stay; `raised` tells those of other scores.
    classes_ : ndarray of shape (n_classes,)
        Labels in the order of the columns.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of str
        Names of the columns, where the scores had any.

    See Also
    --------
    IsotonicCalibrator : One isotonic regression.

    References
    ----------
    .. [1] V. Vovk, I. Petej. Venn-Abers Predictors. UAI 2014. arXiv:1211.0025
    .. [2] V. Vovk, I. Petej, V. Fedorova. Large-Scale Probabilistic Predictors with and
       without Guarantees of Validity. NeurIPS 2015. arXiv:1511.00213

    Examples
    --------
    >>> from sklearn_smart import VennAbersCalibrator
    >>> prob, y = [0.1, 0.3, 0.6, 0.8], [0, 1, 0, 1]
    >>> calibrator = VennAbersCalibrator(input="probabilities").fit(prob, y)
    >>> low, high = calibrator.predict_interval([0.7])
    >>> low.round(3), high.round(3)
    (array([[0.   , 0.333]]), array([[0.667, 1.   ]]))
    >>> calibrator.predict_proba([0.7]).round(3)
    array([[0.4, 0.6]])
    """

    def __init__(
        self,
        *,
        kind="one_vs_rest",
        zero_rows="uncalibrated",
        input="logits",
        classes=None,
    ):
        super().__init__(kind=kind, zero_rows=zero_rows, input=input, classes=classes)

    def predict_interval(self, scores):
        """The pair of probabilities of which one is calibrated.

        Parameters
        ----------
        scores : array-like of shape (n_samples, n_classes), (n_samples,) or \
(n_samples, 1)
            Scores of the kind that the calibrator was fitted on.

        Returns
        -------
        low, high : ndarray of shape (n_samples, n_classes) or (n_samples,)
            p_0 and p_1 of each class, before rows are divided by their sums; with
            ``kind="top_label"`` those of the confidence.
        """
        prob = self._probabilities(self._checked(scores))
        if self.kind == "top_label":
            return _pair(self.curves_[0], prob.max(axis=1))
        if prob.shape[1] == 2:
            low, high = _pair(self.curves_[0], prob[:, 1])
            return np.stack([1 - high, low], axis=1), np.stack([1 - low, high], axis=1)
        pairs = [_pair(curve, prob[:, k]) for k, curve in enumerate(self.curves_)]
        low, high = np.moveaxis(np.array(pairs), 0, 2)
        return low, high

    def _fit_curve(self, values, happened, weight):
        unique, place = np.unique(values, return_inverse=True)
        mass = np.bincount(place, weight)
        positive = np.bincount(place, weight * happened)
        low, high = venn_abers_curves(mass, positive)
        # A value across which nothing changes need not be kept.
        same = np.ones(len(unique), dtype=bool)
        for curve in (low, high):
            same &= (curve[:-1:2] == curve[1::2]) & (curve[1::2] == curve[2::2])
        kept = np.flatnonzero(~same)
        at = np.append(np.stack([2 * kept, 2 * kept + 1], axis=1).ravel(), len(low) - 1)
        return [unique[kept], low[at], high[at]]

    def _map(self, curve, values):
        low, high = _pair(curve, values)
        return high / (1 - low + high)


def _pair(curve, values):
    """p_0 and p_1 at values: 2 i + 1 is the i-th distinct one, 2 i the gap before."""
    unique, low, high = curve
    before = np.searchsorted(unique, values, side="left")
    found = np.searchsorted(unique, values, side="right") > before
    at = 2 * before + found
    return low[at], high[at]


def _log_and_log_rest(values):
    """``log p`` and ``log(1 - p)`` with p kept off 0 and 1 by the machine epsilon."""
    eps = np.finfo(np.float64).eps
    p = np.clip(values, eps, 1 - eps)
    return np.log(p), np.log1p(-p)


def _logistic(columns, happened, weight, positive):
    """Logistic regression whose first ``positive`` coefficients are not negative.

    Where the unconstrained solution has a negative one, the solution has it at 0: the
    loss is convex.
    """
    columns = np.stack(columns, axis=1)
    total = weight.sum()
    share = weight / total
    # Next to nothing, for what the data leave free: separable or constant values.
    ridge = 1e-9

    def solve(free):
        x = columns[:, free]
        scale = np.sqrt(share @ x**2)
        scale[scale == 0] = 1.0
        x = x / scale

        def loss(theta):
            raw = x @ theta
            value = share @ (np.logaddexp(0, raw) - happened * raw)
            gradient = x.T @ (share * (expit(raw) - happened)) + ridge * theta
            return float(value + ridge / 2 * theta @ theta), gradient

        def information(theta):
            q = expit(x @ theta)
            inner = (x * (share * q * (1 - q))[:, None]).T @ x
            return inner + ridge * np.eye(len(free))

        start = np.zeros(len(free))
        return (
            scoring(loss, information, start, max_iter=200, tol=1e-11).parameters
            / scale
        )

    free = list(range(columns.shape[1]))
    while True:
        theta = np.zeros(columns.shape[1])
        theta[free] = solve(free) if free else []
        negative = [k for k in free if k < positive and theta[k] < 0]
        if not negative:
            return theta
        free.remove(min(negative, key=lambda k: theta[k]))
