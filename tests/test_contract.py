"""What holds for every model: one table (``tests/examples``), one contract."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import itertools
import json
import pkgutil
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Annotated, Literal, Union, get_args, get_origin

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

import polyadic
from helpers import content
from models import TABLE, answers, fit, fitted, known
from polyadic import InputError, load
from polyadic.core import files
from polyadic.core.model import Model
from polyadic.core.serialization import STATE, Reader, _text
from polyadic.core.settings import Within, admits, resolved

WHOLE_OR_NOTHING = {"TextTagger"}
"""Models that are several fits, and answer nothing before the last of them."""
SEVERAL_STARTS = {"TupleClassifier"}
"""Models that an interrupt leaves with one start of several."""
NOTHING_DRAWN = {
    *{"CorrespondenceAnalysis", "KernelCorrespondenceAnalysis", "MultipleCorrespondenceAnalysis"},
    *{"CorrespondenceVectors", "PPMISVD", "MeanSentences", "SpectralLDA"},  # small tables are decomposed exactly
    *{"HiddenMarkov", "RESCAL", "TypedRESCAL", "RLSI", "RLSI l1"},  # they start from moments or eigenvectors
    *{"ReducedRankRegressionCV", "TextTagger"},  # the order of so few rows changes nothing
    "HornRules maximum",  # nor which entities a rule is measured by
}
"""Examples to which the seed makes no difference."""


def classes():
    """Give all classes of ``polyadic`` that can be fitted, but for bases that leave something open."""
    for found in pkgutil.walk_packages(polyadic.__path__, "polyadic."):
        module = importlib.import_module(found.name)
        for _, cls in inspect.getmembers(module, inspect.isclass):
            open_ = getattr(cls, "_is_protocol", False) or inspect.isabstract(cls)
            if cls.__module__ == module.__name__ and hasattr(cls, "fit") and not open_:
                yield cls


every_model = pytest.mark.parametrize("name", sorted(TABLE))


def alike(left, right):  # noqa: PLR0911 # one line for each kind
    """Tell whether two answers are the same to the bit; NaN is NaN."""
    if sparse.issparse(left):
        return sparse.issparse(right) and alike(left.toarray(), right.toarray())
    if isinstance(left, np.ndarray):
        same = isinstance(right, np.ndarray) and left.dtype == right.dtype and left.shape == right.shape
        return same and (left.tolist() == right.tolist() if left.dtype == object else left.tobytes() == right.tobytes())
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(alike(left[key], right[key]) for key in left)
    if isinstance(left, set | frozenset):
        return left == right  # their text depends on the order in which they were filled
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(alike, left, right))
    if type(left).__module__.startswith("polyadic.") and hasattr(left, "__dict__") and not callable(left):
        return type(left) is type(right) and alike(plain_parts(left), plain_parts(right))
    return repr(left) == repr(right)  # NaN is NaN


def plain_parts(thing):
    """Give what an object holds, but for what it has computed to keep, and what is of the run and not saved."""
    if isinstance(thing, Model):
        return thing._state()
    computed = (functools.cached_property,)
    parts = dataclasses.fields(thing) if dataclasses.is_dataclass(thing) else ()
    of_the_run = {part.name for part in parts if not part.metadata.get("kept", True)}
    return {
        key: value
        for key, value in vars(thing).items()
        if key not in of_the_run and not isinstance(getattr(type(thing), key, None), computed)
    }


def wrong_values(hint):
    """Give values that an annotation does not allow, where it allows anything less than everything."""
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    values = [object()]
    for kind in kinds:
        origin, arguments = get_origin(kind), get_args(kind)
        if origin is Annotated:
            bounds = [bound for bound in arguments[1:] if isinstance(bound, Within)]
            values += [bound.low - 1 for bound in bounds] + [bound.low for bound in bounds if bound.above]
            values += [bound.high + 1 for bound in bounds if bound.high is not None]
            values += [float("nan"), float("inf"), True, *([0.5] if arguments[0] is int else [])]
        if origin is Literal:
            values.append("nonsense")
        if origin is tuple and arguments[1:] == (...,):
            values += [(value,) for value in wrong_values(arguments[0])]
        elif origin is tuple:
            values += [(value,) * len(arguments) for value in wrong_values(arguments[0])]
        elif isinstance(origin, type) and issubclass(origin, Mapping):
            values += [{"a": value} for value in wrong_values(arguments[1])]
        elif origin is Sequence:
            values += [[value] for value in wrong_values(arguments[0])]
    return [value for value in values if not admits(hint, value)]


def test_every_class_with_fit_is_a_model():
    """Nothing in ``polyadic`` has a fit and is no :class:`Model`."""
    assert [cls.__name__ for cls in classes() if not issubclass(cls, Model)] == []


def test_every_model_is_in_the_table():
    """A new model is tested once it has an example: this test asks for it."""
    assert {cls.__name__ for cls in classes()} - {name.split()[0] for name in TABLE} == set()


@every_model
def test_settings_are_shown_and_cloned(name):
    """A model shows the settings that are not its defaults; a clone has the same and nothing learned."""
    model = TABLE[name].make()
    assert repr(model).startswith(f"{name.split()[0]}(")
    twin = clone(known(name))
    assert repr(twin) == repr(model)
    assert twin._state() == {}
    with pytest.raises(ValueError, match=r"[Ii]nvalid parameter"):
        model.set_params(misspelt=1)
    with pytest.raises(TypeError, match="misspelt"):
        type(model)(misspelt=1)


@every_model
def test_settings_have_bounds(name):
    """Each setting that can be wrong is refused by name, with what is allowed and what came."""
    settings = resolved(type(TABLE[name].make()))
    for field in dataclasses.fields(TABLE[name].make()):
        for value in wrong_values(settings[field.name]) if field.init else ():
            model = TABLE[name].make().set_params(**{field.name: value})
            with pytest.raises(InputError, match=rf"^{field.name} must be .+; got "):
                model.check()


class Untouchable:
    """Data that must not be looked at."""

    def __getattribute__(self, name):
        raise AssertionError(f"the data were asked for {name}")

    def __iter__(self):
        raise AssertionError("the data were gone through")


def one_wrong_setting(name):
    """Give a setting and a value that it does not allow."""
    hints = resolved(type(TABLE[name].make()))
    settings = [field.name for field in dataclasses.fields(TABLE[name].make()) if field.init]
    pairs = ((key, wrong_values(hints[key])) for key in settings)
    return next(((key, values[-1]) for key, values in pairs if values), None)


@pytest.mark.parametrize("name", [name for name in sorted(TABLE) if one_wrong_setting(name)])
def test_settings_are_checked_before_work(name):
    """A wrong setting is refused before ``fit`` looks at the data, and a fitted model stays what it was."""
    model = fitted(name)
    right = model.get_params(deep=False)
    key, value = one_wrong_setting(name)
    model.set_params(**{key: value})
    parameters = inspect.signature(model.fit).parameters.values()
    needed = {each.name: Untouchable() for each in parameters if each.default is each.empty}
    with pytest.raises(InputError, match=f"^{key} must be"):
        model.fit(**needed)
    model.set_params(**right)
    assert alike(TABLE[name].ask(model), answers(name))


@every_model
def test_same_fit_same_bits(name, tmp_path):
    """A second model, and the same model fitted again, give the same answers to the bit; ``fit`` gives the model.

    So do their files.
    """
    again = fitted(name)
    assert alike(TABLE[name].ask(again), answers(name))
    for model, folder in ((known(name), tmp_path / "first"), (again, tmp_path / "second")):
        model.save(folder)
    assert content(tmp_path / "first") == content(tmp_path / "second")
    assert fit(name, again) is again
    assert alike(TABLE[name].ask(again), answers(name))


@pytest.mark.parametrize("name", sorted(name for name in TABLE if hasattr(TABLE[name].make(), "seed")))
def test_another_seed_other_bits(name):
    """A seed is heeded, but where nothing is drawn."""
    model = TABLE[name].make()
    model.set_params(seed=model.seed + 12345)
    other = TABLE[name].ask(fit(name, model))
    assert alike(other, answers(name)) is (name in NOTHING_DRAWN)


@pytest.mark.parametrize("name", sorted(name for name in TABLE if hasattr(TABLE[name].make(), "threads")))
def test_the_same_bits_with_any_number_of_threads(name, monkeypatch):
    """Parts of sums and their order do not hang on the threads, nor on which of them ends first."""
    rules = {"core.kernels.common.MIN_ROWS": 1, "core.kernels.common.MIN_PER_ROW": 0, "core.objective.MIN_PIECE": 1}
    for rule, all_parts in rules.items():
        monkeypatch.setattr(f"polyadic.{rule}", all_parts)  # or what is small would be one part
    models = [TABLE[name].make().set_params(threads=threads) for threads in (1, 2, 3)]
    first, *others = (TABLE[name].ask(fit(name, model)) for model in models)
    assert all(alike(first, other) for other in others)


@every_model
def test_fit_does_not_change_settings(name):
    """The settings of a fitted model are those that it was made with."""
    before, after = TABLE[name].make().get_params(deep=False), known(name).get_params(deep=False)
    assert {key: repr(value) for key, value in before.items()} == {key: repr(value) for key, value in after.items()}


def interrupted(name, model):
    """Fit, with Ctrl-C after the first sweep."""

    def stop(*_):
        raise KeyboardInterrupt

    fit(name, model.set_params(callback=stop))
    return model.set_params(callback=None)


watched = sorted(name for name in TABLE if hasattr(TABLE[name].make(), "callback"))


@pytest.mark.parametrize("name", [name for name in watched if name.split()[0] not in WHOLE_OR_NOTHING])
def test_interrupted_fit_leaves_a_model(name):
    """Ctrl-C after the first iteration leaves the model of one iteration, marked as interrupted; so in a second fit."""
    first, second = interrupted(name, TABLE[name].make()), interrupted(name, fitted(name))
    assert first.interrupted_
    assert second.interrupted_
    answers = TABLE[name].ask(first)
    assert alike(TABLE[name].ask(second), answers)
    if "max_iter" in first.get_params(deep=False) and name.split()[0] not in SEVERAL_STARTS:
        short = TABLE[name].make().set_params(max_iter=1)
        fit(name, short)
        assert alike(TABLE[name].ask(short.set_params(max_iter=first.max_iter)), answers)


@pytest.mark.parametrize("name", [name for name in watched if name.split()[0] in WHOLE_OR_NOTHING])
def test_interrupted_fit_that_reached_nothing(name):
    """Where a first sweep gives nothing that could answer, Ctrl-C ends the fit and leaves the model as it was."""
    model, old = TABLE[name].make(), fitted(name)
    with pytest.raises(KeyboardInterrupt):
        interrupted(name, model)
    assert model._state() == {}
    with pytest.raises(KeyboardInterrupt):
        interrupted(name, old)
    assert alike(TABLE[name].ask(old.set_params(callback=None)), answers(name))


@every_model
def test_saved_model_comes_back(name, tmp_path):
    """What is loaded has the same settings, the same attributes and the same answers to the bit."""
    model = known(name)
    model.save(tmp_path / "model")
    back = load(tmp_path / "model")
    assert type(back) is type(model)
    assert repr(back) == repr(model)
    assert alike(back._state(), model._state())
    assert alike(TABLE[name].ask(back), TABLE[name].ask(model))
    with pytest.raises(InputError, match="exists already"):
        back.save(tmp_path / "model")
    back.save(tmp_path / "model", overwrite=True)  # over what it was loaded from
    assert alike(TABLE[name].ask(load(tmp_path / "model")), TABLE[name].ask(model))
    back.save(tmp_path / "again")
    for file in (tmp_path / "model").iterdir():
        assert file.read_bytes() == (tmp_path / "again" / file.name).read_bytes()


@every_model
def test_forged_folder_is_a_model_or_refused(name, tmp_path):
    """A folder changed by hand, digests and all, is read or refused in one sentence: nothing else ever happens."""
    folder = tmp_path / "model"
    known(name).save(folder)
    state, whole = json.loads((folder / STATE).read_text()), json.loads((folder / "meta.json").read_text())
    del whole["digests"]
    forgeries = [{"state": {key: state[key] for key in state if key != gone}} for gone in state]
    wrong = itertools.cycle([{"array": "x"}, {"map": 3}, [[]]])
    forgeries += [{"state": state | {key: next(wrong)}} for key in state]
    forgeries += [{"settings": {"misspelt": 1}}, {"model": "polyadic.core.settings:Within"}, {"model": "os:system"}]
    for forged in forgeries:
        (folder / STATE).write_bytes(_text(forged.get("state", state)))
        meta = whole | {key: value for key, value in forged.items() if key != "state"}
        (folder / "meta.json").write_text(json.dumps(meta))
        files._seal(folder)
        assert files.check_whole(folder) == 3
        try:
            assert isinstance(load(folder), Model)
        except InputError as error:
            message = str(error)
        else:
            message = str(folder)
        assert str(folder) in message
        assert "state" in forged or "damaged" in message


def test_only_models_are_replaced_by_models(tmp_path):
    """``overwrite`` replaces a model by another, and nothing else."""
    polyadic.Embedding(["a"], [[1.0]]).save(tmp_path / "words")
    with pytest.raises(InputError, match="exists but is not a folder of kind 'model'"):
        known("NMF").save(tmp_path / "words", overwrite=True)
    known("PLSA").save(tmp_path / "model")
    known("NMF").save(tmp_path / "model", overwrite=True)
    assert isinstance(load(tmp_path / "model"), polyadic.NMF)


@every_model
def test_numpy_numbers_are_settings(name, tmp_path):
    """Settings that are numpy's numbers are taken, saved and given back as that: precision depends on it."""
    model = TABLE[name].make()
    numbers = {key: value for key, value in model.get_params(deep=False).items() if type(value) in (int, float)}
    as_numpy = {key: np.int64(value) if type(value) is int else np.float64(value) for key, value in numbers.items()}
    fit(name, model.set_params(**as_numpy))
    model.save(tmp_path / "model")
    back = load(tmp_path / "model")
    assert alike(TABLE[name].ask(back), TABLE[name].ask(model))
    assert {key: type(getattr(back, key)) for key in as_numpy} == {key: type(v) for key, v in as_numpy.items()}


@every_model
def test_models_are_pickled(name, tmp_path):
    """``joblib``, which carries models to other processes, gives back a fitted model that answers the same."""
    path = Path(tmp_path) / "model.joblib"
    model = known(name)
    joblib.dump(model, path)
    assert alike(TABLE[name].ask(joblib.load(path)), TABLE[name].ask(model))


@every_model
def test_nothing_learned_nothing_saved(name, tmp_path):
    """A model that was not fitted is not saved, and leaves no folder."""
    with pytest.raises(InputError, match="call fit before save"):
        TABLE[name].make().save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", sorted(name for name, example in TABLE.items() if example.rows))
def test_scikit_learn_has_nothing_to_object(name):
    """Models that take rows of a matrix pass all checks of scikit-learn, but for those exempted with a reason."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = check_estimator(
            TABLE[name].make(), expected_failed_checks=TABLE[name].exempt, on_fail=None, on_skip=None
        )
    assert [(check["check_name"], check["exception"]) for check in done if check["status"] == "failed"] == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("os:system", "is not defined in this library"),
        ("polyadic.core.serialization:importlib", "is not defined in this library"),
        ("polyadic.__main__:main", "is not defined in this library"),
        ("polyadic.words.symmetric:Gone", "does not exist in this version of polyadic"),
        ("polyadic.nowhere:Gone", "does not exist in this version of polyadic"),
    ],
)
def test_folders_name_this_library_only(name, message):
    """What a folder names is taken from this library, whatever it says; nothing else is imported or called."""
    with pytest.raises(ValueError, match=message):
        Reader({})({"function": name})
