"""Test sets for word sense induction: words in context with gold senses.

The folder given by ``POLYADIC_DATA`` has the published files in ``senses/semeval2013-wsi`` (Jurgens and Klapaftis 2013)
and ``senses/senseval`` (line, hard, serve, interest, in the format of NLTK). Other files are read by
``read_instances``, ``read_sense_key`` and ``read_senseval``.
"""

from __future__ import annotations

import itertools
import math
import os
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

from polyadic.core.errors import InputError
from polyadic.datasets.place import check_count, folder, lines, text

SENSEVAL = {"line": 4146, "hard": 4333, "serve": 4378, "interest": 2368}  # lemma: number of instances
SEMEVAL2013 = (4664, 50)  # instances with gold labels, lemmas
SLASH = "FRASL"  # what became of the entity &frasl;, a slash, between the tokens of the Senseval files


class Instance(NamedTuple):
    """Target word in context: the text to the left, the word form, and the text to the right."""

    id: str
    lemma: str
    left: str
    word: str
    right: str


class SenseSet(NamedTuple):
    """Instances of ambiguous words, and the weighted gold senses of each instance."""

    instances: list[Instance]
    gold: dict[str, dict[str, float]]


def semeval2013(root: str | os.PathLike[str] | None = None) -> SenseSet:
    """Load the test set of SemEval-2013 task 13: 4,664 instances of 50 lemmas, such as ``"add.v"``.

    An instance has one to three senses of WordNet 3.1 with weights from 1 to 4. The source is Jurgens and Klapaftis
    (2013), SemEval-2013 task 13: word sense induction for graded and non-graded senses.
    """
    where = folder(root) / "senses" / "semeval2013-wsi"
    gold = read_sense_key(where / "gold" / "all.key")
    read = itertools.chain.from_iterable(map(read_instances, sorted((where / "contexts").glob("*.xml"))))
    instances = [instance for instance in read if instance.id in gold]
    check_count(where, len({instance.id for instance in instances}), SEMEVAL2013[0], "instances with gold labels")
    check_count(where, len({instance.lemma for instance in instances}), SEMEVAL2013[1], "lemmas")
    return SenseSet(instances, {instance.id: gold[instance.id] for instance in instances})


def senseval(root: str | os.PathLike[str] | None = None) -> dict[str, SenseSet]:
    """Load the four Senseval data sets for the words line, hard, serve and interest, with one sense per instance.

    The sources are Leacock, Chodorow, Miller (1998), Using corpus statistics and WordNet relations for sense
    identification, and Bruce and Wiebe (1994), Word-sense disambiguation using decomposable models.
    """
    where = folder(root) / "senses" / "senseval"
    sets = {}
    for name, number in SENSEVAL.items():
        file = where / f"{name}.pos"
        sets[name] = read_senseval(file)
        check_count(file, len(sets[name].instances), number, "instances")
    return sets


def read_instances(path: str | os.PathLike[str]) -> list[Instance]:
    """Read the instances of a lemma in context from an XML file of SemEval-2013 task 13.

    The element ``instance`` contains the text; its attributes ``tokenStart`` and ``tokenEnd`` are the start and end of
    the target in characters, and ``token`` is its form. White space is normalized.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "add.v.xml"
    >>> attributes = 'id="add.v.1" lemma="add" partOfSpeech="v" token="adds" tokenStart="3" tokenEnd="7"'
    >>> _ = file.write_text(f"<instances><instance {attributes}>He adds salt.</instance></instances>")
    >>> read_instances(file)
    [Instance(id='add.v.1', lemma='add.v', left='He', word='adds', right='salt.')]
    """
    file = Path(path)
    instances = [_context(file, element) for element in _xml(file).iter("instance")]
    if not instances:
        raise InputError(f"{file} contains no instances")
    return instances


def read_sense_key(path: str | os.PathLike[str]) -> dict[str, dict[str, float]]:
    r"""Read the weighted senses of each instance from a key file: lemma, instance, ``sense/weight`` or ``sense``.

    A sense without a weight gets the largest weight of its line, or 1 if there is none. If a sense has several weights
    (as in 17 instances of the published key), the largest is used. A field that begins with ``!!`` begins a comment.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "all.key"
    >>> _ = file.write_text("add.v add.v.1 add%1/4 add%2/1\nadd.v add.v.2 add%2\n")
    >>> read_sense_key(file)
    {'add.v.1': {'add%1': 4.0, 'add%2': 1.0}, 'add.v.2': {'add%2': 1.0}}
    """
    key: dict[str, dict[str, float]] = {}
    for where, line in lines(Path(path)):
        fields = list(itertools.takewhile(lambda field: not field.startswith("!!"), line.split()))
        if len(fields) < 3:
            raise InputError(f"{where}: expected a lemma, an instance and its senses; found {len(fields)} fields")
        if fields[1] in key:
            raise InputError(f"{where}: the instance {fields[1]!r} occurs more than once")
        weighted = [_weighted(where, field) for field in fields[2:]]
        default = max((weight for _, weight in weighted if weight), default=1.0)
        senses = key[fields[1]] = {}
        for sense, weight in weighted:
            senses[sense] = max(weight or default, senses.get(sense, 0.0))
    if not key:
        raise InputError(f"{path} contains no senses")
    return key


def read_senseval(path: str | os.PathLike[str]) -> SenseSet:
    """Read instances and gold senses from an XML file of a Senseval-2 lemma in NLTK's format.

    Tokens are joined by spaces. Besides tokens in ``wf``, a few words of the text are between elements; marks
    ``FRASL``, which replace a lost slash, are dropped. An instance with several answers has each of them with weight 1.
    """
    file = Path(path)
    instances: list[Instance] = []
    gold: dict[str, dict[str, float]] = {}
    for group in _xml(file).iter("lexelt"):
        for element in group.iter("instance"):
            name = _attribute(file, element, "id")
            where = f"{file}, instance {name}"
            if name in gold:
                raise InputError(f"{where}: the identifier occurs more than once")
            gold[name] = {_attribute(file, answer, "senseid"): 1.0 for answer in element.iter("answer")}
            if not gold[name]:
                raise InputError(f"{where}: expected an 'answer' element with a sense")
            instances.append(Instance(name, _attribute(file, group, "item"), *_around_head(where, element)))
    if not instances:
        raise InputError(f"{file} contains no instances")
    return SenseSet(instances, gold)


def _xml(file: Path) -> ET.Element:
    try:
        return ET.fromstring(text(file))  # noqa: S314  expat refuses entities that grow without bound
    except ET.ParseError as error:
        raise InputError(f"{file}, line {error.position[0]}: not well-formed XML: {error}") from None


def _attribute(file: Path, element: ET.Element, name: str) -> str:
    value = element.get(name)
    if not value:
        which = f", instance {element.get('id')}" if element.get("id") else ""
        raise InputError(f"{file}{which}: the element {element.tag!r} must have a non-empty attribute {name!r}")
    return value


def _context(file: Path, element: ET.Element) -> Instance:
    name, lemma, speech, token, *ends = (
        _attribute(file, element, key) for key in ("id", "lemma", "partOfSpeech", "token", "tokenStart", "tokenEnd")
    )
    words = "".join(element.itertext())
    if not all(end.isdecimal() for end in ends):
        raise InputError(f"{file}, instance {name}: tokenStart and tokenEnd must be whole numbers; got {ends}")
    start, end = map(int, ends)
    if words[start:end] != token:  # true of none of the published instances
        raise InputError(
            f"{file}, instance {name}: expected {token!r} at characters {start} to {end}; found {words[start:end]!r}"
        )
    left, right = (" ".join(side.split()) for side in (words[:start], words[end:]))
    return Instance(name, f"{lemma}.{speech}", left, token, right)


def _weighted(where: str, field: str) -> tuple[str, float | None]:
    sense, slash, weight = field.rpartition("/")
    if not slash:
        return field, None
    try:
        value = float(weight)
    except ValueError:
        value = math.nan
    if not sense or not (math.isfinite(value) and value > 0):
        raise InputError(f"{where}: expected a sense, or sense/weight with a positive weight; found {field!r}")
    return sense, value


def _around_head(where: str, element: ET.Element) -> tuple[str, str, str]:
    """Return the text before the target word, the target word, and the text after it, as tokens joined by spaces."""
    sides: list[list[str]] = [[]]
    for context in element.iter("context"):
        sides[-1] += (context.text or "").split()
        for child in context:
            words = "".join(child.itertext()).split()
            sides += [words, []] if child.tag == "head" else []
            sides[-1] += [] if child.tag == "head" else words
            sides[-1] += (child.tail or "").split()
    if len(sides) != 3 or not sides[1]:
        raise InputError(f"{where}: expected one target, marked by a 'head' element; found {len(sides) // 2}")
    left, word, right = (" ".join(token for token in side if token != SLASH) for side in sides)
    return left, word, right
