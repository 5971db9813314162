"""Workspace with everything learned from one text: corpus, counts, vectors, senses, map and topics."""

from __future__ import annotations

import importlib.util
import os
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
from polyadic.core.progress import StepTimer, no_steps
from polyadic.core.serialization import load
from polyadic.core.stage_cache import StageCache
from polyadic.embedding import Embedding
from polyadic.text.corpus import Corpus
from polyadic.text.documents import document_table
from polyadic.text.occurrences import Occurrences
from polyadic.text.readers import find_files, stamp
from polyadic.topics.text_topics import TextTopics
from polyadic.words.occurrences import WordSenses
from polyadic.words.training import train

if TYPE_CHECKING:
    from numpy.typing import NDArray

KIND, VERSION = "workspace", 1
MAX_MAPPED = 100_000  # maximum number of words on the map, the most frequent
MIN_DOCUMENTS = 20  # minimum number of documents for topics, the default number of topics
NEIGHBOURS = 15  # number of neighbours of each word in UMAP, the default of the library


@dataclass(eq=False)
class Workspace:
    """Folder with a corpus and everything learned from it: word vectors, senses, a word map and topics."""

    path: Path
    corpus: Corpus  # with its text
    vectors: Embedding
    places: NDArray[np.float32]  # positions of the most frequent words on the map, shape (words, 2)
    topics: TextTopics | None = None  # if there are enough documents
    mixtures: NDArray[np.float32] | None = None  # share of topics in documents; rows sum to 1, or to 0

    @classmethod
    def build(
        cls,
        source: Any,
        path: str | os.PathLike[str],
        *,
        steps: StepTimer = no_steps,
        overwrite: bool = False,
        **settings: Any,
    ) -> Workspace:
        """Build a workspace in the folder ``path`` from text files, reusing results for the same text and settings.

        The settings are those of :func:`~polyadic.words.training.train`; with ``overwrite``, results of other text or
        settings are replaced.
        """
        if importlib.util.find_spec("openTSNE") is None:
            raise MissingExtraError("openTSNE", "explore", "a map of words")
        folder = Path(path)
        if not (named := find_files(source)) or "-" in named:
            why = "because a resumed build reads the text again"
            raise InputError(f"the source of a workspace must be one or more files, {why}; save the text to a file")
        with made_folder(folder):
            store = StageCache(folder, steps=steps, force=overwrite)

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
            made_of = {"corpus": corpus.digest, "words": MAX_MAPPED, "neighbours": NEIGHBOURS, "method": "t-SNE"}

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
                    return {"topics": model.n_components}

                store.keep("topics", {"corpus": corpus.digest}, find, target=folder / "topics")
            write_meta(folder, KIND, VERSION, corpus=corpus.digest)
        return cls.open(folder)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Workspace:
        """Open a workspace folder created by :meth:`build`."""
        folder = Path(path)
        meta = read_meta(folder, KIND, VERSION)
        corpus, vectors = Corpus.open(folder / "corpus"), Embedding.load(folder / "vectors")
        places = open_array(folder / "map.npy", (np.float32,), ndim=2)
        if corpus.digest != meta.get("corpus"):
            raise InputError(f"{folder / 'corpus'} is not the corpus of this workspace; build the workspace again")
        if places.shape != (min(len(vectors), MAX_MAPPED), 2):
            what = f"its shape {places.shape} does not match the word vectors"
            raise InputError(f"{folder / 'map.npy'} is damaged: {what}")
        if not (folder / "topics").is_dir():
            return cls(folder, corpus, vectors, places)
        topics = load(folder / "topics" / "model", (TextTopics,))
        mixtures = open_array(folder / "topics" / "mixtures.npy", (np.float32,), ndim=2)
        if mixtures.shape != (len(corpus.documents) - 1, topics.n_components):
            what = f"the shape {mixtures.shape} does not match the documents and topics"
            raise InputError(f"{folder / 'topics'} is damaged: {what}")
        return cls(folder, corpus, vectors, places, topics, mixtures)

    @cached_property
    def occurrences(self) -> Occurrences:
        """Index of the positions of all words."""
        return Occurrences(self.corpus)

    @cached_property
    def senses(self) -> WordSenses | None:
        """Word sense induction model, or None if the text is too short."""
        if not WordSenses.can_learn(self.vectors, self.corpus):
            return None
        return WordSenses.learn(self.vectors, self.corpus, keep=True)

    def warm(self) -> None:
        """Preload the data that all endpoints use, so that the first request is answered quickly."""
        self.occurrences, self.senses, self.vectors.unit  # noqa: B018 # cached properties


def placed(vectors: Embedding, *, seed: int = 0) -> NDArray[np.float32]:
    """Compute two-dimensional positions of words with t-SNE on exact nearest neighbours.

    The result depends on the seed only, since one thread does the work. Measured beside UMAP: docs/results/explore.md.

    References
    ----------
    van der Maaten, Hinton (2008), Visualizing data using t-SNE.
    Poličar, Stražar, Zupan (2024), openTSNE: a modular Python library for t-SNE dimensionality reduction and embedding.
    """
    unit = np.asarray(vectors.unit[:MAX_MAPPED], np.float32)
    if len(unit) <= 2 * NEIGHBOURS:  # too few for a graph of neighbours
        U, s, _ = np.linalg.svd(unit - unit.mean(axis=0), full_matrices=False)
        return np.asarray(np.pad(U * s, ((0, 0), (0, 2)))[:, :2], np.float32)
    from openTSNE import TSNEEmbedding
    from openTSNE.affinity import PerplexityBasedNN
    from openTSNE.initialization import pca
    from openTSNE.nearest_neighbors import PrecomputedNeighbors

    nearest = best_columns(unit, unit, NEIGHBOURS + 1)  # exact, which is fast enough and independent of the seed
    distances = np.maximum(1 - nearest.scores.astype(np.float32), 0)
    known = PrecomputedNeighbors(nearest.columns[:, 1:].astype(np.int32), distances[:, 1:])  # the first is the word
    affinities = PerplexityBasedNN(knn_index=known, perplexity=NEIGHBOURS / 3, n_jobs=1)
    places = TSNEEmbedding(pca(unit, random_state=seed), affinities, n_jobs=1, random_state=seed)
    places.optimize(n_iter=250, exaggeration=12, momentum=0.5, inplace=True)
    places.optimize(n_iter=500, momentum=0.8, inplace=True)
    return np.asarray(places, np.float32)


def topics_of(corpus: Corpus) -> tuple[TextTopics, NDArray[np.float32]]:
    """Fit a topic model to the words without digits; return the model and the topic shares of each document."""
    words = corpus.vocabulary.words
    kept = [at for at, word in enumerate(words) if not any(letter.isdigit() for letter in word)] or [*range(len(words))]
    counts = csr_array(document_table(corpus)[:, kept])
    model = TextTopics(language=str(corpus.settings["language"]), seed=0)
    model.n_components = min(model.n_components, len(kept))
    model.fit_table(counts, [words[at] for at in kept])
    weights = np.maximum(model.transform_table(counts), 0)
    return model, np.asarray(weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-12), np.float32)
