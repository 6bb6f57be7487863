import numpy as np
import pytest

from sklearn_smart import ConfidenceDisplay

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


Y = np.array([0, 1, 2, 0, 1, 2])
BEFORE = np.eye(3)[[0, 1, 2, 0, 1, 1]] * 0.85 + 0.05
AFTER = np.eye(3)[[0, 1, 2, 0, 1, 1]] * 0.7 + 0.1


def test_shares_and_means():
    display = ConfidenceDisplay.from_predictions(
        Y, {"before": BEFORE, "after": AFTER}, n_bins=10
    )
    top, below = display.axes_
    assert [ax.get_title() for ax in display.axes_] == ["before", "after"]
    assert [bar.get_height() for bar in top.patches[:10]] == [0] * 8 + [1, 0]
    assert [bar.get_height() for bar in below.patches[:10]] == [0] * 7 + [1, 0, 0]
    confidence, accuracy = (line.get_xdata()[0] for line in top.lines)
    assert confidence == pytest.approx(0.9)
    assert accuracy == pytest.approx(5 / 6)
    assert below.get_xlabel() == "Confidence"
    assert display.summary().splitlines() == [
        "before: mean confidence 0.900, accuracy 0.833, 0.067 too high.",
        "after: mean confidence 0.800, accuracy 0.833, 0.033 too low.",
    ]


def test_weights_and_given_axes():
    _, ax = plt.subplots()
    display = ConfidenceDisplay.from_predictions(
        Y, {"model": BEFORE}, sample_weight=[1, 1, 1, 1, 1, 0], axes=[ax]
    )
    assert display.axes_[0] is ax
    assert len(plt.get_fignums()) == 1
    assert "accuracy 1.000" in display.summary()


def test_errors():
    with pytest.raises(ValueError, match="must be a dict"):
        ConfidenceDisplay.from_predictions(Y, BEFORE)
    with pytest.raises(ValueError, match="must be a dict"):
        ConfidenceDisplay.from_predictions(Y, {})
    with pytest.raises(ValueError, match="2 axes are needed, got 1"):
        ConfidenceDisplay.from_predictions(
            Y, {"a": BEFORE, "b": AFTER}, axes=[plt.subplots()[1]]
        )
