"""What holds for every model: one table (``tests/examples``), one contract."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import shutil
import warnings
from pathlib import Path
from types import UnionType
from typing import Annotated, Literal, Union, get_args, get_origin

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

import examples
import polyadic.models
from polyadic import InputError, load
from polyadic.models.base import Model
from polyadic.models.folder import Reader
from polyadic.settings import Within, admits, resolved
from polyadic.solvers import NotConvergedWarning

TABLE = {
    example.name: example
    for module in pkgutil.iter_modules(examples.__path__)
    for example in importlib.import_module(f"examples.{module.name}").EXAMPLES
}
MUTATIONS = 50


def classes():
    """Give all classes of ``polyadic.models`` that can be fitted, but for bases that leave something open."""
    for found in pkgutil.walk_packages(polyadic.models.__path__, "polyadic.models."):
        module = importlib.import_module(found.name)
        for _, cls in inspect.getmembers(module, inspect.isclass):
            open_ = getattr(cls, "_is_protocol", False) or inspect.isabstract(cls)
            if cls.__module__ == module.__name__ and hasattr(cls, "fit") and not open_:
                yield cls


every_model = pytest.mark.parametrize("name", sorted(TABLE))


def fitted(name):
    model = TABLE[name].make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        TABLE[name].fit(model)
    return model


@pytest.fixture(scope="module")
def known():
    """Keep one fitted model of each kind, for laws that do not change it."""
    made = {}
    return lambda name: made.setdefault(name, fitted(name)) if name not in made else made[name]


def alike(left, right):
    """Tell whether two answers are the same to the bit; NaN is NaN."""
    if sparse.issparse(left):
        return sparse.issparse(right) and alike(left.toarray(), right.toarray())
    if isinstance(left, np.ndarray):
        same = isinstance(right, np.ndarray) and left.dtype == right.dtype and left.shape == right.shape
        return same and (left.tolist() == right.tolist() if left.dtype == object else left.tobytes() == right.tobytes())
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(alike(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(alike, left, right))
    if dataclasses.is_dataclass(left):
        return type(left) is type(right) and alike(vars(left), vars(right))
    return repr(left) == repr(right)  # NaN is NaN


def wrong_values(hint):
    """Give values that an annotation does not allow, where it allows anything less than everything."""
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    values = [object()]
    for kind in kinds:
        if get_origin(kind) is Annotated:
            bounds = [bound for bound in get_args(kind)[1:] if isinstance(bound, Within)]
            values += [bound.low - 1 for bound in bounds] + [
                bound.high + 1 for bound in bounds if bound.high is not None
            ]
            values += [float("nan"), True]
        if get_origin(kind) is Literal:
            values.append("nonsense")
    return [value for value in values if not admits(hint, value)]


def test_every_class_with_fit_is_a_model():
    """Nothing in ``polyadic.models`` has a fit and is no :class:`Model`."""
    assert [cls.__name__ for cls in classes() if not issubclass(cls, Model)] == []


def test_every_model_is_in_the_table():
    """A new model is tested once it has an example: this test asks for it."""
    assert {cls.__name__ for cls in classes()} - {name.split()[0] for name in TABLE} == set()


@every_model
def test_settings_are_shown_and_cloned(name):
    """A model shows the settings that are not its defaults; a clone has the same and nothing learned."""
    model = TABLE[name].make()
    assert repr(model).startswith(f"{name.split()[0]}(")
    twin = clone(fitted(name))
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


@every_model
def test_settings_are_checked_before_work(name, monkeypatch):
    """``fit`` asks ``check`` before it looks at the data, and what is refused leaves nothing behind."""

    class RefusedError(Exception):
        pass

    def refuse(_):
        raise RefusedError

    model = TABLE[name].make()
    monkeypatch.setattr(type(model), "check", refuse)
    with pytest.raises(RefusedError):
        TABLE[name].fit(model)
    assert model._state() == {}


@every_model
def test_same_fit_same_bits(name, known):
    """A second model, and the same model fitted again, give the same answers to the bit."""
    answers = TABLE[name].ask(known(name))
    again = fitted(name)
    assert alike(TABLE[name].ask(again), answers)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        TABLE[name].fit(again)
    assert alike(TABLE[name].ask(again), answers)


@every_model
def test_fit_does_not_change_settings(name, known):
    """The settings of a fitted model are those that it was made with."""
    before, after = TABLE[name].make().get_params(deep=False), known(name).get_params(deep=False)
    assert {key: repr(value) for key, value in before.items()} == {key: repr(value) for key, value in after.items()}


@pytest.mark.parametrize("name", sorted(name for name in TABLE if hasattr(TABLE[name].make(), "watch")))
def test_interrupted_fit_leaves_a_model(name):
    """Ctrl-C after the first sweep leaves a model that answers, and says that it was interrupted."""
    model = TABLE[name].make()

    def stop(*_):
        raise KeyboardInterrupt

    model.watch = stop
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        try:
            TABLE[name].fit(model)
        except KeyboardInterrupt:  # nothing was reached that could answer, and nothing is left
            assert model._state() == {}
            return
    assert model.interrupted_
    TABLE[name].ask(model)


@every_model
def test_saved_model_comes_back(name, known, tmp_path):
    """What is loaded has the same settings, the same attributes and the same answers to the bit."""
    model = known(name)
    model.save(tmp_path / "model")
    back = load(tmp_path / "model")
    assert type(back) is type(model)
    assert repr(back) == repr(model)
    assert back._state().keys() == model._state().keys()
    assert alike(TABLE[name].ask(back), TABLE[name].ask(model))
    back.save(tmp_path / "again")
    for file in (tmp_path / "model").iterdir():
        assert file.read_bytes() == (tmp_path / "again" / file.name).read_bytes()


@every_model
def test_damaged_folder_is_refused(name, known, tmp_path):
    """A flipped bit, a missing end or a missing file is told in one sentence that names the folder, or harmless."""
    known(name).save(tmp_path / "model")
    answers = TABLE[name].ask(known(name))
    rng = np.random.default_rng(0)
    for _ in range(MUTATIONS):
        folder = tmp_path / "damaged"
        shutil.copytree(tmp_path / "model", folder)
        file = sorted(folder.iterdir())[rng.integers(3)]
        content = bytearray(file.read_bytes())
        at = rng.integers(len(content))
        how = rng.integers(4)
        if how == 0:
            file.unlink()
        elif how == 1:
            file.write_bytes(content[:at])
        else:
            content[at] ^= 1 << int(rng.integers(8))
            file.write_bytes(content)
        try:
            assert alike(TABLE[name].ask(load(folder)), answers)  # such as without the last line feed
        except InputError as error:
            message = str(error)
        else:
            message = str(folder)
        assert str(folder) in message
        assert "\n" not in message
        shutil.rmtree(folder)


@every_model
def test_models_travel_between_processes(name, known, tmp_path):
    """``joblib`` carries a fitted model, which answers the same."""
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
        ("os:system", "is nothing of this library"),
        ("polyadic.models.folder:importlib", "is nothing of this library"),
        ("polyadic.__main__:main", "is nothing of this library"),
        ("polyadic.models.words.symmetric:Gone", "is not in this polyadic"),
        ("polyadic.nowhere:Gone", "is not in this polyadic"),
    ],
)
def test_folders_name_this_library_only(name, message):
    """What a folder names is taken from this library, whatever it says; nothing else is imported or called."""
    with pytest.raises(ValueError, match=message):
        Reader({})({"function": name})
