"""Sphinx configuration of the site.

    sphinx-build -W --keep-going -b html docs docs/_build/html

Pages are Markdown; the gallery is executed, the reference is made from the docstrings.
"""

import inspect
import sys
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx_gallery.sorting import FileNameSortKey

import sklearn_smart

sys.path.insert(0, str(Path(__file__).parent))

project = "sklearn_smart"
author = "The sklearn_smart developers"
copyright = author
version = release = sklearn_smart.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery"]
suppress_warnings = ["config.cache"]

# `SMARTCalibrator` in a docstring is a link where there is such a name.
default_role = "autolink"
# A reference that finds nothing is a warning, and with -W an error. Names of other
# libraries stay plain text: the build needs no network.
nitpicky = True
nitpick_ignore_regex = [
    (r"py:.*", r"(lightgbm|matplotlib|numpy|pandas|scipy|sklearn|torch|xgboost)\..*"),
]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_default_options = {"inherited-members": None}
# The losses are documented where PyTorch is not installed too.
autodoc_mock_imports = ["torch", "xgboost", "lightgbm"]
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_examples",
    "within_subsection_order": FileNameSortKey,
    "backreferences_dir": None,
    "capture_repr": (),  # what is printed, not the repr of the last axes
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,  # a page that loads scripts from elsewhere
    "min_reported_time": 10,
    "abort_on_example_error": True,
}

html_theme = "furo"
html_title = "sklearn_smart"
html_static_path = ["_static"]
html_css_files = ["site.css"]
templates_path = ["_templates"]
html_theme_options = {"navigation_with_keys": True}


def public_names():
    """Targets of the names that pages write as code, such as `SMARTCalibrator`."""
    names = {name: f"sklearn_smart.{name}" for name in sklearn_smart.__all__}
    for name in sklearn_smart.metrics.__all__:
        names[name] = names[f"metrics.{name}"] = f"sklearn_smart.metrics.{name}"
    for name in (
        "boosting_objectives.BrierWeightedObjective",
        "boosting_objectives.raw_scores",
        "calibrators.feasible_temperatures",
        "torch_losses.BrierWeightedLoss",
    ):
        names[name] = names[name.rpartition(".")[2]] = f"sklearn_smart.{name}"
    return names


def link_names(app, doctree):
    """Make code that is a public name a link into the reference.

    The pages stay plain Markdown, which reads well where the site is not built.
    """
    names = public_names()
    for literal in list(doctree.findall(nodes.literal)):
        name = literal.astext().partition("(")[0].removeprefix("sklearn_smart.")
        inside = isinstance(literal.parent, (nodes.reference, pending_xref))
        if name in names and not inside:
            reference = pending_xref(
                "",
                literal.deepcopy(),
                refdomain="py",
                reftype="obj",
                reftarget=names[name],
                refexplicit=True,
                refwarn=True,
                refdoc=app.env.docname,
            )
            literal.replace_self(reference)


def skip_of_scikit_learn(app, what, name, obj, skip, options):
    """Leave out what every estimator inherits from scikit-learn, whose site has it."""
    module = getattr(obj, "__module__", None) or ""
    return True if module.startswith("sklearn.") else skip


def signature_of_a_mocked_class(app, what, name, obj, options, signature, returns):
    """The parameters of the loss: those of its base are unknown without PyTorch."""
    if name != "sklearn_smart.torch_losses.BrierWeightedLoss":
        return None
    _, *parameters = inspect.signature(obj.__init__).parameters.values()
    return str(inspect.Signature(parameters)), None


def setup(app):
    """Connect what this file adds to Sphinx."""
    app.connect("autodoc-skip-member", skip_of_scikit_learn)
    app.connect("autodoc-process-signature", signature_of_a_mocked_class)
    app.connect("doctree-read", link_names)
