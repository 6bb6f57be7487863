"""Affine maps of log-probabilities, and their log loss on a calibration set.

Conventions
-----------
The features x of a row are log-probabilities (n, K); a map gives logits ``A x + b``.
Its parameters are one flat vector in groups, such as the diagonal of A and b, each a
difference from the identity map, at which all are 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .logits import row_blocks, softmax


class AffineMap(Protocol):
    """``logits(x, parameters)``, its transpose, and the sizes of its groups."""

    @property
    def sizes(self) -> tuple[int, ...]: ...

    def logits(self, x: NDArray, parameters: NDArray) -> NDArray: ...

    def pullback(self, x: NDArray, by_logits: NDArray) -> NDArray: ...


@dataclass(frozen=True)
class VectorMap:
    """``(1 + d_k) x_k + b_k``: groups d and b."""

    n_classes: int

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.n_classes, self.n_classes

    def logits(self, x: NDArray, parameters: NDArray) -> NDArray:
        scale, bias = parameters.reshape(2, -1)
        return x * (1 + scale) + bias

    def pullback(self, x: NDArray, by_logits: NDArray) -> NDArray:
        scale = np.einsum("ij,ij->j", x, by_logits)
        return np.concatenate([scale, by_logits.sum(axis=0)])


@dataclass(frozen=True)
class MatrixMap:
    """``x_k + sum_j M_kj x_j + b_k``: groups diagonal of M, its rest, and b."""

    n_classes: int

    @property
    def sizes(self) -> tuple[int, ...]:
        k = self.n_classes
        return k, k * (k - 1), k

    def matrix(self, parameters: NDArray) -> tuple[NDArray, NDArray]:
        """``M`` (K, K) and ``b`` (K,)."""
        k = self.n_classes
        matrix = np.empty((k, k))
        off = ~np.eye(k, dtype=bool)
        matrix[~off] = parameters[:k]
        matrix[off] = parameters[k : k * k]
        return matrix, parameters[k * k :]

    def logits(self, x: NDArray, parameters: NDArray) -> NDArray:
        matrix, bias = self.matrix(parameters)
        out = x @ matrix.T
        out += x
        out += bias
        return out

    def pullback(self, x: NDArray, by_logits: NDArray) -> NDArray:
        matrix = by_logits.T @ x
        off = ~np.eye(self.n_classes, dtype=bool)
        return np.concatenate([matrix[~off], matrix[off], by_logits.sum(axis=0)])


@dataclass
class AffineProblem:
    """Features, labels and weights of a calibration set, and the form of the map."""

    x: NDArray
    y: NDArray
    weight: NDArray
    form: AffineMap

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.form.sizes

    @property
    def total(self) -> float:
        """Sum of the weights."""
        return float(self.weight.sum())

    def loss(self, parameters: NDArray) -> tuple[float, NDArray]:
        """Sum of the log losses, and its gradient; in float64, block by block."""
        value, gradient = 0.0, np.zeros(len(parameters))
        for rows in row_blocks(*self.x.shape):
            x = self.x[rows].astype(np.float64, copy=False)
            y, weight = self.y[rows], self.weight[rows]
            logits = self.form.logits(x, parameters)
            at = np.arange(len(y))
            logits -= logits.max(axis=1, keepdims=True)
            of_label = logits[at, y]
            np.exp(logits, out=logits)
            total = logits.sum(axis=1)
            value += float(weight @ (np.log(total) - of_label))
            logits *= (weight / total)[:, None]
            logits[at, y] -= weight
            gradient += self.form.pullback(x, logits)
        return value, gradient

    def information(self, parameters: NDArray) -> NDArray:
        """Diagonal of the Fisher information of the parameters."""
        out = np.zeros(len(parameters))
        for rows in row_blocks(*self.x.shape):
            x = self.x[rows].astype(np.float64, copy=False)
            p = softmax(self.form.logits(x, parameters))
            p *= 1 - p
            p *= self.weight[rows, None]
            out += self.form.pullback(x * x, p)
        return out
