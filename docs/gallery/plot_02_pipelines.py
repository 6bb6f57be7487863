"""
Forest, boosting, SVM and network in pipelines
==============================================

Any classifier can be calibrated, alone or at the end of a pipeline: with
``predict_proba`` or with a decision function only, as the support vector machine here.
"""

# %%
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from sklearn_smart import CalibratedClassifierCV, metrics

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, train_size=500, random_state=0, stratify=y
)
models = {
    "forest": RandomForestClassifier(random_state=0),
    "boosting": HistGradientBoostingClassifier(max_iter=30, random_state=0),
    "SVM": make_pipeline(StandardScaler(), SVC()),
    "network": make_pipeline(
        StandardScaler(), MLPClassifier(max_iter=1000, random_state=0)
    ),
}

# %%
# Three folds each; by default as many pairs of model and calibrator, whose
# probabilities are averaged.
results = {}
for name, model in models.items():
    calibrated = CalibratedClassifierCV(model, cv=3).fit(X_train, y_train)
    y_prob = calibrated.predict_proba(X_test)
    before = None
    if hasattr(model, "predict_proba"):
        before = metrics.log_loss(
            y_test, model.fit(X_train, y_train).predict_proba(X_test)
        )
    results[name] = before, metrics.log_loss(y_test, y_prob)
    was = "no probabilities" if before is None else f"log loss {before:.3f}"
    print(f"{name:10} {was}, calibrated {results[name][1]:.3f}")

# %%
import matplotlib.pyplot as plt

figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
for at, (before, after) in enumerate(results.values()):
    if before is not None:
        ax.barh(at + 0.2, before, height=0.35, color="0.75")
    ax.barh(at - 0.2, after, height=0.35, color="C0")
ax.set_yticks(range(len(results)), results)
ax.set_xlabel("log loss of test rows, lower is better (grey: as trained)")
