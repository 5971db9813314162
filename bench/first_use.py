"""What the first run of a verb costs, when its loops are compiled, beside the second.

    python bench/first_use.py TEXT FOLDER [--treebank dev.conllu] [--verbs train senses]

TEXT is a file of a few megabytes; the rest is drawn as by ``memory.py``. Each verb has an empty cache of its own.
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from memory import CALLS, write

OF_TREES = {
    "parse train": "parse train {trees} --out {out} --order 1 --epochs 1",
    "parse train --order 3": "parse train {trees} --out {out} --order 3 --epochs 1",
    "tag train": "tag train {trees} --out {out} --epochs 1",
}
MORE = {
    "train --method ppmi-svd": "train {text} --out {out} --method ppmi-svd --rank 100",
    "topics train --method lda": "topics train {text} --out {out} --method lda --rank 20 --max-iter 5",
    "table": "table ratings.csv --rows user --columns item",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--treebank", type=Path)
    calls = CALLS | MORE | OF_TREES
    parser.add_argument("--verbs", nargs="+", choices=calls)
    given = parser.parse_args()
    verbs = given.verbs or [verb for verb in calls if given.treebank is not None or verb not in OF_TREES]
    given.folder.mkdir(parents=True, exist_ok=True)
    write(given.folder)
    names = {"text": given.text.absolute(), "trees": given.treebank and given.treebank.absolute()}
    polyadic = Path(sys.executable).with_name("polyadic")
    os.chdir(given.folder)
    for call in (
        f"corpus {names['text']} --out corpus --min-count 5 --keep-text",
        "train corpus --out vectors --rank 100",
    ):
        subprocess.run([polyadic, *call.split(), "--force"], check=True, stdout=subprocess.DEVNULL)
    print("verb", "first", "second", "compiling", sep="\t")
    for verb in verbs:
        words = calls[verb].format(**names, out="made", bound="made").split()
        seconds = []
        for _ in range(2):
            shutil.rmtree("made", ignore_errors=True)
            before = os.times()
            subprocess.run(
                [polyadic, *words, *(["--force"] if "--out" in words else [])],
                check=True,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env={**os.environ, "NUMBA_CACHE_DIR": str(Path.cwd() / f"cache-{verb.replace(' ', '-')}")},
            )
            after = os.times()
            seconds.append(after.children_user - before.children_user + after.children_system - before.children_system)
        print(verb, *(f"{x:.1f}" for x in (*seconds, seconds[0] - seconds[1])), sep="\t", flush=True)


if __name__ == "__main__":
    main()
