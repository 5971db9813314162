"""What a low-rank parser may be told, when it is made and when it comes from a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from polyadic.embedding import Embedding
from polyadic.errors import InputError, check_choice, check_int, check_number
from polyadic.kernels.syntax.climbing import MOST_WORDS
from polyadic.models.syntax.tensor_parses import Decoding
from polyadic.solvers.syntax.arc_tensor import Updates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyadic.models.syntax.higher_order import HigherOrderParser
    from polyadic.models.syntax.low_rank_parser import LowRankParser

Init = Literal["svd", "random"]


def check_settings(parser: LowRankParser) -> None:
    """Refuse parameters that are out of range.

    Raises
    ------
    InputError
    """
    if check_number("gamma", parser.gamma) > 1:
        raise InputError(f"gamma must be at most 1; got {parser.gamma}")
    check_number("C", parser.C, above=True)
    check_int("rank", parser.rank, low=1)
    check_int("bits", parser.bits, low=4, high=30)
    check_int("least", parser.least, low=1)
    check_choice("init", parser.init, get_args(Init))
    check_choice("decoding", parser.decoding, get_args(Decoding))
    check_choice("updates", parser.updates, get_args(Updates))
    for name in ("labels", "one_root", "averaged"):
        if not isinstance(getattr(parser, name), bool | np.bool_):
            raise InputError(f"{name} must be True or False; got {getattr(parser, name)!r}")
    if parser.seed is not None:
        check_int("seed", parser.seed, low=0)
    if not isinstance(parser.vectors, Embedding | None):
        raise InputError(f"vectors must be an Embedding, as read_vectors gives it; got {type(parser.vectors).__name__}")


def check_order(parser: HigherOrderParser) -> None:
    """Refuse an order or restarts out of range.

    Raises
    ------
    InputError
    """
    check_int("order", parser.order, low=2, high=3)
    check_int("restarts", parser.restarts, low=0)


def check_length(forms: Sequence[str]) -> None:
    """Refuse a sentence of more words than parts of several arcs can be told apart by.

    Raises
    ------
    InputError
    """
    if len(forms) > MOST_WORDS:
        raise InputError(f"with an order above 1 a sentence has at most {MOST_WORDS:,} words; got {len(forms):,}")
