"""Validate the public docstrings against the numpydoc standard.

Public is what ``sklearn_smart.__all__`` names, what ``__all__`` of a module among these
names, and the public methods that these classes define themselves. Prints what is wrong
and ends with 1 where anything is.
"""

import dataclasses
import inspect
import sys

from numpydoc.validate import validate

import sklearn_smart

# Not asked for: an extended summary, examples and "See Also" everywhere, the summary on
# the line below the quotes; return values may have names, as in scikit-learn.
NOT_ASKED = {"ES01", "EX01", "GL01", "RT02", "RT03", "RT04", "SA01", "SA04", "SS05"}
NOT_ASKED_OF = {
    "callable": set(),
    # What a method of scikit-learn's protocols takes is scikit-learn's to say.
    "method": {"PR01", "RT01", "YD01"},
    # Results list as attributes what the library made them of.
    "record": {"PR01"},
}


def is_record(public):
    """Return whether a class holds results: users read it and do not make one."""
    return (
        dataclasses.is_dataclass(public)
        or (inspect.isclass(public) and issubclass(public, tuple))
        or public is sklearn_smart.CalibrationComparison
    )


def public_names():
    """Yield the full name of each public object, and what kind of object it is."""
    modules = [sklearn_smart]
    for module in modules:
        for name in module.__all__:
            public = getattr(module, name)
            full_name = f"{module.__name__}.{name}"
            if inspect.ismodule(public):
                modules.append(public)
            elif is_record(public):
                yield full_name, "record"
            elif callable(public):
                yield full_name, "callable"
            if inspect.isclass(public):
                for method, value in vars(public).items():
                    if not method.startswith("_") and callable(
                        getattr(value, "__func__", value)
                    ):
                        yield f"{full_name}.{method}", "method"


def main():
    found = 0
    for name, kind in public_names():
        for code, message in validate(name)["errors"]:
            if code not in NOT_ASKED | NOT_ASKED_OF[kind]:
                print(f"{name}: {code} {message}")
                found += 1
    print(f"{found} problem(s) in public docstrings")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
