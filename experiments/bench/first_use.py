"""Seconds of the first call of a subcommand, when its loops are compiled, and of the second.

TEXT is a file of a few megabytes; the other inputs are drawn as by ``memory``. Each subcommand has its own empty cache.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from experiments.bench.memory import POLYADIC, prepare

CALLS = {
    "corpus": "corpus {text} --out made --min-count 5",
    "count": "count corpus --out made --order 3",
    "train": "train {text} --out made --rank 50 --set max_iter=5",
    "train --method ppmi-svd": "train {text} --out made --method ppmi-svd --rank 50",
    "neighbours": "neighbours vectors city",
    "senses": "senses vectors bank --corpus corpus",
    "topics train": "topics train {text} --out made --n-components 10",
    "topics train --method lda": "topics train {text} --out made --method lda --n-components 10",
    "sentences train": "sentences train {text} --out made --method mean --words vectors",
    "table": "table ratings.csv --rows user --columns item",
    "complete train": "complete train ratings.csv --out made --method als --rank 5 --no-choose",
    "complete train --method implicit": "complete train ratings.csv --out made --method implicit --rank 5 --no-choose",
    "relations train": "relations train facts.tsv --out made --rank 10 --max-iter 1",
    "machine train": "machine train lines.svm --out made --rank 4 --draws 2",
    "hmm train": "hmm train strings.txt --out made --states 5 --max-iter 2",
    "automaton train": "automaton train strings.txt --out made --rank 5",
}
OF_TREES = {
    "parse train": "parse train {trees} --out made --order 1 --epochs 1",
    "parse train --order 3": "parse train {trees} --out made --order 3 --epochs 1",
    "tag train": "tag train {trees} --out made --epochs 1",
}


def main(text: Path, folder: Path, *, treebank: Path | None = None, verbs: tuple[str, ...] = ()) -> None:
    calls = CALLS | (OF_TREES if treebank is not None else {})
    names = {"text": text.absolute(), "trees": treebank and treebank.absolute()}
    prepare(folder, names["text"], rank=50)
    print("verb", "first", "second", "compiling", sep="\t")
    for verb in verbs or calls:
        cache, seconds = Path.cwd() / f"cache-{verb.replace(' ', '-')}", []
        shutil.rmtree(cache, ignore_errors=True)
        for _ in range(2):
            shutil.rmtree("made", ignore_errors=True)
            before = os.times()
            command, cached = calls[verb].format(**names).split(), {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
            done = subprocess.run([POLYADIC, *command], check=False, capture_output=True, text=True, env=cached)
            if done.returncode:
                sys.exit(f"{verb}: {done.stderr}")
            after = os.times()
            seconds.append(after.children_user - before.children_user + after.children_system - before.children_system)
        print(verb, *(f"{x:.1f}" for x in (*seconds, seconds[0] - seconds[1])), sep="\t", flush=True)
