"""The suite of spectral learning: its command on planted data and a small treebank."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from experiments.__main__ import app
from experiments.spectral import automata, hidden, protocol
from test_syntax_suite import parts


def test_the_command(tmp_path, monkeypatch):
    """It writes tables, keeps stages, and refuses parts and problems that there are not."""
    monkeypatch.setattr(protocol, "STRINGS", (25,))
    monkeypatch.setattr(protocol, "PENALTIES", (0.03,))
    monkeypatch.setattr(protocol, "SIZES", (200, 400))
    monkeypatch.setattr(protocol, "COLUMNS", {"upos": {"states": (2,), "seeds": 1}})
    for module in (protocol, hidden):
        monkeypatch.setattr(module, "web_treebank", parts)
    out = tmp_path / "out"
    arguments = ["spectral", "--out", str(out), "--parts", "completion,tags", "--planted", "2"]
    first = CliRunner().invoke(app, arguments)
    assert first.exit_code == 0, first.output
    text = (out / "report.md").read_text()
    assert "| strings | strings never seen are | as counted |" in text
    assert "| operators | rank 2, fresh" in text
    for name in ("completion_figures", "next_tag_figures"):  # a second run learns nothing
        monkeypatch.setattr(automata, name, lambda *_, **__: pytest.fail("learned again"))
    again = CliRunner().invoke(app, [*arguments, "--json"])
    assert json.loads(again.stdout)["completion"] == json.loads((out / "report.json").read_text())["completion"]
    other = CliRunner().invoke(app, [*arguments[:-1], "3"])
    assert other.exit_code == 1
    assert "was made with planted 2 instead of 3" in " ".join(other.stderr.split())
    for wrong, said in ((["--parts", "hmm"], "got hmm"), (["--problems", "2"], "got 2")):
        refused = CliRunner().invoke(app, [*arguments[:3], *wrong])
        assert refused.exit_code == 1
        assert said in " ".join(refused.stderr.split())
