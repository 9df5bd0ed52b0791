# weft: `make demo` shows it, `make test` proves it. Needs Python 3.11 or later and make; everything else is installed into .venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
TESTS  ?= tests
# How long the demo stays after its tour (else: until Ctrl-C in a terminal, not at all without one).
# SEED=https://… crawls a real site instead of the synthetic web, for DEMO_SECONDS or a minute.
DEMO_SECONDS ?=
SEED   ?=

# A Cassandra on this machine: one node or three; KEEP=1 starts with the data of the last time.
NODES  ?= 1
KEEP   ?=

.PHONY: help setup demo screenshots test test-long lint format types check house bench cassandra cassandra-stop lock clean

help:
	@echo 'make setup      create .venv with weft and its tools'
	@echo 'make demo       show what weft does, offline'
	@echo 'make screenshots  take pictures of the web app for the documents'
	@echo 'make test       run the tests that must always pass (minutes)'
	@echo 'make test-long  run the long tests'
	@echo 'make lint       check style; make types checks types'
	@echo 'make format     fix style'
	@echo 'make check      run everything that CI checks'
	@echo 'make house      count modules, lines and names, and draw who imports whom'
	@echo 'make bench      run a benchmark; results are in benchmarks/RESULTS.md'
	@echo 'make cassandra  start a Cassandra (NODES=3: three nodes; KEEP=1: with its last data); make cassandra-stop stops it'
	@echo 'make lock       update the lock files from pyproject.toml'

# Compiled here because an environment may forbid it later (PYTHONDONTWRITEBYTECODE), and weft is many processes.
setup: $(READY)
	@$(BIN)/python -m compileall -q src

# The stamp is made last: a set-up that was cut off starts again.
$(READY): pyproject.toml requirements-dev.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo 'weft needs Python 3.11 or later; this is' "$$($(PYTHON) --version); choose another with make PYTHON=python3.12"; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
	  || { echo "$(PYTHON) cannot make virtual environments; install its venv module (Debian: apt install python3-venv)"; exit 2; }
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements-dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: setup
	@if [ -n "$(SEED)" ]; then $(BIN)/weft crawl "$(SEED)" --home weft-demo/home --pages 200 --seconds $(or $(DEMO_SECONDS),60); \
	  else $(BIN)/weft demo tour --seconds 60 $(if $(DEMO_SECONDS),--stay $(DEMO_SECONDS)); fi

# Pictures for the documents, of the home that `make demo` left.
screenshots: setup
	@test -d weft-demo/home || $(BIN)/weft demo tour --seconds 60 --stay 0
	$(BIN)/python tests/tools/screenshots.py weft-demo/home docs/images

# Three processes on two cores: many tests wait for a lease or a polite delay, and no two share a directory or a port.
# Cassandra is fetched meanwhile.
test: setup
	@test -n "$$WEFT_TEST_CASSANDRA" || (PYTHONPATH=tests $(PYTHON) -m tools.cassandra fetch > /dev/null 2>&1 &)
	$(BIN)/python -m pytest -n 3 --dist worksteal --durations=20 -m 'not long' $(TESTS)

test-long: setup
	HYPOTHESIS_PROFILE=long $(BIN)/python -m pytest -m long $(TESTS)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: setup
	$(BIN)/mypy

check: test lint types

# How large the source is; the picture is for CONTRIBUTING.
house: setup
	@PYTHONPATH=tests $(BIN)/python -m tools.house --draw docs/images/house.svg

bench: setup
	$(BIN)/weft bench store

cassandra:
	@PYTHONPATH=tests $(PYTHON) -m tools.cassandra start --nodes '$(NODES)' $(if $(filter 1,$(KEEP)),--keep)

cassandra-stop:
	@PYTHONPATH=tests $(PYTHON) -m tools.cassandra stop

lock: setup
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
	  pyproject.toml --output-file requirements.lock
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
	  pyproject.toml --group dev --output-file requirements-dev.lock
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
	  tests/tools/pywb.in --output-file tests/tools/pywb.lock

clean:
	rm -rf $(VENV) weft-data weft-demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
