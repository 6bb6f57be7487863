"""How fast this package is: beside rivals, beside an earlier revision, as data grow.

``python -m benchmarks.speed run``, ``compare`` and ``grow``, from the root of a clone.
`docs/speed.md` has the figures.
"""
