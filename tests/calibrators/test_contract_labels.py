"""Contract: labels of every kind, and the classes that name the columns."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from .contract import make_scores, refit_proba

# Most containers of labels are of pandas.
pd = pytest.importorskip("pandas", reason="needs the 'pandas' extra")

SCORES, Y = make_scores()
BINARY_SCORES, Y_BINARY = make_scores(n_classes=2)

# Names of classes 0, 1, 2, sorted as numpy sorts them.
MULTICLASS = {
    "from-one": [1, 2, 3],
    "tens": [10, 20, 30],
    "negative": [-7, 0, 2],
    "int8": np.array([-1, 0, 1], dtype=np.int8),
    "uint64": np.array([1, 2, 2**60], dtype=np.uint64),
    "whole-floats": [0.0, 1.0, 5.0],
    "strings": ["ant", "bee", "cow"],
    "objects": np.array(["ant", "bee", "cow"], dtype=object),
    "bytes-like-words": ["10", "2", "a"],
}
BINARY = {
    "five-seven": [5, 7],
    "minus-plus": [-1, 1],
    "one-two": [1, 2],
    "bools": [False, True],
    "strings": ["no", "yes"],
}


def check_names(calibrator, scores, y, names):
    names = np.asarray(names)
    calibrator.fit(scores, names[y])
    assert_array_equal(calibrator.classes_, names)
    expected = refit_proba(calibrator, scores, y)
    probabilities = calibrator.predict_proba(scores)
    assert_allclose(probabilities, expected, rtol=1e-12)
    predicted = calibrator.predict(scores)
    assert_array_equal(predicted, names[probabilities.argmax(axis=1)])
    if names.dtype != object:
        assert predicted.dtype == names.dtype


@pytest.mark.parametrize("kind", MULTICLASS)
def test_names_of_classes(calibrator, kind):
    check_names(calibrator, SCORES, Y, MULTICLASS[kind])


@pytest.mark.parametrize("kind", BINARY)
def test_names_of_two_classes(calibrator, kind):
    check_names(calibrator, BINARY_SCORES, Y_BINARY, BINARY[kind])


WORDS = np.array(["ant", "bee", "cow"])


@pytest.mark.parametrize(
    "convert",
    [
        lambda y: y.tolist(),
        lambda y: y[:, None],
        lambda y: pd.Series(y, index=np.arange(len(y)) + 1000),
        lambda y: pd.Series(y, index=[f"row {i}" for i in range(len(y))]),
        lambda y: pd.DataFrame({"label": y}),
        lambda y: pd.Series(y, dtype="Int64"),
        lambda y: pd.array(y, dtype="Int32"),
        lambda y: pd.Series(y, dtype="Float64"),
        lambda y: pd.Series(y, dtype="category"),
        lambda y: pd.Categorical(y, categories=[2, 0, 1]),
        lambda y: pd.Categorical(y, categories=[0, 1, 2, 3]),
        lambda y: y.astype(object),
        lambda y: y.astype(np.float32),
        lambda y: WORDS[y],
        lambda y: pd.Series(WORDS[y], dtype="string"),
        lambda y: pd.Series(WORDS[y], dtype="category"),
        lambda y: pd.Series(WORDS[y], dtype=object),
    ],
    ids=[
        "list",
        "column",
        "series-index",
        "series-words",
        "frame",
        "Int64",
        "Int32",
        "Float64",
        "category",
        "reordered-categories",
        "unused-category",
        "object",
        "float32",
        "strings",
        "string-dtype",
        "string-category",
        "object-strings",
    ],
)
def test_containers_of_labels(calibrator, convert):
    expected = refit_proba(calibrator, SCORES, Y)
    calibrator.fit(SCORES, convert(Y))
    assert_allclose(calibrator.predict_proba(SCORES), expected, rtol=1e-12)
    found = calibrator.classes_.tolist()
    assert found in ([0, 1, 2], ["ant", "bee", "cow"])


def test_nullable_bools(calibrator):
    y = pd.Series(Y_BINARY.astype(bool), dtype="boolean")
    calibrator.fit(BINARY_SCORES, y)
    assert calibrator.classes_.tolist() == [False, True]
    assert calibrator.predict(BINARY_SCORES).dtype == bool


def test_classes_by_number(calibrator):
    expected = refit_proba(calibrator, SCORES, Y)
    for number in (3, np.int64(3)):
        calibrator.set_params(classes=number).fit(SCORES, Y)
        assert_array_equal(calibrator.classes_, [0, 1, 2])
        assert_allclose(calibrator.predict_proba(SCORES), expected, rtol=1e-12)


@pytest.mark.parametrize("names", [["cow", "ant", "bee"], [30, 10, 20], [2, 0, 1]])
def test_classes_in_the_order_of_the_columns(calibrator, names):
    names = np.array(names)
    expected = refit_proba(calibrator, SCORES, Y)
    calibrator.set_params(classes=names.tolist()).fit(SCORES, names[Y])
    assert_array_equal(calibrator.classes_, names)
    probabilities = calibrator.predict_proba(SCORES)
    assert_allclose(probabilities, expected, rtol=1e-12)
    assert_array_equal(calibrator.predict(SCORES), names[probabilities.argmax(axis=1)])
    assert calibrator.get_feature_names_out().tolist() == [str(name) for name in names]


def test_unsorted_classes_of_log_odds(calibrator):
    # The log-odds are those of the second class as named.
    log_odds = BINARY_SCORES[:, 1] - BINARY_SCORES[:, 0]
    names = np.array(["yes", "no"])
    calibrator.set_params(classes=names).fit(log_odds, names[Y_BINARY])
    probabilities = calibrator.predict_proba(log_odds)
    expected = refit_proba(calibrator, log_odds, Y_BINARY, classes=None)
    assert_allclose(probabilities, expected, rtol=1e-12)


@pytest.mark.parametrize("absent", [0, 1, 2])
def test_a_class_that_y_lacks_keeps_its_column(calibrator, absent):
    kept = absent != Y
    names = np.array(["ant", "bee", "cow"])
    calibrator.set_params(classes=names).fit(SCORES[kept], names[Y[kept]])
    assert_array_equal(calibrator.classes_, names)
    for method in ("predict_proba", "transform"):
        values = getattr(calibrator, method)(SCORES)
        assert values.shape == SCORES.shape
        assert np.isfinite(values).all()
    assert_allclose(calibrator.predict_proba(SCORES).sum(axis=1), 1.0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_y_of_one_class(calibrator):
    calibrator.set_params(classes=3).fit(SCORES[Y == 1], Y[Y == 1])
    probabilities = calibrator.predict_proba(SCORES)
    assert np.isfinite(probabilities).all()
    assert_allclose(probabilities.sum(axis=1), 1.0)


def test_more_columns_than_labels_need_classes(calibrator):
    with pytest.raises(ValueError, match="`classes`"):
        calibrator.fit(SCORES[Y < 2], Y[Y < 2])
    with pytest.raises(ValueError, match="`classes`"):
        calibrator.fit(SCORES[:, :2], Y)
    with pytest.raises(ValueError, match="`classes`"):
        calibrator.fit(SCORES[:, 0], Y)


def test_unknown_labels_are_named(calibrator):
    calibrator.set_params(classes=[0, 1, 7])
    with pytest.raises(ValueError, match=r"\[2\]"):
        calibrator.fit(SCORES, Y)
    calibrator.set_params(classes=["ant", "bee", "dog"])
    with pytest.raises(ValueError, match="cow"):
        calibrator.fit(SCORES, WORDS[Y])
    with pytest.raises(ValueError, match="int64"):
        calibrator.fit(SCORES, Y)


@pytest.mark.parametrize(
    "bad", [2, 4, [0, 1], [0, 1, 2, 3], [0, 1, 1], [0.5, 1.5, 2.5], [[0, 1, 2]], "abc"]
)
def test_classes_must_name_the_columns(calibrator, bad):
    with pytest.raises(ValueError, match="classes"):
        calibrator.set_params(classes=bad).fit(SCORES, Y)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.eye(3)[Y], "one-hot"),
        (np.eye(3, dtype=int)[Y], "one-hot"),
        (np.linspace(0, 1, len(Y)), "continuous"),
        (np.where(Y == 0, np.nan, Y), "NaN"),
        (np.where(Y == 0, None, Y), "missing"),
        (np.where(Y == 0, "ant", Y.astype(object)), "different types"),
        (pd.Series(np.where(Y == 0, pd.NA, Y), dtype="Int64"), "missing|NaN"),
        (Y[:-1], "inconsistent"),
        (np.append(Y, 0), "inconsistent"),
        (None, "y"),
        (np.zeros((len(Y), 1, 2)), "shape"),
    ],
    ids=[
        "one-hot",
        "one-hot-int",
        "continuous",
        "nan",
        "None-inside",
        "mixed",
        "NA-inside",
        "short",
        "long",
        "None",
        "3-D",
    ],
)
def test_what_is_no_label_is_refused(calibrator, bad, message):
    with pytest.raises(ValueError, match=message):
        calibrator.fit(SCORES, bad)


def test_no_labels_are_refused(calibrator):
    with pytest.raises(ValueError, match=r"inconsistent|0 sample|distinct"):
        calibrator.fit(SCORES, [])


def test_classes_given_equal_classes_found(calibrator):
    found = refit_proba(calibrator, SCORES, WORDS[Y])
    given = refit_proba(calibrator, SCORES, WORDS[Y], classes=WORDS)
    as_objects = refit_proba(calibrator, SCORES, WORDS[Y], classes=WORDS.astype(object))
    as_series = refit_proba(calibrator, SCORES, WORDS[Y], classes=pd.Series(WORDS))
    for probabilities in (given, as_objects, as_series):
        assert_allclose(probabilities, found, rtol=1e-12)
