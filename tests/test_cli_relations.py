"""``polyadic relations``: facts in files, models in folders, rules."""

import itertools
import json
import warnings
from functools import partial

import numpy as np
import pytest

from helpers import in_json, invoke, output
from polyadic import load
from polyadic.relations.knowledge import KnowledgeTensor, descend_triples

run, as_json = partial(output, "relations"), partial(in_json, "relations")


def refused(*arguments):
    return run(*arguments, code=1)


def written(path, rows):
    path.write_text("".join("\t".join(row) + "\n" for row in rows))
    return path


@pytest.fixture
def triples(tmp_path):
    """Towns of four lands and what is spoken there; of some towns that is to be told."""
    rng = np.random.default_rng(0)
    lands = {f"town{i}": i % 4 for i in range(40)}
    facts = [(town, "lies_in", f"land{k}") for town, k in lands.items()]
    facts += [(town, "speaks", f"tongue{k}") for town, k in lands.items()]
    facts += [(f"land{k}", "official", f"tongue{k}") for k in range(4)]
    held = {int(at) for at in rng.choice(np.arange(40, 80), 8, replace=False)}
    test = [fact for at, fact in enumerate(facts) if at in held]
    written(tmp_path / "train.tsv", [fact for at, fact in enumerate(facts) if at not in held])
    written(tmp_path / "valid.tsv", test[:4])
    written(tmp_path / "test.tsv", test[4:])
    return tmp_path


@pytest.mark.parametrize("method", ["complex", pytest.param("tucker3", marks=pytest.mark.slow)])
def test_triples(triples, method):
    """Learned with a validation part, evaluated, completed and scored."""
    out = triples / "model"
    options = ["--rank", 8, "--validation", triples / "valid.tsv", "--max-iter", 30, "--strength", 0.005]
    options += ["--set", f"known={triples / 'test.tsv'}"]
    told = as_json("train", triples / "train.tsv", "--out", out, "--method", method, *options)
    assert (told["entities"], told["relations"], told["facts"], told["validation_skipped"]) == (48, 3, 76, 0)
    known = ["--known", triples / "valid.tsv", "--known", triples / "train.tsv"]
    found = as_json("evaluate", out, triples / "test.tsv", *known, "--rank-relations")
    assert (found["facts"], found["skipped"]) == (4, 0)
    assert found["mrr"] > 0.2
    town, relation, tongue = (triples / "test.tsv").read_text().splitlines()[0].split("\t")
    asked = ["--subject", town, "--relation", relation, "-n", 48, "--json"]
    best = json.loads(run("predict", out, *asked))["predictions"]
    assert list(best[0]) == ["object", "score", "probability"]
    assert sum(one["probability"] for one in best) == pytest.approx(1, abs=1e-4)
    assert [one["object"] for one in best].index(tongue) < 8
    scores = as_json("predict", out, triples / "test.tsv")["predictions"]
    assert len(scores) == 4
    assert scores[0]["score"] == {answer["object"]: answer["score"] for answer in best}[tongue]
    assert (scores[0]["subject"], scores[0]["object"]) == (town, tongue)
    one = as_json("predict", out, "--subject", town, "--object", tongue, "--known", "-n", 1)
    assert one["predictions"][0]["relation"] in {"speaks", "lies_in", "official"}
    town, relation, tongue = (triples / "train.tsv").read_text().splitlines()[0].split("\t")
    asked = ["predict", out, "--subject", town, "--relation", relation, "-n", 48]
    assert "left out 1 known answer; --known includes and marks known answers\n" in run(*asked)
    assert "exactly one answer is missing" in run(*asked)
    assert "left out" not in run(*asked, "--known")
    every = as_json(*asked, "--known")["predictions"]
    assert [line["object"] for line in every if line["probability"] is None] == [tongue]
    assert [line["object"] for line in every if line["known"] == "yes"] == [tongue]


def test_strength_and_rank_are_chosen(tmp_path):
    """By facts held out, or by those given to judge by; what is given stays, and nothing is chosen if so told."""
    families = [(f"{k}-{i}", "sibling", f"{k}-{j}") for k in range(12) for i in range(4) for j in range(4) if i != j]
    facts = written(tmp_path / "facts.tsv", families)
    valid = written(tmp_path / "valid.tsv", [("0-0", "sibling", "1-0")])
    quick = (facts, "--max-iter", 3, "--rank", 4, "--out")
    choice = as_json("train", *quick, tmp_path / "own")["choice"]
    assert (choice["held_out"], choice["units"], [*choice["settings"]]) == (14, "facts", ["strength"])
    given = as_json("train", *quick, tmp_path / "given", "--validation", valid)["choice"]
    assert given["held_out"] == 1
    assert "choice" not in as_json("train", *quick, tmp_path / "plain", "--set", "choose=no")
    assert "choice" not in as_json("train", *quick, tmp_path / "all", "--strength", 0.1)
    told = run("train", facts, "--max-iter", 2, "--set", "budget=0", "--out", tmp_path / "told")
    assert "selected strength " in told
    assert "next: polyadic relations predict" in told


@pytest.mark.filterwarnings("default::polyadic.core.errors.SeenFactsWarning")
def test_bad_triples(triples):
    """One sentence for each: lines, names, options, models of another kind; facts that were learned are counted."""
    out, train = triples / "model", triples / "train.tsv"
    quick = ["--rank", 2, "--max-iter", 2]
    run("train", train, "--out", out, *quick)
    assert "exists" in refused("train", train, "--out", out, *quick)
    run("train", train, "--out", out, "--force", *quick)
    broken = triples / "broken.tsv"
    broken.write_text("a\tb\tc\nd\te\nf\tg\n")
    assert "line 2: expected subject and relation and object; got 'd, e'" in refused(
        "train", broken, "--out", triples / "other"
    )
    other = written(triples / "other.tsv", [("town0", "lies_in", "nowhere"), ("town1", "lies_in", "land1")])
    assert "line 1: there is no entity 'nowhere'" in refused("evaluate", out, other)
    done = invoke("relations", "evaluate", str(out), str(other), "--unknown", "skip", "--json")
    assert json.loads(done.stderr.splitlines()[-1])["warning"].startswith(
        "test facts that occur in the training data: 1 of 1"
    )
    assert json.loads(done.stdout)["skipped"] == 1
    assert "two of --subject" in refused("predict", out, "--subject", "town0")
    assert "no subject 'Oslo'" in refused("predict", out, "--subject", "Oslo", "--relation", "lies_in")
    assert "give a file of facts, an incomplete fact, or the option --unseen" in refused("predict", out)
    assert "--unseen requires a universal schema" in refused("predict", out, "--unseen", train)
    assert "universal schema" in refused("similar", out, "lies_in")
    x = ["train", train, "--out", triples / "x"]
    assert "--set known requires --validation; set --validation, or leave out --set known" in refused(
        *x, "--set", f"known={train}"
    )
    assert "--set features is not used by --method complex, only by universal" in refused(*x, "--set", "features=N")
    assert "got 'form=CP'" in refused(*x, "--set", "form=CP")
    assert "budget is not used by --method rules" in refused(*x, "--method", "rules", "--set", "budget=9")
    assert "--set relation_rank is not used by --method complex, only by tucker, tucker3" in refused(
        *x, "--set", "relation_rank=3"
    )
    universal = [*x, "--method", "universal"]
    assert "--set penalty is not used by --method universal" in refused(*universal, "--set", "penalty=N3")
    assert "loss must be one of 'logistic', 'bpr'" in refused(*universal, "--set", "loss=softmax")


def test_what_names_nothing_that_is_known(triples):
    """A validation part to skip, a model without names, options for something else that is asked."""
    train, out = triples / "train.tsv", triples / "model"
    other = written(triples / "other.tsv", [("Oslo", "in", "Norway")])
    quick = ["--rank", 2, "--max-iter", 2]
    assert "validation must contain at least one fact" in refused(
        "train", train, "--out", out, *quick, "--validation", other
    )
    assert not out.exists()
    run("train", train, "--out", out, *quick)
    assert "--known can be used only to complete a fact" in refused("predict", out, train, "--known")
    town = ["--subject", "town0", "--relation", "lies_in"]
    assert "--unknown can be used only together with a file" in refused("predict", out, *town, "--unknown", "skip")
    KnowledgeTensor(2, form="CP", max_iter=1, seed=0).fit(np.array([[0, 0, 1], [2, 0, 1]])).save(triples / "nameless")
    for verb in ("evaluate", "predict"):
        assert "the model must have names of entities" in refused(verb, triples / "nameless", train)


@pytest.mark.parametrize("epochs", [0, 1])
def test_interrupted(triples, monkeypatch, epochs):
    """Ctrl-C keeps the last epoch; before the first has ended it keeps the model that was there."""
    train, out = triples / "train.tsv", triples / "model"
    run("train", train, "--out", out, "--rank", 2, "--max-iter", 3, "--set", "seed=1")
    before = (out / "arrays.safetensors").read_bytes()
    sweeps = descend_triples

    def interrupted(*arguments, **options):
        yield from itertools.islice(sweeps(*arguments, **options), epochs + 1)
        raise KeyboardInterrupt

    monkeypatch.setattr("polyadic.relations.knowledge.descend_triples", interrupted)
    told = run("train", train, "--out", out, "--rank", 2, "--force", "--json", code=130)
    if epochs:
        assert "kept the model of the last iteration" in told
        assert load(out).n_iter_ == epochs
    else:
        assert "nothing was written" in told
    assert ((out / "arrays.safetensors").read_bytes() == before) == (epochs == 0)


@pytest.fixture
def schema(tmp_path):
    """People who lead firms, and work for them; towns that lie in lands."""
    facts = [(f"person{i}", f"firm{i}", what) for i in range(30) for what in (", head of", "works for")]
    facts += [(f"town{i}", f"land{i}", what) for i in range(30) for what in (", a town in", "lies in")]
    written(tmp_path / "facts.tsv", facts[2:-2])
    written(tmp_path / "test.tsv", [facts[1], facts[-1]])
    written(tmp_path / "patterns.tsv", [facts[0], facts[-2]])
    return tmp_path


def test_universal_schema(schema):
    """Learned with what patterns say of all pairs; completed for pairs, predicates, and pairs that are new."""
    out, told = schema / "model", schema / "all.tsv"
    told.write_text((schema / "facts.tsv").read_text() + (schema / "patterns.tsv").read_text())
    made = as_json("train", told, "--out", out, "--method", "universal", "--rank", 4)
    assert (made["pairs"], made["predicates"], made["facts"]) == (60, 4, 118)
    likely = as_json("predict", out, "--relation", "works for", "-n", 1)["predictions"]
    assert (likely[0]["subject"], likely[0]["object"]) == ("person0", "firm0")
    pair = ["--subject", "town29", "--object", "land29", "-n", 1, "--json"]
    assert json.loads(run("predict", out, *pair))["predictions"][0]["predicate"] == "lies in"
    assert as_json("evaluate", out, schema / "test.tsv")["map"] == 1
    assert "lies in" in run("similar", out, ", a town in", "-n", 1)
    scored = as_json("predict", out, schema / "test.tsv")["predictions"]
    assert min(one["probability"] for one in scored) > 0.5
    new = written(schema / "new.tsv", [("Ann", "Acme", ", head of")])
    found = as_json("predict", out, "--unseen", new, "-n", 2)["predictions"]
    assert {one["predicate"] for one in found} == {", head of", "works for"}
    assert "no predicate 'owns'" in refused("predict", out, "--relation", "owns")
    assert "--relation alone" in refused("predict", out, "--relation", "lies in", "--subject", "town0")
    assert "--known and --rank-relations are not used by a universal schema" in refused(
        "evaluate", out, schema / "test.tsv", "--rank-relations"
    )


def test_rules(schema):
    """Checked with line and column, tried on facts, found in facts, and learned from."""
    facts, rules = schema / "facts.tsv", schema / "rules.txt"
    rules.write_text('# who leads is employed\n", head of"(x, y) => employs(y, x)\n')
    assert "employs(y, x)" in run("rules", "check", rules)
    assert "line 2, column" in refused("rules", "check", rules, "--facts", facts)
    assert "--add can be used only together with --facts" in refused("rules", "check", rules, "--add", "employs")
    added = ["--add", "owns, also", "--add", "employs"]
    tried = as_json("rules", "check", rules, "--facts", facts, *added)["rules"]
    assert (tried[0]["line"], tried[0]["premises"], tried[0]["right"]) == (2, 29, 0)
    mined = invoke("relations", "rules", "mine", facts, "--confidence", 0.9).stdout
    assert '", head of"(x, y) => "works for"(x, y)' in mined
    found = schema / "mined.txt"
    found.write_text(mined)
    checked = as_json("rules", "check", found, "--facts", facts)["rules"]
    assert all(one["right"] / one["premises"] > 0.9 for one in checked)
    rules.write_text("lies(x, y) => in(x, z)\n")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        told = invoke("relations", "rules", "check", rules).stderr
    assert "line 1, column 1: the variable z of the conclusion does not occur" in " ".join(told.split())
    rules.write_text('", head of"(x, y) => employs(x, y)\n')
    out = ["--out", schema / "model", "--method", "universal", "--rank", 4]
    assert "no predicate 'employs'" in refused("train", facts, *out, "--rules", rules)
    assert "--add requires --rules" in refused("train", facts, *out, "--add", "employs")
    made = as_json("train", facts, *out, "--rules", rules, "--add", "employs")
    assert made["rules"] == 1
    likely = as_json("predict", schema / "model", "--relation", "employs", "-n", 5)["predictions"]
    assert all(one["subject"].startswith("person") for one in likely)


def test_entities_are_added(triples, tmp_path):
    """Who is new can be asked about; the model before stays, and what is not a new fact is refused."""
    out = tmp_path / "m"
    run("train", triples / "train.tsv", "--out", out, "--rank", 4, "--max-iter", 20, "--set", "choose=no")
    subject, relation, _ = (triples / "train.tsv").read_text().splitlines()[0].split("\t")
    written(tmp_path / "new.tsv", [(subject, relation, "somewhere new"), ("somebody", relation, "somewhere new")])
    added = as_json("add", out, tmp_path / "new.tsv", "--out", tmp_path / "more")
    assert (added["new_entities"], added["new_facts"], added["of_known_entities"]) == (2, 2, 0)
    asked = ["--subject", "somebody", "--relation", relation, "--known", "-n", 3, "--json"]
    named = json.loads(run("predict", tmp_path / "more", *asked))["predictions"]
    assert len(named) == 3
    assert "somebody" in refused("predict", out, *asked)
    assert "exists already" in refused("add", out, tmp_path / "new.tsv", "--out", tmp_path / "more")


def test_reasons_of_triples(triples):
    """Known facts that carry each answer, and rules that conclude it, in a table and in JSON."""
    out, rules = triples / "model", triples / "rules.txt"
    run("train", triples / "train.tsv", "--out", out, "--rank", 8, "--max-iter", 30, "--strength", 0.005)
    rules.write_text("lies_in(x, z) & official(z, y) => speaks(x, y)\n")
    (town, _, tongue), *_ = [line.split("\t") for line in (triples / "test.tsv").read_text().splitlines()]
    asked = ["predict", out, "--subject", town, "--relation", "speaks", "-n", 8, "--why", 3]
    lines = as_json(*asked, "--rules", rules)["predictions"]
    line = next(line for line in lines if line["object"] == tongue)
    model = load(out)
    expected = [(*fact, round(part, 6)) for fact, part in model.explain(town, "speaks", tongue, k=3).parts]
    assert [tuple(fact.values()) for fact in line["why"]] == expected
    assert [*line["why"][0]] == ["subject", "relation", "object", "part"]
    (found,) = line["rules"]
    assert (found["rule"], found["right"] < found["premises"]) == (rules.read_text().strip(), True)
    land = f"land{tongue[-1]}"
    assert [[tuple(fact.values()) for fact in facts] for facts in found["groundings"]] == [
        [(town, "lies_in", land), (land, "official", tongue)]
    ]
    shown = run(*asked, "--rules", rules)
    assert shown.startswith("object\tscore\trules\twhy\n")
    assert f": {town} lies_in {land} & {land} official {tongue}\t" in shown
    assert f"{' '.join(expected[0][:3])} {expected[0][3]:+.3g}" in shown
    scored = as_json("predict", out, triples / "test.tsv", "--why", 1)["predictions"]
    assert all(len(one["why"]) == 1 for one in scored)
    assert "--rules can be used only together with --why" in refused(*asked[:-2], "--rules", rules)
    rules.write_text("lies(x, y) => speaks(x, y)\n")
    assert "did you mean 'lies_in'" in refused(*asked, "--rules", rules)


def test_mined_rules(triples):
    """Answers that a rule concludes, with it and its facts; nothing where none does."""
    out = triples / "model"
    (town, _, tongue), *_ = [line.split("\t") for line in (triples / "test.tsv").read_text().splitlines()]
    run("train", triples / "train.tsv", "--out", out, "--method", "rules")
    asked = ["predict", out, "--subject", town, "--relation", "speaks", "-n", 48]
    found = as_json(*asked, "--why", 3)["predictions"]
    assert found[0]["object"] == tongue
    assert all(line["score"] > 0 and line["rules"] for line in found)
    assert f"{town} lies_in land{tongue[-1]}" in run(*asked, "--why", 1)
    nothing = run("predict", out, "--subject", town, "--relation", "official")
    assert nothing == "object\tscore\npolyadic: there is no answer\n"


def test_reasons_of_a_universal_schema(schema):
    """What else is known of a pair, what it adds, and the rest."""
    out, told, rules = schema / "model", schema / "all.tsv", schema / "rules.txt"
    told.write_text((schema / "facts.tsv").read_text() + (schema / "patterns.tsv").read_text())
    run("train", told, "--out", out, "--method", "universal", "--rank", 4)
    rules.write_text('", head of"(x, y) => "works for"(x, y)\n')
    asked = ["predict", out, "--relation", "works for", "-n", 1, "--why", 2]
    (line,) = as_json(*asked, "--rules", rules)["predictions"]
    assert [each["predicate"] for each in line["why"]] == [", head of"]
    odds = line["base"] + line["why"][0]["part"]
    assert line["probability"] == pytest.approx(1 / (1 + np.exp(-odds)), abs=1e-3)
    (found,) = line["rules"]
    assert (found["premises"], found["right"]) == (30, 29)
    assert found["groundings"] == [[{"subject": "person0", "object": "firm0", "predicate": ", head of"}]]
    assert run(*asked).startswith("subject\tobject\tprobability\tlog-odds\tbase\twhy\n")
    pair = ["--subject", "town29", "--object", "land29", "-n", 1, "--why", 1, "--json"]
    assert json.loads(run("predict", out, *pair))["predictions"][0]["why"][0]["predicate"] == ", a town in"
    assert "--why cannot be combined with --unseen" in refused("predict", out, "--unseen", told, "--why", 1)
    assert "new entities can be added only to a tensor model" in refused("add", out, told, "--out", schema / "more")


PARSED = """\
# text = Ann leads Acme
1\tAnn\tAnn\tPROPN\tNNP\t_\t2\tnsubj\t_\t_
2\tleads\tlead\tVERB\tVBZ\t_\t0\troot\t_\t_
3\tAcme\tAcme\tPROPN\tNNP\t_\t2\tobj\t_\t_

"""


def test_patterns(tmp_path):
    """Parsed sentences become facts about the names in them."""
    parsed, out = tmp_path / "parsed.conllu", tmp_path / "facts.tsv"
    parsed.write_text(PARSED)
    told = as_json("patterns", parsed, "--out", out)
    lines = [line.split("\t") for line in out.read_text().splitlines()]
    assert told["facts"] == len(lines)
    assert ["Ann", "Acme"] in [line[:2] for line in lines]
    assert "no pattern connects at least 9 entity pairs; lower --min-count" in refused(
        "patterns", parsed, "--out", out, "--min-count", 9
    )
    parsed.write_text("")
    assert "no sentence contains two named entities" in refused("patterns", parsed, "--out", out)
    assert len(out.read_text().splitlines()) == len(lines)


def test_predicates_of_one_entity(tmp_path):
    """Facts of two fields, a rule about one entity, and questions about entities instead of pairs."""
    facts = [(f"ann{k}", f"town{k}", "born_in") for k in range(4)] + [("firm", "town0", "lies_in")]
    told = written(tmp_path / "facts.tsv", [*facts, ("ann0", "person"), ("ann1", "person"), ("firm", "company")])
    (tmp_path / "rules.txt").write_text("!person(x) => !born_in(x, y)\nborn_in(x, y) & company(x) => lies_in(x, y)\n")
    checked = as_json("rules", "check", tmp_path / "rules.txt", "--facts", told)["rules"]
    assert [(rule["premises"], rule["right"]) for rule in checked] == [(3, 1), (0, 0)]
    out = tmp_path / "model"
    how = ["--method", "universal", "--rules", tmp_path / "rules.txt", "--rank", 2, "--max-iter", 5]
    assert as_json("train", told, "--out", out, *how)["rules"] == 2
    of_persons = as_json("predict", out, "--relation", "person", "-n", 20)["predictions"]
    assert {(one["subject"], one["object"]) for one in of_persons} >= {("ann2", None), ("town3", None)}
    assert all(one["object"] is None for one in of_persons)
    of_firm = as_json("predict", out, "--subject", "firm", "--known", "--why", 1)["predictions"]
    assert {one["predicate"] for one in of_firm} >= {"person", "company"}
    assert len(as_json("predict", out, told)["predictions"]) == 8
    assert "there is no row of the entity ('bob')" in refused("predict", out, "--subject", "bob")
