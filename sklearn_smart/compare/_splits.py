"""Who learns what: rows for the base estimator, the calibrators and the test."""

from __future__ import annotations

import numbers
import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import (
    GroupShuffleSplit,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    check_cv,
)

# Seeds are drawn below this bound, which every seed parameter accepts.
SEED_BOUND = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Split:
    """Row numbers of one fold; the three parts share no row.

    ``train`` is empty where the scores are given and no base estimator learns.
    """

    repeat: int
    fold: int
    train: np.ndarray
    calibration: np.ndarray
    test: np.ndarray
    seed: int

    @property
    def name(self):
        """How messages call the fold, counted from 1."""
        return f"repeat {self.repeat + 1}, fold {self.fold + 1}"

    @property
    def test_ratio(self):
        """Number of test rows for each row that something was learned from."""
        return len(self.test) / (len(self.train) + len(self.calibration))


def random_generator(random_state):
    """A RandomState; None is a fresh one, so that the global one stays untouched."""
    if isinstance(random_state, np.random.RandomState):
        return random_state
    if random_state is not None and (
        not isinstance(random_state, numbers.Integral)
        or isinstance(random_state, bool)
        or not 0 <= random_state < 2**32
    ):
        raise ValueError(
            "The 'random_state' parameter of compare_calibrators must be an int in "
            "the range [0, 4294967295], a RandomState instance or None. Got "
            f"{random_state!r} instead."
        )
    return np.random.RandomState(random_state)


def plan_splits(y, groups, *, cv, n_repeats, calibration_size, rng):
    """The splits of a comparison, in order; ``calibration_size=None`` trains none."""
    splits = []
    for repeat, (splitter, seed) in enumerate(
        _splitters(y, groups, cv, n_repeats, rng)
    ):
        inner_rng = np.random.RandomState(seed)
        for fold, (learn, test) in enumerate(splitter):
            learn, test = np.asarray(learn), np.asarray(test)
            _check_parts(learn, test, len(y))
            fold_seed = int(inner_rng.randint(SEED_BOUND))
            train, calibration = _held_out(
                learn, y, groups, calibration_size, fold_seed, fold
            )
            splits.append(Split(repeat, fold, train, calibration, test, fold_seed))
    if not splits:
        raise ValueError("cv gives no split.")
    return splits


def _splitters(y, groups, cv, n_repeats, rng):
    """One iterable of (learn, test) pairs and one seed for each repeat."""
    rows = np.zeros((len(y), 1))
    if not isinstance(cv, numbers.Integral) or isinstance(cv, bool):
        # Its own random state, if any, says how it repeats.
        splitter = check_cv(cv, y, classifier=True)
        yield splitter.split(rows, y, groups), int(rng.randint(SEED_BOUND))
        return
    if cv < 2:
        raise ValueError(
            "The 'cv' parameter of compare_calibrators must be an int in the range "
            f"[2, inf), a splitter or an iterable of splits. Got {cv!r} instead."
        )
    if len(y) < cv:
        raise ValueError(f"cv={cv} folds cannot be made of {len(y)} samples.")
    for _ in range(n_repeats):
        seed = int(rng.randint(SEED_BOUND))
        yield _quiet_split(_folds(y, groups, cv, seed), rows, y, groups), seed


def _folds(y, groups, cv, seed):
    if groups is not None:
        return StratifiedGroupKFold(cv, shuffle=True, random_state=seed)
    if np.unique(y, return_counts=True)[1].max() < cv:
        # More classes than rows to go round: there is nothing to stratify.
        return KFold(cv, shuffle=True, random_state=seed)
    return StratifiedKFold(cv, shuffle=True, random_state=seed)


def _quiet_split(splitter, rows, y, groups):
    with warnings.catch_warnings():
        # A test part may lack a rare class; the columns are named all the same.
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        return list(splitter.split(rows, y, groups))


def _check_parts(learn, test, n_samples):
    if len(learn) == 0 or len(test) == 0:
        raise ValueError("cv gives a split with an empty training or test part.")
    for part in (learn, test):
        if part.dtype.kind not in "iu" or part.min() < 0 or part.max() >= n_samples:
            raise ValueError(
                "cv must give pairs of integer row numbers in the range "
                f"[0, {n_samples})."
            )
    if np.intersect1d(learn, test).size:
        raise ValueError("cv gives a split whose training and test parts overlap.")


def _held_out(learn, y, groups, calibration_size, seed, fold):
    """Rows for the base estimator and rows for the calibrators, of ``learn``."""
    if calibration_size is None:
        return learn[:0], learn
    if groups is None:
        splitter = StratifiedShuffleSplit(
            1, test_size=calibration_size, random_state=seed
        )
        group = None
    else:
        splitter = GroupShuffleSplit(1, test_size=calibration_size, random_state=seed)
        group = groups[learn]
    try:
        ((train, calibration),) = splitter.split(np.zeros(len(learn)), y[learn], group)
    except ValueError as error:
        raise ValueError(
            f"the {len(learn)} training rows of fold {fold + 1} cannot be split into "
            f"rows for the estimator and rows for the calibrators with "
            f"calibration_size={calibration_size}: {error} Give more samples, fewer "
            "folds or fewer rare classes."
        ) from error
    return learn[np.sort(train)], learn[np.sort(calibration)]


def check_class_counts(y, cv):
    """Every class must reach the base estimator, the calibrators and the test."""
    if not isinstance(cv, numbers.Integral):
        return
    labels, counts = np.unique(y, return_counts=True)
    names = labels.tolist()
    if len(names) < 2:
        raise ValueError(
            f"y holds one class only, {names[0]!r}; calibration needs at least two."
        )
    needed = max(3, cv)
    rarest = counts.argmin()
    if counts[rarest] < needed:
        raise ValueError(
            f"class {names[rarest]!r} has {counts[rarest]} samples, but cv={cv} needs "
            f"at least {needed} of each class. Use fewer folds, or merge or leave out "
            "rare classes."
        )
