"""Every suite of `python -m experiments` in one go, from a clean folder: what each takes, in time and memory.

    python -m experiments.bench.suites --out DIR [--data DIR] [--threads 1] [NAME ...]

The suites are run in turn, each by one command and whole; those that read a text read the two parts of Wikipedia in
`corpora` of the data. A run that was stopped goes on: what ended is left alone, what had begun goes on from its stages,
and the table adds up what all goes took, but for what was killed together with this script.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from experiments import EXPERIMENTS

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def command(name, data, out):
    """Give the command of a suite, and before it that of the corpus that Bailey and Aeron's is run on."""
    polyadic = [sys.executable, "-m", "polyadic"]
    parts = [str(part) for part in sorted((data / "corpora").glob("enwiki-2014-part*.txt.xz"))]
    corpus = out / "corpus"
    texts = {"bailey2017": [str(corpus)], "niitsuma2018": parts[:1], "relations": parts}
    if name == "bailey2017" and not corpus.exists():
        yield [*polyadic, "corpus", *parts, "--stop-words", "english", "--min-count", "500", "--out", str(corpus)]
    yield [*polyadic, "reproduce", name, *texts.get(name, []), "--out", str(out / name), "--data", str(data)]


def timed(words, environment, log):
    """Run a command to its end: how it ended, seconds, seconds of processors, and its largest process in MiB."""
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


def table(goes):
    """Give a row for each suite: its goes added up, and whether it came to its end."""
    yield "| suite | goes | seconds | of processors | peak, MiB | ended |"
    yield "|---|---|---|---|---|---|"
    for name in dict.fromkeys(go["suite"] for go in goes):
        rows = [go for go in goes if go["suite"] == name]
        total = [sum(row[key] for row in rows) for key in ("seconds", "processor")]
        ended = "yes" if rows[-1]["code"] == 0 else f"no ({rows[-1]['code']})"
        yield f"| {name} | {len(rows)} | {total[0]:,} | {total[1]:,} | {max(r['peak'] for r in rows):,} | {ended} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="all by default")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--data", type=Path, default=os.environ.get("POLYADIC_DATA"))
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    given = parser.parse_args()
    if given.data is None:
        parser.error("--data or POLYADIC_DATA must name the folder of the data")
    unknown = {*given.names} - {*EXPERIMENTS}
    if unknown:
        parser.error(f"suites are {', '.join(EXPERIMENTS)}; got {', '.join(sorted(unknown))}")
    given.out.mkdir(parents=True, exist_ok=True)
    costs = given.out / "costs.jsonl"
    environment = os.environ | dict.fromkeys(THREADS, str(given.threads))
    for name in given.names or EXPERIMENTS:
        goes = [json.loads(line) for line in costs.read_text().splitlines()] if costs.exists() else []
        if any(go["suite"] == name and go["code"] == 0 for go in goes):
            continue
        print(f"{time.strftime('%H:%M')}  {name}", file=sys.stderr, flush=True)
        for words in command(name, given.data, given.out):
            with (given.out / f"{name}.log").open("a") as log:
                go = timed(words, environment, log)
            if "reproduce" in words or go["code"]:
                with costs.open("a") as file:
                    file.write(json.dumps({"suite": name, "threads": given.threads, **go}) + "\n")
            if go["code"]:
                print(f"{name} ended with {go['code']}: see {given.out / name}.log", file=sys.stderr)
                break
        if go["code"] in (130, -signal.SIGINT):
            break
    goes = [json.loads(line) for line in costs.read_text().splitlines()]
    print(*table(goes), sep="\n")
    ended = {go["suite"] for go in goes if go["code"] == 0}
    sys.exit(0 if ended >= {*(given.names or EXPERIMENTS)} else 1)


if __name__ == "__main__":
    main()
