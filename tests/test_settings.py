"""Settings: what annotations allow, and how what they refuse is told."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from polyadic import InputError
from polyadic.core.losses import Huber, Loss
from polyadic.core.settings import (
    Amount,
    Count,
    Natural,
    Positive,
    Seed,
    Share,
    Within,
    admits,
    check_settings,
    spelled,
)


class Alias:
    """Stands for something, as ``NDArray`` does from numpy 2.5 and Python 3.12 on."""

    __value__ = NDArray[Any] | Literal["none"]


CASES = [
    (Alias, [np.zeros(2), "none"], [[0.0], None], "an array or one of 'none'"),
    (Count, [1, 7, np.int64(3)], [0, -1, 1.0, True, "1", None, np.bool_(True)], "a whole number of at least 1"),
    (Natural, [0, np.uint8(2)], [-1, 0.5], "a whole number of at least 0"),
    (Amount, [0, 0.5, np.float32(2)], [-0.1, float("nan"), float("inf"), "x"], "a finite number of at least 0"),
    (Positive, [1e-9, 2], [0, -1], "a finite number greater than 0"),
    (Share, [0, 0.5, 1], [1.1, -0.1], "a finite number from 0 to 1"),
    (Seed, [None, 0, 5], [-1, 0.5], "a whole number of at least 0 or None"),
    (Annotated[int, Within(2, 5)], [2, 5], [1, 6], "a whole number from 2 to 5"),
    (Annotated[float, Within(0, 1, above=True)], [0.1, 1], [0, 1.5], "a finite number above 0 up to 1"),
    (Annotated[int, Within(0, 2**32 - 1)], [2**32 - 1], [2**32], "a whole number from 0 to 4,294,967,295"),
    (bool, [True, np.bool_(False)], [1, 0, "yes", None], "True or False"),
    (str, ["", "a"], [b"a", 1], "text"),
    (Literal["a", "b"], ["a", np.str_("b")], ["c", None, np.zeros(3)], "one of 'a', 'b'"),
    (Literal[1, 2] | None, [2, np.int64(2), None], [4, "2", True, 1.0], "one of 1, 2 or None"),
    (
        Sequence[Count],
        [[1, 2], (3,), np.array([1, 2]), []],
        [[0], "12", 3],
        "a sequence, each a whole number of at least 1",
    ),
    (tuple[Count, ...], [(1, 2), ()], [[1], (0,)], "a tuple, each a whole number of at least 1"),
    (tuple[float, str], [(1.0, "a")], [(1.0,), ("a", 1.0)], "a tuple of a finite number, text"),
    (Mapping[str, Amount], [{"a": 1.0}], [{"a": -1.0}, {1: 1.0}, []], "a mapping to a finite number of at least 0"),
    (Callable[[int], int], [len, lambda x: x], [3, None], "a function"),
    (NDArray[Any] | None, [np.zeros(3), None], [[0.0]], "an array or None"),
    (Loss, [Huber()], ["huber", None], "a Loss"),
    (Any, [1, None, object()], [], None),
]


@pytest.mark.parametrize(("hint", "right", "wrong", "words"), CASES, ids=lambda case: str(case)[:30])
def test_annotations_say_what_is_allowed(hint, right, wrong, words):
    """Each kind of annotation lets through what it says, and nothing else, and can be read aloud."""
    assert [value for value in right if not admits(hint, value)] == []
    assert [value for value in wrong if admits(hint, value)] == []
    assert words is None or spelled(hint) == words


@dataclass
class Base:
    rank: Count = 3


@dataclass
class Derived(Base):
    share: Share = 0.5


def test_settings_of_bases_are_settings():
    """A subclass is checked for what its base declares, first come first told."""
    check_settings(Derived())
    with pytest.raises(InputError, match=r"^rank must be a whole number of at least 1; got 0$"):
        check_settings(Derived(rank=0, share=2))
    with pytest.raises(InputError, match=r"^share must be a finite number from 0 to 1; got 2$"):
        check_settings(Derived(share=2))
