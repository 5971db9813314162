"""Methods for training word vectors, with the model, input and default settings of each method.

A new method is a new row of :data:`METHODS`. The defaults here are used by Python, the command line and the
experiments; those of the models are in their classes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence  # read when settings are checked
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from polyadic import tables, words
from polyadic.core.errors import InputError
from polyadic.core.settings import Amount, Count, Seed  # noqa: TC001 # read when settings are checked

Options = dict[str, Any]
Data = Literal["corpus", "contexts", "counts", "associations"]
"""Input of a model; contexts are counts of pairs, possibly one-sided or positional."""


@dataclass(frozen=True)
class WordMethod:
    """Method for training word vectors: a model class, and how its input is counted and weighted."""

    model: str  # public name of the class
    fitted_to: Data = "associations"
    fixed: Options = field(default_factory=dict)  # settings of the model that define this method
    strength: str = ""  # name of the strength of its penalty, if it has one
    order: int = 3  # default number of words in a tuple
    orders: tuple[int, ...] = (2, 3, 4, 5)  # possible ones
    joint: bool = False  # whether it is fitted to all orders from 2 on at once
    pairs: Options = field(default_factory=dict)  # defaults of counting and weighting pairs, where they differ

    @property
    def cls(self) -> Any:
        """Python class of the model that this training method fits."""
        return getattr(words if self.model in words.HOMES else tables, self.model)

    @property
    def options(self) -> set[str]:
        """Names of the model settings that the user can choose."""
        names = {setting.name for setting in dataclasses.fields(self.cls) if setting.init}
        if self.strength:
            names |= {self.strength, "learning_rate", "batch", "sampled_zeros"}
        renamed = {RENAMED.get(self.model, {}).get(name, name) for name in names}
        if self.model not in STARTED:
            renamed.discard("start")
        return renamed - {*self.fixed, "penalty", "callback", "words", "stop_words"}

    def default(self, name: str, order: int) -> Any:
        """Return the default of a counting or weighting setting for tuples of a given order."""
        usual: Options = {"tuple_min_count": 1 if order == 2 else 2, "width": 10, "smoothing": 1.0}
        return (self.pairs if order == 2 else {}).get(name, usual[name])

    def penalty(self, strength: float = 0.0) -> Any:
        """Return a penalty object with the given strength."""
        from polyadic.core.penalties import L2, NonNegative

        return {"l1": NonNegative, "l2": L2}[self.strength](strength)

    def make(self, options: Mapping[str, Any]) -> Any:
        """Create the model with the given options."""
        options = {RENAMED_BACK.get(self.model, {}).get(name, name): value for name, value in options.items()}
        adapt = ADAPTED.get(self.model)
        return self.cls(**self.fixed, **(adapt(self, options) if adapt else options))


NEAR: Options = {"width": 5, "smoothing": 0.75}
"""The window and the smoothing that Levy, Goldberg and Dagan (2015) recommend for pairs."""
PAIRS: Options = {"order": 2, "orders": (2,)}
METHODS = {
    "jcp": WordMethod("JointCP", orders=(3, 4, 5), joint=True, pairs=NEAR),
    "cp-sn": WordMethod("SymmetricCP", strength="l1"),
    "cp-s": WordMethod("SymmetricCP", strength="l2"),
    "cp": WordMethod("AsymmetricCP"),
    "jcp-sn": WordMethod("SymmetricCP", strength="l1", joint=True),
    "jcp-s": WordMethod("SymmetricCP", strength="l2", joint=True),
    "tucker": WordMethod("Tucker", orders=(2, 3, 4)),
    "cp-apr": WordMethod("PoissonCP", "counts"),
    "ppmi-svd": WordMethod("PPMISVD", pairs=NEAR, **PAIRS),
    "ca": WordMethod("CorrespondenceVectors", "contexts", {"residual": "ca"}, pairs={"width": 5}, **PAIRS),
    "root-ca": WordMethod("CorrespondenceVectors", "contexts", {"count_exponent": 0.5}, pairs={"width": 2}, **PAIRS),
    "g-test": WordMethod("CorrespondenceVectors", "contexts", {"residual": "g-test"}, **PAIRS),
    "kca": WordMethod("CorrespondenceVectors", "contexts", **PAIRS),
    "nnse": WordMethod("NNSE", pairs=NEAR, **PAIRS),
    "glove": WordMethod("GloVe", "counts", **PAIRS),
    "cbow": WordMethod("Word2Vec", "corpus", {"method": "cbow"}),
    "sgns": WordMethod("Word2Vec", "corpus", {"method": "sgns"}),
    "random": WordMethod("RandomVectors", "corpus"),
}
STARTED = ("JointCP", "SymmetricCP")  # models that can start from given vectors, such as those of an interrupted fit
RENAMED = {"Word2Vec": {"window": "context"}}
"""Settings of models with another name here, because ``window`` is the kind of window for counting tuples."""
RENAMED_BACK = {model: {new: old for old, new in names.items()} for model, names in RENAMED.items()}


def _symmetric(method: WordMethod, options: Options) -> Options:
    """Convert command-line options to SymmetricCP arguments, with penalty and solver objects."""
    from polyadic.core.solvers.adaptive import Adam
    from polyadic.core.solvers.quasi_newton import quasi_newton
    from polyadic.core.solvers.stochastic import stochastic

    online = {name: options.pop(name) for name in ("learning_rate", "batch", "sampled_zeros") if name in options}
    solver = options.pop("solver", "quasi-newton")
    if solver != "online" and online:
        raise InputError(f"{min(online)} can be used only with the solver 'online'", min(online))
    if "sampled_zeros" in online:
        options.setdefault("zero_weight", 0.0)  # sampled zeros replace exact ones
    options["penalty"] = method.penalty(options.pop(method.strength, 0.0))
    if solver == "online":
        how: Options = {"batch": online.get("batch"), "zeros": online.get("sampled_zeros"), "seed": options.get("seed")}
        how["rule"] = Adam(online["learning_rate"]) if "learning_rate" in online else None
        solver = partial(stochastic, **{name: value for name, value in how.items() if value is not None})
    return options | {"solver": quasi_newton if solver == "quasi-newton" else solver}


def _correspondence(_: WordMethod, options: Options) -> Options:
    """Convert command-line options to CorrespondenceVectors arguments, loading scores and stop words."""
    from polyadic.datasets import read_pairs
    from polyadic.text.stopwords import stop_words

    if isinstance(options.get("scores"), str | Path):
        options["scores"] = read_pairs(options["scores"])
    if "stop_weight" in options:
        options["stop_words"] = stop_words("english")
    return options


ADAPTED: dict[str, Callable[[WordMethod, Options], Options]] = {
    "SymmetricCP": _symmetric,
    "CorrespondenceVectors": _correspondence,
}
READING = ("format", "field", "wrapped", "encoding", "errors", "include", "documents")
TEXT = ("min_count", "max_size", "language", "stop_words", "tokenised", "lemmas", "multiwords", *READING)
COUNTED = ("order", "window", "width", "distance", "tuple_min_count", "contexts", "positional", "memory")
WEIGHED = ("shift", "smoothing", "weights")  # settings of the steps before the model
BY_ORDER = ("width", "tuple_min_count", "shift", "smoothing", "weights")
"""Settings that may differ between orders, as a tuple."""


@dataclass(frozen=True, kw_only=True)
class Training:
    """Settings for training word vectors, except for the settings of the model.

    See :func:`~polyadic.words.training.train`. A tuple of values has one value per order; the command line writes it as
    ``5/10``.

    Parameters
    ----------
    method : str, optional
        Method: jcp, cp-sn, cp-s, jcp-sn, jcp-s, cp, tucker, cp-apr, ppmi-svd, nnse, glove, ca, root-ca, g-test, kca,
        cbow, sgns or random (default: jcp; cp-sn for a folder of counts). See :data:`METHODS`.
    min_count : int
        Minimum frequency of a word. See :meth:`~polyadic.text.corpus.Corpus.build`.
    max_size : int, optional
        Maximum size of the vocabulary.
    language : str
        Language code of the text, such as de; auto detects it.
    stop_words : str, path, list or None
        Stop words to remove: language (the list for the language of the text), auto (words that occur throughout the
        text), none, the name of a language such as german, or a file (default: language).
    format : str
        Format of the files; auto detects it. See :class:`~polyadic.text.pieces.Reading`.
    field : str, optional
        Table column, or field of JSON lines, that contains the text; for CoNLL-U, form or lemma.
    wrapped : bool, optional
        Whether lines were broken to fit a page (default: detected from the lengths of lines).
    encoding : str
        Encoding of the text files, such as cp1252; auto detects it for each file.
    errors : str
        Treatment of unreadable files: skip the file, raise an error (strict), or replace or ignore the bytes.
    include : list of str, optional
        Kinds of structure to read as text, such as notes. See :class:`~polyadic.text.pieces.Reading`.
    documents : str, optional
        Unit that is a document: paragraph, line, sentence, heading, speaker or a number of words (default: a file or
        a row).
    tokenised : bool
        Whether the text is already tokenized, with one sentence per line and spaces between words.
    lemmas : bool
        Whether to replace words by their lemmas.
    multiwords : bool
        Whether to join two-word collocations, such as ``new_york``.
    order : int, optional
        Number of words in a tuple (default: 3; 2 for pairwise methods).
    window : {"span", "centred", "chunk"}
        Type of window in which word tuples are counted (default: span). See :func:`~polyadic.text.counts.count`.
    width : int or sequence of int, optional
        Window width in words, or one width per tuple order, such as 5/10 (default: 10; 5/10 for jcp, 5 for ca, 2 for
        root-ca).
    distance : {"kept", "running"}
        Words in which the window width is measured: words kept for training, or all running words of the text.
    tuple_min_count : int or sequence of int, optional
        Minimum count of a tuple, or one minimum per tuple order (default: 2; 1 for pairs).
    contexts : {"both", "left", "right"}
        Side of the context words (method ca and related methods). See :func:`~polyadic.text.contexts.contexts`.
    positional : bool
        Whether context words at different positions have different columns.
    memory : int, optional
        Memory limit for counting tuples, in bytes.
    shift : float or sequence of float
        Shift k in the PMI weights max(PMI - log k, 0), or one per tuple order. See
        :func:`~polyadic.text.weighting.ppmi`.
    smoothing : float or sequence of float, optional
        Exponent of the word frequencies in the PMI, or one per tuple order (default: 1; 0.75/1 for jcp).
    weights : str or tuple, or a sequence of these
        Weight of a tuple of count n: log (log(1 + n)), count (n), uniform (1), or X,A (min(n / X, 1)^A); or one per
        tuple order, such as log/count.
    seed : int, optional
        Random seed.
    threads : int, optional
        Number of threads (default: all cores; 1 for cbow and sgns).
    """

    method: str | None = None
    min_count: Count = 10
    max_size: Count | None = 20_000
    language: str = "auto"
    stop_words: Any = "language"
    tokenised: bool = False
    lemmas: bool = False
    multiwords: bool = False
    format: str = "auto"
    field: str | None = None
    wrapped: bool | None = None
    encoding: str = "auto"
    errors: str = "skip"
    include: list[str] | None = None
    documents: str | None = None
    order: Literal[2, 3, 4, 5] | None = None
    window: Literal["span", "centred", "chunk"] = "span"
    width: Count | Sequence[Count] | None = None
    distance: Literal["kept", "running"] = "kept"
    tuple_min_count: Count | Sequence[Count] | None = None
    contexts: Literal["both", "left", "right"] = "both"
    positional: bool = False
    memory: Count | None = None
    shift: float | Sequence[float] = 1.0
    smoothing: float | Sequence[float] | None = None
    weights: Any = "log"
    seed: Seed = 0
    threads: Count | None = None


@dataclass(frozen=True, kw_only=True)
class MethodOptions:
    """Method settings that are not parameters of the model class, or that have a different default in training.

    Parameters
    ----------
    rank : int, optional
        Number of dimensions of the vectors (default: as many as the text supports, at most 300; tucker 50, cp-apr 100).
    n_nonnegative : int, optional
        Number of non-negative dimensions, which explain larger tuples (default: half of the rank; a quarter at 300).
    l1 : float, optional
        Strength of the L1 penalty of cp-sn, jcp-sn, jcp and nnse (default: 0; 0.05 for nnse).
    l2 : float, optional
        Strength of the L2 penalty of cp-s and jcp-s.
    zero_weight : float, optional
        Mean weight of tuples that do not occur in the text.
    order_weights : sequence of float, optional
        Weight of each tuple order, starting with pairs, such as 1/0.5.
    residual : {"ca", "gini", "g-test", "sgns", "glove"}
        Residuals from independence to analyse, given as the name of a method.
    scores : path, optional
        File of word pairs with similarity scores to learn from.
    max_iter : int, optional
        Maximum number of iterations (default: 100; 50 for cp, tucker and nnse).
    tol : float, optional
        Relative change of the objective at which the fit stops (default: 0.001).
    solver : {"quasi-newton", "online"}
        Solver: quasi-Newton with full gradients, or Adam with batches (online).
    learning_rate : float, optional
        Learning rate of the online solver, of glove, cbow and sgns.
    batch : int, optional
        Number of tuples per batch of the online solver (default: a 256th of all).
    sampled_zeros : float, optional
        Number of unobserved tuples sampled per observed tuple by the online solver.
    epochs : int, optional
        Number of training epochs of glove, cbow and sgns (default: 25; 5 for cbow and sgns).
    context : int
        Number of context words on each side of a word (cbow and sgns).
    start : str, optional
        Folder or file of initial word vectors, which must contain all words and have at most the given rank (default:
        random).
    """

    rank: Count | None = None
    n_nonnegative: Count | None = None
    l1: Amount | None = None
    l2: Amount | None = None
    zero_weight: Amount | None = None
    order_weights: Sequence[Amount] | None = None
    residual: Literal["ca", "gini", "g-test", "sgns", "glove"] = "ca"
    scores: Path | None = None
    max_iter: Count | None = None
    tol: Amount | None = None
    solver: Literal["quasi-newton", "online"] = "quasi-newton"
    learning_rate: Amount | None = None
    batch: Count | None = None
    sampled_zeros: Amount | None = None
    epochs: Count | None = None
    context: Count = 5
    start: str | None = None
