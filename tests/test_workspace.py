"""Workspaces: made whole, gone on with, opened, refused; and what is asked of them is answered rightly."""

import importlib.util
import json

import numpy as np
import pytest
from scipy.stats import chi2_contingency

import workspaces
from polyadic.core.errors import InputError, MissingExtraError
from polyadic.explore import answers
from polyadic.explore.export import Chosen, key, page
from polyadic.explore.workspace import Workspace


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    return workspaces.planted(tmp_path_factory.mktemp("planted"))


def test_what_is_made_is_used_again(workspace):
    """The same command makes nothing anew; other settings are refused."""
    source = workspace.path.parent / "texts.csv"
    before = {path: path.stat().st_mtime_ns for path in workspace.path.rglob("*") if path.is_file()}
    Workspace.build(source, workspace.path, **workspaces.SETTINGS)
    changed = {path.name for path in before if path.stat().st_mtime_ns != before[path]}
    assert changed <= {"meta.json"}
    with pytest.raises(InputError, match="was made with"):
        Workspace.build(source, workspace.path, **workspaces.SETTINGS | {"language": "de"})


def test_what_was_cut_short_goes_on(tmp_path, monkeypatch):
    """Ctrl-C keeps the steps that are finished; the same call makes the others, and the same as in one go."""

    def interrupted(vectors):
        raise KeyboardInterrupt

    source = workspaces.write(tmp_path / "texts.csv", workspaces.documents())
    with monkeypatch.context() as patch:
        patch.setattr("polyadic.explore.workspace.placed", interrupted)
        with pytest.raises(KeyboardInterrupt):
            Workspace.build(source, tmp_path / "workspace", **workspaces.SETTINGS)
    with pytest.raises(InputError, match=r"has no meta\.json"):
        Workspace.open(tmp_path / "workspace")
    vectors = tmp_path / "workspace" / "vectors" / "meta.json"
    before = vectors.stat().st_mtime_ns
    resumed = Workspace.build(source, tmp_path / "workspace", **workspaces.SETTINGS)
    assert vectors.stat().st_mtime_ns == before
    whole = Workspace.build(source, tmp_path / "other", **workspaces.SETTINGS)
    assert np.array_equal(resumed.places, whole.places)
    assert np.array_equal(resumed.vectors.vectors, whole.vectors.vectors)


def test_refused(workspace, tmp_path, monkeypatch):
    """What is no workspace, is damaged or cannot be made is told in a sentence."""
    with pytest.raises(InputError, match="kind 'corpus'"):
        Workspace.open(workspace.path / "corpus")
    with pytest.raises(InputError, match="must be one or more files"):
        Workspace.build(["some text"], tmp_path / "s")
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match="openTSNE"):
        Workspace.build(workspace.path.parent / "texts.csv", tmp_path / "s")
    assert not (tmp_path / "s").exists()


def test_word(workspace):
    """Frequency, spread and collocates are those of the text."""
    tokens = [[word.strip(".").lower() for word in text.split()] for text, _ in workspaces.documents()]
    answer = answers.word(workspace, "Bank")
    assert answer["word"] == "bank"
    assert answer["count"] == sum(some.count("bank") for some in tokens) == sum(answer["spread"])
    assert answer["documents"] == sum("bank" in some for some in tokens)
    assert answer["deviation"] < 0.2
    assert answers.word(workspace, "water")["deviation"] > 0.45  # in half of the documents
    by = {row["word"]: row for row in answer["collocates"]}
    sentences = [some[at : at + 4] for some in tokens for at in range(0, len(some), 4)]
    assert by["water"]["together"] == sum(some.count("water") for some in sentences if "bank" in some)
    assert "shore" not in by  # it stands in the place of the word, not beside it
    with pytest.raises(InputError, match="banc"):
        answers.word(workspace, "banc")


def test_senses(workspace):
    """Of two planted senses each has its own substitute, triples and lines."""
    answer = answers.senses(workspace, "bank", lines=4, triples=5)
    assert {sense["words"][0] for sense in answer["senses"]} == {"shore", "purse"}
    for sense in answer["senses"]:
        words = workspaces.words_of("river" if sense["words"][0] == "shore" else "money")
        assert 0.4 < sense["share"] < 0.6
        assert len(sense["triples"]) == 5
        assert all({u, v} <= words for u, v, _ in sense["triples"])
        assert len(sense["lines"]) == 4
        for line in sense["lines"]:
            assert {*line["text"].lower().strip(".").split()} <= words | {"bank"}
            (start, end), *_ = line["places"]
            assert line["text"][start:end].lower() == "bank"


def test_phrase(workspace):
    """What stands with both words is what the triples tell."""
    answer = answers.phrase(workspace, ["bank", "water"])
    assert answer["third"]
    assert {word for word, _ in answer["third"]} <= workspaces.words_of("river")
    assert {"triples", "sum"} <= {*answer["nearest"]}
    assert answer["together"] == answer["count"] == len([*workspace.corpus.lines.find("bank", "water")])
    with pytest.raises(InputError, match="two different words"):
        answers.phrase(workspace, ["bank", "Bank"])


def test_lines_and_documents(workspace):
    """Lines lead to their documents, which are those of the table."""
    rows = workspaces.documents()
    answer = answers.lines(workspace, ["bank"], field="kind", value="money", top=3)
    said = [sentence for text, kind in rows if kind == "money" for sentence in text.lower().split(".")]
    assert answer["count"] == sum("bank" in sentence for sentence in said)
    assert all(line["fields"]["kind"] == "money" for line in answer["lines"])
    document = answers.document(workspace, answer["lines"][0]["document"])
    assert " ".join(document["sentences"]) == rows[document["document"]][0]
    assert answers.document(workspace, 79, start=6)["sentences"] == sentences(rows[79][0])[6:]
    with pytest.raises(InputError, match="no document 80"):
        answers.document(workspace, 80)


def sentences(text):
    return [f"{sentence}." for sentence in text.rstrip(".").split(". ")]


def test_parts(workspace):
    """Keywords are those of their part, and a word of two senses has another vector in each."""
    river, money = map(workspaces.words_of, workspaces.KINDS)
    answer = answers.keywords(workspace, "kind", "river", against="money")
    assert [{row["word"] for row in rows} - {"bank"} for rows in answer["words"]] == [river, money]
    for row in answer["words"][0]:  # as often as if a missing word occurred half a time, and no other count is changed
        (one, other), times = answer["tokens"], row["count"] / (row["against"] or 0.5)
        assert 2 ** row["log_ratio"] == pytest.approx(times * other / one, rel=1e-4)
        assert row["log_ratio"] > 0
    assert answers.keywords(workspace, "kind", "river")["words"] == answer["words"]  # there is but one other
    told = dict(
        zip(answers.places(workspace)["words"], answers.ratios(workspace, "kind", "river")["ratios"], strict=True)
    )
    assert {word for word, ratio in told.items() if ratio > 1} == river
    bank = answers.contrast(workspace, "bank", "kind", "river")
    for part, own in zip(bank["parts"], (river, money), strict=True):
        assert {word for word, _ in part["neighbours"][:3]} <= own
    assert sorted(round(share) for sense in bank["senses"] for share in sense["shares"]) == [0, 0, 1, 1]
    assert bank["cosine"] < 0.5
    assert answers.contrast(workspace, "loan", "kind", "river")["cosine"] is None
    faults = {"no document has kind 'sea'": ("kind", "sea"), "no document has 'year'": ("year", "1")}
    faults |= {"both have 'river'": ("kind", "river", "river")}
    for fault, asked in faults.items():
        with pytest.raises(InputError, match=fault):
            answers.keywords(workspace, *asked[:2], against=asked[2] if asked[2:] else None)


def test_tables_and_topics(workspace):
    """The table is the one that is counted, and topics tell the kinds of documents apart."""
    answer = answers.table(workspace, "kind")
    words = [point["name"] for point in answer["points"]["columns"]]
    texts = {
        kind: [w.strip(".").lower() for text, of in workspaces.documents() if of == kind for w in text.split()]
        for kind in workspaces.KINDS
    }
    table = [[texts[kind].count(word) for word in words] for kind in ("river", "money")]
    assert answer["association"]["chi2"] == pytest.approx(chi2_contingency(table, correction=False).statistic, rel=1e-5)
    assert answer["inertia"] == [1.0]
    found = answers.topics(workspace)["topics"]
    assert sum(each["share"] for each in found) == pytest.approx(1, abs=0.01)
    best = max(found, key=lambda each: each["share"])
    rows = answers.topic(workspace, best["topic"])["documents"]
    assert rows[0][2] > 0.9  # documents of one topic and nothing else
    with pytest.raises(InputError, match="topic must be below"):
        answers.topic(workspace, 99)


def test_places(workspace):
    """Every word has a place within the square, and words of a kind are nearer to one another than to others."""
    answer = answers.places(workspace)
    at = dict(zip(answer["words"], np.column_stack([answer["x"], answer["y"]]), strict=True))
    assert np.abs([*at.values()]).max() <= 1
    river, money = (
        np.array([at[word] for word in workspaces.words_of(kind)]).mean(axis=0) for kind in workspaces.KINDS
    )
    for word in workspaces.words_of("river"):
        assert np.linalg.norm(at[word] - river) < np.linalg.norm(at[word] - money)


def test_answers_are_json(workspace):
    """Every answer is JSON of finite numbers."""
    asked = {
        "word": {"word": "bank"},
        "words": {"start": "b"},
        "senses": {"word": "bank"},
        "component": {"column": 0},
        "topic": {"topic": 0},
    }
    asked["ratios"] = {"field": "kind", "value": "river"}
    asked |= {
        "phrase": {"words": ["bank", "loan"]},
        "lines": {"words": ["bank"]},
        "document": {"number": 0},
        "table": {"rows": "kind"},
    }
    asked |= {
        "keywords": {"field": "kind", "value": "river"},
        "contrast": {"word": "bank", "field": "kind", "value": "river"},
    }
    asked |= {
        "collocates": {"query": "bank"},
        "trends": {"queries": ["bank"], "by": "kind"},
        "barcode": {"queries": ["bank", "the"], "by": "kind"},
    }
    for name, function in answers.ANSWERS.items():
        json.dumps(function(workspace, **asked.get(name, {})), allow_nan=False)


def test_page_to_send(workspace):
    """A page holds what is chosen and nothing else; nothing in it can end its script."""
    chosen = Chosen(
        words=["bank"], phrases=["bank loan"], topics=True, tables=["kind"], parts=["kind=river/money"], map=True
    )
    html = page(workspace, chosen)
    said = json.loads(html.split('id="answers">')[1].split("</script>")[0])
    assert said[key("word", {"word": "bank"})] == json.loads(json.dumps(answers.word(workspace, "bank")))
    assert key("contrast", {"word": "bank", "field": "kind", "value": "river", "against": "money"}) in said
    assert "src=" not in html.split("<style>")[0]
    for fault, some in (
        ("empty", Chosen()),
        ("parts must be", Chosen(parts=["kind"])),
        ("'banc'", Chosen(words=["banc"])),
    ):
        with pytest.raises(InputError, match=fault):
            page(workspace, some)


def test_answers_are_the_numbers_of_the_corpus(workspace):
    """The profile of a word, the keywords and the rows of lists are what the methods of the corpus return."""
    corpus, ask = workspace.corpus, answers.ANSWERS
    bank = ask["word"](workspace, word="bank", width=4, top=1000, min_count=2)
    (listed,) = corpus.word_list(words=["bank"])
    assert (bank["count"], bank["per_million"], bank["deviation"]) == (listed.frequency, listed.per_million, listed.dp)
    near = {each.item: each for each in corpus.collocates("bank", left=4, right=4)}
    assert {row["word"]: row["together"] for row in bank["collocates"]} == {
        k: each.together for k, each in near.items()
    }
    rows = ask["collocates"](workspace, query="bank", left=4, right=4, top=1000)["rows"]
    assert [row["log_dice"] for row in rows] == [round(each.log_dice, 4) for each in near.values()]
    parts = ask["keywords"](workspace, field="kind", value="river", min_count=1, top=1000)
    for sign, words in zip(("positive", "negative"), parts["words"], strict=True):
        found = corpus.keywords(where={"kind": "river"}, min_count=1, keys=sign)
        assert [(row["word"], row["count"]) for row in words] == [(each.item, each.frequency) for each in found]
    assert sum(parts["tokens"]) == len(corpus.text)
    (row,) = [row for row in ask["barcode"](workspace, queries=["bank"], by="kind")["rows"] if row["part"] == "river"]
    assert (
        sum(row["positions"]) == row["frequency"] == corpus.trends("bank", "kind", where={"kind": "river"})[0].frequency
    )
    seen = ask["contrast"](workspace, word="bank", field="kind", value="river")["parts"][0]
    assert abs(seen["per_million"] - row["per_million"]) < 1e-3
