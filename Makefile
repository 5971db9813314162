# Needs only python3 >= 3.11 and make. Everything is installed into .venv; what is installed already is left alone.
#   make demo PYTHON=python3.12     to choose the Python

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help demo test test-all test-page page site lint bench changelog wheel clean
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

# A warning is an error; links that lead out of the site are not followed, as that would take a network.
site: $(VENV)/.installed-docs
	$(BIN)/sphinx-build -W --keep-going -q -b html docs build/site
	$(BIN)/linkchecker --no-status --file-output=none build/site/index.html

lint: $(VENV)/.installed-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# make bench TEXT=wiki.txt.xz to time another text than the demonstration's
bench: $(VENV)/.installed-test
	set -e; text="$(TEXT)"; \
	  test -n "$$text" || text=$$($(BIN)/python -c 'from polyadic.suites import demo; print(demo.text())'); \
	  $(BIN)/python bench/corpus.py "$$text"; \
	  $(BIN)/python bench/path.py "$$text" --out build/bench --min-count 10; \
	  $(BIN)/python bench/counting.py build/bench/corpus; \
	  $(BIN)/python bench/gradient.py build/bench/counts

# make changelog VERSION=0.2.0 gathers the fragments of changelog.d into CHANGELOG.md
changelog: $(VENV)/pyvenv.cfg
	$(BIN)/python -m pip install --quiet "towncrier>=24.8"
	$(BIN)/towncrier build --yes --version "$(VERSION)"

wheel: $(VENV)/pyvenv.cfg
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

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
	find src tests bench -name __pycache__ -prune -exec rm -rf {} +
