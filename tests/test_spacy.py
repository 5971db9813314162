"""Components of spaCy's pipelines tell what the models tell; tables of vectors hold the vectors."""

import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from polyadic import (
    Embedding,
    InputError,
    LowRankParser,
    MissingExtraError,
    SequenceTagger,
    TextTagger,
    pattern_triples,
    read_trees,
    tag_features,
)
from polyadic.datasets.grammars import conllu, latin_sentence
from polyadic.syntax.spacy_components import parse
from polyadic.syntax.trees import Tree

ROOT = Path(__file__).resolve().parent.parent
WORDS = Embedding(["star", "film", "1984"], np.arange(6.0).reshape(3, 2) + 1)


@pytest.fixture(scope="module")
def spacy():
    return pytest.importorskip("spacy")


@pytest.fixture(scope="module")
def bank(tmp_path_factory):
    """Latin sentences; the last ten are not learned from."""
    rng, path = np.random.default_rng(0), tmp_path_factory.mktemp("latin") / "latin.conllu"
    path.write_text("".join(conllu(latin_sentence(rng), roles=False) for _ in range(90)), encoding="utf-8")
    return list(read_trees(path))


@pytest.fixture(scope="module")
def models(bank, tmp_path_factory):
    """A tagger and a parser, and the folders that they are in."""
    folder = tmp_path_factory.mktemp("models")
    tagger, parser = TextTagger(max_iter=3), LowRankParser(5, max_iter=3, bits=12)
    for name, model in (("tagger", tagger), ("parser", parser)):
        model.fit(bank[:80]).save(folder / name)
    return tagger, parser, folder


def pipeline(spacy, folder):
    nlp = spacy.blank("en")
    for name in ("tagger", "parser"):
        nlp.add_pipe(f"polyadic_{name}", config={"model": str(folder / name)})
    return nlp


def told(doc):
    return [(w.text, w.tag_, w.pos_, w.lemma_, str(w.morph), w.head.i, w.dep_, w.is_sent_start) for w in doc]


def test_tokens_are_told_what_words_are(spacy, models, bank):
    """Tags, lemmas, morphology, heads and relations are those that the models give to the same words."""
    tagger, parser, folder = models
    nlp = pipeline(spacy, folder)
    for tree in bank[80:]:
        doc = nlp(spacy.tokens.Doc(nlp.vocab, words=list(tree.forms)))
        [expected] = parser.annotate(tagger.annotate([tree]))
        assert [w.pos_ for w in doc] == [w.tag_ for w in doc] == list(expected.upos)
        assert [w.lemma_ for w in doc] == list(expected.lemmas)
        assert [str(w.morph) or "_" for w in doc] == list(expected.features)
        assert [0 if w.head == w else w.head.i + 1 for w in doc] == expected.heads.tolist()
        assert [w.dep_.replace("ROOT", "root") for w in doc] == list(expected.relations)
        assert len(list(doc.sents)) == 1


def test_sentences_and_blanks(spacy, models):
    """Sentences end as texts do here; blanks hang on the word before them, and change nothing else."""
    nlp = pipeline(spacy, models[-1])
    doc = nlp("  Servus reginam amat.\n\nPuella \n rosam videt. ")
    assert [sentence.text.split() for sentence in doc.sents] == [
        ["Servus", "reginam", "amat."],
        ["Puella", "rosam", "videt."],
    ]
    blanks = [token for token in doc if token.is_space]
    assert [(w.tag_, w.pos_, w.dep_, w.head.text) for w in blanks] == [
        ("_SP", "SPACE", "dep", "Servus"),
        ("_SP", "SPACE", "dep", "."),
        ("_SP", "SPACE", "dep", "Puella"),
    ]
    bare = nlp("Servus reginam amat. Puella rosam videt.")
    assert [(w.tag_, w.dep_, w.head.text) for w in doc if not w.is_space] == [
        (w.tag_, w.dep_, w.head.text) for w in bare
    ]


@pytest.mark.parametrize("text", ["", " ", "\n \n", "Servus", " Servus", "Servus "])
def test_short_texts(spacy, models, text):
    doc = pipeline(spacy, models[-1])(text)
    assert doc.text == text
    assert sum(w.dep_ == "ROOT" for w in doc) == len(list(doc.sents)) == min(len(doc), 1)


def test_sentences_that_are_known_stay(spacy, models):
    """What stands before the tagger may say where sentences begin."""
    nlp = pipeline(spacy, models[-1])
    doc = spacy.tokens.Doc(nlp.vocab, words=["servus", "amat", "regina"], sent_starts=[True, True, False])
    assert [sentence.start for sentence in nlp(doc).sents] == [0, 1]


def test_pipelines_take_their_models_with_them(spacy, models, tmp_path):
    """A saved pipeline needs no other folder, and tells the same."""
    tagger, parser, folder = models
    nlp = spacy.blank("en")
    nlp.add_pipe("polyadic_tagger").model = tagger
    nlp.add_pipe("polyadic_parser", config={"model": "nowhere"}).model = parser
    nlp.vocab.vectors = WORDS.to_spacy()
    for _ in range(2):  # the second time over the first
        nlp.to_disk(tmp_path / "nlp")
    text = "Servus reginam amat. Puella rosam videt."
    again = spacy.load(tmp_path / "nlp")
    assert told(again(text)) == told(nlp(text)) == told(pipeline(spacy, folder)(text))
    assert again("Film")[0].vector.tolist() == WORDS["film"].tolist()
    for file in (tmp_path / "nlp").rglob("*"):
        assert file.suffix not in {".pkl", ".pickle"}


def test_tagger_of_words(spacy, models, bank):
    """A tagger of one column fills the tags, and leaves all else; one that needs tags is refused."""
    nlp = pipeline(spacy, models[-1])
    X, y = [tag_features(tree.forms) for tree in bank], [tree.relations for tree in bank]
    nlp.add_pipe("polyadic_tagger", name="second").model = tagger = SequenceTagger(max_iter=2).fit(X, y)
    doc = nlp(spacy.tokens.Doc(nlp.vocab, words=list(bank[-1].forms)))
    assert [w.tag_ for w in doc] == tagger.predict(X[-1:])[0]
    assert [w.pos_ for w in doc] == list(models[0].tag(bank[-1].forms).upos)
    nlp.get_pipe("second").model = SequenceTagger(max_iter=1).fit([tag_features(["a"], ["DET"])], [["B"]])
    with pytest.raises(InputError, match="trained with parts of speech"):
        nlp("Servus amat.")


def test_several_roots_are_several_sentences(spacy):
    none, heads = ("_", "_"), np.zeros(2, np.int32)
    tree = Tree(("a", "b"), none, none, ("X", "Y"), none, heads, ("root", "root"), none, none)
    nlp = spacy.blank("en")
    nlp.add_pipe("polyadic_parser").model = LowRankParser(1, max_iter=3, bits=8, one_root=False).fit([tree] * 3)
    doc = nlp(spacy.tokens.Doc(nlp.vocab, words=["a", "b"], tags=["X", "Y"]))
    assert [sentence.text for sentence in doc.sents] == ["a", "b"]


def test_parses_can_be_drawn(spacy, models):
    picture = spacy.displacy.render(pipeline(spacy, models[-1])("Servus reginam amat."), jupyter=False)
    assert picture.startswith("<svg")
    assert picture.count('class="displacy-arrow"') == 2


def test_what_is_wrong_is_told(spacy, models):
    nlp = spacy.blank("en")
    component = nlp.add_pipe("polyadic_parser")
    with pytest.raises(InputError, match="no model is set; pass the folder of a model"):
        nlp("Servus")
    with pytest.raises(InputError, match="must be a LowRankParser; got a TextTagger"):
        component.model = models[0]
    component.path = str(models[-1] / "tagger")
    with pytest.raises(InputError, match="contains TextTagger, but LowRankParser is required"):
        nlp("Servus")


def test_components_are_found_without_an_import(spacy):
    """Entry points name them, and looking for them loads no model of ours."""
    entries = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]["spacy_factories"]
    for place in entries.values():
        module, _, name = place.partition(":")
        assert callable(getattr(import_module(module), name))
    code = "import spacy, sys; [spacy.blank('en').add_pipe(x) for x in sys.argv[1:]]; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, *entries], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "False\n"


# ---- parsing


def parsing_pipeline(spacy):
    """A blank pipeline with one component, which parses the one sentence it knows."""
    nlp = spacy.blank("en")

    @spacy.language.Language.component("by_hand")
    def by_hand(doc):
        heads = {"Ann": 1, "Lee": 2, "joined": 2, "\n": 2, "Acme": 2, "Rome": 5, "slept": 6}
        words = [word.text for word in doc]
        made = spacy.tokens.Doc(
            doc.vocab,
            words=words,
            spaces=[bool(word.whitespace_) for word in doc],
            heads=[heads.get(word, 2) for word in words],
            deps=["compound", "nsubj", "ROOT", "dep", "obj"][: len(words)],
            pos=["PROPN", "PROPN", "VERB", "SPACE", "PROPN"][: len(words)],
            lemmas=["Ann", "Lee", "join", "\n", "Acme"][: len(words)],
        )
        made.ents = [spacy.tokens.Span(made, 0, 2, "PERSON"), spacy.tokens.Span(made, 4, 5, "ORG")]
        return made

    nlp.add_pipe("by_hand")
    return nlp


def test_sentences_become_trees(spacy):
    """Heads are numbered without words of blanks; entities stand under Entity, and give patterns."""
    trees = list(parse(["Ann Lee joined \nAcme"], pipeline=parsing_pipeline(spacy)))
    [tree] = trees
    assert tree.forms == ("Ann", "Lee", "joined", "Acme")
    assert tree.heads.tolist() == [2, 3, 0, 3]
    assert tree.relations == ("compound", "nsubj", "root", "obj")
    assert tree.misc == ("Entity=Ann_Lee", "Entity=Ann_Lee", "_", "Entity=Acme")
    found = list(pattern_triples(trees, key="Entity"))
    assert ("Ann Lee", "Acme", "path#<-nsubj<-join->obj->") in found


def test_pipelines_that_are_not_there_or_do_not_parse(spacy):
    with pytest.raises(InputError, match="has no parser"):
        list(parse(["Ann slept."], pipeline=spacy.blank("en")))
    with pytest.raises(InputError, match="cannot load the spaCy pipeline 'nowhere'"):
        list(parse(["Ann slept."], pipeline="nowhere"))


# ---- vectors


@pytest.mark.parametrize("word", WORDS.words)
def test_vectors_are_found_in_any_case(spacy, word):
    """A vocabulary in lower case has a word as texts spell it; one with capitals tells them apart."""
    nlp = spacy.blank("en")
    nlp.vocab.vectors = WORDS.to_spacy()
    for form in (word, word.capitalize(), word.upper()):
        np.testing.assert_array_equal(nlp.vocab.get_vector(form), WORDS[word])
    assert not nlp.vocab.has_vector("sun")
    [[nearest]], _, _ = nlp.vocab.vectors.most_similar(WORDS[word][None].astype(np.float32), n=1)
    assert nlp.vocab.strings[nearest] == word
    nlp.vocab.vectors = Embedding(["Turkey", "turkey"], np.eye(2)).to_spacy()
    assert [nlp.vocab.get_vector(form).tolist() for form in ("Turkey", "turkey")] == [[1, 0], [0, 1]]
    assert not nlp.vocab.has_vector("TURKEY")


def test_the_more_frequent_word_has_the_capitals(spacy):
    table = Embedding(["straße", "strasse"], np.eye(2)).to_spacy()
    assert table[spacy.strings.get_string_id("STRASSE")].tolist() == [1, 0]


def test_components_are_told_before_they_are_lost(spacy):
    with pytest.warns(UserWarning, match="the last 1 of 2"):
        Embedding(["a"], [[1.0, 2.0]], components=1).to_spacy()


def test_spacy_is_optional(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy.strings", None)
    with pytest.raises(MissingExtraError, match=r"polyadic\[spacy\]"):
        WORDS.to_spacy()
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingExtraError, match=r"polyadic\[spacy\]"):
        list(parse(["Ann slept."]))
