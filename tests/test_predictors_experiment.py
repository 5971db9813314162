"""Predictors by one command: labels and pupils on small planted data, the report, the command."""

import numpy as np
import pytest
from scipy.io import savemat
from scipy.sparse import csr_array
from sklearn.linear_model import Ridge

from experiments.data.multilabel import Labelling
from experiments.data.school import FEATURES, PUPILS, SCHOOLS, School, school
from experiments.predictors import labels, schools
from polyadic import InputError


def texts(seed=0):
    """Give labels that follow from three hidden numbers, in two parts."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((130, 3))
    X = (z @ rng.standard_normal((3, 40)) > 0.8).astype(float)
    Y = z @ rng.standard_normal((3, 12)) > 0.7
    names = [f"f{k}" for k in range(40)], [f"l{k}" for k in range(12)]
    return tuple(Labelling(csr_array(X[rows]), Y[rows], *names) for rows in (slice(90), slice(90, None)))


def pupils():
    """Give pupils whose scores depend on one direction, more or less strongly by school."""
    rng = np.random.default_rng(1)
    at = np.repeat(np.arange(SCHOOLS), 16)
    X = rng.standard_normal((len(at), 5))
    strength = rng.gamma(2.0, 1.0, SCHOOLS)
    y = X @ [1.0, -1.0, 0.5, 2.0, 0.0] * strength[at] + rng.standard_normal(SCHOOLS)[at] + rng.standard_normal(len(at))
    return School(X, y, at)


def test_labels(monkeypatch):
    """All methods tell planted labels; measures are those of the part that chose nothing; settings are of the grid."""
    monkeypatch.setattr(labels, "multilabel", lambda *_: texts())
    rows = labels.compared("any", seed=0)
    grids = {method.name: method.settings for method in labels.methods(12)}
    assert [row["name"] for row in rows] == list(grids)
    precisions = {row["name"]: row["micro_ap"] for row in rows}
    for method, row in zip(labels.methods(12)[1:], rows[1:], strict=True):
        assert row["gain"]["value"] == pytest.approx(precisions[method.name] - precisions[method.beside])
    for row in rows:
        assert row["micro_ap"] > 0.7
        assert row["chosen"] in grids[row["name"]]
    monkeypatch.setattr(labels, "multilabel", lambda *_: (texts()[0], texts(seed=5)[1]))
    others = labels.compared("any", seed=0)
    assert [row["chosen"] for row in others] == [row["chosen"] for row in rows]
    assert all(other["micro_ap"] < row["micro_ap"] for other, row in zip(others, rows, strict=True))


def test_a_label_that_nothing_has():
    """It gets no logistic regression and no place before labels that are."""
    X, Y = np.eye(6), np.zeros((6, 2))
    Y[::2, 0] = 1
    found = labels.logistic(csr_array(X), Y, csr_array(X), {"C": 100.0})
    assert (found[:, 1] == -labels.NEVER).all()
    assert ((found[:, 0] > 0) == (Y[:, 0] == 1)).all()


@pytest.mark.slow
def test_schools(monkeypatch):
    """Schools that share a direction are best explained together; the share within schools is the smaller one."""
    monkeypatch.setattr(schools, "school", lambda **_: pupils())
    rows = {row["name"]: row for row in schools.compared(splits=2, seed=0)}
    together = rows.pop("low-rank tasks")
    assert all(one["rank"] == 1 for one in together["chosen"])
    for row in rows.values():
        assert (np.array(together["explained"]) > row["explained"]).all()
        assert (np.array(row["within"]) < row["explained"]).all()


def test_each_school_alone():
    """What is fitted apart is what a library fits to each."""
    data = pupils()
    predicted = schools.apart(data.features, data.scores, data.schools, ridge=3.0)(data.features, data.schools)
    for k in (0, 7, SCHOOLS - 1):
        X, y = data.features[data.schools == k], data.scores[data.schools == k]
        np.testing.assert_allclose(predicted[data.schools == k], Ridge(3.0).fit(X, y).predict(X))


@pytest.mark.realdata
def test_pupils(realdata):
    """All are there, with scores from 1 to 70; features are truth values but for two shares."""
    data = school(root=realdata)
    assert data.features.shape == (PUPILS, FEATURES)
    assert (data.scores.min(), data.scores.max()) == (1, 70)
    assert np.unique(np.delete(data.features, [3, 4], axis=1)).tolist() == [0, 1]
    assert len(np.unique(data.schools)) == SCHOOLS


def test_a_damaged_file_of_pupils(tmp_path):
    """It is named."""
    (tmp_path / "multilabel").mkdir()
    with pytest.raises(InputError, match=r"school\.mat cannot be read"):
        school(root=tmp_path)
    path = tmp_path / "multilabel" / "school.mat"
    savemat(path, {"X": np.zeros((50, 50))}, do_compression=True)
    whole, newer = path.read_bytes(), b"MATLAB 7.3".ljust(124) + b"\x00\x02IM" + bytes(100)
    for content in (b"no array", bytes(100), whole, whole[:150], whole[:140] + bytes(8) + whole[148:], newer):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"school\.mat cannot be read"):
            school(root=tmp_path)
