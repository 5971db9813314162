"""Rules as text: what is written is read, and what cannot be read is told with its place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.data.universal_schema import read_published_rules
from helpers import refuses
from polyadic import InputError
from polyadic.relations.formulas import And, Atom, Implies, Not, Or, Rule, check_predicates
from polyadic.relations.rules import parse_rule, read_rules
from strategies import formulas

XY, YX = ("x", "y"), ("y", "x")
ODD = [
    "path#nn|<-nn<-unit->prep->of->pobj->|pobj",
    "REL$/organization/parent/child",
    'X , "head" of Y',
    "a\\b",
    "!",
    "5",
]


def rule_or_none(formula, weight=1.0):
    try:
        return Rule(formula, weight)
    except InputError:  # it always holds, never does, or does not bind a variable
        return None


def test_marks_bind_as_they_should():
    """``!`` before ``&`` before ``|`` before ``=>``, and of several ``=>`` the last first."""
    a, b, c = (Atom(name, XY) for name in "abc")
    assert parse_rule("!a(x,y) & b(x,y) | c(x,y) => a(y,x)").formula == Implies(
        Or((And((Not(a), b)), c)), Atom("a", YX)
    )
    assert parse_rule("a(x,y) => b(x,y) => c(x,y)").formula == Implies(a, Implies(b, c))
    assert parse_rule("!(a(x,y) & (b(x,y) | c(x,y)))").formula == Not(And((a, Or((b, c)))))
    assert parse_rule(" 2.5  a ( x , y )=>b(x,y)# rest ( is a remark") == Rule(Implies(a, b), 2.5)


@given(formulas(names=st.sampled_from("abc") | st.sampled_from(ODD) | st.text(min_size=1)), st.floats(1e-3, 1e3))
def test_what_is_written_is_read(formula, weight):
    """A rule written and read again is the same, whatever the names of predicates, if they fit on a line."""
    rule = rule_or_none(formula, weight)
    if rule is not None:
        assert parse_rule(str(rule)) == rule


def test_a_file_of_rules(tmp_path):
    """Remarks and empty lines are no rules; places name file, line and column, behind tabs and quotes too."""
    file = tmp_path / "few.rules"
    file.write_text(f'\ufeff# rules\n\na(x, y) => b(y, x)\r\n\t0.5 "{ODD[0]}"(x, y) => !a(x, y)  # less\n')
    first, second = read_rules(file)
    assert (str(first), str(second)) == ("a(x, y) => b(y, x)", f'0.5 "{ODD[0]}"(x, y) => !a(x, y)')
    assert str(second.place) == f"{file}, line 4, column 6"
    assert [atom.place.column for atom in second.atoms] == [6, len(ODD[0]) + 19]
    with pytest.raises(InputError, match=r"line 3, column 12: there is no predicate 'b'; did you mean 'bb'\?"):
        read_rules(file, predicates=["a", "bb", ODD[0]])


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("a(x, y", r"column 7: expected '\)' after two variables; found the end of the line"),
        ("a(x => b(x, y)", r"column 5: expected ',' or '\)' after a variable; found '=>'"),
        ("a(x, y) b(x, y)", "column 9: expected =>, &, | or the end of the line; found 'b'"),
        ("a(x, y) -> b(x, y)", "column 9: expected =>, &, | or the end of the line; found '->'"),
        ("a(x, y) = b(x, y)", "column 9: a predicate name that contains '=' must be quoted"),
        ('a(x, y) => "b(x, y)', "column 12: the quoted name is not closed"),
        ("a(x, y) =>", "column 11: expected a predicate, '!' or '\\('; found the end of the line"),
        ("a(1, y) => b(x, y)", "column 3: expected a variable; found '1'"),
        ("-1 a(x, y) => b(x, y)", "column 1: the weight of a rule must be a finite number above 0; found -1"),
        ("a(x, y) & b(x, y) => a(x, y)", "column 1: the rule is always true"),
        ("!(a(x, y) => a(x, y))", "column 1: the rule is always false"),
        (" & ".join(f"a{k}(x, y)" for k in range(13)), "column 1: the rule has 13 distinct atoms; at most 12"),
        ("(" * 2000 + "a(x, y)", "formulas are nested too deeply"),
        ("!" * 51 + "a(x, y) => b(x, y)", "column 52: formulas are nested too deeply"),
        ("a(x, y) => " * 52 + "b(x, y)", "column 562: formulas are nested too deeply"),
    ],
)
def test_faults_are_told_with_their_place(tmp_path, line, fault):
    """Each fault names file, line and column."""
    file = tmp_path / "bad.rules"
    file.write_text(f"a(x, y) => b(x, y)\n{line}\n")
    refuses(rf"bad\.rules, line 2, {'column .*' * (line[0] == '(')}{fault}", read_rules, file)


@pytest.mark.parametrize(
    "line", ["!" * 50 + "a(x, y)", "(" * 50 + "a(x, y)" + ")" * 50, "a(x, y) => " * 48 + "a(x, y)"]
)
def test_the_deepest_rules_are_written(line):
    """What is read can be written, compared and kept in sets."""
    rule = parse_rule(f"{line} => b(x, y)")
    assert len({rule, parse_rule(str(rule))}) == 1
    assert repr(rule)


@given(st.text(alphabet='ab(),!&|=>"\\# xy1.\t', max_size=30))
def test_any_line_is_read_or_refused(line):
    """Nothing but a rule or one sentence comes of a line."""
    try:
        rule = parse_rule(line)
    except InputError:
        return
    assert parse_rule(str(rule)) == rule


def test_predicates_that_are_not_there():
    """The place of the first is told, if it has one."""
    rules = [parse_rule("a(x, y) => b(x, y)"), Rule(Implies(Atom("a", XY), Atom("c", XY)))]
    refuses(r"^there is no predicate 'c'$", check_predicates, rules, ["a", "b"])


def test_published_rules(tmp_path):
    """Inverse predicates swap their variables, or keep their name where columns have it."""
    file = tmp_path / "published.txt"
    file.write_text("//1\t0.97\n  p:INV => r\n\np => !q:INV\n")
    assert [str(rule) for rule in read_published_rules(file)] == ["p(y, x) => r(x, y)", "p(x, y) => !q(y, x)"]
    kept = read_published_rules(file, inverses="columns")
    assert [str(rule) for rule in kept] == ["p:INV(x, y) => r(x, y)", "p(x, y) => !q:INV(x, y)"]
    assert [(atom.place.line, atom.place.column) for rule in kept for atom in rule.atoms] == [
        (2, 3), (2, 12), (4, 1), (4, 7),
    ]  # fmt: skip
    file.write_text("p => q\np = q\n")
    refuses(r"published\.txt, line 2: expected 'premise => conclusion'; got 'p = q'", read_published_rules, file)


@pytest.mark.realdata
def test_the_published_file(realdata, tmp_path):
    """It has 36 rules, 28 of them with object and subject swapped; in our form they are the same."""
    rules = read_published_rules(realdata / "relations" / "universal-schema" / "formulae" / "filtered.txt")
    assert (len(rules), sum(rule.atoms[0].arguments == YX for rule in rules)) == (36, 28)
    ours = tmp_path / "ours.rules"
    ours.write_text("".join(f"{rule}\n" for rule in rules), encoding="utf-8")
    assert read_rules(ours) == rules


def test_what_cannot_be_read(tmp_path):
    """A missing file, other bytes, and no rule at all."""
    file = tmp_path / "r"
    refuses("there is no file", read_rules, file)
    file.write_bytes(b"owns(x, \0)")
    refuses("is not a text file", read_rules, file)
    file.write_text("# nothing\n")
    refuses("contains no rules", read_rules, file)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("(" * 100_000, "formulas are nested too deeply"),
        ("!" * 100_000, "formulas are nested too deeply"),
        ("a(x, y) & " * 10_000 + "!", "line 1, column 100002: expected a predicate"),
        ('"' + "a" * 100_000, "the quoted name is not closed"),
        ("1" * 100_000 + " a(x, y)", "a finite number above 0; found 1{80}$"),
    ],
)
def test_lines_without_end_are_told_briefly(line, fault):
    """Of a line of 100,000 characters the fault is told in few."""
    with pytest.raises(InputError, match=fault) as told:
        parse_rule(line)
    assert len(str(told.value)) < 300


def test_a_long_rule_is_read():
    """A premise may say the same ten thousand times."""
    rule = parse_rule("a(x, y) & " * 10_000 + "a(x, y) => b(x, y)")
    assert [str(atom) for atom in rule.atoms] == ["a(x, y)", "b(x, y)"]
