"""Everything that a text gives, made once and kept in one folder, to be looked at: what ``polyadic explore`` opens.

text, to a corpus with its lines, to counts of pairs and triples, to vectors, to what tells senses apart, to a map, and
to topics
"""

from __future__ import annotations

import importlib.util
import warnings
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from polyadic.completion.recommending import best_columns
from polyadic.core.arrays import open_array, save_array
from polyadic.core.errors import InputError, MissingExtraError
from polyadic.core.files import made_folder, read_meta, write_meta
from polyadic.core.progress import untold
from polyadic.core.serialization import load
from polyadic.core.stage_cache import Store
from polyadic.embedding import Embedding
from polyadic.text.corpus import Corpus
from polyadic.text.documents import document_table
from polyadic.text.occurrences import Occurrences
from polyadic.text.readers import find_files, stamp
from polyadic.topics.text_topics import TextTopics
from polyadic.words.occurrences import WordSenses
from polyadic.words.training import train

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from polyadic.core.progress import Steps

KIND, VERSION = "workspace", 1
MAX_MAPPED = 100_000
"""Words on the map at most, the most frequent."""
MIN_DOCUMENTS = 20
"""Of fewer there are no topics: the default number of them is as large."""
NEIGHBOURS = 15
"""Of each word, by which it is placed on the map: the default of the library."""


@dataclass(eq=False)
class Workspace:
    """A corpus and what was learned of it.

    Attributes
    ----------
    path : Path
    corpus : Corpus
        With its text.
    vectors : Embedding
    places : ndarray of shape (words, 2)
        Of the most frequent words on the map.
    topics : TextTopics or None
        Topics of the documents, where there are enough of them.
    mixtures : ndarray of shape (documents, topics) or None
        How much of each topic is in each document; rows sum to 1, or to 0.
    """

    path: Path
    corpus: Corpus
    vectors: Embedding
    places: NDArray[np.float32]
    topics: TextTopics | None = None
    mixtures: NDArray[np.float32] | None = None

    @classmethod
    def build(
        cls,
        source: Any,
        path: str | os.PathLike[str],
        *,
        steps: Steps = untold,
        overwrite: bool = False,
        **settings: Any,
    ) -> Workspace:
        """Make a workspace of text; what is there already of the same text and settings is used again.

        Parameters
        ----------
        source : path, glob or list of paths
            See :meth:`~polyadic.text.corpus.Corpus.build`.
        path : path
            The folder.
        steps : callable, optional
            Told how long each step took.
        overwrite : bool
            Whether what is there of other text or settings is replaced.
        **settings
            Those of :func:`~polyadic.words.training.train`.

        Raises
        ------
        InputError
            If the text or a setting cannot be used.
        MissingExtraError
            If what places words on the map is not installed.
        """
        if importlib.util.find_spec("umap") is None:
            raise MissingExtraError("umap-learn", "explore", "a map of words")
        folder = Path(path)
        if not (named := find_files(source)) or "-" in named:
            raise InputError("a workspace is made of files, which can be read again when it is made further; name some")
        with made_folder(folder):
            store = Store(folder, steps=steps, force=overwrite)
            settings = {**settings, "keep_text": True}

            def learn() -> dict[str, Any]:
                vectors = train(source, keep=folder, overwrite=overwrite, steps=steps, **settings)
                if vectors.meta["trained"]["interrupted"]:
                    raise KeyboardInterrupt
                vectors.save(folder / "vectors", overwrite=True)
                return {"words": len(vectors), "rank": vectors.rank}

            store.keep("vectors", {"text": stamp(source), **settings}, learn, target=folder / "vectors")
            corpus, vectors = Corpus.open(folder / "corpus"), Embedding.load(folder / "vectors")
            if WordSenses.can_learn(vectors, corpus):
                with steps("senses") as facts:
                    facts["fit"] = round(WordSenses.learn(vectors, corpus, keep=True).fit, 3)
            made_of = {"corpus": corpus.digest, "words": MAX_MAPPED, "neighbours": NEIGHBOURS}

            def place() -> dict[str, Any]:
                save_array(folder / "map.npy", placed(vectors))
                return {}

            store.keep("map", made_of, place, target=folder / "map.npy")
            if len(corpus.documents) > MIN_DOCUMENTS:

                def find() -> dict[str, Any]:
                    with made_folder(folder / "topics"):
                        model, mixtures = topics_of(corpus)
                        model.save(folder / "topics" / "model", overwrite=True)
                        save_array(folder / "topics" / "mixtures.npy", mixtures)
                    return {"topics": model.rank}

                store.keep("topics", {"corpus": corpus.digest}, find, target=folder / "topics")
            write_meta(folder, KIND, VERSION, corpus=corpus.digest)
        return cls.open(folder)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Workspace:
        """Open a folder that :meth:`build` made.

        Raises
        ------
        InputError
            If it is none, or not whole.
        """
        folder = Path(path)
        meta = read_meta(folder, KIND, VERSION)
        corpus, vectors = Corpus.open(folder / "corpus"), Embedding.load(folder / "vectors")
        places = open_array(folder / "map.npy", (np.float32,), ndim=2)
        if corpus.digest != meta.get("corpus"):
            raise InputError(
                f"{folder / 'corpus'} is not the text of which the workspace was made; make the workspace again"
            )
        if places.shape != (min(len(vectors), MAX_MAPPED), 2):
            raise InputError(f"{folder / 'map.npy'} is damaged: it places {len(places):,} words")
        if not (folder / "topics").is_dir():
            return cls(folder, corpus, vectors, places)
        topics = load(folder / "topics" / "model", (TextTopics,))
        mixtures = open_array(folder / "topics" / "mixtures.npy", (np.float32,), ndim=2)
        if mixtures.shape != (len(corpus.documents) - 1, topics.rank):
            raise InputError(f"{folder / 'topics'} is damaged: it is of {len(mixtures):,} documents")
        return cls(folder, corpus, vectors, places, topics, mixtures)

    @cached_property
    def occurrences(self) -> Occurrences:
        """Where words stand."""
        return Occurrences(self.corpus)

    @cached_property
    def senses(self) -> WordSenses | None:
        """What tells senses apart; None where there is too little text for it."""
        if not WordSenses.can_learn(self.vectors, self.corpus):
            return None
        return WordSenses.learn(self.vectors, self.corpus, keep=True)

    def warm(self) -> None:
        """Read what every answer needs, so that none waits for it."""
        self.occurrences, self.senses, self.vectors.unit  # noqa: B018 # which are kept when first asked for


def placed(vectors: Embedding, *, seed: int = 0) -> NDArray[np.float32]:
    """Place words in the plane, such that words of near directions are near, by UMAP.

    References
    ----------
    McInnes, Healy, Melville (2018), UMAP: Uniform manifold approximation and projection for dimension reduction.
    """
    unit = np.asarray(vectors.unit[:MAX_MAPPED], np.float32)
    if len(unit) <= 2 * NEIGHBOURS:  # too few for a graph of neighbours
        U, s, _ = np.linalg.svd(unit - unit.mean(axis=0), full_matrices=False)
        return np.asarray(np.pad(U * s, ((0, 0), (0, 2)))[:, :2], np.float32)
    nearest = best_columns(unit, unit, NEIGHBOURS)  # all are looked at, which is quick enough and depends on no seed
    distances = np.maximum(1 - nearest.scores.astype(np.float32), 0)
    known = (nearest.columns.astype(np.int32), distances, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of one thread, of TensorFlow, and that no other words can be placed later
        import umap

        model = umap.UMAP(n_neighbors=NEIGHBOURS, metric="cosine", random_state=seed, precomputed_knn=known)
        return np.asarray(model.fit_transform(unit), np.float32)


def topics_of(corpus: Corpus) -> tuple[TextTopics, NDArray[np.float32]]:
    """Find topics by the words of a corpus, numbers left out, and how much of each is in each document."""
    words = corpus.vocabulary.words
    kept = [at for at, word in enumerate(words) if not any(letter.isdigit() for letter in word)] or [*range(len(words))]
    counts = csr_array(document_table(corpus)[:, kept])
    model = TextTopics(language=str(corpus.settings["language"]), seed=0)
    model.rank = min(model.rank, len(kept))
    model.fit_table(counts, [words[at] for at in kept])
    weights = np.maximum(model.transform_table(counts), 0)
    return model, np.asarray(weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-12), np.float32)
