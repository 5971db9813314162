"""``polyadic hmm`` and ``polyadic automaton``: hidden Markov models and weighted automata of symbol sequences."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from polyadic.core.errors import InputError, counted
from polyadic.core.settings import BUDGET, Amount, Count, File, Help, Metavar, Natural, Out, Seed
from polyadic.interface.run import Saved
from polyadic.interface.run import train as run
from polyadic.interface.task import Task

if TYPE_CHECKING:
    import numpy as np

    from polyadic.sequences.hidden_markov import HiddenMarkov
    from polyadic.sequences.spectral_automaton import SpectralAutomaton

HIDDEN = "polyadic.sequences.hidden_markov:HiddenMarkov"
SPECTRAL = "polyadic.sequences.spectral_automaton:SpectralAutomaton"
HMM = Task("hmm", "Hidden Markov models of symbol sequences: train, score, decode, sample.", model=HIDDEN)
AUTOMATON = Task(
    "automaton", "Weighted automata: train by spectral learning, score and sample strings.", model=SPECTRAL
)
END = "</s>"  # end symbol, if the ends of sequences are modelled
MIN_SEQUENCES = 20  # number of sequences from which a tenth is held out for selection
SAMPLED = 1000  # sequences that are sampled at a time
Sequences = Annotated[
    Path,
    Help(
        "File with one sequence per line and symbols separated by spaces; for Gaussian emissions, one vector of numbers"
        " per line and an empty line between sequences; - reads standard input."
    ),
    Metavar("SEQUENCES"),
]
Format = Annotated[
    Literal["lines", "pautomac"],
    Help("File format: one string per line (lines), or the format of the PAutomaC competition (pautomac)."),
]
Missing = Annotated[bool, Help("Treat symbols not seen in training as missing instead of raising an error.")]
Number = Annotated[Count, Help("Number of sequences to sample from the model.")]
SampleSeed = Annotated[Seed, Help("Random seed of the samples.")]


@HMM.verb(
    example="polyadic hmm train letters.txt --out hmm --states 4 --ends",
    settings={"given": (HIDDEN,)},
    options=("states", "smoothing", "init", "emissions", "max_iter", "ends"),
)
def train(
    sequences: Sequences,
    given: dict[str, Any],
    *,
    out: Out,
    ends: bool = False,
    choose: bool = True,
    budget: Amount = BUDGET,
    force: bool = False,
) -> Saved:
    """Fit a hidden Markov model by EM; states and smoothing are selected on held-out sequences if they are not given.

    Parameters
    ----------
    ends
        Append the end symbol </s> to each sequence, so that the model also predicts where sequences end.
    choose
        Use held-out sequences to select the settings that are not given.
    budget
        Time limit in seconds for the selection of settings.
    """
    from polyadic.core.selection import select
    from polyadic.sequences.hidden_markov import HiddenMarkov
    from polyadic.sequences.symbols import read_numbers, read_strings

    found: dict[str, Any] = {}
    numbers = given.get("emissions") == "gaussian"

    def read() -> list[Any]:
        if numbers and ends:
            raise InputError("ends requires emissions='symbols'", "ends", "emissions")
        data: list[Any] = read_numbers(sequences) if numbers else read_strings(sequences)
        if ends and any(END in sequence for sequence in data):
            about = f"must not contain the end symbol {END}; remove the symbol, or do not set ends"
            raise InputError(f"{sequences} {about}", "ends")
        found["data"] = data = [(*sequence, END) for sequence in data] if ends else data
        return data

    def fit(data: list[Any]) -> HiddenMarkov:
        free = numbers or given.get("init") == "random"
        symbols = HiddenMarkov.states if free else len({symbol for sequence in data for symbol in sequence})
        limited = {"states": max(1, min(HiddenMarkov.states, symbols))}
        model = HiddenMarkov(**limited | given)
        if not choose or len(data) < MIN_SEQUENCES:
            return model.fit(data)
        keep = {"states", "smoothing"} & given.keys()
        return select(model, data, keep=keep, budget=budget, seed=model.seed)

    def summary(model: HiddenMarkov) -> dict[str, Any]:
        data, log = found["data"], model.score(found["data"])
        many = sum(map(len, data))
        sizes = {"observations": many} if numbers else {"symbols": len(model.symbols_)}
        fit = {"log_likelihood": log} if numbers else {"perplexity": round(math.exp(-log / many), 4)}
        criteria = {"aic": round(model.aic(data), 2), "bic": round(model.bic(data), 2)}
        spent = {"seconds": round(model.result_.seconds[-1], 2)}
        return {"sequences": len(data), **sizes, "steps": model.n_iter_, **fit, **criteria, **spent}

    saved = run(HiddenMarkov(**given), read, out, force=force, fit=fit, summary=summary)
    return saved.then("hmm", "score", out, sequences)


def _print_scores(result: dict[str, Any]) -> None:
    """Print the log-probability of each sequence on one line or, if there are none, a table of summary scores."""
    from polyadic.interface import output

    key = next((key for key in ("log_probabilities", "log_likelihoods") if key in result), None)
    if key is None:
        output.facts(result)
    else:
        output.write_lines((f"{log:.10g}\n" for log in result[key]), None)


@HMM.verb(example="polyadic hmm score hmm letters.txt", show=_print_scores)
def score(model: HiddenMarkov, sequences: Sequences, *, each: bool = False, missing: Missing = False) -> dict[str, Any]:
    """Compute the log-probability and perplexity of sequences, with end symbols if the model was trained with --ends.

    Parameters
    ----------
    each
        Print the log-probability of each sequence instead of a summary.
    """
    data = [sequence for sequence, _ in _with_ends(sequences, model, missing=missing)]
    many, known = sum(map(len, data)), set(model.symbols_)
    seen = sum(symbol in known for sequence in data for symbol in sequence) if known else many
    if not seen:
        got = f"it has {counted(many, 'symbol')} in {counted(len(data), 'sequence')}"
        raise InputError(f"{sequences} has no symbol that occurs in the training sequences; {got}")
    logs = model.score_sequences(data)
    if each:
        return {"log_probabilities": logs.tolist()}
    if not known:
        return {"sequences": len(data), "observations": many, "log_likelihood": float(logs.sum())}
    result: dict[str, Any] = {"sequences": len(data), "symbols": seen}
    if missing:
        result["missing"] = many - seen
    result["log_probability"] = float(logs.sum())
    result["perplexity"] = math.exp(min(-result["log_probability"] / seen, 700))
    return result


@HMM.verb(example="polyadic hmm states hmm letters.txt --out states.txt", json=False)
def states(model: HiddenMarkov, sequences: Sequences, *, missing: Missing = False, out: File | None = None) -> None:
    """Write the most likely hidden state sequence (Viterbi path) of each sequence, one per line.

    Parameters
    ----------
    out
        File to write the output to (default: standard output).
    """
    from polyadic.interface import output

    data = _with_ends(sequences, model, missing=missing)
    paths = zip(model.predict([sequence for sequence, _ in data]), data, strict=True)
    output.write_lines((" ".join(map(str, path[:length].tolist())) + "\n" for path, (_, length) in paths), out)


def _print_states(result: dict[str, Any]) -> None:
    """Print the symbols and successors of each state on one line."""
    from polyadic.interface import output

    def line(part: Any) -> str:
        pairs = (each.values() if isinstance(each, dict) else ("", each) for each in part)
        return " ".join(f"{name}:{value:.2f}" if name != "" else f"{value:.4g}" for name, value in pairs)

    rows = [[state, *map(line, parts)] for state, *parts in (each.values() for each in result["states"])]
    output.table([*result["states"][0]], rows)


@HMM.verb(example="polyadic hmm top hmm", question=True, show=_print_states)
def top(model: HiddenMarkov, *, top: Count = 8) -> dict[str, Any]:
    """List the most likely symbols, or the mean, and the most likely next states of each hidden state.

    Parameters
    ----------
    top
        Number of symbols to list for each hidden state.
    """
    import numpy as np

    def largest(probabilities: Any, number: int) -> Iterator[tuple[int, float]]:
        best = np.argsort(-probabilities, kind="stable")[:number].tolist()
        return ((at, round(float(probabilities[at]), 6)) for at in best if probabilities[at] > 0)

    def described(state: int) -> dict[str, Any]:
        onward = [{"state": t, "probability": p} for t, p in largest(model.moves_[state], 3)]
        if model.symbols_:
            best = largest(model.emissions_[state], top)
            symbols = [{"symbol": str(model.symbols_[x]), "probability": p} for x, p in best]
            return {"state": state, "symbols": symbols, "next": onward}
        covars = model.covars_[state]
        deviations = np.sqrt(np.diagonal(covars) if covars.ndim == 2 else covars).tolist()
        return {"state": state, "mean": model.means_[state].tolist(), "standard_deviation": deviations, "next": onward}

    return {"states": list(map(described, range(len(model.start_))))}


@HMM.verb(example="polyadic hmm sample hmm --number 5", json=False)
def sample(model: HiddenMarkov, *, number: Number = 10, max_length: Count = 50, seed: SampleSeed = 0) -> None:
    """Sample sequences in the format of the training file; all have the maximum length unless trained with --ends.

    Parameters
    ----------
    max_length
        Maximum number of symbols in a sequence.
    """
    stop = END if END in model.symbols_ else None

    def draw(n: int, rng: np.random.Generator) -> list[list[Any]]:
        drawn = model.sample(n, length=max_length, stop=stop, seed=rng)
        if not model.symbols_:
            return [row for each in drawn for row in [*each.tolist(), []]]
        return [[x for x in each if x != END] for each in drawn]

    _write_samples(draw, number, seed)


def _with_ends(sequences: Path, model: HiddenMarkov, *, missing: bool) -> list[tuple[Any, int]]:
    """Read sequences and their lengths, appending the end symbol if the model has one."""
    from polyadic.sequences.symbols import read_numbers, read_strings

    if not model.symbols_:
        return [(table, len(table)) for table in read_numbers(sequences)]
    if missing:
        model.set_params(unknown="missing")
    ends = END in model.symbols_
    return [((*line, END) if ends and line[-1:] != (END,) else line, len(line)) for line in read_strings(sequences)]


def _write_samples(draw: Any, number: int, seed: int | None) -> None:
    """Sample sequences in batches and print each batch."""
    import numpy as np

    from polyadic.interface import output

    rng = np.random.default_rng(seed)
    sizes = (min(SAMPLED, number - start) for start in range(0, number, SAMPLED))
    output.write_lines((" ".join(map(str, each)) + "\n" for size in sizes for each in draw(size, rng)), None)


@AUTOMATON.verb(
    word="train",
    example="polyadic automaton train letters.txt --out automaton",
    settings={"model": SPECTRAL},
    options=("format", "rank", "method", "statistic", "basis", "order", "held_out"),
)
def train_automaton(
    strings: Sequences,
    model: SpectralAutomaton,
    *,
    out: Out,
    format: Format = "lines",  # noqa: A002 # the option of other commands that read files
    force: bool = False,
) -> Saved:
    """Fit a weighted automaton to a file of strings, in which an empty line stands for the empty string."""
    import time

    began, size = time.perf_counter(), [0]

    def read() -> Any:
        data, model.alphabet = _read(strings, format)
        if format == "pautomac" and isinstance(model.unknown, str) and model.unknown.isdecimal():
            model.unknown = int(model.unknown)
        size[0] = len(data)
        return data

    def summary(model: SpectralAutomaton) -> dict[str, Any]:
        result: dict[str, Any] = {"strings": size[0], "symbols": len(model.symbols_), "states": model.rank_}
        if model.held_out:
            result["log_likelihood"] = round(max(model.tried_.values()), 4)
            result["automaton_share"] = round(model.model_.share, 4)
        return result | {"seconds": round(time.perf_counter() - began, 2)}

    return run(model, read, out, force=force, summary=summary).then("automaton", "score", out, strings)


@AUTOMATON.verb(word="score", example="polyadic automaton score automaton letters.txt", show=_print_scores)
def score_strings(
    model: SpectralAutomaton,
    strings: Sequences,
    *,
    format: Format = "lines",  # noqa: A002 # as above
    solution: File | None = None,
    each: bool = False,
) -> dict[str, Any]:
    """Compute the mean log-likelihood and perplexity of strings, and the PAutomaC score if --solution is given.

    Parameters
    ----------
    solution
        PAutomaC solution file with the true probability of each string.
    each
        Print the log-likelihood of each string instead of a summary.
    """
    from polyadic.metrics.strings import string_perplexity
    from polyadic.sequences.symbols import read_probabilities

    data, _ = _read(strings, format)
    symbols = {str(symbol): symbol for symbol in model.symbols_}  # words and numbers look alike in a file
    logs = model.log_likelihoods([[symbols.get(str(symbol), symbol) for symbol in string] for string in data])
    if each:
        return {"log_likelihoods": logs.tolist()}
    units = len(data) + sum(map(len, data))
    result: dict[str, Any] = {"strings": len(data), "log_likelihood": float(logs.mean())}
    result["perplexity_per_symbol"] = math.exp(-float(logs.sum()) / units)
    if solution is not None:
        truth = read_probabilities(solution)
        if len(truth) != len(data):
            got = f"{len(truth):,} probabilities for {len(data):,} strings in {strings}"
            raise InputError(f"{solution} must contain one probability for each string; got {got}")
        result["perplexity"] = string_perplexity(truth, logs)
    return result


@AUTOMATON.verb(word="sample", example="polyadic automaton sample automaton --number 5", json=False)
def sample_strings(
    model: SpectralAutomaton, *, number: Number = 10, max_length: Natural = 1000, seed: SampleSeed = 0
) -> None:
    """Sample strings from a weighted automaton, one per line.

    Parameters
    ----------
    max_length
        Maximum number of symbols in a string.
    """
    _write_samples(lambda n, rng: model.sample(n, max_length=max_length, seed=rng), number, seed)


def _read(strings: Path, form: str) -> tuple[Any, Any]:
    """Read strings, and their alphabet if the file declares it."""
    from polyadic.sequences.symbols import read_pautomac, read_strings

    if form == "pautomac":
        data, size = read_pautomac(strings)
        return data, range(size)
    return read_strings(strings), None
