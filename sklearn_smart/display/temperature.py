"""Temperature against margin: what a calibrator of margins has learned."""

from __future__ import annotations

import numbers

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from sklearn_smart._numerics.logits import (
    logits_from_probabilities,
    margin,
    softmax,
    two_columns,
)
from sklearn_smart.calibrators.feasible import feasible_temperatures

from ._style import (
    COLOURS,
    existing_strip,
    line_style,
    new_axes,
    plain,
    require_matplotlib,
    strip_below,
)

# What a screen can show: more points are thinned before they are drawn.
_N_POINTS = 1000
_HATCHES = ("//", "\\\\", "..", "xx")


class TemperatureDisplay:
    """Temperature against the margin of the logits.

    The curve is the temperature that divides the logits of a sample whose largest
    logit exceeds the next by the margin. A dashed line is the single temperature of
    temperature scaling. A band shows, for a confidence, which temperatures give a
    sample of each margin that confidence
    (:func:`~sklearn_smart.calibrators.feasible_temperatures`). The strip below shows
    the margins of the data.

    It is recommended to use :meth:`from_calibrator` or :meth:`from_estimator`. All
    parameters are stored as attributes.

    Parameters
    ----------
    margin : ndarray of shape (n_samples,)
        Largest minus second largest logit of each sample.

    temperature : ndarray of shape (n_samples,)
        Temperature of each sample.

    n_classes : int
        Number of classes, for the bands.

    single_temperature : float, default=None
        Temperature of temperature scaling.

    is_function : bool, default=True
        Whether the temperature depends on the margin alone. Otherwise samples are
        drawn as points.

    name : str, default=None
        Name of the calibrator, for the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the curve.

    figure_ : matplotlib Figure
        Figure that holds them.

    line_ : matplotlib Line2D
        The curve, or the points.

    bands_ : list of matplotlib artists
        The feasible band of each confidence.

    histogram_ax_ : matplotlib Axes or None
        The strip of margins.

    See Also
    --------
    sklearn_smart.calibrators.feasible_temperatures : The bands alone.

    References
    ----------
    SMART: Sample Margin-Aware Recalibration of Temperature, ICML 2026,
    arXiv:2506.23492.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_smart import SMARTCalibrator, TemperatureDisplay
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=500)
    >>> scores = 4 * (np.eye(3)[y] + rng.normal(size=(500, 3)))
    >>> smart = SMARTCalibrator().fit(scores, y)
    >>> display = TemperatureDisplay.from_calibrator(smart, scores)
    >>> display.ax_.get_ylabel()
    'Temperature'
    """

    def __init__(
        self,
        margin,
        temperature,
        *,
        n_classes,
        single_temperature=None,
        is_function=True,
        name=None,
    ):
        self.margin = margin
        self.temperature = temperature
        self.n_classes = n_classes
        self.single_temperature = single_temperature
        self.is_function = is_function
        self.name = name

    def plot(self, ax=None, *, name=None, confidence=(0.95,), histogram=True, **kwargs):
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None makes a new figure.

        name : str, default=None
            Name for the legend; None takes the display's own.

        confidence : float or sequence of float, default=(0.95,)
            Confidences in (1 / n_classes, 1) whose feasible temperatures are shown as
            bands; an empty sequence draws none.

        histogram : bool, default=True
            Whether to draw the margins of the data in a strip below.

        **kwargs : dict
            Further properties of the curve, as for :func:`matplotlib.pyplot.plot`.

        Returns
        -------
        TemperatureDisplay
            The display, with ``ax_``, ``figure_`` and ``line_``.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        new = ax is None
        require_matplotlib("TemperatureDisplay.plot")
        x, y = self._points()
        right, top = _limits(x, y, self.single_temperature)
        if isinstance(confidence, numbers.Number):
            confidence = (confidence,)
        bands = [_band(p, self.n_classes, right, top) for p in confidence]
        self.ax_ = ax = new_axes("TemperatureDisplay.plot", ax)
        self.figure_ = ax.figure
        if new:
            self.figure_.set_size_inches(6, 5.5 if histogram else 4.5)
        drawn = len([line for line in ax.lines if line.get_gid() == _GID])
        top = max(top, ax.get_ylim()[1]) if drawn else top
        right = max(right, ax.get_xlim()[1]) if drawn else right
        # A second curve on the same axes does not repeat the bands.
        self.bands_ = [
            _draw_band(ax, band, p, i)
            for i, (band, p) in enumerate(zip(bands, confidence, strict=True))
            if not drawn
        ]
        if self.single_temperature is not None:
            ax.axhline(
                self.single_temperature,
                color=COLOURS[drawn % len(COLOURS)] if drawn else "0.2",
                linestyle="--",
                linewidth=1.2,
                label=f"single temperature {self.single_temperature:.3g}",
            )
        style = {**line_style(drawn), "marker": None, "linewidth": 2.2, "zorder": 3}
        if not self.is_function:
            style.update(linestyle="none", marker=".", markersize=3, alpha=0.6)
        name = self.name if name is None else name
        style["label"] = "temperature" if name is None else name
        (self.line_,) = ax.plot(x, y, **{"gid": _GID, **style, **kwargs})
        ax.set(xlim=(0, right), ylim=(0, top), ylabel="Temperature")
        if existing_strip(ax) is None:
            ax.set_xlabel(_X_LABEL)
        plain(ax)
        ax.legend(frameon=False, fontsize="small")
        self.histogram_ax_ = _draw_margins(ax, self.margin) if histogram else None
        return self

    def _points(self):
        """At most some thousand pairs of margin and temperature, by margin."""
        order = np.argsort(self.margin, kind="stable")
        if len(order) > _N_POINTS:
            # Evenly by rank and evenly by value: the bulk and the sparse ends.
            ranks = np.linspace(0, len(order) - 1, _N_POINTS // 2).astype(int)
            ordered = self.margin[order]
            values = np.linspace(ordered[0], ordered[-1], _N_POINTS // 2)
            near = np.minimum(np.searchsorted(ordered, values), len(order) - 1)
            order = order[np.union1d(ranks, near)]
        return self.margin[order], self.temperature[order]

    @classmethod
    def from_calibrator(
        cls,
        calibrator,
        scores,
        *,
        name=None,
        confidence=(0.95,),
        ax=None,
        histogram=True,
        **kwargs,
    ):
        """Draw the temperatures that a fitted calibrator gives to scores.

        Parameters
        ----------
        calibrator : SMARTCalibrator, TemperatureScaling or Pipeline
            Fitted, with a method ``temperatures``; or a pipeline of calibrators whose
            last step has one: its temperatures divide the logits of the steps before.

        scores : array-like of shape (n_samples, n_classes) or (n_samples,)
            Logits, or probabilities where the calibrator's ``input`` says so.

        name : str, default=None
            Name for the legend; None is the name of the calibrator's class.

        confidence : float or sequence of float, default=(0.95,)
            Confidences whose feasible temperatures are shown as bands.

        ax : matplotlib Axes, default=None
            Axes to draw on. None makes a new figure.

        histogram : bool, default=True
            Whether to draw the margins of the data in a strip below.

        **kwargs : dict
            Further properties of the curve, as for :func:`matplotlib.pyplot.plot`.

        Returns
        -------
        TemperatureDisplay
            The display, drawn.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        NotFittedError
            If the calibrator is not fitted.
        ValueError
            If the calibrator has no temperatures, or ``scores`` are not as said above.
        """
        require_matplotlib(f"{cls.__name__}.from_calibrator")
        if hasattr(calibrator, "steps") and len(calibrator.steps) > 1:
            scores = calibrator[:-1].transform(scores)
        last = calibrator.steps[-1][1] if hasattr(calibrator, "steps") else calibrator
        if not hasattr(last, "temperatures"):
            raise ValueError(
                f"{type(last).__name__} gives no temperatures to draw. SMARTCalibrator "
                "and TemperatureScaling do."
            )
        check_is_fitted(last)
        temperature = np.asarray(last.temperatures(scores))
        display = cls(
            _margins(scores, last.input),
            temperature,
            n_classes=len(last.classes_),
            single_temperature=getattr(last, "temperature_", None),
            is_function=getattr(last, "signal", "margin") == "margin",
            name=type(last).__name__ if name is None else name,
        )
        return display.plot(ax, confidence=confidence, histogram=histogram, **kwargs)

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X,
        *,
        fold=0,
        name=None,
        confidence=(0.95,),
        ax=None,
        histogram=True,
        **kwargs,
    ):
        """Draw the temperatures inside of a fitted CalibratedClassifierCV.

        Parameters
        ----------
        estimator : CalibratedClassifierCV
            Fitted, with a method that has temperatures, such as "smart".

        X : array-like of shape (n_samples, n_features)
            Data for the base estimator.

        fold : int, default=0
            Which of the ``calibrated_classifiers_``; an ensemble has one for each
            fold.

        name : str, default=None
            Name for the legend; None is the name of the calibrator's class.

        confidence : float or sequence of float, default=(0.95,)
            Confidences whose feasible temperatures are shown as bands.

        ax : matplotlib Axes, default=None
            Axes to draw on. None makes a new figure.

        histogram : bool, default=True
            Whether to draw the margins of the data in a strip below.

        **kwargs : dict
            Further properties of the curve, as for :func:`matplotlib.pyplot.plot`.

        Returns
        -------
        TemperatureDisplay
            The display, drawn.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If there is no such fold, or its calibrator has no temperatures.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn_smart import CalibratedClassifierCV, TemperatureDisplay
        >>> X, y = load_iris(return_X_y=True)
        >>> model = CalibratedClassifierCV(LogisticRegression(max_iter=1000)).fit(X, y)
        >>> display = TemperatureDisplay.from_estimator(model, X)
        >>> display.n_classes
        3
        """
        require_matplotlib(f"{cls.__name__}.from_estimator")
        check_is_fitted(estimator)
        pairs = getattr(estimator, "calibrated_classifiers_", None)
        if pairs is None:
            raise ValueError(
                f"{type(estimator).__name__} has no calibrated_classifiers_; "
                "from_estimator takes a CalibratedClassifierCV, from_calibrator a "
                "calibrator with scores."
            )
        if not isinstance(fold, numbers.Integral) or not 0 <= fold < len(pairs):
            raise ValueError(
                "The 'fold' parameter must be an int in the range "
                f"[0, {len(pairs)}). Got {fold!r} instead."
            )
        calibrator = pairs[fold].calibrators[0]
        method = getattr(estimator, "response_method", "auto")
        return cls.from_calibrator(
            calibrator,
            _base_scores(pairs[fold].estimator, X, method, calibrator),
            name=name,
            confidence=confidence,
            ax=ax,
            histogram=histogram,
            **kwargs,
        )


_GID = "temperature"
_X_LABEL = "Margin (largest minus second largest logit)"


def _margins(scores, kind):
    """Margins of scores that a calibrator has accepted."""
    scores = check_array(scores, dtype=(np.float64, np.float32), ensure_2d=False)
    if scores.ndim == 2 and scores.shape[1] == 1:
        scores = scores[:, 0]
    if kind == "probabilities":
        if scores.ndim == 1:
            scores = np.column_stack([1 - scores, scores])
        return margin(logits_from_probabilities(scores))
    return margin(two_columns(scores) if scores.ndim == 1 else scores)


def _base_scores(estimator, X, method, calibrator):
    """Scores of a base estimator in the form that a calibrator declares."""
    if method == "auto":
        known = hasattr(estimator, "decision_function")
        method = "decision_function" if known else "predict_proba"
    scores = np.asarray(getattr(estimator, method)(X))
    first = calibrator.steps[0][1] if hasattr(calibrator, "steps") else calibrator
    wanted = getattr(first, "input", "logits")
    if method == "predict_proba" and wanted == "logits":
        return logits_from_probabilities(scores)
    if method == "decision_function" and wanted == "probabilities":
        return softmax(two_columns(scores.ravel()) if scores.ndim == 1 else scores)
    return scores


def _limits(x, y, single):
    top = max(float(y.max()), single or 0.0)
    return max(float(x.max()), np.finfo(np.float32).tiny), 1.25 * top


def _band(p, n_classes, right, top):
    grid = np.linspace(0, right, 200)
    lower, upper = feasible_temperatures(grid, p, n_classes)
    return grid, np.minimum(lower, 2 * top), np.minimum(upper, 2 * top)


def _draw_band(ax, band, p, position):
    grid, lower, upper = band
    label = f"can give confidence {p:g}"
    if np.array_equal(lower, upper):  # two classes: the band is a line
        dashes = ("-.", (0, (1, 1)))[position % 2]
        return ax.plot(grid, lower, color="0.45", linestyle=dashes, label=label)[0]
    return ax.fill_between(
        grid,
        lower,
        upper,
        facecolor=COLOURS[1 + position % (len(COLOURS) - 1)],
        alpha=0.18,
        hatch=_HATCHES[position % len(_HATCHES)],
        edgecolor="0.5",
        linewidth=0,
        label=label,
    )


def _draw_margins(ax, margins):
    strip, _ = strip_below(ax)
    counts, edges = np.histogram(margins, bins=60)
    strip.stairs(counts, edges, fill=True, color=COLOURS[0], alpha=0.35)
    strip.set(xlabel=_X_LABEL, ylabel="Samples")
    strip.set_ylim(bottom=0)
    return strip
