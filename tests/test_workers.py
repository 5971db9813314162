"""Work in parts: sums along one tree, results in order, and a cluster that loses workers."""

import contextlib
import gzip
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

import polyadic.core.executor
from helpers import invoke
from polyadic import (
    NMF,
    Corpus,
    Embedding,
    Entries,
    ImplicitFactorization,
    InputError,
    MatrixFactorization,
    SymmetricCP,
    count,
)
from polyadic.core import objective as objectives
from polyadic.core.errors import SkippedFilesWarning
from polyadic.core.executor import Executor, ProcessExecutor, RowBlock, RowBlocks, Shared, Sum, SumTree, added, cluster
from polyadic.core.executor import dask as dask_workers
from polyadic.core.executor.dask import half, nodes_within, working_on
from polyadic.core.forms import CP
from polyadic.core.linalg import truncated_eigh, truncated_svd
from polyadic.core.losses import Squared
from polyadic.core.objective import Objective, Term
from polyadic.core.penalties import L2
from polyadic.tables.correspondence import CorrespondenceAnalysis
from polyadic.text import corpus as corpora
from polyadic.text import encoder, readers
from working import end, leaves, scaled, slow_first, slow_length, slowly_scaled, sum_of, times

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""Sockets of workers that were killed are closed when they are collected."""


def by_recursion(some):
    if len(some) == 1:
        return Sum(some[0].value, [None if a is None else a.copy() for a in some[0].arrays])
    middle = half(len(some))
    return added(by_recursion(some[:middle]), by_recursion(some[middle:]))


def same(one, other):
    assert one.value == other.value
    for a, b in zip(one.arrays, other.arrays, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("n", [*range(1, 18), 31, 64])
def test_a_tree_that_is_grown_is_that_of_halves(n):
    """And so is one put together of what any division into runs adds up, as a cluster does."""
    some = leaves(n)
    whole, tree = by_recursion(some), SumTree()
    for leaf in leaves(n):
        tree.add(leaf)
    same(tree.total(), whole)
    rng = np.random.default_rng(n)
    for _ in range(5):
        cuts = [0, *sorted(rng.integers(0, n + 1, 3).tolist()), n]
        nodes = {}
        for first, last in itertools.pairwise(cuts):
            for low, high in nodes_within(n, first, last) if first < last else ():
                nodes[low, high] = by_recursion(some[low:high])
        assert sorted(k for low, high in nodes for k in range(low, high)) == list(range(n))

        def node(low, high, nodes=nodes):
            if (low, high) in nodes:
                return nodes[low, high]
            middle = low + half(high - low)
            return added(node(low, middle), node(middle, high))

        same(node(0, n), whole)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_add_along_the_tree(threads):
    """Whatever their number; each part is told of."""
    told = []
    total = Executor(threads).reduce(scaled, leaves(11), 1.0, callback=lambda: told.append(1))
    same(total, by_recursion(leaves(11)))
    assert len(told) == 11


@pytest.mark.parametrize("team", [Executor(3), ProcessExecutor(2)], ids=["threads", "processes"])
def test_results_come_in_order(team):
    """Errors too, and items are drawn as they are needed."""
    drawn = []

    def items(n):
        for k in range(n):
            drawn.append(k)
            yield k

    assert list(team.imap(slow_first, items(12))) == [k * k for k in range(12)]
    drawn.clear()
    results = team.imap(slow_first, items(1000))
    assert next(results) == 0
    assert len(drawn) < 12
    results.close()
    results = team.imap(slow_first, range(20))
    with pytest.raises(ValueError, match="unlucky"):
        list(results)


def test_what_is_shared_goes_before_the_item():
    """Here as it was made."""
    assert list(Executor(2).imap(times, [1, 2], shared=Shared(int, "10"))) == [10, 20]


# ---- objectives, whose parts do not hang on threads


def some_entries(n=4000, rows=50, seed=0):
    rng = np.random.default_rng(seed)
    indices = np.unique(np.sort(rng.integers(0, rows, (n, 3)), axis=1)[:, ::-1], axis=0)
    return Entries(indices.astype(np.uint16), rng.uniform(1, 3, len(indices)), (rows,) * 3, symmetric=True)


def an_objective(threads):
    x = some_entries()
    return Objective([Term(x, CP(), Squared(), (0, 0, 0), zero_weight=0.1)], [L2(0.1)], threads=threads)


def test_bits_of_many_parts(monkeypatch):
    """Threads change nothing, and one part gives the same up to rounding."""
    U = [np.random.default_rng(0).standard_normal((50, 4)).astype(np.float32)]
    whole, whole_gradient = an_objective(1).value_and_gradient(U)
    monkeypatch.setattr(objectives, "MAX_PIECE", 300)
    results = [an_objective(threads).value_and_gradient(U) for threads in (1, 2, 3)]
    for value, gradient in results[1:]:
        assert value == results[0][0]
        np.testing.assert_array_equal(gradient[0], results[0][1][0])
    assert results[0][0] == pytest.approx(whole, rel=1e-6)
    np.testing.assert_allclose(results[0][1][0], whole_gradient[0], rtol=1e-3, atol=1e-3)


def test_no_more_parts_than_can_be_added(monkeypatch):
    """And what is done is told part by part."""
    monkeypatch.setattr(objectives, "MAX_PIECE", 1)
    shares = []
    f = Objective([Term(some_entries(), CP(), Squared(), (0, 0, 0))], [L2()], threads=2, within=shares.append)
    f.value([np.ones((50, 2))])
    assert len(f._pieces) <= 2 * objectives.MAX_PIECES
    assert shares[-1] == 1.0
    assert shares == sorted(shares)


# ---- a cluster of processes


@pytest.fixture(scope="module")
def team():
    """Three workers, which a nanny starts again if they end."""
    pytest.importorskip("distributed")
    with working_on(workers=3) as team:
        team.client.wait_for_workers(3, timeout=120)
        yield team


@pytest.fixture
def whole(team):
    """The same with all its workers, whatever a test before has done to them."""
    team.client.wait_for_workers(3, timeout=120)
    return team


@contextlib.contextmanager
def alone():
    """Without the cluster."""
    token = polyadic.core.executor._CLUSTER.set(None)
    yield
    polyadic.core.executor._CLUSTER.reset(token)


def kill_one(team):
    """End a worker at once, as a machine does that loses power."""
    pids = team.client.run(os.getpid)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pids[sorted(pids)[1]], signal.SIGKILL)


TEXT = [f"the cat number{i % 97} sat on mat{i % 89} and dog{i % 83} ran home{i % 7}. " * 10 for i in range(400)]


def test_the_same_bits_on_a_cluster(team, monkeypatch):
    """A corpus, its triples and their vectors, of one worker or three, are those of this process."""
    from polyadic.text import counts, encoder
    from polyadic.text.weighting import ppmi

    monkeypatch.setattr(encoder, "CHUNK", 1 << 14)
    monkeypatch.setattr(counts, "PART", 5e3)
    monkeypatch.setattr(objectives, "MAX_PIECE", 500)

    def everything():
        corpus = Corpus.build(TEXT, min_count=1, language="en", jobs=1)
        counted = count(corpus, order=3, width=5, threads=2)
        model = SymmetricCP(4, max_iter=5, tol=0, seed=0, threads=2).fit(ppmi(counted))
        return corpus.digest, counted.entries.indices.tobytes(), counted.entries.values.tobytes(), model

    with alone():
        digest, indices, values, model = everything()
    assert cluster() is team
    for number in (1, 3):
        monkeypatch.setattr(team, "_owners", partial(_first, team, number))
        found = everything()
        assert found[:3] == (digest, indices, values)
        np.testing.assert_array_equal(found[3].factors_[0], model.factors_[0])
        assert found[3].history_ == model.history_


def _first(team, number, costs):
    addresses = sorted(team.workers())[:number]
    return [addresses[k * len(addresses) // len(costs)] for k in range(len(costs))]


def folder_of_files(path):
    """Small files, two that are larger than is read at once, of which one is packed, and one that is no text."""
    path.mkdir()
    for k in range(12):
        (path / f"{k:02}.txt").write_text(f"the cat number{k} sat on a mat. " * 30)
    (path / "05.txt").write_text("a large file of a large cat. " * 200)
    (path / "07.txt").write_bytes(b"\0\1\2" * 100)
    noise = " ".join(f"{n:x}" for n in np.random.default_rng(0).integers(0, 1 << 60, 400))
    (path / "08.txt.gz").write_bytes(gzip.compress(f"packed mats and {noise}".encode()))
    return path


@pytest.mark.parametrize("seen", [True, False])
def test_files_are_read_by_those_who_see_them(whole, seen, tmp_path, monkeypatch):
    """By workers, processes, or here: the same corpus, in order, with the same account."""
    monkeypatch.setattr(readers, "TASK", 2500)
    monkeypatch.setattr(encoder, "READ", 2500)
    monkeypatch.setattr(type(whole), "sees", lambda *_: seen)
    source, sent = folder_of_files(tmp_path / "texts"), []
    groups = encoder.groups

    def watched(*arguments):
        for group in groups(*arguments):
            sent.append(type(group))
            yield group

    monkeypatch.setattr(corpora, "groups", watched)

    def built(**how):
        sent.clear()
        with pytest.warns(SkippedFilesWarning, match="skipped 1 of 13 files: .*07.txt is not a text file"):
            corpus = Corpus.build(source, min_count=1, language="en", **how)
        skipped = [Path(path).name for path in corpus.settings["skipped"]]
        return corpus.digest, skipped, corpus.settings["formats"], corpus.fields, corpus.line(700).text

    there = built(), Counter(sent)
    assert (there[1][readers.Files] > 3) == seen
    with alone():
        processes, one = built(jobs=2), built(jobs=1)
        assert sent.count(readers.Files) > 3
        assert list in sent  # the large one that is packed, and cannot be cut
    assert there[0] == processes == one


def test_faults_of_files_come_back(whole, tmp_path, monkeypatch):
    """What may not be skipped, and what nobody can read, is told as on one machine."""
    monkeypatch.setattr(readers, "TASK", 2500)
    source = folder_of_files(tmp_path / "texts")
    with pytest.raises(InputError, match=r"07\.txt is not a text file"):
        Corpus.build(source, min_count=1, language="en", errors="strict")
    for file in source.iterdir():
        file.write_bytes(b"\0\1" * 2000)
    with pytest.raises(
        InputError, match=r"none of the 13 files could be read; the first error is: .*00\.txt is not a text file"
    ):
        Corpus.build(source, min_count=1, language="en")


def test_workers_see_files(whole, tmp_path):
    """The same ones: an absent file, or one that is another there, is read here."""
    (tmp_path / "a").write_text("a")
    assert whole.sees([str(tmp_path / "a")])
    assert not whole.sees([str(tmp_path / "a"), str(tmp_path / "b")])
    assert dask_workers._stamp([str(tmp_path / "a")]) != dask_workers._stamp([str(tmp_path / "a")] * 2)


@pytest.mark.parametrize("copies", [0, 99])
@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_blocks_of_rows(size, copies, monkeypatch):
    """However they are cut, and whether each gets the columns it needs or all: the same bits, and no row is lost."""
    rng = np.random.default_rng(0)
    table = csr_array(rng.poisson(0.1, (50, 80)).astype(float))
    X, team, seen = rng.standard_normal((80, 3)), Executor(2), []
    monkeypatch.setattr(team, "size", size)
    monkeypatch.setattr(Executor, "copies", copies)

    def product(block, V, given, before, threads):
        seen.append(len(V))
        shape = len(block.starts) - 1, len(V)
        return given * (csr_array((*block.listed, block.columns, block.starts), shape) @ V) + before

    before = rng.standard_normal((50, 3))
    rows = RowBlock(table.indptr, table.indices, (table.data,))
    found = RowBlocks(rows, 80, team).map(product, X, given=2.0, before=before)
    np.testing.assert_array_equal(found, 2 * (table @ X) + before)
    assert len(seen) == size
    assert (max(seen) < 80) == (size > 1 and copies > 0)
    none = RowBlock(table.indptr[:1], table.indices[:0], (table.data[:0],))
    assert RowBlocks(none, 80, team).map(product, X, given=2.0, before=before[:0]).shape == (0, 3)


@pytest.mark.filterwarnings("ignore:.*have no observed cell")
@pytest.mark.parametrize(("model", "blocks"), [(ImplicitFactorization, 3), (MatrixFactorization, 1)])
def test_completion_by_owners(whole, model, blocks, monkeypatch):
    """Rows and columns on three workers, one of which is lost: the bits of one machine."""
    rng = np.random.default_rng(0)
    X = csr_array(rng.poisson(0.3 * rng.random((60, 1)), (60, 40)).astype(float))
    with alone():
        here = model(4, max_iter=6, tol=0, seed=0, threads=2).fit(X)
    killed = []

    def callback(result):
        if result.n_iter == 2 and not killed:
            killed.append(kill_one(whole))

    monkeypatch.setattr(type(whole), "size", blocks)
    there = model(4, max_iter=6, tol=0, seed=0, callback=callback).fit(X)
    assert len(killed) == 1
    assert there.row_factors_.flags.writeable
    np.testing.assert_array_equal(there.row_factors_, here.row_factors_)
    np.testing.assert_array_equal(there.column_factors_, here.column_factors_)


def test_decompositions_by_sharded_products(whole):
    """Eigenvalues of pairs, singular values of any table, correspondence analysis, topics: the bits of one machine."""
    rng = np.random.default_rng(0)
    table = csr_array(rng.poisson(0.2, (400, 300)).astype(float) + (rng.random((400, 300)) < 0.01))
    both = csr_array(table[:300] + table[:300].T)

    def everything():
        return *truncated_eigh(both, 5, seed=0), *truncated_svd(table, 5, seed=0), *truncated_svd(table.T, 4, seed=0)

    def analysed():
        topics = NMF(3, max_iter=5, tol=0, seed=0, threads=1).fit(table)
        return CorrespondenceAnalysis(3, seed=0).fit(table).row_coordinates_, topics.components_

    with alone():
        here, analysis = everything(), analysed()
    for one, other in zip(here, everything(), strict=True):
        np.testing.assert_array_equal(one, other)
    for one, other in zip(analysis, analysed(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_parts_of_a_lost_worker_are_put_on_others(whole):
    """Before a sum and in its midst; it has the same bits."""
    parts = leaves(13)
    held = whole.hold(parts)
    expected = by_recursion([scaled(p, 1.0, 1) for p in leaves(13)])
    same(whole.reduce(scaled, held, 1.0), expected)
    kill_one(whole)
    same(whole.reduce(scaled, held, 1.0), expected)
    timer = threading.Timer(0.3, kill_one, [whole])
    timer.start()
    same(whole.reduce(slowly_scaled, held, 1.0), expected)
    timer.join()
    assert all(future.status == "finished" for future in held.futures)


def test_items_of_a_lost_worker_are_done_by_others(whole):
    """In order, with what is shared made again where it is needed; text goes with its item."""
    shared = Shared(np.ones, 7)
    timer = threading.Timer(0.5, kill_one, [whole])
    timer.start()
    texts = [f"text {k} " * 1000 for k in range(60)]
    assert list(whole.imap(sum_of, texts, shared=shared)) == [7.0 + len(text) for text in texts]
    timer.join()


def test_what_is_there_is_not_sent_again(whole, monkeypatch):
    """The same content, from whatever array; another one, or other bits in the same place, is."""
    sent = []
    put = type(whole).put
    monkeypatch.setattr(whole, "put", lambda value, where=None: sent.append(1) or put(whole, value, where))
    parts = [np.full(9, float(k)) for k in range(3)]
    whole.hold(parts)
    assert len(sent) == 3
    whole.hold([part.copy() for part in parts])
    assert len(sent) == 3
    parts[1][4] = 7.0
    held = whole.hold(parts)
    assert len(sent) == 4
    assert [future.result().tolist() for future in held.futures] == [part.tolist() for part in parts]


def test_workers_that_do_not_fit(whole, monkeypatch):
    """Too little memory, other versions: told before anything is sent."""
    known = whole.workers()
    small = {address: {**worker, "memory_limit": 1 << 20} for address, worker in known.items()}
    monkeypatch.setattr(whole, "workers", lambda: small)
    with pytest.raises(InputError, match=r"has 1 MiB of memory, but 16 MiB are required; use more workers"):
        whole.hold([np.zeros(1 << 21) for _ in range(3)])
    here = dask_workers._versions()
    monkeypatch.setattr(whole.client, "run", lambda _: {"tcp://w": {**here, "numpy": "1.0"}})
    with pytest.raises(
        InputError, match=r"worker tcp://w has numpy 1\.0, but this machine has .*; install the same version"
    ):
        whole._check()


def test_work_that_cannot_be_done():
    """Each try loses a worker: told, with the cause; other errors are no reason to try again."""
    tried = []

    def lost():
        tried.append(1)
        raise dask_workers.WorkerLostError from OSError("the cable")

    with pytest.raises(InputError, match="failed after 4 attempts because workers were lost: the cable"):
        dask_workers.with_retries(lost)
    assert len(tried) == 4
    with pytest.raises(ZeroDivisionError):
        dask_workers.with_retries(lambda: 1 / 0)


def test_work_that_ends_its_workers(whole, monkeypatch):
    """A piece that takes its worker along, wherever it goes, is told of, and not given to all of them for ever."""
    monkeypatch.setattr(whole.client.cluster.scheduler, "allowed_failures", 0)
    with pytest.raises(InputError, match="a task killed several workers"):
        list(whole.imap(end, [1]))
    whole.client.wait_for_workers(3, timeout=120)
    assert list(whole.imap(slow_length, ["four"])) == [4]


def test_schedulers_that_are_not_there(monkeypatch):
    """One sentence."""
    pytest.importorskip("distributed")
    monkeypatch.setattr(dask_workers, "CONNECT_TIMEOUT", 1.0)
    with pytest.raises(InputError, match="either a scheduler or a number of local workers"), working_on():
        pass
    with (
        pytest.raises(InputError, match=r"cannot connect to a scheduler at tcp://127\.0\.0\.1:9"),
        working_on("tcp://127.0.0.1:9"),
    ):
        pass


def test_a_cluster_that_is_started_by_hand(tmp_path):
    """A scheduler and a worker of Dask's own commands, found by the file that the scheduler writes."""
    pytest.importorskip("distributed")
    at, quiet = tmp_path / "scheduler.json", {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    text = folder_of_files(tmp_path / "texts")
    (text / "07.txt").unlink()
    dask, found = [sys.executable, "-m", "dask"], ["--scheduler-file", str(at), "--no-dashboard"]
    roles = [["scheduler", "--port", "0"], ["worker", "--nthreads", "1", "--death-timeout", "120"]]
    started = [subprocess.Popen([*dask, *role, *found], cwd=tmp_path, **quiet) for role in roles]
    try:
        deadline = time.monotonic() + 120
        while not at.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        asked = ["corpus", str(text), "--min-count", "1", "--language", "en", "--json"]
        with alone():
            told = [
                invoke(*asked, "--out", str(tmp_path / out), *how)
                for out, how in (("there", ["--scheduler", str(at)]), ("here", []))
            ]
        assert [done.exit_code for done in told] == [0, 0], told[0].output
        assert Corpus.open(tmp_path / "there").digest == Corpus.open(tmp_path / "here").digest
    finally:
        for process in started:
            process.terminate()
            process.wait()
    at.write_text("{}")
    with pytest.raises(InputError, match="cannot connect to a scheduler at"), working_on(str(at)):
        pass


# ---- plans


def test_plans_before_work(tmp_path):
    """Of text, a corpus and counts, by the command line; more workers take less time and more network."""
    (tmp_path / "t.txt").write_text("\n".join(TEXT[:20]))
    corpus = Corpus.build(tmp_path / "t.txt", tmp_path / "c", min_count=1, language="en", jobs=1)
    count(corpus, tmp_path / "n", order=3, width=5, threads=1)

    def planned(source, *more):
        told = invoke("plan", tmp_path / source, *more, "--json")
        assert told.exit_code == 0, told.output
        (step,) = json.loads(told.stdout)["steps"]
        return step

    assert [planned(source)["step"] for source in ("t.txt", "c", "n")] == ["corpus", "count", "train"]
    one, many = (planned("c", "--workers", n) for n in ("1", "100"))
    assert many["sent_mib"] >= one["sent_mib"]
    large, small = (planned("n", "--rank", r, "--max-iter", "1000000") for r in ("1000", "10"))
    assert large["minutes"] > 50 * small["minutes"] > 0
    assert "contains 'embedding'" in invoke("plan", saved_vectors(tmp_path / "w")).output


def saved_vectors(path):
    Embedding(["a", "b"], np.eye(2)).save(path)
    return path


def test_where_work_goes_is_said(tmp_path):
    """Not both, and a note if workers had nothing to do."""
    (tmp_path / "t.txt").write_text("a small text. it is small.")
    asked = ["corpus", str(tmp_path / "t.txt"), "--out", str(tmp_path / "c"), "--min-count", "1", "--language", "en"]
    assert "cannot be combined" in invoke(*asked, "--workers", "1", "--scheduler", "tcp://x").output
    told = invoke(*asked, "--workers", "1")
    assert told.exit_code == 0
    assert "no step ran on the cluster" in told.output


@pytest.mark.skipif(os.name == "nt", reason="processes are looked up in the POSIX way")
def test_workers_end_with_the_process_that_started_them(tmp_path):
    """A process that is killed without a chance to clean up leaves no worker process behind."""
    code = (
        "import sys\n"
        "from polyadic.core.executor import ProcessExecutor\n"
        "list(ProcessExecutor(2).imap(lambda number, folder=sys.argv[1]: (\n"
        "    __import__('pathlib').Path(folder, str(number)).write_text(str(__import__('os').getpid())),\n"
        "    __import__('time').sleep(600)), range(2)))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stderr=subprocess.DEVNULL)
    try:
        while not all((tmp_path / name).exists() and (tmp_path / name).read_text() for name in "01"):
            assert process.poll() is None
            time.sleep(0.1)
    finally:
        process.kill()
        process.wait()
    workers = {int((tmp_path / name).read_text()) for name in "01"}
    for _ in range(600):
        workers = {pid for pid in workers if is_running(pid)}
        if not workers:
            break
        time.sleep(0.1)
    assert not workers


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not (status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z")
