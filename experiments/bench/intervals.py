"""Confidence intervals of published claims whose experiments do not report one.

Repetitions (seeds, splits) give Student's t interval of their mean; test cases give a paired bootstrap interval. Needs
POLYADIC_DATA, except for ``planted`` and ``completion``.
"""

import numpy as np
from scipy import stats

from experiments.bench.common import heading, row
from polyadic.metrics.figures import Figure, difference


def student(values) -> str:
    """Return the mean of repetitions and its 95 % interval."""
    values = np.asarray(values, float)
    half = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / len(values) ** 0.5
    return f"{values.mean():.5f} ({values.mean() - half:.5f} to {values.mean() + half:.5f})"


def paired(name: str, ours, theirs) -> str:
    """Return the difference of two means over the same cases, with a paired bootstrap interval."""
    figures = [Figure(name, np.stack([x, np.ones(len(x))], axis=1), len(x), len(x)) for x in (ours, theirs)]
    found = difference(*figures)
    return f"{found.value:.4f} ({found.low:.4f} to {found.high:.4f})"


def planted(*, seeds: int = 10) -> None:
    """Slopes of the errors of hidden Markov models and topics, and the excess of gradient descent over the SVD."""
    from experiments.bouchard2015.demonstrations import descent
    from experiments.spectral import hidden, topics
    from experiments.spectral.protocol import SIZES

    chains = [hidden.recovery(SIZES[:3], seeds=(seed,))["slopes"] for seed in range(seeds)]
    mixed = [topics.recovery(SIZES[:3], seed=seed)["slopes"] for seed in range(seeds)]
    runs = [descent(seed=seed) for seed in range(seeds)]
    heading("figure", f"mean over {seeds} seeds (95 % interval)")
    for name, found in [(key, [run[key] for run in chains]) for key in chains[0]]:
        row(f"hidden Markov models, slope of {name}", student(found))
    for name, found in [(key, [run[key] for run in mixed]) for key in mixed[0]]:
        row(f"topics, slope, {name}", student(found))
    for name in runs[0]["histories"]:
        row(f"descent, {name}", student([run["histories"][name][-1] / run["optimum"] - 1 for run in runs]))


def completion(*, seeds: int = 20) -> None:
    """Errors with completed Hankel matrices minus errors with counts."""
    from experiments.spectral.automata import completion_figures
    from experiments.spectral.protocol import PENALTIES, STRINGS

    heading("strings", "unseen strings", "constrained minus counted", "averaged minus counted")
    for strings in STRINGS:
        for least in (0, 1):
            runs = [completion_figures(strings, penalties=PENALTIES, least=least, seed=seed) for seed in range(seeds)]
            gains = [student([run[name] - run["as counted"] for run in runs]) for name in ("constrained", "averaged")]
            row(strings, ("rare", "unknown")[least], *gains)


def schools(*, splits: int = 10) -> None:
    """Variance of the pupils' scores that low-rank tasks explain more than other regressions."""
    from experiments.predictors.schools import compared

    *others, tasks = compared(splits=splits, seed=0)
    heading("low-rank tasks minus", "variance explained")
    for other in others:
        row(other["name"], student(np.subtract(tasks["explained"], other["explained"])))


def types(*, sets: tuple[str, ...] = ("nations", "kinship", "umls", "fb15k-237")) -> None:
    """Mean reciprocal rank of RESCAL with entity types minus that without."""
    from experiments.data.knowledge import knowledge
    from experiments.relations.typed import SETS, facts
    from polyadic.metrics.ranking import ranking
    from polyadic.relations.rescal import RESCAL
    from polyadic.relations.typed_rescal import TypedRESCAL

    heading("set", "with types minus without")
    for name, rank, ridge, sweeps in SETS:
        if name.lower() not in sets:
            continue
        data = knowledge(name)
        n, K = len(data.entities), len(data.relations)
        known = np.concatenate([data.train, data.validation, data.test])
        reciprocal = []
        for kind in (TypedRESCAL, RESCAL):
            model = kind(rank, ridge_A=ridge, ridge_R=ridge, seed=0, max_iter=sweeps)
            model.fit(facts(data.train, n, K))
            ranks = ranking(data.test, known, entities=n, objects=model.objects, subjects=model.subjects)
            reciprocal.append((1 / ranks.objects + 1 / ranks.subjects) / 2)
        row(name, paired(name, *reciprocal))


def tags(*, rank: tuple[int, ...] = (20, 40), seed: int = 0) -> None:
    """Surprise of each next part of speech, in nats: automaton minus n-grams, paired by sentences."""
    from experiments.data.annotated import web_treebank
    from experiments.spectral.automata import tag_surprise

    train, test = ([tree.upos for tree in web_treebank(part)] for part in ("train", "test"))
    automaton, *others = tag_surprise(train, test, rank=rank, seed=seed).items()
    heading("automaton minus", "nats per tag")
    for name, rows in others:
        found = difference(*(Figure("nats", each[:, :2], len(test), len(test)) for each in (automaton[1], rows)))
        row(name, f"{found.value:.4f} ({found.low:.4f} to {found.high:.4f})")


def rules(*, seeds: int = 5) -> None:
    """Mean average precision of joint training with rules minus other regimes, without facts of the relations."""
    from experiments.relations import logic

    heading("data", "joint minus", f"mean over {seeds} seeds (95 % interval)")
    for name in ("planted", "newswire"):
        runs = []
        for seed in range(seeds):
            found = logic.on_planted(share=0.0, seed=seed) if name == "planted" else logic.on_newswire(seed=seed)
            runs.append({each["name"]: each["map"] for each in found})
        for other in ("mf", "premise", "inference", "post", "pre"):
            row(name, other, student([run["joint"] - run[other] for run in runs]))


COMMANDS = planted, completion, schools, types, tags, rules
