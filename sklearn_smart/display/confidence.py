"""Confidence histograms, one above the other: before and after calibration."""

from __future__ import annotations

import numpy as np

from sklearn_smart.metrics import reliability_table

from ._style import COLOURS, plain, require_matplotlib


class ConfidenceDisplay:
    """Histograms of the confidence of several predictions of the same samples.

    One row for each prediction, such as the uncalibrated and the calibrated one. A
    solid line marks the mean confidence and a dashed one the accuracy: where they part,
    the shaded gap is the over- or under-confidence on average.

    It is recommended to use :meth:`from_predictions`. All parameters are stored as
    attributes.

    Parameters
    ----------
    tables : dict of str to ReliabilityTable
        Top-label tables of equal-width bins, by the name of the prediction.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        One for each prediction.

    figure_ : matplotlib Figure
        Figure that holds them.

    See Also
    --------
    ReliabilityDisplay : Accuracy against confidence.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger, "On Calibration of Modern Neural
    Networks", ICML 2017, arXiv:1706.04599 (figure 1).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_smart import ConfidenceDisplay
    >>> y = np.array([0, 1, 1, 0])
    >>> before, after = np.array([0.1, 0.98, 0.9, 0.8]), np.array([0.3, 0.8, 0.7, 0.6])
    >>> display = ConfidenceDisplay.from_predictions(
    ...     y, {"before": before, "after": after}
    ... )
    >>> print(display.summary())
    before: mean confidence 0.895, accuracy 0.750, 0.145 too high.
    after: mean confidence 0.700, accuracy 0.750, 0.050 too low.
    """

    def __init__(self, tables):
        self.tables = tables

    @classmethod
    def from_predictions(
        cls, y_true, y_probs, *, n_bins=30, labels=None, sample_weight=None, axes=None
    ):
        """Draw the histograms of predicted probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,) or (n_samples, 1)
            True labels: numbers, strings or booleans.

        y_probs : dict of str to array-like
            Predicted probabilities by name, each of shape (n_samples,) or (n_samples,
            n_classes), in the order in which they are drawn.

        n_bins : int, default=30
            Number of bins of equal width.

        labels : array-like of shape (n_classes,), default=None
            The label of each column, in that order. None: the sorted distinct labels
            of ``y_true``.

        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights >= 0, understood as frequencies.

        axes : sequence of matplotlib Axes, default=None
            One for each prediction. None makes a new figure.

        Returns
        -------
        ConfidenceDisplay
            The display, drawn.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If a parameter or an array is not as said above.
        """
        require_matplotlib(f"{cls.__name__}.from_predictions")
        if not isinstance(y_probs, dict) or not y_probs:
            raise ValueError(
                "y_probs must be a dict of names and probabilities, such as "
                f"{{'before': ..., 'after': ...}}. Got {type(y_probs).__name__}."
            )
        tables = {
            name: reliability_table(
                y_true,
                y_prob,
                n_bins=n_bins,
                labels=labels,
                sample_weight=sample_weight,
            )
            for name, y_prob in y_probs.items()
        }
        return cls(tables).plot(axes)

    def plot(self, axes=None):
        """Draw the histograms.

        Parameters
        ----------
        axes : sequence of matplotlib Axes, default=None
            One for each prediction. None makes a new figure.

        Returns
        -------
        ConfidenceDisplay
            The display, with ``axes_`` and ``figure_``.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If ``axes`` are not as many as the predictions.
        """
        plt = require_matplotlib("ConfidenceDisplay.plot")
        n = len(self.tables)
        if axes is None:
            _, axes = plt.subplots(
                n,
                1,
                figsize=(5, 0.7 + 1.6 * n),
                sharex=True,
                sharey=True,
                squeeze=False,
                layout="constrained",
            )
        self.axes_ = np.asarray(axes, dtype=object).ravel()
        if len(self.axes_) != n:
            raise ValueError(f"{n} axes are needed, got {len(self.axes_)}.")
        self.figure_ = self.axes_[0].figure
        for i, (name, ax) in enumerate(zip(self.tables, self.axes_, strict=True)):
            self._draw(name, ax, COLOURS[i % len(COLOURS)])
        self.axes_[-1].set_xlabel("Confidence")
        return self

    def summary(self):
        """Return what the histograms show, as text for those who do not see them.

        Returns
        -------
        str
            A sentence for each prediction.
        """
        lines = []
        for name in self.tables:
            confidence, accuracy = self._means(name)
            gap = confidence - accuracy
            lines.append(
                f"{name}: mean confidence {confidence:.3f}, accuracy {accuracy:.3f}, "
                f"{abs(gap):.3f} too {'high' if gap > 0 else 'low'}."
            )
        return "\n".join(lines)

    def _means(self, name):
        table = self.tables[name]
        share = table.weight / table.weight.sum()
        return (
            float(np.nansum(share * table.mean_prob)),
            float(np.nansum(share * table.frequency)),
        )

    def _draw(self, name, ax, colour):
        table = self.tables[name]
        share = table.weight / table.weight.sum()
        confidence, accuracy = self._means(name)
        ax.bar(
            table.edges[:-1],
            share,
            width=np.diff(table.edges),
            align="edge",
            facecolor=(colour, 0.35),
            edgecolor=colour,
            linewidth=0.6,
        )
        ax.axvspan(
            *sorted((confidence, accuracy)), color="0.5", alpha=0.25, linewidth=0
        )
        ax.axvline(confidence, color="0.1", linewidth=1.4, label="mean confidence")
        ax.axvline(
            accuracy, color="0.1", linewidth=1.4, linestyle="--", label="accuracy"
        )
        ax.set(ylabel="Share of samples", title=name)
        ax.set_xlim(0, 1)
        plain(ax)
        if name == next(iter(self.tables)):
            ax.legend(loc="upper left", frameon=False, fontsize="small")
