"""Word lists, n-grams, collocations, keywords, diversity and trends: hand counts, and agreement with plain Python."""

import gzip
import json
import logging
from collections import Counter
from itertools import chain, pairwise

import numpy as np
import pytest
from typer.testing import CliRunner

from polyadic import frame
from polyadic.cli import app
from polyadic.core.errors import InputError
from polyadic.core.files import plain
from polyadic.datasets.examples import write_examples
from polyadic.metrics.association import adjusted_p_values, log_likelihood, log_ratio, p_value
from polyadic.metrics.dispersion import dispersion
from polyadic.metrics.diversity import lexical_diversity
from polyadic.text import usage
from polyadic.text.corpus import Corpus
from polyadic.text.task import text_of
from polyadic.text.tokens import whitespace
from polyadic.text.usage import Occurrences, fullest, in_order


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """Return a corpus of random letters, the rare ones outside the vocabulary, and its documents as lists."""
    rng = np.random.default_rng(5)
    texts = [[[*map(str, rng.choice([*"abcdefg"], rng.integers(1, 9)))] for _ in range(n)] for n in (7, 1, 4, 9, 3)]
    texts[1] = [["x", "x"]]
    file = tmp_path_factory.mktemp("drawn") / "letters.jsonl"
    rows = [{"text": "\n".join(map(" ".join, text)), "year": str(k % 2)} for k, text in enumerate(texts)]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return Corpus.build(file, field="text", min_count=5, stop_words=["a"], tokenizer=whitespace), texts


@pytest.mark.parametrize(("n", "part", "chunk"), [(1, 99, 99), (2, 8, 5), (3, 99, 99), (3, 8, 5), (5, 8, 5)])
def test_ngrams_equal_a_count_in_plain_python(drawn, n, part, chunk, monkeypatch):
    monkeypatch.setattr(usage, "PART", part)
    monkeypatch.setattr(usage, "CHUNK", chunk)
    corpus, texts = drawn
    found = [[" ".join(s[k : k + n]) for s in text for k in range(len(s) - n + 1)] for text in texts]
    counts, ranges = Counter(chain(*found)), Counter(chain(*map(set, found)))
    for least in (1, 2):
        rows = corpus.ngrams(n, min_count=least)
        kept = [(gram, count, ranges[gram]) for gram, count in counts.items() if count >= least]
        assert [(*each[:2], each.range) for each in rows] == sorted(kept, key=lambda row: (-row[1], row[0]))
    with_b = {gram: count for gram, count in counts.items() if "b" in gram.split()}
    assert {each.item: each.frequency for each in corpus.ngrams(n, query="b", min_count=1)} == with_b
    assert corpus.ngrams(n, min_range=2, top=3) == [each for each in corpus.ngrams(n) if each.range >= 2][:3]


@pytest.mark.parametrize("across", [False, True])
def test_collocates_equal_a_count_in_plain_python(drawn, across):
    corpus, texts = drawn
    near, sides, nodes = Counter(), Counter(), 0
    for text in texts:
        for part in [[*chain(*text)]] if across else text:
            at = [k for k, word in enumerate(part) if word == "c"]
            nodes += len(at)
            near.update(part[k] for k in range(len(part)) if any(k != node and -2 <= k - node <= 3 for node in at))
            for node in at:
                for offset in (-2, -1, 1, 2, 3):
                    if 0 <= node + offset < len(part):
                        sides[part[node + offset], offset] += 1
    counts = Counter(word for text in texts for word in chain(*text))
    N, R = sum(counts.values()), sum(near.values())
    rows = corpus.collocates("c", left=2, right=3, across=across, min_count=1)
    assert {each.item: each.together for each in rows} == near
    for each in rows:
        assert each.positions == tuple(sides[each.item, offset] for offset in (-2, -1, 1, 2, 3))
        assert (each.left + each.right, each.frequency) == (sum(each.positions), counts[each.item])
        assert each.log_likelihood == pytest.approx(float(log_likelihood(each.together, R, each.frequency, N)))
        assert each.log_dice == pytest.approx(14 + np.log2(2 * each.together / (nodes + each.frequency)))
    assert all(a.log_likelihood >= b.log_likelihood for a, b in pairwise(rows))
    assert list(frame(rows[:1]).columns) == list(rows[0]._fields)


def test_collocates_by_hand():
    corpus = Corpus.build(["The old bank. An old river bank! Old river. The bank of the river bank."], min_count=1)
    rows = {
        each.item: (each.together, each.positions)
        for each in corpus.collocates('[lc="bank"]', left=1, right=1, min_count=1)
    }
    assert rows == {"old": (1, (1, 0)), "river": (2, (2, 0)), "the": (1, (1, 0)), "of": (1, (0, 1))}
    found = {each.item: each.positions for each in corpus.collocates("the bank", left=0, right=4, min_count=1)}
    assert found == {"of": (1, 0, 0, 0), "the": (0, 1, 0, 0), "river": (0, 0, 1, 0), "bank": (0, 0, 0, 1)}
    assert corpus.collocates("ship") == []
    with pytest.raises(InputError, match="left and right must not both be 0"):
        corpus.collocates("bank", left=0, right=0)


@pytest.mark.parametrize("n", [1, 2])
def test_keywords_of_a_field_and_of_another_corpus_equal_a_count_in_plain_python(drawn, n, tmp_path):
    corpus, texts = drawn
    counts, ranges = [Counter(), Counter()], [Counter(), Counter()]
    for k, text in enumerate(texts):
        grams = [" ".join(s[i : i + n]) for s in text for i in range(len(s) - n + 1)]
        counts[k % 2].update(grams)
        ranges[k % 2].update({*grams})
    words = [sum(len([*chain(*text)]) for text in texts[k::2]) for k in (0, 1)]
    tested = [gram for gram, count in (counts[0] | counts[1]).items() if count >= 2]
    ones, both = ([count[gram] for gram in tested] for count in (counts[0], counts[0] + counts[1]))
    p = adjusted_p_values(p_value(log_likelihood(ones, words[0], both, sum(words))))
    p = dict(zip(tested, p, strict=True))
    rows = corpus.keywords(where={"year": "0"}, min_count=2, keys="both", n=n)
    assert rows == corpus.keywords({"year": "1"}, where={"year": "0"}, min_count=2, keys="both", n=n)
    for each in rows:
        one, other = (count[each.item] for count in counts)
        assert (each.frequency, each.reference_frequency) == (one, other)
        assert (each.range, each.reference_range) == tuple(some[each.item] for some in ranges)
        table = one, words[0], one + other, sum(words)
        assert each.log_likelihood == pytest.approx(float(log_likelihood(*table)))
        assert each.log_ratio == pytest.approx(float(log_ratio(*table)))
        assert each.p_value == pytest.approx(p[each.item])
    assert {each.item for each in rows if each.log_likelihood > 0} == {
        gram for gram, count in counts[0].items() if count >= 2 and count / words[0] > counts[1][gram] / words[1]
    }
    parts = [
        Corpus.build(["\n".join(map(" ".join, t)) for t in texts[k::2]], min_count=1, tokenizer=whitespace)
        for k in (0, 1)
    ]
    assert parts[0].keywords(parts[1], min_count=2, keys="both", n=n) == rows


def test_word_list_by_hand(caplog):
    corpus = Corpus.build(["The cats sat. The old hat!", "Cats sit; THE END."], min_count=2, stop_words=["the"])
    rows = corpus.word_list(top=2)
    assert [(each.item, each.frequency, each.range) for each in rows] == [("the", 3, 2), ("cats", 2, 2)]
    assert rows[0].per_million == pytest.approx(3e6 / len(corpus.text))
    assert [each.item for each in corpus.word_list(query="*at", sort="reversed")] == ["hat", "sat"]
    assert {each.item: each.frequency for each in corpus.word_list(attribute="word", query="the")} == {
        "The": 2,
        "THE": 1,
    }
    assert rows[0].dp == pytest.approx((abs(2 / 3 - 6 / 10) + abs(1 / 3 - 4 / 10)) / 2)
    assert np.isnan(Corpus.build(["One text."], min_count=1).word_list()[0].dp)
    caplog.set_level(logging.INFO, "polyadic")
    listed = corpus.word_list(words=["CATS", "the cats", "c*", "dog"])
    assert {each.item: each.frequency for each in listed} == {"CATS": 2, "the cats": 1, "c*": 2}
    assert "1 of 4 entries of the list do not occur: 'dog'" in caplog.text
    assert [each.frequency for each in corpus.word_list(words=["*", "c*", "the"])] == [10, 3, 2]  # they overlap
    with pytest.raises(InputError, match="no attribute 'pos'"):
        corpus.word_list(attribute="pos")
    with pytest.raises(InputError, match="use n-grams"):
        corpus.word_list(query="the cats")


def test_dispersion_over_equal_parts(drawn):
    corpus, texts = drawn
    words = [*chain(*chain(*texts))]
    quarters = [words[len(words) * k // 4 : len(words) * (k + 1) // 4] for k in range(4)]
    rows = corpus.word_list(parts=4)
    assert rows == corpus.word_list(words=[each.item for each in rows], parts=4)
    for each in rows:
        counts = [part.count(each.item) for part in quarters]
        found = dispersion([counts], [len(part) for part in quarters])
        assert (each.frequency, each.range) == (sum(counts), np.count_nonzero(counts))
        assert (each.dp, each.juilland_d) == pytest.approx((found["dp"][0], found["juilland_d"][0]))
    with pytest.raises(InputError, match="cannot be combined with where"):
        corpus.word_list(parts=4, where={"year": "1"})


def test_fields_restrict_and_order(drawn):
    corpus, texts = drawn
    ones = [word for text in texts[1::2] for word in chain(*text)]
    rows = corpus.word_list(where={"year": "1"})
    assert {each.item: each.frequency for each in rows} == Counter(ones)
    assert sum(each.per_million for each in rows) == pytest.approx(1e6)
    found = corpus.trends(["c", "b c"], by="year")
    assert [(each.query, each.value, each.words, each.documents) for each in found[:2]] == [
        ("c", "0", sum(map(len, chain(*texts[0::2]))), 3),
        ("c", "1", len(ones), 2),
    ]
    assert found[1].frequency == ones.count("c")
    places = next(each for each in corpus.occurrences("c", by="year") if each.part == "1").positions
    assert list(places) == [k for k, word in enumerate(ones) if word == "c"]
    assert corpus.diversity("year", window=5)[1]._asdict() == {"part": "1"} | lexical_diversity(ones, window=5)
    assert [each.part for each in corpus.diversity("document")] == [*"12345"]
    assert [corpus.diversity(by, where={"year": "9"}) for by in (None, "document", "year")] == [[], [], []]
    for wrong in (lambda: corpus.trends("c", by="yaer"), lambda: corpus.word_list(where={"yaer": "1"})):
        with pytest.raises(InputError, match="did you mean 'year'"):
            wrong()


def test_order_of_values():
    assert in_order(["1900", "-5", "30.5"]) == ["-5", "30.5", "1900"]
    assert in_order(["2021-01-05", "1999-12-31T10:00:00+02:00"]) == ["1999-12-31T10:00:00+02:00", "2021-01-05"]
    mails = ["Mon, 24 Nov 1997 09:55:06 -0600", "Fri, 21 Nov 1997 09:55:06 -0600"]
    assert in_order(mails) == mails[::-1]
    assert in_order(["chapter 10", "preface", "chapter 9"]) == ["chapter 9", "chapter 10", "preface"]
    assert in_order(["3", "nan", "-inf", "1"]) == ["-inf", "1", "3", "nan"]
    absurd = "1 Jan 99999999999999999999 00:00:00 +0000"
    assert in_order(["May", absurd, "1 Feb 2020 00:00:00 +99999999999999"])[1:] == [absurd, "May"]


def test_parts_with_the_most_matches_stay_in_order():
    parts = [Occurrences("c", name, len(at), 6, 0.0, at) for name, at in (("x", (5,)), ("y", (0,)), ("z", (0, 2, 3)))]
    assert [each.part for each in fullest(parts, 2)] == ["x", "z"]
    assert fullest(parts, None) == parts
    assert parts[2].binned(3) == (1, 2, 0)


def test_what_cannot_be_compared_is_refused(drawn):
    corpus, _ = drawn
    for how, said in (({}, "needs where"), ({"where": {"year": "9"}}, "no document has year=9")):
        with pytest.raises(InputError, match=said):
            corpus.keywords(**how)
    with pytest.raises(InputError, match="different documents"):
        corpus.keywords({"year": "0"}, where={"year": "0"})


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """Build the corpus of the example book."""
    folder = tmp_path_factory.mktemp("book") / "example"
    write_examples(folder)
    return Corpus.build(
        folder / "holmes", folder / "corpus", min_count=10, stop_words="language", language="en", jobs=1
    )


def test_numbers_of_nltk(book):
    """Counts and measures of NLTK 3.10 on the same words: ``FreqDist``, ``ngrams``, ``BigramCollocationFinder``."""
    assert len(book.word_list()) == 7895
    for n, types, best in ((2, 47415, ("of the", 702)), (4, 87220, ("i have no doubt", 17))):
        rows = book.ngrams(n, min_count=1)
        assert (len(rows), rows[0][:2]) == (types, best)
    for node, best, figures in (
        ("goose", ("club", 2), (24.230729809407272, 9.928682859928104, 1.4127625081564437)),
        ("holmes", ("laughing", 8), (62.38703202058253, 6.6650224202199215, 2.8005547916680107)),
        ("the", ("matter", 83), (333.24187259917744, 3.6429030929126576, 8.38111723900588)),
    ):
        first = book.collocates(node, left=0, right=1, across=True)[0]
        assert first[:2] == best
        assert (first.log_likelihood, first.pmi, first.t_score) == pytest.approx(figures)


def test_frequent_and_rare_words_count_in_windows_and_frequencies(book):
    (goose,) = book.word_list(words=["goose"])
    assert (goose.frequency, goose.range, round(goose.per_million), len(book.text)) == (27, 2, 257, 105258)
    near = {each.item: each.together for each in book.collocates("goose")}
    assert (near["stone"], near["christmas"], near["a"]) == (2, 2, 17)


def test_commands_print_the_rows_of_the_methods(book, tmp_path):
    def run(*words, code=0):
        found = CliRunner().invoke(app, [*words[:1], str(book.path), *words[1:]])
        assert found.exit_code == code, found.output
        return found

    calls = {
        ("words", "*ing", "--top", "3"): book.word_list(query="*ing", top=3),
        ("ngrams", "goose", "--size", "3"): book.ngrams(3, query="goose", top=50),
        ("diversity", "--by", "all"): book.diversity(),
        ("trends", "goose", "--by", "file"): book.trends("goose", "file"),
        ("keywords", "--where", f"file={book.names[6]}", "--top", "5"): book.keywords(
            where={"file": book.names[6]}, top=5
        ),
    }
    for words, rows in calls.items():
        printed = json.loads(run(*words, "--json").stdout)["rows"]
        assert printed == json.loads(json.dumps([plain(each._asdict()) for each in rows]))
    csv = run("collocates", "goose", "--csv", "-").stdout.splitlines()
    first = book.collocates("goose")[0]
    assert csv[0].split(",")[-10:] == ["L5", "L4", "L3", "L2", "L1", "R1", "R2", "R3", "R4", "R5"]
    assert csv[1].startswith("goose,6,3,3,27,")
    assert csv[1].split(",")[-10:] == [*map(str, first.positions)]
    (tmp_path / "list.txt").write_text("Goose\n\nzebra\nred-headed league\n", encoding="utf-8")
    listed = json.loads(run("words", "--list", str(tmp_path / "list.txt"), "--json").stdout)["rows"]
    assert {row["item"]: row["frequency"] for row in listed} == {"Goose": 27, "red-headed league": 5}
    drawn = json.loads(run("barcode", "goose", "--picture", str(tmp_path / "goose.png"), "--json").stdout)["rows"]
    assert [len(row["positions"]) for row in drawn] == [sum(row["bins"]) for row in drawn] == [1, 26]
    assert (tmp_path / "goose.png").stat().st_size > 1000
    for words in (("words", "gooose"), ("collocates", "gooose"), ("barcode", "gooose")):
        assert "'gooose' does not occur in the text; did you mean 'goose'?" in run(*words).output
    for words in ("words", "ngrams", "collocates goose", "diversity", "trends goose --by file", "barcode goose"):
        assert run(*words.split(), "--where", "file=none").output == "polyadic: no document has file=none\n"
    assert "lower --min-count" in run("collocates", "goose", "--min-count", "99").output
    assert "no keyword occurs at least 5 times" in run("keywords", "--against", str(book.path), "--keys", "both").output
    assert "the documents have the fields file" in run("keywords", code=1).output
    assert "no attribute 'pos'" in run("words", '[pos="NOUN"]', code=1).output


def test_texts_with_the_same_stem_have_a_corpus_each(tmp_path):
    """The corpora of a.txt and a.txt.gz are saved in different folders, and are not built again."""
    (tmp_path / "a.txt").write_text("one two")
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"three four five"))
    made = []
    for _ in range(2):
        assert [len(text_of(str(tmp_path / name)).text) for name in ("a.txt", "a.txt.gz")] == [2, 3]
        made.append({each.name: each.stat().st_mtime_ns for each in tmp_path.glob("*-corpus")})
    assert made[0].keys() == {"a.txt-corpus", "a.txt.gz-corpus"}
    assert made[0] == made[1]
