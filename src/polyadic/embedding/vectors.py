"""Word embeddings, with nearest neighbours, phrases, analogies, and serialization."""

from __future__ import annotations

import difflib
import json
import math
import os
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from html import escape
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from polyadic.core.containers import elements_of
from polyadic.core.errors import InputError, check_choice, check_int, check_number, needing, unreadable
from polyadic.core.files import check_whole, read_meta, whole_folder, write_meta

KIND, VERSION = "embedding", 2
DTYPES = {"F16": "<f2", "F32": "<f4", "F64": "<f8"}  # of safetensors; bfloat16 has no numpy type
UNKNOWN = ("raise", "zero", "skip")
SHOWN = 5  # number of words shown in a notebook
BLEND = 0.25  # weight of the sum in the vector of a phrase; measured in docs/results/third-order.md
MUL_EPS = 1e-3  # keeps 3CosMul finite where a candidate is opposite to the word it divides by


class Embedding:
    r"""Word embedding that maps each word :math:`w` to a vector :math:`u_w`.

    Words are compared by the cosine of their vectors,

    .. math:: \cos(u_v, u_w) = \frac{u_v \cdot u_w}{\|u_v\| \|u_w\|} ,

    which is 0 for a zero vector. A phrase is represented by what its words have in common (:meth:`phrase`).

    Parameters
    ----------
    words : iterable of str
        Vocabulary without repetition; by convention in falling order of frequency.
    vectors : array-like of shape (V, R)
        Matrix with one finite row per word. Floating types are kept, others become float32. The array is not copied;
        ``Embedding.vectors`` is a read-only view of it.
    counts : array-like of shape (V,), optional
        Number of occurrences of each word.
    unknown : {"raise", "zero", "skip"}
        Policy for words outside the vocabulary. ``"raise"``: raise :class:`~polyadic.core.errors.InputError` with
        similar spellings. ``"zero"``: use a vector of zeros. ``"skip"``: leave the word out of phrases and lists of
        words, and raise an error where nothing would be left (one word, a similarity, an analogy).
    components : int, optional
        Number of columns, counted from the last, that are components, i.e. whose products are meaningful. Phrases and
        descriptions of components use only these columns; by default all columns are components.
    meta : dict, optional
        JSON-serializable metadata that is saved with the vectors, for example training settings.

    Examples
    --------
    >>> embedding = Embedding(["star", "film", "sun"], [[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    >>> embedding.neighbours("star", top=1)
    [('film', 0.707...)]
    >>> embedding.neighbours("star", "sun", top=1)  # the sense of "star" that "sun" selects, queries left out
    [('film', 0.077...)]
    """

    def __init__(
        self,
        words: Iterable[str],
        vectors: np.ndarray | Sequence[Sequence[float]],
        *,
        counts: np.ndarray | Sequence[int] | None = None,
        unknown: str = "raise",
        components: int | None = None,
        meta: dict[str, Any] | None = None,
    ) -> None:
        self.words, self.index = _check_words(words)
        self.vectors = _check_vectors(vectors, self.words)
        self.counts = None if counts is None else _check_counts(counts, len(self.words))
        self.unknown = check_choice("unknown", unknown, UNKNOWN)
        self.meta = {} if meta is None else dict(meta)
        size = self.rank if components is None else check_int("components", components, low=1, high=self.rank)
        self._n_components = None if size == self.rank else size

    @property
    def rank(self) -> int:
        """Number of dimensions of the word vectors."""
        return int(self.vectors.shape[1])

    @cached_property
    def unit(self) -> np.ndarray:
        """Word vectors normalized to unit length, shape (V, R); zero rows stay zero."""
        return unit_rows(self.vectors)

    @cached_property
    def components(self) -> Embedding:
        """Embedding with only the component columns; the embedding itself if all columns are components."""
        if self._n_components is None:
            return self
        return Embedding(self.words, self.vectors[:, -self._n_components :], counts=self.counts, unknown=self.unknown)

    @cached_property
    def has_nonnegative_components(self) -> bool:
        """Whether all component columns are non-negative, which is required for products of vectors."""
        return bool(self.components.vectors.min() >= 0)

    @cached_property
    def sparsity(self) -> float:
        """Fraction of vector elements that are exactly zero."""
        return 1 - np.count_nonzero(self.vectors) / self.vectors.size

    @property
    def index_to_key(self) -> tuple[str, ...]:
        """Vocabulary in row order, under the name used by gensim's ``KeyedVectors``."""
        return self.words

    @property
    def key_to_index(self) -> dict[str, int]:
        """Row index of each word, under the name used by gensim's ``KeyedVectors``."""
        return self.index

    vector_size = rank
    """Number of dimensions, under the name used by gensim's ``KeyedVectors``."""

    def to_gensim(self) -> Any:
        """Convert to ``gensim.models.KeyedVectors``, with words, vectors and counts.

        Needs the extra ``gensim``. The number of components is lost; a warning says so.
        """
        with needing("gensim", "gensim", "KeyedVectors"):
            from gensim.models import KeyedVectors
        self.warn_of_components()
        keyed = KeyedVectors(self.rank, dtype=self.vectors.dtype)
        keyed.add_vectors(list(self.words), self.vectors)
        if self.counts is not None:
            for word, count in zip(self.words, self.counts.tolist(), strict=True):
                keyed.set_vecattr(word, "count", count)
        return keyed

    @classmethod
    def from_gensim(cls, keyed: Any) -> Embedding:
        """Create an embedding from gensim's ``KeyedVectors``, or from a gensim model with the attribute ``wv``."""
        keyed = getattr(keyed, "wv", keyed)
        if not hasattr(keyed, "index_to_key") or not hasattr(keyed, "vectors"):
            raise InputError(
                f"from_gensim requires KeyedVectors or a model with the attribute wv; got {type(keyed).__name__}"
            )
        words = list(keyed.index_to_key)
        counted = "count" in getattr(keyed, "expandos", {})
        counts = [int(keyed.get_vecattr(word, "count")) for word in words] if counted else None
        return cls(words, np.array(keyed.vectors), counts=counts)

    def to_spacy(self) -> Any:
        """Convert to ``spacy.vectors.Vectors``, which can be assigned to ``nlp.vocab.vectors``.

        Needs the extra ``spacy``. Vectors are float32. If no word begins with a capital, each word is also found
        capitalized and in upper case. The number of components is lost; a warning says so.
        """
        with needing("spacy", "spacy", "a table of vectors of spaCy"):
            from spacy.strings import StringStore
            from spacy.vectors import Vectors
        self.warn_of_components()
        # spaCy looks words up as they stand; of several with the same capitals the most frequent has them
        small = reversed(self.words) if self.lowercase else ()
        keys = {form: self.index[word] for word in small for form in (word.upper(), word[:1].upper() + word[1:])}
        keys |= self.index
        table = Vectors(strings=StringStore(keys), data=np.array(self.vectors, np.float32), name="polyadic")
        for key, row in keys.items():
            table.add(key, row=row)
        return table

    def warn_of_components(self) -> None:
        """Warn that an exported embedding loses the distinction between component columns and other columns."""
        if self.components is not self:
            here = f"here, the last {self.components.rank} of {self.rank}"
            what = f"the exported vectors do not record which columns are non-negative components ({here})"
            advice = "for phrases and senses, use the embedding saved by polyadic"
            warnings.warn(f"{what}; {advice}", stacklevel=3)

    def to_sparse(self) -> Any:
        """Return the vectors as a :class:`scipy.sparse.csr_array` of shape (V, R)."""
        from scipy.sparse import csr_array

        return csr_array(self.vectors)

    @cached_property
    def lowercase(self) -> bool:
        """Whether no word in the vocabulary begins with an upper-case letter."""
        return not any(word[:1] != word[:1].lower() for word in self.words)

    def __deepcopy__(self, memo: dict[int, Any]) -> Embedding:
        return self  # it does not change, and models are cloned with it again and again

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.index

    def __repr__(self) -> str:
        return f"Embedding({len(self):,} words x {self.rank}, {self.vectors.dtype})"

    def _repr_html_(self) -> str:
        """Return an HTML representation for notebooks: the size, and the nearest neighbours of the first words."""
        near = [(word, ", ".join(other for other, _ in self.neighbours(word, top=5))) for word in self.words[:SHOWN]]
        rows = "".join(f"<tr><td>{escape(word)}</td><td>{escape(others)}</td></tr>" for word, others in near)
        return f"<p>{escape(repr(self))}</p><table><tr><th>word</th><th>nearest</th></tr>{rows}</table>"

    def __getitem__(self, word: str) -> np.ndarray:
        if word in self.index:
            return self.vectors[self.index[word]]
        if self.unknown == "zero":
            return np.zeros(self.rank, self.vectors.dtype)
        raise self._unknown(word)

    def find(self, word: str) -> int | None:
        """Return the row index of a word, or None if the word is unknown.

        If the whole vocabulary is in lower case, unknown words are also looked up in lower case.

        >>> Embedding(["israel"], [[1.0]]).find("Israel")
        0
        """
        row = self.index.get(word)
        return self.index.get(word.lower()) if row is None and self.lowercase else row

    def lookup(self, words: Iterable[str]) -> np.ndarray:
        """Return the vectors of several words, shape (n, R); the ``unknown`` policy applies to unknown words."""
        if isinstance(words, str):
            raise InputError(f"lookup requires a list of words; for a single word, use embedding[{words!r}]")
        asked = list(words)
        kept = [word for word in asked if word in self.index or self.unknown != "skip"]
        if asked and not kept:
            raise self._unknown(asked[0])
        return np.array([self[word] for word in kept], self.vectors.dtype).reshape(-1, self.rank)

    def similarity(self, u: str, v: str) -> float:
        """Return the cosine similarity of two words; 0 if either vector is zero.

        >>> round(Embedding(["a", "b"], [[3.0, 4.0], [1.0, 0.0]]).similarity("a", "b"), 6)
        0.6
        """
        a, b = unit_rows(np.stack([self[u], self[v]]).astype(np.float64))
        return float(np.clip(a @ b, -1, 1))

    def product(self, *words: str) -> np.ndarray:
        """Return the elementwise product of the component vectors of several words, which emphasizes shared components.

        It has the shape (number of components,), and is in float64, so that small numbers do not underflow.

        >>> Embedding(["a", "b"], [[3.0, 4.0], [1.0, 0.0]]).product("a", "b")
        array([3., 0.])

        The source is Bailey, Aeron (2017), Word embeddings via tensor factorization, section 6.4.1.
        """
        if not words:
            raise InputError("a phrase must contain at least one word")
        with np.errstate(over="ignore", invalid="ignore"):
            product = np.prod(self.components.lookup(words), axis=0, dtype=np.float64)
        if not np.isfinite(product).all():
            named = ", ".join(map(repr, words))
            raise InputError(f"the product of the vectors of {named} exceeds the range of float64")
        return np.asarray(product)

    def phrase(self, *words: str, blend: float = BLEND) -> np.ndarray:
        r"""Return a vector for a phrase, of shape (number of components,), which emphasizes what all words share.

        .. math:: \frac{g}{\|g\|} + b\, \frac{s}{\|s\|}, \qquad g = \Big(\prod_{k=1}^n \hat u_k\Big)^{1/n}, \quad
                  s = \sum_{k=1}^n \hat u_k

        with :math:`\hat u_k` the unit vectors of the words' components. The geometric mean g is nonzero only in
        components that all words share; unlike the product it is not dominated by a few large values. If the words
        share no component, g is zero and only the sum s remains; likewise for vectors with negative values, whose
        products are not meaningful. The weight b of the sum is ``blend``.

        >>> vectors = Embedding(["bank", "river", "money"], [[1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
        >>> vectors.phrase("bank", "river").round(2)
        array([0.1 , 1.23])
        """
        if not words:
            raise InputError("a phrase must contain at least one word")
        check_number("blend", blend)
        u = unit_rows(self.components.lookup(words).astype(np.float64))
        shared = np.prod(u ** (1 / len(u)), axis=0) if self.has_nonnegative_components else np.zeros(u.shape[1])
        g, s = unit_rows(np.stack([shared, u.sum(axis=0)]))
        return np.asarray(g + blend * s)

    def neighbours(
        self, *query: str | np.ndarray, top: int = 10, exclude: Collection[str] = ()
    ) -> list[tuple[str, float]]:
        """Return the ``top`` nearest neighbours of a word, phrase or vector and their cosines, best first.

        The query is one word, several words (combined by :meth:`phrase`), or one vector of shape (R,). Its words and
        those to ``exclude`` are not in the result. Ties are in vocabulary order.
        """
        is_phrase = len(query) > 1 or (len(query) == 1 and np.shape(query[0]) == (self.components.rank,))
        if is_phrase and self.components is not self:
            return self.components.neighbours(*query, top=top, exclude=exclude)
        if len(query) == 1 and not isinstance(query[0], str):
            vector, left_out = np.asarray(query[0]), set(exclude)
            if vector.shape != (self.rank,) or vector.dtype.kind not in "fiu" or not np.isfinite(vector).all():
                got = f"shape {vector.shape} and type {vector.dtype}"
                raise InputError(f"a query vector must contain {self.rank} finite numbers; got {got}")
            vector = vector.astype(np.float64)
        else:
            words = [word for word in query if isinstance(word, str)]
            if not words or len(words) < len(query):
                raise InputError("the query must be one word, several words, or one vector")
            vector = self[words[0]] if len(words) == 1 else self.phrase(*words)
            left_out = {*words, *exclude}
        return self._nearest(vector, top, left_out)

    neighbors = neighbours

    def most_similar(
        self, positive: str | Sequence[str], negative: str | Sequence[str] = (), topn: int = 10
    ) -> list[tuple[str, float]]:
        """Return the neighbours of the sum of positive minus negative words, like gensim's ``most_similar``.

        These words, at least one, are excluded from the result.
        """
        more, less = ([words] if isinstance(words, str) else list(words) for words in (positive, negative))
        if not more + less:
            raise InputError("most_similar requires at least one positive or negative word")
        directions = unit_rows(np.stack([self[word] for word in more + less]).astype(float))
        return self._nearest(np.repeat([1.0, -1.0], [len(more), len(less)]) @ directions, topn, {*more, *less})

    def _nearest(self, vector: np.ndarray, top: int, left_out: Collection[str]) -> list[tuple[str, float]]:
        direction = unit_rows(vector[None])[0].astype(self.unit.dtype)
        return self._best(np.clip(self.unit @ direction, -1, 1), top, left_out)

    def analogy(self, a: str, b: str, c: str, *, top: int = 10, method: str = "add") -> list[tuple[str, float]]:
        """Solve the analogy "a is to b as c is to x": as neighbours, the best words and scores, without a, b and c.

        ``analogy("man", "king", "woman")`` asks for "queen". The ``method``, "add" or "mul", is that of
        :func:`analogy_scores`.

        >>> royal = Embedding(["man", "woman", "king", "queen"], [[1, 0, 0], [0, 1, 0], [1, 0, 1], [0, 1, 1]])
        >>> royal.analogy("man", "king", "woman", top=1)[0][0]
        'queen'
        """
        cosines = unit_rows(np.stack([self[word] for word in (a, b, c)])).astype(self.unit.dtype) @ self.unit.T
        return self._best(analogy_scores(*cosines, method=method), top, {a, b, c})

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Save the embedding to a folder with ``vectors.safetensors``, ``vocabulary.txt`` and ``meta.json``.

        An existing embedding is replaced only with ``overwrite``, and words must not contain tabs or line breaks; else
        InputError is raised.
        """
        from safetensors.numpy import save

        for row, word in enumerate(self.words):
            if "\t" in word or "\n" in word:
                raise InputError(
                    f"word {row} ({word!r}) contains a tab or a line break, which vocabulary.txt does not support"
                )
        counts = [""] * len(self) if self.counts is None else [f"\t{count}" for count in self.counts]
        try:
            vocabulary = "".join(f"{word}{n}\n" for word, n in zip(self.words, counts, strict=True)).encode("utf-8")
        except UnicodeEncodeError as error:
            raise InputError(f"the vocabulary cannot be written as UTF-8: {error}") from None
        about = {"unknown": self.unknown, "components": self._n_components, "meta": self.meta}
        try:
            json.dumps(about, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise InputError(f"meta must be JSON-serializable: {error}") from None
        if self.vectors.dtype.newbyteorder("<").str not in DTYPES.values():
            raise InputError(
                f"vectors of type {self.vectors.dtype} cannot be saved; convert them to float32 or float64"
            )
        with whole_folder(path, kind=KIND, overwrite=overwrite) as draft:
            # through bytes: what safetensors writes itself fails with an error of its own when the disk is full
            (draft / "vectors.safetensors").write_bytes(save({"vectors": np.ascontiguousarray(self.vectors)}))
            (draft / "vocabulary.txt").write_bytes(vocabulary)
            write_meta(draft, KIND, VERSION, words=len(self), rank=self.rank, **about)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, unknown: str | None = None) -> Embedding:
        """Load an embedding from a folder written by :meth:`save`; the vectors are memory-mapped.

        ``unknown`` is a policy for unknown words in place of the saved one. A folder that is not an embedding, or whose
        files are truncated or do not match, raises InputError.
        """
        folder = Path(path)
        about = read_meta(folder, KIND, VERSION)
        check_whole(folder)
        words, counts = _read_vocabulary(folder / "vocabulary.txt")
        vectors = _map_vectors(folder / "vectors.safetensors")
        try:
            policy = about.get("unknown", "raise") if unknown is None else unknown
            components, meta = about.get("components"), about.get("meta")
            return cls(words, vectors, counts=counts, unknown=policy, components=components, meta=meta)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None

    def save_pretrained(
        self,
        path: str | os.PathLike[str],
        *,
        licence: str | None = None,
        figures: Mapping[str, object] | None = None,
        overwrite: bool = False,
    ) -> None:
        """Save a static sentence encoder in the format of sentence-transformers and model hubs.

        A sentence is the mean of the vectors of its words: see :mod:`polyadic.embedding.formats`. Vectors are stored as
        float32. Counts and the number of components are lost (a warning says so); :meth:`save` keeps everything. The
        folder is created atomically; an existing encoder is replaced only with ``overwrite``. Its model card,
        ``README.md``, shows the training settings, the ``licence``, and ``figures``, evaluation results by name.

        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp()) / "encoder"
        >>> Embedding(["film"], [[1.0, 2.0]]).save_pretrained(folder, licence="cc0-1.0", figures={"SimLex-999": 0.31})
        >>> sorted(file.name for file in folder.iterdir())
        ['README.md', 'meta.json', 'model.safetensors', 'modules.json', 'tokenizer.json']
        >>> Embedding.from_pretrained(folder)["film"].tolist()
        [1.0, 2.0]
        """
        from polyadic.embedding.formats import write_static

        self.warn_of_components()
        write_static(self, Path(path), {"licence": licence, "figures": figures}, overwrite=overwrite)

    @classmethod
    def from_pretrained(cls, path: str | os.PathLike[str]) -> Embedding:
        """Load word vectors from a folder written by :meth:`save_pretrained`; nothing is downloaded."""
        from polyadic.embedding.formats import read_static

        return read_static(path)

    def _best(self, scores: np.ndarray, top: int, left_out: Collection[str]) -> list[tuple[str, float]]:
        check_int("top", top, low=1)
        gone = [self.index[word] for word in left_out if word in self.index]
        top = min(top, len(self) - len(gone))
        if top == 0:
            return []
        scores = scores.copy()
        scores[gone] = -np.inf
        rows = np.flatnonzero(scores >= np.partition(scores, -top)[-top])
        rows = rows[np.argsort(-scores[rows], kind="stable")][:top]
        return [(self.words[row], float(scores[row])) for row in rows]

    def _unknown(self, word: object) -> InputError:
        from polyadic.text.stopwords import stop_list

        trained = self.meta.get("trained", {})
        source = trained.get("stop_words")
        if str(word).lower() in stop_list(str(trained.get("detected_language") if source == "language" else source)):
            what = f"{word!r} is a stop word, and stop words have no vector"
            return InputError(f"{what}; train with stop_words=none to include them", "stop_words")
        asked = str(word)
        cases = [w for w in dict.fromkeys((asked.lower(), asked.capitalize(), asked.upper())) if w in self.index]
        alike = (w for w in self.words if abs(len(w) - len(asked)) <= 2 and w and w[:1].lower() == asked[:1].lower())
        pool = [*islice(alike, 20_000)]  # of the words with the same initial
        close = list(map(repr, dict.fromkeys([*cases, *difflib.get_close_matches(asked, pool, n=3)])))[:3]
        hint = f"; close spellings: {', '.join(close)}" if close else ""
        return InputError(f"{word!r} is not in the vocabulary of {len(self):,} words{hint}")


def unit_rows(rows: np.ndarray) -> np.ndarray:
    """Normalize each row to unit Euclidean length, at least in float32; zero rows stay zero.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    rows = rows.astype(np.result_type(rows, np.float32), copy=False)
    # The largest entry is divided out first: squares of very large or small numbers leave the range of the type.
    largest = np.maximum(rows.max(axis=1, keepdims=True), -rows.min(axis=1, keepdims=True))
    unit: np.ndarray = np.divide(rows, largest, out=np.zeros_like(rows), where=largest > 0)
    length = np.sqrt(np.einsum("vr,vr->v", unit, unit))[:, None]
    np.divide(unit, length, out=unit, where=length > 0)
    return unit


def analogy_scores(a: np.ndarray, b: np.ndarray, c: np.ndarray, *, method: str = "add") -> np.ndarray:
    r"""Score every candidate :math:`x` of the analogy "a is to b as c is to x".

    .. math:: \text{add: } \cos(x, b) - \cos(x, a) + \cos(x, c)
              \qquad \text{mul: } \frac{\cos'(x, b) \cos'(x, c)}{\cos'(x, a) + 0.001},
              \quad \cos' = \frac{1 + \cos}{2}

    ``a``, ``b`` and ``c`` are the cosines of the candidates with each of the three words, of equal shape. The source is
    Levy and Goldberg (2014), Linguistic regularities in sparse and explicit word representations, eq. 1 and 5.

    >>> analogy_scores(np.array([0.5]), np.array([1.0]), np.array([0.5]))
    array([1.])
    """
    check_choice("method", method, ("add", "mul"))
    if method == "add":
        return np.asarray(b - a + c)
    return np.asarray((b + 1) / 2 * ((c + 1) / 2) / (np.maximum(a, -1) / 2 + (0.5 + MUL_EPS)))


def _check_words(words: Iterable[str]) -> tuple[tuple[str, ...], dict[str, int]]:
    """Return the words as a tuple, and a dict from word to row; raise InputError unless words are unique strings."""
    if isinstance(words, str):
        raise InputError(f"words must be a list of words; got the string {words[:40]!r}", "words")
    kept = tuple(words)
    index: dict[str, int] = {}
    for row, word in enumerate(kept):
        if not isinstance(word, str):
            raise InputError(f"word {row} must be a string; got {word!r}")
        if index.setdefault(word, row) != row:
            raise InputError(f"words must be unique; {word!r} occurs at positions {index[word]} and {row}", "words")
    return kept, index


def _check_vectors(vectors: Any, words: tuple[str, ...]) -> np.ndarray:
    """Validate word vectors and return a read-only matrix with one row per word."""
    rows = elements_of(vectors, "vectors").values
    if rows.ndim != 2 or rows.shape[1] == 0 or rows.shape[0] != len(words) or not words:
        got = f"{len(words):,} words and shape {rows.shape}"
        raise InputError(f"vectors must be a non-empty matrix with one row for each word; got {got}", "vectors")
    if rows.dtype.kind not in "fiub":
        raise InputError(f"vectors must contain real numbers; got type {rows.dtype}", "vectors")
    if rows.dtype.kind != "f":
        rows = rows.astype(np.float32)
    for start in range(0, len(rows), 4096):
        finite = np.isfinite(rows[start : start + 4096]).all(axis=1)
        if not finite.all():
            row = start + int(np.argmin(finite))
            raise InputError(f"vectors must be finite; row {row} ({words[row]!r}) is not", "vectors")
    rows = rows.view()
    rows.flags.writeable = False
    return rows


def _check_counts(counts: Any, size: int) -> np.ndarray:
    """Validate word counts and return an array of non-negative integers, one per word."""
    array = np.asarray(counts)
    if array.shape != (size,) or array.dtype.kind not in "iu" or (array < 0).any():
        got = f"shape {array.shape} and type {array.dtype}"
        raise InputError(f"counts must contain a non-negative integer for each of {size:,} words; got {got}", "counts")
    return array.astype(np.int64)


def _read_vocabulary(path: Path) -> tuple[list[str], np.ndarray | None]:
    try:
        lines = path.read_bytes().decode("utf-8").removesuffix("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, error) from None
    words, tabs, numbers = zip(*(line.partition("\t") for line in lines), strict=True)
    if not any(tabs):
        return list(words), None
    for row, number in enumerate(numbers):
        if not (number.isascii() and number.isdecimal() and len(number) < len(str(2**63))):
            raise InputError(f"{path}, line {row + 1}: expected a word, a tab and its count; got {lines[row]!r}")
    return list(words), np.array([int(number) for number in numbers], dtype=np.int64)


def _map_vectors(path: Path) -> np.ndarray:
    """Memory-map the vectors stored in a safetensors file: 8 bytes of header length, a JSON header and the data."""
    damaged = InputError(f"{path} is damaged: expected a single complete safetensors tensor named 'vectors'")
    try:
        with path.open("rb") as file:
            length, size = int.from_bytes(file.read(8), "little"), path.stat().st_size
            header = file.read(min(length, size))
        entry = json.loads(header)["vectors"]
        dtype, shape, (start, end) = np.dtype(DTYPES[entry["dtype"]]), tuple(entry["shape"]), entry["data_offsets"]
        whole = end - start == dtype.itemsize * math.prod(shape) and 8 + length + end == size
        if not (whole and start == 0 < end and all(side > 0 for side in shape)):
            raise damaged
        return np.memmap(path, dtype, "r", offset=8 + length, shape=shape)
    except OSError as error:
        raise unreadable(path, error) from None
    except (KeyError, TypeError, ValueError, RecursionError, OverflowError):  # damaged and JSON errors are ValueErrors
        raise damaged from None
