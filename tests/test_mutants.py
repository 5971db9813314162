"""Whatever is in a file, it is read or refused in one clear sentence; what is damaged in a saved folder is never loaded."""

import pytest

from mutants import READERS, mutants

every_reader = pytest.mark.parametrize("name", sorted(READERS))


def refused(name, number, seed, folder):
    """Let a reader have mutants; give how many it refused."""
    reader, refusals = READERS[name], 0
    for at, content in enumerate(mutants(reader.content, number, seed)):
        try:
            refusal = reader.refuses(content, folder)
        except BaseException as error:
            error.add_note(f"mutant {at} of seed {seed} of {name}: {content[:300]!r}")
            raise
        assert "\n" not in refusal.strip(), content[:300]
        refusals += bool(refusal)
    return refusals


@every_reader
def test_examples_are_valid(name, tmp_path):
    """What mutants are made of is read without an objection."""
    assert READERS[name].refuses(READERS[name].content, tmp_path) == ""


@every_reader
def test_readers_read_or_refuse(name, tmp_path):
    """Nothing else happens to what is nearly right."""
    refused(name, 20, 0, tmp_path)


@pytest.mark.slow
@every_reader
def test_readers_read_or_refuse_more(name, tmp_path):
    """Nor to ten times as much of it."""
    refused(name, 200, 1, tmp_path)
