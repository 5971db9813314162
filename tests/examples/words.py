"""Models of words."""

from examples import Example
from polyadic import SymmetricCP
from polyadic.data import Entries

TRIPLES = Entries.collect([[0, 1, 2], [3, 4, 5], [1, 3, 5]], [1.0, 1.0, 0.5], 6)

EXAMPLES = [
    Example(
        make=lambda: SymmetricCP(2, max_iter=4, tol=0.0, seed=0, threads=1),
        fit=lambda model: model.fit(TRIPLES),
        ask=lambda model: [model.predict([[0, 1, 2], [0, 1, 5]]), model.embedding(list("abcdef")).vectors],
    ),
]
