"""Uncalibrated: the scores as they are, under the contract of calibrators."""

from __future__ import annotations

from .._numerics.logits import softmax, tempered_log_softmax
from .base import BaseCalibrator


class Uncalibrated(BaseCalibrator):
    """The softmax of the scores, with nothing fitted.

    ``p_k = exp(z_k) / sum_j exp(z_j)``. The baseline of every comparison.

    Parameters
    ----------
    input : {"logits", "probabilities"}, default="logits"
        What the scores are.
    classes : int or array-like, default=None
        Labels of the columns in their order; see `SMARTCalibrator`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels in the order of the columns.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of str
        Names of the columns, where the scores had any.

    Examples
    --------
    >>> from sklearn_smart import Uncalibrated
    >>> scores = [[0.0, 0.0], [0.0, 1.0]]
    >>> Uncalibrated().fit(scores, [0, 1]).predict_proba(scores).round(3)
    array([[0.5  , 0.5  ],
           [0.269, 0.731]])
    """

    preserves_prediction = True

    def __init__(self, *, input="logits", classes=None):
        self.input = input
        self.classes = classes

    def _fit(self, logits, y, sample_weight):
        pass

    def _proba(self, logits):
        return softmax(logits)

    def _log_proba(self, logits):
        return tempered_log_softmax(logits, 1.0)
