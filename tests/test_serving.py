"""A saved model over HTTP: the commands that ask it are routes, with their options and answers."""

import asyncio
import importlib
import json

import httpx
import numpy as np
import pytest

from polyadic import TableCompletion
from polyadic.cli import FAMILIES, questions_to
from polyadic.cli.task import about
from polyadic.interface import http
from polyadic.interface.task import load_class

PORT = 8000
RNG = np.random.default_rng(0)
TABLE = [(f"row {i}", f"column {j}", float(i % 3 + j % 2)) for i in range(8) for j in range(8) if RNG.random() < 0.7]


def ask(model, *paths):
    """Return status and answer of each path."""
    questions = {**questions_to(model), "about": about}
    app = http.application(questions, model, "token", PORT, title="a model", respond=http.plain_json)

    async def answers():
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url=f"http://127.0.0.1:{PORT}/token/") as client:
            return [await client.get(path) for path in paths]

    return [(answer.status_code, answer.json()) for answer in asyncio.run(answers())]


def test_a_model_is_asked_as_by_its_commands():
    """Routes return what the functions of the commands return; settings are those of the model."""
    model = TableCompletion(rank=2, choose=False, seed=0).fit(TABLE)
    asked = ["api/about", "api/recommend?row=row 1&top=2&why=1", "api/similar?name=column 1&top=3", "openapi.json"]
    settings, recommended, similar, described = [answer for status, answer in ask(model, *asked) if status == 200]
    assert settings["settings"]["rank"] == 2
    questions = questions_to(model)
    assert recommended == json.loads(http.plain_json(questions["recommend"](model, "row 1", top=2, why=1)).body)
    assert similar == questions["similar"](model, "column 1", top=3)
    assert set(described["paths"]) == {f"/api/{name}" for name in (*questions, "about")}


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("api/recommend?row=nobody", "nobody"),
        ("api/recommend?row=row 1&top=0", "top must be a whole number of at least 1"),
        ("api/recommend?row=row 1&allowed=/etc/passwd", "there is no parameter 'allowed'"),
        ("api/recommend?row=row 1&out=/tmp/file", "there is no parameter 'out'"),
    ],
)
def test_wrong_questions_are_refused(path, problem):
    """A wrong question gets one sentence; files of this machine are neither read nor written."""
    [(status, answer)] = ask(TableCompletion(rank=1, choose=False).fit(TABLE), path)
    assert status == 400
    assert problem in answer["error"]


def test_every_family_says_which_questions_it_answers():
    """A question belongs to a model, and asks for no file that must be given."""
    tasks = [task for panel in FAMILIES.values() for task in panel.values()]
    for task in tasks:
        for verb in task.verbs.values():
            if verb.question:
                assert task.model
                http.query_model(verb.function)
                targets = task.model if isinstance(task.model, tuple) else (task.model,)
                assert all(importlib.import_module(target.partition(":")[0]) for target in targets)
                assert load_class(task.model)
