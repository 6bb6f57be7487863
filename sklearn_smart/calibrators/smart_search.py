"""A search over the settings of SMART that sees the scores once."""

from __future__ import annotations

import numbers

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid, check_cv
from threadpoolctl import threadpool_limits

from .._numerics.calibration_losses import brier_score, log_loss, top_label_log_loss
from .._numerics.temperature_fit import fit_single_temperature_on_curves
from .._numerics.tempered import TemperedLogits
from .._validation import check_number, check_option
from .base import BaseCalibrator
from .smart import SMARTCalibrator
from .temperature import finite_temperature, warn_of_bound

_SCORES = {
    "neg_log_loss": log_loss,
    "neg_brier_score": brier_score,
    "neg_top_label_log_loss": top_label_log_loss,
}

_DEFAULT_GRID = {"n_bins": [5, 10, 15, 20, 30]}

# Fits to folds stop at a relative decrease of this size, which moves scores in the
# sixth digit. The fit to all rows, with the settings found, has its own tolerance.
_FOLD_TOL = 1e-7

# Rows count as copies where what tells them apart is smaller, in units of their gaps.
_SAME = 1e-9


class SMARTCalibratorCV(BaseCalibrator):
    """SMART with settings chosen by cross-validation, at the price of a few fits.

    Of all that a fit of `SMARTCalibrator` does, little depends on the settings. The
    curves of the log-partition function are tabulated once for all folds; the single
    temperature, the order of the margins, the strength of the penalty and the map at
    which fits start are found once for all settings of a fold. The settings of best
    mean score are fitted to all rows as `SMARTCalibrator` would be.

    Parameters
    ----------
    param_grid : dict or list of dict, default=None
        Values to be tried for parameters of `SMARTCalibrator`, as in
        :class:`~sklearn.model_selection.GridSearchCV`. None is
        ``{"n_bins": [5, 10, 15, 20, 30]}``.
    calibrator : SMARTCalibrator, default=None
        Its other parameters; None takes the defaults.
    scoring : str or callable, default="neg_log_loss"
        What is to be largest on held-out rows: "neg_log_loss", "neg_brier_score" or
        "neg_top_label_log_loss", the log loss of the confidence against the correctness
        of the prediction, which need no probabilities but the curves; or a scorer
        ``scorer(calibrator, logits, y)`` such as
        ``metrics.get_scorer("neg_smooth_calibration_error")``, which is also given
        ``sample_weight`` where there are weights. A search over bins is best judged by
        a score without bins.
    cv : int, splitter or iterable, default=5
        Number of folds, at least 2, or what gives the splits, as in scikit-learn. The
        folds of a number are equal in classes and margins; they follow the contents of
        the rows, so that copies share a fold and the order of rows does not matter.
    n_jobs : int, default=None
        Number of folds that are worked on at once, by joblib. It changes no result.
    input : {"logits", "probabilities"}, default="logits"
        What the scores are; that of ``calibrator`` is not used.
    classes : int or array-like, default=None
        Labels of the columns in their order, as in `SMARTCalibrator`; those of
        ``calibrator`` are not used.

    Attributes
    ----------
    best_estimator_ : SMARTCalibrator
        Fitted to all rows with the settings of best score.
    best_params_ : dict
        These settings.
    best_score_ : float
        Their mean score on held-out rows; greater is better.
    best_index_ : int
        Their place in ``cv_results_``.
    cv_results_ : dict
        ``params``, ``split0_test_score`` and so on for each fold, ``mean_test_score``,
        ``std_test_score`` and ``rank_test_score``, as in
        :class:`~sklearn.model_selection.GridSearchCV`.
    n_splits_ : int
        Number of folds.
    classes_ : ndarray of shape (n_classes,)
        Labels in the order of the columns.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of str
        Names of the columns, where the scores had any.

    See Also
    --------
    SMARTCalibrator : With given settings.

    Notes
    -----
    The fits to folds are left at the minimum on interpolated curves, so their scores
    are those of separate fits to about 1e-4. Between settings whose scores differ by
    less, the choice has no meaning anyway.

    References
    ----------
    .. [1] SMART: Sample Margin-Aware Recalibration of Temperature. ICML 2026.
       arXiv:2506.23492

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_smart import SMARTCalibratorCV
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=500)
    >>> scores = 4 * (np.eye(3)[y] + rng.normal(size=(500, 3)))
    >>> grid = {"n_bins": [10, 15, 20], "bandwidth": [0.02, 0.05, 0.1]}
    >>> search = SMARTCalibratorCV(grid).fit(scores, y)
    >>> len(search.cv_results_["params"]), sorted(search.best_params_)
    (9, ['bandwidth', 'n_bins'])
    """

    preserves_prediction = True

    def __init__(
        self,
        param_grid=None,
        *,
        calibrator=None,
        scoring="neg_log_loss",
        cv=5,
        n_jobs=None,
        input="logits",
        classes=None,
    ):
        self.param_grid = param_grid
        self.calibrator = calibrator
        self.scoring = scoring
        self.cv = cv
        self.n_jobs = n_jobs
        self.input = input
        self.classes = classes

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
            In units of the logits, > 0; by them the logits are divided.
        """
        return self.best_estimator_.temperatures(scores)

    def _fit(self, logits, y, sample_weight):
        rows = TemperedLogits(logits, y)
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        splits = self._splits(rows, y)
        single = finite_temperature(rows, weight)
        warn_of_bound(single, rows)
        table = rows.tabulate(1 / single.temperature)
        settings = list(ParameterGrid(self._grid()))
        calibrators = [self._with(setting) for setting in settings]
        score = (
            _ProbabilityScore(
                self.scoring, logits, self.classes_[y], sample_weight, self.classes_
            )
            if callable(self.scoring)
            else _CurveScore(_SCORES[self.scoring], table, weight)
        )
        with threadpool_limits(limits=1, user_api="blas"):
            scores = Parallel(n_jobs=self.n_jobs)(
                delayed(_scores_of_fold)(calibrators, table, weight, train, test, score)
                for train, test in splits
            )
            self.n_splits_ = len(splits)
            self._keep_results(settings, np.array(scores))
            best = self._with(self.best_params_)
            best.set_params(input=self.input, classes=self.classes)
            best._fit_rows(rows, weight, single, table.take)
        for name in ("classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(best, name, getattr(self, name))
        self.best_estimator_ = best

    def _keep_results(self, settings, scores):
        self.cv_results_ = _results(settings, scores)
        self.best_index_ = int(self.cv_results_["rank_test_score"].argmin())
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.best_params_ = settings[self.best_index_]
        if np.isnan(self.best_score_):
            raise ValueError(
                f"scoring={self.scoring!r} gave no number for any setting in all "
                f"{len(scores)} folds, so none can be chosen. Pass another scoring "
                "or cv."
            )

    def _grid(self):
        return _DEFAULT_GRID if self.param_grid is None else self.param_grid

    def _with(self, setting):
        """An unfitted calibrator of logits with a setting."""
        given = SMARTCalibrator() if self.calibrator is None else clone(self.calibrator)
        return given.set_params(**{**setting, "input": "logits", "classes": None})

    def _splits(self, rows, y):
        """Pairs of train and test rows."""
        if isinstance(self.cv, numbers.Integral):
            fold = _folds_of_contents(rows, y, self.cv)
            return [
                (np.flatnonzero(fold != k), np.flatnonzero(fold == k))
                for k in range(self.cv)
            ]
        cv = check_cv(self.cv, y, classifier=True)
        return list(cv.split(np.zeros((len(y), 1)), y))

    def _write_proba(self, logits, out):
        self.best_estimator_._write_proba(logits, out)

    def _log_proba(self, logits):
        return self.best_estimator_._log_proba(logits)

    @property
    def _proba_keeps_prediction(self):
        return self.best_estimator_._proba_keeps_prediction

    def _check_loaded(self):
        super()._check_loaded()
        self.best_estimator_._check_loaded()

    def _check_parameters(self):
        super()._check_parameters()
        owner = type(self).__name__
        if self.calibrator is not None and not isinstance(
            self.calibrator, SMARTCalibrator
        ):
            raise ValueError(
                f"The 'calibrator' parameter of {owner} must be a SMARTCalibrator or "
                f"None. Got {self.calibrator!r} instead."
            )
        if not callable(self.scoring):
            check_option(self, "scoring", _SCORES)
        if isinstance(self.cv, numbers.Integral):
            check_number(self, "cv", int, 2)
        settings = list(ParameterGrid(self._grid()))
        if not settings:
            raise ValueError(f"The 'param_grid' parameter of {owner} is empty.")
        allowed = set(SMARTCalibrator().get_params()) - {"input", "classes"}
        unknown = sorted({name for setting in settings for name in setting} - allowed)
        if unknown:
            raise ValueError(
                f"The 'param_grid' parameter of {owner} names {unknown}. A search is "
                f"over parameters of SMARTCalibrator: {sorted(allowed)}."
            )
        for setting in settings:
            self._with(setting)._check_parameters()


def _scores_of_fold(calibrators, table, weight, train, test, score):
    """Scores on the rows ``test`` of calibrators fitted to the rows ``train``."""
    single = fit_single_temperature_on_curves(table.take(train), weight[train])
    score = score.of_rows(test)
    problems, scores = {}, []
    for calibrator in calibrators:
        shared = (
            calibrator.signal,
            calibrator.temperature_unit,
            calibrator.min_temperature,
        )
        if shared not in problems:
            signal = calibrator._signal_of(table.source, single.temperature)
            problem = calibrator._problem(
                signal[train],
                weight[train],
                single.temperature,
                lambda order: table.take(train[order]),
            )
            problems[shared] = problem, signal[test]
        problem, signal_of_test = problems[shared]
        calibrator.set_params(tol=max(calibrator.tol, _FOLD_TOL))
        calibrator._fit_map(problem, polish=False)
        scores.append(score(calibrator, signal_of_test))
    return scores


class _CurveScore:
    """Minus a loss of held-out rows, from their curves."""

    def __init__(self, loss, table, weight):
        self.loss, self.table, self.weight = loss, table, weight

    def of_rows(self, test):
        """The score of the rows ``test`` as a function of calibrator and signal."""
        curves, weight = self.table.take(test), self.weight[test]

        def score(calibrator, signal):
            beta = 1 / calibrator._temperature_function()(signal)
            if not curves.anchored:
                # Exact for the first setting, and to higher order for its like.
                curves.anchor(beta)
            return -self.loss(curves.at(beta), weight)[0]

        return score


class _ProbabilityScore:
    """What a scorer says of held-out rows."""

    def __init__(self, scorer, logits, labels, sample_weight, classes):
        self.scorer, self.logits, self.labels = scorer, logits, labels
        self.sample_weight, self.classes = sample_weight, classes

    def of_rows(self, test):
        """The score of the rows ``test`` as a function of calibrator and signal."""
        logits, labels = self.logits[test], self.labels[test]
        weights = {}
        if self.sample_weight is not None:
            weights["sample_weight"] = self.sample_weight[test]

        def score(calibrator, signal):
            calibrator.classes_ = self.classes
            calibrator.n_features_in_ = logits.shape[1]
            return float(self.scorer(calibrator, logits, labels, **weights))

        return score


def _folds_of_contents(rows, y, n_folds):
    """Fold of each row: rows in order of class and margin are dealt out in turn."""
    gap = rows.mean_gap()
    scale = gap.mean() * _SAME or 1.0
    keys = [np.rint(key / scale) for key in (gap, rows.gap, rows.margin)]
    keys.append(y)
    order = np.lexsort(keys)
    new = np.zeros(len(y), dtype=bool)
    for key in keys:
        new[1:] |= np.diff(key[order]) != 0
    place = np.cumsum(new)
    if place[-1] + 1 < n_folds:
        raise ValueError(
            f"cv={n_folds} folds need as many distinct rows of scores and label, but "
            f"there are {place[-1] + 1}. Pass a smaller cv or more samples."
        )
    fold = np.empty(len(y), dtype=np.intp)
    fold[order] = place % n_folds
    return fold


def _results(settings, scores):
    """Scores, (n_folds, n_settings), as in scikit-learn's searches."""
    mean = scores.mean(axis=0)
    # Where a score is not a number the setting is no candidate.
    order = np.where(np.isnan(mean), -np.inf, mean)
    results = {"params": settings}
    results.update({f"split{k}_test_score": row for k, row in enumerate(scores)})
    results["mean_test_score"] = mean
    results["std_test_score"] = scores.std(axis=0)
    results["rank_test_score"] = rankdata(-order, method="min").astype(np.int32)
    return results
