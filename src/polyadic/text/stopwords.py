"""Words that carry grammar rather than meaning: a built-in English list, a file, or any iterable."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from polyadic.errors import InputError

ENGLISH = frozenset(
    """
    a an the this that these those such same other another each every either neither both all any some no none few
    many much more most less least several enough own
    i me my mine myself you your yours yourself yourselves he him his himself she her hers herself it its itself
    we us our ours ourselves they them their theirs themselves one oneself who whom whose which what whatever whoever
    someone somebody something anyone anybody anything everyone everybody everything nobody nothing
    am is are was were be been being have has had having do does did doing done will would shall should can could may
    might must ought
    about above across after against along among around as at before behind below beneath beside between beyond by
    despite down during except for from in inside into like near of off on onto out outside over past per since
    through throughout till to toward towards under underneath until up upon via with within without
    and but or nor so yet if then else than though although because unless while whereas whether
    when where why how here there now again once ever never always often also too very just only even still already
    almost quite rather not however therefore thus hence
    isn't aren't wasn't weren't hasn't haven't hadn't doesn't don't didn't won't wouldn't shan't shouldn't can't cannot
    couldn't mightn't mustn't needn't ain't
    i'm i've i'll i'd you're you've you'll you'd he'll he'd she'll she'd it'll it'd we're we've we'll we'd they're
    they've they'll they'd that'll who'll who'd there'll
    """.split()  # noqa: SIM905  a list of 280 quoted words would be unreadable
)
"""The built-in English list, in lower case, spelled as the default tokenizer spells words."""


def stop_words(source: str | os.PathLike[str] | Iterable[str] | None) -> frozenset[str]:
    """Return the set of words to leave out.

    Parameters
    ----------
    source : None, "english", path or iterable of str
        The built-in English list, a UTF-8 file with one word a line, or the words themselves. Words are compared
        exactly: a lower-case list does not remove "The" from text whose case was kept.

    Raises
    ------
    InputError
        If the file cannot be read or an item of the iterable is no string.

    Examples
    --------
    >>> "the" in stop_words("english"), sorted(stop_words(["und", "oder"])), stop_words(None)
    (True, ['oder', 'und'], frozenset())
    """
    if source is None:
        return frozenset()
    if source == "english":
        return ENGLISH
    if isinstance(source, (str, os.PathLike)):
        return frozenset(filter(None, (line.strip() for line in _lines(Path(source)))))
    if not isinstance(source, Iterable):
        raise InputError(f"stop_words must be 'english', a file or an iterable of words; got {source!r}")
    words = list(source)
    for word in words:
        if not isinstance(word, str):
            raise InputError(f"stop_words must be 'english', a file or an iterable of words; got the item {word!r}")
    return frozenset(words)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8-sig").split("\n")
    except FileNotFoundError:
        raise InputError(f"stop_words must be 'english', a file or an iterable of words; no file {path}") from None
    except OSError as error:
        raise InputError(f"cannot read the stop words in {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"the stop words in {path} are not UTF-8: byte {error.start} is in error") from None
