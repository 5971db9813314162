"""The page in a real browser: every view, hostile text, without a network, and for those who cannot see or point.

Needs Chromium (``apt-get install chromium``, or where ``POLYADIC_BROWSER`` names it); ``make test-page`` runs it alone.
"""

import contextlib
import csv
import dataclasses
import hashlib
import io
import json
import os
import shutil
import socket
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import uvicorn
from typer.testing import CliRunner

import workspaces
from polyadic.cli import app
from polyadic.embedding import Embedding
from polyadic.explore import server
from polyadic.explore.export import Chosen, page
from polyadic.explore.workspace import Workspace
from polyadic.interface import http
from polyadic.tables.cross_table import cross_table

BROWSER = os.environ.get("POLYADIC_BROWSER") or shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.page,
    pytest.mark.skipif(BROWSER is None, reason="there is no Chromium"),
    # which playwright's own loop leaves open
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]
SOURCES = Path(__file__).parents[1] / "page"
STATIC = Path(server.__file__).parent / "static"
SIZES = {"wide": (1280, 900, "light"), "narrow": (390, 844, "dark")}
PATIENCE = 60_000
SHOWN = """(() => {
    const main = document.querySelector("main");
    return main && main.dataset.shown === location.hash && !main.matches("[aria-busy]")
        && !main.querySelector(".waiting");
})()"""
workspaces_of = {}  # by address
VIEWS = {
    "overview": "#/",
    "word": "#/word/bank",
    "phrase": "#/phrase/bank%20water",
    "lines": "#/lines?words=bank&words=water",
    "CQL": "#/lines?words=%5Blc%3D%22ba.*%22%5D&context=4&sample=20",
    "list": "#/list",
    "n-grams": "#/list?n=3&query=bank",
    "collocates": "#/collocates/bank?positions=true",
    "trends": "#/trends?queries=bank&queries=water&by=kind",
    "diversity": "#/diversity?by=kind",
    "document": "#/document/3",
    "map": "#/map",
    "topics": "#/topics",
    "topic": "#/topics/0",
    "component": "#/component/0",
    "parts": "#/parts?field=kind&value=river",
    "contrast": "#/parts/bank?field=kind&value=river",
    "table": "#/table?rows=kind",
}


@contextlib.contextmanager
def served(workspace):
    """Serve a workspace, and give the address."""
    with socket.socket() as listening:
        listening.bind((http.HOST, 0))
        port = listening.getsockname()[1]
        app = server.application(workspace, token="token", port=port)
        running = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield f"http://{http.HOST}:{port}/token/"
        finally:
            running.should_exit = True
            thread.join(60)


@pytest.fixture(scope="module")
def chromium():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--enable-unsafe-swiftshader"]  # root, and no graphics card
        browser = playwright.chromium.launch(executable_path=BROWSER, args=arguments)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    workspace = workspaces.planted(tmp_path_factory.mktemp("planted"))
    with served(workspace) as address:
        workspaces_of[address] = workspace
        yield address


@pytest.fixture(scope="module")
def strange(tmp_path_factory):
    workspace = workspaces.hostile(tmp_path_factory.mktemp("hostile"))
    with served(workspace) as address:
        yield address, workspace


class Reader:
    """Somebody with a browser: goes to views, and notes what goes wrong."""

    def __init__(self, browser, size="wide", **options):
        width, height, scheme = SIZES[size]
        self.context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, **options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.faults = []
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("console", lambda said: self.faults.append(said.text) if said.type == "error" else None)
        self.page.on("dialog", lambda dialog: (self.faults.append("dialog"), dialog.dismiss()))

    def go(self, address):
        self.page.goto(address)
        self.wait()

    def wait(self):
        """Wait until the view of the address is there, and all of it."""
        deadline = time.monotonic() + PATIENCE / 1000
        while not self.page.evaluate(SHOWN):
            assert time.monotonic() < deadline, f"{self.page.url} does not come up"
            self.page.wait_for_timeout(20)

    def text(self, selector="main"):
        return self.page.locator(selector).first.inner_text()

    def saved(self, button):
        """Give what a button saves."""
        with self.page.expect_download() as download:
            button.click()
        return Path(download.value.path()).read_bytes()


@pytest.fixture
def reader(chromium, request):
    someone = Reader(chromium, getattr(request, "param", "wide"))
    yield someone
    someone.context.close()
    assert not someone.faults


@pytest.mark.parametrize("reader", SIZES, indirect=True)
@pytest.mark.parametrize("view", VIEWS)
def test_every_view(planted, reader, view):
    """Each view comes up at its address, fits the window, and breaks no rule of WCAG 2.2 that axe can tell."""
    from axe_playwright_python.sync_playwright import Axe

    reader.go(planted + VIEWS[view])
    assert not reader.page.locator(".fault").count()
    assert reader.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    rules = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
    report = Axe().run(reader.page, options=rules).response
    assert report["passes"]
    told = [(each["id"], [node["html"][:200] for node in each["nodes"][:3]]) for each in report["violations"]]
    assert not told


def test_word(planted, reader):
    """The senses of the planted word stand with their triples, and lead to their lines."""
    reader.go(planted + VIEWS["word"])
    cards = reader.page.locator(".sense")
    assert cards.count() == 2
    assert {name.split(",")[0] for name in cards.locator("h3").all_inner_texts()} == {"shore", "purse"}
    triple = cards.first.locator(".triples a").first
    words = {"bank", *triple.locator("span").inner_text().split(" + ")}
    triple.click()
    reader.page.wait_for_url("**#/lines**")
    reader.wait()
    rows = reader.page.locator(".kwic tbody tr")
    assert rows.count() > 0
    assert all(words <= {*row.lower().replace(".", " ").split()} for row in rows.all_inner_texts())


def test_sorted_and_taken_along(planted, reader):
    """A column is sorted by its heading, and what is saved is what is shown."""
    reader.go(planted + VIEWS["word"])
    collocates = reader.page.get_by_role("region", name="Collocates within 5 words of bank")
    collocates.get_by_role("button", name="co-occurrences").click()
    counts = [int(cell) for cell in collocates.locator("tbody td:nth-child(2)").all_inner_texts()]
    assert counts == sorted(counts, reverse=True)
    saved = reader.saved(reader.page.get_by_role("button", name="CSV: collocates of bank")).decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(saved, newline="")))
    assert sorted((int(row["together"]) for row in rows), reverse=True) == counts
    drawing = reader.saved(reader.page.get_by_role("button", name="SVG: dispersion of bank"))
    assert drawing.startswith(b"<svg")
    assert drawing.count(b"<rect") == 60


def test_search_by_keys(planted, reader):
    """Somebody without a mouse looks for a word, for a phrase, and for one that is not there."""
    reader.go(planted)
    keys = reader.page.keyboard
    for typed, heading in (("bank", "bank"), ("bank water", "bank water")):
        keys.press("/")
        keys.press("Control+A")
        keys.type(typed)
        keys.press("Enter")
        reader.page.get_by_role("heading", level=1, name=heading, exact=True).wait_for()
    reader.wait()
    keys.press("/")
    keys.press("Control+A")
    keys.type("banc")
    keys.press("Enter")
    assert "'banc' is not in the vocabulary" in reader.page.get_by_role("alert").inner_text()
    reader.faults.clear()  # the console tells of the answer 400


def test_concordance(planted, reader):
    """Lines are asked for by a form, stand around their word, and are sorted by what is beside it."""
    reader.go(planted + "#/lines")
    reader.page.get_by_label("Query", exact=True).fill("bank")
    reader.page.get_by_label("Sort by").select_option("right")
    reader.page.get_by_label("Field").select_option("kind")
    reader.page.get_by_label("Value", exact=True).fill("river")
    reader.page.get_by_role("button", name="Search").last.click()
    reader.page.locator(".kwic tbody tr").first.wait_for()
    right = [text.strip(" .") for text in reader.page.locator(".kwic td.right").all_inner_texts()]
    assert right == sorted(right)
    assert "next →" in reader.text()
    saved = reader.saved(reader.page.get_by_role("button", name="CSV: lines of bank")).decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(saved, newline="")))
    assert f"{len(rows)} lines · 1–100" in reader.text()
    assert {row["kind"] for row in rows} == {"river"}
    first = reader.text(".kwic tbody tr")
    reader.page.get_by_role("link", name="next →").click()
    reader.page.get_by_role("link", name="← previous").wait_for()
    assert reader.text(".kwic tbody tr") != first


def test_query_to_trend(planted, reader):
    """A query in CQL is searched and sorted; its collocates and its trend show the same numbers as the commands."""

    def command(*given):
        done = CliRunner().invoke(app, [*given, "--json"])
        return json.loads(done.stdout)["rows"]

    address, corpus = planted, str(workspaces_of[planted].path)
    query = '[lc="ban.*"]'
    reader.go(address + "#/lines")
    reader.page.get_by_label("Query", exact=True).fill(query)
    reader.page.get_by_label("Sort by").select_option("left")
    reader.page.get_by_label("Words on either side").fill("2")
    reader.page.get_by_role("button", name="Search").last.press("Enter")
    reader.page.locator(".kwic tbody tr").first.wait_for()
    left = [
        text.lower().replace(".", "").split()[::-1] for text in reader.page.locator(".kwic td.left").all_inner_texts()
    ]
    assert left == sorted(left)
    assert max(map(len, left)) == 2
    reader.page.get_by_role("link", name="Collocates").last.click()
    reader.page.get_by_label("Words to the left").fill("1")
    reader.page.get_by_label("Words to the right").fill("0")
    reader.page.get_by_role("button", name="Show").click()
    reader.page.wait_for_url("**left=1&right=0**")
    reader.wait()
    shown = [row.split() for row in reader.page.locator("tbody tr").all_inner_texts()]
    found = command("collocates", corpus, query, "--left", "1", "--right", "0")
    assert [row[:2] for row in shown] == [[each["item"], str(each["together"])] for each in found]
    reader.go(address + "#/lines?words=bank")
    reader.page.get_by_role("link", name="Trends").last.click()
    reader.page.locator(".bars .bar").first.wait_for()
    millions = [int(text.replace(",", "")) for text in reader.page.locator(".bars small").all_inner_texts()]
    found = command("trends", corpus, "bank", "--by", "kind")
    assert millions == pytest.approx([each["per_million"] for each in found], abs=0.5)
    assert reader.page.locator(".stripe").count() == len(command("barcode", corpus, "bank", "--top", "100"))


def test_what_cannot_be_asked(planted, reader):
    """A word without matches and a syntax error have different messages, and the form remains."""
    reader.go(planted + "#/lines?words=banc")
    assert "'banc' does not occur in the text" in reader.text()
    reader.go(planted + "#/list?query=banc")
    assert "'banc' does not occur in the text" in reader.text()
    reader.go(planted + "#/collocates/" + "%5Blc%3D")
    assert "cannot be read at character" in reader.page.get_by_role("alert").inner_text()
    assert reader.page.get_by_label("Query", exact=True).input_value() == "[lc="
    reader.faults.clear()  # the console tells of the answer 400


def test_map(planted, reader):
    """A word is found on the map, a lasso lists words, and a click leads to one."""
    reader.go(planted + "#/map/water")
    names = reader.page.get_by_role("img", name="Map of 27 words")
    names.wait_for()
    reader.page.locator(".stage[data-painted]").wait_for()
    box = names.bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    reader.page.get_by_role("button", name="Whole map").click()
    reader.page.keyboard.down("Shift")
    corners = [(box["x"] + 5, box["y"] + 5), (box["x"] + box["width"] - 5, box["y"] + 5)]
    corners += [(x, box["y"] + box["height"] - 5) for x, _ in reversed(corners)]
    reader.page.mouse.move(*corners[0])
    reader.page.mouse.down()
    for corner in [*corners[1:], corners[0]]:
        reader.page.mouse.move(*corner, steps=4)
    reader.page.mouse.up()
    reader.page.keyboard.up("Shift")
    reader.page.locator(".chosen").get_by_text("27 words").wait_for()
    for colours in ("frequency", "more frequent in kind river"):
        reader.page.get_by_label("Colour by").select_option(colours)
    drawing = reader.saved(reader.page.get_by_role("button", name="PNG: map"))
    assert drawing.startswith(b"\x89PNG")
    assert len(drawing) > 5_000
    reader.page.get_by_role("textbox", name="Find").fill("water")
    reader.page.get_by_role("button", name="Show").click()
    reader.page.mouse.click(*middle)
    reader.page.get_by_role("heading", level=1, name="water").wait_for()


def test_topics_lead_to_documents(planted, reader):
    """From the map of topics to one, to its documents, to their text."""
    reader.go(planted + VIEWS["topics"])
    reader.page.locator(".topic").first.press("Enter")
    reader.page.get_by_role("heading", name="Documents").wait_for()
    reader.page.locator("table a").first.click()
    reader.page.locator(".text p").first.wait_for()
    assert reader.page.locator(".text p").count() == 8


def test_two_people(chromium, planted, tmp_path):
    """How is a word used, with lines of each sense, to a colleague; and which words set two sets of documents apart."""
    one = Reader(chromium)
    one.go(planted)
    one.page.get_by_label("Word or phrase").fill("bank")
    one.page.get_by_role("button", name="Search").first.click()
    one.page.locator(".sense").first.wait_for()
    assert one.page.locator(".sense .quotes li").count() == 6
    file = tmp_path / "bank.html"
    file.write_bytes(one.saved(one.page.get_by_role("link", name="Export page: bank")))
    one.page.get_by_role("link", name="Compare").first.click()
    one.page.get_by_label("Part").select_option("river")
    one.page.get_by_role("button", name="Compare").click()
    one.page.get_by_role("heading", name="Key words of river").wait_for()
    words = set(one.page.locator("section").first.locator("tbody td:first-child").all_inner_texts())
    assert words - {"bank"} == workspaces.words_of("river")
    assert not one.faults
    one.context.close()
    colleague = Reader(chromium, offline=True)
    colleague.go(file.as_uri())
    colleague.page.get_by_role("region", name="Contents").get_by_role("link", name="bank").click()
    colleague.page.locator(".sense").first.wait_for()
    assert colleague.page.locator(".sense .quotes li").count() == 6
    assert not colleague.faults
    colleague.context.close()


@pytest.mark.parametrize("word", ["bank", "script", "שלום", "w" * 3_000])
def test_text_is_text(strange, reader, word):
    """Markup in a text or a title is shown as it is; nothing of it becomes part of the page, and nothing overflows."""
    address, workspace = strange
    known = workspace.vectors.find(word) is not None
    for view in ("word", "lines"):
        reader.go(address + (f"#/word/{word}" if view == "word" else f"#/lines?words={word}"))
        assert reader.page.evaluate("document.body.id") == ""
        assert reader.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert reader.page.locator("main script, main img, main b, main svg[onload]").count() == 0
    if not known:
        reader.faults.clear()  # the console tells of the answer 400
    elif word == "bank":
        shown = reader.text()
        for said in ("<b>bold</b> & <img src=x", "</script><script>", "שלום", "👩‍👩‍👧‍👦", "=1+1"):
            assert said in shown
        saved = reader.saved(reader.page.get_by_role("button", name="CSV: lines of bank")).decode("utf-8-sig")
        assert not [
            row for row in csv.reader(io.StringIO(saved, newline="")) for cell in row if cell.startswith(("=", "@"))
        ]


@pytest.mark.filterwarnings("ignore::polyadic.core.errors.InputWarning")
def test_hostile_parts_table_and_page(strange, chromium, tmp_path):
    """Values of fields are text in every view that names them, and in a page to send."""
    address, workspace = strange
    reader = Reader(chromium)
    for view in (
        "",
        "#/parts?field=kind&value=a",
        "#/table?rows=kind",
        "#/table?rows=kind&columns=title",
        "#/map",
        "#/topics/0",
        "#/document/0",
    ):
        reader.go(address + view)
        assert not reader.page.locator(".fault").count(), view
        assert reader.page.evaluate("document.body.id") == ""
    file = tmp_path / "page.html"
    chosen = Chosen(words=["bank"], tables=["kind/title"], parts=["kind=a"], topics=True, map=True)
    file.write_text(page(workspace, chosen), encoding="utf-8")
    seen = walked(Reader(chromium, offline=True), file.as_uri())
    assert {"#/word/bank", "#/topics", "#/map", "#/topics/0"} <= seen
    assert not reader.faults
    reader.context.close()


def walked(reader, address):
    """Follow every link of a page, and see that nothing is missing or asked for elsewhere."""
    requests = []
    reader.page.on("request", lambda request: requests.append(request.url))
    reader.go(address)
    seen, waiting = set(), ["#/"]
    while waiting:
        view = waiting.pop()
        seen.add(view)
        reader.page.evaluate("view => { location.hash = view; }", view)
        reader.wait()
        assert not reader.page.locator(".fault").count(), view
        assert reader.page.evaluate("document.body.id") == ""
        links = reader.page.eval_on_selector_all(
            'a[href^="#/"]', "links => links.map(link => link.getAttribute('href'))"
        )
        waiting += {*links} - seen - {*waiting}
    assert not [url for url in requests if url.split("#")[0] != address and not url.startswith(("data:", "blob:"))]
    assert not reader.faults
    reader.context.close()
    return seen


def test_a_table_alone(chromium, tmp_path):
    """A table of counts becomes a page whose points and figures are those of the analysis."""
    file, table = tmp_path / "fisher.html", tmp_path / "fisher.csv"
    table.write_text("eye,fair,<b>red</b>,dark\nblue,326,38,110\nlight,688,116,188\ndark,98,48,681\n", encoding="utf-8")
    done = CliRunner().invoke(app, ["table", str(table), "--page", str(file)])
    assert done.exit_code == 0, done.output
    assert walked(Reader(chromium, offline=True), file.as_uri()) >= {"#/table"}
    reader = Reader(chromium, offline=True)
    reader.go(f"{file.as_uri()}#/table?rows=rows&columns=columns")
    assert reader.page.locator(".point").count() == 6
    assert "<b>red</b>" in reader.text()
    counted = cross_table(table)
    assert f"χ² = {counted.association()['chi2']:.0f}" in reader.text()
    assert not reader.faults
    reader.context.close()


@pytest.mark.slow
def test_map_of_many_words(chromium, tmp_path):
    """A hundred thousand points come up, and are moved."""
    workspace = workspaces.planted(tmp_path)
    rng = np.random.default_rng(0)
    n = 100_000
    words = Embedding(
        [f"w{k}" for k in range(n)], np.abs(rng.standard_normal((n, 4))).astype(np.float32), counts=np.arange(n, 0, -1)
    )
    many = dataclasses.replace(workspace, vectors=words, places=rng.standard_normal((n, 2)).astype(np.float32))
    with served(many) as address:
        reader = Reader(chromium)
        reader.go(address + "#/map")
        names = reader.page.get_by_role("img", name="Map of 100,000 words")
        names.focus()
        for key in ("+", "ArrowLeft", "-"):
            names.press(key)
        reader.page.locator(".stage[data-painted]").wait_for()
        drawing = reader.saved(reader.page.get_by_role("button", name="PNG: map"))
        assert len(drawing) > 100_000  # a hundred thousand points are no even ground
        assert not [fault for fault in reader.faults if "ReadPixels" not in fault]
        reader.context.close()


def test_built_of_these_sources():
    """What is in the package was built of the sources beside it: else, ``make page``."""
    names = sorted(
        path.relative_to(SOURCES).as_posix()
        for path in SOURCES.rglob("*")
        if path.suffix in (".js", ".css", ".html", ".json") and "node_modules" not in path.parts
    )
    digest = hashlib.sha256()
    for name in names:
        digest.update(f"{name}\0".encode() + (SOURCES / name).read_bytes() + b"\0")
    assert (STATIC / "sources.txt").read_text() == digest.hexdigest() + "\n"
    assert "d3-zoom" in (STATIC / "licences.txt").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_real_text(chromium, tmp_path):
    """A real text is made into a workspace, and every view of it is walked."""
    from polyadic.cli import demonstration as demo

    workspace = Workspace.build(demo.text(), tmp_path / "workspace")
    assert len(workspace.places) == len(workspace.vectors) > 5_000
    with served(workspace) as address:
        reader = Reader(chromium)
        for view in (
            "",
            "#/word/film",
            "#/phrase/film%20music",
            "#/lines?words=film",
            "#/map/film",
            "#/topics/1",
            "#/component/2",
        ):
            reader.go(address + view)
            assert not reader.page.locator(".fault").count(), view
        assert not reader.faults
        reader.context.close()
