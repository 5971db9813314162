"""Look for input that a reader neither reads nor refuses, guided by the lines that it reaches.

    python -m experiments.bench.fuzz READER --seconds 300 --corpus DIR

READER is a name of ``tests/mutants.py``; without one the names are listed. What reaches new lines is kept in DIR, and
the next run starts from it. A finding is an exception that is no InputError and no MissingExtraError, which is written
to ``DIR-findings``, once for each place that raised it; or an input that takes more than 5 s or more than 1.5 GB, which
ends the run. Needs ``pip install atheris``.
"""

import argparse
import hashlib
import re
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

import atheris

BELOW = ("polyadic", "tomllib", "html", "_markupbase", "bs4", "email", "csv", "json", "pypdf", "zipfile")
"""Packages whose lines guide the search."""
LOOPS = "polyadic.core.kernels"
"""They are compiled, and not from marked code."""
MEMORY = Path("/dev/shm")  # noqa: S108 # a folder in it is made as safely as elsewhere
ROOT = Path(__file__).resolve().parents[1]

with atheris.instrument_imports(include=[*BELOW], exclude=[LOOPS]):
    sys.path.insert(0, str(ROOT / "tests"))
    from mutants import NASTY, READERS


def place(error):
    """Say what was raised, and where: a line of this library, and the innermost."""
    frames = [(Path(frame.filename), frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    ours = [f"{file.stem}:{line}" for file, line in frames if "polyadic" in file.parts]
    return f"{type(error).__name__} {ours[-1] if ours else ''} {frames[-1][0].stem}:{frames[-1][1]}"


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("reader", nargs="?", choices=sorted(READERS), metavar="READER")
    options.add_argument("--seconds", type=int, default=60)
    options.add_argument("--corpus", type=Path, default=Path("build/fuzz"))
    asked = options.parse_args()
    if asked.reader is None:
        print(*sorted(READERS), sep="\n")
        return
    reader = READERS[asked.reader]
    findings, found = asked.corpus.with_name(f"{asked.corpus.name}-findings"), set()
    for folder in (asked.corpus, findings):
        folder.mkdir(parents=True, exist_ok=True)
    (asked.corpus / "example").write_bytes(reader.content)
    words = {*(word for word in NASTY if len(word) <= 30), *re.findall(rb"\w{2,20}", reader.content)}
    listed = ["".join(rf"\x{byte:02x}" for byte in word) for word in sorted(words)]
    (findings / "words").write_text("".join(f'"{word}"\n' for word in listed), encoding="ascii")
    warnings.simplefilter("error")
    folder = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))

    def once(content):
        try:
            reader.refuses(content, folder)
        except Exception as error:  # noqa: BLE001 # that is what is looked for
            if (where := place(error)) not in found:
                found.add(where)
                name = hashlib.sha256(where.encode()).hexdigest()[:12]
                (findings / f"{name}.input").write_bytes(content)
                (findings / f"{name}.txt").write_text("".join(traceback.format_exception(error)), encoding="utf-8")
                print(f"FOUND {where} {name}", flush=True)

    arguments = [f"-max_total_time={asked.seconds}", "-timeout=5", "-rss_limit_mb=1500", "-print_final_stats=1"]
    arguments += [f"-artifact_prefix={findings}/", f"-dict={findings / 'words'}", "-max_len=8192", "-len_control=20"]
    atheris.Setup([sys.argv[0], str(asked.corpus), *arguments], once)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
