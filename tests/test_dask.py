"""The work of folds on a cluster, by joblib's backend for Dask."""

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB

from sklearn_smart import (
    CalibratedClassifierCV,
    SMARTCalibrator,
    SMARTCalibratorCV,
    compare_calibrators,
)

distributed = pytest.importorskip("distributed", reason="needs the 'dask' extra")
da = pytest.importorskip("dask.array", reason="needs the 'dask' extra")

X, Y = load_wine(return_X_y=True)


@pytest.fixture(scope="module")
def cluster():
    """Two worker processes on this machine, as joblib's backend."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as machines,
        distributed.Client(machines),
    ):
        yield


def on_the_cluster(work):
    with joblib.parallel_config("dask"):
        return work(n_jobs=2)


def test_cross_fitting(cluster):
    def work(n_jobs):
        model = CalibratedClassifierCV(GaussianNB(), cv=3, n_jobs=n_jobs)
        return model.fit(X, Y).predict_proba(X)

    assert_array_equal(on_the_cluster(work), work(n_jobs=None))


def test_comparison(cluster):
    methods = ["uncalibrated", "sigmoid", "smart"]

    def work(n_jobs):
        found = compare_calibrators(
            GaussianNB(), X, Y, methods=methods, cv=3, n_jobs=n_jobs
        )
        return [found.mean(method, "log_loss") for method in methods]

    assert on_the_cluster(work) == work(n_jobs=None)


def test_grid_search(cluster):
    def work(n_jobs):
        model = CalibratedClassifierCV(GaussianNB(), method=SMARTCalibrator(), cv=2)
        grid = {"method__n_bins": [5, 15]}
        search = GridSearchCV(model, grid, cv=2, n_jobs=n_jobs, scoring="neg_log_loss")
        return search.fit(X, Y).cv_results_["mean_test_score"]

    assert_array_equal(on_the_cluster(work), work(n_jobs=None))


def test_search_of_settings(cluster):
    scores = GaussianNB().fit(X[::2], Y[::2]).predict_proba(X[1::2])

    def work(n_jobs):
        search = SMARTCalibratorCV(input="probabilities", cv=3, n_jobs=n_jobs)
        return search.fit(scores, Y[1::2]).cv_results_["mean_test_score"]

    assert_array_equal(on_the_cluster(work), work(n_jobs=None))


def test_dask_arrays_of_scores():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=300)
    scores = 4 * (np.eye(3)[y] + rng.normal(size=(300, 3)))
    calibrator = SMARTCalibrator().fit(scores, y)
    blocks = da.from_array(scores, chunks=(100, 3))
    answer = blocks.map_blocks(calibrator.predict_proba, dtype=scores.dtype)
    assert_allclose(answer.compute(), calibrator.predict_proba(scores), rtol=1e-12)
