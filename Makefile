# Everything a developer does, one target per verb. `make test` is what the CI runs.

# Python 3.11 to 3.13, the first on the path that can make virtual environments; or say which: make PYTHON=python3.12
PYTHON ?= $(firstword $(foreach python,python3 python3.13 python3.12 python3.11 python,$(shell \
	$(python) -c 'import sys, ensurepip; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null && echo $(python))))

BIN := .venv/bin
STAMP := .venv/.installed
PREPARED := .venv/.prepared
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# Most tests wait for brokers and other processes: one process more than cores.
PROCESSES ?= 3

.DEFAULT_GOAL := help
.PHONY: help setup test soak coverage lint format demo bench docs graph wheel wheel-check notes lock clean

help: ## say what there is
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 13

setup: $(STAMP) ## make .venv with everything pinned in requirements.lock

$(STAMP): requirements.lock pyproject.toml
	@test -x $(BIN)/python || test -n "$(PYTHON)" || { echo "no Python 3.11 to 3.13 found; set PYTHON=/path/to/python" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@# The network may fail once.
	$(PIP) install --require-hashes --requirement requirements.lock || $(PIP) install --require-hashes --requirement requirements.lock
	$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

# What makes Spark start in half the time; everything works without it.
$(PREPARED): $(STAMP)
	-$(BIN)/millstream prepare
	@touch $@

# Tests that wait long for what does not come; `make soak` runs them.
SOAK := tests/soak

test: lint $(PREPARED) ## lint, then run the tests
	$(BIN)/pytest --numprocesses $(PROCESSES) --dist worksteal --quiet --durations 20 --ignore=$(SOAK)

soak: $(PREPARED) ## random faults, a long steady run, bad input and state larger than memory, on a real broker and Spark
	HYPOTHESIS_PROFILE=default $(BIN)/pytest --quiet --numprocesses $(PROCESSES) --ignore=tests/spark --ignore=tests/cli --ignore=$(SOAK)
	MILLSTREAM_STATEMENTS=200 $(BIN)/pytest --quiet tests/ksqldb/system/test_random_statements.py
	$(BIN)/pytest --quiet $(SOAK)
	$(BIN)/python bench/soak.py
	$(BIN)/python bench/faults.py --runs 100
	$(BIN)/python bench/large_state.py
	$(BIN)/python bench/state_size.py

# make coverage TESTS="tests/task tests/state" measures those alone.
coverage: $(PREPARED) ## measure which code the tests run through, also in lanes; the report is in build/coverage
	rm -rf build/coverage
	-$(BIN)/coverage run -m pytest --numprocesses $(PROCESSES) --dist worksteal --quiet --ignore=$(SOAK) $(TESTS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage html --quiet
	$(BIN)/coverage report --skip-covered --sort=cover

lint: setup ## check style, types and imports
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup ## put the code in order
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

demo: $(PREPARED) ## run the main example on a real broker and Spark, exactly once (KEEP=--keep runs on)
	$(BIN)/python examples/live_orders.py $(KEEP)

bench: $(PREPARED) ## measure: the engine beside plain loops, the runtime beside Kafka Streams, SQL beside Python
	$(BIN)/python bench/task.py
	$(BIN)/python bench/peers_main.py --rounds 3
	$(BIN)/python bench/sql.py

# What the site is made with, in .venv beside the rest; `make test` does without.
DOCS_STAMP := .venv/.docs-installed

$(DOCS_STAMP): requirements-docs.lock $(STAMP)
	$(PIP) install --require-hashes --requirement requirements-docs.lock
	@touch $@

docs: $(DOCS_STAMP) ## make the documentation site in build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "open build/site/index.html"

graph: setup ## draw which package imports which, and list the folders, in build/graph
	$(BIN)/python tools/import_graph.py build/graph
	@$(BIN)/python tools/folder_listing.py | tee build/graph/folders.txt

wheel: setup ## build the wheel in dist
	$(BIN)/python -m hatchling build --target wheel

wheel-check: setup ## install the wheel with all its dependencies into a clean environment, and use it there: minutes
	$(BIN)/python tools/wheel_check.py

notes: setup ## print the release notes of a version: make notes VERSION=0.1.0
	@$(BIN)/python tools/release_notes.py $(VERSION)

lock: ## pin the newest versions in requirements.lock and requirements-docs.lock (needs uv)
	uv pip compile pyproject.toml --group dev --universal --no-strip-extras --python-version 3.11 --generate-hashes --upgrade \
		--custom-compile-command "make lock" --quiet --output-file requirements.lock
	uv pip compile pyproject.toml --group docs --universal --no-strip-extras --python-version 3.11 --generate-hashes --upgrade \
		--constraint requirements.lock --custom-compile-command "make lock" --quiet --output-file requirements-docs.lock

clean: ## remove what was made
	rm -rf .venv .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache bench/out build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
