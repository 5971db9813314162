"""``polyadic automaton``: probabilities of strings by a weighted automaton."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from polyadic.cli import options as o
from polyadic.cli import show
from polyadic.core.errors import InputError

app = typer.Typer(no_args_is_help=True, help="Learn an automaton from strings; score and draw strings.")

Strings = Annotated[
    Path,
    typer.Argument(metavar="STRINGS", help="A string a line, spaces between its symbols; `-` for standard input."),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A folder made by `polyadic automaton train`.")]
Format = Annotated[
    Literal["lines", "pautomac"],
    typer.Option("--format", help="pautomac: a line `strings size`, then `length symbol symbol ...`."),
]
Ranks = Annotated[
    str,
    typer.Option("--rank", metavar="R[,R...]", help="States; of several, from the fewest on, strings held out choose."),
]
Method = Annotated[
    Literal["hull", "svd"],
    typer.Option(help="hull: no negative weights, improved by likelihood. svd: singular vectors."),
]
Statistic = Annotated[
    Literal["factor", "prefix", "string"], typer.Option(help="What is counted: substrings, prefixes or whole strings.")
]
Basis = Annotated[int, typer.Option(min=1, help="Prefixes and suffixes of the matrix, each.")]
MaxLength = Annotated[int, typer.Option(min=0, help="Symbols of each at most.")]
Passes = Annotated[int, typer.Option(min=0, help="Over the strings, at most, to improve the likelihood (hull).")]
Starts = Annotated[int, typer.Option(min=1, help="Times that the passes begin anew for each rank (hull).")]
Order = Annotated[int, typer.Option(min=0, help="Of the n-grams that are mixed in; 0 mixes in equal probabilities.")]
HeldOut = Annotated[
    float, typer.Option(min=0, max=0.9, help="Share of strings held out to choose by; 0 takes one rank.")
]
Unknown = Annotated[str | None, typer.Option(help="Symbol of the strings that stands for those never seen.")]
Each = Annotated[bool, typer.Option("--each", help="Print the log-probability of each string, one a line.")]
Solution = Annotated[
    Path | None, typer.Option("--solution", metavar="FILE", help="True probabilities, as PAutomaC has them.")
]
Many = Annotated[int, typer.Option("--number", "-n", min=1, help="How many strings to draw.")]
DrawMaxLength = Annotated[int, typer.Option("--max-length", min=0, help="Symbols of a string at most.")]
DrawSeed = Annotated[int, typer.Option("--seed", min=0, help="The same seed draws the same strings.")]


def train(
    strings: Strings,
    *,
    out: o.Out,
    form: Format = "lines",
    rank: Ranks = "5,10,20,40,80,160",
    method: Method = "hull",
    statistic: Statistic = "factor",
    basis: Basis = 300,
    max_length: MaxLength = 4,
    passes: Passes = 100,
    starts: Starts = 1,
    order: Order = 3,
    held_out: HeldOut = 0.1,
    unknown: Unknown = None,
    seed: o.Seed = 0,
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Learn an automaton from strings; an empty line is the empty string."""
    import time

    from polyadic.core.files import check_replaceable
    from polyadic.core.serialization import KIND
    from polyadic.sequences.spectral_automaton import SpectralAutomaton

    check_replaceable(out, KIND, overwrite=force)
    ranks = o.numbers("--rank", rank, o.positive)
    if not ranks:
        raise InputError("--rank takes at least one number")
    data, alphabet = _read(strings, form)
    number = form == "pautomac" and unknown is not None and unknown.isdecimal()
    options: dict[str, Any] = {"method": method, "statistic": statistic, "basis": basis, "max_length": max_length}
    options |= {"passes": passes, "starts": starts, "order": order, "held_out": held_out}
    options["unknown"] = int(str(unknown)) if number else unknown
    began = time.perf_counter()
    model = SpectralAutomaton(list(ranks), alphabet=alphabet, seed=seed, **options).fit(data)
    facts: dict[str, Any] = {"strings": len(data), "symbols": len(model.symbols_), "states": model.rank_}
    if held_out:
        facts |= {
            "log_likelihood": round(max(model.tried_.values()), 4),
            "automaton_share": round(model.model_.share, 4),
        }
    facts |= {"seconds": round(time.perf_counter() - began, 2)}
    show.saved(model, out, facts, force=force, as_json=as_json, hint=("automaton", "score", out, "STRINGS"))


def score(
    model: Model,
    strings: Strings,
    *,
    form: Format = "lines",
    solution: Solution = None,
    each: Each = False,
    as_json: o.AsJson = False,
) -> None:
    """Tell the log-likelihood and perplexities of strings; with true probabilities the perplexity of PAutomaC."""
    import math

    from polyadic.metrics.strings import string_perplexity
    from polyadic.sequences.strings import read_probabilities

    automaton = _load(model)
    data, _ = _read(strings, form)
    symbols = {str(symbol): symbol for symbol in automaton.symbols_}  # words and numbers look alike in a file
    logs = automaton.log_likelihoods([[symbols.get(str(symbol), symbol) for symbol in string] for string in data])
    if each and as_json:
        show.in_json({"log_likelihoods": logs.tolist()})
        return
    if each:
        for log in logs.tolist():
            typer.echo(f"{log:.10g}")
        return
    units = len(data) + sum(map(len, data))
    facts: dict[str, Any] = {"strings": len(data), "log_likelihood": float(logs.mean())}
    facts["perplexity_per_symbol"] = math.exp(-float(logs.sum()) / units)
    if solution is not None:
        truth = read_probabilities(solution)
        if len(truth) != len(data):
            raise InputError(f"{solution} has {len(truth):,} probabilities and {strings} has {len(data):,} strings")
        facts["perplexity"] = string_perplexity(truth, logs)
    show.facts(facts, as_json=as_json)


def sample(model: Model, *, number: Many = 10, max_length: DrawMaxLength = 1000, seed: DrawSeed = 0) -> None:
    """Draw strings, one a line."""
    learned = _load(model)
    show.drawn(lambda n, rng: learned.sample(n, max_length=max_length, seed=rng), number, seed)


def _load(model: Path) -> Any:
    from polyadic.core.serialization import load
    from polyadic.sequences.spectral_automaton import SpectralAutomaton

    return load(model, SpectralAutomaton)


def _read(strings: Path, form: str) -> tuple[Any, Any]:
    """Give strings, and their alphabet if the file names it."""
    from polyadic.sequences.strings import read_pautomac, read_strings

    if form == "pautomac":
        problem = read_pautomac(strings)
        return problem.strings, range(problem.size)
    return read_strings(strings), None


show.add_verbs(
    app,
    {
        train: "polyadic automaton train letters.txt --out automaton",
        score: "polyadic automaton score automaton letters.txt",
        sample: "polyadic automaton sample automaton --number 5",
    },
)
