"""How BrierWeightedClassifier runs the solvers and keeps what they found."""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state

from .._numerics.score_fit import (
    LinearProblem,
    StochasticDescent,
    minimise_loss,
    solve_field,
)
from .._numerics.score_models import LinearScores, NetworkScores
from .._numerics.score_objectives import BatchObjective, LossObjective
from .._numerics.solvers import AdamStep, MomentumStep
from ._settings import WITHOUT_EXPONENT, TrainingSettings


class ScoreTraining(TrainingSettings):
    """Fits the scores of the classifier it is mixed into."""

    def _report(self, step, residual):
        if self.verbose:
            print(f"Iteration {step}, residual {residual:.2e}")

    def _fit_linear(self, X, index, weight, start):
        dtype, n_classes = X.dtype, len(self.classes_)
        model = LinearScores(X.astype(np.float64), n_classes, bool(self.fit_intercept))
        linked = self.link_ == "posterior"
        problem = LinearProblem(model, index, weight, self._strength(), linked)
        if start is not None:
            ((coef, intercept),) = start
            parts = [coef.T.ravel(), intercept][: 1 + model.fit_intercept]
            start = np.concatenate(parts).astype(np.float64)
        settings = {
            "tol": self._tol(),
            "max_iter": self.max_iter,
            "report": self._report,
        }
        if self.solver_ == "newton":
            has_exponent = self.weight not in WITHOUT_EXPONENT
            fit = solve_field(
                problem,
                self._uncertainty(),
                self._uncertainty if has_exponent else None,
                start=start,
                **settings,
            )
        else:
            loss = self._minimised()
            if start is None:
                start = problem.cross_entropy_start(self.max_iter)
            objective = LossObjective(model, loss, index, weight, self._strength())
            fit = minimise_loss(objective, start, **settings)
        coef, intercept = model.layers(fit.parameters)
        self.coef_ = coef.astype(dtype)
        self.intercept_ = intercept.astype(dtype)
        self._take(fit)

    def _fit_whole_network(self, X, index, weight, start):
        model = NetworkScores(X.astype(np.float64), self._hidden(), len(self.classes_))
        objective = LossObjective(
            model, self._minimised(), index, weight, self._strength()
        )
        fit = minimise_loss(
            objective,
            self._network_start(model, start, check_random_state(self.random_state)),
            tol=self._tol(),
            max_iter=self.max_iter,
            report=self._report,
        )
        self._set_network(model, fit.parameters.astype(X.dtype))
        self._take(fit)

    def _take(self, fit):
        self.n_iter_ = fit.n_iter
        self.residual_curve_, self.loss_curve_ = fit.residual_curve, fit.loss_curve
        self._judge(fit.residual)

    def _judge(self, residual, stopped_early=False):
        self.residual_ = float(residual)
        self.converged_ = bool(self.residual_ <= self._tol())
        self._stopped_early = stopped_early

    def _descent(self, X, index, weight, start, random_state):
        """Mini-batch descent on these samples, from the start or a new network.

        Weights of mean 1 make the steps independent of their unit.
        """
        model = NetworkScores(X, self._hidden(), len(self.classes_))
        start = self._network_start(model, start, random_state)
        objective = BatchObjective(
            model,
            self._term(),
            index,
            (weight / weight.mean()).astype(X.dtype),
            self._strength() / weight.sum(),
            fit_intercept=bool(self._hidden()) or bool(self.fit_intercept),
        )
        rate = self.learning_rate_init
        if self.solver_ == "adam":
            step = AdamStep(0.001 if rate is None else rate)
        else:
            step = MomentumStep(0.1 if rate is None else rate, self.momentum)
        size = 200 if self.batch_size == "auto" else self.batch_size
        return StochasticDescent(
            objective,
            start.astype(X.dtype),
            step,
            min(size, len(index)),
            max_norm=self.max_gradient_norm,
            milestones=self._integers("learning_rate_milestones"),
            decay=self.learning_rate_decay,
        )

    def _network_start(self, model, start, random_state):
        """Parameter vector of a new network, or of the layers to start from."""
        if start is None:
            return model.start(random_state)
        parts = [part.ravel() for layer in start for part in layer]
        return np.concatenate(parts).astype(np.float64)

    def _run_epoch(self, descent, random_state):
        n = len(descent.objective.y)
        order = random_state.permutation(n) if self.shuffle else np.arange(n)
        loss, residual = descent.epoch(order)
        self.loss_curve_.append(loss)
        self.residual_curve_.append(residual)
        self._report(descent.n_epochs, residual)

    def _fit_stochastic(self, X, index, weight, start):
        random_state = check_random_state(self.random_state)
        held_out = None
        if self.early_stopping:
            X, index, weight, held_out = self._hold_out(X, index, weight, random_state)
            self.validation_scores_ = []
        descent = self._descent(X, index, weight, start, random_state)
        best, best_parameters, since = -np.inf, descent.parameters.copy(), 0
        for _ in range(self.max_iter):
            self._run_epoch(descent, random_state)
            if held_out is None:
                # The mean over an epoch only says when it is worth a closer look.
                if self.residual_curve_[-1] > self._tol():
                    continue
                if descent.residual() <= self._tol():
                    break
                continue
            score = self._validate(descent, *held_out)
            since = 0 if score > best + self._tol() else since + 1
            if score > best:
                best, best_parameters = score, descent.parameters.copy()
            if since >= self.n_iter_no_change:
                break
        if held_out is not None:
            descent.parameters = best_parameters
        self.n_iter_ = descent.n_epochs
        self._set_network(descent.objective.model, descent.parameters)
        stopped = since >= self.n_iter_no_change
        self._judge(descent.residual(), stopped_early=stopped)

    def _hold_out(self, X, index, weight, random_state):
        rows, held = train_test_split(
            np.arange(len(index)),
            test_size=self.validation_fraction,
            stratify=index,
            random_state=random_state,
        )
        return X[rows], index[rows], weight[rows], (X[held], index[held], weight[held])

    def _validate(self, descent, X, index, weight):
        """Minus the log loss of the part held out, as predicted."""
        model = NetworkScores(X, self._hidden(), len(self.classes_))
        probabilities = self._output(model.logits(descent.parameters))
        of_label = probabilities[np.arange(len(index)), index]
        floor = np.finfo(of_label.dtype).tiny
        score = float(np.average(np.log(np.maximum(of_label, floor)), weights=weight))
        self.validation_scores_.append(score)
        return score

    def _set_network(self, model, parameters):
        layers = model.layers(parameters)
        if self._hidden():
            self.coefs_ = [weight.copy() for weight, _ in layers]
            self.intercepts_ = [bias.copy() for _, bias in layers]
        else:
            self.coef_ = np.ascontiguousarray(layers[0][0].T)
            self.intercept_ = layers[0][1].copy()

    def _previous_parameters(self, classes, X):
        """Parameters of the previous fit in the order of the model; None before it."""
        if not hasattr(self, "classes_"):
            return None
        hidden = self._hidden()
        if hidden:
            layers = zip(
                getattr(self, "coefs_", ()),
                getattr(self, "intercepts_", ()),
                strict=True,
            )
            pairs = list(layers)
        else:
            pairs = [(self.coef_.T, self.intercept_)] if hasattr(self, "coef_") else []
        shapes = NetworkScores(X, hidden, len(classes)).shapes
        same_classes = np.array_equal(self.classes_, classes)
        if not same_classes or [weight.shape for weight, _ in pairs] != shapes:
            raise ValueError(
                "warm_start and partial_fit go on from the previous fit, which had "
                "other classes, features or hidden_layer_sizes. Keep these, or fit "
                "with warm_start=False."
            )
        return pairs
