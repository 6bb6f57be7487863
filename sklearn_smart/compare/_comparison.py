"""The result of a comparison: scores by fold, intervals, tables, pictures."""

from __future__ import annotations

import html
from typing import NamedTuple

import numpy as np

from ..display import ReliabilityDisplay
from ._folds import pooled_table
from ._intervals import corrected_t, jackknife
from ._page import figure_image, write_page
from ._tables import html_table, latex_table, markdown_table, text_table

_TABLES = ("summary", "differences", "folds")


class PairedDifference(NamedTuple):
    """A method's score minus that of the reference method, on the same folds.

    Attributes
    ----------
    method, reference, measure : str
        What is compared, and by which measure.
    difference : float
        Mean over the folds.
    standard_error : float
        Of the mean, corrected for what the folds share.
    low, high : float
        Limits of the confidence interval.
    p_value : float
        Two-sided, for a difference of 0.
    """

    method: str
    reference: str
    measure: str
    difference: float
    standard_error: float
    low: float
    high: float
    p_value: float


class CalibrationComparison:
    """Calibration methods side by side, as `compare_calibrators` returns them.

    ``print`` shows the table of scores, a notebook shows the table and `save_html`
    writes all of it. The best method by each measure is marked ``*``, and ``=`` marks
    those whose paired difference to it has a confidence interval that holds 0. The
    intervals are one by one: they are not corrected for the number of methods.

    Attributes
    ----------
    name : str
        The base estimator, or what was compared.
    methods : list of str
        Names of the methods.
    measures : list of str
        Names of the measures.
    values : ndarray of shape (n_folds, n_methods, n_measures)
        Every measure of every method on the test part of every fold.
    fit_seconds : ndarray of shape (n_folds, n_methods)
        Time to fit each calibrator.
    estimator_seconds : ndarray of shape (n_folds,)
        Time to fit the base estimator and to get its scores.
    preserves_prediction : dict of str to bool
        Which methods promise to leave the predicted class as it is.
    changed : ndarray of shape (n_methods,)
        Share of test rows whose predicted class differs from that of the scores.
    reliability_tables : dict of str to ReliabilityTable
        The test parts of all folds together, in 15 bins of equal width.
    confidence_level : float
        Level of all intervals.
    reference : str
        The method that differences are taken to.
    parameters : dict
        What was run, with seeds and versions.
    notes : list of str
        Warnings of the base estimator and of the calibrators, with the number of folds.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn_smart import compare_calibrators
    >>> X, y = load_iris(return_X_y=True)
    >>> comparison = compare_calibrators(
    ...     GaussianNB(), X, y, methods=["uncalibrated", "smart"], scoring="log_loss"
    ... )
    >>> comparison.values.shape
    (10, 2, 1)
    >>> [d.method for d in comparison.differences()]
    ['smart']
    """

    def __init__(
        self,
        results,
        measures,
        preserves_prediction,
        *,
        name,
        reference,
        confidence_level,
        parameters,
        notes,
    ):
        self.name = name
        self.methods = list(preserves_prediction)
        self.measures = [measure.name for measure in measures]
        self.values = np.stack([result.values for result in results])
        self.fit_seconds = np.stack([result.fit_seconds for result in results])
        self.estimator_seconds = np.array([r.estimator_seconds for r in results])
        self.preserves_prediction = preserves_prediction
        self.changed = np.mean([result.changed for result in results], axis=0)
        n_repeats = 1 + max(result.split.repeat for result in results)
        self.reliability_tables = {
            method: pooled_table([r.tables[i] for r in results], n_repeats)
            for i, method in enumerate(self.methods)
        }
        self.confidence_level = confidence_level
        self.reference = reference
        self.parameters = parameters
        self.notes = notes
        self._measures = measures
        self._splits = [(r.split.repeat, r.split.fold) for r in results]
        self._sizes = [
            (len(r.split.train), len(r.split.calibration), len(r.split.test))
            for r in results
        ]
        self._test_ratio = float(np.mean([r.split.test_ratio for r in results]))
        self._leave_out = results[0].leave_out

    def _interval(self, of):
        """Interval of a function of (n_methods, n_measures) values of a fold."""
        if len(self.values) == 1:
            return jackknife(
                of(self.values[0]),
                np.array([of(values) for values in self._leave_out]),
                self.confidence_level,
            )
        folds = np.array([of(values) for values in self.values])
        return corrected_t(folds, self._test_ratio, self.confidence_level)

    def mean(self, method, measure):
        """Mean score of a method over the folds, with its error.

        Parameters
        ----------
        method : str
            One of ``methods``.
        measure : str
            One of ``measures``.

        Returns
        -------
        interval : Interval
            ``mean``, ``standard_error``, ``low``, ``high`` (and ``p_value``, for 0).
        """
        i, j = self.position(method, measure)
        return self._interval(lambda values: values[i, j])

    def differences(self, reference=None, *, methods=None, measures=None):
        """Paired differences of the methods to a reference method.

        Every method saw the same rows in every fold, so that what the folds have in
        common cancels in the difference.

        Parameters
        ----------
        reference : str, default=None
            One of ``methods``; None is the attribute ``reference``.
        methods, measures : list of str, default=None
            Those wanted; None is all, without the reference.

        Returns
        -------
        differences : list of PairedDifference
            By measure, then by method.

        Raises
        ------
        ValueError
            If there is no such method or measure.
        """
        reference = self.reference if reference is None else reference
        others = [m for m in self.methods if m != reference]
        found = []
        for measure in self.measures if measures is None else measures:
            r, j = self.position(reference, measure)
            for method in others if methods is None else methods:
                i, _ = self.position(method, measure)
                interval = self._interval(
                    lambda values, i=i, r=r, j=j: values[i, j] - values[r, j]
                )
                found.append(PairedDifference(method, reference, measure, *interval))
        return found

    def best(self, measure):
        """The best method by a measure, and those that are statistically tied with it.

        Parameters
        ----------
        measure : str
            One of ``measures``.

        Returns
        -------
        best : str
            Of the best mean; the first of them where several have it.
        tied : list of str
            Methods whose paired difference to ``best`` has an interval that holds 0.
        """
        _, j = self.position(self.methods[0], measure)
        means = self.values[:, :, j].mean(axis=0)
        greater = self._measures[j].greater_is_better
        best = self.methods[int(np.argmax(means) if greater else np.argmin(means))]
        tied = [
            difference.method
            for difference in self.differences(best, measures=[measure])
            if not (difference.low > 0 or difference.high < 0)
        ]
        return best, tied

    def position(self, method, measure):
        """Where a method and a measure stand in ``values``; ValueError if nowhere.

        Parameters
        ----------
        method : str
            One of ``methods``.
        measure : str
            One of ``measures``.

        Returns
        -------
        method, measure : int
            Indices of the last two axes.
        """
        for name, known in ((method, self.methods), (measure, self.measures)):
            if name not in known:
                raise ValueError(f"{name!r} is not one of {known}.")
        return self.methods.index(method), self.measures.index(measure)

    # -- tables ------------------------------------------------------------------

    def to_frame(self, table="summary"):
        """A table as a pandas data frame.

        Parameters
        ----------
        table : {"summary", "differences", "folds"}, default="summary"
            "summary" has a row for each method with each measure and its standard
            error; "differences" a row for each `PairedDifference`; "folds" a row for
            each fold and method.

        Returns
        -------
        frame : pandas.DataFrame
            Numbers as fractions, times in seconds.

        Raises
        ------
        ImportError
            If pandas is not installed.
        ValueError
            If there is no such table.
        """
        if table not in _TABLES:
            raise ValueError(f"table must be one of {_TABLES}. Got {table!r} instead.")
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "to_frame needs pandas. Install it with the extra 'pandas': "
                "pip install 'sklearn-smart[pandas]'."
            ) from error
        if table == "differences":
            return pd.DataFrame(
                self.differences(), columns=list(PairedDifference._fields)
            )
        rows = self._summary_rows() if table == "summary" else self._fold_rows()
        frame = pd.DataFrame(rows)
        return frame.set_index("method") if table == "summary" else frame

    def _summary_rows(self):
        rows = []
        for i, method in enumerate(self.methods):
            row = {"method": method}
            for measure in self.measures:
                interval = self.mean(method, measure)
                row[measure] = interval.mean
                row[f"{measure}_error"] = interval.standard_error
            row["fit_seconds"] = self.fit_seconds[:, i].mean()
            row["preserves_prediction"] = self.preserves_prediction[method]
            row["changed"] = self.changed[i]
            rows.append(row)
        return rows

    def _fold_rows(self):
        return [
            {
                "repeat": repeat,
                "fold": fold,
                "n_train": sizes[0],
                "n_calibration": sizes[1],
                "n_test": sizes[2],
                "method": method,
                **dict(zip(self.measures, self.values[f, i].tolist(), strict=True)),
                "fit_seconds": self.fit_seconds[f, i],
            }
            for f, ((repeat, fold), sizes) in enumerate(
                zip(self._splits, self._sizes, strict=True)
            )
            for i, method in enumerate(self.methods)
        ]

    def summary_cells(self, errors=True):
        """The table of scores as texts.

        Parameters
        ----------
        errors : bool, default=True
            Whether to write the standard errors.

        Returns
        -------
        header : list of str
            Titles of the columns.
        rows : list of list of str
            One row for each method; a mark at the end of a score is ``*`` for the best
            and ``=`` for those tied with it.
        """
        header = [
            "method",
            *(m.title for m in self._measures),
            "fit s",
            "class changed %",
        ]
        marks = {measure: self._marks(measure) for measure in self.measures}
        rows = []
        for i, method in enumerate(self.methods):
            row = [method]
            for measure in self._measures:
                interval = self.mean(method, measure.name)
                text = measure.text(interval.mean)
                if errors and np.isfinite(interval.standard_error):
                    text += f" ±{measure.text(interval.standard_error)}"
                row.append(f"{text} {marks[measure.name].get(method, ' ')}")
            row.append(f"{self.fit_seconds[:, i].mean():.3f}")
            row.append(self._prediction(i))
            rows.append(row)
        return header, rows

    def _prediction(self, i):
        if self.preserves_prediction[self.methods[i]]:
            return "kept"
        return f"{100 * self.changed[i]:.2f}"

    def _marks(self, measure):
        best, tied = self.best(measure)
        return {best: "*", **dict.fromkeys(tied, "=")}

    def difference_cells(self, reference=None):
        """The table of paired differences as texts.

        Parameters
        ----------
        reference : str, default=None
            The method that differences are taken to.

        Returns
        -------
        header : list of str
            Titles of the columns.
        rows : list of list of str
            One row for each method, ``difference [low, high]`` in each cell. Where the
            interval does not hold 0, a mark follows: ``*`` for better than the
            reference and ``!`` for worse.
        """
        reference = self.reference if reference is None else reference
        header = [f"minus {reference}", *(m.title for m in self._measures)]
        rows = []
        for method in self.methods:
            if method == reference:
                continue
            row = [method]
            for measure in self._measures:
                (d,) = self.differences(
                    reference, methods=[method], measures=[measure.name]
                )
                text = measure.text(d.difference, signed=True)
                if np.isfinite(d.low):
                    low, high = (measure.text(v, signed=True) for v in (d.low, d.high))
                    text += f" [{low}, {high}]"
                    text += f" {_verdict(d, measure.greater_is_better)}"
                row.append(text)
            rows.append(row)
        return header, rows

    def legend(self):
        """What the numbers and marks mean.

        Returns
        -------
        lines : list of str
            Sentences.
        """
        level = f"{100 * self.confidence_level:g} %"
        train, calibration, test = np.mean(self._sizes, axis=0).round().astype(int)
        if train:
            learned = f"the estimator on {train} and the calibrators on {calibration}"
        else:
            learned = f"the calibrators on {calibration}"
        if len(self.values) > 1:
            who = "Each fold"
            spread = (
                f"Means over {len(self.values)} folds ± their standard error by Nadeau "
                "and Bengio's correction."
            )
        else:
            who = "The only split"
            spread = "± is the standard error over test rows, by jackknife."
        return [
            f"{who} fits {learned} rows and tests on {test} others. {spread}",
            f"* best; = tied with the best: the {level} interval of the paired "
            "difference holds 0. ECE is above 0 in a finite sample even for true "
            "probabilities.",
        ]

    def __str__(self):
        lines = [self.name, text_table(*self.summary_cells()), *self.legend()]
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(lines)

    def __repr__(self):
        return (
            f"<CalibrationComparison of {len(self.methods)} methods in "
            f"{len(self.values)} folds: {self.name}>"
        )

    def to_markdown(self):
        """The table of scores in Markdown.

        Returns
        -------
        text : str
            A pipe table.
        """
        return markdown_table(*self.summary_cells())

    def to_latex(self):
        """The table of scores in LaTeX.

        Returns
        -------
        text : str
            A ``tabular`` with the rules of the package booktabs.
        """
        return latex_table(*self.summary_cells())

    def _repr_html_(self):
        header, rows = self.summary_cells()
        legend = "<br>".join(html.escape(line) for line in self.legend())
        return (
            f"<div><strong>{html.escape(self.name)}</strong>"
            f"{html_table(header, rows)}<p><small>{legend}</small></p></div>"
        )

    # -- pictures ----------------------------------------------------------------

    def plot(self, methods=None):
        """Reliability diagrams of the methods, side by side.

        Parameters
        ----------
        methods : list of str, default=None
            Those wanted, in this order; None is all.

        Returns
        -------
        displays : list of ReliabilityDisplay
            One for each method, all in one figure (``displays[0].figure_``).

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If there is no such method.
        """
        methods = self.methods if methods is None else list(methods)
        for method in methods:
            self.position(method, self.measures[0])
        plt = _pyplot()
        columns = min(3, len(methods))
        rows = -(-len(methods) // columns)
        _, axes = plt.subplots(
            rows,
            columns,
            figsize=(4 * columns, 4.8 * rows),
            layout="constrained",
            squeeze=False,
        )
        for ax in axes.flat[len(methods) :]:
            ax.remove()
        return [self._draw(m, ax) for m, ax in zip(methods, axes.flat, strict=False)]

    def _draw(self, method, ax):
        """The diagram of one method, with what is known of it in the title."""
        table = self.reliability_tables[method]
        display = ReliabilityDisplay([table], name=method).plot(ax)
        ax.get_legend().remove()
        ax.set_title(f"{method}: ECE {table.expected_calibration_error:.4f}")
        if not self.parameters["weighted"]:
            # Means over the repeats, which need not be whole.
            display.histogram_ax_.set_ylabel("Samples")
        return display

    def save_html(self, path):
        """Write one HTML file with tables, pictures, parameters and versions.

        The file needs no network and nothing beside it. It is complete or not there:
        it is written under another name first.

        Parameters
        ----------
        path : str or path-like
            Where to; an existing file is replaced.

        Returns
        -------
        path : pathlib.Path
            The absolute path of the file.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        OSError
            If the file cannot be written.
        """
        return save_report([self], path)

    def pictures(self):
        """The reliability diagrams for a page.

        Returns
        -------
        pictures : list of (str, str)
            For each method a ``data:`` address of an SVG image, and its content in
            words.
        """
        _pyplot()
        from matplotlib.figure import Figure

        pictures = []
        for method in self.methods:
            figure = Figure(figsize=(4, 4.8), layout="constrained")
            self._draw(method, figure.subplots())
            table = self.reliability_tables[method]
            text = (
                f"Reliability diagram of {method}: expected calibration error "
                f"{table.expected_calibration_error:.4f}, mean confidence minus "
                f"accuracy {_signed_gap(table):+.4f}."
            )
            pictures.append((figure_image(figure), text))
        return pictures


def _pyplot():
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "plot and save_html need matplotlib. Install it with the extra 'plot': "
            "pip install 'sklearn-smart[plot]'."
        ) from error
    return plt


def _verdict(difference, greater_is_better):
    if difference.low <= 0 <= difference.high:
        return " "
    return "*" if (difference.low > 0) == greater_is_better else "!"


def _signed_gap(table):
    share = table.weight / table.weight.sum()
    return float(np.nansum(share * table.gap))


def save_report(comparisons, path, title="Calibration methods compared"):
    """Write one HTML page about several comparisons; see `save_html`."""
    sections = [
        {
            "name": comparison.name,
            "summary": comparison.summary_cells(),
            "differences": comparison.difference_cells(),
            "legend": comparison.legend(),
            "notes": comparison.notes,
            "pictures": comparison.pictures(),
            "parameters": comparison.parameters,
        }
        for comparison in comparisons
    ]
    return write_page(path, title, sections)
