"""The server: who may ask, what may be asked, and what is said to all others."""

import asyncio
import contextlib
import inspect
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import httpx
import pytest

import workspaces
from polyadic.explore import server
from polyadic.explore.answers import ANSWERS

TOKEN, PORT = "token", 8000
BASE = f"http://127.0.0.1:{PORT}"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    return workspaces.planted(tmp_path_factory.mktemp("planted"))


def ask(workspace, *paths, seconds=30.0, **headers):
    """Ask the application, without a network; one answer for each path."""

    async def asked():
        transport = httpx.ASGITransport(server.application(workspace, token=TOKEN, port=PORT, timeout=seconds))
        async with httpx.AsyncClient(transport=transport, base_url=BASE) as client:
            return [await client.get(path, headers=headers) for path in paths]

    found = asyncio.run(asked())
    return found[0] if len(found) == 1 else found


def test_answers_and_page(workspace):
    """Who has the token gets answers and every file of the page, each with its kind."""
    answer = ask(workspace, f"/{TOKEN}/api/word?word=bank&top=3")
    assert answer.status_code == 200
    assert len(answer.json()["neighbours"]) == 3
    page = ask(workspace, f"/{TOKEN}/")
    assert page.headers["content-type"].startswith("text/html")
    for name in re.findall(r'(?:src|href)="([^"#:]+)"', page.text):
        assert ask(workspace, f"/{TOKEN}/{name}").status_code == 200, name
    sent = ask(workspace, f"/{TOKEN}/page.html?words=bank&parts=kind=river")
    assert sent.status_code == 200
    assert 'id="answers"' in sent.text


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/", {}, 404),
        ("/other/api/overview", {}, 404),
        (f"/{TOKEN}/api/overview", {"host": "evil.example"}, 403),
        (f"/{TOKEN}/api/overview", {"host": "127.0.0.1:1"}, 403),
        (f"/{TOKEN}/api/overview", {"origin": "https://evil.example"}, 403),
        (f"/{TOKEN}/api/overview", {"origin": "null"}, 403),
        (f"/{TOKEN}/api/overview", {"sec-fetch-site": "cross-site"}, 403),
        (f"/{TOKEN}/api/overview", {"host": f"localhost:{PORT}", "origin": f"http://localhost:{PORT}"}, 200),
        (f"/{TOKEN}/api/none", {}, 404),
        (f"/{TOKEN}/none.js", {}, 404),
        (f"/{TOKEN}/..%2Fserver.py", {}, 404),
        (f"/{TOKEN}/%2e%2e/server.py", {}, 404),
        (f"/{TOKEN}/api/lines?words={'a' * 5000}", {}, 414),
    ],
)
def test_who_may_ask(workspace, path, headers, status):
    """Others are refused: without the token, from other pages, by other names, for files that are not the page's."""
    answer = ask(workspace, path, **headers)
    assert answer.status_code == status
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    ("question", "fault"),
    [
        ("word", "word is missing"),
        ("word?word=banc", "'banc' is not in the vocabulary"),
        ("word?word=bank&top=x", "top must be a whole number from 1 to 1,000; got 'x'"),
        ("word?word=bank&top=0", "top must be a whole number from 1 to 1,000; got '0'"),
        ("word?word=bank&word=loan", "word must be given only once"),
        ("word?word=bank&wrong=1", "there is no parameter 'wrong'; the parameters are word, width, top, min_count"),
        ("lines?words=bank&either=perhaps", "either must be True or False"),
        ("lines?words=bank&sort=up", "sort must be one of"),
        ("lines?words=bank&width=-1", "width must be"),
        ("lines", "words is missing"),
        ("topics?relevance=nan", "relevance must be a finite number from 0 to 1"),
        ("phrase?words=bank", "two different words"),
        ("table?rows=year", "rows must be a document field"),
        ("document?number=9999", "no document 9999"),
    ],
)
def test_faults_are_sentences(workspace, question, fault):
    """What cannot be asked is told in one sentence, for people."""
    answer = ask(workspace, f"/{TOKEN}/api/{question}")
    assert answer.status_code == 400
    assert fault in answer.json()["error"]


def test_what_takes_too_long_is_given_up(workspace, monkeypatch):
    """A question that takes too long is answered in time, and others go on."""
    ready = threading.Event()

    def slow_answer(workspace):
        return {"done": ready.wait(60)}

    monkeypatch.setitem(ANSWERS, "slow", slow_answer)
    slow, quick = ask(workspace, f"/{TOKEN}/api/slow", f"/{TOKEN}/api/overview", seconds=0.5)
    ready.set()
    assert slow.status_code == 503
    assert "this takes more than 0.5 seconds" in slow.json()["error"]
    assert quick.status_code == 200


def test_numbers_of_the_commands(workspace):
    """Concordances, lists and comparisons have the same numbers, to four decimals, on the page and in the commands."""
    from typer.testing import CliRunner

    from polyadic.cli import app

    where, only = "field=kind&value=river", ["--where", "kind=river"]
    cases = {
        f"lines?words=B%3Fnk&sort=right&context=3&top=5&{where}": [
            "lines",
            "B?nk",
            "--sort",
            "right",
            "--context",
            "3",
        ],
        f"lines?words=Bank&case=true&sample=7&top=7&{where}": [
            "lines",
            "Bank",
            "--set",
            "match_case=true",
            "--sample",
            "7",
        ],
        f"word_list?query=b*&sort=dp&{where}": ["words", "b*", "--sort", "dp"],
        f"ngrams?n=3&query=bank&min_count=2&{where}": ["ngrams", "bank", "--size", "3"],
        f"collocates?query=bank&left=2&right=1&sort=log_dice&{where}": [
            *("collocates", "bank", "--left", "2", "--right", "1", "--sort", "log_dice"),
        ],
        f"keywords?{where}&sort=text_dispersion": ["keywords", "--keys", "both", "--sort", "text_dispersion"],
        f"diversity?by=kind&window=50&{where}": ["diversity", "--by", "kind", "--window", "50"],
        f"trends?queries=bank&queries=water&by=kind&{where}": ["trends", "bank", "water", "--by", "kind"],
        f"barcode?queries=bank&top=50&{where}": ["barcode", "bank"],
    }
    asked = ask(workspace, *(f"/{TOKEN}/api/{question}" for question in cases))
    for (question, (verb, *rest)), answer in zip(cases.items(), asked, strict=True):
        done = CliRunner().invoke(app, [verb, str(workspace.path), *rest, *only, "--json"])
        assert done.exit_code == 0, (question, done.output)
        printed = json.loads(done.stdout)
        shown = answer.json()
        if verb == "lines":
            assert shown["count"] == printed["count"], question
            lines = [line["text"] for line in printed["lines"]][: len(shown["lines"])]
            assert [line["text"] for line in shown["lines"]] == lines, question
            continue
        rows = shown["rows"] if "rows" in shown else [row for rows in shown["words"] for row in rows]
        assert len(rows) == len(printed["rows"]) > 0, question
        names = {"word": "item", "count": "frequency", "against": "reference_frequency"}
        for row, other in zip(rows, printed["rows"], strict=True):
            for name, value in row.items():
                if name == "positions":
                    continue
                of = other[names.get(name, name) if verb == "keywords" else name]
                assert value == (pytest.approx(of, abs=6e-5) if isinstance(of, float) else of), (question, name)


def test_openapi(workspace):
    """Each question is described with all its parameters, their bounds and defaults."""
    described = ask(workspace, f"/{TOKEN}/openapi.json").json()
    assert {*described["paths"]} == {f"/api/{name}" for name in ANSWERS}
    for name, function in ANSWERS.items():
        about = described["paths"][f"/api/{name}"]["get"]
        assert about["summary"].endswith((".", ":"))
        assert [each["name"] for each in about.get("parameters", [])] == [*inspect.signature(function).parameters][1:]
    (top,) = [each for each in described["paths"]["/api/word"]["get"]["parameters"] if each["name"] == "top"]
    assert {"type": "integer", "minimum": 1, "maximum": 1000, "default": 30}.items() <= top["schema"].items()
    (sort,) = [each for each in described["paths"]["/api/lines"]["get"]["parameters"] if each["name"] == "sort"]
    assert sort["schema"]["enum"] == ["document", "left", "right", "relevance"]


def test_command(workspace):
    """The command says one line for programs, answers on this machine alone, and ends by Ctrl-C without a word."""
    command = [sys.executable, "-m", "polyadic", "explore", str(workspace.path), "--no-browser", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        try:
            address = json.loads(running.stdout.readline())["address"]
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{20,}/", address)
            deadline = time.monotonic() + 120
            answer = None
            while answer is None and time.monotonic() < deadline:
                with contextlib.suppress(ConnectionRefusedError, urllib.error.URLError):
                    answer = json.load(urllib.request.urlopen(f"{address}api/overview"))
            assert answer["documents"] == 80
        finally:
            os.kill(running.pid, signal.SIGINT)
        _, said = running.communicate(timeout=120)
    assert running.returncode == 0
    assert "Traceback" not in said


def test_what_is_not_finished_is_no_text(workspace, tmp_path):
    """A folder that was cut short is not read as a text of its own."""
    whole = tmp_path / "half"
    shutil.copytree(workspace.path, whole)
    (whole / "meta.json").unlink()
    command = [sys.executable, "-m", "polyadic", "explore", str(whole), "--only-make"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 1
    assert "is incomplete" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["half"]
