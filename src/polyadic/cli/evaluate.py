"""``polyadic evaluate``: what word vectors know, by every test there is, always with what it covers."""

from polyadic.cli import options as o
from polyadic.cli import show, suite


def evaluate(
    vectors: o.Vectors,
    *,
    kinds: suite.Kinds = None,
    data: suite.Data = None,
    made: suite.Made = None,
    pairs: suite.Pairs = None,
    groups: suite.Groups = None,
    questions: suite.Questions = None,
    as_json: o.AsJson = False,
) -> None:
    """Test word vectors: similarity, outliers, analogies and more, each with its 95 % interval and what it covers."""
    from polyadic.embedding import read_vectors
    from polyadic.suites import words

    tests = suite.chosen(data=data, kinds=kinds, made=made, pairs=pairs, groups=groups, questions=questions)
    figures, left_out = words.evaluate(read_vectors(vectors), tests)
    rows = [figure.as_dict() for figure in figures]
    if as_json:
        show.in_json({"figures": rows, "left_out": left_out})
        return
    headings = ["test", "value", "95 %", "chance", "cases", "of"]
    show.table(
        headings,
        [[r["name"], r["value"], (r["low"], r["high"]), r["chance"], r["used"], r["total"]] for r in rows],
    )
    suite.tell(left_out, any_figure=bool(rows))
