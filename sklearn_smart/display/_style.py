"""Matplotlib on use, and a style that needs no colour to be read."""

from __future__ import annotations

# M. Okabe and K. Ito's palette for every kind of colour vision, ordered so that
# neighbours differ in lightness too; lines also differ in dashes and markers.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1, 1, 1)))
REFERENCE = {"color": "0.35", "linestyle": ":", "linewidth": 1.2, "zorder": 1}

_STRIP = "<strip>"


def require_matplotlib(caller):
    """Raise ImportError without matplotlib, before any work is done."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{caller} needs matplotlib. Install it with the extra 'plot': "
            "pip install 'sklearn-smart[plot]'."
        ) from error
    return plt


def new_axes(caller, ax=None):
    """``ax``, or new axes of a new figure. ImportError without matplotlib."""
    plt = require_matplotlib(caller)
    if ax is None:
        _, ax = plt.subplots(layout="constrained")
    return ax


def strip_below(ax):
    """Low axes under ``ax`` that share its horizontal axis: the same at each call.

    They take a part of the room of ``ax``; a second picture on ``ax`` draws into the
    ones that are there. Returns them and whether they are new.
    """
    from mpl_toolkits.axes_grid1 import make_axes_locatable

    found = existing_strip(ax)
    if found is not None:
        return found, False
    divider = make_axes_locatable(ax)
    strip = divider.new_vertical(size="26%", pad=0.12, pack_start=True, sharex=ax)
    strip.set_label(_STRIP)
    # A child, and not axes of the figure: layout engines then make room for labels.
    ax.add_child_axes(strip)
    ax.tick_params(labelbottom=False)
    ax.set_xlabel("")
    plain(strip)
    return strip, True


def existing_strip(ax):
    """The strip that :func:`strip_below` made under ``ax``, or None."""
    for child in ax.child_axes:
        if child.get_label() == _STRIP:
            return child
    return None


def plain(ax):
    """Leave out the frame lines that carry nothing."""
    ax.spines[["top", "right"]].set_visible(False)


def line_style(position):
    """Colour, dashes and marker of the line at a position of a picture."""
    return {
        "color": COLOURS[position % len(COLOURS)],
        "linestyle": DASHES[position % len(DASHES)],
        "marker": MARKERS[position % len(MARKERS)],
    }
