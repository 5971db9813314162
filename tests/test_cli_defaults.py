"""Defaults are said once: an option of a verb that learns is left to the model, or says what the model says."""

import dataclasses
import inspect
import re
from importlib import import_module
from typing import NamedTuple

import pytest

import polyadic
from polyadic.syntax.text_tagger import TextTagger

MODELS = {
    "database train": [
        polyadic.CollectiveFactorization,
        polyadic.BayesianFactorization,
        polyadic.VariationalFactorization,
    ],
    "machine train": [
        polyadic.FactorizationMachine,
        polyadic.FactorizationMachineClassifier,
        polyadic.FactorizationMachineRanker,
        polyadic.BayesianFactorizationMachine,
        polyadic.BayesianFactorizationMachineClassifier,
    ],
    "parse train": [polyadic.LowRankParser, polyadic.HigherOrderParser],
    "rerank train": [polyadic.RankingPerceptron, polyadic.MIRA, polyadic.TensorMIRA],
    "roles train": [polyadic.SemanticRoles],
    "tag train": [polyadic.SequenceTagger, TextTagger],
}
RENAMED = {"epochs": "max_iter", "cap": "C", "c": "C"}
"""Options that have another name than the setting."""
OPPOSITE = {"heads": "labels", "several_roots": "one_root", "last": "averaged"}
"""Switches that turn a setting off."""
DIFFERENT = {
    **{
        ("machine train", name, "solver"): "the verb draws, which is a class of its own and needs no tuning"
        for name in ("FactorizationMachine", "FactorizationMachineClassifier")
    },
    ("parse train", "HigherOrderParser", "order"): "1 is the other class, which is quicker; this one is for 2 and 3",
}
"""What a verb says otherwise, and why."""


class Option(NamedTuple):
    """An option of a verb, and what the model that it sets says."""

    verb: str
    model: str
    name: str
    parameter: inspect.Parameter
    default: object


def options():
    for verb, models in MODELS.items():
        module, name = verb.split()
        parameters = inspect.signature(getattr(import_module(f"polyadic.cli.{module}"), name), eval_str=True).parameters
        for model in models:
            fields = {field.name: field.default for field in dataclasses.fields(model)}
            for option, parameter in parameters.items():
                setting = (RENAMED | OPPOSITE).get(option, option)
                if setting in fields:
                    yield Option(verb, model.__name__, option, parameter, fields[setting])


OPTIONS = list(options())


def test_the_tables_say_what_there_is():
    """Each verb sets settings of each of its models, and no name stands above without need."""
    assert {(verb, model.__name__) for verb in MODELS for model in MODELS[verb]} == {each[:2] for each in OPTIONS}
    assert {*RENAMED, *OPPOSITE} <= {option.name for option in OPTIONS}
    assert {*DIFFERENT} <= {option[:3] for option in OPTIONS}


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: "-".join(option[:3]))
def test_a_verb_and_its_model_have_one_default(option):
    """An option that is not given is left to the model, and its help tells what that is; or it says the same."""
    said, default = option.parameter.default, option.default
    if option.name == "seed":
        assert said == 0  # a command that is given again does the same; models may draw anew
    elif option[:3] in DIFFERENT:
        assert said != default
    elif option.name in OPPOSITE:
        assert bool(said) is not default
    elif said is not None:
        assert said == (",".join(map(str, default)) if isinstance(default, tuple) else default)
    elif default is not None:
        shown = option.parameter.annotation.__metadata__[0].show_default
        said = f"{default:g}" if isinstance(default, float) else str(default)
        assert re.search(rf"(?<![\w.]){re.escape(said)}(?!\w|\.\d)", str(shown))
