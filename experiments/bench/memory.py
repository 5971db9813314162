"""What verbs hold at most under ``--memory``: done below the bound, or one sentence.

    python -m experiments.bench.memory TEXT FOLDER [--verbs train senses] [--bounds 400M 600M 1G 2G]

TEXT is a file of a few megabytes; tables of facts, ratings, features and strings are drawn.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path
from random import Random

CALLS = {
    "corpus": "corpus {text} --out {bound}-corpus --min-count 5",
    "count": "count corpus --out {bound}-counts --order 3",
    "train": "train {text} --out {bound}-vectors --rank 300 --max-iter 5",
    "topics train": "topics train {text} --out {bound}-topics --n-components 100",
    "sentences train": "sentences train {text} --out {bound}-sentences --method mean --words vectors",
    "complete train": "complete train ratings.csv --out {bound}-complete --method als --rank 400",
    "relations train": "relations train facts.tsv --out {bound}-relations --rank 5000 --epochs 1",
    "machine train": "machine train lines.svm --out {bound}-machine --rank 200 --draws 2",
    "hmm train": "hmm train strings.txt --out {bound}-hmm --states 300 --max-iter 2",
    "automaton train": "automaton train strings.txt --out {bound}-automaton --rank 100",
    "neighbours": "neighbours vectors city",
    "senses": "senses vectors bank --corpus corpus",
}


def write(folder):
    draw = Random(0)  # noqa: S311 # drawn numbers
    facts = (f"e{draw.randrange(4000)}\tr{draw.randrange(20)}\te{draw.randrange(4000)}\n" for _ in range(50_000))
    (folder / "facts.tsv").write_text("".join(facts))
    ratings = (f"u{draw.randrange(5000)},i{draw.randrange(2000)},{draw.randrange(1, 6)}\n" for _ in range(200_000))
    (folder / "ratings.csv").write_text(
        "user,item,rating\n" + "".join({r.rpartition(",")[0]: r for r in ratings}.values())
    )
    lines = (
        f"{draw.random():.3f} {draw.randrange(1, 9000)}:1 {draw.randrange(9000, 20000)}:1\n" for _ in range(100_000)
    )
    (folder / "lines.svm").write_text("".join(lines))
    strings = (" ".join(f"w{min(int(draw.expovariate(0.02)), 999)}" for _ in range(12)) + "\n" for _ in range(20_000))
    (folder / "strings.txt").write_text("".join(strings))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--verbs", nargs="+", choices=CALLS, default=[*CALLS])
    parser.add_argument("--bounds", nargs="+", default=["400M", "600M", "1G", "2G"])
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    write(given.folder)
    text, polyadic = given.text.absolute(), Path(sys.executable).with_name("polyadic")
    os.chdir(given.folder)
    for call in (f"corpus {text} --out corpus --min-count 5 --keep-text", "train corpus --out vectors --rank 100"):
        subprocess.run([polyadic, *call.split(), "--force"], check=True, stdout=subprocess.DEVNULL)
    print("verb", "bound", "peak MiB", "what came of it", sep="\t")
    for verb in given.verbs:
        for bound in given.bounds:
            words = [*CALLS[verb].format(text=text, bound=bound).split(), "--memory", bound]
            words += ["--force"] if "--out" in words else []
            with subprocess.Popen(
                [polyadic, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
            ) as run:
                said = run.stderr.read()
                _, status, used = os.wait4(run.pid, 0)
                run.returncode = os.waitstatus_to_exitcode(status)
            end = said.strip().rpartition("\n")[2] if run.returncode else "done"
            print(verb, bound, used.ru_maxrss // 1024, end, sep="\t", flush=True)


if __name__ == "__main__":
    main()
