# Needs Python 3.11 or newer, make, and network access for the first install. Nothing is installed outside .venv.

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= $(firstword $(foreach python,python3 python3.14 python3.13 python3.12 python3.11,\
	$(shell $(python) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $(python))))
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check install
PYTEST_ARGS ?=
EVERYWHERE := -n auto --dist worksteal
# Many tests wait for time to pass or for a process to start, so two more test processes than cores keep all cores busy.
AND_TWO := -n $$($(BIN)/python -c 'import os; print(os.cpu_count() + 2)') --dist worksteal
# Bytecode is written because the tests start hundreds of processes, each of which would otherwise compile all modules.
export PYTHONDONTWRITEBYTECODE :=
ARGS ?=

.PHONY: help run test check lint types imports test-18 test-15 smoke fuzz docs incident pictures soak format constraints clean

help:
	@echo "make run          Start PostgreSQL, the API and workers in this terminal (ARGS='--port 9000' passes flags)"
	@echo "make test         Run lint, type checks, import rules, and the tests on PostgreSQL 18 and 15"
	@echo "make smoke        Run a few tests on PostgreSQL 15, 16, 17 and 18 (make smoke-16: only on 16)"
	@echo "make fuzz         Send valid and invalid requests to the API for ten minutes"
	@echo "make incident     Check in Prometheus that failures set off the right alerts (about six minutes)"
	@echo "make soak         Cause all known faults under load, and show the effects (ARGS='--fault worker-killed')"
	@echo "make pictures     Write screenshots of all pages (desktop and phone, light and dark) to build/pictures"
	@echo "make docs         Build the documentation site in build/docs"
	@echo "make format       Format the code, and apply lint fixes"
	@echo "make constraints  Update constraints.txt"
	@echo "make clean        Remove .venv, builds and caches"

run: $(VENV)/.run
	@$(BIN)/pgsched up $(ARGS)

test: lint types imports test-18 test-15

check: test

lint: $(VENV)/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/squawk --config migrations/squawk.toml migrations/versions/*.sql

types: $(VENV)/.dev
	$(BIN)/mypy --num-workers auto

imports: $(VENV)/.dev
	$(BIN)/lint-imports

test-18: $(VENV)/.dev
	PGSCHED_TEST_POSTGRES=18 $(BIN)/pytest $(AND_TWO) -m "not timed and not attack" $(PYTEST_ARGS)
	PGSCHED_TEST_POSTGRES=18 $(BIN)/pytest -m timed tests/worker $(PYTEST_ARGS)
	PGSCHED_TEST_POSTGRES=18 $(BIN)/pytest -n 2 --dist worksteal -m attack tests/adversary $(PYTEST_ARGS)

test-15: $(VENV)/.dev
	found="$$($(BIN)/python -m tests.programs.postgresql 15)" && export PATH="$$found:$$PATH" PGSCHED_TEST_POSTGRES=15 && \
	$(BIN)/pytest $(AND_TWO) -m oldest_postgresql tests/migrations tests/store $(PYTEST_ARGS)

smoke: smoke-15 smoke-16 smoke-17 smoke-18

smoke-%: $(VENV)/.dev
	found="$$($(BIN)/python -m tests.programs.postgresql $*)" && export PATH="$$found:$$PATH" PGSCHED_TEST_POSTGRES=$* && \
	$(BIN)/pytest $(EVERYWHERE) -m smoke $(PYTEST_ARGS)

fuzz: $(VENV)/.dev
	$(PIP) --editable '.[dev,fuzz]'
	$(BIN)/python -m tests.fuzz.api $(ARGS)

incident: $(VENV)/.dev
	$(BIN)/python -m tests.metrics.incident

soak: $(VENV)/.dev
	$(BIN)/python -m tests.faults.soak $(ARGS)

pictures: $(VENV)/.dev
	mkdir -p build/pictures
	PGSCHED_TEST_PICTURES="$$PWD/build/pictures" $(BIN)/pytest tests/api/test_pages_browser.py

docs: $(VENV)/.dev
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet docs build/docs
	@echo "open build/docs/index.html"

format: $(VENV)/.dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# Pins the dependencies for all platforms and supported versions of Python, and hatchling, which builds the releases.
constraints: $(VENV)/.dev
	{ sed '/^[^#]/Q' constraints.txt; echo 'hatchling>=1.27' | $(BIN)/uv pip compile pyproject.toml - --quiet --extra server --extra kafka --extra oidc --extra secrets --extra tracing \
	  --universal --python-version 3.11 --upgrade --generate-hashes --no-header --no-annotate; } > .constraints && mv .constraints constraints.txt

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "error: no Python 3.11 or newer was found: install one, or set PYTHON to its path" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  echo "error: $(PYTHON) cannot create a virtual environment: on Debian and Ubuntu, install python3-venv" >&2; exit 1; }

$(VENV)/.run: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[server,embedded,secrets]'
	@touch $@

# uv is faster, because pip compiles all modules that it installs, although few of them are ever imported. pip is used
# if uv fails, for example because only pip is configured to use another index.
$(VENV)/.dev: pyproject.toml | $(BIN)/python
	@{ $(PIP) uv && $(BIN)/uv pip install --quiet --python $(BIN)/python --editable '.[dev]'; } || \
	  { echo "uv failed: installing with pip" >&2; $(PIP) --editable '.[dev]'; }
	@touch $@ $(VENV)/.run
