r"""Parse the parameter sections of numpydoc docstrings, and inherit missing entries from base classes.

A class describes a setting only where it says more than its bases do:

>>> class Base:
...     '''Base class.
...
...     Parameters
...     ----------
...     seed : int, optional
...         Seed of the random generator.
...     '''
>>> class Model(Base):
...     '''A model.
...
...     Parameters
...     ----------
...     rank : int
...         Length of the vectors.
...     '''
>>> print(inherited(Model, ["rank", "seed"]))
A model.
<BLANKLINE>
Parameters
----------
rank : int
    Length of the vectors.
seed : int, optional
    Seed of the random generator.
"""  # noqa: D411 # the sections are those of the example

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable

SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}$|\Z)", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^\S[^\n]*\n-{3,}$", re.MULTILINE)
ENTRY = re.compile(r"^(\S[^\n]*)\n((?:[ \t]+[^\n]*\n?|\n)*)", re.MULTILINE)


def entries(doc: str | None) -> dict[str, str]:
    r"""Parse the ``Parameters`` section of a docstring into a dict from parameter name to entry.

    >>> entries("Add.\n\nParameters\n----------\na, b : int\n    Terms.")
    {'a': 'a, b : int\n    Terms.', 'b': 'a, b : int\n    Terms.'}
    """
    section = SECTION.search(inspect.cleandoc(doc or ""))
    return {
        name.strip().lstrip("*"): f"{head}\n{text}".rstrip()
        for head, text in ENTRY.findall(section[1] if section else "")
        for name in head.partition(" : ")[0].split(", ")
    }


def inherited(cls: type, names: Iterable[str]) -> str:
    """Return the docstring of a class, completed with the parameter entries of its base classes."""
    doc = inspect.cleandoc(cls.__dict__.get("__doc__") or "")
    described = {name: entry for each in reversed(cls.__mro__) for name, entry in entries(each.__doc__).items()}
    shown = (*names, *entries(doc))  # what a base class describes for its subclasses need not be a setting of its own
    section = "\n".join(dict.fromkeys(described[name] for name in shown if name in described))
    if not section:
        return doc
    found, heading = SECTION.search(doc), HEADING.search(doc)
    start, end = found.span() if found else (heading.start(), heading.start()) if heading else (len(doc), len(doc))
    parts = (doc[:start].rstrip(), f"Parameters\n----------\n{section}", doc[end:].lstrip("\n"))
    return "\n\n".join(filter(None, parts))
