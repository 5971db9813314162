"""The examples of all models in one table, and a fitted model of each."""

import functools
import importlib
import pkgutil
import warnings

import examples
from polyadic.core.solvers.run import NotConvergedWarning

TABLE = {
    example.name: example
    for module in pkgutil.iter_modules(examples.__path__)
    for example in importlib.import_module(f"examples.{module.name}").EXAMPLES
}


def fit(name, model):
    """Fit a model to the data of an example, whether it converges or not, and return what its ``fit`` returns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        return TABLE[name].fit(model)


def fitted(name):
    """Fit a new model of an example."""
    model = TABLE[name].make()
    fit(name, model)
    return model


@functools.cache
def known(name):
    """Fit a model of an example once in a process; for tests that do not change it."""
    return fitted(name)


@functools.cache
def answers(name):
    """Return all answers of the known model of an example."""
    return TABLE[name].ask(known(name))
