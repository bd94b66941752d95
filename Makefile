# Every target sets up what it needs: a virtual environment with CPU torch in .venv.
.DEFAULT_GOAL := help
.PHONY: help install demo test check docs bench clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

help: ## Show the targets
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

install: $(STAMP) ## Set up .venv

# The pinned torch is asked for first and by itself: a looser request may take a build of gigabytes.
$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/pip install --quiet --constraint constraints.txt torch
	$(BIN)/pip install --quiet --constraint constraints.txt --group dev --editable .
	@# haystack's docstring_parser has the name of pydoclint's fork of it, which has all that haystack needs.
	$(BIN)/pip install --quiet --constraint constraints.txt --force-reinstall --no-deps docstring_parser_fork
	touch $@

demo: $(STAMP) ## Segment examples/ with the shipped model
	@for sample in examples/career.txt:lines examples/harbour.txt:auto examples/espresso.md:auto; do \
		$(BIN)/segmenter segment "$${sample%%:*}" --sentences "$${sample##*:}" || exit 1; \
	done

test: $(STAMP) ## Run the whole test suite
	$(BIN)/pytest

check: $(STAMP) ## Lint, types, docstrings, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pydoclint --quiet segmenter
	$(BIN)/lint-imports

docs: $(STAMP) ## Build the pages into site/; a warning is an error
	$(BIN)/mkdocs build --strict --quiet

bench: $(STAMP) ## Measure what takes too long for a test
	$(BIN)/python scripts/benchmark.py $(if $(DATA),--data $(DATA))
	$(BIN)/python scripts/benchmark_memory.py

clean: ## Remove the environment and caches
	rm -rf $(VENV) site .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
