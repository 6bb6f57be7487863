"""Calibration methods against the size of the calibration set."""

from __future__ import annotations

import numbers

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit

from .._validation import check_labels, check_weight
from ..calibrated_classifier.base_scores import take_rows
from ..display._style import REFERENCE, line_style, plain, require_matplotlib
from ._compare import METHODS, compare_calibrators
from ._splits import SEED_BOUND, random_generator


def compare_calibration_sizes(
    scores,
    y,
    *,
    sizes=(50, 100, 200, 500, 1000, 2000, 5000),
    n_subsets=10,
    test_size=0.5,
    methods=METHODS,
    scoring=("ece", "log_loss"),
    sample_weight=None,
    input="logits",
    classes=None,
    confidence_level=0.95,
    n_jobs=None,
    random_state=0,
    progress=None,
):
    """Compare calibration methods at several sizes of the calibration set.

    The rows are split at random, stratified, into a part for tests and a part to learn
    from, ``n_subsets`` times. Of each part to learn from, the first rows of a random
    order calibrate: sets of increasing size hold one another, and all are tested on the
    same rows, so that what changes along a line is the size alone.

    Parameters
    ----------
    scores : array-like of shape (n_samples, n_classes) or (n_samples,)
        Scores of rows that the model behind them has not seen.
    y : array-like of shape (n_samples,)
        The labels.
    sizes : sequence of int, default=(50, 100, 200, 500, 1000, 2000, 5000)
        Numbers of rows that calibrate, each at least the number of classes present;
        those above the part to learn from are left out, and that part is added.
    n_subsets : int, default=10
        Random splits, at least 2.
    test_size : float, default=0.5
        Share of the rows that test, in (0, 1).
    methods : list or dict, default=METHODS
        As in `compare_calibrators`.
    scoring : str, list, dict or callable, default=("ece", "log_loss")
        As in `compare_calibrators`; None is all of its measures.
    sample_weight : float or array-like of shape (n_samples,), default=None
        Frequencies. Rows of weight 0 are left out.
    input : {"logits", "probabilities"}, default="logits"
        What the scores are.
    classes : int or array-like, default=None
        Labels of the columns, in their order; see `SMARTCalibrator`.
    confidence_level : float, default=0.95
        Level of the intervals, in (0, 1).
    n_jobs : int, default=None
        Subsets run in parallel. The result is the same for every number.
    random_state : int, RandomState instance or None, default=0
        Makes the splits, and the seeds of the methods.
    progress : callable, default=None
        Called as ``progress(done, total)`` after each fit of all methods.

    Returns
    -------
    study : CalibrationSizes
        With `~CalibrationSizes.to_frame` and `~CalibrationSizes.plot`.

    Raises
    ------
    ValueError
        If a parameter, the labels, weights or scores are not as said above, or a
        method fails, as in `compare_calibrators`.

    See Also
    --------
    compare_calibrators : At one size, with a base estimator if wanted.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_smart import compare_calibration_sizes
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=600)
    >>> scores = 4 * (np.eye(3)[y] + rng.normal(size=(600, 3)))
    >>> study = compare_calibration_sizes(
    ...     scores, y, sizes=[50, 200], n_subsets=4, methods=["uncalibrated", "smart"]
    ... )
    >>> study.sizes
    [50, 200, 300]
    """
    labels = check_labels(y)
    _check(n_subsets, test_size)
    weight = check_weight(sample_weight, len(labels))
    if weight is not None and not weight.all():
        kept = np.flatnonzero(weight)
        scores, labels, weight = take_rows(scores, kept), labels[kept], weight[kept]
    rng = random_generator(random_state)
    splitter = StratifiedShuffleSplit(
        n_subsets, test_size=test_size, random_state=int(rng.randint(SEED_BOUND))
    )
    try:
        halves = list(splitter.split(labels, labels))
    except ValueError as error:
        raise ValueError(f"the rows cannot be split by class: {error}") from error
    sizes = _sizes(sizes, len(halves[0][0]), len(np.unique(labels)))
    seed = int(rng.randint(SEED_BOUND))
    comparisons = []
    for done, size in enumerate(sizes):
        splits = [(_first(learn, labels, size), test) for learn, test in halves]
        report = None
        if progress is not None:
            before = done * n_subsets

            def report(finished, _, before=before):
                progress(before + finished, len(sizes) * n_subsets)

        comparisons.append(
            compare_calibrators(
                scores,
                labels,
                cv=splits,
                methods=methods,
                scoring=list(scoring) if isinstance(scoring, tuple) else scoring,
                sample_weight=weight,
                input=input,
                classes=classes,
                confidence_level=confidence_level,
                n_jobs=n_jobs,
                random_state=seed,
                progress=report,
            )
        )
    return CalibrationSizes(sizes, comparisons)


def _check(n_subsets, test_size):
    if (
        isinstance(n_subsets, bool)
        or not isinstance(n_subsets, numbers.Integral)
        or n_subsets < 2
    ):
        raise ValueError(
            "The 'n_subsets' parameter of compare_calibration_sizes must be an int in "
            f"the range [2, inf). Got {n_subsets!r} instead."
        )
    if not isinstance(test_size, numbers.Real) or not 0 < test_size < 1:
        raise ValueError(
            "The 'test_size' parameter of compare_calibration_sizes must be a float in "
            f"the range (0, 1). Got {test_size!r} instead."
        )


def _sizes(sizes, most, n_classes):
    """Sorted sizes up to that of the part to learn from, which is the last."""
    values = np.atleast_1d(np.asarray(sizes))
    if values.ndim != 1 or values.dtype.kind not in "iu" or (values < n_classes).any():
        raise ValueError(
            "The 'sizes' parameter of compare_calibration_sizes must be ints of at "
            f"least {n_classes}, the number of classes in y. Got {sizes!r} instead."
        )
    return [*np.unique(values[values < most]).tolist(), most]


def _first(learn, labels, size):
    """The first ``size`` rows, after one row of each class.

    A set without a class could not tell a calibrator of it.
    """
    _, one_each = np.unique(labels[learn], return_index=True)
    order = np.concatenate([one_each, np.delete(np.arange(len(learn)), one_each)])
    return learn[order[:size]]


class CalibrationSizes:
    """What `compare_calibration_sizes` found.

    Parameters
    ----------
    sizes : list of int
        Rows that calibrate.
    comparisons : list of CalibrationComparison
        One for each size.

    Attributes
    ----------
    methods : list of str
        Names of the methods.
    measures : list of str
        Names of the measures.

    See Also
    --------
    compare_calibration_sizes : Makes it.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_smart import compare_calibration_sizes
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(2, size=400)
    >>> scores = 3 * y - 1.5 + 3 * rng.normal(size=400)
    >>> study = compare_calibration_sizes(
    ...     scores, y, sizes=[50], n_subsets=3, methods=["temperature"]
    ... )
    >>> study.mean("temperature", "log_loss").shape
    (2, 2)
    """

    def __init__(self, sizes, comparisons):
        self.sizes = sizes
        self.comparisons = comparisons
        self.methods = comparisons[0].methods
        self.measures = comparisons[0].measures

    def mean(self, method, measure):
        """Mean score of a method over the subsets, at each size.

        Parameters
        ----------
        method : str
            One of ``methods``.
        measure : str
            One of ``measures``.

        Returns
        -------
        values : ndarray of shape (n_sizes, 2)
            Mean over the subsets, and its standard error. That is the error due to
            the choice of subsets of these data: the test parts share rows.
        """
        i, j = self.comparisons[0].position(method, measure)
        values = np.array(
            [comparison.values[:, i, j] for comparison in self.comparisons]
        )
        error = values.std(axis=1, ddof=1) / np.sqrt(values.shape[1])
        return np.column_stack([values.mean(axis=1), error])

    def to_frame(self):
        """The table of scores as a pandas data frame.

        Returns
        -------
        frame : pandas.DataFrame
            A row for each size and method, with each measure and its standard error.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "to_frame needs pandas. Install it with the extra 'pandas': "
                "pip install 'sklearn-smart[pandas]'."
            ) from error
        columns = {}
        for measure in self.measures:
            found = [self.mean(method, measure) for method in self.methods]
            mean, error = np.stack(found, axis=1).reshape(-1, 2).T
            columns[measure], columns[f"{measure}_error"] = mean, error
        index = pd.MultiIndex.from_product(
            [self.sizes, self.methods], names=["size", "method"]
        )
        return pd.DataFrame(columns, index=index)

    def summary(self):
        """Return what the picture shows, as text for those who do not see it.

        Returns
        -------
        str
            For each measure and size the method of the best mean.
        """
        lines = []
        for measure in self.measures:
            best = [comparison.best(measure)[0] for comparison in self.comparisons]
            parts = [
                f"{name} at {size}" for size, name in zip(self.sizes, best, strict=True)
            ]
            lines.append(f"Best {measure}: {', '.join(parts)}.")
        return "\n".join(lines)

    def plot(self, measures=None, *, axes=None):
        """Draw each measure against the size of the calibration set.

        Bars are one standard error. A dotted line is the first method, where it is the
        uncalibrated one, which learns nothing.

        Parameters
        ----------
        measures : list of str, default=None
            Those wanted; None is all.
        axes : sequence of matplotlib Axes, default=None
            One for each measure. None makes a new figure.

        Returns
        -------
        axes : ndarray of matplotlib Axes
            One for each measure.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If there is no such measure, or ``axes`` are not as many.
        """
        plt = require_matplotlib("CalibrationSizes.plot")
        measures = self.measures if measures is None else list(measures)
        for measure in measures:
            self.mean(self.methods[0], measure)
        if axes is None:
            _, axes = plt.subplots(
                1,
                len(measures),
                figsize=(4.6 * len(measures), 3.8),
                squeeze=False,
                layout="constrained",
            )
        axes = np.asarray(axes, dtype=object).ravel()
        if len(axes) != len(measures):
            raise ValueError(f"{len(measures)} axes are needed, got {len(axes)}.")
        for measure, ax in zip(measures, axes, strict=True):
            self._draw(measure, ax)
        axes[0].legend(frameon=False, fontsize="small")
        return axes

    def _draw(self, measure, ax):
        position = 0
        for method in self.methods:
            mean, error = self.mean(method, measure).T
            if method == "uncalibrated":
                ax.plot(self.sizes, mean, label=method, **REFERENCE)
                continue
            style = line_style(position)
            position += 1
            ax.errorbar(
                self.sizes, mean, error, label=method, capsize=2, markersize=4, **style
            )
        ax.set(xscale="log", xlabel="Calibration samples", ylabel=measure)
        ax.set_ylim(bottom=0)
        plain(ax)
