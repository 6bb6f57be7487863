"""Solvers on functions whose minimum is known, and Adam's first steps by hand."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import rosen, rosen_der

from sklearn_smart._numerics.solvers import adam, convex_root, lbfgs

MINIMUM = np.array([1.0, -2.0, 0.5])
CURVATURE = np.array([1.0, 10.0, 100.0])


def quadratic(x):
    away = x - MINIMUM
    return float(0.5 * away @ (CURVATURE * away)), CURVATURE * away


def rosenbrock(x):
    return rosen(x), rosen_der(x)


def reference_adam(fun, x, learning_rate, n_steps, b1=0.9, b2=0.999, eps=1e-8):
    """The algorithm as the paper states it: path of the parameters."""
    m = v = np.zeros_like(x)
    path = [x]
    for t in range(1, n_steps + 1):
        g = fun(x)[1]
        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * g**2
        x = x - learning_rate * (m / (1 - b1**t)) / (np.sqrt(v / (1 - b2**t)) + eps)
        path.append(x)
    return np.array(path)


class Recorder:
    """Remembers where a function was evaluated."""

    def __init__(self, fun):
        self.fun, self.path = fun, []

    def __call__(self, x):
        self.path.append(x.copy())
        return self.fun(x)


@pytest.mark.parametrize(
    ("fun", "start", "minimum"),
    [(quadratic, np.zeros(3), MINIMUM), (rosenbrock, np.array([-1.2, 1.0]), [1, 1])],
)
def test_lbfgs_finds_the_minimum(fun, start, minimum):
    solution = lbfgs(fun, start, max_iter=200, tol=1e-14)
    assert solution.converged
    assert_allclose(solution.parameters, minimum, atol=1e-5)
    assert_allclose(solution.value, fun(solution.parameters)[0])
    assert 0 < solution.n_iter < 200


def test_lbfgs_reports_exhausted_steps():
    solution = lbfgs(rosenbrock, np.array([-1.2, 1.0]), max_iter=3, tol=1e-14)
    assert not solution.converged
    assert solution.n_iter == 3
    assert "ITERATIONS" in solution.message.upper()


def test_lbfgs_at_the_minimum_stays_there():
    solution = lbfgs(quadratic, MINIMUM.copy(), max_iter=10, tol=1e-9)
    assert solution.converged
    assert_array_equal(solution.parameters, MINIMUM)


def test_adam_follows_the_algorithm():
    recorder = Recorder(quadratic)
    adam(recorder, np.zeros(3), learning_rate=0.05, max_iter=60)
    expected = reference_adam(quadratic, np.zeros(3), 0.05, 60)
    assert_allclose(recorder.path, expected[:60], rtol=1e-12, atol=1e-14)


def test_first_step_of_adam_is_the_learning_rate_against_the_sign():
    # m / sqrt(v) = g / |g| after one step, as in any implementation.
    recorder = Recorder(quadratic)
    adam(recorder, np.zeros(3), learning_rate=0.01, max_iter=2)
    gradient = quadratic(np.zeros(3))[1]
    step = -0.01 * gradient / (np.abs(gradient) + 1e-8)
    assert_allclose(recorder.path[1], step, rtol=1e-12)


def test_steps_of_adam_under_a_constant_gradient():
    # Bias correction makes both moments exact: every step is the learning rate.
    recorder = Recorder(lambda x: (0.0, np.array([3.0])))
    adam(recorder, np.zeros(1), learning_rate=0.1, max_iter=6)
    assert_allclose(np.ravel(recorder.path), -0.1 * np.arange(6), rtol=1e-7)


def test_second_step_of_adam_by_closed_form():
    # Gradients 1 and then -2: m = (.9 * .1 * 1 - .1 * 2) / (1 - .81), and so on.
    gradients = iter([1.0, -2.0, 0.0])
    recorder = Recorder(lambda x: (0.0, np.array([next(gradients)])))
    adam(recorder, np.zeros(1), learning_rate=1.0, max_iter=3, epsilon=0.0)
    mean = (0.09 - 0.2) / 0.19
    square = (0.999e-3 + 4e-3) / (1 - 0.999**2)
    assert_allclose(np.ravel(recorder.path), [0, -1, -1 - mean / np.sqrt(square)])


def test_adam_keeps_the_best_parameters():
    recorder = Recorder(quadratic)
    solution = adam(recorder, np.zeros(3), learning_rate=1.5, max_iter=25)
    values = [quadratic(x)[0] for x in recorder.path]
    assert solution.value == min(values)
    assert values[-1] > min(values)
    assert_array_equal(solution.parameters, recorder.path[np.argmin(values)])
    assert solution.n_iter == 25
    assert solution.converged


def test_adam_stops_when_nothing_improves():
    recorder = Recorder(quadratic)
    solution = adam(
        recorder,
        np.zeros(3),
        learning_rate=0.05,
        max_iter=10_000,
        tol=1e-4,
        n_iter_no_change=20,
    )
    assert solution.converged
    assert solution.n_iter == len(recorder.path) < 10_000
    values = np.array([quadratic(x)[0] for x in recorder.path])
    assert values[:-20].min() - values.min() <= 1e-4
    assert_allclose(solution.parameters, MINIMUM, atol=0.05)


def test_adam_that_should_stop_and_did_not_has_not_converged():
    solution = adam(
        quadratic, np.zeros(3), learning_rate=1e-3, max_iter=5, n_iter_no_change=2
    )
    assert not solution.converged


def test_adam_does_not_write_to_its_start():
    start = np.zeros(3)
    start.setflags(write=False)
    adam(quadratic, start, learning_rate=0.1, max_iter=3)
    lbfgs(quadratic, start, max_iter=3, tol=1e-3)


@pytest.mark.parametrize("root", [-3.0, 0.0, 1.7])
def test_convex_root_inside(root):
    t, n_iter, inside = convex_root(lambda t: np.exp(t) - np.exp(root), -5.0, 5.0)
    assert_allclose(t, root, atol=1e-12)
    assert inside
    assert n_iter > 2


def test_convex_root_at_the_ends():
    assert convex_root(lambda t: 1.0, -5.0, 5.0)[::2] == (-5.0, False)
    assert convex_root(lambda t: -1.0, -5.0, 5.0)[::2] == (5.0, False)


def test_lbfgs_with_the_true_curvature_takes_newtons_step():
    found = lbfgs(
        quadratic, np.zeros(3), max_iter=50, tol=1e-12, curvature=np.diag(CURVATURE)
    )
    assert_allclose(found.parameters, MINIMUM, rtol=1e-9)
    assert found.n_iter <= 2  # the second sees that nothing is left
    assert lbfgs(quadratic, np.zeros(3), max_iter=50, tol=1e-12).n_iter > 4


def test_lbfgs_with_any_curvature_ends_in_the_same_minimum():
    curvature = np.diag([4.0, 1.0]) + 0.5
    found = lbfgs(rosenbrock, np.zeros(2), max_iter=500, tol=1e-15, curvature=curvature)
    assert_allclose(found.parameters, 1.0, atol=1e-5)
    assert found.value == rosen(found.parameters)
