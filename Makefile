# On a fresh machine: `make demo`, `make test`, and `make quick` while you work.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
DATA   ?= $(or $(HORNBEAM_DATA),../shared/data)

# bytecode is kept: without, every worker and every process of a test compiles all files anew
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo quick few test tests fuzz mutants versions lint docs bench paper clean
.DEFAULT_GOAL := help

help:  ## show this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

# the version stands in base/version.py, and the installed package must say the same
$(VENV)/.core: pyproject.toml src/hornbeam/base/version.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Hornbeam needs Python 3.11 or newer; try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable .
	@touch $@

# what tests, lint, documentation and benchmarks need besides
$(VENV)/.ready: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

setup: $(VENV)/.ready  ## create .venv with everything in it (once)

demo: $(VENV)/.core  ## run the main job on the bundled countries; installs what that needs and no more
	$(BIN)/hornbeam demo

lint: setup  ## ruff and mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

quick: setup  ## the inner loop, about a minute: no Java, no browser, no large data, few cases
	@$(MAKE) --no-print-directory -j2 lint few

few: setup
	$(BIN)/pytest -q -n auto --hypothesis-profile quick --ignore src/hornbeam/sklearn.py \
	  -m "not slow and not more_cases and not java and not browser and not shared"

test: lint tests  ## lint, types, tests (with -j2 side by side)

tests: setup
	$(BIN)/pytest -n auto

fuzz: setup  ## mutated inputs for every reader, every crash point of every command (minutes)
	$(BIN)/python -m tests.robustness.fuzz
	HORNBEAM_EVERY_CRASH_POINT=1 $(BIN)/pytest -q -rP -n auto tests/robustness/test_crash_points.py

mutants: setup  ## mistakes put into the code, one at a time, that no test notices (an hour)
	$(BIN)/python -m tests.robustness.mutants

versions:  ## make quick's tests on a wheel with the lowest, then the newest dependencies (minutes; a CI job of its own)
	PYTHON=$(PYTHON) .ci/versions lowest newest

docs: setup  ## the documentation: build/docs/index.html (every warning is an error)
	$(BIN)/sphinx-build -q -W --keep-going docs build/docs

bench: setup  ## every benchmark, one after the other (minutes; needs the shared data)
	@for script in benchmarks/bench_*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

paper: setup  ## repeat the paper's experiments: docs/paper.md (minutes; DATA=folder of the tasks)
	$(BIN)/python benchmarks/paper.py --data $(DATA) -o docs/paper.md

clean:  ## remove the virtual environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
