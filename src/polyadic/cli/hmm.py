"""``polyadic hmm``: sequences of symbols by hidden states."""

import math
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from polyadic.cli import options as o
from polyadic.cli import show
from polyadic.core.errors import InputError

app = typer.Typer(no_args_is_help=True, help="Learn a hidden Markov model from sequences; score, draw, tell states.")

END = "</s>"
"""Symbol behind each sequence where ends are learned."""

Sequences = Annotated[
    Path,
    typer.Argument(metavar="SEQUENCES", help="A sequence a line, spaces between its symbols; `-` for standard input."),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A folder made by `polyadic hmm train`.")]
States = Annotated[
    int | None, typer.Option(min=1, help="Hidden states.", show_default="sequences held out choose, or 10")
]
Init = Annotated[
    Literal["best", "spectral", "anchors", "clusters", "random"],
    typer.Option(
        help="Where Baum-Welch starts: at moments of three symbols, at anchors or clusters of symbols, at the one"
        " of these that is best after ten steps, or by chance."
    ),
]
MaxIter = Annotated[int, typer.Option(min=1, help="Maximum number of EM iterations.")]
Smoothing = Annotated[
    float | None,
    typer.Option(min=0, help="Added to each expected count.", show_default="sequences held out choose, or 0"),
]
FEWEST = 20
"""Sequences of which a tenth can choose."""
Ends = Annotated[bool, typer.Option("--ends", help=f"Learn where sequences end too, as the symbol {END}.")]
Each = Annotated[bool, typer.Option("--each", help="Print the log-probability of each sequence, one a line.")]
Many = Annotated[int, typer.Option("--number", "-n", min=1, help="How many sequences to draw.")]
Length = Annotated[int, typer.Option("--length", min=1, help="Symbols of a sequence at most.")]
DrawSeed = Annotated[int, typer.Option("--seed", min=0, help="The same seed draws the same sequences.")]
Missing = Annotated[
    bool, typer.Option("--missing", help="Pass over symbols that were not seen in training; else they are refused.")
]


def train(
    sequences: Sequences,
    *,
    out: o.Out,
    states: States = None,
    init: Init = "best",
    max_iter: MaxIter = 100,
    smoothing: Smoothing = None,
    ends: Ends = False,
    choose: o.Choose = True,
    budget: o.Budget = None,
    seed: o.Seed = 0,
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Learn from sequences; states and smoothing that are not given are chosen by sequences held out."""
    from polyadic.core.files import check_replaceable
    from polyadic.core.selection import BUDGET, chosen
    from polyadic.core.serialization import KIND
    from polyadic.sequences.hidden_markov import HiddenMarkov
    from polyadic.sequences.strings import read_strings

    check_replaceable(out, KIND, overwrite=force)
    data = read_strings(sequences)
    if ends:
        if any(END in sequence for sequence in data):
            raise InputError(f"{sequences} has the symbol {END} already; leave it or --ends out")
        data = [(*sequence, END) for sequence in data]
    both: dict[str, Any] = {"states": states, "smoothing": smoothing}
    given = {name: value for name, value in both.items() if value is not None}
    symbols = len({symbol for sequence in data for symbol in sequence})
    first = given if init == "random" else {"states": max(1, min(HiddenMarkov.states, symbols)), **given}
    model = HiddenMarkov(**first, init=init, max_iter=max_iter, seed=seed)
    if choose and len(data) >= FEWEST:
        model = chosen(model, data, keep=given, budget=BUDGET if budget is None else budget, seed=seed)
    else:
        model.fit(data)
    facts: dict[str, Any] = {"sequences": len(data), "symbols": len(model.symbols_), "steps": model.n_iter_}
    facts |= {"perplexity": round(math.exp(-model.score(data) / sum(map(len, data))), 4)}
    facts |= {"seconds": round(model.result_.seconds[-1], 2)}
    show.saved(model, out, facts, force=force, as_json=as_json, hint=("hmm", "score", out, "SEQUENCES"))


def score(
    model: Model, sequences: Sequences, *, each: Each = False, missing: Missing = False, as_json: o.AsJson = False
) -> None:
    """Tell the log-probability and the perplexity of sequences, with their ends if the model knows any."""
    chain = _load(model, missing=missing)
    data = [sequence for sequence, _ in _read(sequences, chain)]
    logs = chain.score_sequences(data)
    if each:
        for log in logs.tolist():
            typer.echo(f"{log:.10g}")
        return
    known = set(chain.symbols_)
    seen = sum(symbol in known for sequence in data for symbol in sequence)
    facts: dict[str, Any] = {"sequences": len(data), "symbols": seen}
    if missing:
        facts["missing"] = sum(map(len, data)) - seen
    facts |= {"log_probability": float(logs.sum())}
    facts["perplexity"] = math.exp(min(-facts["log_probability"] / max(facts["symbols"], 1), 700))
    show.facts(facts, as_json=as_json)


def states(model: Model, sequences: Sequences, *, missing: Missing = False, out: o.File = None) -> None:
    """Write the likeliest hidden states of each sequence, numbers from 0, a line for each."""
    chain = _load(model, missing=missing)
    data = _read(sequences, chain)
    paths = zip(chain.predict([sequence for sequence, _ in data]), data, strict=True)
    show.write_lines((" ".join(map(str, path[:length].tolist())) + "\n" for path, (_, length) in paths), out)


def top(model: Model, *, top: o.Top = 8, as_json: o.AsJson = False) -> None:
    """Show the likeliest symbols of each state, and where it mostly goes next."""
    import numpy as np

    chain = _load(model)
    rows = []
    for chances, moves in zip(chain.emissions_, chain.moves_, strict=True):
        best = np.argsort(-chances, kind="stable")[:top]
        after = np.argsort(-moves, kind="stable")[:3]
        rows.append(
            (
                [(str(chain.symbols_[x]), float(chances[x])) for x in best if chances[x] > 0],
                [(int(t), float(moves[t])) for t in after if moves[t] > 0],
            )
        )
    if as_json:
        of_state = [
            {
                "state": state,
                "symbols": [{"symbol": name, "probability": round(p, 6)} for name, p in symbols],
                "next": [{"state": t, "probability": round(p, 6)} for t, p in after],
            }
            for state, (symbols, after) in enumerate(rows)
        ]
        show.in_json({"states": of_state})
    else:
        cells = [[" ".join(f"{name}:{p:.2f}" for name, p in part) for part in row] for row in rows]
        show.table(["state", "symbols", "next"], [(state, *row) for state, row in enumerate(cells)])


def sample(model: Model, *, number: Many = 10, length: Length = 50, seed: DrawSeed = 0) -> None:
    """Draw sequences, one a line; without ends they have the greatest length."""
    chain = _load(model)
    stop = END if END in chain.symbols_ else None

    def draw(n: int, rng: Any) -> list[list[Any]]:
        sequences = chain.sample(n, length=length, stop=stop, seed=rng)
        return [[symbol for symbol in sequence if symbol != END] for sequence in sequences]

    show.drawn(draw, number, seed)


def _load(model: Path, *, missing: bool = False) -> Any:
    from polyadic.core.serialization import load
    from polyadic.sequences.hidden_markov import HiddenMarkov

    chain = load(model, HiddenMarkov)
    chain.unknown = "missing" if missing else chain.unknown
    return chain


def _read(sequences: Path, model: Any) -> list[tuple[tuple[str, ...], int]]:
    """Give sequences and their lengths; where the model knows an end, one that has none gets it, beyond its length."""
    from polyadic.sequences.strings import read_strings

    ends = END in model.symbols_
    data = read_strings(sequences)
    return [((*line, END) if ends and line[-1:] != (END,) else line, len(line)) for line in data]


show.add_verbs(
    app,
    {
        train: "polyadic hmm train letters.txt --out hmm --states 4 --ends",
        score: "polyadic hmm score hmm letters.txt",
        states: "polyadic hmm states hmm letters.txt --out states.txt",
        top: "polyadic hmm top hmm",
        sample: "polyadic hmm sample hmm --number 5",
    },
)
