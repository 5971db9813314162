"""Lines of numbered features: what is read, in pieces and whole, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyadic.core.errors import InputError
from polyadic.text.feature_lines import feature_blocks, read_feature_lines

NUMBERS = st.floats(-1e6, 1e6, allow_nan=False)
LINES = st.lists(
    st.tuples(NUMBERS, st.integers(0, 3), st.dictionaries(st.integers(0, 50), NUMBERS, max_size=4)), min_size=1
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "lists.txt"


@given(LINES, st.booleans(), st.integers(1, 200))
def test_what_is_written_is_read(tmp_path_factory, lines, grouped, size):
    """Any lines, with groups or without, features in any order, in pieces of any size: groups are never cut."""
    lines = sorted(lines, key=lambda line: line[1])
    path = tmp_path_factory.mktemp("lines") / "lists.txt"
    with path.open("w") as file:
        for label, group, features in lines:
            told = "".join(f" {at}:{value!r}" for at, value in features.items())
            file.write(f"{label!r}{f' qid:{group}' if grouped else ''}{told}  # said\n\n")
    X, y, groups = read_feature_lines(path, features=60)
    expected = np.zeros((len(lines), 60))
    for i, (_, _, features) in enumerate(lines):
        for at, value in features.items():
            expected[i, at] = value
    np.testing.assert_array_equal(X.toarray(), expected)
    assert y.tolist() == [label for label, _, _ in lines]
    assert groups.tolist() == [group if grouped else -1 for _, group, _ in lines]
    parts = [*feature_blocks(path, size=size)]
    assert np.concatenate([part.groups for part in parts]).tolist() == groups.tolist()
    assert np.concatenate([part.labels for part in parts]).tolist() == y.tolist()
    if grouped:
        ends = [part.groups[-1] for part in parts[:-1]]
        assert all(end != part.groups[0] for end, part in zip(ends, parts[1:], strict=True))


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("1 1:2\n1:0.5 2:1\n", "line 2: expected a label"),
        ("1 1:2\n\n0 1:inf\n", "line 3: expected a finite number; got 'inf'"),
        ("1 1:nan\n", "line 1: expected a finite number; got 'nan'"),
        ("nan 1:1\n", "line 1: expected a finite number; got 'nan'"),
        ("1 1:1 1:2\n", "line 1: the feature index 1 occurs twice"),
        ("1 -1:1\n", "line 1: expected an integer from 0 to .* got '-1'"),
        ("1 3000000000:1\n", "line 1: expected an integer from 0 to .* got '3000000000'"),
        ("1 a\n", "line 1: expected index:value; got 'a'"),
        ("1 0:10:1\n", "line 1: expected index:value; got '0:10:1', as in libFFM's field:index:value"),
        ("yes 1:1\n", "line 1: expected a finite number; got 'yes'"),
        ("1 qid:1 1:1\n0 1:1\n", "line 2: query ids \\(qid:\\) must be given on all lines"),
        ("1 qid:x 1:1\n", "line 1: expected an integer from 0 to .* got 'x'"),
        ("1 qid:-1 1:1\n", "line 1: expected an integer from 0 to .* got '-1'"),
        ("", "is empty"),
    ],
)
def test_faults_are_named(path, content, fault):
    """What is no such line is refused by its number, also in later pieces."""
    path.write_text(content)
    with pytest.raises(InputError, match=fault):
        read_feature_lines(path)
    if content:
        path.write_text("1 qid:0 1:1\n" * 40 + content if "qid" in content else "1 1:1\n" * 40 + content)
        line = int(fault.split(":")[0].split()[1]) + 40
        with pytest.raises(InputError, match=f"line {line}: "):
            list(feature_blocks(path, size=20))


def test_no_file(path):
    """A file that is not there, or has no line, is refused."""
    with pytest.raises(InputError, match="there is no file"):
        read_feature_lines(path)
    path.write_text("# a heading\n\n")
    with pytest.raises(InputError, match="only comments"):
        read_feature_lines(path)


def test_marks_of_windows(path):
    """A mark of the encoding and its line ends are no part of what is said."""
    path.write_bytes(b"\xef\xbb\xbf1 1:2\r\n0 2:3\r\n")
    found = read_feature_lines(path)
    assert found.features.toarray().tolist() == [[0, 2, 0], [0, 0, 3]]
    assert found.labels.tolist() == [1, 0]


def test_many_short_lines(tmp_path):
    """Of 100,000 lines of a list each is read, and a last one without ``qid:`` is told by its number."""
    path = tmp_path / "lines.txt"
    path.write_text("".join(f"{n % 2} qid:{n // 9} {n % 5}:1\n" for n in range(100_000)))
    X, y, groups = read_feature_lines(path)
    assert X.indices.tolist() == [n % 5 for n in range(100_000)]
    assert y.tolist() == [n % 2 for n in range(100_000)]
    assert groups.tolist() == [n // 9 for n in range(100_000)]
    path.write_text("1 qid:1 1:1\n" * 100_000 + "1 1:1\n")
    with pytest.raises(InputError, match="line 100001: query ids \\(qid:\\) must be given on all lines"):
        read_feature_lines(path)
