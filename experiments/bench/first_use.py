"""What the first run of a verb costs, when its loops are compiled, beside the second.

    python -m experiments.bench.first_use TEXT FOLDER [--treebank dev.conllu] [--verbs train senses]

TEXT is a file of a few megabytes; the rest is drawn as by ``memory.py``. Each verb has an empty cache of its own.
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from memory import write

CALLS = {
    "corpus": "corpus {text} --out made --min-count 5",
    "count": "count corpus --out made --order 3",
    "train": "train {text} --out made --rank 50 --max-iter 5",
    "train --method ppmi-svd": "train {text} --out made --method ppmi-svd --rank 50",
    "neighbours": "neighbours vectors city",
    "senses": "senses vectors bank --corpus corpus",
    "topics train": "topics train {text} --out made --n-components 10",
    "topics train --method lda": "topics train {text} --out made --method lda --n-components 10",
    "sentences train": "sentences train {text} --out made --method mean --words vectors",
    "table": "table ratings.csv --rows user --columns item",
    "complete train": "complete train ratings.csv --out made --method als --rank 5 --no-choose",
    "complete train --method implicit": "complete train ratings.csv --out made --method implicit --rank 5 --no-choose",
    "relations train": "relations train facts.tsv --out made --rank 10 --epochs 1",
    "machine train": "machine train lines.svm --out made --rank 4 --draws 2",
    "hmm train": "hmm train strings.txt --out made --states 5 --max-iter 2",
    "automaton train": "automaton train strings.txt --out made --rank 5",
}
OF_TREES = {
    "parse train": "parse train {trees} --out made --order 1 --epochs 1",
    "parse train --order 3": "parse train {trees} --out made --order 3 --epochs 1",
    "tag train": "tag train {trees} --out made --epochs 1",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--treebank", type=Path)
    parser.add_argument("--verbs", nargs="+", choices=CALLS | OF_TREES)
    given = parser.parse_args()
    calls = CALLS | (OF_TREES if given.treebank is not None else {})
    given.folder.mkdir(parents=True, exist_ok=True)
    write(given.folder)
    names = {"text": given.text.absolute(), "trees": given.treebank and given.treebank.absolute()}
    polyadic = Path(sys.executable).with_name("polyadic")
    os.chdir(given.folder)
    for call in ("corpus {text} --out corpus --min-count 5 --keep-text", "train corpus --out vectors --rank 50"):
        words = call.format(**names).split()
        subprocess.run([polyadic, *words, "--force"], check=True, stdout=subprocess.DEVNULL)
    print("verb", "first", "second", "compiling", sep="\t")
    for verb in given.verbs or calls:
        cache, seconds = Path.cwd() / f"cache-{verb.replace(' ', '-')}", []
        shutil.rmtree(cache, ignore_errors=True)
        for _ in range(2):
            shutil.rmtree("made", ignore_errors=True)
            before = os.times()
            done = subprocess.run(
                [polyadic, *calls[verb].format(**names).split()],
                check=False,
                capture_output=True,
                text=True,
                env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
            )
            if done.returncode:
                sys.exit(f"{verb}: {done.stderr}")
            after = os.times()
            seconds.append(after.children_user - before.children_user + after.children_system - before.children_system)
        print(verb, *(f"{x:.1f}" for x in (*seconds, seconds[0] - seconds[1])), sep="\t", flush=True)


if __name__ == "__main__":
    main()
