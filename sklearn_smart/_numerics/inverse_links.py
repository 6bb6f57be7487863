"""Inverse links: the posterior whose stationary point is a given output.

Conventions
-----------
``p = softmax(logits)`` is a raw output, ``eta`` the distribution of the label. Training
leads to the p at which the expected gradient vanishes, ``sum_k eta_k g(p, k) = 0``, and
these functions solve this for ``eta``. They return logarithms, (n, K).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .logits import row_blocks
from .losses import Loss
from .uncertainty_weights import UncertaintyWeight


def log_probabilities(logits: NDArray) -> tuple[NDArray, NDArray]:
    """``log p`` and ``log(1 - p)`` (n, K), both with full relative precision."""
    at = np.arange(len(logits))
    top = logits.argmax(axis=1)
    log_p = logits - logits[at, top][:, None]
    log_p -= np.log(np.exp(log_p).sum(axis=1))[:, None]
    rest = np.exp(log_p)
    rest[at, top] = 0.0
    log_rest = np.log1p(-rest)
    # 1 - p of the largest class is the sum of the others, which may underflow.
    others = np.array(log_p)
    others[at, top] = -np.inf
    second = others.max(axis=1)
    total = np.exp(others - second[:, None]).sum(axis=1)
    small = second + np.log(total)
    log_rest[at, top] = small
    precise = small < -1
    log_p[at[precise], top[precise]] = np.log1p(-np.exp(small[precise]))
    return log_p, log_rest


def field_log_posterior(uncertainty: UncertaintyWeight, logits: NDArray) -> NDArray:
    """``eta_k`` proportional to ``p_k / u(p, k)``: the weight was held constant.

    It keeps the order of the classes. Only for weights that are ``invertible``.
    """
    log_p, log_rest = log_probabilities(logits)
    if uncertainty.constant:
        return log_p
    scores = log_p - uncertainty.log_values_of_all(log_p, log_rest)
    return log_probabilities(scores)[0]


def loss_log_posterior(loss: Loss, logits: NDArray) -> tuple[NDArray, NDArray]:
    """The null vector of the matrix of per-class gradients of a loss.

    Row k of the matrix is the gradient by the logits for the label k. Where it is
    positive off the diagonal, as for the focal loss, it is the rate matrix of a Markov
    chain and the posterior its stationary distribution, which is positive. For other
    losses the null vector may have negative entries: no distribution of the label
    leads to this output.

    Returns
    -------
    log_posterior : ndarray of shape (n, K)
        Negative entries are taken as 0.
    negative : ndarray of shape (n,)
        The weight of the negative entries before, 0 where all is well.
    """
    n, n_classes = logits.shape
    out, negative = np.empty(logits.shape), np.empty(n)
    for rows in row_blocks(n, n_classes**2):
        out[rows], negative[rows] = _null_vectors(loss, logits[rows])
    return out, negative


def _null_vectors(loss: Loss, logits: NDArray) -> tuple[NDArray, NDArray]:
    n, k = logits.shape
    labels = np.tile(np.arange(k), n)
    repeated = np.repeat(logits.astype(np.float64), k, axis=0)
    _, gradient = loss(repeated, labels, np.ones(n * k))
    matrix = gradient.reshape(n, k, k)
    # The rates out of a likely class are tiny: each row in units of its own.
    scale = np.abs(matrix).max(axis=2)
    stuck = scale == 0
    matrix /= np.where(stuck, 1.0, scale)[:, :, None]
    equations = matrix.transpose(0, 2, 1).copy()
    # The columns of each matrix sum to 0, so one equation is free for the scale.
    equations[:, -1, :] = 1.0
    right = np.zeros((n, k, 1))
    right[:, -1] = 1.0
    vector = np.linalg.solve(equations, right)[:, :, 0]
    negative = np.maximum(-vector, 0).sum(axis=1)
    negative[negative < 1e-9] = 0.0
    with np.errstate(divide="ignore"):
        scores = np.log(np.maximum(vector, 0)) - np.log(np.where(stuck, 1.0, scale))
    # A class that is never left holds everything.
    scores[stuck] = 0.0
    scores[stuck.any(axis=1)[:, None] & ~stuck] = -np.inf
    scores -= scores.max(axis=1, keepdims=True)
    return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True)), negative
