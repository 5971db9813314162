"""Peak memory of subcommands under ``--memory``, and whether they end with a result or an error message.

TEXT is a file of a few megabytes; tables of facts, ratings, features and strings are drawn.
"""

import itertools
import os
import subprocess
import sys
from pathlib import Path
from random import Random

CALLS = {
    "corpus": "corpus {text} --out {bound}-corpus --min-count 5",
    "count": "count corpus --out {bound}-counts --order 3",
    "train": "train {text} --out {bound}-vectors --rank 300 --set max_iter=5",
    "topics train": "topics train {text} --out {bound}-topics --n-components 100",
    "sentences train": "sentences train {text} --out {bound}-sentences --method mean --words vectors",
    "complete train": "complete train ratings.csv --out {bound}-complete --method als --rank 400",
    "relations train": "relations train facts.tsv --out {bound}-relations --rank 5000 --max-iter 1",
    "machine train": "machine train lines.svm --out {bound}-machine --rank 200 --draws 2",
    "hmm train": "hmm train strings.txt --out {bound}-hmm --states 300 --max-iter 2",
    "automaton train": "automaton train strings.txt --out {bound}-automaton --rank 100",
    "neighbours": "neighbours vectors city",
    "senses": "senses vectors bank --corpus corpus",
}


POLYADIC = Path(sys.executable).with_name("polyadic")


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


def prepare(folder: Path, text: Path, *, rank: int) -> None:
    """Write drawn inputs, a corpus and vectors into a folder, and change to it."""
    folder.mkdir(parents=True, exist_ok=True)
    write(folder)
    os.chdir(folder)
    for call in (f"corpus {text} --out corpus --min-count 5", f"train corpus --out vectors --rank {rank}"):
        subprocess.run([POLYADIC, *call.split(), "--force"], check=True, stdout=subprocess.DEVNULL)


def main(
    text: Path,
    folder: Path,
    *,
    verbs: tuple[str, ...] = tuple(CALLS),
    bounds: tuple[str, ...] = ("400M", "600M", "1G", "2G"),
) -> None:
    text = text.absolute()
    prepare(folder, text, rank=100)
    print("verb", "bound", "peak MiB", "result", sep="\t")
    for verb, bound in itertools.product(verbs, bounds):
        words = [*CALLS[verb].format(text=text, bound=bound).split(), "--memory", bound]
        words += ["--force"] if "--out" in words else []
        with subprocess.Popen([POLYADIC, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as run:
            printed = run.stderr.read()
            _, status, used = os.wait4(run.pid, 0)
            run.returncode = os.waitstatus_to_exitcode(status)
        end = printed.strip().rpartition("\n")[2] if run.returncode else "done"
        print(verb, bound, used.ru_maxrss // 1024, end, sep="\t", flush=True)
