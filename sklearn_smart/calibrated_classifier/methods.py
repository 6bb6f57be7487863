"""Calibration methods: a name or an object, fitted on a base estimator's scores."""

from __future__ import annotations

import inspect
import warnings
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import threadpool_limits

from .._validation import encode_labels
from ..calibrators import CALIBRATORS

# scikit-learn's temperature scaling reads probabilities as log(p + 1e-12).
_TEMPERATURE_OFFSET = 1e-12


class FittedMethod(NamedTuple):
    """A fitted calibrator that knows in which form it wants the scores.

    Attributes
    ----------
    calibrator : object
        The fitted calibrator.
    classes : ndarray of shape (n_classes,)
        Columns of the output.
    known : ndarray of shape (n_known_classes,)
        Classes that the base estimator knows; the others have probability 0.
    offset : float or None
        See `BaseScores.as_input`.
    """

    calibrator: object
    classes: np.ndarray
    known: np.ndarray
    offset: float | None = None

    def predict_proba(self, scores):
        """Calibrated probabilities of a base estimator's scores.

        Parameters
        ----------
        scores : BaseScores
            Scores of the kind that the method was fitted on.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of ``classes``; rows sum to 1.
        """
        kind = declared_input(self.calibrator)
        columns = getattr(self.calibrator, "classes_", self.known)
        if len(columns) > len(scores.classes):
            scores = scores.with_columns(self.classes)
        probabilities = self.calibrator.predict_proba(
            scores.as_input(kind, self.offset)
        )
        probabilities = np.asarray(probabilities)
        if np.array_equal(columns, self.classes):
            full = probabilities
        else:
            full = np.zeros((len(probabilities), len(self.classes)))
            full[:, encode_labels(np.asarray(columns), self.classes)] = probabilities
        return self._without_unknown(full)

    def _without_unknown(self, probabilities):
        """Probability 0 for the classes that the base estimator does not know."""
        if len(self.known) == len(self.classes):
            return probabilities
        known = np.isin(self.classes, self.known)
        if not probabilities[:, ~known].any():
            return probabilities
        probabilities = np.where(known, probabilities, 0)
        total = probabilities.sum(axis=1, keepdims=True)
        # Every known class at 0: what scikit-learn answers, uniform over all classes.
        uniform = np.full_like(probabilities, 1 / len(self.classes))
        return np.divide(probabilities, total, out=uniform, where=total > 0)


def check_method(
    method, owner="CalibratedClassifierCV", weighted=False, parameter="method"
):
    """Refuse, before any fit, what is no calibration method.

    Raises ValueError for an unknown name, a class in place of an instance, an object
    without ``fit`` and ``predict_proba`` or, where weights are given, one that would
    ignore them.
    """
    if isinstance(method, str) and method in CALIBRATORS:
        return
    if isinstance(method, Pipeline) and method.steps[-1][1] in (None, "passthrough"):
        raise ValueError(
            f"The {parameter!r} parameter of {owner} is a Pipeline that ends in "
            f"{method.steps[-1][1]!r}: its last step must be a calibrator."
        )
    if isinstance(method, (str, type)) or not (
        hasattr(method, "fit") and hasattr(method, "predict_proba")
    ):
        raise ValueError(
            f"The {parameter!r} parameter of {owner} must be one of "
            f"{sorted(CALIBRATORS)} or a calibrator: an instance with fit(scores, y) "
            f"and predict_proba(scores). Got {method!r} instead."
        )
    steps = steps_of(method)
    for step in steps[:-1]:
        if not hasattr(step, "transform"):
            raise ValueError(
                f"{type(step).__name__} is not the last step of the Pipeline of "
                "calibrators and has no transform, which gives the next one its logits."
            )
    for step in steps[1:]:
        if getattr(step, "input", "logits") != "logits":
            raise ValueError(
                f"{type(step).__name__}(input={step.input!r}) is not the first step of "
                "the Pipeline of calibrators. What it gets are the calibrated logits "
                "of the step before: pass input='logits'."
            )
    for step in steps if weighted else ():
        if not _accepts_weights(step):
            raise ValueError(
                f"sample_weight is given, but the calibrator {type(step).__name__} "
                "does not accept it in fit. Pass another method, or no weights."
            )


def _accepts_weights(step):
    parameters = inspect.signature(step.fit).parameters.values()
    takes_any = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)
    return takes_any or has_fit_parameter(step, "sample_weight")


def steps_of(calibrator):
    """The calibrators of a Pipeline in their order, or the calibrator alone."""
    if not isinstance(calibrator, Pipeline):
        return [calibrator]
    steps = [step for _, step in calibrator.steps if step not in (None, "passthrough")]
    return [inner for step in steps for inner in steps_of(step)]


def declared_input(calibrator):
    """Whether a calibrator, or the first of a Pipeline, wants logits."""
    return getattr(steps_of(calibrator)[0], "input", "logits")


def _new_calibrator(method, kind):
    """An unfitted calibrator for scores of a kind, and the offset of its logits."""
    if not isinstance(method, str):
        return clone(method, safe=False), None
    if method == "temperature":
        return CALIBRATORS[method](), _TEMPERATURE_OFFSET
    if method in ("sigmoid", "isotonic"):
        return CALIBRATORS[method](input=kind, zero_rows="uniform"), None
    return CALIBRATORS[method](), None


def fit_method(method, scores, y, classes, sample_weight=None, unseen=None):
    """Fit a calibration method on held-out scores of a base estimator.

    Parameters
    ----------
    method : str or object
        A name in `sklearn_smart.calibrators.CALIBRATORS` or a calibrator, which is
        cloned. Its parameter ``classes``, and that of every step of a Pipeline, is
        set to the columns of the scores.
    scores : BaseScores
        Scores that the base estimator gave to samples it was not fitted on.
    y : ndarray of shape (n_samples,)
        Their labels, all among ``classes``.
    classes : ndarray of shape (n_classes,)
        All classes; those that the base estimator does not know get probability 0.
    sample_weight : ndarray of shape (n_samples,), default=None
        Frequencies. They reach every step of a Pipeline.
    unseen : ndarray of bool of shape (n_samples, n_classes), default=None
        Classes that the estimator behind a row has not seen, where that differs from
        row to row.

    Returns
    -------
    fitted : FittedMethod
        Ready to map scores of the same base estimator.

    Notes
    -----
    No calibrator can answer a class that the base estimator has not seen. Samples of
    such a class are negatives of every curve of a one-vs-rest calibrator, as in
    scikit-learn; other calibrators are fitted without them.
    """
    calibrator, offset = _new_calibrator(method, scores.kind)
    known = scores.classes
    kept = np.ones(len(y), dtype=bool) if sample_weight is None else sample_weight > 0
    if all(getattr(step, "one_vs_rest", False) for step in steps_of(calibrator)):
        scores = scores.with_columns(classes)
    else:
        kept &= np.isin(y, known)
        if unseen is not None:
            kept &= ~unseen[np.arange(len(y)), encode_labels(y, classes)]
    if not kept.any():
        raise ValueError(
            "No sample is left to fit a calibrator on: all samples of a fold have "
            "weight 0, or classes that its base estimator has not seen. Pass a cv "
            "that is stratified."
        )
    if not kept.all():
        scores, y = scores[kept], y[kept]
        sample_weight = None if sample_weight is None else sample_weight[kept]
    _set_classes(calibrator, scores.classes)
    named_temperature = isinstance(method, str) and method == "temperature"
    fit = _fit_named_temperature if named_temperature else _fit_steps
    wanted = scores.as_input(declared_input(calibrator), offset)
    # Sums by several threads are rounded otherwise, and how many a parallel worker gets
    # depends on n_jobs. What a calibrator sums is small.
    with threadpool_limits(limits=1, user_api="blas"):
        fit(calibrator, wanted, y, sample_weight)
    return FittedMethod(calibrator, classes, known, offset)


def _set_classes(calibrator, classes):
    """Name the columns in a calibrator and in whatever calibrators it holds."""
    if not hasattr(calibrator, "get_params"):
        return
    names = [
        name
        for name in calibrator.get_params(deep=True)
        if name == "classes" or name.endswith("__classes")
    ]
    if names:
        calibrator.set_params(**dict.fromkeys(names, classes))


def _fit_steps(calibrator, scores, y, sample_weight):
    """Fit a calibrator or, step by step, a Pipeline of them.

    A Pipeline would hand weights to its steps only where they ask for them, by
    metadata routing or by name: here weights are frequencies, for every step.
    """
    if not isinstance(calibrator, Pipeline):
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        calibrator.fit(scores, y, **weights)
        return
    *transformers, (_, last) = calibrator.steps
    for _, step in transformers:
        if step not in (None, "passthrough"):
            _fit_steps(step, scores, y, sample_weight)
            scores = step.transform(scores)
    _fit_steps(last, scores, y, sample_weight)


def _fit_named_temperature(calibrator, logits, y, sample_weight):
    """Fit temperature scaling; where there is no best temperature, scikit-learn's.

    Scores without an error among the calibration samples, or worse than chance, have
    a log loss without a minimum. The temperature is then that of a bounded search, as
    in scikit-learn, if it fits as well as the bound that `TemperatureScaling` takes.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        _fit_steps(calibrator, logits, y, sample_weight)
    if calibrator.converged_:
        return
    temperature, loss = _searched_temperature(
        logits, encode_labels(y, calibrator.classes_), sample_weight
    )
    if loss <= calibrator.loss_ + 1e-3:
        calibrator.temperature_, calibrator.loss_ = temperature, loss
    warnings.warn(
        "The log loss of the calibration samples has no minimum in the temperature, "
        "as no sample is misclassified or the scores are no better than chance; "
        f"{calibrator.temperature_:.3g} is as good as any beyond it. More calibration "
        "samples may help.",
        ConvergenceWarning,
        stacklevel=4,
    )


def _searched_temperature(logits, index, sample_weight):
    """Temperature and log loss of a search for ``log(1 / T)`` between -10 and 10."""
    logits = np.asarray(logits, dtype=np.float64)
    halved = logits.ndim == 1
    if halved:
        logits = np.stack([-logits, logits], axis=1)
    rows = np.arange(len(logits))

    def log_loss(log_beta):
        tempered = np.exp(log_beta) * logits
        losses = logsumexp(tempered, axis=1) - tempered[rows, index]
        return np.average(losses, weights=sample_weight)

    # Flat to rounding beyond some temperature, where the search stops.
    found = minimize_scalar(
        log_loss,
        bounds=(-10, 10),
        method="bounded",
        options={"xatol": 64 * np.finfo(np.float64).eps},
    )
    return float(np.exp(-found.x)) / (2 if halved else 1), float(found.fun)
