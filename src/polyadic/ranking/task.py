"""``polyadic rerank``: select the best candidate of each list with a model trained on other lists."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from polyadic.core.errors import InputError, counted
from polyadic.core.settings import Count, File, Help, Metavar, Out
from polyadic.interface import output
from polyadic.interface.errors import say
from polyadic.interface.run import Saved
from polyadic.interface.run import train as run
from polyadic.interface.task import Task

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from polyadic.core.query_groups import QueryGroups
    from polyadic.ranking.nbest import NBestLists
    from polyadic.ranking.reranking import Reranker

TASK = Task(
    "rerank",
    "Rerank n-best lists by features, with linear weights or a low-rank tensor of weights.",
    model="polyadic.ranking.reranking:Reranker",
)
CLASSES = "linear_rerankers:RankingPerceptron", "linear_rerankers:MIRA", "tensor_mira:TensorMIRA"
SETTINGS = tuple(f"polyadic.ranking.{name}" for name in CLASSES)
"""Classes whose settings training takes; of a setting that several have, the last describes it."""
Lists = Annotated[
    Path,
    Help("File with a list of candidates on each line (JSON lines), or a single candidate on each line (SVMrank)."),
    Metavar("LISTS"),
]
Format = Annotated[Literal["auto", "jsonl", "svmrank"], Help("Format of the file of candidate lists; auto detects it.")]
Unknown = Annotated[
    Literal["ignore", "error"],
    Help("Treatment of features that were not in the training data: ignore and count them, or raise an error."),
]


@TASK.verb(
    example="polyadic rerank train spellings.jsonl --out reranker",
    settings={"given": SETTINGS},
    options=("method", "rank", "order", "C", "max_iter", "validation", "format"),
)
def train(
    lists: Lists,
    given: dict[str, Any],
    *,
    out: Out,
    method: Literal["perceptron", "mira", "tensor-mira"] = "tensor-mira",
    validation: File | None = None,
    min_count: Count = 1,
    format: Format = "auto",  # noqa: A002 # the option of other commands that read files
    force: bool = False,
) -> Saved:
    """Fit a reranker to lists of candidates with costs.

    One block of the file is in memory at a time.

    Parameters
    ----------
    method
        Method: one weight per feature (perceptron, mira), or a low-rank weight tensor (tensor-mira).
    validation
        File of validation lists; the epoch with the lowest cost is kept.
    min_count
        Minimum number of lists in which a feature occurs (JSON lines).
    """
    from polyadic.core.methods import Method, refuse_unused
    from polyadic.ranking.linear_rerankers import MIRA, RankingPerceptron
    from polyadic.ranking.tensor_mira import TensorMIRA

    methods = {"perceptron": Method(RankingPerceptron), "mira": Method(MIRA), "tensor-mira": Method(TensorMIRA)}
    refuse_unused(methods, method, given)
    model = methods[method].make(given)

    def read() -> tuple[Any, Any]:
        data = _opened(lists, format, {"min_count": min_count})
        names = getattr(data, "names", None)
        return data, None if validation is None else _opened_for(names, validation, format, unknown="ignore")

    def summary(fitted: Any) -> Mapping[str, Any]:
        tensor = method == "tensor-mira"
        facts: dict[str, Any] = {"model": method, "features": len(fitted.weights_)}
        facts["parameters"] = sum(w.size for w in fitted.factors_) if tensor else len(fitted.weights_)
        facts |= {"epochs": fitted.n_iter_, "seconds": round(fitted.result_.seconds[-1], 2)}
        facts["cost"] = fitted.history_[-1]
        if validation is not None:
            facts |= {"validation_cost": min(fitted.result_.measured), "best_epoch": fitted.result_.best}
        return facts

    def fit(data: tuple[Any, Any]) -> Any:
        return model.fit(data[0], validation=data[1])

    return run(model, read, out, force=force, summary=summary, fit=fit).then("rerank", "evaluate", out, "LISTS")


@TASK.verb(example="polyadic rerank apply reranker test.jsonl --out chosen.jsonl", json=False)
def apply(
    model: Reranker,
    lists: Lists,
    *,
    out: File | None = None,
    scores: bool = False,
    unknown: Unknown = "ignore",
    format: Format = "auto",  # noqa: A002 # as above
    force: bool = False,
) -> None:
    """Select the highest-scoring candidate of each list.

    The output is a line per list for JSON lines, or a score per candidate for SVMrank lines.

    Costs are optional, and ignored.

    Parameters
    ----------
    out
        File to write the output to (default: standard output).
    scores
        Add the scores of all candidates to the output (JSON lines only).
    """
    output.check_file(out, force=force)
    blocks = _opened_for(model.names_, lists, format, unknown=unknown, costs=False)
    lines = _selected(model, blocks, scores=scores) if hasattr(blocks, "blocks") else _scored(model, blocks, unknown)
    output.write_lines(lines, out)
    if getattr(blocks, "ignored", 0):
        say(f"ignored {counted(blocks.ignored, 'occurrence')} of features that are not in the training data", "warning")


COSTS = {
    "first": "mean cost, first candidate",
    "reranked": "mean cost, reranked",
    "oracle": "mean cost, oracle",
    "random": "mean cost, random candidate",
    "gained": "share of the gap to the oracle",
    "moved": "lists with a new first candidate",
    "tied": "lists with ties",
    "worst": "mean cost, worst order of ties",
}
"""Names of rows in the table of costs."""


def _print_costs(result: dict[str, Any]) -> None:
    """Print the costs with their full names."""
    rows = [(COSTS.get(name, output.heading(name)), value) for name, value in result.items() if name != "metrics"]
    output.table(["name", "value"], rows)
    figures = [(each["name"], each["value"], (each["low"], each["high"]), each["used"]) for each in result["metrics"]]
    output.table(["metric", "value", "95 % interval", "lists"], figures)


@TASK.verb(example="polyadic rerank evaluate reranker test.jsonl", show=_print_costs)
def evaluate(
    model: Reranker,
    lists: Lists,
    *,
    unknown: Unknown = "ignore",
    k: Count = 10,
    format: Format = "auto",  # noqa: A002 # as above
) -> dict[str, Any]:
    """Report the mean costs of the first, the selected and the cheapest (oracle) candidates, NDCG and MAP.

    "worst" is the mean cost if ties between highest scores are broken in favour of the most expensive candidate. NDCG
    and mean average precision (MAP) have 95 % bootstrap intervals over lists. They use the grades of SVMrank lines,
    where grades above 0 are relevant; or the highest cost of a list minus the cost, where the lowest cost is relevant.

    Parameters
    ----------
    k
        Number of ranks that NDCG takes into account.
    """
    from polyadic.metrics.reranking import reranking

    blocks = _opened_for(model.names_, lists, format, unknown=unknown)
    costs = reranking(((groups, model.decision_function(groups, unknown=unknown)) for groups in blocks), k=k)
    reported = ("lists", "candidates", "first", "reranked", "oracle", "random", "gained", "moved", "tied", "worst")
    facts: dict[str, Any] = {name: getattr(costs, name) for name in reported}
    facts["metrics"] = [figure.as_dict() for figure in (costs.ndcg, costs.map)]
    return facts | ({"unknown_features": blocks.ignored} if hasattr(blocks, "ignored") else {})


def _selected(model: Reranker, blocks: NBestLists, *, scores: bool) -> Iterator[str]:
    """Yield a JSON line with the selected candidate of each list."""
    import json

    for groups, lists in blocks.blocks():
        s = model.decision_function(groups)
        choice = groups.choice(s)
        for k, (first, candidates) in enumerate(zip(groups.starts, lists, strict=False)):
            at = int(choice[k] - first)
            facts = {"id": candidates.id, "chosen": at, "text": candidates.texts[at], "score": float(s[choice[k]])}
            if scores:
                facts["scores"] = s[first : groups.starts[k + 1]].tolist()
            yield json.dumps(facts, ensure_ascii=False) + "\n"


def _scored(model: Reranker, blocks: Iterable[QueryGroups], unknown: Any) -> Iterator[str]:
    """Yield a line with the score of each candidate."""
    for groups in blocks:
        yield from (f"{score!r}\n" for score in model.decision_function(groups, unknown=unknown).tolist())


def _detected(path: Path, form: str) -> str:
    """Return the format of a file of candidate lists, jsonl or svmrank."""
    import codecs

    from polyadic.core.streams import open_bytes

    if form != "auto":
        return form
    with open_bytes(str(path)) as file:
        begin = file.read(4096).removeprefix(codecs.BOM_UTF8).lstrip()
    if not begin:
        raise InputError(f"{path} must contain at least one candidate list")
    return "jsonl" if begin.startswith(b"{") else "svmrank"


def _opened(path: Path, form: str, options: dict[str, Any]) -> Any:
    """Open a file of candidate lists, with ``options`` that apply to JSON lines only."""
    from polyadic.ranking.nbest import NBestLists
    from polyadic.text.feature_lines import RankLines

    if str(path) == "-" or path.is_fifo():  # bytes read to detect the format cannot be read again
        if "names" not in options:
            raise InputError("training requires a file, because the lists are read several times; got a pipe")
        if form != "jsonl":
            raise InputError(f"format must be jsonl to read candidate lists from a pipe; got {form}", "format")
    return NBestLists(path, **options) if _detected(path, form) == "jsonl" else RankLines(path)


def _opened_for(names: Sequence[str] | None, path: Path, form: str, *, unknown: str, costs: bool = True) -> Any:
    """Open candidate lists for a model with feature names or, if it has none, with feature indices."""
    blocks = _opened(path, form, {"names": names or (), "unknown": unknown, "costs": costs})
    if (names is None) == hasattr(blocks, "names"):
        ways = ("number, as in SVMrank lines", "name"), ("name, as in JSON lines", "number")
        needed, found = ways[names is not None]
        raise InputError(f"{path} must identify features by {needed}, like the training data; got feature {found}s")
    return blocks
