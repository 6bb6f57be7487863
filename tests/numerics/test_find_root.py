"""The root-finder, the steps of stochastic descent, and fits of score models."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from sklearn_smart._numerics.fields import WeightedField
from sklearn_smart._numerics.losses import Potential, cross_entropy
from sklearn_smart._numerics.score_fit import LinearProblem, minimise_loss, solve_field
from sklearn_smart._numerics.score_models import LinearScores, NetworkScores
from sklearn_smart._numerics.score_objectives import (
    BatchObjective,
    FieldObjective,
    LossObjective,
)
from sklearn_smart._numerics.solvers import (
    AdamStep,
    MomentumStep,
    descend_epoch,
    find_root,
    lbfgs,
)
from sklearn_smart._numerics.uncertainty_weights import BrierWeight, CrossEntropyWeight


class Point:
    """A linear field ``A x - b``."""

    matrix = np.array([[3.0, -2.0, 0.0], [2.0, 1.0, 0.5], [0.0, -0.5, 2.0]])
    right = np.array([1.0, 2.0, 3.0])

    def __init__(self, x):
        self.value = self.matrix @ x - self.right

    def derivative(self, direction):
        return self.matrix @ direction

    def whiten(self, value):
        return value / np.array([1.0, 2.0, 3.0])

    def unwhiten(self, direction):
        return direction / np.array([1.0, 2.0, 3.0])


def test_linear_field_that_is_no_gradient():
    root = find_root(Point, np.zeros(3), tol=1e-10, max_iter=20)
    assert root.converged
    assert root.residual <= 1e-10
    assert_allclose(root.parameters, np.linalg.solve(Point.matrix, Point.right))


def test_no_root_is_said():
    class Away(Point):
        def __init__(self, x):
            self.x, self.value = x, 1 + x**2

        def derivative(self, direction):
            return 2 * self.x * direction

    root = find_root(Away, np.ones(3), tol=1e-10, max_iter=100)
    assert not root.converged
    assert root.residual >= 1


def test_steps_are_counted_and_reported():
    seen = []
    root = find_root(
        Point, np.zeros(3), tol=0.0, max_iter=2, callback=lambda *a: seen.append(a)
    )
    assert [step for step, _ in seen] == [1, 2][: len(seen)]
    assert root.n_iter == len(seen)
    assert root.residuals[1:] == [residual for _, residual in seen]


def test_lbfgs_stops_when_told():
    def fun(x):
        return float((x - 1) ** 2 @ np.array([1.0, 10.0])), 2 * (x - 1) * [1.0, 10.0]

    solution = lbfgs(
        fun, np.zeros(2), max_iter=50, tol=0.0, stop=lambda x: abs(x[0] - 1) < 0.9
    )
    assert solution.n_iter < lbfgs(fun, np.zeros(2), max_iter=50, tol=0.0).n_iter


def test_momentum_and_adam_by_hand():
    x = np.array([1.0])
    step = MomentumStep(0.1, 0.5)
    step(x, np.array([2.0]))
    step(x, np.array([1.0]))
    assert_allclose(x, 1 - 0.1 * 2 - 0.1 * (0.5 * 2 + 1))
    x = np.array([1.0, 1.0])
    adam = AdamStep(0.1)
    adam(x, np.array([3.0, -0.01]))
    assert_allclose(x, [0.9, 1.1], rtol=1e-6)  # the first step has the size of the rate
    adam(x, np.array([3.0, -0.01]))
    assert_allclose(x, [0.8, 1.2], rtol=1e-6)


def test_epoch_covers_all_rows_and_clips():
    data, x = np.arange(10.0), np.zeros(1)

    def fun(x, rows):
        return float(data[rows].mean()), np.array([data[rows].mean()])

    value, mean = descend_epoch(fun, x, np.arange(10), batch_size=3, step=None)
    assert value == 4.5
    assert_allclose(mean, 4.5)
    assert x[0] == 0
    descend_epoch(
        fun, x, np.arange(10), batch_size=5, step=MomentumStep(1.0, 0.0), max_norm=0.25
    )
    assert_allclose(x, -0.5)


def problem(n_classes, fit_intercept=True, n=80, as_sparse=False):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4)) * [1.0, 10.0, 0.1, 1.0]
    X[rng.uniform(size=X.shape) < 0.3] = 0
    y = rng.integers(n_classes, size=n)
    weight = rng.uniform(0.5, 2, size=n)
    model = LinearScores(
        sparse.csr_array(X) if as_sparse else X, n_classes, fit_intercept
    )
    return LinearProblem(model, y, weight, 0.7)


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_derivative_and_units_of_the_penalised_field(
    n_classes, fit_intercept, as_sparse
):
    given = problem(n_classes, fit_intercept, as_sparse=as_sparse)
    objective = given.objective(BrierWeight(2.0))
    rng = np.random.default_rng(1)
    x, direction, other = rng.normal(size=(3, len(given.model.penalised)))
    x *= 0.1
    h = 1e-6
    numeric = objective(x + h * direction).value - objective(x - h * direction).value
    point = objective(x)
    assert_allclose(
        point.derivative(direction), numeric / (2 * h), rtol=1e-6, atol=1e-6
    )
    # The transpose, and the inverse of the approximate derivative.
    assert_allclose(other @ point.unwhiten(direction), point.whiten(other) @ direction)
    assert_allclose(point.units.unwhiten(point.units.rewhiten(x)), x)


def test_with_two_classes_the_units_are_exact():
    given = problem(2)
    point = given.objective(BrierWeight(2.0, norm=1.0))(np.full(5, 0.01))
    direction = np.random.default_rng(1).normal(size=5)
    solved = point.derivative(point.unwhiten(direction))
    assert_allclose(point.whiten(solved), direction, rtol=1e-6)


def test_dense_and_sparse_agree_and_many_features_use_the_diagonal():
    dense, thin = problem(3), problem(3, as_sparse=True)
    settings = {"tol": 1e-9, "max_iter": 50}
    weight = BrierWeight(2.0)
    first = solve_field(dense, weight, None, **settings)
    second = solve_field(thin, weight, None, **settings)
    assert_allclose(first.parameters, second.parameters, atol=1e-10)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 600))
    wide = LinearProblem(LinearScores(X, 3), rng.integers(3, size=50), np.ones(50), 1.0)
    point = wide.objective(weight)(np.zeros(3 * 601))
    assert point.units.factor is None
    assert solve_field(wide, weight, None, **settings).converged


@pytest.mark.parametrize("gamma", [0.5, 2.0])
def test_root_of_the_field_is_the_minimum_of_the_potential(gamma):
    given, weight = problem(3), BrierWeight(gamma, norm=1.0)
    root = solve_field(given, weight, None, tol=1e-9, max_iter=50)
    loss = Potential(weight, tuple(weight.pieces(3)))
    objective = LossObjective(given.model, loss, given.y, given.weight, given.penalty)
    start = given.cross_entropy_start(50)
    minimum = minimise_loss(objective, start, tol=1e-6, max_iter=500)
    assert root.converged
    assert minimum.converged
    assert_allclose(minimum.parameters, root.parameters, atol=1e-4)


def test_continuation_where_the_direct_way_fails(monkeypatch):
    """The second attempt goes over rising exponents and ends at the asked one."""
    given, asked = problem(3), []
    original = LinearProblem.root

    def root(self, uncertainty, start, tol, max_iter, report=None):
        asked.append(uncertainty.gamma)
        found = original(self, uncertainty, start, tol, max_iter, report)
        if len(asked) == 2:
            return type(found)(start, found.residuals[:1], False, "made to fail")
        return found

    monkeypatch.setattr(LinearProblem, "root", root)
    fit = solve_field(
        given,
        BrierWeight(4.0),
        lambda share: BrierWeight(4.0 * share),
        tol=1e-8,
        max_iter=50,
    )
    assert asked == [0, 4, 1, 2, 3, 3.5, 4]
    assert fit.converged


@pytest.mark.parametrize("hidden", [(), (5,), (4, 3)])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_gradient_of_a_network(hidden, n_classes):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 4)), rng.integers(n_classes, size=30)
    model = NetworkScores(X, hidden, n_classes)
    x = model.start(np.random.RandomState(0)) + 0.01 * rng.normal(
        size=len(model.penalised)
    )
    loss = Potential(BrierWeight(2.0, norm=1.0), ((1.0, 4.0, 2.0),))
    weight = rng.uniform(0.5, 2, size=30)
    objective = LossObjective(model, loss, y, weight, 0.3)
    value, gradient = objective(x)
    h, numeric = 1e-6, np.empty_like(x)
    for i in range(len(x)):
        step = h * (np.arange(len(x)) == i)
        numeric[i] = (objective(x + step)[0] - objective(x - step)[0]) / (2 * h)
    assert_allclose(gradient, numeric, atol=1e-6)
    batch = BatchObjective(model, loss, y, weight, 0.3 / 30)
    mean, by_batch = batch(x, np.arange(30))
    assert_allclose(mean, value / 30)
    assert_allclose(by_batch, gradient / 30, atol=1e-14)


def test_cross_entropy_field_is_the_gradient_of_cross_entropy():
    given = problem(3)
    field = FieldObjective(
        given.model, WeightedField(CrossEntropyWeight()), given.y, given.weight, 0.7
    )
    x = np.random.default_rng(0).normal(size=15) * 0.1
    objective = LossObjective(given.model, cross_entropy, given.y, given.weight, 0.7)
    assert_allclose(field(x).value, objective(x)[1], atol=1e-12)
