# The book, its tests and its recorded runs.  `make help` lists the targets.
SHELL         := /bin/bash
.SHELLFLAGS   := -eu -o pipefail -c
.DEFAULT_GOAL := help

ifneq (,$(findstring t,$(firstword -$(MAKEFLAGS))))
$(error make -t is not allowed: it would mark as done what was never run)
endif

# The cells of an experiment run in parallel threads; the linear algebra inside each keeps to one.
export OMP_NUM_THREADS ?= 1

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN    := .venv/bin
ENV    := .venv/.installed
VENDOR := book/_static/vendor/.installed
INSTALL = $(BIN)/pip install --quiet --editable
PYTEST  = $(BIN)/pytest --numprocesses=2 --dist=loadfile
# Spelled out for both targets that run it: a recipe with a call of make inside is run by `make -n` too.
COVERAGE = mkdir -p _build && $(PYTEST) --cov --cov-report=term:skip-covered tests/unit tests/agreement tests/theory

# TORCH=cpu lets uv choose PyTorch's CPU build where pip would fetch the much larger CUDA one.
ifdef TORCH
INSTALL = $(BIN)/pip install --quiet uv==0.13.8 && $(BIN)/uv pip install --quiet --torch-backend=$(TORCH) --editable
endif

# Builds and tests are strict: a result that is not the ledger's is an error.  A reader in the lab sees both.
book test coverage references browser interactive: export SHALLOW_STRICT := 1
lab: export SHALLOW_STRICT := 0

# What a chapter's numbers depend on besides its own cells.
SOURCES := lib experiments records benchmarks book/claims pyproject.toml

.PHONY: help book test coverage lab records verify bench references browser interactive lint clean clean-book

help:  ## this list
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/  make \1\t\2/p' Makefile | expand -t 20
	@echo
	@echo "  make test compares the tree with the last green run and does nothing when they are equal;"
	@echo "  make test FORCE=1 runs everything again.   TORCH=cpu, at the first call, installs PyTorch's CPU build."

$(ENV): pyproject.toml
	@test -n "$(PYTHON)" && "$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or newer is needed (set PYTHON=...)"; exit 1; }
	@echo "Installing the pinned environment into .venv (a minute or two, 2 GB)"
	@test -x $(BIN)/python || "$(PYTHON)" -m venv .venv
	@$(INSTALL) ".[test]"
	@touch $@

.venv/.lab .venv/.bench: .venv/.%: $(ENV)
	@$(INSTALL) ".[$*]"
	@touch $@

$(VENDOR): package.json tools/vendor.py | $(ENV)
	@$(BIN)/python tools/vendor.py

# Executed chapters are kept in _build/.jupyter_cache, which knows their cells but not the code behind them: it is
# emptied when the library, an experiment, a record or a claim changes.  After a failed build the parsed pages go, so
# that no warning is lost.
book: $(ENV) $(VENDOR)  ## execute the chapters and render _build/html
	@key=$$($(BIN)/python tools/fingerprint.py $(SOURCES)); \
	if [ "$$key" != "$$(cat _build/executed 2>/dev/null || true)" ]; then \
	  rm -rf _build/.jupyter_cache _build/.doctrees; mkdir -p _build; echo $$key > _build/executed; fi
	@$(BIN)/python tools/execute.py _build/.jupyter_cache $$(grep -ls "^kernelspec:" book/*.md book/*/*.md)
	@$(BIN)/jupyter-book build . -W --keep-going || { rm -rf _build/.doctrees; exit 1; }

test: $(ENV)  ## run all tests, every chapter included, if anything has changed since they were last green
	@key=$$($(BIN)/python tools/fingerprint.py . _build/html)-$(shell command -v chromium google-chrome | head -1); \
	if [ -z "$(FORCE)" ] && [ "$$key" = "$$(cat _build/tested 2>/dev/null || true)" ]; then \
	  echo "Nothing has changed since the green run of $$(date -r _build/tested '+%F %H:%M'); make test FORCE=1 repeats it."; \
	else mkdir -p _build; rm -f _build/tested; failed=0; \
	  $(COVERAGE) || failed=1; \
	  $(PYTEST) tests/book tests/browser tests/interactive book || failed=1; \
	  [ $$failed = 0 ] && echo $$key > _build/tested; fi

coverage: $(ENV)  ## the unit, agreement and theory tests alone, and which lines of lib/ they run
	@$(COVERAGE)

lab: .venv/.lab $(VENDOR)  ## open the chapters as notebooks in JupyterLab
	@JUPYTER_CONFIG_PATH="$$PWD/.jupyter" $(BIN)/jupyter lab --notebook-dir="$$PWD" \
	  --LabApp.default_url=/lab/tree/book/index.md $(ARGS)

records: $(ENV)  ## compute the recorded runs that are missing or stale, at full scale
	@$(BIN)/python -m shallow record --all

verify: $(ENV)  ## recompute a cell of every recorded run and compare; MINUTES=60: whole cells where least was redone
	@$(BIN)/python -m shallow verify $(if $(MINUTES),--minutes $(MINUTES) --confirm)

bench: .venv/.bench  ## time all methods and sizes, and recording with workers, on an idle machine: book/speed.md
	@$(BIN)/python -m benchmarks

references: $(ENV)  ## execute the chapters (CHAPTERS="book/x.md book/x/y.md ...") and rewrite what the tests expect of them
	@$(BIN)/python tests/references.py $(CHAPTERS)

browser: $(ENV)  ## test the built pages in Chromium
	@SHALLOW_BROWSER=required $(BIN)/pytest tests/browser

interactive: .venv/.lab  ## open, run and move every chapter in JupyterLab, and run its cells again in another order
	@SHALLOW_INTERACTIVE=all $(BIN)/pytest tests/interactive

lint: $(ENV)  ## ruff over the library and the cells of the chapters
	@$(BIN)/ruff check .
	@$(BIN)/pytest --quiet tests/unit/test_lint.py

clean-book:
	@rm -rf _build/html _build/.doctrees _build/.jupyter_cache _build/executed

clean:  ## remove everything that was built (the environment stays: rm -rf .venv)
	@rm -rf _build book/_static/vendor .pytest_cache .ruff_cache .hypothesis
