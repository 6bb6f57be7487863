"""The uncertainty-weighted gradient as an objective for XGBoost and LightGBM."""

from __future__ import annotations

import numpy as np

from ._numerics.fields import WeightedField
from ._numerics.score_models import as_logits
from ._numerics.uncertainty_weights import WEIGHTS, uncertainty_weight
from ._validation import check_number, check_option

# The hessian of a row that fits perfectly: boosters divide by sums of hessians.
_SMALLEST_HESSIAN = 1e-16


class BrierWeightedObjective:
    """Objective of gradient boosting: gradient ``u(p, y) (p - e_y)`` by the raw scores.

    Pass an instance as ``objective`` to `xgboost.XGBClassifier` or
    `lightgbm.LGBMClassifier`; both call it with the encoded labels, the raw scores
    and the sample weights. The weight ``u`` is held constant [1]_. The hessian is
    positive: ``u p (1 - p)``, with more than two classes twice that, as the boosters'
    own for cross-entropy.

    Parameters
    ----------
    weight : {"brier", "focal", "flsd53", "dual_focal", "tlbs", "cross_entropy"}, \
default="brier"
        The uncertainty weight, as in `BrierWeightedClassifier`.
    gamma : float, default=2.0
        Exponent of the weight, at least 0.
    norm : float, default=2.0
        Norm of the Brier weight, at least 1, possibly ``inf``.

    See Also
    --------
    raw_scores : Raw scores of a fitted booster, for a calibrator.

    Notes
    -----
    The hessians of samples that fit well are small, and with them the leaves that
    ``min_child_weight`` (XGBoost) and ``min_sum_hessian_in_leaf`` (LightGBM) allow:
    lower both. LightGBM returns raw scores from ``predict_proba`` when the objective is
    not its own; `raw_scores` works for both.

    References
    ----------
    .. [1] Y. Lin et al. Uncertainty Weighted Gradients for Model Calibration. CVPR
       2025. arXiv:2503.22725

    Examples
    --------
    >>> from sklearn_smart.boosting_objectives import BrierWeightedObjective
    >>> objective = BrierWeightedObjective(gamma=1.0, norm=1.0)
    >>> gradient, hessian = objective([1], [0.0])
    >>> gradient, hessian
    (array([-0.5]), array([0.25]))
    """

    def __init__(self, weight="brier", *, gamma=2.0, norm=2.0):
        self.weight = weight
        self.gamma = gamma
        self.norm = norm

    def __repr__(self):
        return (
            f"{type(self).__name__}({self.weight!r}, gamma={self.gamma!r}, "
            f"norm={self.norm!r})"
        )

    def __call__(self, y_true, y_pred, sample_weight=None):
        """Gradient and hessian by the raw scores.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            Labels as integers from 0.
        y_pred : array-like of shape (n_samples,) or (n_samples, n_classes)
            Raw scores; one number is the log-odds of the second of two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.

        Returns
        -------
        gradient, hessian : ndarray of the shape of y_pred
            Both times the weights.

        Raises
        ------
        ValueError
            If a parameter is out of its range, or shapes or labels do not fit.
        """
        check_option(self, "weight", tuple(WEIGHTS))
        check_number(self, "gamma", float, 0)
        check_number(self, "norm", float, 1, closed="both")
        scores = np.asarray(y_pred, dtype=np.float64)
        columns = scores[:, None] if scores.ndim == 1 else scores
        logits = as_logits(columns)
        y = np.asarray(y_true).astype(np.intp)
        if y.shape != (len(logits),) or columns.ndim != 2:
            raise ValueError(
                f"y_true has shape {y.shape} and y_pred {scores.shape}; one label and "
                "one row of raw scores per sample are expected."
            )
        if len(y) and not 0 <= y.min() <= y.max() < logits.shape[1]:
            raise ValueError(
                f"y_true holds labels from {y.min()} to {y.max()}, but y_pred has "
                f"scores of {logits.shape[1]} classes, 0 to {logits.shape[1] - 1}."
            )
        weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight)
        uncertainty = uncertainty_weight(self.weight, self.gamma, self.norm)
        at = WeightedField(uncertainty)(logits, y, weight.astype(np.float64))
        p = at.rows.probabilities
        hessian = at.weight[:, None] * p * (1 - p)
        if columns.shape[1] == 1:
            gradient, hessian = at.value[:, 1], hessian[:, 1]
        else:
            gradient, hessian = at.value, 2 * hessian
        return gradient, np.maximum(hessian, _SMALLEST_HESSIAN)


def raw_scores(model, X):
    """Raw scores of a fitted XGBoost or LightGBM classifier, for a calibrator.

    Parameters
    ----------
    model : xgboost.XGBClassifier or lightgbm.LGBMClassifier
        The fitted classifier, with any objective.
    X : array-like of shape (n_samples, n_features)
        Features.

    Returns
    -------
    scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Log-odds of the second class, or logits.

    Raises
    ------
    TypeError
        If the model is neither.

    Examples
    --------
    >>> from sklearn_smart.boosting_objectives import raw_scores
    >>> raw_scores("a model", [[0.0]])
    Traceback (most recent call last):
    ...
    TypeError: raw_scores takes a classifier of XGBoost or LightGBM, not a str.
    """
    package = type(model).__module__.split(".")[0]
    if package == "xgboost":
        return np.asarray(model.predict(X, output_margin=True))
    if package == "lightgbm":
        return np.asarray(model.predict(X, raw_score=True))
    raise TypeError(
        "raw_scores takes a classifier of XGBoost or LightGBM, not a "
        f"{type(model).__name__}."
    )
