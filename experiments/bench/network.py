"""Time of an evaluation and bytes moved on a cluster whose network has a given rate, simulated on one machine.

The scheduler (with this process) and every worker are in network namespaces of their own, whose links send and receive
at that rate (token bucket). Needs Linux, root and iproute2. Entries are few, as all workers share the cores, so the
rest of the time is that of the network and of Dask. Beside it are the estimate of `polyadic plan`, copies of the
factors one after another, and how many copies all links together carry.
"""

import contextlib
import itertools
import subprocess
import sys
import time

import numpy as np

from experiments.bench.common import heading, own_process, row
from polyadic import Entries
from polyadic.core import objective as objectives
from polyadic.core.executor.dask import working_on
from polyadic.core.forms import CP
from polyadic.core.losses import Squared
from polyadic.core.objective import Objective, Term
from polyadic.core.penalties import L2
from polyadic.words.planning import serial_copies

NET, PORT = "10.77.0", 8786


def command(line):
    subprocess.run(line.split(), check=True)


@contextlib.contextmanager
def network(places, mbit):
    """Make namespaces p0, p1, ... on one bridge, with links of a rate."""
    with contextlib.ExitStack() as stack:
        command("ip link add pbridge type bridge")
        stack.callback(command, "ip link del pbridge")
        command("ip link set pbridge up")
        for k in range(places):
            command(f"ip netns add p{k}")
            stack.callback(command, f"ip netns del p{k}")
            stack.callback(command, f"ip link del out{k}")
            command(f"ip link add out{k} type veth peer name in{k} netns p{k}")
            command(f"ip link set out{k} master pbridge up")
            inside = f"ip netns exec p{k}"
            command(f"{inside} ip addr add {NET}.{k + 1}/24 dev in{k}")
            command(f"{inside} ip link set in{k} up")
            command(f"{inside} ip link set lo up")
            shape = f"root tbf rate {mbit}mbit burst {max(mbit * 250, 65536)} latency 50ms"
            command(f"tc qdisc add dev out{k} {shape}")
            command(f"{inside} tc qdisc add dev in{k} {shape}")
        yield


@contextlib.contextmanager
def cluster(workers):
    """Start a scheduler in p0 and a worker in each other namespace."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    dask = [sys.executable, "-m", "dask"]
    started = []
    try:
        for k in range(workers + 1):
            role = (
                ["scheduler", "--host", f"{NET}.1", "--port", str(PORT), "--no-dashboard"]
                if not k
                else ["worker", f"tcp://{NET}.1:{PORT}", "--nthreads", "1", "--no-nanny", "--no-dashboard"]
            )
            started.append(subprocess.Popen(["ip", "netns", "exec", f"p{k}", *dask, *role], **quiet))
            time.sleep(2 if not k else 0)
        yield
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait()


def drive(workers, words, rank):
    """Evaluate an objective with a part for each worker; return seconds and copies of the factors moved."""
    rng = np.random.default_rng(0)
    indices = np.unique(np.sort(rng.integers(0, words, (6400, 3)), axis=1)[:, ::-1], axis=0)
    objectives.MAX_PIECE = -(-len(indices) // workers)
    x = Entries(indices.astype(np.uint16), rng.uniform(1, 3, len(indices)), (words,) * 3, symmetric=True)
    U = rng.random((words, rank)).astype(np.float32)
    with working_on(f"tcp://{NET}.1:{PORT}") as team:
        team.client.wait_for_workers(workers, timeout=120)
        f = Objective([Term(x, CP(), Squared(), (0, 0, 0))], [L2()], threads=1)
        f.value([U])
        seconds, before = [], sum(team.client.run(sent).values())
        for _ in range(5):
            start = time.perf_counter()
            f.value_and_gradient([U])
            seconds.append(time.perf_counter() - start)
        moved = (sum(team.client.run(sent).values()) - before) / 5 + U.nbytes  # and that of this process
    return float(np.median(seconds)), moved / U.nbytes


def sent(dask_worker):
    return dask_worker.transfer_outgoing_bytes_total


def main(
    *, workers: tuple[int, ...] = (2, 4, 8), mbit: tuple[int, ...] = (1000, 10000), words: int = 10_000, rank: int = 300
) -> None:
    size = 4 * words * rank
    print(f"{size / 1e6:.1f} MB of factors")
    heading("Mbit/s", "workers", "seconds", "estimated", "copies moved", "bound")
    for rate, number in itertools.product(mbit, workers):
        with network(number + 1, rate), cluster(number):
            inside = ["ip", "netns", "exec", "p0"]
            seconds, moved = own_process(drive, number, words, rank, prefix=inside)
        estimated = serial_copies(number) * size * 8 / rate / 1e6
        row(f"{rate:,}", number, f"{seconds:.2f}", f"{estimated:.2f}", f"{moved:.1f}", 2 * number)
