"""Time and memory of every experiment, run one after another from a clean folder.

Experiments that need a text read the two parts of Wikipedia in `corpora` of the data (POLYADIC_DATA by default). The
same command resumes a run that was stopped: finished experiments are skipped, started ones resume from their stages,
and the table adds up all runs, without those that were killed together with this command.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from experiments import EXPERIMENTS
from experiments.bench.common import heading, row
from polyadic import InputError

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def commands(name, data, out):
    """Yield the commands of an experiment: that of its corpus, where it needs one, and its own."""
    polyadic = [sys.executable, "-m", "polyadic"]
    parts = [str(part) for part in sorted((data / "corpora").glob("enwiki-2014-part*.txt.xz"))]
    corpus = out / "corpus"
    texts = {"bailey2017": [str(corpus)], "niitsuma2018": parts[:1], "relations": parts}
    if name == "bailey2017" and not corpus.exists():
        yield [*polyadic, "corpus", *parts, "--stop-words", "english", "--min-count", "500", "--out", str(corpus)]
    yield [
        sys.executable,
        "-m",
        "experiments",
        name,
        *texts.get(name, []),
        "--out",
        str(out / name),
        "--data",
        str(data),
    ]


def measured(words, environment, log):
    """Run a command; return exit code, seconds, seconds of processors, and the peak of its largest process in MiB."""
    start = time.perf_counter()
    process = subprocess.Popen(words, env=environment, stdout=log, stderr=log)
    while True:
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except KeyboardInterrupt:  # the command hears it too, and ends by itself
            process.send_signal(signal.SIGINT)
        else:
            break
    code = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - start
    return {
        "code": code,
        "seconds": round(seconds),
        "processor": round(usage.ru_utime + usage.ru_stime),
        "peak": usage.ru_maxrss // 1024,
    }


def table(runs):
    heading("experiment", "runs", "seconds", "of processors", "peak, MiB", "ended")
    for name in dict.fromkeys(run["name"] for run in runs):
        rows = [run for run in runs if run["name"] == name]
        total = [f"{sum(each[key] for each in rows):,}" for key in ("seconds", "processor")]
        ended = "yes" if rows[-1]["code"] == 0 else f"no ({rows[-1]['code']})"
        row(name, len(rows), *total, f"{max(each['peak'] for each in rows):,}", ended)


def main(
    names: tuple[str, ...] = EXPERIMENTS, *, out: Path, data: Path | None = None, threads: int = os.cpu_count() or 1
) -> None:
    data = data or Path(os.environ["POLYADIC_DATA"])
    if unknown := {*names} - {*EXPERIMENTS}:
        raise InputError(f"experiments are {', '.join(EXPERIMENTS)}; got {', '.join(sorted(unknown))}")
    out.mkdir(parents=True, exist_ok=True)
    costs, code = out / "costs.jsonl", 0
    environment = os.environ | dict.fromkeys(THREADS, str(threads))
    for name in names:
        runs = [json.loads(line) for line in costs.read_text().splitlines()] if costs.exists() else []
        if any(run["name"] == name and run["code"] == 0 for run in runs):
            continue
        print(f"{time.strftime('%H:%M')}  {name}", file=sys.stderr, flush=True)
        for words in commands(name, data, out):
            with (out / f"{name}.log").open("a") as log:
                run = measured(words, environment, log)
            code = run["code"]
            if "experiments" in words or code:
                with costs.open("a") as file:
                    file.write(json.dumps({"name": name, "threads": threads, **run}) + "\n")
            if code:
                print(f"{name} ended with {code}: see {out / name}.log", file=sys.stderr)
                break
        if code in (130, -signal.SIGINT):
            break
    runs = [json.loads(line) for line in costs.read_text().splitlines()]
    table(runs)
    sys.exit(0 if {run["name"] for run in runs if run["code"] == 0} >= {*names} else 1)
