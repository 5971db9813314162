# Needs only python3 >= 3.11 and make. Everything is installed into .venv; what is installed already is left alone.
#   make demo PYTHON=python3.12     to choose the Python

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help demo test test-all test-page page site lint bench changelog wheel test-lowest release tagged clean
.NOTPARALLEL:
.DELETE_ON_ERROR:

help:
	@echo "make demo      count, train and look at word vectors of a real text (writes demo/)"
	@echo "make test      run the tests in minutes: all but those that take long"
	@echo "make test-all  run all tests"
	@echo "make test-page run the tests of the page in a browser (needs Chromium)"
	@echo "make page      build the page of explore anew from page/ (needs node)"
	@echo "make site      build the site from docs/ and the docstrings into build/site, and follow its links"
	@echo "make lint      check style, types and import directions"
	@echo "make bench     time the kernels and the main path"
	@echo "make changelog VERSION=...  gather the news of a release"
	@echo "make wheel     build the wheel into dist/"
	@echo "make test-lowest  run the tests with the oldest libraries that pyproject.toml allows"
	@echo "make release   all but the upload: lint, tests, site, wheel and sdist in dist/, tried in an empty environment"
	@echo "make clean     remove the environment, caches and build products"

demo: $(VENV)/.installed-demo
	$(BIN)/polyadic demo --out demo

PYTEST := $(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile

test: $(VENV)/.installed-test
	$(PYTEST) -m "not slow"

test-all: $(VENV)/.installed-test
	$(PYTEST)

test-page: $(VENV)/.installed-test
	@command -v "$${POLYADIC_BROWSER:-chromium}" >/dev/null || { \
	  echo "there is no Chromium: install it (apt-get install chromium), or name it: POLYADIC_BROWSER=..." >&2; exit 1; }
	$(PYTEST) -m page

# What is built is part of the repository, so that nobody needs node who does not change the page.
page: page/node_modules
	cd page && node build.mjs

page/node_modules: page/package-lock.json
	cd page && npm ci --silent
	touch $@

# A warning is an error; links that lead out of the site are not followed, as that would take a network. Examples are small:
# threads of the BLAS would wait for each other longer than they work.
site: $(VENV)/.installed-docs
	OPENBLAS_NUM_THREADS=1 $(BIN)/sphinx-build -W --keep-going -q -b html docs build/site
	$(BIN)/python docs/links.py build/site

lint: $(VENV)/.installed-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python docs/language.py

# make bench TEXT=wiki.txt.xz to time another text than the demonstration's
bench: $(VENV)/.installed-test
	set -e; text="$(TEXT)"; \
	  test -n "$$text" || text=$$($(BIN)/python -c 'from polyadic.cli import demonstration; print(demonstration.text())'); \
	  $(BIN)/python -m experiments bench corpus "$$text"; \
	  $(BIN)/python -m experiments bench path "$$text" --out build/bench --min-count 10; \
	  $(BIN)/python -m experiments bench counting build/bench/corpus; \
	  $(BIN)/python -m experiments bench gradient build/bench/counts

# make changelog VERSION=0.2.0 gathers the fragments of changelog.d into CHANGELOG.md
changelog: $(VENV)/pyvenv.cfg
	$(BIN)/python -m pip install --quiet "towncrier>=24.8"
	$(BIN)/towncrier build --yes --version "$(VERSION)"

wheel: $(VENV)/pyvenv.cfg
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

# Packages of test data and peers are as new as these allow.
LOWEST := build/lowest
test-lowest: $(VENV)/.installed-test
	$(BIN)/python -m pip install --quiet uv
	"$(PYTHON)" -m venv --clear $(LOWEST)
	$(BIN)/uv pip compile pyproject.toml --quiet --python $(LOWEST)/bin/python --resolution lowest-direct --only-binary :all: \
	  $(foreach extra,gensim plot pandas zst files parquet explore spacy,--extra $(extra)) --output-file $(LOWEST)/lowest.txt
	$(BIN)/uv pip install --quiet --python $(LOWEST)/bin/python --constraint $(LOWEST)/lowest.txt --editable ".[test]"
	$(LOWEST)/bin/python -m pytest -n auto --maxprocesses 4 --dist loadfile -m "not slow" -W ignore::DeprecationWarning

# The version is that of src/polyadic/core/version.py; a tag of its name must stand at what is built.
release: tagged lint test-all site
	$(BIN)/python -m pip install --quiet build twine
	rm -rf dist build/empty
	$(BIN)/python -m build --outdir dist .
	$(BIN)/twine check --strict dist/*
	"$(PYTHON)" -m venv build/empty
	build/empty/bin/python -m pip install --quiet dist/*.whl
	build/empty/bin/polyadic example build/empty/example
	build/empty/bin/polyadic train build/empty/example/holmes --out build/empty/vectors
	@echo "dist/ is ready to be uploaded: $(BIN)/twine upload dist/*"

tagged: $(VENV)/.installed-test
	@tag=v$$($(BIN)/python -c 'import polyadic; print(polyadic.__version__)'); \
	  test "$$(git describe --tags --exact-match --dirty 2>/dev/null)" = "$$tag" || { \
	  echo "what is released needs the tag $$tag: make changelog VERSION=..., commit, git tag $$tag" >&2; exit 1; }

# What tests need contains what the demo needs.
$(VENV)/.installed-test: pyproject.toml $(VENV)/pyvenv.cfg
	$(BIN)/python -m pip install --quiet --editable ".[test]"
	touch $(VENV)/.installed-demo $@

$(VENV)/.installed-lint: pyproject.toml $(VENV)/pyvenv.cfg
	$(BIN)/python -m pip install --quiet --editable ".[lint]"
	touch $@

$(VENV)/.installed-docs: pyproject.toml $(VENV)/pyvenv.cfg
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	touch $@

$(VENV)/.installed-demo: pyproject.toml $(VENV)/pyvenv.cfg
	$(BIN)/python -m pip install --quiet --editable ".[gensim,plot]"
	touch $@

$(VENV)/pyvenv.cfg:
	@command -v "$(PYTHON)" >/dev/null || { \
	  echo "polyadic needs Python 3.11 or newer; there is no $(PYTHON) here: install it or name another, make PYTHON=..." >&2; \
	  exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "polyadic needs Python 3.11 or newer; $(PYTHON) is $$("$(PYTHON)" --version 2>&1): name another, make PYTHON=..." >&2; \
	  exit 1; }
	"$(PYTHON)" -m venv --clear $(VENV) || { rm -rf $(VENV); exit 1; }

clean:
	rm -rf $(VENV) demo build dist docs/api docs/examples docs/gallery/example docs/sg_execution_times.rst .pytest_cache .ruff_cache .mypy_cache .import_linter_cache .hypothesis
	find src tests experiments -name __pycache__ -prune -exec rm -rf {} +
