"""Stop words from built-in lists, from the text itself, from a file, or from an iterable of words."""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Container, Iterable, Mapping
from pathlib import Path

from polyadic.core.errors import InputError, InputWarning, named
from polyadic.core.progress import note
from polyadic.core.streams import text_lines
from polyadic.text.tokens import Tokenizer

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
"""The built-in English list, in lower case, as spelled by the default tokenizer."""
MAX_STOP_WORDS = 100  # number of stop words derived from a text
MAX_SHOWN = 10  # number of words named in a note
BLOCK = 2_000  # number of words of a block when stop words are derived from a text


def stop_words(source: str | os.PathLike[str] | Iterable[str] | None, language: str = "en") -> frozenset[str]:
    """Return the set of stop words of a language, a file or an iterable of words.

    The source is None or "none"; "language" for the list of ``language``; the name or code of another language, such as
    "german" or "de"; a file with one word per line; or the words themselves.
    """
    if source is None or source == "none":
        return frozenset()
    if source == "language":
        if not stop_list(language):
            advice = "set stop_words to a file, or to auto to derive a list from the text"
            message = f"there is no stop word list for the language {language}; {advice}"
            warnings.warn(InputWarning(message, "stop_words"), stacklevel=2)
        return stop_list(language)
    if isinstance(source, str) and not Path(source).exists() and stop_list(source):
        return stop_list(source)
    if isinstance(source, (str, os.PathLike)):
        if not Path(source).exists():
            what = "'language', 'auto', 'none', a language such as 'english' or 'de', a file or a list of words"
            raise InputError(f"stop_words must be {what}; the file {Path(source)} does not exist", "stop_words")
        return frozenset(filter(None, map(str.strip, text_lines(str(Path(source))))))
    if not isinstance(source, Iterable):
        raise InputError(f"stop_words must be a language, a file or a list of words; got {source!r}", "stop_words")
    words = list(source)
    for word in words:
        if not isinstance(word, str):
            raise InputError(f"stop_words must be a list of strings; got the item {word!r}", "stop_words")
    return frozenset(words)


def spelled_as_counted(words: Iterable[str], tokenizer: object, counts: Container[str]) -> list[str]:
    """Return normalized stop words, and log those that do not occur in the text."""
    spelled: dict[str, list[str]] = {word: [word] for word in words}
    if isinstance(tokenizer, Tokenizer):
        spelled = {word: [token for sentence in tokenizer(word) for token in sentence] for word in spelled}
    found = {tokens[0] for tokens in spelled.values() if len(tokens) == 1 and tokens[0] in counts}
    absent = sorted(word for word, tokens in spelled.items() if not found.issuperset(tokens) or not tokens)
    if absent:
        shown = named(absent, MAX_SHOWN)
        note(f"stop words that do not occur in the text ({len(absent):,} of {len(spelled):,}): {shown}")
    return sorted(found)


def most_spread(parts: Mapping[str, int]) -> list[str]:
    """Return the words that occur in the most blocks of a text, which are mostly function words.

    Of the 100 words in most blocks of 2,000 words, 82 % are in the English list for Wikipedia, 84 % for novels, and 90
    % in the German list for aphorisms; of the 100 most frequent words, 74, 87 and 80 %. Words without a letter are
    excluded.
    """
    ranked = sorted((-n, word) for word, n in parts.items() if any(map(str.isalpha, word)))
    return [word for _, word in ranked[:MAX_STOP_WORDS]]


@functools.cache
def stop_list(language: str) -> frozenset[str]:
    """Return the stop words of a language as tokens; the set is empty if there is no list for the language."""
    import stop_words as package

    codes = {**package.LANGUAGE_MAPPING, "no": "norwegian", "nn": "norwegian", "fa": "persian"}
    name = codes.get(language, language)
    if name == "english":
        return ENGLISH
    if name not in package.AVAILABLE_LANGUAGES:
        return frozenset()
    tokenize = Tokenizer(language=next((code for code, its in codes.items() if its == name and len(code) < 4), None))
    spelled = (tokenize(word) for word in package.get_stop_words(name))
    return frozenset(tokens[0][0] for tokens in spelled if [len(sentence) for sentence in tokens] == [1])
