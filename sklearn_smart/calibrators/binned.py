"""Binned calibrators: histogram binning, its Bayesian average, scaling-binning."""

from __future__ import annotations

import numpy as np
from scipy.special import betaln, expit

from .._numerics.bins import bin_index, bin_sums, equal_mass_edges, uniform_edges
from .._validation import check_number, check_option
from .curves import CurveCalibrator
from .one_vs_rest import fit_sigmoid, log_odds


class HistogramBinning(CurveCalibrator):
    """Calibrate by the frequency of each bin of the probability.

    The samples are put into bins by their confidence, or by the probability of each
    class; a probability becomes the share of the bin's samples where the event happened
    [1]_. The bins are those of `metrics.expected_calibration_error`. A bin without
    samples gives its middle.

    Parameters
    ----------
    n_bins : int, default=15
        Number of bins.
    strategy : {"quantile", "uniform"}, default="quantile"
        Bins of equal weight, or of equal width.
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
        For each curve the inner edges of the bins and their values.
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
    BayesianBinning : The average over numbers of bins.

    References
    ----------
    .. [1] B. Zadrozny, C. Elkan. Obtaining Calibrated Probability Estimates from
       Decision Trees and Naive Bayesian Classifiers. ICML 2001.

    Examples
    --------
    >>> from sklearn_smart import HistogramBinning
    >>> prob = [[0.1, 0.9], [0.2, 0.8], [0.1, 0.9], [0.4, 0.6]]
    >>> calibrator = HistogramBinning(n_bins=1, input="probabilities")
    >>> calibrator.fit(prob, [1, 1, 0, 1]).predict_proba([[0.3, 0.7]])
    array([[0.25, 0.75]])
    """

    def __init__(
        self,
        *,
        n_bins=15,
        strategy="quantile",
        kind="top_label",
        zero_rows="uncalibrated",
        input="logits",
        classes=None,
    ):
        super().__init__(kind=kind, zero_rows=zero_rows, input=input, classes=classes)
        self.n_bins = n_bins
        self.strategy = strategy

    def _check_parameters(self):
        super()._check_parameters()
        check_number(self, "n_bins", int, 1)
        check_option(self, "strategy", ("quantile", "uniform"))

    def _fit_curve(self, values, happened, weight):
        edges = (
            uniform_edges(self.n_bins)
            if self.strategy == "uniform"
            else equal_mass_edges(values, self.n_bins, weight)
        )
        return [edges[1:-1], _bin_means(values, edges, happened, weight)]

    def _map(self, curve, values):
        return _step(curve, values)


class BayesianBinning(CurveCalibrator):
    r"""Bayesian binning into quantiles: the average of histograms by their evidence.

    Histograms of equal-mass bins, of every number of bins B from ``n^(1/3) / 10`` to
    ``10 n^(1/3)`` or the number of distinct probabilities, each with the weight of its
    marginal likelihood under a Beta prior in each bin, of ``2 / B`` samples at the
    middle of the bin; a probability becomes their weighted average of posterior means
    [1]_:

    .. math:: \prod_b \frac{B(m_b + \alpha_b, n_b + \beta_b)}{B(\alpha_b, \beta_b)},
              \quad \alpha_b = \tfrac{2}{B} \pi_b, \;
              \beta_b = \tfrac{2}{B} (1 - \pi_b)

    with :math:`m_b` events and :math:`n_b` others in a bin of middle :math:`\pi_b`, and
    B on the left the Beta function.

    Parameters
    ----------
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
        For each curve the inner edges of all histograms together and the averages.
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
    HistogramBinning : One of the histograms.

    References
    ----------
    .. [1] M. P. Naeini, G. F. Cooper, M. Hauskrecht. Obtaining Well Calibrated
       Probabilities Using Bayesian Binning. AAAI 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_smart import BayesianBinning
    >>> rng = np.random.default_rng(0)
    >>> prob = rng.random(2000)
    >>> y = (rng.random(2000) < prob**2).astype(int)
    >>> calibrator = BayesianBinning(kind="one_vs_rest", input="probabilities")
    >>> bool(calibrator.fit(prob, y).predict_proba([0.5])[0, 1] < 0.35)
    True
    """

    def _fit_curve(self, values, happened, weight):
        root = np.cbrt(weight.sum())
        most = min(int(np.ceil(10 * root)), len(np.unique(values)))
        numbers = range(max(1, min(int(root / 10), most)), most + 1)
        histograms = [self._histogram(values, happened, weight, b) for b in numbers]
        evidence = np.array([log_evidence for _, _, log_evidence in histograms])
        share = np.exp(evidence - evidence.max())
        share /= share.sum()
        kept = share > 1e-12
        chosen = [one for one, keep in zip(histograms, kept, strict=True) if keep]
        edges = np.unique(np.concatenate([inner for inner, _, _ in chosen]))
        # Between two neighbouring edges all histograms are constant.
        inside = np.concatenate([edges, [np.inf]])
        average = sum(
            part * mean[np.searchsorted(inner, inside, side="left")]
            for part, (inner, mean, _) in zip(share[kept], chosen, strict=True)
        )
        return [edges, average / share[kept].sum()]

    @staticmethod
    def _histogram(values, happened, weight, n_bins):
        """Inner edges, posterior means and log marginal likelihood."""
        edges = equal_mass_edges(values, n_bins, weight)
        index = bin_index(values, edges)
        total, positive = bin_sums(index, n_bins, happened, sample_weight=weight)
        strength = 2 / n_bins
        middle = np.clip((edges[:-1] + edges[1:]) / 2, 1e-6, 1 - 1e-6)
        alpha, beta = strength * middle, strength * (1 - middle)
        log_evidence = betaln(positive + alpha, total - positive + beta)
        log_evidence -= betaln(alpha, beta)
        return edges[1:-1], (positive + alpha) / (total + strength), log_evidence.sum()

    def _map(self, curve, values):
        return _step(curve, values)


class ScalingBinning(CurveCalibrator):
    """Scaling-binning: a sigmoid, then the mean of its values in each bin.

    A sigmoid of the log-odds is fitted, and its values are put into bins of equal
    weight; a probability becomes the mean of the sigmoid over the samples of its bin
    [1]_. The means vary less than the frequencies of `HistogramBinning`, and unlike the
    sigmoid itself such an output takes few values, so that its calibration error can be
    measured.

    Parameters
    ----------
    n_bins : int, default=15
        Number of bins.
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
        For each curve slope and intercept of the sigmoid, the inner edges of the bins
        of its values, and their means.
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
    SigmoidCalibrator : Without the bins.

    References
    ----------
    .. [1] A. Kumar, P. Liang, T. Ma. Verified Uncertainty Calibration. NeurIPS 2019.
       arXiv:1909.10155

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_smart import ScalingBinning
    >>> rng = np.random.default_rng(0)
    >>> prob = rng.random(500)
    >>> y = (rng.random(500) < prob).astype(int)
    >>> calibrator = ScalingBinning(
    ...     n_bins=4, kind="one_vs_rest", input="probabilities"
    ... )
    >>> len(np.unique(calibrator.fit(prob, y).predict_proba(prob)[:, 1]))
    4
    """

    def __init__(
        self,
        *,
        n_bins=15,
        kind="top_label",
        zero_rows="uncalibrated",
        input="logits",
        classes=None,
    ):
        super().__init__(kind=kind, zero_rows=zero_rows, input=input, classes=classes)
        self.n_bins = n_bins

    def _check_parameters(self):
        super()._check_parameters()
        check_number(self, "n_bins", int, 1)

    def _fit_curve(self, values, happened, weight):
        odds = log_odds(values)
        slope, intercept = fit_sigmoid(odds, happened, weight)
        scaled = expit(slope * odds + intercept)
        edges = equal_mass_edges(scaled, self.n_bins, weight)
        means = _bin_means(scaled, edges, scaled, weight)
        return [np.array([slope, intercept]), edges[1:-1], means]

    def _map(self, curve, values):
        (slope, intercept), edges, mean = curve
        return _step([edges, mean], expit(slope * log_odds(values) + intercept))


def _bin_means(values, edges, target, weight):
    """Weighted mean of the target in each bin of values; the middle of an empty bin."""
    n_bins = len(edges) - 1
    index = bin_index(values, edges)
    total, summed = bin_sums(index, n_bins, target, sample_weight=weight)
    means = (edges[:-1] + edges[1:]) / 2
    return np.divide(summed, total, out=means, where=total > 0)


def _step(curve, values):
    """A function that is constant between the inner edges, closed on the right."""
    edges, heights = curve
    return heights[np.searchsorted(edges, values, side="left")]
