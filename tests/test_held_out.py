"""Laws of the test sets that are made of text, each checked against the sentences themselves."""

import itertools
import math
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyadic.core.errors import InputError
from polyadic.embedding import Embedding
from polyadic.metrics.multiwords import multiwords
from polyadic.text.corpus import Corpus
from polyadic.words import held_out
from polyadic.words.held_out import gaps, names, phrases, split
from strategies import tries


def sentences(corpus):
    return list(itertools.chain.from_iterable(corpus.document(d) for d in range(len(corpus.documents) - 1)))


def tuples(corpus, order, width):
    """How often words occur together within the width, one combination of positions at a time."""
    seen = Counter()
    for sentence in sentences(corpus):
        for places in itertools.combinations(range(len(sentence)), order):
            if places[-1] - places[0] <= width and len({sentence[p] for p in places}) == order:
                seen[frozenset(sentence[p] for p in places)] += 1
    return seen


def text(seed, *, size, words, longest=6):
    """Draw sentences of words, of which the first are more frequent."""
    rng = np.random.default_rng(seed)
    share = 1 / (np.arange(len(words)) + 5)
    share /= share.sum()
    return Corpus.build(
        [[rng.choice(words, rng.integers(3, longest + 1), p=share).tolist()] for _ in range(size)], min_count=1, jobs=1
    )


COMMON = [f"w{k}" for k in range(14)]


@pytest.fixture(scope="module")
def texts():
    """Two texts whose vocabularies share most of their words, at different numbers."""
    return text(0, size=70, words=[*COMMON, "train"]), text(1, size=110, words=["held", *COMMON[::-1]])


# ---- gaps


@pytest.mark.parametrize(("order", "width", "min_count"), [(3, 3, 2), (3, 5, 3), (4, 5, 1)])
@pytest.mark.parametrize("seed", [0, 1])
def test_gaps_against_the_sentences(texts, order, width, min_count, seed):
    """Answers complete tuples that are frequent in the held-out text and absent from training, other words neither.

    The vocabulary is so small that all words that occurred with those given are drawn, so the matched word is the one
    nearest in frequency to the answer of all that fit.
    """
    train, held = texts
    seen, other = tuples(train, order, width), tuples(held, order, width)
    pairs = tuples(train, 2, width)
    frequency = dict(zip(train.vocabulary.words, train.vocabulary.counts.tolist(), strict=True))
    known = set(frequency)

    def new(words):
        return len(words) == order and words <= known and words not in seen and words not in other

    def together(word, others):
        return all(pairs[frozenset((word, w))] > 0 for w in others)

    found = gaps(train, held, order=order, width=width, min_count=min_count, seed=seed)
    assert len(found) > 5
    frequent = {t for t, n in other.items() if n >= min_count and t <= known and t not in seen}
    asked = [frozenset((*gap.given, gap.answer)) for gap in found]
    assert len(set(asked)) == len(found)
    assert set(asked) <= frequent
    for context, answer, wrong, matched, _ in found:
        assert len(context) == order - 1
        assert new(frozenset((*context, wrong)))
        assert new(frozenset((*context, matched)))
        assert together(answer, context)
        assert together(matched, context)
        fits = [w for w in known if together(w, context) and new(frozenset((*context, w)))]
        distance = {w: abs(math.log(frequency[w] / frequency[answer])) for w in fits}
        assert distance[matched] == pytest.approx(min(distance.values()))
    places = {sorted(t, key=held.vocabulary.index.get).index(g.answer) for t, g in zip(asked, found, strict=True)}
    assert len(places) == order  # the answer may be any word of the tuple


def test_associations_are_those_of_the_held_out_text(texts):
    """PMI, worked out from the sentences: how much more often than by chance the words occur together."""
    train, held = texts
    other = tuples(held, 3, 5)
    total, member = other.total(), Counter()
    for words, n in other.items():
        member.update(dict.fromkeys(words, n))
    found = gaps(train, held, width=5, min_count=2)
    for gap in found:
        words = frozenset((*gap.given, gap.answer))
        chance = math.prod(member[w] / (3 * total) for w in words)
        assert gap.association == pytest.approx(math.log(other[words] / total / 6 / chance), rel=1e-5)
        assert gap.association > 0


def test_gaps_repeat_themselves_and_keep_to_their_size(texts):
    """The same seed draws the same cases, another one others; no more are drawn than asked for."""
    train, held = texts
    assert gaps(train, held, min_count=2, seed=5) == gaps(train, held, min_count=2, seed=5)
    assert gaps(train, held, min_count=2, seed=5) != gaps(train, held, min_count=2, seed=6)
    for size in (1, 7):
        assert 0 < len(gaps(train, held, min_count=2, size=size, seed=1)) <= size
    fewer, all_of_them = (
        {frozenset((*g.given, g.answer)) for g in gaps(train, held, min_count=n, size=10**6)} for n in (3, 2)
    )
    assert len(fewer) < len(all_of_them)


def test_a_planted_gap_is_found():
    """Training has every pair of a, b, c and of a, b, d and no such triple; the held-out text has a, b, c."""
    pairs = [["a", "b"], ["a", "c"], ["b", "c"], ["a", "d"], ["b", "d"]]
    others = [["e", "f", "g"], ["c", "d", "e"]]
    train = Corpus.build([*pairs, *others], min_count=1, jobs=1)
    held = Corpus.build([["a", "b", "c"], ["a", "b", "c"], ["e", "f", "g"], ["h", "a", "b"]], min_count=1, jobs=1)
    found = [g for seed in range(20) for g in gaps(train, held, min_count=2, seed=seed, width=2) if g.answer == "c"]
    assert found
    for gap in found:
        assert set(gap.given) == {"a", "b"}
        assert gap.matched == "d"
        assert gap.wrong in {"d", "e", "f", "g"}


def test_gaps_refuse(texts):
    """Options are in range; what is held out holds something new, of known words, and other words are left."""
    for change, message in (
        ({"order": 2}, "order must be a whole number from 3 to 5; got 2"),
        ({"order": 6}, "order must be a whole number from 3 to 5; got 6"),
        ({"size": 0}, "size must be a whole number of at least 1"),
        ({"min_count": 0}, "min_count must be a whole number of at least 1"),
        ({"width": 0}, "width must be a whole number from 1"),
        ({"min_count": 1000}, "no tuple of 3 words within a span of 10 occurs at least 1000 times"),
    ):
        with pytest.raises(InputError, match=message):
            gaps(*texts, **{"min_count": 2} | change)
    train, _ = texts
    with pytest.raises(
        InputError, match="no tuple of 3 words occurs at least 1 times in the held-out text and never in the train"
    ):
        gaps(train, train, min_count=1)
    unknown = Corpus.build([["x", "y", "z"], ["x"]], min_count=1, jobs=1)
    with pytest.raises(InputError, match="never in the training"):
        gaps(train, unknown, min_count=1)
    apart = Corpus.build([["a", "b", "x"], ["c", "b", "x"], ["a", "c", "x"]], min_count=1, jobs=1)
    with pytest.raises(InputError, match="no wrong answer was found for any of 1 tuples"):
        gaps(apart, Corpus.build([["a", "b", "c"], ["x"]], min_count=1, jobs=1), min_count=1)


# ---- articles


def wiki(path, articles):
    """Build a corpus of articles with titles, each a list of lines."""
    path.write_text("".join(f'<doc id="1" title="{t}">\n{t}\n\n' + "\n".join(a) + "\n</doc>\n" for t, a in articles))
    return Corpus.build(path, min_count=1, jobs=1)


def article(title, seed, *, lines=6):
    """Write about one of three topics, in some words of its own and some that all articles have."""
    rng = np.random.default_rng(seed)
    topic = [f"t{seed % 3}x{i}" for i in range(26)]
    common = [f"common{i}" for i in range(10)]
    return title, [
        " ".join([*rng.choice(topic, 13, replace=False), *rng.choice(common, 6), *title.lower().split()])
    ] * lines


@pytest.fixture(scope="module")
def articles(tmp_path_factory):
    """Training and held-out articles, most of them titled by two words, of which some are titled alike."""
    folder = tmp_path_factory.mktemp("wiki")
    held = ["Pearl Jam", "Pearl Harbor", "Traffic Jam", "Lone Title", "One", "Of Three Words", "New New", "Pearl Jam"]
    more = ["Pearl River", "River Bank", "Harbor Bank", "Some Thing", "Pearl Jam", "Pearl Pearl Pearl", "Traffic Light"]
    short = ("Short Jam", ["few words about pearl"])
    return (
        wiki(folder / "train.txt", [article(t, k + 20) for k, t in enumerate([*more, "Lone", "Title", "One"])]),
        wiki(folder / "held.txt", [*(article(t, k) for k, t in enumerate(held)), short]),
    )


def characteristic(corpus, document, title, known, total):
    """The most characteristic words of a document with their scores, one word at a time."""
    ids = [w for sentence in corpus.document(document) for w in sentence if w in known]
    scores = {}
    for word, n in Counter(ids).items():
        score = n * math.log(n / len(ids) / (known[word] / total))
        if n >= held_out.MIN_OWN_COUNT and score > 0 and word not in title:
            scores[word] = score
    return scores


def test_phrases_against_the_articles(articles):
    """Words of a case are the most characteristic of its article, and of articles that share a word of its title."""
    train, held = articles
    known = dict(zip(train.vocabulary.words, train.vocabulary.counts.tolist(), strict=True))
    own, titles = defaultdict(dict), defaultdict(set)
    for corpus in (train, held):
        for document, title in enumerate(corpus.titles):
            words = tuple(title.lower().split())
            first = words not in titles[corpus]
            titles[corpus].add(words)
            if first and len(set(words)) == len(words) == 2 and set(words) <= set(known):
                scores = characteristic(corpus, document, words, known, len(train))
                if len(scores) >= held_out.MIN_OWN_WORDS:
                    own[corpus][words] = scores
    cases = phrases(train, held)
    assert {c.words for c in cases} == {("pearl", "jam"), ("pearl", "harbor"), ("traffic", "jam")}
    for case in cases:
        scores = own[held][case.words]
        ranked = sorted(scores.values(), reverse=True)[: held_out.MAX_OWN_WORDS]
        assert [scores[w] for w in case.own] == pytest.approx(ranked)
        assert held_out.MIN_OWN_WORDS <= len(set(case.own)) == len(case.own) <= held_out.MAX_OWN_WORDS
        # characteristic of others, at most; which of equal scores are among the most characteristic is not told
        rivals = [
            sorted(s, key=s.get)[-held_out.MAX_OWN_WORDS :]
            for c in (train, held)
            for t, s in own[c].items()
            if t != case.words and set(t) & set(case.words)
        ]
        assert set(case.others) == set(itertools.chain(*rivals)) - {*case.own, *case.words}
        assert list(case.others) == sorted(set(case.others))


def test_words_of_a_phrase_are_apart(articles):
    """Own words, others and the title have no word in common, and training knows them all."""
    train, held = articles
    for a, b in ((train, held), (held, train), (held, held)):
        cases = phrases(a, b)
        assert cases == phrases(a, b)
        for title, own, others in cases:
            assert len({*title, *own, *others}) == len(title) + len(own) + len(others)
            assert {*title, *own, *others} <= set(a.vocabulary.words)


def test_articles_need_titles(articles, tmp_path):
    """A corpus without titles is refused, on either side, as are titles that none shares a word with."""
    train, held = articles
    plain = Corpus.build(["pearl jam plays", "pearl harbor lies"], min_count=1, jobs=1)
    for a, b in ((plain, held), (train, plain)):
        with pytest.raises(InputError, match="the documents of this corpus have no titles"):
            phrases(a, b)
    with pytest.raises(InputError, match="the documents of this corpus have no titles"):
        names(plain)
    lone = wiki(tmp_path / "lone.txt", [article("Lone Title", 1), article("Another One", 2)])
    with pytest.raises(InputError, match="occurs in another title"):
        phrases(lone, lone)


@tries(60)
@given(
    st.lists(st.lists(st.lists(st.sampled_from("abcd"), max_size=8), min_size=1, max_size=4), min_size=1, max_size=4),
    st.integers(2, 4),
    st.integers(1, 3),
    st.data(),
)
def test_names_against_the_sentences(tmp_path_factory, documents, order, min_count, data):
    """Candidates are the frequent runs of different words within sentences; names those that title a document."""
    lines = [[["q", *sentence] for sentence in document] for document in documents]
    every = list(itertools.chain.from_iterable(lines))
    runs = Counter(tuple(s[k : k + order]) for s in every for k in range(len(s) - order + 1))
    title = st.sampled_from([*runs, ("b", "d"), ("q", "z")])
    titles = [data.draw(title) for _ in documents]
    text = [(" ".join(t).title(), [" ".join(s).capitalize() for s in d]) for t, d in zip(titles, lines, strict=True)]
    corpus = wiki(tmp_path_factory.mktemp("names") / "wiki.txt", text)
    assert sentences(corpus) == every
    truth = {run: run in titles for run, n in runs.items() if n >= min_count and len(set(run)) == order}
    if not any(truth.values()):
        with pytest.raises(
            InputError,
            match=f"no document title is a sequence of {order} words that occurs at least {min_count} times",
        ):
            names(corpus, order=order, min_count=min_count)
        return
    found = names(corpus, order=order, min_count=min_count)
    assert dict(found) == truth
    assert len(found) == len(truth)
    assert all(isinstance(name, bool) for _, name in found)


def test_names_by_hand(tmp_path):
    """Runs do not cross sentences; a title is a name if it occurs often enough, in this order."""
    lines = ["we saw new york city", "new york city sleeps", "york city new", "new york", "city hall"]
    corpus = wiki(tmp_path / "wiki.txt", [("New York City", lines), ("York", ["a"]), ("City New York", ["b"])])
    found = names(corpus, order=3, min_count=2)
    assert found == [(("new", "york", "city"), True)]
    everything = dict(names(corpus, order=3, min_count=1))
    assert set(everything) == {
        ("we", "saw", "new"),
        ("saw", "new", "york"),
        ("new", "york", "city"),
        ("york", "city", "sleeps"),
        ("york", "city", "new"),
    }
    assert [run for run, name in everything.items() if name] == [("new", "york", "city")]
    vectors = Embedding(corpus.vocabulary.words, np.eye(len(corpus.vocabulary)))
    with pytest.raises(InputError, match="got 1 names and 4 other candidates"):
        multiwords(vectors, names(corpus, order=3, min_count=1))


def test_names_with_brackets_hide_none_without(tmp_path):
    """A title is a name whether or not another of the same words, with brackets, comes before it."""
    articles = [("New York (city)", ["new york city", "new york city sleeps"]), ("New York City", ["city"])]
    for number, some in enumerate((articles, articles[::-1])):
        corpus = wiki(tmp_path / f"{number}.txt", some)
        assert names(corpus, order=3, min_count=2) == [(("new", "york", "city"), True)]


def test_names_refuse(tmp_path):
    """Options out of range, and a text that is shorter than a run."""
    corpus = wiki(tmp_path / "wiki.txt", [("New York", ["new york", "a b c d e"])])
    for options, message in (
        ({"order": 1}, "order must be a whole number of at least 2"),
        ({"min_count": 0}, "min_count must be a whole number of at least 1"),
        ({"order": 3, "min_count": 1}, "no document title is a sequence of 3 words"),
        ({"order": 8, "min_count": 1}, "no document title is a sequence of 8 words"),
        ({"order": 9, "min_count": 1}, "no document title is a sequence of 9 words"),
    ):
        with pytest.raises(InputError, match=message):
            names(corpus, **options)
    assert [run for run, name in names(corpus, order=2, min_count=1) if name] == [("new", "york")]


# ---- split


@given(total=st.integers(2, 40), share=st.floats(0, 1), seed=st.integers(0, 3))
@tries(30)
def test_split_loses_and_shares_nothing(total, share, seed):
    """Every document is in one part, the numbers rise, and the part held out is of the size asked for."""
    corpus = documents(total)
    size = round(share * total)
    if size in {0, total}:
        with pytest.raises(InputError, match="documents leaves the training or held-out set empty"):
            split(corpus, share, seed=seed)
        return
    train, held = split(corpus, share, seed=seed)
    assert sorted([*train, *held]) == list(range(total))
    assert len(held) == size
    for part in (train, held):
        assert (np.diff(part) > 0).all()
    for part, again in zip((train, held), split(corpus, share, seed=seed), strict=True):
        assert part.tolist() == again.tolist()


def documents(n, kept={}):  # noqa: B006  a corpus is built once for each size
    if n not in kept:
        kept[n] = Corpus.build(["a"] * n, min_count=1, jobs=1)
    return kept[n]


def test_split_is_drawn_by_seed():
    """Other seeds hold out other documents, and every document may be held out."""
    corpus = documents(20)
    drawn = [split(corpus, 0.2, seed=seed)[1].tolist() for seed in range(40)]
    assert len(set(map(tuple, drawn))) > 30
    assert set(itertools.chain.from_iterable(drawn)) == set(range(20))


@pytest.mark.parametrize("share", [math.nan, -0.1, "half", True, None])
def test_split_refuses_what_is_no_share(share):
    """A share is a number of at least zero."""
    with pytest.raises(InputError, match="share must be a finite number of at least 0"):
        split(documents(5), share)


def test_parts_of_a_corpus_make_gaps():
    """The documents drawn select two texts with vocabularies of their own, of which cases can be made."""
    corpus = text(3, size=160, words=COMMON)
    train, held = (corpus.select(part) for part in split(corpus, 0.5))
    assert len(gaps(train, held, min_count=2, width=4)) > 5
