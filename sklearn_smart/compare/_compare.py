"""compare_calibrators: the data split honestly, every method on the same scores."""

from __future__ import annotations

import numbers
import platform
import warnings
from collections import defaultdict
from importlib.metadata import version

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_array, check_consistent_length, get_tags, indexable
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from .._validation import check_labels, check_weight, encode_labels
from ..calibrated_classifier.base_scores import (
    BaseScores,
    base_scores,
    check_response,
    final_estimator,
    take_rows,
)
from ..calibrated_classifier.methods import check_method, steps_of
from ..calibrators import CALIBRATORS, Uncalibrated
from ._comparison import CalibrationComparison
from ._folds import Rows, Task, run_fold
from ._measures import resolve_scoring
from ._splits import check_class_counts, plan_splits, random_generator

METHODS = ("uncalibrated", "sigmoid", "isotonic", "temperature", "smart")


def compare_calibrators(
    estimator,
    X,
    y=None,
    *,
    methods=METHODS,
    cv=5,
    n_repeats=2,
    calibration_size=0.25,
    scoring=None,
    sample_weight=None,
    groups=None,
    response_method="auto",
    input="logits",
    classes=None,
    reference=None,
    confidence_level=0.95,
    n_jobs=None,
    random_state=0,
    progress=None,
):
    r"""Compare calibration methods on the same scores, by repeated cross-validation.

    Called as ``compare_calibrators(estimator, X, y)`` or, where only scores were
    saved, as ``compare_calibrators(scores, y)``.

    *Who learns what.* In each fold no row has two roles. The rows outside of the test
    part are split once more, stratified: on ``1 - calibration_size`` of them the base
    estimator is fitted, once for all methods, and on its scores of the others every
    calibrator is fitted. All methods are then measured on the same test part, which
    neither has seen. With the defaults 60 % of the rows train, 20 % calibrate and 20 %
    test; every row is tested once in each repeat. A `FrozenEstimator` is not fitted,
    and ``X`` must be data that it has not seen: then, and with saved scores, all rows
    outside of the test part calibrate.

    *Intervals.* The folds share data, so that the plain standard error of their mean
    is too small. With J folds, :math:`S^2` the variance of a method's score, or of the
    difference of two methods, over the folds, and :math:`n_t / n_l` test rows for each
    row learned from, the variance of the mean is taken as
    :math:`(1/J + n_t/n_l) S^2`, with Student's t of J - 1 degrees of freedom [1]_,
    [2]_. Unlike a bootstrap of the predictions, it also holds what another training
    set would have changed. It concerns scores of test parts of this size: the expected
    calibration error is biased upwards in a small one, for every method. Where ``cv``
    gives one split alone, the error is that of resampling its test rows, by a jackknife
    over 20 groups of them, with the calibrators as they are.

    Parameters
    ----------
    estimator : classifier or array-like of shape (n_samples, n_classes) or (n_samples,)
        The base estimator, which is cloned; or scores of rows that the model behind
        them has not seen.
    X : array-like of shape (n_samples, n_features)
        The data, in any form that the estimator accepts; the labels where scores are
        given.
    y : array-like of shape (n_samples,), default=None
        The labels. Leave it out where scores are given.
    methods : list or dict, default=METHODS
        What is compared, by default "uncalibrated", "sigmoid", "isotonic",
        "temperature" and "smart": names of ``sklearn_smart.calibrators.CALIBRATORS``,
        pairs of a name and a calibrator, such as a Pipeline of calibrators, or a dict
        of both.
        Each calibrator is cloned and told the ``classes``; it is handed logits or
        probabilities as its ``input`` declares.
    cv : int, splitter or iterable of (learn, test), default=5
        Number of stratified, shuffled folds, or what gives the splits.
    n_repeats : int, default=2
        How often the folds are made anew; of no effect unless ``cv`` is an int.
    calibration_size : float, default=0.25
        Share of the rows outside of the test part that the calibrators get, in (0, 1).
    scoring : str, list, dict or callable, default=None
        Measures. None is all of "ece", "ece_equal_mass", "ece_class_wise" (15 bins),
        "log_loss", "brier_score" and "accuracy". Others are the scorers of
        `sklearn_smart.metrics.SCORERS` and of scikit-learn, and callables
        ``(estimator, X, y)``, where greater is better; a dict gives them names.
    sample_weight : float or array-like of shape (n_samples,), default=None
        Frequencies, for the base estimator if it takes them, the calibrators and the
        measures. Rows of weight 0 are left out before anything is split.
    groups : array-like of shape (n_samples,), default=None
        Rows of one group are never in two parts of a split.
    response_method : {"auto", "decision_function", "predict_proba"}, default="auto"
        Where the scores come from; "auto" takes the decision function where there is
        one.
    input : {"logits", "probabilities"}, default="logits"
        What saved scores are.
    classes : int or array-like, default=None
        Labels of the columns of saved scores, in their order; see `SMARTCalibrator`.
    reference : str, default=None
        Method that the paired differences are taken to; None is the first.
    confidence_level : float, default=0.95
        Level of the intervals, in (0, 1).
    n_jobs : int, default=None
        Folds run in parallel. The result is the same for every number, for which each
        fold does its linear algebra on one thread.
    random_state : int, RandomState instance or None, default=0
        Makes the splits, and the seed of every ``random_state`` of the estimator and
        the calibrators that is None. None takes a new seed at each call. NumPy's global
        random state is neither used nor changed.
    progress : callable, default=None
        Called as ``progress(done, total)`` after each fold.

    Returns
    -------
    comparison : CalibrationComparison
        It prints as a table, and has `~CalibrationComparison.to_frame`,
        `~CalibrationComparison.differences`, `~CalibrationComparison.plot` and
        `~CalibrationComparison.save_html`.

    Raises
    ------
    ValueError
        If a parameter, the labels, weights or saved scores are not as said above, or
        if the estimator or a method fails in a fold, which the message names. Nothing
        is left out silently.

    Warns
    -----
    Warning
        What the estimator and the methods warn of, once for all folds.

    See Also
    --------
    CalibratedClassifierCV : Calibrate by the method that was found best.

    References
    ----------
    .. [1] C. Nadeau, Y. Bengio. Inference for the Generalization Error. Machine
       Learning 52, 2003. doi:10.1023/A:1024068626366
    .. [2] R. R. Bouckaert, E. Frank. Evaluating the Replicability of Significance
       Tests for Comparing Learning Algorithms. PAKDD 2004.
       doi:10.1007/978-3-540-24775-3_3

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn_smart import compare_calibrators
    >>> X, y = load_digits(return_X_y=True)
    >>> comparison = compare_calibrators(
    ...     GaussianNB(), X, y, methods=["uncalibrated", "temperature", "smart"]
    ... )
    >>> comparison.best("log_loss")[0]
    'smart'
    """
    measures = resolve_scoring(scoring)
    rng = random_generator(random_state)
    _check_numbers(n_repeats, calibration_size, confidence_level)
    if progress is not None and not callable(progress):
        raise ValueError(
            "The 'progress' parameter of compare_calibrators must be a callable "
            f"(done, total) or None. Got {progress!r} instead."
        )
    saved = _is_saved(estimator, y)
    methods = _resolve_methods(
        methods, sample_weight is not None, input if saved else None
    )
    if reference is not None and reference not in methods:
        raise ValueError(
            f"reference={reference!r} is not one of the methods: {list(methods)}."
        )
    if saved:
        data = _score_rows(estimator, X, sample_weight, groups, input, classes)
    else:
        if input != "logits" or classes is not None:
            raise ValueError(
                "`input` and `classes` describe saved scores; those of an estimator "
                "are known. Leave them out."
            )
        data = _estimator_rows(
            estimator, X, y, sample_weight, groups, response_method, cv
        )
    splits = plan_splits(
        data.y,
        data.groups,
        cv=cv,
        n_repeats=n_repeats,
        calibration_size=calibration_size if data.scores is None else None,
        rng=rng,
    )
    task = Task(
        data, methods, measures, response_method, leave_out_groups=len(splits) == 1
    )
    results = _run(task, splits, n_jobs, progress)
    settings = {
        "cv": cv,
        "n_repeats": n_repeats,
        "calibration_size": calibration_size if data.scores is None else "all the rest",
        "response_method": input if saved else response_method,
        "random_state": random_state,
        "confidence_level": confidence_level,
    }
    return CalibrationComparison(
        results,
        measures,
        {name: _preserves(method) for name, method in methods.items()},
        name=_name(estimator, saved, data),
        reference=next(iter(methods)) if reference is None else reference,
        confidence_level=confidence_level,
        parameters=_parameters(estimator, saved, data, methods, settings, splits),
        notes=_give_notes(data, results),
    )


def _check_numbers(n_repeats, calibration_size, confidence_level):
    if (
        not isinstance(n_repeats, numbers.Integral)
        or isinstance(n_repeats, bool)
        or n_repeats < 1
    ):
        raise ValueError(
            "The 'n_repeats' parameter of compare_calibrators must be an int in the "
            f"range [1, inf). Got {n_repeats!r} instead."
        )
    for name, value in (
        ("calibration_size", calibration_size),
        ("confidence_level", confidence_level),
    ):
        if not isinstance(value, numbers.Real) or not 0 < value < 1:
            raise ValueError(
                f"The {name!r} parameter of compare_calibrators must be a float in "
                f"the range (0, 1). Got {value!r} instead."
            )


def _is_saved(estimator, y):
    """Whether scores are given in place of an estimator."""
    if isinstance(estimator, type):
        raise ValueError(
            f"estimator is the class {estimator.__name__}; pass an instance, such as "
            f"{estimator.__name__}()."
        )
    if hasattr(estimator, "fit"):
        if y is None:
            raise ValueError(
                "y is missing: call compare_calibrators(estimator, X, y), or "
                "compare_calibrators(scores, y) with saved scores."
            )
        return False
    if y is not None:
        raise ValueError(
            "The first argument has no `fit`, so it is taken as saved scores, and two "
            "more are given. Call compare_calibrators(scores, y), or pass a classifier."
        )
    return True


def _resolve_methods(methods, weighted, kind):
    """Names and methods in order; names of saved scores stand for calibrators."""
    if isinstance(methods, str):
        methods = [methods]
    named = list(methods.items()) if isinstance(methods, dict) else list(methods)
    resolved = {}
    for item in named:
        name, method = (item, item) if isinstance(item, str) else _pair(item)
        if name in resolved:
            raise ValueError(f"methods holds {name!r} twice; give it another name.")
        check_method(method, "compare_calibrators", weighted, "methods")
        if isinstance(method, str) and kind is not None:
            method = CALIBRATORS[method](input=kind)
        resolved[name] = method
    if not resolved:
        raise ValueError("methods is empty: at least one method is needed.")
    return resolved


def _pair(item):
    if isinstance(item, (tuple, list)) and len(item) == 2 and isinstance(item[0], str):
        return item
    raise ValueError(
        f"methods must hold names or pairs (name, calibrator). Got {item!r} instead."
    )


def _preserves(method):
    """Whether every step of a method promises to leave the predicted class."""
    if isinstance(method, str):
        method = CALIBRATORS[method]()
    return all(getattr(s, "preserves_prediction", False) for s in steps_of(method))


def _score_rows(scores, y, sample_weight, groups, kind, classes):
    """`Rows` of saved scores."""
    y, weight, groups, kept = _labels_and_weights(y, sample_weight, groups)
    # The baseline makes every check of a calibrator, and names the columns.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        checked = Uncalibrated(input=kind, classes=classes).fit(scores, y, weight)
    values = check_array(
        np.asarray(scores), dtype=(np.float64, np.float32), ensure_2d=False
    )
    values = values.reshape(len(values), -1)
    if values.shape[1] == 1:
        values = values[:, 0] if kind == "logits" else np.hstack([1 - values, values])
    scores = BaseScores(values, kind, checked.classes_)
    if kept is not None:
        scores, y, weight = scores[kept], y[kept], weight[kept]
        groups = None if groups is None else groups[kept]
    notes = [(w.category, str(w.message)) for w in caught]
    return Rows(y, checked.classes_, weight, groups, scores=scores, notes=notes)


def _estimator_rows(estimator, X, y, sample_weight, groups, response_method, cv):
    """`Rows` for a base estimator: to be fitted on, or scored if it is frozen."""
    y, weight, groups, kept = _labels_and_weights(y, sample_weight, groups)
    (X,) = indexable(X)
    check_consistent_length(X, y)
    if kept is not None:
        pairwise = get_tags(estimator).input_tags.pairwise
        X = take_rows(X, kept, kept if pairwise else None)
        y, weight = y[kept], weight[kept]
        groups = None if groups is None else groups[kept]
    classes = np.unique(y)
    check_response(estimator, response_method, len(classes))
    if isinstance(estimator, FrozenEstimator):
        check_is_fitted(estimator)
        scores = base_scores(estimator, X, response_method)
        encode_labels(y, scores.classes)
        return Rows(y, scores.classes, weight, groups, scores=scores)
    check_class_counts(y, cv)
    reached = weight is None or has_fit_parameter(estimator, "sample_weight")
    notes = []
    if not reached:
        note = (
            f"{type(estimator).__name__}.fit takes no sample_weight: the weights reach "
            "the calibrators and the measures only."
        )
        notes.append((UserWarning, note))
    return Rows(
        y, classes, weight, groups, estimator, X, weights_reach=reached, notes=notes
    )


def _labels_and_weights(y, sample_weight, groups):
    """Checked arrays, and the rows to keep where some have weight 0."""
    y = check_labels(y)
    weight = check_weight(sample_weight, len(y))
    if groups is not None:
        groups = np.asarray(groups)
        check_consistent_length(y, groups)
    kept = None if weight is None or weight.all() else np.flatnonzero(weight)
    return y, weight, groups, kept


def _run(task, splits, n_jobs, progress):
    """The folds in their order, and a call of ``progress`` after each."""
    parallel = Parallel(n_jobs=n_jobs, return_as="generator")
    results = []
    for result in parallel(delayed(run_fold)(task, split) for split in splits):
        results.append(result)
        if progress is not None:
            progress(len(results), len(splits))
    return results


def _give_notes(data, results):
    """Warn once of what the data and the folds warned of; the same as texts."""
    found = defaultdict(list)
    known = {message for _, message in data.notes}
    for fold, result in enumerate(results):
        for owner, category, message in result.notes:
            if message not in known:
                found[owner, category].append((fold, message))
    notes = list(data.notes)
    for (owner, category), items in found.items():
        folds = len({fold for fold, _ in items})
        notes.append(
            (category, f"{owner}, in {folds} of {len(results)} folds: {items[0][1]}")
        )
    for category, note in notes:
        warnings.warn(note, category, stacklevel=3)
    return [f"{category.__name__}: {note}" for category, note in notes]


def _name(estimator, saved, data):
    rows = f"{len(data.y)} rows, {len(data.classes)} classes"
    if saved:
        return f"Saved {data.scores.kind}: {rows}"
    last = final_estimator(estimator)
    if isinstance(last, FrozenEstimator):
        last = final_estimator(last.estimator)
    return f"{type(last).__name__}: {rows}"


def _parameters(estimator, saved, data, methods, settings, splits):
    """What was run, as texts for the report."""
    labels = [str(label) for label in data.classes.tolist()]
    shown = ", ".join(labels[:20]) + (", ..." if len(labels) > 20 else "")
    packages = ("sklearn-smart", "scikit-learn", "numpy", "scipy", "joblib")
    return {
        "estimator": "saved scores" if saved else _one_line(estimator),
        "rows": len(data.y),
        "classes": f"{len(labels)}: {shown}",
        "weighted": data.sample_weight is not None,
        **{f"method {name}": _one_line(m) for name, m in methods.items()},
        **{name: _one_line(value) for name, value in settings.items()},
        "seeds of the folds": ", ".join(str(split.seed) for split in splits),
        "versions": ", ".join(f"{name} {version(name)}" for name in packages),
        "Python": f"{platform.python_version()} on {platform.system()} "
        f"{platform.machine()}",
    }


def _one_line(value):
    if isinstance(value, str):
        return value
    text = " ".join(repr(value).split())
    return text if len(text) <= 500 else f"{text[:500]}..."
