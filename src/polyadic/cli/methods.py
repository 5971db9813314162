"""The methods of ``polyadic train``: what each is made of, and which options it has."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from polyadic.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

Options = dict[str, Any]
"""Options of the model that were given, by name; the others have the model's own defaults."""


@dataclass(frozen=True)
class Method:
    """A method.

    Attributes
    ----------
    make : callable
        Takes the options that were given to a model.
    needs : {"corpus", "counts", "ppmi", "contexts"}
        What the model is fitted to; contexts are counts of pairs, or of words and those on one side of them.
    options : tuple of str
        The options it has, besides rank and seed.
    order : int
        Words in a tuple, unless said otherwise.
    orders : tuple of int
        The orders it can be fitted to.
    joint : bool
        Whether it is fitted to all orders from 2 on at once.
    pairs : dict
        What the counts and associations of pairs are by default, where it differs from those of larger tuples.
    """

    make: Callable[[Options], Any]
    needs: Literal["corpus", "counts", "ppmi", "contexts"]
    options: tuple[str, ...] = ()
    order: int = 3
    orders: tuple[int, ...] = (2, 3, 4, 5)
    joint: bool = False
    pairs: Options = field(default_factory=dict)

    def default(self, name: str, orders: tuple[int, ...]) -> tuple[Any, ...]:
        """Give the default of an option of counts or weights for each order."""
        usual = {"tuple_min_count": 2, "width": 10, "smoothing": 1.0}[name]
        pairs = 1 if name == "tuple_min_count" else self.pairs.get(name, usual)
        return tuple(pairs if order == 2 else usual for order in orders)

    @property
    def has(self) -> tuple[str, ...]:
        """The options of the model."""
        return ("rank", "seed", *self.options)


def _symmetric(given: Options, penalty: str, strength: str) -> Any:
    from polyadic import penalties
    from polyadic.models.words.symmetric import SymmetricCP

    given = dict(given)
    if given.get("solver") != "online" and (idle := {"step", "batch", "sampled_zeros"} & set(given)):
        raise InputError(f"--{min(idle).replace('_', '-')} is an option of --solver online")
    if "sampled_zeros" in given:
        given.setdefault("zero_weight", 0.0)  # drawn zeros stand in the place of exact ones
    online: Options = {name: given.pop(name) for name in ("step", "batch", "sampled_zeros") if name in given}
    if given.pop("solver", "") == "online":
        given["solver"] = _online(online, given.get("seed"))
    return SymmetricCP(penalty=getattr(penalties, penalty)(given.pop(strength, 0.0)), **given)


def _online(options: Options, seed: int | None) -> Any:
    from functools import partial

    from polyadic.solvers import Adam, stochastic

    how: Options = {"seed": seed, "batch": options.get("batch"), "zeros": options.get("sampled_zeros")}
    how["rule"] = Adam(step=options["step"]) if "step" in options else None
    return partial(stochastic, **{name: value for name, value in how.items() if value is not None})


def _non_negative(given: Options) -> Any:
    return _symmetric(given, "NonNegative", "l1")


def _free(given: Options) -> Any:
    return _symmetric(given, "L2", "l2")


def _jcp(given: Options) -> Any:
    from polyadic.models.words.joint import JointCP

    return JointCP(**given)


def _cp(given: Options) -> Any:
    from polyadic.models.words.asymmetric import AsymmetricCP

    return AsymmetricCP(**given)


def _tucker(given: Options) -> Any:
    from polyadic.models.words.tucker import Tucker

    return Tucker(**given)


def _cp_apr(given: Options) -> Any:
    from polyadic.models.words.poisson import PoissonCP

    return PoissonCP(**given)


def _ppmi_svd(given: Options) -> Any:
    from polyadic.models.words.pairwise import PPMISVD

    return PPMISVD(**given)


def _nnse(given: Options) -> Any:
    from polyadic.models.words.sparse_coding import NNSE

    return NNSE(**given)


def _glove(given: Options) -> Any:
    from polyadic.models.words.glove import GloVe

    return GloVe(**given)


def _cbow(given: Options) -> Any:
    from polyadic.models.words.neural import Word2Vec

    return Word2Vec(method="cbow", **_renamed(given))


def _sgns(given: Options) -> Any:
    from polyadic.models.words.neural import Word2Vec

    return Word2Vec(method="sgns", **_renamed(given))


def _renamed(given: Options) -> Options:
    """Call the window of word2vec what gensim calls it; ``--window`` is a kind of window of counts."""
    return {"window" if name == "context" else name: value for name, value in given.items()}


def _root_ca(given: Options) -> Any:
    return _correspondence({"temper": 0.5} | given)


def _g_test(given: Options) -> Any:
    return _correspondence({"case": "g-test"} | given)


def _correspondence(given: Options) -> Any:
    from polyadic.datasets import read_pairs
    from polyadic.models.tables.vectors import CorrespondenceVectors
    from polyadic.text.stopwords import stop_words

    given = dict(given)
    given |= {name: given[name][0] for name in ("shift", "smoothing") if name in given}  # there is one order
    if "scores" in given:
        given["scores"] = read_pairs(given["scores"])
    if "stop_weight" in given:
        given["stop_words"] = stop_words("english")
    return CorrespondenceVectors(**given)


def _random(given: Options) -> Any:
    from polyadic.models.words.chance import RandomVectors

    return RandomVectors(**given)


ITERATED = ("max_iter", "tol", "threads")
SYMMETRIC = (*ITERATED, "zero_weight", "zero_power", "validation", "start", "solver", "step", "batch", "sampled_zeros")
JOINT = (*SYMMETRIC, "order_weights")
TABLE = ("side", "power")
NEURAL = ("epochs", "context", "negative", "threads")

METHODS = {
    "jcp": Method(
        _jcp,
        "ppmi",
        (*ITERATED, "themes", "coupling", "order_weights", "l1", "start"),
        orders=(3, 4, 5),
        joint=True,
        pairs={"width": 5, "smoothing": 0.75},
    ),
    "cp": Method(_cp, "ppmi", (*ITERATED, "orthogonal")),
    "cp-s": Method(_free, "ppmi", (*SYMMETRIC, "l2")),
    "cp-sn": Method(_non_negative, "ppmi", (*SYMMETRIC, "l1")),
    "jcp-s": Method(_free, "ppmi", (*JOINT, "l2"), joint=True),
    "jcp-sn": Method(_non_negative, "ppmi", (*JOINT, "l1"), joint=True),
    "tucker": Method(_tucker, "ppmi", ITERATED, orders=(2, 3, 4)),
    "cp-apr": Method(_cp_apr, "counts", ITERATED),
    "ppmi-svd": Method(_ppmi_svd, "ppmi", ("power",), order=2, orders=(2,)),
    "ca": Method(_correspondence, "contexts", (*TABLE, "temper"), order=2, orders=(2,), pairs={"width": 5}),
    "root-ca": Method(_root_ca, "contexts", TABLE, order=2, orders=(2,), pairs={"width": 2}),
    "g-test": Method(_g_test, "contexts", TABLE, order=2, orders=(2,)),
    "kca": Method(
        _correspondence,
        "contexts",
        (*TABLE, "temper", "case", "shift", "smoothing", "stop_weight", "scores", "score_weight"),
        order=2,
        orders=(2,),
    ),
    "nnse": Method(_nnse, "ppmi", (*ITERATED, "l1"), order=2, orders=(2,)),
    "glove": Method(_glove, "counts", ("epochs", "threads"), order=2, orders=(2,)),
    "cbow": Method(_cbow, "corpus", NEURAL),
    "sgns": Method(_sgns, "corpus", NEURAL),
    "random": Method(_random, "corpus"),
}
