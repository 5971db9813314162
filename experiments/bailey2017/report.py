"""The report: all figures and tables as facts, and the tables in words."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any

from experiments import markdown
from experiments.bailey2017.drawing import drawings
from experiments.bailey2017.models import variants
from experiments.bailey2017.scoring import HALF
from experiments.bailey2017.tables import SENSELESS, tables
from experiments.bailey2017.training import versions
from experiments.experiment import Stage
from experiments.markdown import share
from polyadic import __version__, plots
from polyadic.core.errors import MissingExtraError
from polyadic.core.stage_cache import digest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from experiments.bailey2017.tables import Results, Table
    from experiments.experiment import Stages
    from polyadic.core.stage_cache import Facts

TITLE = "# Bailey and Aeron (2017), on this text"
SAME = "All models are trained on the same tokenized text and the same counts. Intervals are 95 %."
DEPARTURES = (
    "Counts are exact and use spans of words. The PMI is normalised such that independent words have zero PMI, and the"
    " zeros of the tensors enter the loss exactly. CBOW is gensim's and NNSE is that of Murphy and others, so the"
    " baselines differ from the published ones. The published figures are for another text and other cases."
)
HALVES = f"Settings of the library were selected on the even-numbered outlier groups; {HALF} is the other half."


def report_facts(results: Results) -> Stages:
    """Return the results of the report; tables are a stage, since their intervals take long."""
    pictures = drawings(results)
    made = yield Stage("tables", _made_of(results), lambda: {"tables": tables(results)})
    left_out = dict(results.left_out)
    try:
        plots.new_axes()
    except MissingExtraError as error:
        left_out["figures"] = str(error)
    return {
        "protocol": "bailey2017",
        "corpus": results.corpus,
        "versions": versions(),
        "models": _models(results),
        "tables": made["tables"],
        "figures": pictures,
        "left_out": left_out,
    }


def _made_of(results: Results) -> Facts:
    """Return the state of a run: all that its tables depend on."""
    stages = {name: digest(repr([facts, results.scores.get(name)])) for name, facts in results.trained.items()}
    state = {"stages": stages, "settings": results.settings.described(), "left_out": results.left_out}
    return {**state, "counts": results.counts, "polyadic": __version__}


def _models(results: Results) -> Facts:
    return {
        variant.name: {
            **results.trained[variant.name],
            "main": variant.main,
            "figures": results.scores.get(variant.name, {}).get("figures", {}),
        }
        for variant in variants(results.settings)
        if variant.name in results.trained
    }


def report(facts: Facts) -> str:
    """Write the tables."""
    if "tables" in facts:
        return "\n".join(_lines(facts)) + "\n"
    lines = ["# Bailey and Aeron (2017), as printed and improved"]
    for part in ("printed", "ablation"):
        lines += _printed(facts[part]) if part in facts else []
    return "\n".join(lines) + "\n"


def _printed(facts: Facts) -> Iterator[str]:
    corpus, rows = facts["corpus"], facts["rows"]
    names = list(rows[0]["figures"])
    columns: list[markdown.Column] = [("model", "name")]
    columns += [(name, itemgetter(name), markdown.certain) for name in names]
    columns += [("zeros", "zeros", share), ("training, s", "seconds", ".0f")]
    differences: list[markdown.Column] = [("difference", "name")]
    differences += [(name, itemgetter(name), markdown.certain) for name in names]
    entries = ", ".join(f"{each['entries']:,} {name}" for name, each in corpus["counts"].items())
    yield from ("", f"## Rank {facts['rank']}", "")
    yield f"{corpus['tokens']:,} tokens, {corpus['words']:,} words; {entries}. Corpus {corpus['digest'][:16]}."
    yield ""
    yield from markdown.tabulate(columns, [{**row, **row["figures"]} for row in rows])
    yield ""
    yield from markdown.tabulate(differences, facts["differences"])


def _lines(facts: Facts) -> Iterator[str]:
    yield TITLE
    yield ""
    for sentence in (SAME, DEPARTURES, HALVES, SENSELESS):
        yield f"* {sentence}"
    yield f"* {_text(facts)}"
    yield ""
    for table in facts["tables"]:
        yield from _table(table, facts)
    if facts["figures"] and "figures" not in facts["left_out"]:
        yield "## Figures"
        yield ""
        for drawing in facts["figures"]:
            yield f"![{drawing['title']}](figures/{drawing['name']}.png)"
            yield ""
    if facts["left_out"]:
        yield "## Left out"
        yield ""
        for what, why in facts["left_out"].items():
            yield f"* {what}: {why}"


def _text(facts: Facts) -> str:
    corpus, share = facts["corpus"], facts["settings"]["share"]
    how = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in corpus["encoding"].items())
    return (
        f"The text: {corpus['documents']:,} documents with {corpus['tokens']:,} training tokens, after {share:g} of"
        f" the text was held out; {how}. Digest {corpus['digest']}."
    )


def _table(table: Table, facts: Facts) -> Iterator[str]:
    yield f"## {table['title']}"
    yield ""
    yield from markdown.table(table["headings"], [list(map(_cell, row)) for row in table["rows"]])
    yield ""
    for note in table["notes"]:
        yield note
        yield ""
    yield _footer(table["made_of"], facts)
    yield ""


def _footer(made_of: Facts, facts: Facts) -> str:
    corpus, settings = facts["corpus"], facts["settings"]
    packages = ", ".join(f"{name} {' and '.join(some)}" for name, some in made_of["versions"].items())
    training = f"; {packages}; {made_of['seconds']:,.0f} s of training" if packages else ""
    return (
        f"*Corpus {made_of['corpus'][:16]}: {corpus['tokens']:,} tokens, {corpus['words']:,} words; rank"
        f" {settings['rank']} unless noted, seed {made_of['seed']}{', quick' if settings['quick'] else ''}, settings of"
        f" each model in the table Time and memory{training}.*"
    )


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, dict):
        if value["value"] is None:
            return ""
        signed = "certain" in value
        figure = share(value["value"]) if value["low"] is None else markdown.certain(value)
        return f"{'+' if signed and value['value'] > 0 else ''}{figure}{' *' if value.get('certain') else ''}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return share(value) if abs(value) < 1 else f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value).replace("|", "/")
