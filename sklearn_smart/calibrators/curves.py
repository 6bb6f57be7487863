"""Calibrators by curves of a probability: of the top class, or one for each class."""

from __future__ import annotations

import numpy as np

from .._numerics.logits import softmax
from .._validation import check_option
from .one_vs_rest import OneVsRestCalibrator


class CurveCalibrator(OneVsRestCalibrator):
    """Base of calibrators that map a probability to another by a curve.

    With ``kind="top_label"`` there is one curve, of the confidence: the new one c'
    takes the place of the largest probability c, and the others are scaled to the
    remainder ``1 - c'``. With r the share of the runner-up in the remainder, c' is
    raised to at least ``r / (1 + r)``, so that the predicted class stays; `raised` says
    where. With ``kind="one_vs_rest"`` there is a curve for the probability of each
    class, or of the second of two, and rows are divided by their sums.

    A subclass fits a curve in ``_fit_curve(values, happened, weight)``, which returns
    a list of arrays, and maps values by it in ``_map(curve, values)``; values are
    float64 in [0, 1].
    """

    def __init__(
        self,
        *,
        kind="top_label",
        zero_rows="uncalibrated",
        input="logits",
        classes=None,
    ):
        super().__init__(input=input, classes=classes, zero_rows=zero_rows)
        self.kind = kind

    @property
    def one_vs_rest(self):
        """Whether a row of a class never seen is a negative for every curve."""
        return self.kind == "one_vs_rest"

    @property
    def preserves_prediction(self):
        """Whether the predicted class is that of the scores."""
        return self.kind == "top_label"

    def raised(self, scores):
        """Rows whose new confidence is raised for the predicted class to stay.

        Parameters
        ----------
        scores : array-like of shape (n_samples, n_classes), (n_samples,) or \
(n_samples, 1)
            Scores of the kind that the calibrator was fitted on.

        Returns
        -------
        raised : ndarray of bool of shape (n_samples,)
            All False where ``kind`` is not "top_label".
        """
        given = self._checked(scores)
        if self.kind != "top_label":
            return np.zeros(len(given), dtype=bool)
        return self._top_label(given)[1]

    def _check_parameters(self):
        super()._check_parameters()
        check_option(self, "kind", ("top_label", "one_vs_rest"))

    def _fit(self, scores, y, sample_weight):
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        prob = self._probabilities(scores)
        if self.kind == "top_label":
            # The class of the scores themselves: their softmax may round to a tie.
            top = scores.argmax(axis=1)
            pairs = [(prob[np.arange(len(y)), top], top == y)]
        elif prob.shape[1] == 2:
            pairs = [(prob[:, 1], y == 1)]
        else:
            pairs = [(prob[:, k], y == k) for k in range(prob.shape[1])]
        self.curves_ = [self._fit_curve(*pair, weight) for pair in pairs]
        self.n_raised_ = 0
        if self.kind == "top_label":
            self.n_raised_ = int(np.count_nonzero(self._top_label(scores)[1]))

    def _probabilities(self, scores):
        """Probabilities in float64 whose rows sum to 1."""
        if self.input == "logits":
            return softmax(scores.astype(np.float64, copy=False))
        prob = np.clip(scores.astype(np.float64), 0, None)
        prob /= prob.sum(axis=1, keepdims=True)
        return prob

    def _proba(self, scores):
        if self.kind == "top_label":
            return self._top_label(scores)[0].astype(scores.dtype, copy=False)
        prob = self._probabilities(scores)
        if prob.shape[1] == 2:
            out = prob
            out[:, 1] = np.clip(self._map(self.curves_[0], prob[:, 1]), 0, 1)
            out[:, 0] = 1 - out[:, 1]
        else:
            out = np.empty_like(prob)
            for k, curve in enumerate(self.curves_):
                out[:, k] = np.clip(self._map(curve, prob[:, k]), 0, 1)
            self._normalise(out, scores)
        return out.astype(scores.dtype, copy=False)

    def _top_label(self, scores):
        """New probabilities, and which rows were raised."""
        out = self._probabilities(scores)
        at, top = np.arange(len(out)), scores.argmax(axis=1)
        confidence = out[at, top]
        out[at, top] = 0.0
        rest = out.sum(axis=1)
        runner_up = out.max(axis=1)
        # Without a remainder there is nothing to scale: it is shared alike.
        certain = rest < 1e-290
        out[certain] = 1.0
        out[at[certain], top[certain]] = 0.0
        rest[certain], runner_up[certain] = out.shape[1] - 1, 1.0
        share = runner_up / rest
        least = share / (1 + share)
        mapped = np.clip(self._map(self.curves_[0], confidence), 0, 1)
        raised = mapped < least
        mapped[raised] = least[raised]
        out *= ((1 - mapped) / rest)[:, None]
        out[at, top] = mapped
        return out, raised
