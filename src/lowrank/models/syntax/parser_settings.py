"""What a low-rank parser may be told, when it is made and when it comes from a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from lowrank.embedding import Embedding
from lowrank.errors import InputError, check_choice, check_int, check_number
from lowrank.models.syntax.tensor_parses import Decoding
from lowrank.solvers.arc_tensor import Updates

if TYPE_CHECKING:
    from lowrank.models.syntax.low_rank_parser import LowRankParser

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
    if not isinstance(parser.vectors, Embedding | None):
        raise InputError(f"vectors must be an Embedding, as read_vectors gives it; got {type(parser.vectors).__name__}")
