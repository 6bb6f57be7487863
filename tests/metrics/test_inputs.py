"""What every metric does with its input, over one list of metrics."""

import numpy as np
import pytest

from sklearn_smart import metrics

pd = pytest.importorskip("pandas", reason="needs the 'pandas' extra")

METRICS = [
    metrics.brier_decomposition,
    metrics.brier_score,
    metrics.confidence_accuracy_gap,
    metrics.expected_calibration_error,
    metrics.kde_calibration_error,
    metrics.log_loss,
    metrics.smooth_calibration_error,
    metrics.soft_calibration_error,
    metrics.spiegelhalter_test,
    metrics.sweep_calibration_error,
]
PROB = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.2, 0.2, 0.6], [0.5, 0.2, 0.3]])
CODES = np.array([0, 1, 2, 1])
BINARY = np.array([0.2, 0.7, 0.4, 0.9])
BINARY_CODES = np.array([0, 1, 1, 1])


@pytest.fixture(params=METRICS, ids=lambda metric: metric.__name__)
def metric(request):
    return request.param


MULTICLASS_LABELS = [
    np.array([1, 2, 3]),
    np.array([10, 20, 30]),
    np.array([-5, 0, 10**12]),
    np.array([0.0, 1.0, 2.0]),
    np.array(["a", "b", "c"]),
    np.array(["a", "bb", "ccc"], dtype=object),
    np.array([0, 1, 2], dtype=np.uint8),
    np.array([-128, 0, 127], dtype=np.int8),
]


@pytest.mark.parametrize("labels", MULTICLASS_LABELS, ids=str)
def test_labels_of_any_type(metric, labels):
    expected = metric(CODES, PROB)
    y = labels[CODES]
    assert metric(y, PROB) == pytest.approx(expected, abs=1e-12)
    assert metric(y[:, None], PROB) == pytest.approx(expected, abs=1e-12)
    assert metric(y.tolist(), PROB.tolist(), labels=labels.tolist()) == pytest.approx(
        expected, abs=1e-12
    )
    index = [3, 7, 9, 11]
    assert metric(
        pd.Series(y, index=index), pd.DataFrame(PROB, index=index)
    ) == pytest.approx(expected, abs=1e-12)
    # The order of labels is the order of the columns.
    turned = metric(y, PROB[:, ::-1], labels=labels[::-1])
    assert turned == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    "y",
    [
        pd.Series(pd.Categorical(["x", "y", "z", "y"])),
        pd.Series(["x", "y", "z", "y"], dtype="string"),
        pd.Series([4, 5, 6, 5], dtype="Int64"),
        pd.Series([4, 5, 6, 5], dtype="Float64"),
        pd.Series([4, 5, 6, 5], dtype="category"),
    ],
    ids=lambda y: str(y.dtype),
)
def test_pandas_labels(metric, y):
    assert metric(y, PROB) == pytest.approx(metric(CODES, PROB), abs=1e-12)


@pytest.mark.parametrize(
    "labels",
    [[5, 7], [-1, 1], [1, 2], [False, True], ["no", "yes"], [0.0, 1.0]],
    ids=str,
)
@pytest.mark.parametrize("n_columns", [0, 1, 2])
def test_binary_labels_and_shapes(metric, labels, n_columns):
    prob = [BINARY, BINARY[:, None], np.column_stack([1 - BINARY, BINARY])][n_columns]
    y = np.array(labels)[BINARY_CODES]
    expected = metric(BINARY_CODES, BINARY)
    assert metric(y, prob) == pytest.approx(expected, abs=1e-12)
    assert metric(y, prob, labels=labels) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("dtype", ["boolean", "bool"])
def test_boolean_series(metric, dtype):
    y = pd.Series(BINARY_CODES == 1, dtype=dtype)
    assert metric(y, BINARY) == metric(BINARY_CODES, BINARY)


@pytest.mark.parametrize("y", [[0, 0], [1, 1], [-1, -1], [True, True], [False, False]])
def test_one_label_of_a_usual_pair(metric, y):
    positive = int(y[0] == 1)
    expected = metric([positive] * 2, [0.3, 0.8], labels=[0, 1])
    assert metric(y, [0.3, 0.8]) == pytest.approx(expected, abs=1e-12)


def test_a_class_without_samples(metric):
    y = np.array([0, 1, 1, 1])
    assert np.isfinite(metric(y, PROB, labels=[0, 1, 2])).all()
    with pytest.raises(ValueError, match=r"2 distinct labels .* 3 classes.*labels"):
        metric(y, PROB)
    with pytest.raises(ValueError, match="labels"):
        metric(["no", "no"], [0.2, 0.3])


PROB_ERRORS = {
    "NaN": (np.where(PROB == 0.7, np.nan, PROB), "y_prob contains NaN"),
    "above 1": (PROB + np.array([0.5, 0.5, -1]), r"probabilities in \[0, 1\]"),
    "below 0": (PROB - np.array([0.15, 0, -0.15]), r"probabilities in \[0, 1\]"),
    "sum": (PROB + np.array([0.02, 0, 0]), "must sum to 1 within 0.01"),
    "3-D": (PROB[None], "must have shape"),
    "number": (0.5, "must have shape"),
    "no columns": (np.empty((4, 0)), "must have shape"),
    "strings": (np.full((4, 3), "a"), "must hold numbers"),
    "length": (PROB[:3], "same number of rows"),
}


@pytest.mark.parametrize(("y_prob", "message"), PROB_ERRORS.values(), ids=PROB_ERRORS)
def test_probability_errors(metric, y_prob, message):
    with pytest.raises(ValueError, match=message):
        metric(CODES, y_prob)


def test_rows_within_the_tolerance(metric):
    metric(CODES, PROB.astype(np.float16))
    metric(CODES, PROB.astype(np.float32))
    metric(CODES, PROB + np.array([0.009, 0, 0]))


Y_ERRORS = {
    "continuous": ([0.5, 1.2, 2.0, 1.0], "continuous"),
    "NaN": ([0, 1, 2, np.nan], "(?i)nan|missing"),
    "None": (["a", "b", "c", None], "(?i)nan|missing"),
    "NA": (pd.Series([0, 1, 2, None], dtype="Int64"), "(?i)nan|missing"),
    "one-hot": (np.eye(3)[CODES], "multilabel-indicator.*label per sample"),
    "mixed": (np.array(["a", 1, "b", 1], dtype=object), "different types"),
    "3-D": (np.zeros((4, 2, 2), int), "unknown"),
    "unknown": ([0, 1, 2, 7], r"distinct labels|not in labels: \[7\]"),
}


@pytest.mark.parametrize("given_labels", [False, True])
@pytest.mark.parametrize(("y", "message"), Y_ERRORS.values(), ids=Y_ERRORS)
def test_label_errors(metric, y, message, given_labels):
    labels = [0, 1, 2] if given_labels else None
    with pytest.raises(ValueError, match=message):
        metric(y, PROB, labels=labels)


@pytest.mark.parametrize(
    ("labels", "message"),
    [([0, 1], "each of the 3 classes"), ([0, 1, 1], "twice"), ([0, 1, 5], r"\[2\]")],
)
def test_labels_errors(metric, labels, message):
    with pytest.raises(ValueError, match=message):
        metric(CODES, PROB, labels=labels)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, -1, 1, 1], "negative"),
        ([0, 0, 0, 0], "zero for all"),
        (0, "zero for all"),
        (-1.0, "negative"),
        ([1, 1, 1, np.nan], "NaN"),
        ([1, 1, 1, np.inf], "infinity"),
        ([1, 1, 1], "sample_weight has shape"),
        (np.ones((4, 1)), "sample_weight has shape"),
        (["a"] * 4, "could not convert"),
    ],
)
def test_weight_errors(metric, weight, message):
    with pytest.raises(ValueError, match=message):
        metric(CODES, PROB, sample_weight=weight)


def test_empty(metric):
    with pytest.raises(ValueError, match="empty"):
        metric([], np.empty((0, 3)))
    with pytest.raises(ValueError, match="empty"):
        metric([], [])


def test_weight_0_is_no_row_at_all(metric):
    # Not even what stands in the row is looked at.
    y = np.append(CODES, 9)
    prob = np.vstack([PROB, [np.nan, 5, -1]])
    weight = [1, 2, 3, 1, 0]
    expected = metric(CODES, PROB, sample_weight=weight[:4])
    assert metric(y, prob, sample_weight=weight) == pytest.approx(expected, abs=1e-12)


def test_weights_are_frequencies(metric):
    weight = np.array([1, 3, 2, 1])
    repeated = metric(CODES.repeat(weight), PROB.repeat(weight, axis=0))
    assert metric(CODES, PROB, sample_weight=weight) == pytest.approx(
        repeated, abs=1e-12
    )
    if metric in (metrics.kde_calibration_error, metrics.spiegelhalter_test):
        return  # the number of samples, the sum of the weights, enters
    for same in (2.5, np.full(4, 2.5), pd.Series(np.full(4, 2.5), index=[4, 5, 6, 7])):
        assert metric(CODES, PROB, sample_weight=same) == pytest.approx(
            metric(CODES, PROB), abs=1e-12
        )


def test_one_sample(metric):
    if metric in (metrics.brier_decomposition, metrics.spiegelhalter_test):
        metric([1], [0.7], labels=[0, 1])
        return
    # A kernel compares with the places around 1 too.
    off = 1e-3 if metric is metrics.kde_calibration_error else 1e-12
    assert metric([1], [1.0], labels=[0, 1]) == pytest.approx(0, abs=off)
    assert metric([1], [[0.0, 0.0, 1.0]], labels=[2, 0, 1]) == pytest.approx(0, abs=off)


def test_inputs_are_left_alone(metric):
    y, prob, weight = CODES.copy(), PROB.copy(), np.array([1.0, 2.0, 0.0, 1.0])
    for array in (y, prob, weight):
        array.flags.writeable = False
    metric(y, prob, sample_weight=weight, labels=[0, 1, 2])
    np.testing.assert_array_equal(prob, PROB)
