"""Fuzzing of readers, guided by the lines that inputs reach, for exceptions other than InputError.

READER is a name of ``tests/mutants.py``; without one the names are listed. Inputs that reach new lines are kept in the
folder CORPUS, and the next run starts from them. Exceptions are written to ``CORPUS-findings``, once for each place
that raised them; an input that takes more than 5 s or 1.5 GB ends the run. Needs ``pip install atheris``.
"""

import hashlib
import re
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

BELOW = ("polyadic", "tomllib", "html", "_markupbase", "bs4", "email", "csv", "json", "pypdf", "zipfile")
"""Packages whose lines guide the search."""
MEMORY = Path("/dev/shm")  # noqa: S108 # a folder in it is made as safely as elsewhere
ROOT = Path(__file__).resolve().parents[2]
KERNELS = [
    ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
    for path in (ROOT / "src").glob("polyadic/**/kernels*")
]
"""Modules that are compiled by numba, from code without the marks."""


def place(error):
    """Return the exception, the line of this library and the innermost line that raised it."""
    frames = [(Path(frame.filename), frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    ours = [f"{file.stem}:{line}" for file, line in frames if "polyadic" in file.parts]
    return f"{type(error).__name__} {ours[-1] if ours else ''} {frames[-1][0].stem}:{frames[-1][1]}"


def main(reader: str | None = None, *, seconds: int = 60, corpus: Path = Path("build/fuzz")) -> None:
    import atheris

    with atheris.instrument_imports(include=[*BELOW], exclude=KERNELS):
        sys.path.insert(0, str(ROOT / "tests"))
        from mutants import NASTY, READERS
    if reader is None:
        print(*sorted(READERS), sep="\n")
        return
    tested = READERS[reader]
    findings, found = corpus.with_name(f"{corpus.name}-findings"), set()
    for folder in (corpus, findings):
        folder.mkdir(parents=True, exist_ok=True)
    (corpus / "example").write_bytes(tested.content)
    words = {*(word for word in NASTY if len(word) <= 30), *re.findall(rb"\w{2,20}", tested.content)}
    listed = ["".join(rf"\x{byte:02x}" for byte in word) for word in sorted(words)]
    (findings / "words").write_text("".join(f'"{word}"\n' for word in listed), encoding="ascii")
    warnings.simplefilter("error")
    folder = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))

    def once(content):
        try:
            tested.refuses(content, folder)
        except Exception as error:  # noqa: BLE001 # any other exception is a finding
            if (where := place(error)) not in found:
                found.add(where)
                name = hashlib.sha256(where.encode()).hexdigest()[:12]
                (findings / f"{name}.input").write_bytes(content)
                (findings / f"{name}.txt").write_text("".join(traceback.format_exception(error)), encoding="utf-8")
                print(f"FOUND {where} {name}", flush=True)

    arguments = [f"-max_total_time={seconds}", "-timeout=5", "-rss_limit_mb=1500", "-print_final_stats=1"]
    arguments += [f"-artifact_prefix={findings}/", f"-dict={findings / 'words'}", "-max_len=8192", "-len_control=20"]
    atheris.Setup([sys.argv[0], str(corpus), *arguments], once)
    atheris.Fuzz()
