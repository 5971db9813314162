"""The wheel: what a user gets who installs it from a built file."""

import importlib.util
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import polyadic

ROOT = Path(__file__).resolve().parent.parent

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Build the wheel once: with the builder that is here, else with one that pip fetches."""
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(out), str(ROOT)]
    if importlib.util.find_spec("hatchling"):
        command.append("--no-build-isolation")
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (path,) = out.iterdir()
    return path


def names(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_wheel_is_pure_python(wheel):
    """The wheel fits every platform and holds no compiled file, but what a browser reads, a book and facts."""
    assert wheel.name == f"polyadic-{polyadic.__version__}-py3-none-any.whl"
    kinds = {".py", ".typed", ".txt", ".html", ".css", ".js", ".xz", ".tsv", ".csv", ".toml", ".md"}
    assert {Path(name).suffix for name in names(wheel) if name.startswith("polyadic/")} <= kinds


def test_wheel_holds_what_it_must(wheel):
    """The wheel carries the licence, the mark of typed packages and every source file."""
    content = set(names(wheel))
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in content)
    assert "polyadic/py.typed" in content
    sources = {f"polyadic/{path.relative_to(ROOT / 'src/polyadic')}" for path in (ROOT / "src/polyadic").rglob("*.py")}
    assert sources - content == set()


def test_wheel_holds_nothing_else(wheel):
    """The wheel holds the package and its description: no tests, no benchmarks, no documents."""
    metadata = f"polyadic-{polyadic.__version__}.dist-info"
    assert {name.split("/")[0] for name in names(wheel)} == {"polyadic", metadata}


def test_wheel_runs(wheel, tmp_path):
    """The unpacked wheel is enough to import the package and to run its command line."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    code = "import polyadic, polyadic.cli; print(polyadic.__file__); polyadic.cli.main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "--version"],
        check=True,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    where, version = done.stdout.splitlines()
    assert Path(where).samefile(tmp_path / "polyadic" / "__init__.py")
    assert version.startswith(f"polyadic {polyadic.__version__} (Python ")


def test_versions_agree():
    """The package, how to cite it and the recipe carry one version."""
    assert f"\nversion: {polyadic.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    recipe = (ROOT / "packaging" / "recipe.yaml").read_text(encoding="utf-8")
    assert f'\n  version: "{polyadic.__version__}"\n' in recipe


def test_recipe_needs_what_the_package_needs():
    """Requirements of the recipe are those of the package, with the same lower bounds."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    recipe = (ROOT / "packaging" / "recipe.yaml").read_text(encoding="utf-8")
    run = recipe.partition("  run:\n")[2].partition("\n\n")[0].splitlines()
    assert {line.strip("- ").replace(" ", "") for line in run} == {
        f"python{project['requires-python']}",
        *project["dependencies"],
    }
