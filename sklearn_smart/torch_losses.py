"""The uncertainty-weighted loss as a PyTorch module."""

from __future__ import annotations

import functools

from ._numerics.uncertainty_weights import WEIGHTS

_REDUCTIONS = ("mean", "sum", "none")


def __getattr__(name):
    """The module class, which needs PyTorch to be defined at all."""
    if name == "BrierWeightedLoss":
        return _brier_weighted_loss()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), "BrierWeightedLoss"])


def _log_weight(torch, uncertainty, gamma, norm, log_odds, others, logits, target):
    """``log u`` of each row, differentiable; the formulas of `uncertainty_weights`.

    ``others`` are the logits with ``-inf`` at the label, ``log_odds`` those of
    anything but the label.
    """
    log_v = torch.nn.functional.logsigmoid(log_odds)
    if uncertainty == "cross_entropy":
        return torch.zeros_like(log_v)
    if uncertainty == "flsd53":
        exponent = torch.where(torch.sigmoid(-log_odds) < 0.2, 5.0, 3.0)
        return exponent.to(log_v.dtype) * log_v
    shares = torch.softmax(others, dim=1)
    log_m = torch.zeros_like(log_v)
    if uncertainty == "brier" and norm != float("inf"):
        # A share of exactly 0 has no finite derivative of its power below 2.
        powers = torch.where(shares > 0, shares, 1.0) ** norm * (shares > 0)
        log_m = torch.log1p(powers.sum(dim=1)) / norm
    elif uncertainty == "dual_focal":
        below = logits < logits.gather(1, target[:, None])
        log_m = torch.log1p(torch.where(below, shares, 0.0).amax(dim=1))
    elif uncertainty == "tlbs":
        top = torch.log(shares.amax(dim=1))
        log_m = torch.where(logits.argmax(dim=1) == target, 0.0, top)
    return gamma * (log_v + log_m)


@functools.cache
def _brier_weighted_loss():
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            "BrierWeightedLoss needs PyTorch: pip install 'sklearn-smart[torch]'."
        ) from error

    class BrierWeightedLoss(torch.nn.Module):
        """Cross-entropy times an uncertainty weight that is held constant.

        The gradient by the logits is ``u(p, y) (p - e_y)``, with the weight ``u`` of
        `BrierWeightedClassifier` detached (BSCE-GRA [1]_).

        Parameters
        ----------
        uncertainty : {"brier", "focal", "flsd53", "dual_focal", "tlbs", \
"cross_entropy"}, default="brier"
            The uncertainty weight.
        gamma : float, default=2.0
            Exponent of the weight, at least 0.
        norm : float, default=2.0
            Norm of the Brier weight, at least 1, possibly ``inf``.
        gradient_only : bool, default=True
            Detach the weight. False is the loss form, ``-u log p_y`` (BSCE, focal).
        weight : Tensor of shape (n_classes,), default=None
            Factors by class, as in `torch.nn.CrossEntropyLoss`.
        reduction : {"mean", "sum", "none"}, default="mean"
            "mean" divides by the sum of the factors of the labels.

        References
        ----------
        .. [1] Y. Lin et al. Uncertainty Weighted Gradients for Model Calibration. CVPR
           2025. arXiv:2503.22725

        Examples
        --------
        >>> import torch
        >>> from sklearn_smart.torch_losses import BrierWeightedLoss
        >>> logits = torch.zeros(1, 2, requires_grad=True)
        >>> BrierWeightedLoss(gamma=2.0)(logits, torch.tensor([0])).backward()
        >>> logits.grad
        tensor([[-0.2500,  0.2500]])
        """

        def __init__(
            self,
            uncertainty="brier",
            *,
            gamma=2.0,
            norm=2.0,
            gradient_only=True,
            weight=None,
            reduction="mean",
        ):
            super().__init__()
            _check("uncertainty", uncertainty, uncertainty in WEIGHTS, sorted(WEIGHTS))
            _check("gamma", gamma, 0 <= gamma < float("inf"), "at least 0")
            _check("norm", norm, norm >= 1, "at least 1")
            _check("reduction", reduction, reduction in _REDUCTIONS, _REDUCTIONS)
            self.uncertainty, self.gamma, self.norm = uncertainty, gamma, norm
            self.gradient_only, self.reduction = gradient_only, reduction
            if weight is not None:
                weight = torch.as_tensor(weight)
            self.register_buffer("weight", weight)

        def extra_repr(self):
            """Parameters, for the printed module."""
            return (
                f"uncertainty={self.uncertainty!r}, gamma={self.gamma}, "
                f"norm={self.norm}, gradient_only={self.gradient_only}, "
                f"reduction={self.reduction!r}"
            )

        def forward(self, logits, target):
            """The loss of logits (N, K) and labels (N,)."""
            if logits.ndim != 2 or target.shape != logits.shape[:1]:
                raise ValueError(
                    f"logits have shape {tuple(logits.shape)} and target "
                    f"{tuple(target.shape)}; (N, K) and (N,) are expected."
                )
            of_label = target[:, None]
            others = logits.scatter(1, of_label, float("-inf"))
            label_logit = logits.gather(1, of_label)[:, 0]
            log_odds = torch.logsumexp(others, dim=1) - label_logit
            with torch.set_grad_enabled(
                torch.is_grad_enabled() and not self.gradient_only
            ):
                log_u = _log_weight(
                    torch,
                    self.uncertainty,
                    self.gamma,
                    self.norm,
                    log_odds,
                    others,
                    logits,
                    target,
                )
                u = torch.exp(log_u)
            loss = u * torch.nn.functional.softplus(log_odds, threshold=100.0)
            if self.weight is not None:
                factors = self.weight.to(loss.dtype)[target]
                loss = loss * factors
            if self.reduction == "none":
                return loss
            if self.reduction == "sum":
                return loss.sum()
            if self.weight is None:
                return loss.mean()
            return loss.sum() / factors.sum()

    BrierWeightedLoss.__module__ = __name__
    BrierWeightedLoss.__qualname__ = "BrierWeightedLoss"
    return BrierWeightedLoss


def _check(name, value, good, wanted):
    if not good:
        raise ValueError(
            f"The {name!r} parameter of BrierWeightedLoss must be {wanted}. Got "
            f"{value!r} instead."
        )
