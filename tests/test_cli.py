"""The command line: every verb on small input, its JSON, its faults in one sentence, its exit codes."""

import contextlib
import errno
import inspect
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from helpers import in_json, invoke, sentence, succeed
from polyadic import Corpus, Embedding, SymmetricCP
from polyadic.cli import EXAMPLES
from polyadic.core.progress import sweeps
from polyadic.core.solvers.adaptive import Adam
from polyadic.core.solvers.run import Result
from polyadic.datasets import similarity_sets
from polyadic.interface import errors, output
from polyadic.interface.command_line import in_bytes
from polyadic.interface.task import fields_of
from polyadic.text.counts import Counts
from polyadic.words.checkpoint import Checkpoint
from polyadic.words.methods import METHODS
from polyadic.words.task import entry_weights

TOPICS = ["moon rocket orbit lunar crew", "god temple oracle myth altar", "film actor award scene oscar"]
SMALL = [
    "--min-count",
    "1",
    "--width",
    "4",
    "--rank",
    "4",
    "--set",
    "max_iter=5",
    "--set",
    "tol=0",
    "--set",
    "tuple_min_count=1",
]
CP_SN = [*SMALL, "--method", "cp-sn"]


@pytest.fixture
def text(tmp_path):
    """Write sixty sentences of three topics; each sentence is one topic in another order, and has "apollo" in it."""
    rng = np.random.default_rng(0)
    path = tmp_path / "text.txt"
    lines = [" ".join(rng.permutation([*TOPICS[n % 3].split(), "apollo"])) for n in range(60)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def vectors(tmp_path):
    """Write five words in three dimensions."""
    rows = [[1, 1, 0], [1, 0, 0.1], [0.1, 1, 0], [0, 0, 1], [0.9, 0.1, 0]]
    path = tmp_path / "vectors"
    Embedding(["apollo", "moon", "god", "film", "rocket"], np.array(rows, np.float32)).save(path)
    return path


def process(*arguments, **options):
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"  # a shell may have it ignored
    code = f"{heard}; from polyadic.cli import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **{"stdout": subprocess.PIPE, **options},
    )


def table(output):
    return [line.split("\t") for line in output.splitlines()]


# Help and usage


@pytest.mark.parametrize("verb", EXAMPLES)
def test_help_ends_with_an_example(verb):
    """The help of each verb ends with a call of this verb."""
    assert succeed(verb, "--help").strip().splitlines()[-1].strip().startswith(f"polyadic {verb}")


def test_alone_it_shows_three_things_to_try():
    """Without a verb there is a beginning, not an error; the things to try are verbs that there are."""
    shown = succeed()
    tried = [line.split()[1] for line in shown.splitlines() if line.startswith("  polyadic ")]
    assert len(tried) == 3
    for verb in tried:
        assert invoke(verb, "--help").exit_code == 0


def test_verbs_stand_in_the_order_of_the_work():
    text = succeed("--help")
    panels = ["Start", "Words", "Text", "Tables and relations", "Syntax and sequences"]
    places = [text.index(f" {panel} ─") for panel in panels]
    assert places == sorted(places)
    assert "Commands" not in text  # a verb without a group


def test_folders_for_other_tools(vectors, tmp_path):
    """A projector and a static encoder are folders of their kinds; a licence is for the card alone."""
    succeed("convert", vectors, tmp_path / "board", "--to", "projector")
    assert len((tmp_path / "board" / "tensors.tsv").read_text().splitlines()) == 5
    succeed("convert", vectors, tmp_path / "encoder", "--to", "static", "--licence", "cc0-1.0")
    assert "cc0-1.0" in (tmp_path / "encoder" / "README.md").read_text(encoding="utf-8")
    assert "exists" in invoke("convert", vectors, tmp_path / "board", "--to", "projector").output
    assert "--licence" in invoke("convert", vectors, tmp_path / "v", "--to", "glove", "--licence", "x").output
    assert invoke("convert", vectors, tmp_path / "v", "--to", "pickle").exit_code == 2
    assert not (tmp_path / "v").exists()


def test_help_loads_nothing_slow():
    """The help is there at once: it loads no array library at all."""
    code = (
        "import sys; from polyadic.cli import app\n"
        "try: app(['train', '--help'])\n"
        "except SystemExit: pass\n"
        "print(*sorted({'numpy', 'scipy', 'sklearn', 'numba', 'safetensors'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stderr.split() == []


@pytest.mark.parametrize("verb", EXAMPLES)
def test_unknown_options_are_refused(verb):
    """A misspelt option is a fault of usage, which is exit code 2."""
    assert invoke(verb, "--treads", "2").exit_code == 2


@pytest.mark.parametrize(
    "options",
    [
        ["--rank", "0"],
        ["--set", "order=6"],
        ["--width", "0"],
        ["--set", "window=spam"],
        ["--set", "weights=many"],
        ["--memory", "x"],
    ],
)
def test_values_out_of_range_are_refused(options, text, tmp_path):
    """A value that no run could use is refused before any work."""
    code = errors.BAD_USAGE if options[0] == "--memory" else errors.BAD_INPUT
    assert invoke("train", text, "--out", tmp_path / "out", *options).exit_code == code
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["explore", "t.txt", "--port", "70000"], "--port must be a whole number from 0 to 65,535; got 70000"),
        (
            ["relations", "train", "t", "--out", "m", "--max-iter", "x"],
            "--max-iter must be a whole number of at least 1;",
        ),
        (
            ["complete", "train", "t", "--out", "m", "--hold-out", "95"],
            "--hold-out must be a finite number from 0 to 0.9;",
        ),
        (["corpus", "t", "--out", "c", "--workers", "0"], "--workers must be a whole number from 1 to 1,024; got 0"),
    ],
)
def test_limits_are_stated_in_words(words, told):
    """A number that is none, or is out of range, gives one sentence with the option and its limits."""
    done = invoke(*words)
    assert (done.exit_code, done.stderr.count("\n")) == (errors.BAD_INPUT, 1)
    assert told in done.stderr


def test_sizes_and_weights_are_read():
    """Sizes have units of 1,024, weights have a name or two numbers."""
    assert [in_bytes(size) for size in ("4G", "1.5k", "10")] == [4 * 1024**3, 1536, 10]
    assert entry_weights("log") == "log"
    assert entry_weights("100,0.75") == (100, 0.75)


# Vectors


def test_neighbours_are_those_of_the_embedding(vectors):
    """The verb shows what ``Embedding.neighbours`` returns, by either spelling."""
    expected = Embedding.load(vectors).neighbours("apollo", top=2)
    for verb in ("neighbours", "neighbors"):
        found = in_json(verb, vectors, "apollo", "--top", 2)["neighbours"]["apollo"]
        assert [each["word"] for each in found] == [word for word, _ in expected]
        assert [each["cosine"] for each in found] == pytest.approx([cosine for _, cosine in expected], abs=1e-6)


def test_piped_tables_have_tabs(vectors):
    """When piped, a neighbour is a line of three fields below the headings."""
    rows = table(succeed("neighbours", vectors, "apollo", "moon", "-n", 1))
    assert rows[0] == ["query", "neighbour", "cosine"]
    assert [row[0] for row in rows[1:]] == ["apollo", "moon"]


def test_words_come_from_standard_input(vectors):
    """A dash stands for words from standard input."""
    assert list(in_json("neighbours", vectors, "-", stdin="apollo\nmoon\n")["neighbours"]) == ["apollo", "moon"]


def test_phrases_select_senses(vectors):
    """Plain words are one phrase and ``a*b`` is another; each selects its own sense of their common word."""
    found = in_json("phrase", vectors, "apollo", "god", "apollo*moon")["phrases"]
    assert found["apollo moon"][0]["word"] == "rocket"
    assert set(found) == {"apollo god", "apollo moon"}
    assert "apollo" not in {each["word"] for nearest in found.values() for each in nearest}


@pytest.mark.parametrize("kind", ["word2vec", "word2vec-binary", "glove"])
def test_convert_there_and_back(kind, vectors, tmp_path):
    """Vectors survive the way into another format and back."""
    there, back = tmp_path / "there", tmp_path / "back"
    assert in_json("convert", vectors, there, "--to", kind)["words"] == 5
    succeed("convert", there, back, "--to", "native", "--from", kind)
    before, after = Embedding.load(vectors), Embedding.load(back)
    assert after.words == before.words
    np.testing.assert_array_equal(after.vectors, before.vectors)


def test_convert_replaces_nothing_unasked(vectors, tmp_path):
    """An existing file stays as it is without ``--force``."""
    (tmp_path / "there").write_text("precious")
    assert "exists already" in sentence(invoke("convert", vectors, tmp_path / "there", "--to", "glove"))
    assert (tmp_path / "there").read_text() == "precious"
    succeed("convert", vectors, tmp_path / "there", "--to", "glove", "--force")


def test_evaluate_files_of_ones_own(vectors, tmp_path):
    """Pairs and groups in files of the user are scored, with what they cover."""
    pairs, groups = tmp_path / "pairs.txt", tmp_path / "groups"
    pairs.write_text("moon rocket 9\nmoon god 2\nmoon film 1\nmoon cheese 7\n")
    groups.mkdir()
    (groups / "space.txt").write_text("moon\nrocket\napollo\n\nfilm\ncheese\n")
    found = {f["name"]: f for f in in_json("evaluate", vectors, "--pairs", pairs, "--groups", groups)["figures"]}
    similarity = found["similarity pairs"]
    assert (similarity["used"], similarity["total"]) == (3, 4)
    assert [found[f"groups OD{order} accuracy"]["value"] for order in (2, 3)] == [1.0, 1.0]
    rows = table(succeed("evaluate", vectors, "--pairs", pairs, "--groups", groups))
    assert rows[0] == ["test", "value", "95 % interval", "chance", "cases", "total"]


def test_evaluate_reports_what_is_not_covered(vectors, tmp_path):
    """Groups without a known word are told; with nothing else to test, that is a fault."""
    (tmp_path / "odd.txt").write_text("mercury\nvenus\n\nspoon\n")
    left_out = in_json("evaluate", vectors, "--groups", tmp_path)["left_out"]
    assert "none of the 1 groups" in left_out[f"outliers {tmp_path.name} OD2"]
    assert "no test could be run" in invoke("evaluate", vectors, "--groups", tmp_path).stderr


def test_evaluate_refuses_misspelt_kinds(vectors, tmp_path):
    """A kind that does not exist is named with those that do, before vectors are read."""
    found = sentence(invoke("evaluate", vectors, "--kind", "similarities", "--data", tmp_path))
    assert "'similarities'" in found
    assert "'senses'" in found


@pytest.mark.realdata
def test_evaluate_published_sets(vectors, realdata, tmp_path):
    """The quick published sets are taken when nothing else is asked for; what they do not cover is told."""
    found = in_json("evaluate", vectors)
    assert found["figures"] == []
    assert {name.split()[0] for name in found["left_out"]} == {"similarity", "outliers", "analogies"}
    words = sorted({word.lower() for pair in similarity_sets(realdata)["men"] for word in pair[:2]})
    numbers = np.random.default_rng(0).normal(size=(len(words), 5)).round(3)
    lines = [" ".join(map(str, [word, *row])) for word, row in zip(words, numbers.tolist(), strict=True)]
    (tmp_path / "random.txt").write_text("\n".join(lines))
    figures = {f["name"]: f for f in in_json("evaluate", tmp_path / "random.txt", "--kind", "similarity")["figures"]}
    assert (figures["similarity men"]["used"], figures["similarity men"]["total"]) == (3000, 3000)
    assert abs(figures["similarity men"]["value"]) < 0.1
    assert figures["similarity ws353"]["used"] < 353


def test_compare_tells_what_differs(vectors, tmp_path):
    """Vectors compared with themselves under another name differ nowhere; intervals are of the same cases."""
    (tmp_path / "pairs.txt").write_text("moon rocket 9\nmoon god 2\nmoon film 1\nmoon cheese 7\n")
    succeed("convert", vectors, tmp_path / "copy.txt", "--to", "glove")
    found = in_json("compare", vectors, tmp_path / "copy.txt", "--pairs", tmp_path / "pairs.txt")
    first, second = found["models"]
    (figure,) = found["figures"]
    assert figure["values"][first] == figure["values"][second]
    assert figure[f"minus {first}"][second] == {"value": 0.0, "low": 0.0, "high": 0.0, "certain": False}
    rows = table(succeed("compare", vectors, tmp_path / "copy.txt", "--pairs", tmp_path / "pairs.txt"))
    assert rows[0][2:] == [first, second, f"{second} - {first}"]


def test_compare_needs_two(vectors):
    """One model, or the same twice, is refused."""
    assert "at least two" in sentence(invoke("compare", vectors))
    assert "given only once" in sentence(invoke("compare", vectors, vectors))


def test_phrases_from_triples(vectors, text, tmp_path):
    """``--counts`` makes vectors of phrases from the triples they occur in; counts of pairs are refused."""
    succeed("corpus", text, "--out", tmp_path / "corpus", "--min-count", "1")
    for order in ("2", "3"):
        succeed("count", tmp_path / "corpus", "--out", tmp_path / order, "--order", order, "--width", "4")
    found = in_json("phrase", vectors, "apollo", "moon", "--counts", tmp_path / "3", "--top", "3")["phrases"]
    assert [len(nearest) for nearest in found.values()] == [3]
    assert not {"apollo", "moon"} & {row["word"] for row in found["apollo moon"]}
    assert "order 3" in sentence(invoke("phrase", vectors, "apollo", "moon", "--counts", tmp_path / "2"))
    assert "two different known words" in sentence(invoke("phrase", vectors, "apollo", "--counts", tmp_path / "3"))


def test_phrases_from_triples_that_were_kept(text, tmp_path):
    """Triples of the same text that lie with vectors are used unasked; not those of another, nor for three words."""
    made, kept = tmp_path / "vectors", tmp_path / "kept"
    succeed("train", text, "--out", made, "--keep", kept, *SMALL)
    asked = ["phrase", made, "apollo", "moon", "apollo*moon*god"]
    plain, unasked = in_json(*asked, "--counts", "none")["phrases"], in_json(*asked)["phrases"]
    by_triples = in_json("phrase", made, "apollo", "moon", "--counts", kept / "counts-3")["phrases"]
    assert unasked["apollo moon"] == by_triples["apollo moon"] != plain["apollo moon"]
    assert unasked["apollo moon god"] == plain["apollo moon god"]
    assert f"the triples in {kept / 'counts-3'}" in invoke(*asked).stderr
    (tmp_path / "other.txt").write_text("the moon is a god of the sea and apollo is a rocket .\n" * 40)
    succeed("train", tmp_path / "other.txt", "--out", tmp_path / "others", "--keep", kept, "--force", *SMALL)
    assert in_json(*asked)["phrases"] == plain


def test_senses_are_told_apart(vectors):
    """The senses of a word come with the words that select them."""
    found = in_json("senses", vectors, "moon", "--number", "2")["senses"]["moon"]
    assert len(found) == 2
    assert sum(sense["size"] for sense in found) <= 15
    assert table(succeed("senses", vectors, "moon", "--number", "2"))[0][:3] == ["word", "sense", "size"]


# Text


def test_corpus_from_files(text, tmp_path):
    """A corpus is made of one file or several, and says how large it is."""
    found = in_json("corpus", text, text, "--out", tmp_path / "corpus", "--min-count", "1")["steps"]["corpus"]
    assert (found["words"], found["tokens"], found["documents"]) == (16, 720, 2)
    assert (tmp_path / "corpus" / "meta.json").is_file()


def test_set_takes_listed_options(text, tmp_path):
    """``--set`` sets an option that --help lists as the option does; it is refused if both are given."""
    made = [tmp_path / "a", tmp_path / "b"]
    first, second = (
        in_json("corpus", text, "--out", out, *options)["steps"]["corpus"]
        for out, options in zip(made, (["--min-count", "1"], ["--set", "min_count=1"]), strict=True)
    )
    assert first["words"] == second["words"] == 16
    both = invoke("corpus", text, "--out", tmp_path / "c", "--min-count", "1", "--set", "min_count=2")
    assert "--min-count must be given only once" in sentence(both)


def test_corpus_from_standard_input(text, tmp_path):
    """A dash stands for text from standard input."""
    found = in_json("corpus", "-", "--out", tmp_path / "corpus", "--set", "tokenised=true", stdin=text.read_text())
    assert found["steps"]["corpus"]["tokens"] == 360


def test_demo_reports_and_returns(tmp_path, monkeypatch):
    """The demo tells its story as it goes, or returns its findings as JSON and says nothing else."""

    def run(out, *, rank, seed, report):
        report("a story")
        return {"out": out, "rank": rank, "seed": seed}

    monkeypatch.setattr("polyadic.cli.demonstration.run", run)
    assert succeed("demo", "--out", tmp_path / "demo") == "a story\n"
    assert in_json("demo", "--out", tmp_path / "demo", "--rank", "7") == {
        "out": str(tmp_path / "demo"),
        "rank": 7,
        "seed": 1,
    }


def test_count_and_export(text, tmp_path):
    """A corpus is counted, and the counts are written as FROSTT text too: one line per tuple."""
    succeed("corpus", text, "--out", tmp_path / "corpus", "--min-count", "1")
    export = tmp_path / "counts.tns"
    options = ["--order", "2", "--width", "4", "--min-count", "1", "--tns", export]
    found = in_json("count", tmp_path / "corpus", "--out", tmp_path / "counts", *options)["steps"]["count"]
    assert found["order"] == 2
    assert found["entries"] == sum(not line.startswith("#") for line in export.read_text().splitlines() if line)


def test_distance_in_running_words(text, tmp_path):
    """Counts, vectors and kept results say in which words distance was measured; word2vec has no such choice."""
    succeed("corpus", text, "--out", tmp_path / "corpus", "--min-count", "1")
    running = ["--order", "2", "--width", "4", "--min-count", "1", "--distance", "running"]
    succeed("count", tmp_path / "corpus", "--out", tmp_path / "counts", *running)
    train = ["train", text, "--method", "ppmi-svd", "--min-count", "1", "--rank", "3", "--width", "4"]
    kept = ["--keep", tmp_path / "kept", "--set"]
    succeed(*train, "--out", tmp_path / "a", *kept, "distance=running")
    assert Embedding.load(tmp_path / "a").meta["trained"]["distance"] == "running"
    counts = [Counts.open(tmp_path / name) for name in ("counts", "kept/counts-2")]
    assert [each.settings["distance"] for each in counts] == ["running"] * 2
    assert counts[0].events == counts[1].events
    assert "distance running instead of kept" in sentence(
        invoke(*train, "--out", tmp_path / "b", *kept, "distance=kept")
    )
    word2vec = invoke("train", text, "--out", tmp_path / "c", "--method", "cbow", "--set", "distance=running")
    assert "distance has no effect on cbow" in sentence(word2vec)


@pytest.mark.parametrize("method", ["cp-sn", "cp-s", "ppmi-svd"])
def test_train_from_text(method, text, tmp_path):
    """Text becomes vectors in one call, and words of one topic are neighbours."""
    options = SMALL if method != "ppmi-svd" else [*SMALL[:6], *SMALL[-2:]]
    found = in_json("train", text, "--out", tmp_path / "out", "--method", method, *options)
    assert (found["words"], found["rank"]) == (16, 4)
    counts = "counts-2" if method == "ppmi-svd" else "counts-3"
    assert list(found["steps"]) == ["text", "corpus", "plan", counts, "weights", "model", "factors"]
    assert all(step["seconds"] >= 0 for step in found["steps"].values())
    assert len(in_json("neighbours", tmp_path / "out", "moon")["neighbours"]["moon"]) == 10


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_trains(method, text, tmp_path):
    """Each method makes vectors of the same text and words."""
    chosen = METHODS[method]
    options = ["--min-count", "1", "--rank", "3", "--set", "threads=1"]
    options += [] if chosen.fitted_to == "corpus" else ["--width", "4", "--set", "tuple_min_count=1"]
    options += ["--set", "max_iter=3", "--set", "tol=0"] if "max_iter" in chosen.options else []
    options += ["--set", "epochs=2"] if "epochs" in chosen.options else []
    found = in_json("train", text, "--out", tmp_path / "out", "--method", method, *options)
    assert found["words"] == 16
    assert len(Embedding.load(tmp_path / "out")) == 16


def test_orders_have_settings_of_their_own(text, tmp_path):
    """Joint models take a value for each order; too many are refused."""
    options = ["--method", "jcp-s", "--min-count", "1", "--rank", "3", "--set", "max_iter=3", "--set", "tol=0"]
    found = in_json(
        "train", text, "--out", tmp_path / "a", *options, "--set", "shift=1/2", "--set", "weights=log/count",
        "--set", "tuple_min_count=1/2", "--set", "order_weights=1/0.5", "--set", "order=3",
    )  # fmt: skip
    assert len(found["steps"]["factors"]["explained"]) == 2
    wrong = invoke("train", text, "--out", tmp_path / "b", *options, "--set", "shift=1/2/3")
    assert "--set shift must be a single value or one value for each of the orders (2, 3); got 3 values" in sentence(
        wrong
    )
    three = invoke("train", text, "--out", tmp_path / "b", "--method", "glove", "--min-count", "1", "--set", "order=3")
    assert "the order of glove must be 2; got 3" in sentence(three)


def test_online_training(text, tmp_path):
    """The online solver has options of its own, which are refused without it."""
    succeed(
        "train",
        text,
        "--out",
        tmp_path / "a",
        *CP_SN,
        "--set",
        "solver=online",
        "--set",
        "learning_rate=0.01",
        "--set",
        "batch=64",
    )
    assert "--set learning_rate can be used only with the solver 'online'" in sentence(
        invoke("train", text, "--out", tmp_path / "b", *CP_SN, "--set", "learning_rate=0.01")
    )
    model = METHODS["cp-sn"].make(
        {"solver": "online", "learning_rate": 0.01, "batch": 64, "sampled_zeros": 2.0, "seed": 5}
    )
    assert model.solver.keywords == {"rule": Adam(0.01), "batch": 64, "zeros": 2.0, "seed": 5}
    assert model.zero_weight == 0


def test_the_order_of_counts_is_theirs(text, tmp_path):
    """A folder of counts says of which order it is: a method that does not take it refuses before it weighs."""
    succeed("corpus", text, "--out", tmp_path / "corpus", "--min-count", "1")
    succeed("count", tmp_path / "corpus", "--out", tmp_path / "pairs", "--order", "2")
    svd = succeed("train", tmp_path / "pairs", "--out", tmp_path / "svd", "--method", "ppmi-svd", "--rank", "3")
    assert "wrote" in svd
    two = invoke("train", tmp_path / "pairs", "--out", tmp_path / "a", "--set", "shift=1/2")
    assert "--set shift must be a single value or one value for each of the orders (2,); got 2 values" in sentence(two)
    succeed("count", tmp_path / "corpus", "--out", tmp_path / "triples", "--order", "3")
    glove = invoke("train", tmp_path / "triples", "--out", tmp_path / "b", "--method", "glove")
    assert "the order of glove must be 2; got 3" in sentence(glove)


@pytest.mark.parametrize("verb", ["neighbours", "phrase", "senses"])
def test_what_is_unknown_takes_nothing_from_the_others(verb, vectors):
    """The words that are known are answered; the others are named, and the exit code says so."""
    words = ["apollo*moon", "apollo*rokket"] if verb == "phrase" else ["apollo", "rokket"]
    done = invoke(verb, vectors, *words, *(["--number", "2"] if verb == "senses" else []), "--json")
    assert done.exit_code == errors.BAD_INPUT
    answer = json.loads(done.stdout)
    (answers,) = (value for name, value in answer.items() if name != "refused")
    assert list(answers) == [words[0].replace("*", " ")]
    assert list(answer["refused"]) == [words[1].replace("*", " ") if verb == "phrase" else words[1]]
    error = json.loads(done.stderr)["error"]
    assert error.startswith("'rokket' is not in the vocabulary of 5 words; close spellings: 'rocket'")


def test_stop_words_have_no_vector(text, tmp_path):
    """A word that training left out as a stop word is called one; other words are only unknown."""
    for list_, told in (
        ("english", "'the' is a stop word, and stop words have no vector"),
        ("none", "'the' is not in"),
    ):
        succeed("train", text, "--out", tmp_path / list_, *SMALL, "--set", f"stop_words={list_}")
        assert told in invoke("neighbours", tmp_path / list_, "the").stderr
    succeed("train", text, "--out", tmp_path / "list", *SMALL, "--set", "language=en")
    assert "'The' is a stop word" in invoke("neighbours", tmp_path / "list", "The").stderr


def test_missing_folders_and_fields_are_named(tmp_path):
    """A missing file or folder is reported in one sentence, and an unknown field with the fields that exist."""
    done = invoke("neighbours", tmp_path / "none", "x")
    assert sentence(done).endswith(f"there is no file or folder {tmp_path / 'none'}")
    table = tmp_path / "table.csv"
    table.write_text("text,author\napollo flies,Ann\n", encoding="utf-8")
    succeed("corpus", table, "--out", tmp_path / "c", "--min-count", "1", "--field", "text")
    done = invoke("lines", tmp_path / "c", "apollo", "--where", "year=1")
    assert sentence(done).endswith(
        "no document has the field 'year'; the documents of this corpus have the fields author"
    )


def test_phrases_of_standard_input(vectors):
    """Each line is a phrase."""
    found = in_json("phrase", vectors, "-", stdin="apollo moon\n\napollo*god\n")["phrases"]
    assert list(found) == ["apollo moon", "apollo god"]


def test_products_without_components_are_warned_of(vectors, tmp_path):
    """Where vectors have negative numbers their products mean little."""
    assert "warning" not in invoke("phrase", vectors, "apollo", "moon").stderr
    Embedding(["a", "b", "c"], [[1.0, -1.0], [1.0, 0.5], [0.5, 0.5]]).save(tmp_path / "dense")
    assert "have no non-negative components" in invoke("phrase", tmp_path / "dense", "a", "b").stderr


@pytest.mark.filterwarnings("default")
def test_components_that_a_file_cannot_hold(tmp_path):
    """Written for another tool, vectors lose which columns are non-negative; that is said."""
    Embedding(["a", "b"], [[-1.0, 1.0], [1.0, 0.5]], components=1).save(tmp_path / "a")
    done = invoke("convert", tmp_path / "a", tmp_path / "a.vec", "--to", "word2vec")
    assert "non-negative components (here, the last 1 of 2)" in done.stderr
    succeed("convert", tmp_path / "a", tmp_path / "b", "--to", "native")


def test_several_files_are_trained_on_together(text, tmp_path):
    """As `corpus` takes several sources, so does `train`; their files are read in this order."""
    (tmp_path / "more.txt").write_bytes(text.read_bytes())
    found = in_json("train", text, tmp_path / "more.txt", "--out", tmp_path / "out", *CP_SN)
    assert found["steps"]["text"]["files"] == 2
    assert found["steps"]["corpus"]["documents"] == 2


@pytest.mark.filterwarnings("always")
def test_warnings_name_options(text, tmp_path):
    """What a warning advises is written as on the command line."""
    (tmp_path / "bad.txt").write_bytes(b"moon \xff")
    done = invoke("corpus", text, tmp_path / "bad.txt", "--out", tmp_path / "corpus", "--set", "encoding=utf-8")
    assert done.exit_code == 0
    assert "skipped 1 of 2 files" in done.stderr
    assert "set the encoding, or --set errors=replace or --set errors=ignore" in done.stderr


def test_components_of_words(vectors):
    """Components are shown with their strongest words, all or those of a word."""
    found = in_json("components", vectors, "apollo", "--top", "2")["components"]
    assert [len(each["words"]) for each in found] == [2, 2]
    assert len(in_json("components", vectors)["components"]) == 3


def test_train_says_how_long_steps_took(text, tmp_path):
    """Each step has a line with its seconds, and the last line says what was written."""
    lines = succeed("train", text, "--out", tmp_path / "out", *CP_SN).splitlines()
    steps = ["text", "corpus", "plan", "counts-3", "weights", "model", "factors"]
    assert [line.split()[0] for line in lines[:8]] == [*steps, "wrote"]


def test_train_ends_with_what_to_look_at(text, tmp_path):
    """The commands that it names are of this text, and run."""
    text.write_text(text.read_text(encoding="utf-8") * 3, encoding="utf-8")
    kept = ("--keep", tmp_path / "kept here")
    done = in_json("train", text, "--out", tmp_path / "my vectors", *SMALL, *kept)
    assert [shlex.split(command)[:2] for command in done["look_at"]] == [
        ["polyadic", verb] for verb in ("neighbours", "components", "phrase", "senses", "lines")
    ]
    for command in done["look_at"]:
        succeed(*shlex.split(command)[1:])
    succeed("train", text, "--out", tmp_path / "v", *SMALL, "--keep", tmp_path / "counted")
    going_on = ("--method", "cp-sn", "--rank", 4, "--keep", tmp_path / "going on")
    done = in_json("train", tmp_path / "counted" / "counts-3", "--out", tmp_path / "of counts", *going_on)
    assert not any("senses" in command for command in done["look_at"]), "counts know no corpus"


def test_options_without_effect_are_refused(text, tmp_path):
    """A corpus is for lines."""
    succeed("train", text, "--out", tmp_path / "v", *SMALL)
    done = invoke("components", tmp_path / "v", "--corpus", tmp_path)
    assert (done.exit_code, done.stderr) == (
        1,
        "polyadic: --corpus can be used only together with --lines; set both, or leave out --corpus\n",
    )


def test_lemmas_are_words_of_a_corpus(text, tmp_path):
    """They are the words of what is counted, and are not for text that is tokenised already."""
    text.write_text("Two mice ran. One mouse runs.\n" * 20, encoding="utf-8")
    succeed("corpus", text, "--out", tmp_path / "c", "--set", "lemmas=true", "--stop-words", "none")
    assert set(Corpus.open(tmp_path / "c").vocabulary.words) == {"two", "mouse", "run", "one"}
    done = invoke("train", text, "--out", tmp_path / "v", "--set", "lemmas=true", "--set", "tokenised=true")
    assert "--set lemmas cannot be combined with --set tokenised" in sentence(done)


def test_what_was_written_can_be_checked(text, tmp_path):
    """All folders below one are whole, or what is damaged is named, in words and in JSON."""
    succeed("train", text, "--out", tmp_path / "v", "--keep", tmp_path / "k", *SMALL)
    done = in_json("check", tmp_path / "v", tmp_path / "k")
    folders = [tmp_path / "v", *(tmp_path / "k" / name for name in ("corpus", "counts-2", "counts-3"))]
    assert list(done["whole"]) == list(map(str, folders))
    assert list(done["whole"].values()) == [sum(map(Path.is_file, each.rglob("*"))) for each in folders]
    ids = tmp_path / "k" / "corpus" / "ids.npy"
    content = bytearray(ids.read_bytes())
    content[-1] ^= 1
    ids.write_bytes(content)
    done = invoke("check", tmp_path / "k")
    assert (done.exit_code, done.stderr) == (
        1,
        f"polyadic: {ids} is damaged: its content does not match its checksum\n",
    )
    assert invoke("check", tmp_path / "k" / "corpus" / "none").stderr.startswith("polyadic: there is no folder ")


def test_what_no_run_made_is_not_replaced(text, tmp_path):
    """A corpus that lies where a run would keep its own stays, but for --force; what a run began is made again."""
    kept = tmp_path / "k"
    kept.mkdir()
    succeed("corpus", text, "--out", kept / "corpus", "--min-count", "2")
    digest = Corpus.open(kept / "corpus").digest
    command = ("train", text, "--out", tmp_path / "v", "--keep", kept, *SMALL)
    done = invoke(*command)
    fault = "exists and was not made by this command; choose another folder, or replace it with --force"
    assert (done.exit_code, done.stderr.splitlines()[-1]) == (1, f"polyadic: {kept / 'corpus'} {fault}")
    assert Corpus.open(kept / "corpus").digest == digest
    succeed(*command, "--force")
    label = json.loads((kept / "corpus.json").read_text(encoding="utf-8"))
    (kept / "corpus.json").write_text(json.dumps(label | {"facts": None}), encoding="utf-8")
    succeed(*command[:3], tmp_path / "w", *command[4:])
    assert json.loads((kept / "corpus.json").read_text(encoding="utf-8"))["facts"]["tokens"]


def test_two_words_are_one(tmp_path):
    """They are in the corpus that is kept, in vectors and in lines."""
    texts = tmp_path / "text.txt"
    lines = [f"Word{i % 50} and thing{i % 37} are in New York." for i in range(300)]
    texts.write_text("\n".join(lines), encoding="utf-8")
    succeed(
        "train",
        texts,
        "--out",
        tmp_path / "v",
        "--keep",
        tmp_path / "k",
        "--set",
        "multiwords=true",
        *SMALL,
    )
    assert "new_york" in Embedding.load(tmp_path / "v").index
    shown = in_json("lines", tmp_path / "k" / "corpus", "new_york", "--top", "3")
    assert all("New York" in json.dumps(line) for line in shown["lines"]), shown
    succeed("corpus", texts, "--out", tmp_path / "c", "--set", "multiwords=true", "--min-count", "1")
    assert Corpus.open(tmp_path / "c").vocabulary.words == Corpus.open(tmp_path / "k" / "corpus").vocabulary.words


def test_names_of_files_are_no_settings(tmp_path, monkeypatch):
    """A file that is called as an option stays what it is in what is said of it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "counts").mkdir()
    (tmp_path / "counts" / "meta.json").write_text("{}", encoding="utf-8")
    assert "--" not in invoke("table", "counts").stderr.replace("--columns", "")


def test_train_says_what_it_will_do(text, tmp_path):
    """Before the long part: the columns, about how many minutes, how much memory; little text has few columns."""
    done = in_json("train", text, "--out", tmp_path / "v", "--min-count", "1", "--set", "max_iter=3", "--set", "tol=0")
    ahead = done["steps"]["model"]
    assert ahead["method"] == "jcp"
    assert ahead["rank"] == done["rank"] < 20
    assert ahead["n_nonnegative"] == ahead["rank"] // 2
    assert ahead["about_minutes"] >= 0
    assert ahead["memory_mib"] >= 0


def test_online_fits_are_not_told_ahead(text, tmp_path):
    """What the usual solver takes says nothing of another one."""
    done = in_json("train", text, "--out", tmp_path / "v", *CP_SN, "--set", "solver=online")
    assert set(done["steps"]["model"]) == {"seconds", "method", "rank"}


def test_bars_move_within_sweeps(monkeypatch):
    """Shares of a sweep move the bar, a sweep that is tried again does not, and each sweep is one in the end."""
    moved = []

    @contextlib.contextmanager
    def bar(*_, **__):
        yield lambda amount=1, **_: moved.append(amount)

    monkeypatch.setattr("polyadic.core.progress.bar", bar)
    model = SymmetricCP(2)
    with sweeps(model, "factorizing"):
        for shares in ((0.5, 1.0), (0.5, 1.0, 0.5, 1.0), ()):
            for share in shares:
                model.callback.within(share)
            model.callback(Result([], history=[1.0]))
    assert moved == [0.5, 0.5, 0.0, 0.5, 0.5, 0.0, 1.0]


def test_train_from_a_corpus_or_counts(text, tmp_path):
    """Training from text, from its corpus and from its counts gives the same vectors."""
    corpus, counts = tmp_path / "corpus", tmp_path / "counts"
    succeed("corpus", text, "--out", corpus, "--min-count", "1")
    succeed("count", corpus, "--out", counts, "--width", "4", "--min-count", "1")
    outs = [tmp_path / name for name in ("a", "b", "c")]
    succeed("train", text, "--out", outs[0], *CP_SN, "--set", "threads=1")
    succeed("train", corpus, "--out", outs[1], *CP_SN[2:], "--set", "threads=1")
    model = ["--rank", "4", "--set", "max_iter=5", "--set", "tol=0", "--set", "threads=1"]
    succeed("train", counts, "--out", outs[2], *model)
    first, *others = [Embedding.load(out).vectors for out in outs]
    for other in others:
        np.testing.assert_array_equal(first, other)


def test_train_explains_pairs_and_larger_tuples_by_default(text, tmp_path):
    """Without a method, text is counted by twos and threes, and half of the columns are non-negative."""
    done = in_json("train", text, "--out", tmp_path / "out", *SMALL, "--width", "4/5")
    assert len(done["steps"]["factors"]["explained"]) == 2
    vectors = Embedding.load(tmp_path / "out")
    assert (vectors.rank, vectors.components.rank) == (4, 2)
    assert (vectors.components.vectors >= 0).all()
    assert vectors.meta["trained"]["method"] == "jcp"
    three = in_json(
        "train", text, "--out", tmp_path / "three", *SMALL, "--set", "n_nonnegative=3", "--set", "pair_scale=0.3"
    )
    assert Embedding.load(tmp_path / "three").components.rank == 3
    assert three["rank"] == 4
    succeed("train", text, "--out", tmp_path / "usual", "--min-count", "1", "--rank", "4")
    usual = Embedding.load(tmp_path / "usual").meta["trained"]
    assert (usual["width"], usual["smoothing"], usual["tuple_min_count"]) == ([5, 10], [0.75, 1.0], [1, 2])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--set", "pair_scale=0"], "--set pair_scale must be a finite number above 0 up to 1; got 0"),
        (["--set", "n_nonnegative=4"], "n_nonnegative must be a whole number from 1 to 3; got 4"),
        (
            ["--set", "order_weights=1/2/3"],
            "--set order_weights must be a single value or one value for each of the orders",
        ),
    ],
)
def test_train_refuses_a_model_that_cannot_be_before_it_reads(options, expected, text, tmp_path):
    """Parameters that do not fit are told before any work is done."""
    refused = invoke("train", text, "--out", tmp_path / "out", "--keep", tmp_path / "kept", *SMALL, *options)
    assert expected in sentence(refused)
    assert not (tmp_path / "kept").exists()


def test_train_from_standard_input(text, tmp_path):
    """A dash stands for text from standard input."""
    assert in_json("train", "-", "--out", tmp_path / "out", *SMALL, stdin=text.read_text())["words"] == 16


def test_train_uses_what_it_kept(text, tmp_path):
    """A second run with the same settings reads the kept corpus and counts; one with others refuses them."""
    keep = tmp_path / "keep"
    options = [*SMALL, "--set", "tokenised=true"]
    first = in_json("train", text, "--out", tmp_path / "a", "--keep", keep, *options)
    before = {path: path.stat().st_mtime_ns for path in keep.rglob("*") if path.is_file()}
    second = in_json("train", text, "--out", tmp_path / "b", "--keep", keep, *options)
    assert {path: path.stat().st_mtime_ns for path in keep.rglob("*") if path.is_file()} == before
    assert set(first["steps"]) - set(second["steps"]) == {"plan"}
    assert second["steps"]["counts-3"]["kept"]
    other = ["train", text, "--out", tmp_path / "c", "--keep", keep, *options, "--width", "3"]
    assert "width 4 instead of 3" in sentence(invoke(*other))
    assert not (tmp_path / "c").exists()
    succeed(*other, "--force")


def test_interrupted_training_keeps_the_last_sweep(text, tmp_path, monkeypatch):
    """Ctrl-C while sweeps are drawn: vectors are written, one sentence says so, and the exit code is 130."""
    faults = iter([None, KeyboardInterrupt])

    @contextlib.contextmanager
    def bar(label, *_, **__):
        def advance(*_, note="", **__):
            if label == "factorizing" and note and (error := next(faults)):
                raise error

        yield advance

    monkeypatch.setattr("polyadic.core.progress.bar", bar)
    done = invoke("train", text, "--out", tmp_path / "out", *SMALL, "--json")
    assert done.exit_code == errors.INTERRUPTED, done.output
    assert json.loads(done.stderr) == {
        "error": f"interrupted; kept the vectors of the last sweep in {tmp_path / 'out'}"
    }
    found = json.loads(done.stdout)
    assert (found["interrupted"], found["steps"]["factors"]["sweeps"]) == (True, 2)
    assert len(Embedding.load(tmp_path / "out")) == 16


@pytest.mark.parametrize("method", ["cp-sn", "jcp"])
def test_training_goes_on_where_it_was_ended(method, text, tmp_path, monkeypatch):
    """A process that ends at the third sweep has kept the second; the same command goes on, and leaves nothing."""
    command = ["train", text, "--keep", tmp_path / "kept", *SMALL, "--method", method]
    whole = in_json(*command, "--out", tmp_path / "out")["steps"]["factors"]
    monkeypatch.setattr(Checkpoint.__init__, "__kwdefaults__", {**Checkpoint.__init__.__kwdefaults__, "every": 0.0})

    def ended(self, result, call=Checkpoint.__call__):
        call(self, result)
        if result.n_iter == 2:
            raise OSError("the power is gone")

    with monkeypatch.context() as until:
        until.setattr(Checkpoint, "__call__", ended)
        assert invoke(*command, "--out", tmp_path / "v").exit_code
    refused = invoke(*command, "--out", tmp_path / "v", "--set", "seed=7")
    assert "of a fit with other settings (seed 0 instead of 7)" in sentence(refused)
    again = in_json(*command, "--out", tmp_path / "v")["steps"]["factors"]
    assert (again["gone_on_from"], again["sweeps"]) == (2, whole["sweeps"])
    assert not (tmp_path / "kept" / "reached").exists()


def test_vectors_know_where_they_come_from(text, tmp_path):
    """The folder of vectors carries the settings of the run and the counts of its words."""
    succeed("train", text, "--out", tmp_path / "out", *SMALL)
    embedding = Embedding.load(tmp_path / "out")
    assert embedding.meta["trained"]["width"] == [4, 4]
    assert embedding.counts[embedding.index["apollo"]] == 60


@pytest.mark.parametrize("method", sorted(METHODS))
def test_train_refuses_what_cannot_be(method, text, tmp_path):
    """A rank larger than memory, and a text of one word, are answered in a sentence; nothing is left behind."""
    out = tmp_path / "out"
    huge = invoke("train", text, "--out", out, "--method", method, "--min-count", "1", "--rank", "900000000")
    assert re.search("needs .* MiB of memory|rank must be (a whole number from 1 to|below)", sentence(huge))
    (tmp_path / "one.txt").write_text("moon " * 50, encoding="utf-8")
    one = invoke("train", tmp_path / "one.txt", "--out", out, "--method", method, "--min-count", "1", "--rank", "2")
    if METHODS[method].fitted_to == "corpus":  # one word is a vocabulary
        assert len(Embedding.load(out)) == 1
    else:
        assert re.search("no tuple of . words", sentence(one))
        assert not out.exists()


@pytest.mark.parametrize("method", sorted(METHODS))
def test_train_of_words_that_never_meet(method, tmp_path):
    """Two vocabularies without a common sentence give finite vectors."""
    lines = ["apple pear plum fig"] * 30 + ["iron zinc lead gold"] * 30
    (tmp_path / "text.txt").write_text("\n".join(lines), encoding="utf-8")
    how = ("--method", method, "--min-count", "1", "--rank", "3")
    succeed("train", tmp_path / "text.txt", "--out", tmp_path / "out", *how)
    assert np.isfinite(Embedding.load(tmp_path / "out").vectors).all()


def test_train_goes_on_from_given_vectors(text, tmp_path):
    """``--start`` takes vectors of the same words: a run that was stopped goes on, and a lower rank grows."""
    work = ("--keep", tmp_path / "work", *CP_SN, "--json")
    three = ["max_iter=3" if each == "max_iter=5" else each for each in work]
    short = json.loads(succeed("train", text, "--out", tmp_path / "short", *three))
    more = json.loads(succeed("train", text, "--out", tmp_path / "more", *work, "--set", f"start={tmp_path / 'short'}"))
    assert more["steps"]["factors"]["explained"] > short["steps"]["factors"]["explained"]
    wider = succeed(
        "train", text, "--out", tmp_path / "wider", *work, "--set", f"start={tmp_path / 'short'}", "--rank", "5"
    )
    assert json.loads(wider)["rank"] == 5
    (tmp_path / "few.txt").write_text("apollo 1 2\n", encoding="utf-8")
    few = invoke("train", text, "--out", tmp_path / "none", *work, "--set", f"start={tmp_path / 'few.txt'}")
    assert "--set start has no vectors for 15 of 16 words of the vocabulary, such as" in sentence(few)


def test_train_refuses_settings_of_other_orders_before_it_counts(text, tmp_path):
    """As many settings as orders, or one: said at once, with nothing kept."""
    how = ("--method", "jcp-sn", "--set", "shift=1/2/3", "--keep", tmp_path / "work")
    refused = invoke("train", text, "--out", tmp_path / "out", *how)
    assert "--set shift must be a single value or one value for each of the orders (2, 3); got 3 values" in sentence(
        refused
    )
    assert not (tmp_path / "work").exists()


def test_drawn_zeros_replace_exact_ones(text, tmp_path):
    """``--sampled-zeros`` runs with the other options left out; both kinds of zeros at once are refused."""
    how = (*CP_SN, "--set", "solver=online", "--set", "sampled_zeros=1")
    succeed("train", text, "--out", tmp_path / "out", *how)
    both = invoke("train", text, "--out", tmp_path / "both", *how, "--set", "zero_weight=0.1")
    assert "set one of them to 0" in sentence(both)


def test_train_leaves_defaults_to_the_model():
    """What is not said on the command line is left to the model, and the help tells the model's defaults."""
    said = {each.name: each for each in fields_of("polyadic.words.methods:MethodOptions")}
    model = inspect.signature(SymmetricCP).parameters
    for name in ("rank", "zero_weight", "max_iter", "tol"):
        assert said[name].default is None
        assert model[name].default is None or str(model[name].default) in said[name].shown_default


def test_train_refuses_options_without_effect(text, tmp_path):
    """An option that the source or the method would ignore is refused by name."""
    succeed("corpus", text, "--out", tmp_path / "corpus", "--min-count", "1")
    late = invoke("train", tmp_path / "corpus", "--out", tmp_path / "out", "--min-count", "3")
    assert "--min-count has no effect if the source is a corpus; remove this setting" in sentence(late)
    svd = invoke("train", text, "--out", tmp_path / "out", "--method", "ppmi-svd", "--set", "zero_weight=1")
    assert "--set zero_weight is not an option of ppmi-svd, but of cp-sn" in sentence(svd)
    assert not (tmp_path / "out").exists()


# Faults

BAD_TEXT = {
    "no such file": (None, [], "no file"),
    "empty": (b"", [], "empty"),
    "no words": (b"... !!!\n", [], "no words"),
    "another encoding": (b"caf\xe9 noir\n", ["--min-count", "1", "--set", "encoding=utf-8"], "utf-8"),
    "nothing frequent": (b"one two three\n", ["--min-count", "2"], "--min-count 2"),
    "no such stop list": (b"one two three\n", ["--set", "stop_words=nowhere.txt"], "nowhere.txt"),
    "JSON lines without a field": (b"{}\n", ["--set", "format=jsonl"], "field"),
}


@pytest.mark.parametrize("verb", ["corpus", "train"])
@pytest.mark.parametrize("case", BAD_TEXT)
def test_bad_text_is_one_sentence(verb, case, tmp_path):
    """Text that cannot be used is named in one sentence, with exit code 1 and nothing written."""
    content, options, expected = BAD_TEXT[case]
    source = tmp_path / "source.txt"
    if content is not None:
        source.write_bytes(content)
    before = set(tmp_path.iterdir())
    assert expected in sentence(invoke(verb, source, "--out", tmp_path / "out", *options))
    assert set(tmp_path.iterdir()) == before


def test_broken_compression_is_one_sentence(tmp_path):
    """A compressed file that is cut short is named."""
    import gzip

    source = tmp_path / "source.txt.gz"
    source.write_bytes(gzip.compress(b"one two three\n" * 999)[:-20])
    assert "source.txt.gz" in sentence(invoke("corpus", source, "--out", tmp_path / "out"))
    assert [path.name for path in tmp_path.iterdir()] == ["source.txt.gz"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["neighbours", "{vectors}", "apolo"], "'apollo'"),
        (["neighbours", "nowhere", "apollo"], "nowhere"),
        (["phrase", "{vectors}", "apollo*nobody"], "'nobody'"),
        (["convert", "{vectors}", "no/such/folder", "--to", "glove"], "no/such"),
        (["evaluate", "{vectors}", "--pairs", "nowhere.txt"], "nowhere.txt"),
        (["evaluate", "{vectors}", "--groups", "nowhere"], "nowhere"),
        (["count", "{vectors}", "--out", "{out}"], "embedding"),
        (["train", "{vectors}", "--out", "{out}"], "Embedding"),
        (["corpus", "{vectors}", "--out", "no/such/folder"], "no/such"),
    ],
)
def test_bad_arguments_are_one_sentence(arguments, expected, vectors, tmp_path):
    """What is absent or of another kind is named in one sentence, with exit code 1 and nothing written."""
    filled = [argument.format(vectors=vectors, out=tmp_path / "out") for argument in arguments]
    assert expected in sentence(invoke(*filled))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("verb", ["corpus", "train"])
def test_what_exists_is_kept(verb, text, tmp_path):
    """A folder that exists is not replaced, nor by ``--force`` if it holds something else."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.tex").write_text("years of work")
    assert "exists already" in sentence(invoke(verb, text, "--out", out))
    sentence(invoke(verb, text, "--out", out, "--force"))
    assert (out / "thesis.tex").read_text() == "years of work"


def test_faults_of_ours_keep_their_traceback(monkeypatch, vectors):
    """An error that is not about input is not dressed up as one."""
    monkeypatch.setattr(Embedding, "neighbours", lambda *_, **__: 1 / 0)
    assert isinstance(invoke("neighbours", vectors, "apollo").exception, ZeroDivisionError)


def test_warnings_are_one_line(capsys):
    """A warning is one line without the place in the source that raised it."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        with errors.in_one_sentence():
            warnings.warn("it did not converge", stacklevel=1)
    assert capsys.readouterr().err == "polyadic: warning: it did not converge\n"


@pytest.mark.parametrize(
    ("wrong", "code"), [(("no-such-folder", "apollo"), errors.BAD_INPUT), (("--tpo", "1"), errors.BAD_USAGE)]
)
def test_errors_are_json_where_results_are(wrong, code):
    """What goes wrong under --json is an object too, on standard error."""
    done = invoke("neighbours", *wrong, "--json")
    assert (done.exit_code, done.stdout) == (code, "")
    (line,) = done.stderr.splitlines()
    assert wrong[0] in json.loads(line)["error"]


def test_warnings_are_json_where_results_are(vectors):
    """A warning too, on a line of its own."""
    done = invoke("phrase", vectors, "apollo*god", "--json")
    assert done.exit_code == 0
    assert all([*json.loads(line)] == ["warning"] for line in done.stderr.splitlines())


def test_sentences_are_short(vectors):
    """A sentence that quotes a long line shows its beginning and its end."""
    line = sentence(invoke("phrase", vectors, "apollo*" + "a" * 10_000 + "z"))
    assert len(line) < 2 * errors.LINE
    assert " ... " in line


@pytest.mark.skipif(sys.platform != "linux", reason="Linux holds it")
def test_every_verb_has_a_bound_on_memory(vectors):
    """It is an option of each; what does not fit is told."""
    assert "--memory" in succeed("neighbours", "--help-all")
    assert "at least" in sentence(invoke("neighbours", vectors, "apollo", "--memory", "1M"))
    assert "moon" in succeed("neighbours", vectors, "apollo", "--memory", "4G")


FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="of Linux")
@pytest.mark.parametrize("asked", [["--help"], ["--version"], ["neighbours", "{}", "apollo"]], ids=lambda a: a[0])
def test_a_full_disk_behind_standard_output(asked, vectors):
    """What cannot be printed is told in a sentence."""
    with FULL.open("w") as full:
        running = process(*(each.format(vectors) for each in asked), stdout=full)
        _, stderr = running.communicate(timeout=300)
    assert (running.returncode, stderr) == (errors.BAD_INPUT, f"polyadic: the disk is full; {errors.ELSEWHERE}\n")


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
@pytest.mark.parametrize("verb", [["corpus", "--min-count", "1"], ["train", *SMALL]], ids=lambda v: v[0])
def test_a_file_that_may_not_grow(verb, text, tmp_path):
    """A limit of the system in the middle of the work: a sentence, and nothing is left."""
    before = {*tmp_path.rglob("*")}
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))"
    code = f"{limit}; from polyadic.cli import main; main()"
    command = [sys.executable, "-c", code, verb[0], str(text), "--out", str(tmp_path / "out"), *verb[1:]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == errors.BAD_INPUT
    assert done.stderr.splitlines()[-1].endswith(f": {errors.SYSTEM[errno.EFBIG]}")
    assert {*tmp_path.rglob("*")} == before


@pytest.mark.parametrize("asked", ["corpus", "train"])
@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes on Linux")
def test_names_of_files_may_be_no_text(asked, text, tmp_path):
    """Files and folders whose names are not in Unicode are read and written as others are."""
    folder = tmp_path / os.fsdecode(b"texts\xff")
    folder.mkdir()
    for name in (b"a\xfe.txt", b"b.txt"):
        (folder / os.fsdecode(name)).write_bytes(Path(text).read_bytes())
    out = tmp_path / os.fsdecode(b"out\xff")
    keep = ["--keep", tmp_path / os.fsdecode(b"keep\xff")]
    wanted = ["--min-count", "1"] if asked == "corpus" else [*SMALL, *keep]
    for _ in range(2):
        found = json.loads(succeed(asked, folder, "--out", out, *wanted, "--force", "--json"))
        assert found["out"] == str(out)
    if asked == "corpus":
        assert Corpus.open(out).fields[0]["file"] == r"a\xfe.txt"


@pytest.mark.skipif(os.name == "nt", reason="signals are sent in another way there")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_leaves_nothing(how, tmp_path):
    """Ctrl-C or `kill` while text is read: one sentence, an exit code for each, nothing written."""
    running = process("corpus", "-", "--out", tmp_path / "out")
    deadline = time.monotonic() + 300
    while not list(tmp_path.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.02)  # until it has begun to write
    assert list(tmp_path.iterdir())
    running.send_signal(how)
    try:
        assert running.wait(300) == {signal.SIGINT: errors.INTERRUPTED, signal.SIGTERM: errors.TERMINATED}[how]
    finally:
        running.kill()
    _, stderr = running.communicate()
    assert stderr == "polyadic: interrupted; nothing was written\n"
    assert list(tmp_path.iterdir()) == []


def test_interrupt_names_what_was_kept(text, tmp_path, monkeypatch):
    """After Ctrl-C the user learns which folders can be used again."""

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("polyadic.words.training.sweeps", stop)
    done = invoke("train", text, "--out", tmp_path / "out", "--keep", tmp_path / "kept", *CP_SN)
    assert done.exit_code == errors.INTERRUPTED
    kept = f"{tmp_path / 'kept' / 'corpus'} and {tmp_path / 'kept' / 'counts-3'}"
    assert done.stderr == f"polyadic: interrupted; kept {kept}\n"


def test_a_closed_pipe_is_no_fault(vectors):
    """``polyadic ... | head`` ends without a word."""
    running = process("neighbours", vectors, "-")
    running.stdout.close()
    running.stdin.write("apollo " * 10_000)
    running.stdin.close()
    assert running.stderr.read() == ""
    running.wait(300)
    running.stderr.close()


# Output


class Terminal(io.StringIO):
    """Something that claims to be a terminal."""

    def isatty(self):
        return True


def test_terminals_get_tables(monkeypatch):
    """On a terminal there are aligned columns, thousands have commas, and words are not taken for markup."""
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("TERM", "dumb")
    output.table(["word", "count"], [("[bold]", 1234567)])
    output.neighbours({"apollo": [("moon", 0.5)]})
    shown = sys.stdout.getvalue()
    assert "[bold]" in shown
    assert "1,234,567" in shown
    assert "0.500" in shown
    assert "\t" not in shown


def test_json_has_no_nan(capsys):
    """What is not finite becomes null, and numpy's numbers become JSON's."""
    output.in_json({"a": float("nan"), "b": [np.float32(0.5), np.int64(3)], "c": np.arange(2)})
    assert json.loads(capsys.readouterr().out) == {"a": None, "b": [0.5, 3], "c": [0, 1]}


@pytest.mark.parametrize("encoding", ["utf-16", "hex", "undefined", "idna"])
def test_wrong_encodings_are_one_sentence(encoding, tmp_path):
    """An encoding that is not that of the text, or of no text at all, is named; no traceback."""
    (tmp_path / "source.txt").write_bytes(b"caf\xe9 noir and more words\n")
    out = tmp_path / "out"
    assert encoding in sentence(invoke("train", tmp_path / "source.txt", "--out", out, "--set", f"encoding={encoding}"))
    assert not out.exists()


def test_kept_corpus_follows_its_stop_list(text, tmp_path):
    """A corpus that was kept is not used again once the words of the stop list have changed."""
    stop = tmp_path / "stop.txt"
    options = ["--keep", tmp_path / "kept", "--set", f"stop_words={stop}", "--force", *SMALL]
    stop.write_text("moon\n")
    succeed("train", text, "--out", tmp_path / "out", *options)
    assert "moon" not in Embedding.load(tmp_path / "out")
    stop.write_text("apollo\n")
    succeed("train", text, "--out", tmp_path / "out", *options)
    assert "moon" in Embedding.load(tmp_path / "out")


def test_what_is_kept_lies_elsewhere(text, tmp_path):
    """A folder to keep things in is not the one that is written, and of no use for counts and what cannot go on."""
    same = ["train", text, "--out", tmp_path / "out", "--keep", tmp_path / "out", *SMALL]
    assert "choose another folder" in sentence(invoke(*same))
    succeed("corpus", text, "--out", tmp_path / "corpus", "--min-count", "1")
    succeed("count", tmp_path / "corpus", "--out", tmp_path / "counts", "--width", "4")
    idle = ["train", tmp_path / "counts", "--out", tmp_path / "out", "--keep", tmp_path / "kept"]
    idle += ["--method", "tucker"]
    assert "--keep has no effect if the source is counts" in sentence(invoke(*idle))


def test_a_product_of_nothing_is_told(tmp_path):
    """Words without a common component are combined by their sum, and a note on standard error says so."""
    Embedding(["sun", "law", "sea"], [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]).save(tmp_path / "vectors")
    done = invoke("phrase", tmp_path / "vectors", "sun", "law")
    assert done.exit_code == 0
    assert "have no component in common" in done.stderr
