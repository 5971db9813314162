"""Workers killed at random moments of counting and learning, and the process that leads them: what comes out.

    python -m experiments.bench.kills TEXT [--kills 20] [--ends 5] [--workers 2] [--sweeps 10] [--rank 100]

Each of the first runs counts triples and learns vectors on a local cluster, while one of its workers is killed with
SIGKILL at a random moment; the digests of all runs are compared with those of this machine alone. Then `polyadic train
--keep` is killed with all that it has started at random moments, and begun again, until it ends.
"""

import argparse
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
from clusters import digest

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


def workers_killed(corpus, given):
    start = time.perf_counter()
    alone = made(corpus, given.rank, given.sweeps)
    length = time.perf_counter() - start
    print(f"alone {length:.1f} s, {' '.join(alone)}", flush=True)
    # a local cluster gives up a worker that is away 15 s after it was lost, be it for the next kill
    dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"})
    rng, same, killed, seconds = np.random.default_rng(0), 0, [], []
    with working_on(workers=given.workers) as team:
        made(corpus, 4, 1)
        for _ in range(given.kills):
            team.client.wait_for_workers(given.workers, timeout=120)
            timer = threading.Timer(rng.uniform(0, length), kill_one, [team, rng, killed])
            start = time.perf_counter()
            timer.start()
            same += made(corpus, given.rank, given.sweeps) == alone
            timer.join()
            seconds.append(time.perf_counter() - start)
    each = f"{np.median(seconds):.1f} s each"
    print(f"{given.kills} runs, {len(killed)} workers killed, {same} with the same bits; {each}", flush=True)


def leader_killed(text, given):
    """The whole process group is ended, as when the machine of the process that leads loses power."""
    folder = Path(tempfile.mkdtemp())
    command = [sys.executable, "-m", "polyadic", "train", text, "--keep", folder / "kept", "--method", "cp-sn"]
    command += ["--min-count", "20", "--language", "en", "--rank", str(given.rank), "--max-iter", "60", "--tol", "0"]
    command += ["--threads", "1", "--workers", str(given.workers), "--force", "--json", "--out"]
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
            out, error = process.communicate(timeout=rng.uniform(0.15, 0.4) * length if ended < given.ends else None)
            break
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            ended += 1
            time.sleep(1)
    facts = json.loads(out)["steps"] if not process.returncode else error.decode()
    print(f"leader killed {ended} times, then: {facts}")
    print("left:", sorted(str(path.relative_to(folder)) for path in folder.glob("*/*")))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--ends", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--sweeps", type=int, default=10)
    parser.add_argument("--rank", type=int, default=100)
    given = parser.parse_args()
    if given.kills:
        workers_killed(Corpus.build(given.text, min_count=20, language="en", jobs=1), given)
    if given.ends:
        leader_killed(given.text, given)


if __name__ == "__main__":
    main()
