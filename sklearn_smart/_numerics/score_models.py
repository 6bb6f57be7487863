"""Models of the logits: linear scores, and a network with hidden layers.

Conventions
-----------
A model is made for the data, ``X`` (n, d) dense or sparse CSR, and holds no parameters:
they are one flat vector, which `layers` cuts into weights and biases. ``logits`` of a
parameter vector is (n, K); with two classes the model has one output, the score of the
second class, and the logits are ``(0, score)``. ``pullback`` turns a field or gradient
(n, K) into the sum over rows by parameters, and ``penalised`` marks the weights, not
the biases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

# A larger matrix of features by features costs more than it saves.
_MOST_FEATURES = 500


def n_outputs(n_classes: int) -> int:
    """One score for two classes, else one for each."""
    return 1 if n_classes == 2 else n_classes


def as_logits(scores: NDArray) -> NDArray:
    """Logits (n, K) of scores; one score is that of the second class."""
    if scores.shape[1] > 1:
        return scores
    out = np.zeros((len(scores), 2), dtype=scores.dtype, order="F")
    out[:, 1] = scores[:, 0]
    return out


def by_scores(by_logits: NDArray, outputs: int) -> NDArray:
    """The part of a field or gradient (n, K) that the scores can follow."""
    return by_logits[:, 1:] if outputs == 1 else by_logits


class LinearScores:
    """``X W^T + b``.

    Parameters
    ----------
    X : ndarray or sparse array of shape (n, d)
        The data.
    n_classes : int
        K.
    fit_intercept : bool
        Without it there is no ``b``.
    """

    def __init__(self, X: NDArray, n_classes: int, fit_intercept: bool = True) -> None:
        self.X, self.fit_intercept = X, fit_intercept
        self.n_features = X.shape[1]
        self.outputs = n_outputs(n_classes)
        size = self.outputs * (self.n_features + fit_intercept)
        self.penalised = np.ones(size, dtype=bool)
        self.penalised[self.outputs * self.n_features :] = False

    def layers(self, parameters: NDArray) -> tuple[NDArray, NDArray]:
        """``W`` (outputs, d) and ``b`` (outputs,), as views where there is a b."""
        end = self.outputs * self.n_features
        weight = parameters[:end].reshape(self.outputs, self.n_features)
        if self.fit_intercept:
            return weight, parameters[end:]
        return weight, np.zeros(self.outputs)

    def logits(self, parameters: NDArray) -> NDArray:
        weight, bias = self.layers(parameters)
        if sparse.issparse(self.X):
            scores = self.X @ weight.T
        else:
            # Columns lie together: work on a few classes is work on long rows.
            scores = (weight @ self.X.T).T
        scores += bias
        return as_logits(scores)

    # A linear model changes with its parameters as its logits do with theirs.
    derivative = logits

    def pullback(self, by_logits: NDArray) -> NDArray:
        inner = by_scores(by_logits, self.outputs)
        if sparse.issparse(self.X):
            product = (self.X.T @ inner).T
        else:
            product = inner.T @ self.X
        if not self.fit_intercept:
            return product.ravel()
        return np.concatenate([product.ravel(), inner.sum(axis=0)])

    def gram(self, curvature: NDArray) -> NDArray:
        """``sum_i curvature_i x_i x_i^T`` with the constant as the last feature."""
        weighted = (
            self.X.T * curvature
            if not sparse.issparse(self.X)
            else self.X.T.multiply(curvature).tocsr()  # type: ignore[attr-defined]
        )
        product = weighted @ self.X
        if sparse.issparse(product):
            product = product.toarray()
        if not self.fit_intercept:
            return product
        out = np.empty((self.n_features + 1, self.n_features + 1))
        out[:-1, :-1] = product
        out[-1, :-1] = out[:-1, -1] = self.X.T @ curvature
        out[-1, -1] = curvature.sum()
        return out

    def gram_diagonal(self, curvature: NDArray) -> NDArray:
        """The diagonal of `gram`."""
        squares = (
            self.X.multiply(self.X)  # type: ignore[attr-defined]
            if sparse.issparse(self.X)
            else self.X**2
        )
        diagonal = squares.T @ curvature
        return np.append(diagonal, curvature.sum()) if self.fit_intercept else diagonal

    def units(self, curvature: NDArray, penalty: float) -> FeatureUnits:
        """Units for a field with this ``curvature`` times the identity in the outputs.

        One matrix of features for all outputs takes their scales and correlations out;
        its diagonal has to do where there are many features.
        """
        ridge = np.full(self.n_features + self.fit_intercept, penalty)
        if self.fit_intercept:
            ridge[-1] = 0.0
        if self.n_features > _MOST_FEATURES:
            diagonal = self.gram_diagonal(curvature) + ridge
            return FeatureUnits(self, None, np.sqrt(diagonal + _tiny(diagonal)))
        matrix = self.gram(curvature)
        at = np.arange(len(matrix))
        matrix[at, at] += ridge
        matrix[at, at] += 1e-12 * matrix[at, at] + _tiny(matrix[at, at])
        # A correlation matrix: features of very different sizes lose no digits.
        scale = np.sqrt(matrix[at, at])
        matrix /= scale * scale[:, None]
        try:
            factor = linalg.cholesky(
                matrix, lower=True, overwrite_a=True, check_finite=False
            )
        except linalg.LinAlgError:  # features that are copies, but for rounding
            factor = None
        return FeatureUnits(self, factor, scale)

    def by_feature(self, parameters: NDArray) -> NDArray:
        """Parameters as (outputs, features and constant)."""
        weight, bias = self.layers(parameters)
        if not self.fit_intercept:
            return weight
        return np.column_stack([weight, bias])

    def flat(self, by_feature: NDArray) -> NDArray:
        """The parameter vector of `by_feature`."""
        if not self.fit_intercept:
            return by_feature.ravel()
        return np.concatenate([by_feature[:, :-1].ravel(), by_feature[:, -1]])


def _tiny(diagonal: NDArray) -> float:
    """What keeps a constant column without penalty from a division by zero."""
    largest = float(diagonal.max())
    return 1e-14 * largest if largest > 0 else 1.0


@dataclass(frozen=True)
class FeatureUnits:
    """``scale L L^T scale`` is the matrix of features, ``L`` the identity if None."""

    model: LinearScores
    factor: NDArray | None
    scale: NDArray

    def whiten(self, value: NDArray) -> NDArray:
        """``L^-1 scale^-1`` on the features of every output."""
        columns = (self.model.by_feature(value) / self.scale).T
        return self.model.flat(self._solve(columns, 0).T)

    def unwhiten(self, direction: NDArray) -> NDArray:
        """``scale^-1 L^-T`` on the features of every output."""
        columns = self.model.by_feature(direction).T
        return self.model.flat(self._solve(columns, 1).T / self.scale)

    def rewhiten(self, parameters: NDArray) -> NDArray:
        """``L^T scale``: the direction that `unwhiten` turns into these parameters."""
        columns = (self.model.by_feature(parameters) * self.scale).T
        if self.factor is not None:
            columns = self.factor.T @ columns
        return self.model.flat(columns.T)

    def _solve(self, columns: NDArray, transposed: int) -> NDArray:
        if self.factor is None:
            return columns
        out, _ = linalg.lapack.dtrtrs(self.factor, columns, lower=1, trans=transposed)
        return out


class NetworkScores:
    """Layers of rectified units, then linear scores.

    Weights are (inputs, outputs) as `MLPClassifier.coefs_` holds them. ``batch``
    makes the same model on some of the rows.
    """

    def __init__(
        self, X: NDArray, hidden_layer_sizes: Sequence[int], n_classes: int
    ) -> None:
        self.X = X
        self.outputs = n_outputs(n_classes)
        widths = (X.shape[1], *hidden_layer_sizes, self.outputs)
        self.shapes = list(zip(widths[:-1], widths[1:], strict=True))
        self.penalised = np.concatenate(
            [np.repeat([True, False], [m * k, k]) for m, k in self.shapes]
        )

    def layers(self, parameters: NDArray) -> list[tuple[NDArray, NDArray]]:
        """Weight (inputs, outputs) and bias (outputs,) of each layer, as views."""
        out, at = [], 0
        for m, k in self.shapes:
            weight = parameters[at : at + m * k].reshape(m, k)
            out.append((weight, parameters[at + m * k : at + (m + 1) * k]))
            at += (m + 1) * k
        return out

    def start(self, random_state: np.random.RandomState) -> NDArray:
        """Uniform on ``+- sqrt(6 / (inputs + outputs))`` (Glorot), layer by layer.

        Without hidden layers it is 0: equal scores need no random number.
        """
        if len(self.shapes) == 1:
            return np.zeros(len(self.penalised))
        draws = [
            random_state.uniform(-1, 1, size=(m + 1) * k) * np.sqrt(6 / (m + k))
            for m, k in self.shapes
        ]
        return np.concatenate(draws)

    def logits(self, parameters: NDArray, rows: NDArray | None = None) -> NDArray:
        """Logits of all rows, or of some of them."""
        self._layers = self.layers(parameters)
        self._inputs = [self.X if rows is None else self.X[rows]]
        for weight, bias in self._layers[:-1]:
            hidden = self._inputs[-1] @ weight
            hidden += bias
            self._inputs.append(np.maximum(hidden, 0, out=hidden))
        weight, bias = self._layers[-1]
        scores = self._inputs[-1] @ weight
        scores += bias
        return as_logits(scores)

    def pullback(self, by_logits: NDArray) -> NDArray:
        """Sum over the rows of the last `logits`, by parameters."""
        delta = by_scores(by_logits, self.outputs)
        sizes = [(m + 1) * k for m, k in self.shapes]
        out = np.empty(sum(sizes), dtype=by_logits.dtype)
        parts = self.layers(out)
        for layer in reversed(range(len(self.shapes))):
            inputs = self._inputs[layer]
            by_weight, by_bias = parts[layer]
            if sparse.issparse(inputs):
                by_weight[:] = inputs.T @ delta
            else:
                np.dot(inputs.T, delta, out=by_weight)
            delta.sum(axis=0, out=by_bias)
            if layer:
                delta = delta @ self._layers[layer][0].T
                delta *= inputs > 0
        return out
