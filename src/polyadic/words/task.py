"""Commands for word vectors: training, exploration, evaluation, conversion, and counting of word tuples."""

from __future__ import annotations

import math
import sys
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from polyadic.core.errors import InputError
from polyadic.core.files import check_replaceable
from polyadic.core.settings import Count, File, Folder, Help, Metavar, Natural, Out, Picture, Repeated, Threads, Within
from polyadic.interface import errors, output
from polyadic.interface.run import Saved
from polyadic.interface.task import Task
from polyadic.text.task import CorpusFolder, nothing_more, source

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polyadic.embedding import Embedding
    from polyadic.text.corpus import Corpus
    from polyadic.text.counts import Counts
    from polyadic.words.evaluation import Test
    from polyadic.words.occurrences import WordSenses

    Nearest = Callable[[str], list[tuple[str, float]]]

TASK = Task("words", "Train word vectors, and look at them.")
MODELS = (
    "polyadic.tables.vectors:CorrespondenceVectors",
    "polyadic.words.random_baseline:RandomVectors",
    "polyadic.words.neural:Word2Vec",
    "polyadic.words.glove:GloVe",
    "polyadic.words.sparse_coding:NNSE",
    "polyadic.words.pairwise:PPMISVD",
    "polyadic.words.poisson:PoissonCP",
    "polyadic.words.tucker:Tucker",
    "polyadic.words.asymmetric:AsymmetricCP",
    "polyadic.words.symmetric:SymmetricCP",
    "polyadic.words.joint:JointCP",
)
SETTINGS = (*MODELS, "polyadic.words.methods:MethodOptions", "polyadic.words.methods:Training")
"""Classes of the settings of training; of two settings of one name, the later is used."""
COUNTING = Task("counting", "Count tuples of words, and plan large runs.")
Vectors = Annotated[
    Path, Metavar("VECTORS"), Help("Folder created by polyadic train, or a word2vec, GloVe or fastText file.")
]
Words = Annotated[list[str], Metavar("WORD"), Help("Words to look up; - reads words from standard input.")]
Top = Annotated[Count, Help("Number of words to list.")]
TextOfVectors = Annotated[
    Path,
    Metavar("CORPUS"),
    Help("Corpus folder with the occurrences of the words (default: the training corpus, if kept)."),
]
Order = Annotated[int, Within(2, 5), Help("Number of words in a tuple.")]
Window = Annotated[
    Literal["span", "centred", "chunk"],
    Help(
        "Type of window: a span of WIDTH + 1 words (span), WIDTH words on each side of a word (centred), or a chunk of"
        " 2 WIDTH + 1 words (chunk)."
    ),
]
Width = Annotated[int, Within(1, 1000), Help("Window width in words.")]


def given(words: list[str]) -> list[str]:
    """Replace ``-`` in a list of words by the words read from standard input."""
    return [word for each in words for word in (sys.stdin.read().split() if each == "-" else [each])]


def text_of(embedding: Embedding, named: Path | None) -> Corpus:
    """Open the given corpus or, if none is given, the saved corpus on which the vectors were trained."""
    from polyadic.text.corpus import Corpus

    known = [place for place in made_of(embedding, "corpus") if (place / "ids.npy").is_file()]
    if named is None and not known:
        what = "corpus is required: pass the encoded text from which the vectors were trained"
        raise InputError(f"{what}, or create it with `polyadic corpus TEXT --out CORPUS`", "corpus")
    return Corpus.open(named or known[0])


def made_of(embedding: Embedding, kept: str) -> list[Path]:
    """Return the folders that may contain the training input of word vectors, from their metadata."""
    trained = embedding.meta.get("trained", {})
    return [Path(trained[name]) / below for name, below in (("source", ""), ("kept", kept)) if name in trained]


def draw(embedding: Embedding, groups: dict[str, Any], picture: Path | None) -> None:
    """Draw a map of word groups if a plot was requested and there are any groups."""
    if picture is not None and groups:
        from polyadic.plots import word_map
        from polyadic.plots.axes import save_figure

        save_figure(word_map(embedding, groups), picture)


def print_neighbours(result: dict[str, Any]) -> None:
    """Print the nearest neighbours of each query."""
    lists = next(value for name, value in result.items() if name != "refused")
    output.neighbours({query: [(each["word"], each["cosine"]) for each in near] for query, near in lists.items()})


# ---- training


class Trained(Saved):
    """Result of ``polyadic train``, with suggested commands for exploring the vectors."""

    looks: Sequence[tuple[str, str]] = ()
    hint: str = ""


def _print_trained(result: Trained) -> None:
    """Print where the word vectors were saved, with suggested commands for exploring them."""
    output.wrote(result["out"])
    if result.looks:
        typer.echo()
        output.table(["command", "output"], result.looks)
    if result.hint:
        errors.say(result.hint, "note")


@TASK.verb(
    example="polyadic train holmes --out vectors --keep work",
    settings={"given": SETTINGS},
    options=("method", "rank", "min_count", "width", "field", "keep", "memory"),
    show=_print_trained,
    distributed=True,
)
def train(
    sources: Annotated[list[str], Metavar("SOURCE")],
    given: dict[str, Any],
    *,
    out: Out,
    keep: Folder | None = None,
    force: bool = False,
) -> Trained:
    """Train word vectors on text: tokenize the text, count word tuples, weight the counts, and factorize.

    The default, jcp, explains pairs of words by all dimensions and larger tuples by the non-negative ones. --help-all
    lists the settings of all methods; one that a method does not have is refused.

    Parameters
    ----------
    sources
        Text (files, folders, globs, URLs, or - for standard input), a corpus folder or a counts folder.
    keep
        Folder in which to keep the corpus, the counts and checkpoints; a repeated command resumes from them.
    """
    from polyadic.words import training

    check_replaceable(out, "embedding", overwrite=force)
    if keep is not None and (keep.resolve() == out.resolve() or out.resolve() in keep.resolve().parents):
        raise InputError(f"--keep {keep} is inside --out {out}, which is replaced as a whole; choose another folder")
    steps = output.Steps()
    with errors.keeping(lambda: [str(path) for path in sorted(keep.glob("*/"))] if keep else []):
        vectors = training.train(source(sources), keep=keep, overwrite=force, steps=steps, **settings_of(given))
        vectors.save(out, overwrite=force)
    interrupted = vectors.meta["trained"]["interrupted"]
    places = [Path(sources[0]), *([] if keep is None else [keep / "corpus"])]  # of counts, none is kept
    looks = _looks(vectors, out, next((place for place in places if (place / "ids.npy").is_file()), None))
    sizes = {"words": len(vectors), "rank": vectors.rank, "interrupted": interrupted}
    trained = Trained(out=str(out), **sizes, steps=steps.done, look_at=[command for command, _ in looks])
    trained.looks = looks
    if looks and keep is None and not (Path(sources[0]) / "meta.json").is_file():
        trained.hint = "to list senses and sentences of words as well, train with --keep DIR"
    if interrupted:
        trained.kept = [f"the vectors of the last sweep in {out}"]
    return trained


def settings_of(given: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of training, with the weights, such as ``log/100,0.75``, as a tuple."""
    weights = tuple(map(entry_weights, str(given["weights"]).split("/"))) if "weights" in given else ()
    return given | ({"weights": weights} if weights else {})


def entry_weights(text: str) -> str | tuple[float, float]:
    """Parse the name of a weighting scheme, or the two parameters of GloVe weights, such as ``100,0.75``."""
    if text in {"log", "count", "uniform"}:
        return text
    try:
        largest, power = map(float, text.split(","))
    except ValueError:
        raise InputError(
            f"weights must be log, count, uniform or two numbers such as 100,0.75; got {text!r}", "weights"
        ) from None
    if not (0 < largest < math.inf and 0 <= power < math.inf):
        raise InputError(f"GloVe weights X,A require X > 0 and A >= 0; got {text!r}", "weights")
    return largest, power


FREQUENT = 200  # number of frequent words from which the examples are selected


def _looks(vectors: Embedding, out: Path, corpus: Path | None) -> list[tuple[str, str]]:
    """Return suggested commands for exploring word vectors, with example words that have informative neighbours."""
    import numpy as np

    from polyadic.embedding import components
    from polyadic.text.running import FOLDER
    from polyadic.words.occurrences import MIN_OCCURRENCES

    counts = np.zeros(len(vectors)) if vectors.counts is None else vectors.counts
    rows = [row for row in np.argsort(-counts, kind="stable") if vectors.words[row].isalpha()][:FREQUENT]
    if len(rows) < 4:
        return []
    cosines = vectors.unit[rows] @ vectors.unit.T
    cosines[np.arange(len(rows)), rows] = -np.inf
    nearest = np.argsort(-cosines, axis=1)[:, : min(10, len(vectors) - 1)]
    near = np.take_along_axis(cosines, nearest, axis=1).mean(axis=1)
    alike = np.array([(vectors.unit[some] @ vectors.unit[some].T).mean() for some in nearest])
    mixed = np.argsort(np.where(near < np.median(near), np.inf, alike - near), kind="stable")
    word = vectors.words[rows[mixed[0]]]
    several = next((vectors.words[rows[at]] for at in mixed[1:] if counts[rows[at]] >= MIN_OCCURRENCES), None)
    others = [vectors.words[row] for row in nearest[mixed[0]][:4]]
    looks: list[tuple[tuple[Any, ...], str]] = [(("neighbours", out, word), f"similar words: {' '.join(others)}")]
    if vectors.has_nonnegative_components or vectors.sparsity:
        strongest = np.argsort(-np.linalg.norm(vectors.components.vectors, axis=0))[:3].tolist()
        shown = [" ".join(word for word, _ in component.words) for component in components(vectors, strongest, top=4)]
        looks += [
            (("components", out), f"words of each component: {'; '.join(shown)}"),
            (("phrase", out, word, others[0]), "words similar to a phrase"),
        ]
    if corpus and several is not None:
        looks.append((("senses", out, several, "--corpus", corpus), "senses and their shares"))
    if corpus and (corpus / FOLDER).is_dir():
        looks.append((("lines", corpus, word, others[0]), "sentences with both words"))
    return [(output.command(command), shown) for command, shown in looks]


# ---- neighbours, components, formats


@TASK.verb(example="polyadic neighbours vectors window", show=print_neighbours)
def neighbours(vectors: Vectors, words: Words, *, top: Top = 10, picture: Picture = None) -> dict[str, Any]:
    """List the nearest neighbours of each word by cosine similarity."""
    from polyadic.embedding import read_vectors

    output.check_picture(picture)
    embedding = read_vectors(vectors)
    nearest = output.Answers(given(words), lambda word: embedding.neighbours(word, top=top))
    draw(embedding, {word: [word, *(other for other, _ in near)] for word, near in nearest.items()}, picture)
    return {"neighbours": output.pairs(nearest), **nearest.in_json}


def _print_components(result: dict[str, Any]) -> None:
    """Print the words of each component on one line, followed by example lines from the corpus."""
    found = result["components"]
    rows = [(each["column"], each["share"], " ".join(word for word, _ in each["words"])) for each in found]
    output.table(["column", "share", "words"], rows)
    if any("lines" in each for each in found):
        typer.echo()
        output.table(["column", "line"], [(each["column"], line["text"]) for each in found for line in each["lines"]])


@TASK.verb(example="polyadic components vectors window", show=_print_components)
def components(
    vectors: Vectors,
    words: Annotated[list[str], Metavar("WORD")] | None = None,
    *,
    number: Count = 10,
    top: Top = 10,
    corpus: TextOfVectors | None = None,
    lines: Natural = 0,
) -> dict[str, Any]:
    """List the words with the largest values in each component (dimension) of word vectors.

    Components are interpretable if the vectors are non-negative and sparse.

    Parameters
    ----------
    words
        Words whose strongest components are listed; several words are combined by multiplying their vectors (default:
        the first ones).
    number
        Maximum number of components to list.
    lines
        Number of corpus lines to show for each component, starting with lines that contain the most listed words.
    """
    from polyadic.embedding import components as all_components
    from polyadic.embedding import components_of, read_vectors

    if corpus is not None and not lines:
        raise InputError(
            "corpus can be used only together with lines; set both, or leave out corpus", "corpus", "lines"
        )
    embedding = read_vectors(vectors)
    text = text_of(embedding, corpus).lines if lines else None
    if words:
        shown = components_of(embedding, *given(words), n_components=number, top=top)
    else:
        shown = all_components(embedding, top=top)[:number]
    rows: list[dict[str, Any]] = []
    for each in shown:
        rows.append({"column": each.column, "share": each.share, "words": [list(pair) for pair in each.words]})
        if text is not None:
            found = text.find(*(word for word, _ in each.words), either=True, sort="relevance", top=lines)
            rows[-1]["lines"] = [output.line(line) for line in found]
    return {"components": rows}


def print_written(result: dict[str, Any]) -> None:
    """Print the path of the written file or folder."""
    output.wrote(result["out"])


@TASK.verb(example="polyadic convert vectors vectors.txt --to word2vec", show=print_written)
def convert(
    vectors: Vectors,
    out: Annotated[Path, Metavar("OUT")],
    *,
    to: Literal["native", "word2vec", "word2vec-binary", "glove", "fasttext", "static", "projector"],
    from_: Annotated[str, Metavar("FORMAT")] = "auto",
    limit: Count | None = None,
    licence: Annotated[str, Metavar("NAME")] | None = None,
    encoding: str = "utf-8",
    errors: Literal["strict", "replace", "ignore"] = "strict",
    force: bool = False,
) -> dict[str, Any]:
    """Convert word vectors to or from the format of another tool.

    Parameters
    ----------
    out
        File to write, or folder for the formats native, static and projector.
    to
        Format to write: native is polyadic's own format, static is for sentence-transformers, projector is for
        TensorBoard.
    from_
        Format of the input; auto detects it.
    limit
        Maximum number of words to read (default: all).
    licence
        Licence to state in the model card (format static only) (default: none).
    encoding
        Character encoding of the input file.
    errors
        Treatment of bytes that cannot be decoded: raise an error (strict), replace or ignore the bytes.
    """
    from polyadic.embedding import read_vectors, write_projector, write_vectors

    if to not in ("native", "static", "projector") and out.exists() and not force:
        raise InputError(f"{out} exists already; choose another name or use --force")
    if licence is not None and to != "static":
        raise InputError(f"licence can be used only with the format static; leave it out for {to}", "licence")
    embedding = read_vectors(vectors, format=from_, limit=limit, encoding=encoding, errors=errors)
    if to == "native":
        embedding.save(out, overwrite=force)
    elif to == "static":
        embedding.save_pretrained(out, licence=licence, overwrite=force)
    elif to == "projector":
        write_projector(embedding, out, overwrite=force)
    else:
        write_vectors(embedding, out, format=to)
    return {"out": str(out), "words": len(embedding), "rank": embedding.rank, "format": to}


# ---- senses and phrases


def _print_senses(result: dict[str, Any]) -> None:
    """Print one row for each sense of each word, or for each line that was assigned a sense."""
    from polyadic.text.readers import name_of_document

    if "lines" in result:
        named = [" ".join(sense["words"][:4]) for sense in result["senses"]]
        cells = [(k, named[k - 1] if k else None, text) for k, text in (each.values() for each in result["lines"])]
        output.table(["sense", "substitutes", "line"], cells)
        return
    words = result["senses"]
    if any(isinstance(each, list) for each in words.values()):
        clusters = [(word, k, each) for word, some in words.items() for k, each in enumerate(some, 1)]
        rows = [[word, k, each["size"], " ".join(each["words"])] for word, k, each in clusters]
        output.table(["word", "sense", "size", "neighbours"], rows)
        return
    numbered = [(word, k, each, one) for word, each in words.items() for k, one in enumerate(each["senses"], 1)]
    rows = [[word, k, one["share"], each["agreement"], " ".join(one["words"])] for word, k, each, one in numbered]
    output.table(["word", "sense", "share", "agreement", "substitutes"], rows)
    shown = [(word, k, line) for word, k, _, one in numbered for line in one["lines"]]
    lines = [(word, k, name_of_document(line) or str(line["document"] + 1), line["text"]) for word, k, line in shown]
    if lines:
        typer.echo()
        output.table(["word", "sense", "document", "line"], lines)


@TASK.verb(example="polyadic senses vectors case", show=_print_senses)
def senses(
    vectors: Vectors,
    words: Words,
    *,
    corpus: TextOfVectors | None = None,
    number: Count | None = None,
    top: Top = 10,
    lines: Natural = 2,
    assign: File | None = None,
    picture: Picture = None,
) -> dict[str, Any]:
    """List the senses of words with their relative frequencies, substitutes and example lines.

    What is learned from the corpus is stored in its folder for the next time.

    Parameters
    ----------
    number
        Number of senses into which to cluster the nearest neighbours of the word, without using a corpus (default: from
        a corpus).
    lines
        Number of example lines to show for each sense.
    assign
        File of texts, one per line, in which to predict the sense of the word; - reads standard input.
    """
    from polyadic.embedding import read_vectors

    output.check_picture(picture)
    embedding = read_vectors(vectors)
    if assign is not None and (len(words) != 1 or number is not None):
        raise InputError("assign requires exactly one word, and cannot be combined with number", "assign", "number")
    if number is not None:
        return _clusters(embedding, given(words), number, top, picture)
    from polyadic.words.occurrences import WordSenses

    space = WordSenses.learn(embedding, text_of(embedding, corpus), keep=True)
    if assign is not None:
        return _assign(space, words[0], assign, top)
    answers = output.Answers(given(words), lambda word: space.senses(word, top=top))
    found, named = dict[str, Any](), dict[str, Any]()
    for word, each in answers.items():
        if not each.sure:
            times = f"{each.occurrences} time{'s' * (each.occurrences != 1)}"
            errors.say(f"{each.word!r} occurs only {times}, so some of its senses may be missed", "warning")
        named |= {f"{each.word} {k}, {sense.share:.0%}": sense.substitutes for k, sense in enumerate(each.senses, 1)}
        senses = [
            {"share": s.share, "words": list(s.substitutes), "lines": [*map(output.line, space.lines(s, lines))]}
            for s in each.senses
        ]
        about = {"occurrences": each.occurrences, "agreement": each.agreement, "sure": each.sure}
        found[word] = {**about, "senses": senses}
    draw(embedding, named, picture)
    return {"senses": found, **answers.in_json}


def _assign(space: WordSenses, word: str, file: Path, top: int) -> dict[str, Any]:
    """Predict the sense of a word in each line of a text file."""
    from polyadic.core.streams import blocks, lines, open_bytes

    found = space.senses(word, top=top)
    with open_bytes(str(file)) as stream:
        texts = [line for line in lines(blocks(stream, str(file))) if line.strip()]
    tokens = [[*chain.from_iterable(space.corpus.tokenize(text))] for text in texts]
    places = [some.index(word) if word in some else None for some in tokens]
    held = [(some[:at], some[at + 1 :]) for some, at in zip(tokens, places, strict=True) if at is not None]
    numbers = iter(space.assign(found, held).tolist())
    assigned = [next(numbers) if at is not None else -1 for at in places]
    if absent := places.count(None):
        errors.say(f"lines without {word!r}: {absent:,} of {len(texts):,}", "warning")
    senses = [{"share": sense.share, "words": list(sense.substitutes)} for sense in found.senses]
    rows = [{"sense": k + 1 if k >= 0 else None, "text": text} for k, text in zip(assigned, texts, strict=True)]
    return {"word": word, "senses": senses, "lines": rows}


def _clusters(embedding: Embedding, words: list[str], number: int, top: int, picture: Path | None) -> dict[str, Any]:
    """Cluster the nearest neighbours of each word into a given number of senses."""
    from polyadic.words.senses import senses as clusters

    lists = output.Answers(words, lambda word: clusters(embedding, word, number=number))
    named = {f"{word} {k}": some.words[:top] for word, each in lists.items() for k, some in enumerate(each, 1)}
    draw(embedding, named, picture)
    shown = {w: [{"words": [*s.words[:top]], "size": len(s.words)} for s in some] for w, some in lists.items()}
    return {"senses": shown, **lists.in_json}


@TASK.verb(example="polyadic phrase vectors light lamp 'light*door'", show=print_neighbours)
def phrase(
    vectors: Vectors,
    words: Annotated[list[str], Metavar("WORD")],
    *,
    counts: Annotated[str, Metavar("COUNTS")] = "auto",
    top: Top = 10,
) -> dict[str, Any]:
    """List the nearest neighbours of a phrase by cosine similarity.

    The words of a phrase disambiguate each other: the vector of the phrase is computed from the triples that contain
    the words if triples are available, else from the vectors of the words.

    Parameters
    ----------
    words
        Words of a phrase, or several phrases in the form 'word*word'; - reads one phrase per line from standard input.
    counts
        Folder of triple counts for two-word phrases; auto uses the training counts if they were kept, and none uses
        only the vectors.
    """
    from polyadic.embedding import read_vectors
    from polyadic.text.counts import Counts

    embedding = read_vectors(vectors)
    asked = {" ".join(each): each for each in phrases(words)}
    by_vectors = partial(_by_vectors, embedding, asked, top)
    kept = _triples_of(embedding) if counts == "auto" else None
    if counts not in {"auto", "none"}:
        counted = Counts.open(Path(counts))
        if (order := counted.entries.order) != 3:
            raise InputError(f"--counts must be counts of triples (order 3); {counts} contains counts of order {order}")
        nearest = output.Answers(asked, _by_triples(embedding, asked, counted, top))
    elif kept is not None:
        if any(len(each) == 2 for each in asked.values()):
            errors.say(f"phrases of two words use the triples in {kept[0]}; --counts none uses vectors alone", "note")
        nearest = output.Answers(asked, _by_triples(embedding, asked, kept[1], top, otherwise=by_vectors))
    else:
        if not embedding.has_nonnegative_components:
            what = "the vectors have no non-negative components, so words nearest to the sum of the vectors are shown"
            advice = "for words that disambiguate each other, train with the method jcp or cp-sn"
            errors.say(f"{what}; {advice}", "warning")
        nearest = output.Answers(asked, by_vectors)
    return {"phrases": output.pairs(nearest), **nearest.in_json}


def _by_vectors(embedding: Embedding, asked: dict[str, list[str]], top: int, phrase: str) -> list[tuple[str, float]]:
    """Return the neighbours of a phrase from the vectors of its words."""
    words = asked[phrase]
    answers = embedding.neighbours(*words, top=top)
    if embedding.has_nonnegative_components and not embedding.product(*words).any():
        shared = f"{' and '.join(words)} have no component in common"
        errors.say(f"{shared}, so words nearest to the sum of the vectors are shown", "warning")
    return answers


def _by_triples(
    embedding: Embedding, asked: dict[str, list[str]], counted: Counts, top: int, *, otherwise: Nearest | None = None
) -> Nearest:
    """Return a function that finds the neighbours of a two-word phrase from the triples that contain both words."""
    from polyadic.text.weighting import ppmi
    from polyadic.words.phrases import phrase_vectors

    words, index = counted.vocabulary.words, counted.vocabulary.index
    sound = [each for each in asked if len({*asked[each]}) == len(asked[each]) == 2]
    sound = [each for each in sound if all(w in index and w in embedding for w in asked[each])]
    triples = ppmi(counted, holding=[[index[word] for word in asked[each]] for each in sound])
    made = phrase_vectors(embedding, triples, [asked[each] for each in sound], words=words)  # in one pass
    vectors = dict(zip(sound, made, strict=True))

    def nearest(phrase: str) -> list[tuple[str, float]]:
        if phrase not in vectors and otherwise is not None:
            return otherwise(phrase)
        if phrase not in vectors:  # which is refused
            vectors[phrase] = phrase_vectors(embedding, triples, [asked[phrase]], words=words)[0]
        return embedding.neighbours(vectors[phrase], top=top, exclude=asked[phrase])

    return nearest


def _triples_of(embedding: Embedding) -> tuple[Path, Counts] | None:
    """Open the counts of triples saved with the word vectors, or return None if they are unavailable."""
    from polyadic.text.counts import Counts

    for place in made_of(embedding, "counts-3"):
        if (place / "marginals.npy").is_file():
            counts = Counts.open(place)
            if counts.entries.order == 3 and counts.settings.get("corpus") == embedding.meta["trained"].get("corpus"):
                return place, counts
    return None


def phrases(words: list[str]) -> list[list[str]]:
    """Split arguments into phrases: plain words are one; each ``a*b`` and each line of standard input is another."""
    lines = sys.stdin.read().split("\n") if "-" in words else []
    words = [word for word in words if word != "-"]
    plain = [word for word in words if "*" not in word.strip("*")]
    products = [word.split("*") for word in words if word not in plain]
    return [each for each in [plain, *products, *(line.replace("*", " ").split() for line in lines)] if each]


# ---- evaluation

Several = Annotated[list[str] | None, Repeated()]
Kind = Annotated[
    Several,
    Metavar("KIND"),
    Help(
        "Kind of published test sets: similarity, outliers, analogies, recovery, sentiment, senses, or all; can be"
        " repeated (default: the first three, which take seconds)."
    ),
]
Data = Annotated[Folder | None, Help("Folder of published test sets (default: $POLYADIC_DATA).")]
Made = Annotated[
    Folder | None, Help("Folder of test files generated from held-out text: gaps.tsv, phrases.tsv, names.tsv.")
]
Pairs = Annotated[Several, Metavar("FILE"), Help("File of your own word pairs with scores; can be repeated.")]
Groups = Annotated[
    Several, Metavar("DIR"), Help("Folder of your own outlier groups, one .txt file each; can be repeated.")
]
Questions = Annotated[
    Several, Metavar("FILE"), Help("File of your own analogy questions, four words per line; can be repeated.")
]


def _print_figures(result: dict[str, Any]) -> None:
    """Print the result of each test, and on standard error the tests that could not be run."""
    found = result["figures"]
    rows = [[r["name"], r["value"], (r["low"], r["high"]), r["chance"], r["used"], r["total"]] for r in found]
    output.table(["test", "value", "95 % interval", "chance", "cases", "total"], rows)
    _print_left_out(result)


@TASK.verb(example="polyadic evaluate vectors --groups groups", show=_print_figures)
def evaluate(
    vectors: Vectors,
    *,
    kind: Kind = None,
    data: Data = None,
    made: Made = None,
    pairs: Pairs = None,
    groups: Groups = None,
    questions: Questions = None,
) -> dict[str, Any]:
    """Evaluate word vectors on similarity, outlier, analogy and other tests, with 95 % confidence intervals."""
    from polyadic.embedding import read_vectors
    from polyadic.words import evaluation

    tests = _tests(kind, data, made, pairs, groups, questions)
    figures, left_out = evaluation.evaluate(read_vectors(vectors), tests)
    return {"figures": [figure.as_dict() for figure in figures], "left_out": left_out}


def _print_comparison(result: dict[str, Any]) -> None:
    """Print the results of all models on each test, with differences from the first model."""
    first, *others = result["models"]
    rows = []
    for row in result["figures"]:
        differences = (_difference(row[f"minus {first}"][name]) for name in others)
        rows.append([row["name"], row["used"], *row["values"].values(), *differences])
    output.table(["test", "cases", first, *others, *(f"{name} - {first}" for name in others)], rows)
    _print_left_out(result)


def _difference(found: dict[str, Any]) -> str:
    value, low, high = (found[name] for name in ("value", "low", "high"))
    return f"{value:+.3f} ({low:+.3f} to {high:+.3f}){' *' if low > 0 or high < 0 else ''}"


@TASK.verb(example="polyadic compare vectors vectors.txt --groups groups", show=_print_comparison)
def compare(
    vectors: Annotated[list[str], Metavar("VECTORS")],
    *,
    kind: Kind = None,
    data: Data = None,
    made: Made = None,
    pairs: Pairs = None,
    groups: Groups = None,
    questions: Questions = None,
) -> dict[str, Any]:
    """Compare several sets of word vectors on their shared vocabulary, with confidence intervals of the differences.

    Parameters
    ----------
    vectors
        Folders or files of word vectors; all others are compared with the first.
    """
    from polyadic.embedding import read_vectors
    from polyadic.words import evaluation

    if len(vectors) < 2:
        raise InputError(f"a comparison requires at least two embeddings; got {len(vectors)}")
    paths = [Path(each) for each in vectors]
    short = [path.name for path in paths]
    names = [name if short.count(name) == 1 else str(path) for name, path in zip(short, paths, strict=True)]
    if len(set(names)) < len(names):
        raise InputError("each embedding must be given only once")
    tests = _tests(kind, data, made, pairs, groups, questions)
    models = {name: read_vectors(path) for name, path in zip(names, paths, strict=True)}
    rows, left_out = evaluation.compare(models, tests)
    shown = []
    for row in rows:
        minus = [d._asdict() | {"certain": d.certain} for d in row.differences]
        about = {"name": row.name, "used": row.used, "total": row.total}
        values = dict(zip(names, row.values, strict=True))
        shown.append({**about, "values": values, f"minus {names[0]}": dict(zip(names[1:], minus, strict=True))})
    return {"models": names, "figures": shown, "left_out": left_out}


def _tests(kinds: Kind, data: Data, made: Made, pairs: Pairs, groups: Groups, questions: Questions) -> dict[str, Test]:
    """Load the requested test sets; by default the quick published test sets."""
    from polyadic.words import evaluation

    own = evaluation.own_tests(pairs=pairs or (), groups=groups or (), questions=questions or ())
    tests: dict[str, Test] = {f"own {kind}": test for kind, test in own.items()}
    if made is not None:
        tests |= evaluation.made_tests(made)
    if kinds or not tests:
        wanted = evaluation.PUBLISHED if kinds == ["all"] else kinds or evaluation.QUICK
        tests = evaluation.published_tests(wanted, root=data) | tests
    elif data is not None:
        raise InputError("data has no effect because no published test set was requested; add --kind", "data")
    return tests


def _print_left_out(result: dict[str, Any]) -> None:
    """Print on standard error which tests could not be run; raise InputError if no test was run."""
    for name, why in result["left_out"].items():
        typer.echo(f"left out: {name}: {why}", err=True)
    if not result["figures"]:
        raise InputError("no test could be run; the reasons are listed above")


# ---- counting


@COUNTING.verb(example="polyadic count corpus --out counts --order 3 --width 10", show=nothing_more, distributed=True)
def count(
    corpus: CorpusFolder,
    *,
    out: Out,
    order: Order = 3,
    window: Window = "span",
    width: Width = 10,
    distance: Literal["kept", "running"] = "kept",
    min_count: Annotated[int, Within(1, 2**31 - 1)] = 2,
    repeats: bool = False,
    memory: int | None = None,
    threads: Threads = None,
    tns: File | None = None,
    force: bool = False,
) -> Saved:
    """Count how often pairs, triples or larger tuples of words co-occur within a window.

    Parameters
    ----------
    distance
        Words in which the window width is measured: words kept for training, or all running words of the text.
    min_count
        Minimum count of a tuple.
    repeats
        Also count tuples in which a word occurs more than once.
    threads
        Number of threads (default: all cores).
    tns
        Additional file to write the counts to, in FROSTT text format (.tns).
    """
    from polyadic.core.tns import write_tns
    from polyadic.text.corpus import Corpus
    from polyadic.words.training import counted

    check_replaceable(out, "counts", overwrite=force)
    if tns and not tns.parent.is_dir():
        raise InputError(f"cannot write {tns}: the folder {tns.parent} does not exist")
    steps = output.Steps()
    how: dict[str, Any] = {"order": order, "window": window, "width": width, "distance": distance, "repeats": repeats}
    how |= {"memory": memory, "threads": threads}
    with steps("count") as facts:
        counts = counted(Corpus.open(corpus), path=out, steps=steps, **how, min_count=min_count, overwrite=force)
        facts.update(counts.sizes)
    if tns:
        write_tns(counts.entries, tns)
    saved = Saved(out=str(out), steps=steps.done)
    saved.next = "train", out, "--out", "vectors"
    return saved


def _print_plan(result: dict[str, Any]) -> None:
    """Print a table of the estimated cost of each step."""
    headings = ["step", "minutes", "network minutes", "MiB per worker", "MiB here", "MiB sent"]
    output.table(headings, [tuple(step.values()) for step in result["steps"]])


@COUNTING.verb(example="polyadic plan corpus --workers 16", show=_print_plan)
def plan(
    source: Annotated[str, Metavar("SOURCE")],
    *,
    workers: Annotated[int, Within(1, 1024)] = 1,
    mbit: Annotated[float, Within(0.001)] = 1000.0,
    order: Order = 3,
    window: Window = "span",
    width: Width = 10,
    rank: Count = 300,
    max_iter: Count = 75,
) -> dict[str, Any]:
    """Estimate the time, memory and network traffic of the next step in training word vectors.

    The step is encoding for text, counting for a corpus, and training with the method cp for counts. Times are based on
    rates measured on one kind of processor, and on workers that have a core each.

    Parameters
    ----------
    source
        File, folder or URL of text, or a folder created by polyadic corpus or polyadic count.
    workers
        Number of worker processes, with one core each.
    mbit
        Network bandwidth of each machine in megabits per second.
    rank
        Number of dimensions of the vectors.
    max_iter
        Number of training iterations.
    """
    from polyadic.words.planning import planned

    steps = planned(
        source, workers=workers, mbit=mbit, order=order, window=window, width=width, rank=rank, max_iter=max_iter
    )
    return {"workers": workers, "steps": [step._asdict() for step in steps]}
