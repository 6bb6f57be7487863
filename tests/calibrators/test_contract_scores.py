"""Contract: which scores are accepted, in which form, and what is refused."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning

from .contract import (
    can_be_fitted_to_one_row,
    has_curves,
    has_prior_counts,
    ignores_scale,
    is_one_vs_rest,
    make_scores,
    most_classes,
    refit_proba,
    tolerance,
)

SCORES, Y = make_scores()
LOG_ODDS = make_scores(n_classes=2)[0][:, 1] - make_scores(n_classes=2)[0][:, 0]
Y_BINARY = make_scores(n_classes=2)[1]
Z4, Y4 = np.array([[6.0, 0.0]] * 4), np.array([0, 0, 0, 1])

METHODS = ("predict", "predict_proba", "predict_log_proba", "transform")


def as_frame(scores, **options):
    pandas = pytest.importorskip("pandas", reason="needs the 'pandas' extra")
    return pandas.DataFrame(scores, **options)


def assert_distribution(probabilities, n, n_classes):
    assert probabilities.shape == (n, n_classes)
    assert np.isfinite(probabilities).all()
    assert (probabilities >= 0).all()
    eps = np.finfo(probabilities.dtype).eps
    total = probabilities.sum(axis=1, dtype=np.float64)
    assert_allclose(total, 1, atol=4 * eps * max(1, np.log2(n_classes)))


def test_forms_of_binary_log_odds_agree(calibrator):
    two = np.stack([np.zeros_like(LOG_ODDS), LOG_ODDS], axis=1)
    expected = refit_proba(calibrator, two, Y_BINARY)
    for form in (LOG_ODDS, LOG_ODDS[:, None], LOG_ODDS.tolist()):
        assert_allclose(refit_proba(calibrator, form, Y_BINARY), expected, rtol=1e-12)


def test_binary_logits_count_by_their_difference(calibrator):
    shifted = np.stack([np.full_like(LOG_ODDS, 5.0), LOG_ODDS + 5.0], axis=1)
    expected = refit_proba(calibrator, LOG_ODDS, Y_BINARY)
    assert_allclose(
        refit_proba(calibrator, shifted, Y_BINARY), expected, atol=tolerance(calibrator)
    )


def test_forms_of_binary_probabilities_agree(calibrator):
    p = softmax(np.stack([np.zeros_like(LOG_ODDS), LOG_ODDS], axis=1), axis=1)
    expected = refit_proba(calibrator, p, Y_BINARY, input="probabilities")
    for form in (p[:, 1], p[:, 1:]):
        got = refit_proba(calibrator, form, Y_BINARY, input="probabilities")
        assert_allclose(got, expected, atol=tolerance(calibrator))


# The others map the numbers as they are given.
@pytest.mark.holds_for(lambda calibrator: not is_one_vs_rest(calibrator))
def test_probabilities_are_their_logarithms(calibrator):
    p = softmax(SCORES, axis=1)
    by_probability = refit_proba(calibrator, p, Y, input="probabilities")
    by_logarithm = refit_proba(calibrator, np.log(p), Y)
    assert_allclose(by_probability, by_logarithm, atol=tolerance(calibrator))


@pytest.mark.parametrize(
    "convert",
    [
        as_frame,
        np.asfortranarray,
        lambda a: np.repeat(a, 2, axis=0)[::2],
        lambda a: np.repeat(a, 2, axis=1)[:, ::2],
        lambda a: a.astype(">f8"),
        lambda a: a.astype(object),
        np.ndarray.tolist,
    ],
    ids=["frame", "fortran", "rows", "columns", "big-endian", "object", "list"],
)
def test_container_and_layout_do_not_matter(calibrator, convert):
    expected = refit_proba(calibrator, SCORES, Y)
    got = refit_proba(calibrator, convert(SCORES), Y)
    assert got.dtype == np.float64
    assert_allclose(got, expected, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_arguments_are_neither_changed_nor_kept(calibrator, dtype):
    scores, y = make_scores(dtype=dtype)
    weight = np.linspace(0, 2, len(y))
    originals = [array.copy() for array in (scores, y, weight)]
    for array in (scores, y, weight):
        array.setflags(write=False)
    calibrator.fit(scores, y, sample_weight=weight)
    for method in METHODS:
        result = getattr(calibrator, method)(scores)
        assert not np.shares_memory(result, scores)
        result[:1] = result[1:2]
    for array, original in zip((scores, y, weight), originals, strict=True):
        assert_array_equal(array, original)
    for value in vars(calibrator).values():
        if isinstance(value, np.ndarray):
            assert not np.shares_memory(value, scores)
            assert not np.shares_memory(value, y)


@pytest.mark.parametrize(
    ("given", "returned"),
    [
        (np.float64, np.float64),
        (np.float32, np.float32),
        (np.float16, np.float64),
        (np.int64, np.float64),
        (np.int8, np.float64),
    ],
)
def test_dtype_policy(calibrator, given, returned):
    scores = np.rint(SCORES).astype(given)
    calibrator.fit(scores, Y)
    for method in METHODS[1:]:
        assert getattr(calibrator, method)(scores).dtype == returned
    wide = refit_proba(calibrator, np.rint(SCORES), Y)
    atol = max(5e-4, tolerance(calibrator)) if returned == np.float32 else 1e-12
    assert_allclose(calibrator.predict_proba(scores), wide, atol=atol)


@pytest.mark.parametrize("given", [np.float32, np.float16])
def test_dtype_policy_of_probabilities(calibrator, given):
    p = softmax(SCORES, axis=1).astype(given)
    calibrator.set_params(input="probabilities").fit(p, Y)
    probabilities = calibrator.predict_proba(p)
    assert probabilities.dtype == (np.float32 if given == np.float32 else np.float64)
    assert_distribution(probabilities, *p.shape)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_classes", [2, 3, 10, 100, 1000])
def test_number_of_classes(calibrator, n_classes, dtype):
    n_classes = min(n_classes, most_classes(calibrator))
    scores, y = make_scores(n=60, n_classes=n_classes, dtype=dtype, scale=2.0)
    calibrator.set_params(classes=n_classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        calibrator.fit(scores, y)
    assert_distribution(calibrator.predict_proba(scores), 60, n_classes)
    assert calibrator.transform(scores).shape == (60, n_classes)
    assert calibrator.n_features_in_ == n_classes


@pytest.mark.holds_for(can_be_fitted_to_one_row)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("label", [0, 1])
def test_one_sample(calibrator, n_classes, label):
    scores = np.array([[3.0, *[0.0] * (n_classes - 1)]])
    calibrator.set_params(classes=n_classes).fit(scores, [label])
    new = make_scores(n=7, n_classes=n_classes)[0]
    for given in (scores, new):
        assert_distribution(calibrator.predict_proba(given), len(given), n_classes)
        assert np.isfinite(calibrator.transform(given)).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_few_samples(calibrator, n):
    scores, y = make_scores(n=n, n_classes=3)
    calibrator.set_params(classes=3).fit(scores, y)
    new = make_scores(n=50, seed=1)[0]
    assert_distribution(calibrator.predict_proba(new), 50, 3)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_classes", [2, 3, 8, 1000])
def test_scores_all_zero_are_one_over_the_classes(calibrator, n_classes, dtype):
    n_classes = min(n_classes, most_classes(calibrator))
    n = 2 * n_classes  # a balanced y, so that one-vs-rest has nothing to say either
    scores, y = np.zeros((n, n_classes), dtype=dtype), np.arange(n) % n_classes
    probabilities = refit_proba(calibrator, scores, y)
    if has_prior_counts(calibrator):
        assert_allclose(probabilities, 1 / n_classes, atol=3 / n)
    elif is_one_vs_rest(calibrator) or has_curves(calibrator):
        eps = np.finfo(dtype).eps
        assert_allclose(probabilities, 1 / n_classes, rtol=1000 * eps)
    else:
        assert_array_equal(probabilities, np.full_like(scores, 1 / n_classes))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("row", [[5.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.1, 0.2, 0.3]])
def test_equal_rows(calibrator, row):
    y = np.array([0, 1, 2, 0, 1, 0, 2, 0])
    calibrator.fit([row] * 8, y)
    probabilities = calibrator.predict_proba([row] * 3)
    assert_distribution(probabilities, 3, 3)
    assert_array_equal(probabilities[0], probabilities[1])
    assert_distribution(calibrator.predict_proba(SCORES), len(SCORES), 3)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_classes", [2, 5])
def test_rows_tied_at_the_top(calibrator, n_classes):
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 3, size=(80, n_classes)).astype(float)
    calibrator.set_params(classes=n_classes)
    calibrator.fit(scores, rng.integers(n_classes, size=80))
    probabilities = calibrator.predict_proba(scores)
    assert_distribution(probabilities, 80, n_classes)
    assert_array_equal(calibrator.predict(scores), probabilities.argmax(axis=1))
    if calibrator.preserves_prediction:
        assert_array_equal(calibrator.predict(scores), scores.argmax(axis=1))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scores_without_any_error(calibrator):
    scores, y = make_scores()
    scores[np.arange(len(y)), y] = scores.max(axis=1) + 1
    calibrator.fit(scores, y)
    assert_distribution(calibrator.predict_proba(scores), *scores.shape)
    assert_distribution(calibrator.predict_proba(SCORES), *SCORES.shape)
    assert np.isfinite(calibrator.transform(1e6 * SCORES)).all()


# The others measure in logits by their definition.
@pytest.mark.holds_for(ignores_scale)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e3, 1e6, 1e12])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_scale_of_scores_does_not_matter(calibrator, scale, dtype):
    atol = max(tolerance(calibrator), 0 if dtype == np.float64 else 5e-4)
    for scores, y in ((Z4, Y4), (SCORES, Y)):
        expected = refit_proba(calibrator, scores.astype(dtype), y)
        scaled = refit_proba(calibrator, (scale * scores).astype(dtype), y)
        assert_allclose(scaled, expected, atol=atol)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("scale", "dtype"),
    [(1e-30, "f4"), (1e30, "f4"), (1e36, "f4"), (1e100, "f8"), (1e-100, "f8")],
)
def test_scores_near_the_limits_of_the_dtype(calibrator, scale, dtype):
    scores = (scale * SCORES).astype(dtype)
    probabilities = refit_proba(calibrator, scores, Y)
    assert_distribution(probabilities, *scores.shape)
    if ignores_scale(calibrator):
        expected = refit_proba(calibrator, SCORES.astype(dtype), Y)
        # Scaled scores round differently in their seventh digit.
        atol = max(5e-4, tolerance(calibrator))
        assert_allclose(probabilities, expected, atol=atol)


@pytest.mark.parametrize(
    ("scale", "dtype"), [(1e154, "f8"), (1e-152, "f8"), (1e-35, "f4")]
)
def test_scores_beyond_the_limits_are_refused(calibrator, scale, dtype):
    with pytest.raises(ValueError, match="Rescale them"):
        refit_proba(calibrator, (scale * SCORES).astype(dtype), Y)


# The others map the columns one by one.
@pytest.mark.holds_for(lambda calibrator: not is_one_vs_rest(calibrator))
@pytest.mark.parametrize("shift", [1e4, -1e4])
@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_shift_of_rows_does_not_matter(calibrator, shift, scale):
    each = shift * np.linspace(-1, 1, len(Y))[:, None]
    expected = refit_proba(calibrator, scale * SCORES, Y)
    for constant in (shift, each):
        shifted = refit_proba(calibrator, scale * SCORES + constant, Y)
        assert_allclose(shifted, expected, atol=tolerance(calibrator))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_order_of_rows_does_not_matter(calibrator, dtype):
    scores, y = SCORES.astype(dtype), Y
    order = np.random.default_rng(1).permutation(len(y))
    expected = refit_proba(calibrator, scores, y)
    permuted = refit_proba(calibrator, scores[order], y[order], at=scores)
    assert_allclose(permuted, expected, atol=tolerance(calibrator))


def test_rows_are_mapped_one_by_one(calibrator):
    calibrator.fit(SCORES, Y)
    for method in METHODS[1:]:
        together = getattr(calibrator, method)(SCORES)
        alone = [getattr(calibrator, method)(row[None])[0] for row in SCORES[:20]]
        assert_allclose(alone, together[:20], rtol=1e-12)


def test_order_of_classes_does_not_matter(calibrator):
    order = np.array([2, 0, 1])
    expected = refit_proba(calibrator, SCORES, Y)
    permuted = refit_proba(calibrator, SCORES[:, order], Y, classes=order)
    assert_allclose(permuted, expected[:, order], atol=tolerance(calibrator))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("declared", ["logits", "probabilities"])
def test_scores_must_be_finite(calibrator, bad, declared):
    calibrator.set_params(input=declared)
    p = softmax(SCORES, axis=1) if declared == "probabilities" else SCORES
    broken = p.copy()
    broken[3, 1] = bad
    with pytest.raises(ValueError, match=r"scores contains (NaN|infinity)"):
        calibrator.fit(broken, Y)
    calibrator.fit(p, Y)
    for method in METHODS:
        with pytest.raises(ValueError, match=r"scores contains (NaN|infinity)"):
            getattr(calibrator, method)(broken)


@pytest.mark.parametrize("empty", [np.empty((0, 3)), np.empty(0), np.empty((5, 0))])
def test_empty_scores_are_refused(calibrator, empty):
    with pytest.raises(ValueError, match=r"0 (sample|feature)"):
        calibrator.fit(empty, np.empty(len(empty), dtype=int))
    calibrator.fit(SCORES, Y)
    with pytest.raises(ValueError, match=r"0 (sample|feature)"):
        calibrator.predict_proba(empty)


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (np.zeros((6, 3, 1)), ValueError),
        (np.array(5.0), (ValueError, TypeError)),
        (np.array([["a", "b"]] * 6), ValueError),
        (np.ones((6, 2), dtype=complex), ValueError),
        (sparse.csr_matrix(np.eye(6)[:, :2]), TypeError),
        (None, ValueError),
    ],
    ids=["3-D", "0-D", "strings", "complex", "sparse", "None"],
)
def test_other_kinds_of_scores_are_refused(calibrator, bad, error):
    with pytest.raises(error):
        calibrator.fit(bad, [0, 1, 0, 1, 0, 1])


def test_number_of_columns_must_be_that_of_fit(calibrator):
    calibrator.fit(SCORES, Y)
    for wrong in (SCORES[:, :2], np.hstack([SCORES, SCORES]), SCORES[:, 0]):
        for method in METHODS:
            with pytest.raises(ValueError, match=r"columns|features"):
                getattr(calibrator, method)(wrong)


def test_one_vs_one_scores_are_refused(calibrator):
    y = np.arange(60) % 4
    one_vs_one = np.random.default_rng(0).normal(size=(60, 6))
    with pytest.raises(ValueError, match="classes"):
        calibrator.fit(one_vs_one, y)


@pytest.mark.parametrize(
    "bad",
    [
        SCORES,
        np.full((len(Y), 3), 0.5),
        softmax(SCORES, axis=1) * [1, 1, -1],
        LOG_ODDS,
    ],
    ids=["logits", "sum-1.5", "negative", "log-odds"],
)
def test_what_is_no_probability_is_refused(calibrator, bad):
    calibrator.set_params(input="probabilities")
    with pytest.raises(ValueError, match="input='probabilities'"):
        calibrator.fit(bad, Y if bad.ndim == 2 else Y_BINARY)


def test_probabilities_rounded_by_half_precision_are_accepted(calibrator):
    p = softmax(make_scores(n_classes=10)[0], axis=1).astype(np.float16)
    y = make_scores(n_classes=10)[1]
    probabilities = refit_proba(calibrator, p, y, input="probabilities")
    assert_distribution(probabilities, len(y), 10)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_probabilities_of_exactly_zero_and_one(calibrator, dtype):
    p = np.eye(3, dtype=dtype)[[0, 1, 2, 0, 1, 2, 0, 0]]
    p[-1] = [0.5, 0.5, 0]
    y = [0, 1, 2, 1, 1, 2, 0, 1]
    calibrator.set_params(input="probabilities").fit(p, y)
    for method in METHODS[1:]:
        values = getattr(calibrator, method)(p)
        assert not np.isnan(values).any()
    assert_distribution(calibrator.predict_proba(p), 8, 3)
    assert np.isfinite(calibrator.transform(p)).all()
    alone = calibrator.predict_proba(p[:1])
    assert_allclose(alone, calibrator.predict_proba(p)[:1], rtol=1e-6)


def test_one_row_that_is_no_distribution_changes_no_other(calibrator):
    p = softmax(SCORES, axis=1)
    calibrator.set_params(input="probabilities").fit(p, Y)
    expected = calibrator.predict_proba(p)
    off = p.copy()
    off[0] *= 1.001
    assert_allclose(calibrator.predict_proba(off)[1:], expected[1:], rtol=1e-12)


def test_rows_on_the_simplex_under_logits_warn(calibrator):
    p = softmax(SCORES, axis=1)
    with pytest.warns(UserWarning, match="input='probabilities'"):
        calibrator.fit(p, Y)
    with pytest.warns(UserWarning, match="input='probabilities'"):
        calibrator.predict_proba(p)


def test_names_of_columns(calibrator):
    frame = as_frame(SCORES, columns=["a", "b", "c"])
    calibrator.fit(frame, Y)
    assert_array_equal(calibrator.feature_names_in_, ["a", "b", "c"])
    calibrator.predict_proba(frame)
    for method in METHODS:
        with pytest.raises(ValueError, match="feature names"):
            getattr(calibrator, method)(frame[["b", "a", "c"]])
        with pytest.raises(ValueError, match="feature names"):
            getattr(calibrator, method)(frame.rename(columns={"a": "z"}))
    with pytest.warns(UserWarning, match="valid feature names"):
        calibrator.predict_proba(SCORES)
    calibrator.fit(SCORES, Y)
    assert not hasattr(calibrator, "feature_names_in_")
