"""Facts about entities by one command: parts on small planted data, the report, the command."""

import numpy as np
import pytest

from experiments.data.knowledge import Knowledge
from experiments.markdown import table
from experiments.relations import knowledge, logic, typed
from experiments.relations.report import report
from polyadic.core.stage_cache import whole
from polyadic.relations.universal import UniversalSchema


def circles(seed=0, n=24):
    """Entities in three circles: likes within one, envies towards the next; a tenth for each of two parts."""
    rng = np.random.default_rng(seed)
    facts = [(s, 0, o) for s in range(n) for o in range(n) if s != o and s % 3 == o % 3]
    facts += [(s, 1, o) for s in range(n) for o in range(n) if (s + 1) % 3 == o % 3]
    order = rng.permutation(np.array(facts))
    k = len(facts) // 10
    names = [f"e{k}" for k in range(n)], ["likes", "envies"]
    return Knowledge(order[2 * k :], order[:k], order[k : 2 * k], *names)


def planted(monkeypatch):
    """Replace the sets by circles, and choose from little."""
    for module in (knowledge, typed):
        monkeypatch.setattr(module, "knowledge", lambda *_, **__: circles())
    monkeypatch.setattr(knowledge, "CHOICES", knowledge.CHOICES[:1])
    monkeypatch.setattr(knowledge, "EPOCHS", 10)
    monkeypatch.setattr(knowledge, "SMALL", ("circles",))
    monkeypatch.setattr(typed, "SETS", (("circles", 3, 0.1, 500),))


@pytest.fixture
def small(monkeypatch):
    planted(monkeypatch)


@pytest.mark.slow
def test_tensors_tell_circles_apart(small, tmp_path):
    """What frequencies cannot, forms can; the choice and its seconds are told."""
    chance = knowledge.frequencies("circles")["mrr"]
    told = knowledge.by_form("circles", "ComplEx", seed=0)
    assert told["mrr"] > 2 * chance
    assert {"loss", "strength", "epochs", "reciprocal"} <= set(told["chosen"])
    squares = knowledge.squares("circles", 2, seed=0)
    assert squares["mrr"] > 2 * chance
    how = {"form": "CP", "rank": 8, "n_negatives": 5}
    curve = knowledge.large("circles", how, epochs=8, seed=0, out=tmp_path / "model")["curve"]
    assert len(curve) <= 9
    assert max(score for _, score in curve) > curve[0][1]


def test_types_and_roles(small):
    rows = typed.compared(seed=0)
    assert [one["name"] for one in rows] == ["plain", "types", "roles beside", "types, roles beside"]
    assert all(one["reciprocal_rank"] > 0.3 for one in rows)


@pytest.mark.slow
def test_regimes_without_facts():
    """A relation with no facts but rules reaches its premises, which factorization alone does not."""
    problem = logic.planted(share=0.0, seed=0)
    found = {
        one["name"]: one["map"]
        for one in logic.regimes(problem, UniversalSchema(20, features="F", max_iter=30, seed=0))
    }
    assert found["mf"] < 0.4
    assert found["joint"] > found["premise"]
    assert found["joint"] >= max(found["post"], found["pre"])
    assert found["joint"] > found["joint, as in the published code"]


def test_fits_that_were_interrupted_are_not_judged():
    """Ctrl-C in a fit ends the run; the stage is not kept with half a model."""
    model = UniversalSchema(2, max_iter=9, callback=_stop)
    model.fit(logic.planted(share=1.0, seed=0).schema)
    assert model.interrupted_
    with pytest.raises(KeyboardInterrupt):
        whole(model)
    assert whole(3) == 3


def _stop(_):
    raise KeyboardInterrupt


def test_report_writes_all_parts():
    """Every part has its table."""
    one = {"name": "joint", "map": 0.5, "weighted": 0.6, "seconds": 1.0}
    model = {
        "features": "F",
        "loss": "bpr",
        "validation": 0.1,
        "map": 0.2,
        "weighted_map": 0.3,
        "ridge": 0.01,
        "seconds": 3,
    }
    ranks = {"name": "ComplEx", "mrr": 0.4, "hits_1": 0.3, "hits_3": 0.4, "hits_10": 0.5, "seconds": 2.0}
    types = {"reciprocal_rank": 0.2, "hits": 0.3, "precision": 0.4, "possible": 1.0, "seconds": 0.1, "sweeps": 3}
    figure = {"name": "AUC", "value": 0.6, "low": 0.5, "high": 0.7, "used": 9, "total": 10}
    text = report(
        {
            "WN18RR": [{**ranks, "curve": [[0.0, 0.1], [1.0, 0.2]]}],
            "rescal": {
                "folds": {"raw": 0.9, "normalised": 0.95, "fold_seconds": 0.1},
                "typed": [{"set": "umls", "name": "types", **types}],
            },
            "nyt": {
                "models": {"0": [model], "1": [model]},
                "published": [{"system": "x", "map": 0.3, "weighted_map": 0.4}],
            },
            "freebase": [model],
            "terms": {
                "umls": [
                    [
                        {**model, "name": name, "ap": {"p": low, "q": low + 0.2}}
                        for name, low in (("F", 0.1), ("FT", 0.3))
                    ]
                ]
            },
            "rules": {"planted": {"0": [[one]]}, "newswire": {"0": [one]}, "freebase": {"0": [one]}},
            "composition": {"figures": [figure]},
            "attachment": {"figures": [figure]},
        }
    )
    assert "| FT - F | .200 | .200 to .200 |" in text
    for cell in ("| ComplEx | .400 |", "| .900 | .950 |", "| F | bpr | .100 (.000) |", "| .500 |", ".500 to .700"):
        assert cell in text
    assert table(["a"], [["b"]]) == ["| a |", "|---|", "| b |"]
