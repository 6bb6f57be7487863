"""All metrics by name, with what intervals and reports need to know of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ._confidence_gap import confidence_accuracy_gap, gap_terms
from ._expected_calibration_error import expected_calibration_error
from ._gaps import binned_gaps, soft_gaps
from ._kde_calibration_error import kde_calibration_error
from ._proper_scores import brier_score, brier_terms, log_loss, log_loss_terms
from ._smooth_calibration_error import smooth_calibration_error
from ._soft_calibration_error import soft_calibration_error
from ._sweep_calibration_error import sweep_calibration_error


class Metric(NamedTuple):
    """A metric of the catalogue.

    Attributes
    ----------
    function : callable
        The public function.

    terms : callable or None
        For a mean over samples: ``terms(prediction, **options)``, (n,).

    gaps : callable or None
        For a norm of mean gaps: ``gaps(prediction, **options)``, a ``Gaps``.

    signed : bool
        Whether the best value is 0 and either sign is possible.
    """

    function: Callable
    terms: Callable | None = None
    gaps: Callable | None = None
    signed: bool = False


def _log_loss_terms(prediction):
    return log_loss_terms(prediction)


def _brier_terms(prediction, *, scale_by_half="auto"):
    half = prediction.n_classes == 2 if scale_by_half == "auto" else scale_by_half
    return brier_terms(prediction) * (0.5 if half else 1.0)


METRICS = {
    metric.function.__name__: metric
    for metric in (
        Metric(brier_score, terms=_brier_terms),
        Metric(confidence_accuracy_gap, terms=gap_terms, signed=True),
        Metric(expected_calibration_error, gaps=binned_gaps),
        Metric(kde_calibration_error),
        Metric(log_loss, terms=_log_loss_terms),
        Metric(smooth_calibration_error),
        Metric(soft_calibration_error, gaps=soft_gaps),
        Metric(sweep_calibration_error),
    )
}


def resolve_metric(metric):
    """The :class:`Metric` of a name or a function; others are only called."""
    if isinstance(metric, str):
        if metric not in METRICS:
            raise ValueError(
                f"{metric!r} is not a metric. The metrics are {list(METRICS)}."
            )
        return METRICS[metric]
    if not callable(metric):
        raise ValueError(
            "The 'metric' parameter must be a name or a callable. "
            f"Got {metric!r} instead."
        )
    for known in METRICS.values():
        if known.function is metric:
            return known
    return Metric(metric)


def evaluate(metric, prediction, sample_weight, **options):
    """A metric's function on a checked prediction, with other weights."""
    return float(
        metric.function(
            prediction.y,
            prediction.prob,
            labels=np.arange(prediction.n_classes),
            sample_weight=sample_weight,
            **options,
        )
    )
