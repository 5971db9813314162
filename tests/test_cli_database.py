"""``polyadic database``: declarations in TOML, models in folders."""

from functools import partial

import numpy as np
import pytest

from helpers import in_json, invoke, output, refuses
from polyadic import Entries, load
from polyadic.completion.coupled.bayesian import BayesianFactorization
from polyadic.completion.coupled.collective import CollectiveFactorization
from polyadic.completion.coupled.database import Relation
from polyadic.completion.coupled.database_file import read_database
from polyadic.completion.coupled.database_model import hold_out, score
from polyadic.completion.coupled.variational import VariationalFactorization

DECLARED = """
[relations.stars]
table = "stars.csv"
entities = ["user", "film"]
value = "stars"

[relations.genres]
table = "genres.tsv"
entities = ["film", "genre"]
columns = [1, 2]
loss = "logistic"
unobserved = "zero"

[entities]
film = "films.txt"
"""


@pytest.fixture
def files(tmp_path):
    """Two tables, one with headings, and a list of films of which one is in no table."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 12)
    taste = rng.standard_normal((20, 3))
    lines = [f"u{i},Film {j},{3 + taste[i, kind[j]]:.3f}" for i in range(20) for j in range(12) if rng.random() < 0.6]
    (tmp_path / "stars.csv").write_text("\n".join(["user,film,stars", *lines]) + "\n")
    (tmp_path / "genres.tsv").write_text("".join(f"Film {j}\tg{kind[j]}\n" for j in range(12)))
    (tmp_path / "films.txt").write_text("".join(f"Film {j}\n" for j in range(13)))
    (tmp_path / "films.toml").write_text(DECLARED)
    return tmp_path


run, as_json = partial(output, "database"), partial(in_json, "database")


@pytest.mark.parametrize("method", ["als", "gibbs", "variational"])
def test_train_predict_similar(files, method):
    """From files to predictions; what was held out is told, and films that no table mentions are flagged."""
    out = files / "model"
    arguments = ["train", files / "films.toml", "--out", out, "--method", method, "--rank", "3"]
    told = as_json(*arguments, "--hold-out", "stars=0.2")
    assert told["entities"] == {"user": 20, "film": 13, "genre": 3}
    assert set(told["held_out"]["all_tables"]) == set(told["held_out"]["alone"]) == {"rmse"}
    assert told["unobserved"] == {"user": 0, "film": 1, "genre": 0}
    (files / "wanted.csv").write_text("film,user\nFilm 3,u1\nFilm 12,u1\n")
    found = as_json("predict", out, "stars", files / "wanted.csv")["predictions"]
    assert [(row["user"], row["film"]) for row in found] == [("u1", "Film 3"), ("u1", "Film 12")]
    assert ("std" in found[0]) == (method != "als")
    if method != "als":
        assert found[1]["std"] > found[0]["std"]
    similar = as_json("similar", out, "film", "Film 3", "--top", "4")["similar"]
    assert len(similar) == 4
    assert "type film without observations, predicted by the prior: 1" in run(*arguments, "--force")
    assert "exists" in invoke("database", *arguments).output


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('value = "stars"', 'valu = "stars"', "stars: unknown option 'valu'; options are biases, columns"),
        ('table = "stars.csv"', "", "relation stars: option table is missing"),
        ('table = "stars.csv"', 'table = "none.csv"', "there is no file .*none.csv"),
        (
            'entities = ["user", "film"]',
            'entities = ["user", "movie"]',
            "has no column 'movie'; it has 'user', 'film', 'stars'",
        ),
        ('loss = "logistic"', 'loss = "hinge"', "genres: loss must be one of"),
        ("columns = [1, 2]", "columns = [1, 3]", "genres.tsv has no column '3'; positions are from 1 to 2"),
        ("[entities]", "[entity]", "unknown section 'entity'; allowed are .relations.NAME. and .entities."),
        ('film = "films.txt"', 'town = "films.txt"', "entity type 'town' does not occur in a relation"),
        ("[relations.stars]", "[relations.stars", "films.toml cannot be read"),
        ("columns = [1, 2]", f"columns = [1, {'9' * 5000}]", "films.toml cannot be read"),
        (
            "columns = [1, 2]",
            "a." * 50_000 + "a = 1",
            "films.toml cannot be read: line 10 has more than 4,000 characters",
        ),
        ('entities = ["user", "film"]', 'entities = "user"', "stars: option entities must be a list; got 'user'"),
        ("columns = [1, 2]", "columns = 5", "genres: option columns must be a list; got 5"),
        ("columns = [1, 2]", "columns = [0, 1]", "genres.tsv has no column '0'; positions are from 1 to 2"),
        ('value = "stars"', 'value = "stars"\nbiases = "no"', "stars: biases must be True or False; got 'no'"),
    ],
)
def test_declarations_that_are_wrong_are_refused(files, before, after, message):
    """One sentence with the file, and what there is instead."""
    (files / "films.toml").write_text(DECLARED.replace(before, after))
    refuses(message, read_database, files / "films.toml")


def test_tables_of_a_database_are_read_like_others(files):
    """Encodings and separators are recognised, settings of the reader are keys of a relation or options."""
    text = (files / "stars.csv").read_text().replace(",", ";").replace(".", ",").replace("Film 1;", "Größe;")
    (files / "films.txt").write_text((files / "films.txt").read_text().replace("Film 1\n", "Größe\n"))
    (files / "genres.tsv").write_text((files / "genres.tsv").read_text().replace("Film 1\t", "Größe\t"))
    (files / "stars.csv").write_bytes(text.encode("cp1252"))
    (files / "films.toml").write_text(
        DECLARED.replace('value = "stars"', 'value = "stars"\ndecimal = ","\nencoding = "cp1252"')
    )
    cells = read_database(files / "films.toml").cells("stars")
    assert len(cells) == text.count("\n") - 1
    (files / "films.toml").write_text(DECLARED.replace('value = "stars"', 'value = "stars"\nsep = 5'))
    refuses("relation stars: sep must be text", read_database, files / "films.toml")
    (files / "stars.csv").write_text(text)
    (files / "films.toml").write_text(DECLARED)
    as_json("train", files / "films.toml", "--out", files / "m", "--method", "als", "--rank", "2")
    (files / "asked.txt").write_bytes("film/user\nGröße/u1\n".encode("utf-16"))
    found = as_json("predict", files / "m", "stars", files / "asked.txt", "--set", "sep=/")["predictions"]
    assert [row["film"] for row in found] == ["Größe"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("u1,Film 1,", "stars.csv, line 3: the value of stars is missing"),
        ("u1,Film 1,good\nu2,Film 1,bad", "line 3: stars must be a finite number; got 'good'"),
        ("u1,Film 1\nu2,Film 1", "2 of 3 rows of .*stars.csv cannot be read; line 3: expected at least 3 cells; got 2"),
        ("u1,Film 99,3", "there is no film 'Film 99'"),
        ("u0,Film 0,1", "has conflicting values"),
    ],
)
def test_tables_that_are_wrong_are_refused(files, line, message):
    """With file and line where there is one."""
    (files / "stars.csv").write_text(f"user,film,stars\nu0,Film 0,3\n{line}\n")
    refuses(message, read_database, files / "films.toml")
    (files / "stars.csv").write_text(",,\n")
    refuses("contains no rows", read_database, files / "films.toml")
    (files / "stars.csv").write_text("")
    refuses("is empty", read_database, files / "films.toml")


def test_questions_that_are_wrong_are_refused(files):
    """Unknown relations, entities and shares."""
    out = files / "model"
    run("train", files / "films.toml", "--out", out, "--method", "als", "--rank", "2")
    (files / "wanted.csv").write_text("film,user\nFilm 3,nobody\n")
    assert "there is no user 'nobody'" in run("predict", out, "stars", files / "wanted.csv", code=1)
    assert "relation 'likes' does not exist; relations are stars, genres" in run(
        "predict", out, "likes", files / "wanted.csv", code=1
    )
    assert "entity type 'town' does not exist" in run("similar", out, "town", "Rome", code=1)
    again = ["train", files / "films.toml", "--out", out, "--force"]
    assert "--hold-out must have the form RELATION=SHARE, for example stars=0.1" in run(
        *again, "--hold-out", "stars", code=1
    )
    assert "relation 'star' does not exist" in run(*again, "--hold-out", "star=0.1", code=1)
    assert "must be between 0 and 1; got 2" in run(*again, "--hold-out", "stars=2", code=1)


def test_numbered_entities(tmp_path):
    """Of models made elsewhere; cells of one type twice need columns of their own."""
    x = np.random.default_rng(0).standard_normal((6, 5))
    pairs = Entries(np.array([[1, 0], [2, 1]]), np.array([1.0, 2.0]), (6, 6))
    tables = {"n": Relation(x, ("a", "b")), "q": Relation(pairs, ("a", "a"))}
    CollectiveFactorization(2, max_iter=5, tol=0, seed=0).fit(tables).save(tmp_path / "m")
    (tmp_path / "cells.csv").write_text("a,b\n1,2\n0,4\n")
    assert len(as_json("predict", tmp_path / "m", "n", tmp_path / "cells.csv")["predictions"]) == 2
    similar = as_json("similar", tmp_path / "m", "a", "3")["similar"]
    assert {row["name"] for row in similar} == {0, 1, 2, 4, 5}
    assert "names of entities of type a must be whole numbers; got 'x'" in run(
        "similar", tmp_path / "m", "a", "x", code=1
    )
    assert "entities have the same type" in run("predict", tmp_path / "m", "q", tmp_path / "cells.csv", code=1)


def test_cells_held_out_are_gone(files):
    """They are in neither database, entities stay, and zeros are among what is to be told of positive cells."""
    database = read_database(files / "films.toml")
    held = hold_out(database, "genres", share=0.25, seed=0)
    assert len(held.database.cells("genres")) == 9
    assert held.values.tolist() == [1.0] * 3 + [0.0] * 3
    assert held.database.sizes == database.sizes
    assert list(held.database.only("genres").relations) == ["genres"]
    assert len(database.cells("genres")) == 12
    whole, left = (set(map(tuple, d.cells("genres").indices.tolist())) for d in (database, held.database))
    assert whole - left == set(map(tuple, held.indices[:3].tolist()))
    assert not whole & set(map(tuple, held.indices[3:].tolist()))
    stars = hold_out(database, "stars", share=0.2, seed=0)
    model = VariationalFactorization(3, seed=0)
    assert (
        score(model.fit(stars.database), stars)["rmse"] < score(model.fit(stars.database.only("stars")), stars)["rmse"]
    )


def test_options_of_other_methods_are_refused(files):
    """Rather than left unread."""
    arguments = ["train", files / "films.toml", "--out", files / "m"]
    assert "--ridge is not used by --method gibbs, only by als; leave it out" in run(*arguments, "--ridge", "2", code=1)
    als = [*arguments, "--method", "als"]
    assert "--draws is not used by --method als" in run(*als, "--draws", "9", code=1)
    assert "--set burn_in is not used by --method als" in run(*als, "--set", "burn_in=9", code=1)


def test_interrupted_training_keeps_what_was_reached(files, monkeypatch):
    """Ctrl-C after some draws: the model is written, and the exit status is that of an interrupt."""
    seen = []

    def stop(self, draw):
        seen.append(draw)
        self._noise_.add(draw.alphas**-0.5)
        if len(seen) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(BayesianFactorization, "_seen", stop)
    arguments = ["train", files / "films.toml", "--out", files / "m"]
    assert "the model of the last iteration in" in run(*arguments, code=130)
    assert len(load(files / "m").draws_) == 3
    seen.clear()
    run("train", files / "films.toml", "--out", files / "n", "--hold-out", "stars=0.2", code=130)
    assert not (files / "n").exists()


@pytest.mark.parametrize("method", ["als", "gibbs", "variational"])
def test_new_films_and_reasons(files, method):
    """A film from its genre alone, a person from two ratings; each prediction is said to rest on known cells."""
    out = files / "model"
    run("train", files / "films.toml", "--out", out, "--method", method, "--rank", "3")
    (files / "new.tsv").write_text("Film 99\tg0\n")
    (files / "today.csv").write_text("user,film,stars\nzoe,Film 1,4\nzoe,Film 2,1\n")
    news = [f"genres={files / 'new.tsv'}", f"stars={files / 'today.csv'}"]
    facts = as_json("add", out, *news, "--out", files / "more")
    assert facts["new_entities"] == {"user": 1, "film": 1, "genre": 0}
    assert (facts["new_cells"], facts["changed_cells"]) == (3, 0)
    (files / "wanted.csv").write_text("user,film\nzoe,Film 99\nu1,Film 99\n")
    asked = ["predict", files / "more", "stars", files / "wanted.csv"]
    for by, first in (("user", {"stars"}), ("film", {"genres"})):
        rows = as_json(*asked, "--why", 9, "--by", by)["predictions"]
        assert {part["relation"] for part in rows[0]["why"]} == first
        named = {part["entities"] for part in rows[0]["why"]}
        assert named == ({"Film 1", "Film 2"} if by == "user" else {"g0"})
        assert rows[0]["value"] == pytest.approx(rows[0]["base"] + sum(p["part"] for p in rows[0]["why"]), abs=1e-5)
    assert "genres g0" in run(*asked, "--why", 1, "--by", "film")
    assert "film 1, genre 0" in run("add", out, *news, "--out", out, "--force", "--sweeps", 2)
    far = as_json("add", out, *news, "--out", out, "--force", "--refit")["distance_to_refit"]
    assert set(far) == {"stars", "genres"}


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ("stars", "each relation must be given once, in the form RELATION=TABLE; got 'stars'"),
        ("moons=a.csv", "relation 'moons' does not exist; relations are stars, genres"),
        ("stars=missing.csv", "missing.csv"),
        ("stars=comma.csv", "stars must be a finite number; got '3,5x'"),
    ],
)
def test_cells_that_cannot_be_added(files, cells, message):
    """One sentence, and nothing is written."""
    (files / "comma.csv").write_text("user;film;stars\nzoe;Film 1;3,5x\n")
    cells = cells.replace("comma.csv", str(files / "comma.csv"))
    run("train", files / "films.toml", "--out", files / "model", "--method", "als", "--rank", "1")
    assert message in run("add", files / "model", cells, "--out", files / "more", code=1)
    assert not (files / "more").exists()
