"""Robustness to kills: workers, or the main process, are killed at random moments of counting and training.

In each of the first runs, triples are counted and vectors trained on a local cluster while one of its workers is killed
with SIGKILL; the digests of all runs are compared with those of a local run. Then `polyadic train --keep` is killed
with all its processes, and started again, until it ends.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import dask
import numpy as np

from experiments.bench.clusters import digest
from experiments.bench.common import timed
from polyadic import Corpus, SymmetricCP, count
from polyadic.core.executor.dask import working_on
from polyadic.text.weighting import ppmi

EAGER = """
from polyadic.cli import main
from polyadic.words.checkpoint import Checkpoint

Checkpoint.due = lambda _: True  # after each sweep, as a minute would be the whole run
main()
"""


def made(corpus, rank, sweeps):
    counts = count(corpus, order=3, width=5, min_count=2, threads=1)
    model = SymmetricCP(rank, max_iter=sweeps, tol=0, seed=0, threads=1).fit(ppmi(counts))
    return digest(counts.entries.indices, counts.entries.values), digest(model.factors_[0])


def kill_one(team, rng, done):
    pids = sorted(team.client.run(os.getpid).values())
    with contextlib.suppress(ProcessLookupError):
        os.kill(int(rng.choice(pids)), signal.SIGKILL)
        done.append(1)


def workers_killed(corpus, *, kills, workers, sweeps, rank):
    length, _, alone = timed(lambda: made(corpus, rank, sweeps))
    print(f"alone {length:.1f} s, {' '.join(alone)}", flush=True)
    # a local cluster gives up a worker that is away 15 s after it was lost, be it for the next kill
    dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"})
    rng, same, killed, seconds = np.random.default_rng(0), 0, [], []
    with working_on(workers=workers) as team:
        made(corpus, 4, 1)
        for _ in range(kills):
            team.client.wait_for_workers(workers, timeout=120)
            timer = threading.Timer(rng.uniform(0, length), kill_one, [team, rng, killed])
            start = time.perf_counter()
            timer.start()
            same += made(corpus, rank, sweeps) == alone
            timer.join()
            seconds.append(time.perf_counter() - start)
    each = f"{np.median(seconds):.1f} s each"
    print(f"{kills} runs, {len(killed)} workers killed, {same} bit-identical; {each}", flush=True)


def leader_killed(text, *, ends, workers, rank):
    """Kill the whole process group at random moments and start again, until the run ends."""
    folder = Path(tempfile.mkdtemp())
    command = [sys.executable, "-m", "polyadic", "train", text, "--keep", folder / "kept", "--method", "cp-sn"]
    command += ["--min-count", "20", "--rank", str(rank)]
    command += [part for each in ("language=en", "max_iter=60", "tol=0", "threads=1") for part in ("--set", each)]
    command += ["--workers", str(workers), "--force", "--json", "--out"]
    command[1:3] = ["-c", EAGER]
    quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    start = time.perf_counter()
    whole = json.loads(subprocess.run([*command, folder / "alone"], **quiet, check=True).stdout)
    length = time.perf_counter() - start
    print(f"leader alone {length:.1f} s, {whole['steps']['factors']['sweeps']} sweeps", flush=True)
    subprocess.run(["rm", "-r", folder / "kept"], check=True)
    rng, ended = np.random.default_rng(0), 0
    while True:
        process = subprocess.Popen([*command, folder / "again"], **quiet, start_new_session=True)
        try:
            out, error = process.communicate(timeout=rng.uniform(0.15, 0.4) * length if ended < ends else None)
            break
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            ended += 1
            time.sleep(1)
    facts = json.loads(out)["steps"] if not process.returncode else error.decode()
    print(f"leader killed {ended} times, then: {facts}")
    print("left:", sorted(str(path.relative_to(folder)) for path in folder.glob("*/*")))


def main(text: str, *, kills: int = 20, ends: int = 5, workers: int = 2, sweeps: int = 10, rank: int = 100) -> None:
    if kills:
        corpus = Corpus.build(text, min_count=20, language="en", jobs=1)
        workers_killed(corpus, kills=kills, workers=workers, sweeps=sweeps, rank=rank)
    if ends:
        leader_killed(text, ends=ends, workers=workers, rank=rank)
