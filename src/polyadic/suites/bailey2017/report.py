"""The report: ``report.json`` with all figures, ``report.md`` with the tables, and the pictures."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

from polyadic import __version__
from polyadic.errors import MissingExtraError
from polyadic.files import whole_file
from polyadic.suites.bailey2017.drawing import draw, drawings
from polyadic.suites.bailey2017.models import variants
from polyadic.suites.bailey2017.scoring import HALF
from polyadic.suites.bailey2017.tables import SENSELESS, tables
from polyadic.suites.bailey2017.training import versions
from polyadic.suites.numbers import share
from polyadic.suites.store import described, digest, read_label, write_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polyadic.suites.bailey2017.tables import Found, Table
    from polyadic.suites.store import Facts, Steps

TITLE = "# Bailey and Aeron (2017), on this text"
SAME = "All models are trained on the same text, cut into the same words, and on the same counts; intervals are 95 %."
DEPARTURES = (
    "Counts are of spans of words, exact, and the PMI has the normaliser that makes independent words zero; zeros of"
    " the tensors enter the loss exactly. CBOW is gensim's and NNSE is that of Murphy and others, so the baselines are"
    " not the published ones. The published figures are of another text and of other cases."
)
HALVES = (
    f"Settings of the library were chosen on the outlier groups of even number: {HALF} is the half that they were not"
    " chosen on."
)


def report_stage(found: Found, steps: Steps) -> Facts:
    """Write the report, unless it is there and nothing it tells has changed."""
    label, figures = found.folder / "report.json", found.folder / "figures"
    made_of = _made_of(found)
    kept = read_label(label)
    with steps("report") as told:
        if kept and kept["made_of"] == made_of and (found.folder / "report.md").exists():
            told["kept"] = True
            return dict(kept["facts"])
        pictures = drawings(found)
        left_out = dict(found.left_out)
        try:
            draw(pictures, figures)
        except MissingExtraError as error:
            left_out["figures"] = str(error)
        facts: Facts = described(
            {
                "protocol": "bailey2017",
                "corpus": found.corpus,
                "settings": _settings(found),
                "versions": versions(),
                "models": _models(found),
                "tables": tables(found),
                "figures": pictures,
                "left_out": left_out,
            }
        )
        with whole_file(found.folder / "report.md") as draft:
            draft.write_text("\n".join(_lines(facts)) + "\n", encoding="utf-8")
        write_json(label, {"made_of": made_of, "facts": facts})
        told.update(tables=len(facts["tables"]), figures=0 if "figures" in left_out else len(pictures))
    return facts


def _made_of(found: Found) -> Facts:
    """Tell the state of a run: all that the report depends on."""
    stages = {name: digest(repr([facts, found.scores.get(name)])) for name, facts in found.trained.items()}
    pictures = importlib.util.find_spec("matplotlib") is not None
    state = {"stages": stages, "settings": _settings(found), "left_out": found.left_out, "pictures": pictures}
    return dict(described({**state, "counts": found.counts, "polyadic": __version__}))


def _settings(found: Found) -> Facts:
    """Give the settings; those of the text are said by its corpus, and threads change nothing that is told."""
    return {key: v for key, v in vars(found.settings).items() if key not in {"min_count", "max_size", "threads"}}


def _models(found: Found) -> Facts:
    return {
        variant.name: {
            **found.trained[variant.name],
            "main": variant.main,
            "figures": found.scores.get(variant.name, {}).get("figures", {}),
        }
        for variant in variants(found.settings)
        if variant.name in found.trained
    }


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
        f"The text: {corpus['documents']:,} documents of {corpus['tokens']:,} tokens to train on, after {share:g} of"
        f" all was held out; {how}. Digest {corpus['digest']}."
    )


def _table(table: Table, facts: Facts) -> Iterator[str]:
    yield f"## {table['title']}"
    yield ""
    yield f"| {' | '.join(table['headings'])} |"
    yield "|" + "---|" * len(table["headings"])
    for row in table["rows"]:
        yield f"| {' | '.join(_cell(value) for value in row)} |"
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
        f" {settings['rank']} unless said, seed {made_of['seed']}{', quick' if settings['quick'] else ''}, settings of"
        f" each model under Time and memory{training}.*"
    )


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, dict):
        if value["value"] is None:
            return ""
        signed = "certain" in value
        interval = "" if value["low"] is None else f" ({share(value['low'])} to {share(value['high'])})"
        star = " *" if value.get("certain") else ""
        return f"{'+' if signed and value['value'] > 0 else ''}{share(value['value'])}{interval}{star}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return share(value) if abs(value) < 1 else f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value).replace("|", "/")
