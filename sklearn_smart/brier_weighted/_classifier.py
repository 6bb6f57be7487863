"""BrierWeightedClassifier: the scikit-learn estimator."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import assert_all_finite, check_random_state, column_or_1d
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from .._numerics.forward_links import ForwardLink
from .._numerics.inverse_links import field_log_posterior, loss_log_posterior
from .._numerics.logits import softmax
from .._numerics.losses import brier_score, cross_entropy
from .._numerics.score_models import as_logits
from .._validation import check_labels, check_weight, encode_labels
from ._settings import STOCHASTIC
from ._training import ScoreTraining


def _is_stochastic(self):
    if self.solver in ("newton", "lbfgs"):
        raise AttributeError(
            f"partial_fit needs a solver that takes steps, 'sgd' or 'adam' (or 'auto',"
            f" which is then 'adam'), not solver={self.solver!r}."
        )
    return True


class BrierWeightedClassifier(ScoreTraining, ClassifierMixin, BaseEstimator):
    """Classifier trained on a gradient that is weighted by each sample's uncertainty.

    The gradient by the logits of a sample with label y is

        ``u(p, y) (p - e_y)``

    where ``p`` is the softmax of the logits, ``e_y`` the indicator of the label and
    ``u`` the generalised Brier score ``||p - e_y||_norm^gamma`` or another weight,
    which is held constant (BSCE-GRA [1]_). In general no loss has this gradient: the
    classifier looks for the root of the weighted field plus the L2 penalty. With
    ``gamma=0`` it is multinomial logistic regression.

    The raw output ``p`` is not a probability of the data: with the distribution ``eta``
    of the label, ``eta_k`` is proportional to ``p_k / u(p, k)``. ``posterior`` chooses
    which of the two is predicted, ``link`` of which of them the scores are the logits.

    Parameters
    ----------
    weight : {"brier", "focal", "flsd53", "dual_focal", "tlbs", "cross_entropy"}, \
default="brier"
        The uncertainty weight ``u``:

        - "brier": ``||p - e_y||_norm^gamma``;
        - "focal": ``(1 - p_y)^gamma``;
        - "flsd53": ``(1 - p_y)^5`` where ``p_y < 0.2``, else ``(1 - p_y)^3``;
        - "dual_focal": ``(1 - p_y + p_j)^gamma``, p_j the largest probability below
          p_y (its authors set gamma to 5);
        - "tlbs": ``|a - c|^gamma``, c the confidence, a whether the top class is y;
        - "cross_entropy": 1.
    gamma : float, default=2.0
        Exponent of the weight, at least 0. Without effect for "flsd53" and
        "cross_entropy".
    norm : float, default=2.0
        Norm of the Brier weight, at least 1, possibly ``inf``. With norm 1 it is a
        focal weight times ``2^gamma``.
    gradient_only : bool, default=True
        Hold the weight constant. False minimises the loss ``-u(p, y) log p_y``, with
        the gradient through the weight as well (BSCE, the focal loss, ...).
    loss : {"weighted", "brier_score", "label_smoothing", "mmce"}, default="weighted"
        "weighted" is all of the above. The others are losses to compare with, for
        which ``weight``, ``gamma``, ``norm`` and ``gradient_only`` have no effect:
        the Brier score itself, cross-entropy with labels smoothed by 0.05, and
        cross-entropy plus the maximum mean calibration error, whose cost is quadratic
        in the number of samples of a batch.
    posterior : {"auto", "raw", "bayes"}, default="auto"
        What `predict_proba` returns: the softmax of the scores ("raw") or the
        distribution of the label of which that is the stationary point ("bayes").
        "auto" is "bayes" for linear scores, where it is the better by far, and "raw"
        for networks, whose training makes them over-confident; also "raw" where "bayes"
        does not exist: for the weights "flsd53", "dual_focal" and "tlbs", which jump,
        and the losses "label_smoothing" and "mmce".
    link : {"auto", "raw", "posterior"}, default="auto"
        What the scores are the logits of: the raw output ("raw"), as in the paper, or
        the posterior ("posterior"), from which the raw output in the gradient follows.
        The two differ with three classes or more, where linear scores of the one are
        not linear in the other: if the data have linear log-odds, "posterior" finds
        them whatever the weight, and "raw" does not. "auto" is "posterior" for linear
        scores trained on a field where the posterior is predicted, as by default, and
        "raw" else: for networks, losses and ``solver="lbfgs"``.
    hidden_layer_sizes : array-like of int, default=()
        Widths of hidden layers of rectified units; empty for linear scores.
    C : float or "auto", default="auto"
        Inverse strength of the penalty as in `sklearn.linear_model.LogisticRegression`:
        the sum over samples plus ``||weights||^2 / (2 C)``. "auto" is 1.0 for linear
        scores and 10000 for a network, the default ``alpha=1 / C`` of
        `sklearn.neural_network.MLPClassifier`.
    fit_intercept : bool, default=True
        Whether linear scores have an intercept. Networks always do.
    class_weight : dict, "balanced" or None, default=None
        Factors of the sample weights by class.
    solver : {"auto", "newton", "lbfgs", "sgd", "adam"}, default="auto"
        - "newton": root of the field of linear scores, by Newton-Krylov steps from the
          cross-entropy solution; if that fails, over smaller exponents. Deterministic;
        - "lbfgs": where there is something to minimise: ``gradient_only=False``, the
          other losses, and weights that are a function of p_y alone (focal, FLSD-53,
          Brier with norm 1 or inf, Brier, focal and TLBS with two classes), whose field
          has a potential. Deterministic for linear scores;
        - "sgd", "adam": mini-batches, for networks and for `partial_fit`.

        "auto" is "adam" for networks and with ``early_stopping``, else "newton" for a
        field and "lbfgs" for a loss.
    max_iter : int, default=200
        Most steps of "newton" or "lbfgs", or epochs of "sgd" or "adam".
    tol : float or None, default=None
        The fit has converged when the residual, ``max |field + penalty|`` divided by
        the sum of the weights, is at most this. None is 3e-8 for "newton", 1e-6 for
        "lbfgs" and 1e-4 for "sgd" and "adam".
    batch_size : int or "auto", default="auto"
        Samples per step; "auto" is ``min(200, n_samples)``.
    learning_rate_init : float or None, default=None
        Learning rate; None is 0.1 for "sgd" and 0.001 for "adam".
    momentum : float, default=0.9
        Momentum of "sgd", in [0, 1).
    learning_rate_milestones : array-like of int, default=()
        Epochs after which the learning rate is multiplied by ``learning_rate_decay``.
    learning_rate_decay : float, default=0.1
        Factor in (0, 1].
    max_gradient_norm : float or None, default=None
        Gradients of a batch with a larger norm are scaled down to it.
    shuffle : bool, default=True
        Whether each epoch has an order of its own.
    early_stopping : bool, default=False
        With "sgd" or "adam", hold ``validation_fraction`` of the samples out, stop when
        their log loss has not improved by ``tol`` for ``n_iter_no_change`` epochs, and
        keep the best parameters.
    validation_fraction : float, default=0.1
        Part held out, stratified by class, in (0, 1).
    n_iter_no_change : int, default=10
        Patience of ``early_stopping``, in epochs.
    warm_start : bool, default=False
        Start from the solution of the previous `fit`.
    verbose : bool, default=False
        Print the residual of each iteration.
    random_state : int, RandomState instance or None, default=None
        Seeds the starts of networks, the order of samples and the part held out. Linear
        scores with "newton" or "lbfgs" use no random numbers.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights of linear scores, the logits of what ``link_`` says; one row, that of
        the second class, for two classes.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts of linear scores.
    coefs_ : list of ndarray of shape (n_inputs, n_outputs)
        Weights of a network, layer by layer.
    intercepts_ : list of ndarray of shape (n_outputs,)
        Biases of a network, layer by layer.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of str
        Names of the features, where X had any.
    n_iter_ : int
        Iterations or epochs run, those towards the start included.
    residual_ : float
        ``max |field + penalty|`` at the solution, divided by the sum of the weights;
        the field is that of the raw output, see `raw_proba`.
    residual_curve_ : list of float
        The same after each iteration; for "sgd" and "adam" that of the mean gradient
        over the epoch.
    loss_curve_ : list of float
        Mean loss after each iteration or over each epoch, with the penalty. With
        ``gradient_only`` and "sgd" or "adam" it is ``-u log p_y``, which is watched,
        not minimised; with "newton" there is none and the list is empty.
    converged_ : bool
        Whether ``residual_`` is at most ``tol``.
    validation_scores_ : list of float
        Minus the log loss of the part held out, after each epoch.
    solver_ : str
        The solver that was used.
    posterior_ : str
        "raw" or "bayes".
    link_ : str
        "raw" or "posterior".

    Warns
    -----
    ConvergenceWarning
        If the residual is above ``tol`` at the end; the message holds it.

    See Also
    --------
    sklearn.linear_model.LogisticRegression : The same with ``gamma=0``.
    SMARTCalibrator : Calibrates the scores on held-out data.

    Notes
    -----
    The paper's recipe for deep networks is ``solver="sgd", learning_rate_init=0.1,
    momentum=0.9, batch_size=128, max_iter=350, learning_rate_milestones=(150, 250),
    max_gradient_norm=2`` and a weight decay of 5e-4, ``C = 2000 / n_samples``.

    References
    ----------
    .. [1] Y. Lin et al. Uncertainty Weighted Gradients for Model Calibration. CVPR
       2025. arXiv:2503.22725

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_smart import BrierWeightedClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = BrierWeightedClassifier(gamma=2.0).fit(X, y)
    >>> classifier.converged_
    True
    >>> classifier.predict_proba(X[:1]).round(2)
    array([[0.98, 0.02, 0.  ]])
    """

    def __init__(
        self,
        weight="brier",
        *,
        gamma=2.0,
        norm=2.0,
        gradient_only=True,
        loss="weighted",
        posterior="auto",
        link="auto",
        hidden_layer_sizes=(),
        C="auto",
        fit_intercept=True,
        class_weight=None,
        solver="auto",
        max_iter=200,
        tol=None,
        batch_size="auto",
        learning_rate_init=None,
        momentum=0.9,
        learning_rate_milestones=(),
        learning_rate_decay=0.1,
        max_gradient_norm=None,
        shuffle=True,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=10,
        warm_start=False,
        verbose=False,
        random_state=None,
    ):
        self.weight = weight
        self.gamma = gamma
        self.norm = norm
        self.gradient_only = gradient_only
        self.loss = loss
        self.posterior = posterior
        self.link = link
        self.hidden_layer_sizes = hidden_layer_sizes
        self.C = C
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.batch_size = batch_size
        self.learning_rate_init = learning_rate_init
        self.momentum = momentum
        self.learning_rate_milestones = learning_rate_milestones
        self.learning_rate_decay = learning_rate_decay
        self.max_gradient_norm = max_gradient_norm
        self.shuffle = shuffle
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None):
        """Fit the classifier.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features; sparse ones are not made dense.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Frequencies: weight 2 is a sample seen twice, weight 0 one not seen.

        Returns
        -------
        self : object
            The fitted classifier.

        Raises
        ------
        ValueError
            If a parameter is out of its range, parameters exclude each other, X is not
            finite, y has fewer than two classes or is not made of class labels, or
            weights are negative or all zero.
        """
        self._check_parameters()
        X, y, weight = self._check_data(X, y, sample_weight, reset=True)
        classes = np.unique(y)
        if len(classes) < 2:
            raise ValueError(
                "BrierWeightedClassifier needs samples of at least 2 classes in the "
                f"data, but the data contains only one class: {classes[0]!r}."
            )
        start = self._previous_parameters(classes, X) if self.warm_start else None
        self.classes_ = classes
        index = encode_labels(y, classes)
        weight = weight * self._class_factors(index, weight)[index]
        self.solver_ = self._solver()
        self.posterior_, self.link_ = self._posterior(), self._link()
        fitted = ("coef_", "intercept_", "coefs_", "intercepts_", "validation_scores_")
        for name in (*fitted, "_step", "_random"):
            vars(self).pop(name, None)
        self.residual_curve_, self.loss_curve_ = [], []
        if self.solver_ in STOCHASTIC:
            self._fit_stochastic(X, index, weight, start)
        elif self._hidden():
            self._fit_whole_network(X, index, weight, start)
        else:
            self._fit_linear(X, index, weight, start)
        if not self.converged_ and not self._stopped_early:
            warnings.warn(
                f"The {self.solver_} solver stopped after {self.n_iter_} iterations "
                f"at a residual of {self.residual_:.2e} per sample, above tol="
                f"{self._tol():g}. Increase max_iter, scale the features, or choose a "
                "smaller C.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    @available_if(_is_stochastic)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Take one epoch of steps on the given samples, with "sgd" or "adam".

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of shape (n_classes,), default=None
            All labels that calls will bring. Needed in the first call.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Frequencies.

        Returns
        -------
        self : object
            The classifier after the epoch.

        Raises
        ------
        ValueError
            As `fit`, and if ``classes`` is missing in the first call or another one
            later, or ``class_weight`` is "balanced", which needs all the data.
        """
        self._check_parameters()
        if isinstance(self.class_weight, str):
            raise ValueError(
                "class_weight='balanced' needs all the data and cannot be used with "
                "partial_fit; pass a dict of class weights, or sample_weight."
            )
        fitted = hasattr(self, "classes_")
        if not fitted and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        X, y, weight = self._check_data(X, y, sample_weight, reset=not fitted)
        if classes is not None:
            classes = np.unique(check_labels(classes, name="classes"))
            if fitted and not np.array_equal(self.classes_, classes):
                raise ValueError(
                    f"classes={classes.tolist()} differ from those of an earlier call: "
                    f"{self.classes_.tolist()}."
                )
        known = self.classes_ if fitted else classes
        if len(known) < 2:
            raise ValueError(f"at least 2 classes are needed, got {known.tolist()}.")
        index = encode_labels(y, known)
        start = self._previous_parameters(known, X) if fitted else None
        self.classes_ = known
        self.solver_ = self._solver(partial=True)
        self.posterior_, self.link_ = self._posterior(), self._link()
        weight = weight * self._class_factors(index, weight)[index]
        if not hasattr(self, "_random"):
            self._random = check_random_state(self.random_state)
            self.n_iter_, self.residual_curve_, self.loss_curve_ = 0, [], []
        descent = self._descent(X, index, weight, start, self._random)
        descent.step = getattr(self, "_step", descent.step)
        descent.n_epochs = self.n_iter_
        self._run_epoch(descent, self._random)
        self._step, self.n_iter_ = descent.step, descent.n_epochs
        self._set_network(descent.objective.model, descent.parameters)
        self._judge(descent.residual())
        return self

    def decision_function(self, X):
        """Scores: the logits of what ``link_`` says, whichever output is predicted.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes the score of the second.
        """
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X):
        """Probabilities of the classes, in the order of ``classes_``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            The raw output or the posterior, as ``posterior_`` says.

        Warns
        -----
        RuntimeWarning
            If ``gradient_only=False`` and ``posterior="bayes"``, for rows whose output
            is the stationary point of no distribution of the label.
        """
        return self._output(as_logits(self._scores(X)))

    def raw_proba(self, X):
        """The raw output ``p``, at which the weighted field vanishes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            What ``posterior="raw"`` predicts, with the scores as they were fitted.
        """
        return self._output(as_logits(self._scores(X)), posterior="raw")

    def predict_log_proba(self, X):
        """Logarithms of `predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
            At most 0.
        """
        return np.log(self.predict_proba(X))

    def predict(self, X):
        """The class of the largest predicted probability.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Entries of ``classes_``.
        """
        index = self.predict_proba(X).argmax(axis=1)
        return self.classes_[index]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _scores(self, X):
        """Scores (n, 1) or (n, K)."""
        check_is_fitted(self)
        X = validate_data(
            self, X, accept_sparse="csr", dtype=(np.float64, np.float32), reset=False
        )
        if hasattr(self, "coef_"):
            return X @ self.coef_.T + self.intercept_
        for coef, intercept in zip(self.coefs_, self.intercepts_, strict=True):
            scores = X @ coef
            scores += intercept
            X = np.maximum(scores, 0)
        return scores

    def _output(self, scores, posterior=None):
        """Probabilities of scores (n, K): the raw output or the posterior."""
        posterior = self.posterior_ if posterior is None else posterior
        wanted = "raw" if posterior == "raw" else "posterior"
        if wanted == self.link_ or self._term() in (cross_entropy, brier_score):
            return softmax(scores)
        if wanted == "raw":
            return softmax(ForwardLink(self._uncertainty(), scores).raw_logits)
        return self._inverted(scores)

    def _inverted(self, logits):
        if self._is_field():
            log_posterior = field_log_posterior(self._uncertainty(), logits)
            return np.exp(log_posterior)
        log_posterior, negative = loss_log_posterior(self._term(), logits)
        if negative.any():
            warnings.warn(
                f"{np.count_nonzero(negative)} of {len(logits)} outputs are the "
                "stationary point of no distribution of the label; the negative parts "
                "of the solution are taken as 0.",
                RuntimeWarning,
                stacklevel=4,
            )
        return np.exp(log_posterior).astype(logits.dtype)

    def _check_data(self, X, y, sample_weight, reset):
        """X, labels and weights, without the rows of weight 0."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is "
                "None."
            )
        X = validate_data(
            self, X, accept_sparse="csr", dtype=(np.float64, np.float32), reset=reset
        )
        given = np.asarray(y)
        if given.ndim == 2 and given.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        if given.dtype.kind == "f":
            assert_all_finite(given, input_name="y")
        y = check_labels(y)
        if len(y) != X.shape[0]:
            raise ValueError(
                "Found input variables with inconsistent numbers of samples: "
                f"{[X.shape[0], len(y)]} (X and y)."
            )
        weight = check_weight(sample_weight, len(y))
        if weight is None:
            return X, y, np.ones(len(y))
        kept = weight > 0
        return (X, y, weight) if kept.all() else (X[kept], y[kept], weight[kept])

    def _class_factors(self, index, weight):
        """Factor of each class; balanced where weights are frequencies."""
        n_classes = len(self.classes_)
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            mass = np.bincount(index, weight, minlength=n_classes)
            return mass.sum() / (n_classes * mass)
        return compute_class_weight(
            self.class_weight, classes=self.classes_, y=self.classes_
        )
