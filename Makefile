# Needs Python 3.11 or newer, make, and a network for the first install. Nothing is installed outside .venv.

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= $(firstword $(foreach python,python3 python3.14 python3.13 python3.12 python3.11,\
	$(shell $(python) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $(python))))
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check install
PYTEST_ARGS ?=
# What tells the time is tested one by one, the rest on all cores.
TIMED := $(addprefix tests/worker/test_,$(addsuffix .py,alarm circuits clock dispatcher gates stop watch worker))
# An installation that is attacked mostly waits: two at a time.
ATTACKED := $(addprefix tests/adversary/test_,$(addsuffix .py,neighbours values))
EVERYWHERE := -n auto --dist worksteal
# What is tested on the older end of what is supported, too: migrations, rights, the statements of the row's life, the
# functions with SQL of their own, and which plans are found. What only refuses bad input is the same there.
ON_15 := tests/migrations $(addprefix tests/store/test_,$(addsuffix .py,backfill_chunks backfill_verbs backfill_workers \
	bad_rows bounds changed_while_claimed claim days dead_letter_days dead_letter_plans dead_letter_races dead_letter_target \
	dead_letters dependencies edit failures followed gate_plans gate_rights interface isolation key_registry keys \
	locks_held lookup_plans notify outcomes overlap pinned planning plans pull pull_cost pull_races queues reap \
	replays roles schedule settle sidelining statements successors zone_rules))
# A little of everything that speaks to PostgreSQL, from a migration to a whole `pgsched up`: for each supported version.
SMOKE := tests/migrations tests/replication tests/cli/test_up.py \
	$(addprefix tests/store/test_,$(addsuffix .py,claim dead_letter_plans dependencies followed gate_plans interface plans pull queues \
	reap roles schedule settle status)) \
	$(addprefix tests/worker/test_,$(addsuffix .py,chains deferred ordering worker)) \
	$(addprefix tests/api/test_,$(addsuffix .py,executions health jobs))
# The tests start hundreds of processes; without bytecode each would compile every module anew.
export PYTHONDONTWRITEBYTECODE :=
ARGS ?=

.PHONY: help run demo test check lint types imports test-18 test-15 smoke format clean

help:
	@echo "make run    PostgreSQL, API and workers in this terminal (ARGS='--port 9000' passes flags on)"
	@echo "make demo   1,000 one-shots and three recurring jobs, shown arriving; ends by itself"
	@echo "make test   lint, types, import rules, and the tests on PostgreSQL 18 and 15"
	@echo "make smoke  a little of everything on PostgreSQL 15, 16, 17 and 18; make smoke-16 on one of them"
	@echo "make format, make clean"

run: $(VENV)/.run
	@$(BIN)/pgsched up $(ARGS)

demo: $(VENV)/.run
	@$(BIN)/pgsched demo $(ARGS)

test: lint types imports test-18 test-15

check: test

lint: $(VENV)/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(VENV)/.dev
	$(BIN)/mypy

imports: $(VENV)/.dev
	$(BIN)/lint-imports

test-18: $(VENV)/.dev
	PGSCHED_TEST_POSTGRES=18 $(BIN)/pytest $(EVERYWHERE) $(addprefix --ignore=,$(TIMED) $(ATTACKED)) $(PYTEST_ARGS)
	PGSCHED_TEST_POSTGRES=18 $(BIN)/pytest $(TIMED) $(PYTEST_ARGS)
	PGSCHED_TEST_POSTGRES=18 $(BIN)/pytest -n 2 --dist worksteal $(ATTACKED) $(PYTEST_ARGS)

test-15: $(VENV)/.dev
	found="$$($(BIN)/python -m tests.programs.postgresql 15)" && export PATH="$$found:$$PATH" PGSCHED_TEST_POSTGRES=15 && \
	$(BIN)/pytest $(EVERYWHERE) $(ON_15) $(PYTEST_ARGS)

smoke: smoke-15 smoke-16 smoke-17 smoke-18

smoke-%: $(VENV)/.dev
	found="$$($(BIN)/python -m tests.programs.postgresql $*)" && export PATH="$$found:$$PATH" PGSCHED_TEST_POSTGRES=$* && \
	$(BIN)/pytest $(EVERYWHERE) $(SMOKE) $(PYTEST_ARGS)

format: $(VENV)/.dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "error: Python 3.11 or newer is needed; name it with PYTHON=" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  echo "error: $(PYTHON) cannot make a virtual environment; on Debian and Ubuntu install python3-venv" >&2; exit 1; }

$(VENV)/.run: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[embedded]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[embedded,dev]'
	@touch $@ $(VENV)/.run
