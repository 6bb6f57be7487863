"""Class-based temperature scaling: a temperature for each predicted class."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._numerics.group_temperatures import GroupTemperatures
from .._numerics.grouped_fit import fit_by_evidence, fit_with_precision
from .._numerics.logits import tempered_log_softmax, tempered_softmax
from .._numerics.tempered import TemperedLogits
from .._validation import check_number
from .base import BaseCalibrator
from .temperature import finite_temperature


class ClassTemperatureScaling(BaseCalibrator):
    r"""Calibrate by a temperature for each predicted class.

    ``p = softmax(z / T_c)`` with c the class of the largest logit [1]_. The predicted
    class never changes. The temperatures minimise the sum over samples of the log loss
    plus

    .. math:: \alpha \sum_c (\log T_c - \log T)^2,

    T the single temperature, so that a class that is rarely predicted keeps about that
    of all. By default the strength is that of largest evidence, see `VectorScaling`.
    The authors choose the temperatures one after another from a grid, without a
    penalty: ``alpha=0`` is the minimum that they look for.

    Parameters
    ----------
    alpha : float or "auto", default="auto"
        Strength of the penalty, at least 0; infinity would be temperature scaling.
    max_iter : int, default=500
        Most steps of a fit.
    tol : float, default=1e-12
        A fit ends where the objective falls by less than this, relatively.
    input : {"logits", "probabilities"}, default="logits"
        What the scores are; see `TemperatureScaling`.
    classes : int or array-like, default=None
        Labels of the columns in their order; see `TemperatureScaling`.

    Attributes
    ----------
    temperatures_ : ndarray of shape (n_classes,)
        Temperature of each predicted class.
    temperature_ : float
        The single temperature.
    alpha_ : float
        Strength of the penalty.
    loss_ : float
        Penalised mean log loss of the calibration set.
    converged_ : bool
        Whether the fit ended before ``max_iter``.
    classes_ : ndarray of shape (n_classes,)
        Labels in the order of the columns.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of str
        Names of the columns, where the scores had any.

    Warns
    -----
    ConvergenceWarning
        If the fit ends at ``max_iter``.

    See Also
    --------
    SMARTCalibrator : A temperature for each margin.

    References
    ----------
    .. [1] L. Frenkel, J. Goldberger. Network Calibration by Class-based Temperature
       Scaling. EUSIPCO 2021. doi:10.23919/EUSIPCO54536.2021.9616219

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_smart import ClassTemperatureScaling
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=2000)
    >>> scores = 2 * (np.eye(3)[y] + rng.normal(size=(2000, 3)))
    >>> scores[:, 0] *= 2
    >>> temperatures = ClassTemperatureScaling().fit(scores, y).temperatures_
    >>> bool(temperatures[0] > temperatures[1:].max())
    True
    """

    preserves_prediction = True

    def __init__(
        self, *, alpha="auto", max_iter=500, tol=1e-12, input="logits", classes=None
    ):
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol
        self.input = input
        self.classes = classes

    def _fit(self, logits, y, sample_weight):
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        rows = TemperedLogits(logits, y)
        self.temperature_ = finite_temperature(rows, weight).temperature
        problem = GroupTemperatures(
            rows.tabulate(1 / self.temperature_),
            logits.argmax(axis=1),
            logits.shape[1],
            weight,
            1 / self.temperature_,
        )
        if self.alpha == "auto":
            solution, (precision,) = fit_by_evidence(problem, self.max_iter, self.tol)
            self.alpha_ = float(precision) / 2
        else:
            self.alpha_ = float(self.alpha)
            solution = self._solve(problem)
        # Once more on the exact curves: their interpolation leaves no trace.
        problem.curves.anchor(problem.beta_of_rows(solution.parameters))
        solution = self._solve(problem)
        self.temperatures_ = problem.temperatures(solution.parameters)
        self.loss_ = solution.value
        self.converged_ = solution.converged
        if not solution.converged:
            warnings.warn(
                f"ClassTemperatureScaling did not converge in {self.max_iter} steps "
                f"({solution.message}). Increase max_iter.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _solve(self, problem):
        precision = np.array([2 * self.alpha_])
        return fit_with_precision(problem, precision, self.max_iter, self.tol)

    def temperatures(self, scores):
        """The temperature of each sample.

        Parameters
        ----------
        scores : array-like of shape (n_samples, n_classes), (n_samples,) or \
(n_samples, 1)
            Scores of the kind that the calibrator was fitted on.

        Returns
        -------
        temperatures : ndarray of shape (n_samples,)
            In units of the logits.
        """
        return self._of_rows(self._as_wanted(self._checked(scores)))

    def _of_rows(self, logits):
        return self.temperatures_[logits.argmax(axis=1)]

    def _write_proba(self, logits, out):
        tempered_softmax(logits, self._of_rows, out)

    def _log_proba(self, logits):
        return tempered_log_softmax(logits, self._of_rows)

    def _check_parameters(self):
        super()._check_parameters()
        if not (isinstance(self.alpha, str) and self.alpha == "auto"):
            check_number(self, "alpha", float, 0)
        check_number(self, "max_iter", int, 1)
        check_number(self, "tol", float, 0, closed="neither")
