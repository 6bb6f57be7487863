"""Group calibration: learnt soft groups of samples, each with a temperature."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from .._numerics.group_mixture import GroupMixture
from .._numerics.logits import softmax, tempered_softmax
from .._numerics.signals import sorted_gaps
from .._numerics.solvers import lbfgs
from .._numerics.tempered import TemperedLogits
from .._validation import check_number
from .base import BaseCalibrator
from .temperature import finite_temperature


class GroupCalibration(BaseCalibrator):
    r"""Calibrate by temperatures of groups that are learnt, over several partitions.

    .. math:: p = \frac{1}{U} \sum_u \sum_g \pi_{ug}(z) \, \mathrm{softmax}(z / T_{ug}),
              \quad \pi_u = \mathrm{softmax}(x W_u + b_u)

    A linear model puts each sample softly into groups, each group has a temperature,
    and both are fitted together by log loss; so are U partitions from other random
    starts, and the results averaged [1]_. The order of the classes never changes. The
    authors group by the features of the last layer of a network, which a calibrator of
    scores does not see: here the features x are the distances of the next largest
    logits from the largest, in units of the single temperature and standardised.

    Parameters
    ----------
    n_groups : int, default=2
        Groups of a partition.
    n_partitions : int, default=10
        Partitions that are averaged.
    n_logits : int, default=10
        Number of sorted logits seen, at least 2; all where there are fewer classes.
    alpha : float, default=1.0
        Strength of the penalty ``alpha ||W||^2 / n``, at least 0.
    max_iter : int, default=500
        Most steps of each partition's fit.
    tol : float, default=1e-9
        A fit ends where the objective falls by less than this, relatively.
    random_state : int, RandomState instance or None, default=0
        Seed of the starts.
    input : {"logits", "probabilities"}, default="logits"
        What the scores are; see `TemperatureScaling`.
    classes : int or array-like, default=None
        Labels of the columns in their order; see `TemperatureScaling`.

    Attributes
    ----------
    coefs_ : ndarray of shape (n_partitions, n_inputs, n_groups)
        W.
    intercepts_ : ndarray of shape (n_partitions, n_groups)
        b.
    temperatures_ : ndarray of shape (n_partitions, n_groups)
        T.
    temperature_ : float
        The single temperature.
    input_mean_, input_scale_ : ndarray of shape (n_inputs,)
        Mean and standard deviation of the features.
    loss_ : float
        The objective at the end, mean over partitions.
    converged_ : bool
        Whether all fits ended before ``max_iter``.
    classes_ : ndarray of shape (n_classes,)
        Labels in the order of the columns.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of str
        Names of the columns, where the scores had any.

    Warns
    -----
    ConvergenceWarning
        If a fit ends at ``max_iter``.

    See Also
    --------
    ClassTemperatureScaling : The groups are the predicted classes.

    References
    ----------
    .. [1] J.-Q. Yang, D.-C. Zhan, L. Gan. Beyond Probability Partitions: Calibrating
       Neural Networks with Semantic Aware Grouping. NeurIPS 2023. arXiv:2306.04985

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_smart import GroupCalibration
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=1000)
    >>> scores = 4 * (np.eye(3)[y] + rng.normal(size=(1000, 3)))
    >>> GroupCalibration(n_partitions=3).fit(scores, y).temperatures_.shape
    (3, 2)
    """

    preserves_prediction = True

    def __init__(
        self,
        *,
        n_groups=2,
        n_partitions=10,
        n_logits=10,
        alpha=1.0,
        max_iter=500,
        tol=1e-9,
        random_state=0,
        input="logits",
        classes=None,
    ):
        self.n_groups = n_groups
        self.n_partitions = n_partitions
        self.n_logits = n_logits
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.input = input
        self.classes = classes

    def _fit(self, logits, y, sample_weight):
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        rows = TemperedLogits(logits, y)
        self.temperature_ = finite_temperature(rows, weight).temperature
        gaps = sorted_gaps(logits, self.n_logits, self.temperature_)
        share = weight / weight.sum()
        self.input_mean_ = share @ gaps
        spread = np.sqrt(share @ (gaps - self.input_mean_) ** 2)
        self.input_scale_ = np.where(spread > 0, spread, 1.0)
        objective = GroupMixture(
            rows.tabulate(1 / self.temperature_),
            (gaps - self.input_mean_) / self.input_scale_,
            weight,
            self.n_groups,
            1 / self.temperature_,
            self.alpha,
        )
        random_state = check_random_state(self.random_state)
        found = [
            lbfgs(
                objective,
                objective.start(random_state),
                max_iter=self.max_iter,
                tol=self.tol,
            )
            for _ in range(self.n_partitions)
        ]
        parts = [objective.split(solution.parameters) for solution in found]
        self.coefs_ = np.array([coef for coef, _, _ in parts])
        self.intercepts_ = np.array([bias for _, bias, _ in parts])
        self.temperatures_ = np.array([1 / beta for _, _, beta in parts])
        self.loss_ = float(np.mean([solution.value for solution in found]))
        self.converged_ = all(solution.converged for solution in found)
        if not self.converged_:
            warnings.warn(
                f"GroupCalibration did not converge in {self.max_iter} steps. Increase "
                "max_iter or alpha.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _proba(self, logits):
        gaps = sorted_gaps(logits, self.n_logits, self.temperature_)
        x = (gaps - self.input_mean_) / self.input_scale_
        out = np.zeros(logits.shape, dtype=np.float64)
        for coef, bias, temperatures in zip(
            self.coefs_, self.intercepts_, self.temperatures_, strict=True
        ):
            members = softmax(x @ coef + bias) / len(self.coefs_)
            for member, temperature in zip(members.T, temperatures, strict=True):
                out += member[:, None] * tempered_softmax(logits, temperature)
        return out.astype(logits.dtype, copy=False)

    def _log_proba(self, logits):
        with np.errstate(divide="ignore"):
            return np.log(self._proba(logits))

    def _check_parameters(self):
        super()._check_parameters()
        for name, least in (("n_groups", 1), ("n_partitions", 1), ("n_logits", 2)):
            check_number(self, name, int, least)
        check_number(self, "alpha", float, 0)
        check_number(self, "max_iter", int, 1)
        check_number(self, "tol", float, 0, closed="neither")
        check_random_state(self.random_state)
