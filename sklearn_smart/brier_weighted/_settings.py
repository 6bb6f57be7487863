"""What the parameters of BrierWeightedClassifier mean, and which exclude each other."""

from __future__ import annotations

import numbers

import numpy as np

from .._numerics.fields import LinkedField, WeightedField
from .._numerics.losses import (
    MMCE,
    LabelSmoothing,
    Potential,
    WeightedCrossEntropy,
    brier_score,
    cross_entropy,
)
from .._numerics.uncertainty_weights import WEIGHTS, uncertainty_weight
from .._validation import check_number, check_option

WITHOUT_EXPONENT = ("flsd53", "cross_entropy")
_RIVALS = {
    "brier_score": brier_score,
    "label_smoothing": LabelSmoothing(),
    "mmce": MMCE(),
}
STOCHASTIC = ("sgd", "adam")
_SOLVERS = ("auto", "newton", "lbfgs", *STOCHASTIC)


class TrainingSettings:
    """Reads the parameters of the classifier it is mixed into."""

    def _check_parameters(self):
        check_option(self, "weight", tuple(WEIGHTS))
        check_number(self, "gamma", float, 0)
        check_number(self, "norm", float, 1, closed="both")
        check_option(self, "loss", ("weighted", *_RIVALS))
        check_option(self, "posterior", ("auto", "raw", "bayes"))
        check_option(self, "link", ("auto", "raw", "posterior"))
        check_option(self, "solver", _SOLVERS)
        if self.C != "auto":
            check_number(self, "C", float, 0, closed="neither")
        if self.tol is not None:
            check_number(self, "tol", float, 0)
        if self.batch_size != "auto":
            check_number(self, "batch_size", int, 1)
        if self.learning_rate_init is not None:
            check_number(self, "learning_rate_init", float, 0, closed="neither")
        if self.max_gradient_norm is not None:
            check_number(self, "max_gradient_norm", float, 0, closed="neither")
        check_number(self, "max_iter", int, 1)
        check_number(self, "momentum", float, 0, 1)
        check_number(self, "learning_rate_decay", float, 0, 1, closed="right")
        check_number(self, "validation_fraction", float, 0, 1, closed="neither")
        check_number(self, "n_iter_no_change", int, 1)
        self._integers("hidden_layer_sizes")
        self._integers("learning_rate_milestones")
        self._check_combinations()

    def _check_combinations(self):
        """Refuse parameters that exclude each other, saying which to change."""
        if self.posterior == "bayes" and not self._has_inverse():
            name = self.loss if self.loss != "weighted" else self.weight
            raise ValueError(
                f"posterior='bayes' does not exist for {name!r}: its output cannot be "
                "turned back into the distribution of the label. Pass posterior='raw' "
                "or another weight."
            )
        if self.link == "posterior":
            self._check_link()
        if self.solver == "newton" and self._hidden():
            raise ValueError(
                "solver='newton' is for linear scores; with hidden_layer_sizes pass "
                "solver='adam' or 'sgd'."
            )
        if self.solver == "newton" and not self._is_field():
            raise ValueError(
                "solver='newton' finds the root of a field; a loss (gradient_only=False"
                f" or loss={self.loss!r}) is minimised: pass solver='lbfgs'."
            )
        if self.early_stopping and self.solver in ("newton", "lbfgs"):
            raise ValueError(
                f"early_stopping needs solver='sgd' or 'adam', not {self.solver!r}."
            )

    def _check_link(self):
        if not self._is_field():
            raise ValueError(
                "link='posterior' is for a field; with a loss (gradient_only=False or "
                f"loss={self.loss!r}) pass link='raw'."
            )
        if not self._has_inverse():
            raise ValueError(
                f"link='posterior' does not exist for {self.weight!r}: different "
                "outputs would have the same posterior. Pass link='raw' or another "
                "weight."
            )
        if self.solver == "lbfgs":
            raise ValueError(
                "solver='lbfgs' minimises a potential, which is one of the raw scores: "
                "pass link='raw', or solver='auto'."
            )

    def _integers(self, name):
        """A parameter that is a positive int or a sequence of them, as a tuple."""
        value = getattr(self, name)
        items = np.atleast_1d(np.asarray(value, dtype=object)).tolist()
        for item in items:
            whole = isinstance(item, numbers.Integral) and not isinstance(item, bool)
            if not whole or item < 1:
                raise ValueError(
                    f"The {name!r} parameter of {type(self).__name__} must be ints >= "
                    f"1. Got {value!r} instead."
                )
        return tuple(int(item) for item in items)

    def _hidden(self):
        return self._integers("hidden_layer_sizes")

    def _is_field(self):
        return self.loss == "weighted" and bool(self.gradient_only)

    def _uncertainty(self, share=1.0):
        return uncertainty_weight(self.weight, share * self.gamma, self.norm)

    def _has_inverse(self):
        if self.loss != "weighted":
            return self.loss == "brier_score"
        return self._uncertainty().invertible or self._uncertainty().constant

    def _posterior(self):
        if self.posterior != "auto":
            return self.posterior
        return "raw" if self._hidden() or not self._has_inverse() else "bayes"

    def _link(self):
        if self.link != "auto":
            return self.link
        of_posterior = self._posterior() == "bayes" and not self._hidden()
        trained = self._is_field() and self.solver != "lbfgs"
        return "posterior" if of_posterior and trained else "raw"

    def _solver(self, partial=False):
        if self.solver != "auto":
            return self.solver
        if self._hidden() or self.early_stopping or partial:
            return "adam"
        return "newton" if self._is_field() else "lbfgs"

    def _tol(self):
        if self.tol is not None:
            return self.tol
        return {"newton": 3e-8, "lbfgs": 1e-6}.get(self.solver_, 1e-4)

    def _strength(self):
        """The penalty's factor ``1 / C``."""
        if self.C != "auto":
            return 1.0 / self.C
        return 1e-4 if self._hidden() else 1.0

    def _term(self):
        """What is summed over the samples, and its gradient or field."""
        if self.loss != "weighted":
            return _RIVALS[self.loss]
        uncertainty = self._uncertainty()
        if uncertainty.constant:
            return cross_entropy
        if self.gradient_only:
            linked = self._link() == "posterior"
            field = LinkedField if linked else WeightedField
            return field(uncertainty).monitored
        return WeightedCrossEntropy(uncertainty)

    def _minimised(self):
        """The loss, or the potential of the field, that L-BFGS may minimise."""
        term = self._term()
        if not self._is_field() or term is cross_entropy:
            return term
        pieces = self._uncertainty().pieces(len(self.classes_))
        if pieces is None:
            raise ValueError(
                f"solver='lbfgs' minimises, but the field of weight={self.weight!r} "
                f"with norm={self.norm!r} and {len(self.classes_)} classes is the "
                "gradient of nothing. Pass solver='auto', or gradient_only=False."
            )
        return Potential(self._uncertainty(), tuple(pieces))
