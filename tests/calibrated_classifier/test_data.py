"""Kinds of data and labels that CalibratedClassifierCV takes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils import get_tags

from sklearn_smart import CalibratedClassifierCV

from .stand_ins import ENSEMBLE, make_data


def test_sparse_data_frames_and_lists():
    X, y = make_data()
    settings = {"method": "sigmoid", "cv": 3}
    expected = CalibratedClassifierCV(LogisticRegression(), **settings).fit(X, y)
    expected = expected.predict_proba(X)
    for container in (
        sparse.csr_matrix,
        sparse.csc_array,
        sparse.coo_matrix,
        np.ndarray.tolist,
    ):
        given = container(X)
        calibrated = CalibratedClassifierCV(LogisticRegression(), **settings)
        calibrated.fit(given, y.tolist())
        assert_allclose(calibrated.predict_proba(given), expected, atol=1e-5)


@ENSEMBLE
def test_matrix_of_pairs(ensemble):
    """A precomputed kernel: folds take its columns too."""
    X, y = make_data()
    X = StandardScaler().fit_transform(X)
    settings = {"method": "sigmoid", "cv": 3, "ensemble": ensemble}
    linear = CalibratedClassifierCV(SVC(kernel="linear"), **settings).fit(X, y)
    kernel = CalibratedClassifierCV(SVC(kernel="precomputed"), **settings)
    kernel.fit(X @ X.T, y)
    assert get_tags(kernel).input_tags.pairwise
    assert kernel.n_features_in_ == len(X)
    at = X[:20] + 0.1
    assert_allclose(kernel.predict_proba(at @ X.T), linear.predict_proba(at), atol=1e-6)
    assert cross_val_score(kernel, X @ X.T, y, cv=2).mean() > 0.4


@pytest.mark.parametrize(
    "base",
    [
        HistGradientBoostingClassifier(),
        LogisticRegression(),
        SVC(kernel="precomputed"),
        make_pipeline(StandardScaler(), GaussianNB()),
    ],
    ids=lambda base: type(base).__name__,
)
def test_tags_mirror_the_base(base):
    ours, theirs = get_tags(CalibratedClassifierCV(base)), get_tags(base)
    assert ours.input_tags == theirs.input_tags
    assert ours.classifier_tags.multi_class == theirs.classifier_tags.multi_class
    assert not ours.classifier_tags.multi_label
    assert ours.target_tags.required


def test_missing_values_where_the_base_accepts_them():
    X, y = make_data()
    X[::7, 0] = np.nan
    base = HistGradientBoostingClassifier(max_iter=5)
    assert get_tags(CalibratedClassifierCV(base)).input_tags.allow_nan
    calibrated = CalibratedClassifierCV(base, method="sigmoid", cv=2).fit(X, y)
    assert np.isfinite(calibrated.predict_proba(X)).all()


@pytest.mark.parametrize("ensemble", [True, False])
@pytest.mark.parametrize(
    "labels", [[5, 7, 9], [-1, 0, 1], ["b", "c", "d"], [0.0, 1.0, 2.0]], ids=str
)
def test_labels(labels, ensemble):
    X, y = make_data()
    settings = {"method": "temperature", "cv": 3, "ensemble": ensemble}
    expected = CalibratedClassifierCV(LogisticRegression(), **settings).fit(X, y)
    named = np.array(labels)[y]
    calibrated = CalibratedClassifierCV(LogisticRegression(), **settings).fit(X, named)
    assert_allclose(calibrated.predict_proba(X), expected.predict_proba(X), atol=1e-9)
    assert_array_equal(calibrated.classes_, labels)
    assert_array_equal(calibrated.predict(X), np.array(labels)[expected.predict(X)])
    assert calibrated.classes_.dtype == named.dtype
    as_objects = calibrated.fit(X, named.astype(object))
    if named.dtype.kind == "U":
        assert as_objects.classes_.dtype == object


@pytest.mark.parametrize("dtype", ["category", "Int64", "string", "bool", "boolean"])
def test_labels_of_pandas(dtype):
    pd = pytest.importorskip("pandas")
    X, y = make_data(n_classes=2)
    settings = {"method": "sigmoid", "cv": 3}
    expected = CalibratedClassifierCV(LogisticRegression(), **settings).fit(X, y)
    column = pd.Series(y.astype(str) if dtype == "string" else y).astype(dtype)
    column.index = column.index + 7
    calibrated = CalibratedClassifierCV(LogisticRegression(), **settings)
    calibrated.fit(X, column)
    assert_allclose(calibrated.predict_proba(X), expected.predict_proba(X), atol=1e-12)
    assert calibrated.predict(X[:5]).tolist() == [
        np.unique(np.asarray(column)).tolist()[k] for k in expected.predict(X[:5])
    ]


def test_column_vector():
    X, y = make_data()
    calibrated = CalibratedClassifierCV(GaussianNB(), method="sigmoid")
    expected = clone(calibrated).fit(X, y).predict_proba(X)
    with pytest.warns(DataConversionWarning, match="column-vector"):
        calibrated.fit(X, y[:, None])
    assert_array_equal(calibrated.predict_proba(X), expected)
