"""Reliability diagrams: frequency against probability, bin by bin."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklearn_smart.metrics import reliability_table, smooth_reliability

from ._style import (
    REFERENCE,
    existing_strip,
    line_style,
    new_axes,
    plain,
    require_matplotlib,
    strip_below,
)

_REFERENCE_LABEL = "perfectly calibrated"
# More classes than this are drawn alike: a longer legend is not read.
_NAMED_CLASSES = 7
# Smooth curves are drawn where their standard error is at most this.
_LARGEST_ERROR = 0.15


class ReliabilityDisplay:
    """Reliability diagram: how often an event of probability v happens.

    Each point is a bin: the mean probability of its samples against the frequency of
    the event among them. Below the diagonal probabilities are too high. Bars from the
    diagonal to the points are the gaps whose weighted mean is the expected calibration
    error; the strip below shows the samples of each bin.

    It is recommended to use :meth:`from_estimator` or :meth:`from_predictions`. All
    parameters are stored as attributes.

    Parameters
    ----------
    tables : list of ReliabilityTable
        One for each event, as :func:`~sklearn_smart.metrics.reliability_table` gives.

    name : str, default=None
        Name of the estimator, for the legend.

    curves : list of SmoothReliability, default=None
        Smoothed frequency of each event, as
        :func:`~sklearn_smart.metrics.smooth_reliability` gives; drawn as a line.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the diagram.

    figure_ : matplotlib Figure
        Figure that holds them.

    line_ : matplotlib Line2D or list of them
        The line through the points; a list where there are several events.

    histogram_ax_ : matplotlib Axes or None
        The strip below the diagram.

    See Also
    --------
    sklearn_smart.metrics.reliability_table : The numbers alone.
    sklearn_smart.metrics.expected_calibration_error : One number from the same bins.

    References
    ----------
    M. H. DeGroot, S. E. Fienberg, "The Comparison and Evaluation of Forecasters",
    The Statistician 32, 1983, doi:10.2307/2987588.

    Examples
    --------
    >>> from sklearn_smart import ReliabilityDisplay
    >>> from sklearn_smart.metrics import reliability_table
    >>> table = reliability_table([0, 1, 1, 1], [0.1, 0.8, 0.9, 0.6], n_bins=5)
    >>> display = ReliabilityDisplay([table], name="model").plot()
    >>> display.ax_.get_ylabel()
    'Accuracy'
    """

    def __init__(self, tables, *, name=None, curves=None):
        self.tables = tables
        self.name = name
        self.curves = curves

    def plot(
        self,
        ax=None,
        *,
        name=None,
        ref_line=True,
        histogram=True,
        band=0.95,
        **kwargs,
    ):
        """Draw the diagram.

        A second display drawn on the same axes gets the next style, so that several
        methods can be compared.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None makes a new figure.

        name : str, default=None
            Name for the legend; None takes the display's own.

        ref_line : bool, default=True
            Whether to draw the diagonal of perfect calibration.

        histogram : bool, default=True
            Whether to draw the samples of each bin in a strip below.

        band : float or None, default=0.95
            Level of the consistency band: in each bin, the frequencies that true
            probabilities would show with this probability. Drawn for a single event
            that is the first on its axes; None draws none.

        **kwargs : dict
            Further properties of the lines, as for :func:`matplotlib.pyplot.plot`.

        Returns
        -------
        ReliabilityDisplay
            The display, with ``ax_``, ``figure_`` and ``line_``.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        new = ax is None
        require_matplotlib("ReliabilityDisplay.plot")
        limits = None if band is None else self.tables[0].consistency_band(band)
        self.ax_ = ax = new_axes("ReliabilityDisplay.plot", ax)
        self.figure_ = ax.figure
        if new:
            self.figure_.set_size_inches(5, 6 if histogram else 5)
        name = self.name if name is None else name
        drawn = len([line for line in ax.lines if line.get_gid() == "reliability"])
        if ref_line and _REFERENCE_LABEL not in ax.get_legend_handles_labels()[1]:
            ax.plot([0, 1], [0, 1], label=_REFERENCE_LABEL, **REFERENCE)
        many = len(self.tables) > _NAMED_CLASSES
        lines, dashes = [], []
        for i, table in enumerate(self.tables):
            style = line_style(0 if many else drawn + i)
            if many:
                style.update(linewidth=0.8, alpha=0.5, markersize=2, linestyle="-")
            label = self._label(table, name, i, many)
            style = {"label": label, **style, **kwargs}
            if self.curves is not None:
                _draw_curve(ax, self.curves[i], style)
                style["linestyle"] = "none"
            lines.append(_draw_line(ax, table, style))
            dashes.append(style["linestyle"] if self.curves is None else "-")
        self.line_ = lines[0] if len(lines) == 1 else lines
        if len(lines) == 1 and drawn == 0:
            _draw_gaps(ax, self.tables[0], lines[0].get_color())
            if limits is not None:
                _draw_band(ax, self.tables[0], limits, band)
        _finish(ax, self.tables[0])
        self.histogram_ax_ = None
        if histogram:
            self.histogram_ax_ = _draw_strip(ax, self.tables, lines, dashes)
        return self

    def plot_grid(self, *, n_columns=4, n_events=12, **kwargs):
        """Draw a diagram for each event, on axes of its own.

        Parameters
        ----------
        n_columns : int, default=4
            Diagrams side by side.

        n_events : int, default=12
            Most diagrams: those of the events with the largest expected calibration
            error, in the order of the columns.

        **kwargs : dict
            Parameters of :meth:`plot`, but for ``ax``.

        Returns
        -------
        displays : list of ReliabilityDisplay
            One for each event drawn, all in one figure.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If a number is not positive.
        """
        for name, value in (("n_columns", n_columns), ("n_events", n_events)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(
                    f"The {name!r} parameter must be an int in the range [1, inf). "
                    f"Got {value!r} instead."
                )
        plt = require_matplotlib("ReliabilityDisplay.plot_grid")
        errors = [table.expected_calibration_error for table in self.tables]
        chosen = sorted(np.argsort(errors, kind="stable")[::-1][:n_events])
        columns = min(n_columns, len(chosen))
        rows = -(-len(chosen) // columns)
        _, axes = plt.subplots(
            rows,
            columns,
            figsize=(3.4 * columns, 4.0 * rows),
            layout="constrained",
            squeeze=False,
        )
        for ax in axes.flat[len(chosen) :]:
            ax.remove()
        displays = []
        for index, ax in zip(chosen, axes.flat, strict=False):
            table = self.tables[index]
            curves = None if self.curves is None else [self.curves[index]]
            display = ReliabilityDisplay([table], name=self.name, curves=curves)
            display.plot(ax, **kwargs)
            ax.get_legend().remove()
            error = f"ECE {table.expected_calibration_error:.3f}"
            ax.set_title(f"{table.event}: {error}", fontsize="medium")
            displays.append(display)
        return displays

    def summary(self):
        """Return what the diagram shows, as text for those who do not see it.

        Returns
        -------
        str
            A sentence for each event: samples, error, direction, worst bin.
        """
        lines = []
        for table in self.tables:
            filled = np.flatnonzero(table.weight > 0)
            gap, share = table.gap[filled], table.weight[filled] / table.weight.sum()
            worst = filled[np.abs(gap * share).argmax()]
            mean = float(gap @ share)
            lines.append(
                f"{self.name or 'Probabilities'}, {table.event}: "
                f"{table.weight.sum():g} samples in {len(filled)} bins, expected "
                f"calibration error {table.expected_calibration_error:.4f}; "
                f"probabilities are {abs(mean):.4f} too "
                f"{'high' if mean > 0 else 'low'} on average, and most of the error is "
                f"at {table.mean_prob[worst]:.3f}, where the frequency is "
                f"{table.frequency[worst]:.3f}."
            )
        return "\n".join(lines)

    def _label(self, table, name, position, many):
        """What the legend says of a line: name, event and expected error."""
        if many:
            return f"{len(self.tables)} classes" if position == 0 else "_nolegend_"
        parts = [] if name is None else [name]
        if len(self.tables) > 1:
            parts.append(table.event)
        error = f"ECE {table.expected_calibration_error:.3f}"
        return f"{', '.join(parts)} ({error})" if parts else error

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X,
        y,
        *,
        n_bins=15,
        strategy="uniform",
        kind="top_label",
        pos_label=None,
        sample_weight=None,
        name=None,
        ax=None,
        ref_line=True,
        histogram=True,
        band=0.95,
        smooth=False,
        **kwargs,
    ):
        """Draw the diagram of a fitted classifier on data.

        Parameters
        ----------
        estimator : classifier
            Fitted, with ``predict_proba`` and ``classes_``.

        X : array-like of shape (n_samples, n_features)
            Data.

        y : array-like of shape (n_samples,)
            True labels.

        n_bins : int, default=15
            Number of bins.

        strategy : {"uniform", "quantile"}, default="uniform"
            Bins of equal width, or of equal weight.

        kind : {"top_label", "class_wise", "positive_class"}, default="top_label"
            The event: the predicted class is the true one; each class is, a line for
            every one; or ``pos_label`` is.

        pos_label : int, float, bool or str, default=None
            The class of ``kind="positive_class"``; None is the second of two labels.

        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights >= 0, understood as frequencies.

        name : str, default=None
            Name for the legend; None is the name of the estimator's class.

        ax : matplotlib Axes, default=None
            Axes to draw on. None makes a new figure.

        ref_line : bool, default=True
            Whether to draw the diagonal of perfect calibration.

        histogram : bool, default=True
            Whether to draw the samples of each bin in a strip below.

        band : float or None, default=0.95
            Level of the consistency band: in each bin, the frequencies that true
            probabilities would show with this probability. Drawn for a single event
            that is the first on its axes; None draws none.

        smooth : bool, default=False
            Whether the line is the kernel-smoothed frequency, without bins; its
            bandwidth is the smooth calibration error. The bins stay as points.

        **kwargs : dict
            Further properties of the lines, as for :func:`matplotlib.pyplot.plot`.

        Returns
        -------
        ReliabilityDisplay
            The display, drawn.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If a parameter or an array is not as said above.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from sklearn_smart import ReliabilityDisplay
        >>> X, y = load_iris(return_X_y=True)
        >>> model = GaussianNB().fit(X, y)
        >>> display = ReliabilityDisplay.from_estimator(model, X, y, n_bins=10)
        >>> display.name
        'GaussianNB'
        """
        require_matplotlib(f"{cls.__name__}.from_estimator")
        has_proba = hasattr(estimator, "predict_proba")
        if has_proba and not hasattr(estimator, "classes_"):
            check_is_fitted(estimator)
        if not has_proba or not hasattr(estimator, "classes_"):
            raise ValueError(
                f"{type(estimator).__name__} has no predict_proba or no classes_; a "
                "reliability diagram needs a fitted classifier with probabilities."
            )
        return cls.from_predictions(
            y,
            estimator.predict_proba(X),
            labels=estimator.classes_,
            n_bins=n_bins,
            strategy=strategy,
            kind=kind,
            pos_label=pos_label,
            sample_weight=sample_weight,
            name=type(estimator).__name__ if name is None else name,
            ax=ax,
            ref_line=ref_line,
            histogram=histogram,
            band=band,
            smooth=smooth,
            **kwargs,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true,
        y_prob,
        *,
        n_bins=15,
        strategy="uniform",
        kind="top_label",
        pos_label=None,
        labels=None,
        sample_weight=None,
        name=None,
        ax=None,
        ref_line=True,
        histogram=True,
        band=0.95,
        smooth=False,
        **kwargs,
    ):
        """Draw the diagram of predicted probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,) or (n_samples, 1)
            True labels: numbers, strings or booleans.

        y_prob : array-like of shape (n_samples,) or (n_samples, n_classes)
            Predicted probabilities in [0, 1]; rows sum to 1 within 0.01. One dimension
            or one column is the probability of the second label.

        n_bins : int, default=15
            Number of bins.

        strategy : {"uniform", "quantile"}, default="uniform"
            Bins of equal width, or of equal weight.

        kind : {"top_label", "class_wise", "positive_class"}, default="top_label"
            The event: the predicted class is the true one; each class is, a line for
            every one; or ``pos_label`` is.

        pos_label : int, float, bool or str, default=None
            The class of ``kind="positive_class"``; None is the second of two labels.

        labels : array-like of shape (n_classes,), default=None
            The label of each column of ``y_prob``, in that order. None: the sorted
            distinct labels of ``y_true``.

        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights >= 0, understood as frequencies.

        name : str, default=None
            Name for the legend.

        ax : matplotlib Axes, default=None
            Axes to draw on. None makes a new figure.

        ref_line : bool, default=True
            Whether to draw the diagonal of perfect calibration.

        histogram : bool, default=True
            Whether to draw the samples of each bin in a strip below.

        band : float or None, default=0.95
            Level of the consistency band: in each bin, the frequencies that true
            probabilities would show with this probability. Drawn for a single event
            that is the first on its axes; None draws none.

        smooth : bool, default=False
            Whether the line is the kernel-smoothed frequency, without bins; its
            bandwidth is the smooth calibration error. The bins stay as points.

        **kwargs : dict
            Further properties of the lines, as for :func:`matplotlib.pyplot.plot`.

        Returns
        -------
        ReliabilityDisplay
            The display, drawn.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If a parameter or an array is not as said above.

        Examples
        --------
        >>> from sklearn_smart import ReliabilityDisplay
        >>> y_true, y_prob = ["no", "yes", "yes"], [0.2, 0.7, 0.9]
        >>> display = ReliabilityDisplay.from_predictions(y_true, y_prob, n_bins=5)
        >>> display.tables[0].weight.tolist()
        [0.0, 0.0, 0.0, 2.0, 1.0]
        """
        require_matplotlib(f"{cls.__name__}.from_predictions")
        events = {
            "kind": kind,
            "pos_label": pos_label,
            "labels": labels,
            "sample_weight": sample_weight,
        }
        tables = reliability_table(
            y_true, y_prob, n_bins=n_bins, strategy=strategy, **events
        )
        curves = smooth_reliability(y_true, y_prob, **events) if smooth else None
        if kind != "class_wise":
            tables, curves = [tables], None if curves is None else [curves]
        display = cls(tables, name=name, curves=curves)
        return display.plot(
            ax, ref_line=ref_line, histogram=histogram, band=band, **kwargs
        )


def _draw_line(ax, table, style):
    filled = table.weight > 0
    (line,) = ax.plot(
        table.mean_prob[filled], table.frequency[filled], gid="reliability", **style
    )
    return line


def _draw_curve(ax, curve, style):
    """The smoothed frequency, where there are data enough to tell it."""
    shown = curve.standard_error <= _LARGEST_ERROR
    ax.plot(
        curve.prob,
        np.where(shown, curve.frequency, np.nan),
        color=style["color"],
        linestyle=style["linestyle"],
        alpha=style.get("alpha"),
        linewidth=style.get("linewidth", 1.8),
        gid="smooth",
    )


def _draw_gaps(ax, table, colour):
    """Bars from the diagonal to the frequency, in the middle of what a bin holds."""
    filled = table.weight > 0
    ax.vlines(
        table.mean_prob[filled],
        table.mean_prob[filled],
        table.frequency[filled],
        color=colour,
        alpha=0.25,
        linewidth=6,
        zorder=1.5,
    )


def _draw_band(ax, table, limits, level):
    """Where the points of a calibrated model would lie, bin by bin."""
    filled = table.weight > 0
    low, high = (limit[filled] for limit in limits)
    at = table.mean_prob[filled]
    if len(at) == 1:  # a band needs a width
        at = at + np.array([-0.01, 0.01])
        low, high = low.repeat(2), high.repeat(2)
    ax.fill_between(
        at,
        low,
        high,
        color="0.5",
        alpha=0.25,
        linewidth=0,
        zorder=0.5,
        label=f"{level:.0%} of calibrated models",
    )


def _finish(ax, table):
    top = table.event == "top label"
    ax.set(
        xlim=(-0.02, 1.02),
        ylim=(-0.02, 1.02),
        ylabel="Accuracy" if top else "Frequency of the class",
    )
    if existing_strip(ax) is None:
        ax.set_xlabel(_x_label(table))
    ax.set_aspect("equal")
    plain(ax)
    ax.legend(loc="upper left", frameon=False, fontsize="small")


def _x_label(table):
    return "Confidence" if table.event == "top label" else "Predicted probability"


def _draw_strip(ax, tables, lines, dashes):
    """Samples of each bin: bars for one event, then an outline for each line."""
    strip, new = strip_below(ax)
    if new and len(tables) == 1:
        (table,) = tables
        strip.bar(
            table.edges[:-1],
            table.weight,
            width=np.diff(table.edges),
            align="edge",
            facecolor=(lines[0].get_color(), 0.25),
            edgecolor=lines[0].get_color(),
        )
    else:
        for table, line, dash in zip(tables, lines, dashes, strict=True):
            strip.stairs(
                table.weight,
                table.edges,
                color=line.get_color(),
                linestyle=dash,
                alpha=line.get_alpha(),
            )
    whole = all(np.array_equal(t.weight, np.round(t.weight)) for t in tables)
    strip.set(xlabel=_x_label(tables[0]), ylabel="Samples" if whole else "Weight")
    strip.set_ylim(bottom=0)
    return strip
