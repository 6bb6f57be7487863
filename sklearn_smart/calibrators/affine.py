"""Affine calibrators: vector and matrix scaling, and Dirichlet calibration."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._numerics.affine_maps import AffineProblem, MatrixMap, VectorMap
from .._numerics.grouped_fit import fit_by_evidence, fit_with_precision
from .._numerics.logits import tempered_log_softmax
from .._numerics.tempered import TemperedLogits
from .._validation import check_number
from .base import BaseCalibrator
from .temperature import finite_temperature


class _AffineCalibrator(BaseCalibrator):
    """Base of affine maps of log-probabilities, fitted by penalised log loss.

    A subclass names its map in ``_form(n_classes)`` and its features in
    ``_features(logits)``.
    """

    def _fit_affine(self, logits, y, weight, solve):
        form = self._form(logits.shape[1])
        problem = AffineProblem(self._features(logits), y, weight, form)
        solution = solve(problem)
        if not solution.converged:
            warnings.warn(
                f"{type(self).__name__} did not converge in {self.max_iter} steps "
                f"({solution.message}). Increase max_iter or the penalty.",
                ConvergenceWarning,
                stacklevel=4,
            )
        self._keep(form, solution.parameters)
        self.loss_ = solution.value
        self.n_iter_ = solution.n_iter
        self.converged_ = solution.converged

    def _keep(self, form, parameters):
        """Take the fitted map apart; vector scaling and the others differ."""
        matrix, bias = form.matrix(parameters)
        self.coef_ = np.eye(len(bias)) + matrix
        self.intercept_ = bias.copy()

    def _log_proba(self, logits):
        x = self._features(logits)
        coef = self.coef_.astype(x.dtype)
        mapped = x * coef if coef.ndim == 1 else x @ coef.T
        mapped += self.intercept_.astype(x.dtype)
        return tempered_log_softmax(mapped, 1.0)

    def _check_parameters(self):
        super()._check_parameters()
        check_number(self, "max_iter", int, 1)
        check_number(self, "tol", float, 0, closed="neither")


class _StructuredScaling(_AffineCalibrator):
    """An affine map of tempered log-probabilities, pulled towards the identity."""

    def __init__(
        self,
        *,
        alpha="auto",
        prior_count=1.0,
        max_iter=500,
        tol=1e-12,
        input="logits",
        classes=None,
    ):
        self.alpha = alpha
        self.prior_count = prior_count
        self.max_iter = max_iter
        self.tol = tol
        self.input = input
        self.classes = classes

    def _fit(self, logits, y, sample_weight):
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        self.temperature_ = finite_temperature(
            TemperedLogits(logits, y), weight
        ).temperature
        self.uniform_weight_ = float(
            self.prior_count / (weight.sum() + self.prior_count)
        )
        self._fit_affine(logits, y, weight, self._solve)

    def _solve(self, problem):
        if self.alpha == "auto":
            solution, precision = fit_by_evidence(problem, self.max_iter, self.tol)
            self.alpha_ = precision / 2
            return solution
        self.alpha_ = np.full(len(problem.sizes), float(self.alpha))
        return fit_with_precision(problem, 2 * self.alpha_, self.max_iter, self.tol)

    def _features(self, logits):
        """Tempered log-probabilities, a little of the uniform distribution mixed in."""
        x = tempered_log_softmax(logits, self.temperature_)
        if self.uniform_weight_ > 0:
            share = np.asarray(self.uniform_weight_, dtype=x.dtype)
            np.exp(x, out=x)
            x *= 1 - share
            x += share / x.shape[1]
            np.log(x, out=x)
        return x

    def _check_parameters(self):
        super()._check_parameters()
        if not (isinstance(self.alpha, str) and self.alpha == "auto"):
            check_number(self, "alpha", float, 0)
        check_number(self, "prior_count", float, 0)


class VectorScaling(_StructuredScaling):
    r"""Calibrate by a factor and an offset for each class, near temperature scaling.

    ``p = softmax(d * x + b)`` with the log-probabilities ``x`` of temperature scaling,
    a vector ``d`` of factors and a vector ``b`` of offsets [1]_. They minimise the sum
    over samples of the log loss plus

    .. math:: \alpha_d \, \lVert d - 1 \rVert^2 + \alpha_b \, \lVert b \rVert^2,

    so that they stay near the single temperature where the data do not say otherwise
    [2]_. By default the two strengths are those of largest evidence [3]_: without
    folds, and a group that does no better than chance vanishes.

    Before the logarithm, ``prior_count / (n + prior_count)`` of the uniform
    distribution is mixed into the probabilities of temperature scaling: classes that a
    base estimator holds impossible then do not reach log-probabilities beyond what n
    samples can tell.

    It repairs class-wise bias, which no temperature can; `SMARTCalibrator` repairs how
    confidence depends on the margin. In sequence,
    ``make_pipeline(VectorScaling(), SMARTCalibrator())``, they do both.

    Parameters
    ----------
    alpha : float or "auto", default="auto"
        Strength of the penalties, at least 0; infinity would be temperature scaling.
        "auto" finds one for each group.
    prior_count : float, default=1.0
        Samples' worth of the uniform distribution mixed in, at least 0.
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
    coef_ : ndarray of shape (n_classes,)
        ``d``.
    intercept_ : ndarray of shape (n_classes,)
        ``b``.
    alpha_ : ndarray of shape (2,)
        Strength of the penalty of ``d`` and of ``b``.
    temperature_ : float
        The temperature before the map.
    uniform_weight_ : float
        The share of the uniform distribution.
    loss_ : float
        Penalised mean log loss of the calibration set.
    n_iter_ : int
        Steps of the last fit.
    converged_ : bool
        Whether it ended before ``max_iter``.
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
    MatrixScaling : Also mixes the classes.

    References
    ----------
    .. [1] C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger. On Calibration of Modern Neural
       Networks. ICML 2017. arXiv:1706.04599
    .. [2] E. Berta, D. Holzmüller, M. I. Jordan, F. Bach. Structured Matrix Scaling for
       Multi-Class Calibration. 2025. arXiv:2511.03685
    .. [3] D. J. C. MacKay. Bayesian Interpolation. Neural Computation 4, 1992.
       doi:10.1162/neco.1992.4.3.415

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_smart import VectorScaling
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=1000)
    >>> scores = np.eye(3)[y] + rng.normal(size=(1000, 3)) + [1.0, 0.0, 0.0]
    >>> calibrator = VectorScaling().fit(scores, y)
    >>> calibrator.intercept_.round(1)
    array([-0.9,  0.7,  0.2])
    """

    def _form(self, n_classes):
        return VectorMap(n_classes)

    def _keep(self, form, parameters):
        scale, bias = parameters.reshape(2, -1)
        self.coef_ = 1 + scale
        self.intercept_ = bias.copy()


class MatrixScaling(_StructuredScaling):
    r"""Calibrate by an affine map of the classes, near temperature scaling.

    ``p = softmax(A x + b)`` with the log-probabilities ``x`` of temperature scaling and
    a matrix ``A`` [1]_. The sum over samples of the log loss is minimised plus
    penalties of a strength each on the diagonal, the rest of the matrix and the offsets
    [2]_,

    .. math:: \alpha_d \sum_k (A_{kk} - 1)^2 + \alpha_o \sum_{k \neq j} A_{kj}^2
              + \alpha_b \, \lVert b \rVert^2,

    which are by default those of largest evidence; see `VectorScaling`, of which this
    is the form that lets classes borrow from one another. The cost of a step grows with
    the square of the number of classes.

    Parameters
    ----------
    alpha : float or "auto", default="auto"
        Strength of the penalties, at least 0; "auto" finds one for each group.
    prior_count : float, default=1.0
        Samples' worth of the uniform distribution mixed in, at least 0.
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
    coef_ : ndarray of shape (n_classes, n_classes)
        ``A``: row k makes the logit of class k.
    intercept_ : ndarray of shape (n_classes,)
        ``b``.
    alpha_ : ndarray of shape (3,)
        Strength of the penalty of the diagonal, of the rest and of ``b``.
    temperature_ : float
        The temperature before the map.
    uniform_weight_ : float
        The share of the uniform distribution.
    loss_ : float
        Penalised mean log loss of the calibration set.
    n_iter_ : int
        Steps of the last fit.
    converged_ : bool
        Whether it ended before ``max_iter``.
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
    VectorScaling : Without the mixing of classes.
    DirichletCalibrator : Another penalty, and no temperature.

    References
    ----------
    .. [1] C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger. On Calibration of Modern Neural
       Networks. ICML 2017. arXiv:1706.04599
    .. [2] E. Berta, D. Holzmüller, M. I. Jordan, F. Bach. Structured Matrix Scaling for
       Multi-Class Calibration. 2025. arXiv:2511.03685

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_smart import MatrixScaling
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=1000)
    >>> scores = np.eye(3)[y] + rng.normal(size=(1000, 3))
    >>> MatrixScaling().fit(scores, y).coef_.shape
    (3, 3)
    """

    def _form(self, n_classes):
        return MatrixMap(n_classes)


class DirichletCalibrator(_AffineCalibrator):
    r"""Dirichlet calibration with ODIR: an affine map of log-probabilities.

    ``p = softmax(W log q + b)`` with the probabilities ``q`` of the scores: the form of
    a posterior whose classes have Dirichlet likelihoods [1]_. The mean log loss is
    minimised plus the off-diagonal and intercept regularisation

    .. math:: \frac{\lambda}{K (K - 1)} \sum_{k \neq j} W_{kj}^2
              + \frac{\mu}{K} \sum_k b_k^2.

    The diagonal is free. The authors choose the strengths by cross-validation; by
    default they are here those of largest evidence, as in `VectorScaling`, which takes
    one run and is needed: with too small ones it overfits where classes are many.

    Parameters
    ----------
    reg_lambda : float or "auto", default="auto"
        ``lambda``, at least 0; "auto" finds both strengths.
    reg_mu : float or None, default=None
        ``mu``, at least 0; None is ``reg_lambda``. Without effect for "auto".
    max_iter : int, default=2000
        Most steps of the fit.
    tol : float, default=1e-9
        The fit ends where the objective falls by less than this, relatively.
    input : {"logits", "probabilities"}, default="logits"
        What the scores are; see `TemperatureScaling`.
    classes : int or array-like, default=None
        Labels of the columns in their order; see `TemperatureScaling`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_classes, n_classes)
        ``W``: row k makes the logit of class k.
    intercept_ : ndarray of shape (n_classes,)
        ``b``.
    reg_lambda_, reg_mu_ : float
        The strengths.
    loss_ : float
        Penalised mean log loss of the calibration set.
    n_iter_ : int
        Steps of the fit.
    converged_ : bool
        Whether it ended before ``max_iter``.
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
    MatrixScaling : Near temperature scaling, with strengths found from the data.

    References
    ----------
    .. [1] M. Kull, M. Perello-Nieto, M. Kängsepp, T. Silva Filho, H. Song, P. Flach.
       Beyond Temperature Scaling: Obtaining Well-Calibrated Multiclass Probabilities
       with Dirichlet Calibration. NeurIPS 2019. arXiv:1910.12656

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_smart import DirichletCalibrator
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=1000)
    >>> scores = 3 * (np.eye(3)[y] + rng.normal(size=(1000, 3)))
    >>> calibrator = DirichletCalibrator(reg_lambda=1e-2).fit(scores, y)
    >>> np.diag(calibrator.coef_).round(1)
    array([0.3, 0.4, 0.3])
    """

    def __init__(
        self,
        *,
        reg_lambda="auto",
        reg_mu=None,
        max_iter=2000,
        tol=1e-9,
        input="logits",
        classes=None,
    ):
        self.reg_lambda = reg_lambda
        self.reg_mu = reg_mu
        self.max_iter = max_iter
        self.tol = tol
        self.input = input
        self.classes = classes

    def _fit(self, logits, y, sample_weight):
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        temperature = finite_temperature(TemperedLogits(logits, y), weight).temperature
        self._fit_affine(
            logits, y, weight, lambda problem: self._solve(problem, 1 / temperature)
        )

    def _form(self, n_classes):
        return MatrixMap(n_classes)

    def _features(self, logits):
        return tempered_log_softmax(logits, 1.0)

    def _solve(self, problem, first_scale):
        """From where the diagonal is about right, whatever the scale of the scores."""
        n_classes = problem.sizes[0]
        start = np.zeros(sum(problem.sizes))
        start[:n_classes] = first_scale - 1
        # Of the sum of squares of a group, in a sum over samples, twice.
        unit = 2 * problem.total / np.array([n_classes * (n_classes - 1), n_classes])
        if self.reg_lambda == "auto":
            solution, precision = fit_by_evidence(
                problem, self.max_iter, self.tol, start, free=[0]
            )
            self.reg_lambda_, self.reg_mu_ = (precision[1:] / unit).tolist()
            return solution
        self.reg_lambda_ = float(self.reg_lambda)
        self.reg_mu_ = self.reg_lambda_ if self.reg_mu is None else float(self.reg_mu)
        precision = np.append(0.0, unit * [self.reg_lambda_, self.reg_mu_])
        return fit_with_precision(problem, precision, self.max_iter, self.tol, start)

    def _check_parameters(self):
        super()._check_parameters()
        if not (isinstance(self.reg_lambda, str) and self.reg_lambda == "auto"):
            check_number(self, "reg_lambda", float, 0)
        if self.reg_mu is not None:
            check_number(self, "reg_mu", float, 0)
