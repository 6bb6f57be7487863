"""One fold of a comparison: the scores, every method on them, every measure."""

from __future__ import annotations

import contextlib
import time
import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from ..calibrated_classifier.base_scores import BaseScores, fit_fold
from ..calibrated_classifier.methods import fit_method
from ..metrics import ReliabilityTable, reliability_table
from ._splits import SEED_BOUND, Split

N_BINS = 15
# Groups of test rows that the jackknife leaves out in turn.
N_GROUPS = 20


@dataclass(frozen=True, eq=False)
class Rows:
    """The data: labels, and either an estimator to be fitted or scores of all rows.

    Weights are positive or None. ``weights_reach`` says whether the estimator is
    fitted with them. ``notes`` are pairs of a category and what there is to warn of.
    """

    y: np.ndarray
    classes: np.ndarray
    sample_weight: np.ndarray | None
    groups: np.ndarray | None
    estimator: Any = None
    X: Any = None
    scores: BaseScores | None = None
    weights_reach: bool = True
    notes: list = field(default_factory=list)

    def weights_of(self, rows):
        """The weights of some rows, or None."""
        return None if self.sample_weight is None else self.sample_weight[rows]


@dataclass(frozen=True, eq=False)
class Task:
    """What all folds share: the data, the methods by name, the measures."""

    data: Rows
    methods: dict
    measures: list
    response_method: str
    leave_out_groups: bool


@dataclass(eq=False)
class FoldResult:
    """What one fold gave; arrays by method are in the order of ``Task.methods``.

    Attributes
    ----------
    split : Split
        Its rows.
    values : ndarray of shape (n_methods, n_measures)
        The measures on the test part.
    leave_out : ndarray of shape (n_groups, n_methods, n_measures)
        The measures without each group of test rows; no groups where there are
        several folds.
    fit_seconds : ndarray of shape (n_methods,)
        Time to fit each calibrator.
    estimator_seconds : float
        Time to fit the base estimator and to ask it for its scores; 0 without one.
    changed : ndarray of shape (n_methods,)
        Share of the test part whose predicted class is not that of the scores.
    tables : list of ReliabilityTable
        One for each method.
    notes : list of (str, type, str)
        Who warned, by which category, of what.
    """

    split: Split
    values: np.ndarray
    leave_out: np.ndarray
    fit_seconds: np.ndarray
    changed: np.ndarray
    estimator_seconds: float = 0.0
    tables: list[ReliabilityTable] = field(default_factory=list)
    notes: list[tuple] = field(default_factory=list)


class _Notes:
    """Collects the warnings of a piece of work, to be given once for all folds."""

    def __init__(self, notes, owner):
        self.notes, self.owner = notes, owner
        self._catch = warnings.catch_warnings(record=True)

    def __enter__(self):
        self._caught = self._catch.__enter__()
        warnings.simplefilter("always")

    def __exit__(self, *error):
        self._catch.__exit__(*error)
        self.notes += [(self.owner, w.category, str(w.message)) for w in self._caught]


def set_random_states(estimator, seed):
    """Give every ``random_state`` that is None a seed, in place."""
    rng = np.random.RandomState(seed)
    parameters = (
        estimator.get_params(deep=True) if hasattr(estimator, "get_params") else {}
    )
    seeds = {
        name: int(rng.randint(SEED_BOUND))
        for name in sorted(parameters)
        if name.split("__")[-1] == "random_state" and parameters[name] is None
    }
    if seeds:
        estimator.set_params(**seeds)
    return estimator


def run_fold(task, split):
    """`FoldResult` of one split, with linear algebra on one thread.

    Sums by several threads are rounded otherwise, and how many a worker gets depends
    on the number of workers: the result must not.
    """
    with threadpool_limits(limits=1, user_api="blas"):
        return _run_fold(task, split)


def _run_fold(task, split):
    shape = len(task.methods), len(task.measures)
    n_groups = min(N_GROUPS, len(split.test)) if task.leave_out_groups else 0
    result = FoldResult(
        split,
        values=np.empty(shape),
        leave_out=np.empty((n_groups, *shape)),
        fit_seconds=np.empty(shape[0]),
        changed=np.empty(shape[0]),
    )
    calibration, test = map(_in_double, _scores(task, split, result))
    for position, (name, method) in enumerate(task.methods.items()):
        doing = f"method {name!r}", len(split.calibration)
        with _naming(split, *doing), _Notes(result.notes, name):
            prob = _fit_predict(
                task, split, method, calibration, test, position, result
            )
            _measure(task, split, test, prob, position, result)
    return result


@contextlib.contextmanager
def _naming(split, owner, n_rows):
    """An error of the work inside says whose it is, and in which fold."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        raise ValueError(
            f"{owner} failed in {split.name} (fitted on {n_rows} rows): "
            f"{type(error).__name__}: {error}"
        ) from error


def _scores(task, split, result):
    """Scores of the calibration and of the test part, none seen by the estimator."""
    data = task.data
    if data.estimator is None:
        return data.scores[split.calibration], data.scores[split.test]
    estimator = set_random_states(clone(data.estimator), split.seed)
    weight = data.sample_weight if data.weights_reach else None
    start = time.perf_counter()
    owner = f"the base estimator {type(estimator).__name__}"
    with _naming(split, owner, len(split.train)), _Notes(result.notes, owner):
        fold = fit_fold(
            estimator,
            data.X,
            data.y,
            split.train,
            np.concatenate([split.calibration, split.test]),
            fit_params=None if weight is None else {"sample_weight": weight},
            response_method=task.response_method,
        )
    result.estimator_seconds = time.perf_counter() - start
    scores = fold.scores.with_columns(data.classes)
    n_calibration = len(split.calibration)
    return scores[:n_calibration], scores[n_calibration:]


def _in_double(scores):
    """Logits in float64: as float32 their small probabilities round to 0.

    The log loss would clip these at 1e-7 and flatter an over-confident model.
    Probabilities stay as they are, what they have lost is lost.
    """
    if scores.kind != "logits":
        return scores
    return replace(scores, values=scores.values.astype(np.float64))


def _fit_predict(task, split, method, calibration, test, position, result):
    if not isinstance(method, str):
        method = set_random_states(clone(method), split.seed)
    start = time.perf_counter()
    fitted = fit_method(
        method,
        calibration,
        task.data.y[split.calibration],
        task.data.classes,
        sample_weight=task.data.weights_of(split.calibration),
    )
    result.fit_seconds[position] = time.perf_counter() - start
    return fitted.predict_proba(test)


def _measure(task, split, test, prob, position, result):
    data = task.data
    y, weight = data.y[split.test], data.weights_of(split.test)

    def values(rows):
        part = None if weight is None else weight[rows]
        return [
            m.function(y[rows], prob[rows], data.classes, part) for m in task.measures
        ]

    result.values[position] = values(slice(None))
    n_groups = len(result.leave_out)
    if n_groups:
        group = np.random.RandomState(split.seed).permutation(len(y)) % n_groups
        for left_out in range(n_groups):
            result.leave_out[left_out, position] = values(group != left_out)
    result.changed[position] = np.average(
        prob.argmax(axis=1) != _largest(test.values), weights=weight
    )
    result.tables.append(
        reliability_table(
            y, prob, n_bins=N_BINS, labels=data.classes, sample_weight=weight
        )
    )


def _largest(scores):
    """Column of the largest score of each row; log-odds stand for two columns."""
    return (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)


def pooled_table(tables, n_repeats):
    """One `ReliabilityTable` of the tables of all folds, which share their edges.

    A row that ``n_repeats`` folds have tested counts once.
    """
    weight = sum(table.weight for table in tables)
    prob = sum(np.nan_to_num(table.mean_prob) * table.weight for table in tables)
    outcome = sum(np.nan_to_num(table.frequency) * table.weight for table in tables)
    with np.errstate(invalid="ignore"):
        return ReliabilityTable(
            edges=tables[0].edges,
            weight=weight / n_repeats,
            mean_prob=prob / weight,
            frequency=outcome / weight,
            event=tables[0].event,
        )
