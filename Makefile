# The book, its tests and its recorded runs.  `make help` lists the targets.
SHELL         := /bin/bash
.SHELLFLAGS   := -eu -o pipefail -c
.DEFAULT_GOAL := help

# The cells of an experiment run in parallel threads; the linear algebra inside each keeps to one.
export OMP_NUM_THREADS ?= 1
# Modules are compiled once, not by each of the hundred processes of a run, whatever the caller's shell says.
unexport PYTHONDONTWRITEBYTECODE

VENV   ?= .venv
BIN    := $(VENV)/bin
VENDOR := book/_static/vendor/.installed
PYTEST  = $(BIN)/pytest --numprocesses=2 --dist=loadfile
LIBRARY = --junitxml=_build/tests-library.xml tests/unit tests/agreement tests/theory

# A Python that runs: pyenv has names for versions that do not.  In another environment: make VENV=PREFIX PREFIX/.book
USABLE := import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for name in python3.11 python3.12 python3.13 python3.14 python3; do \
  $$name -c '$(USABLE)' 2>/dev/null && echo $$name && break; done)

# What is installed is pinned in requirements.lock.  TORCH names a build of PyTorch, as uv does: cpu, auto, cu130, ...
TORCH ?= cpu
PIP    = $(BIN)/python -m pip install --quiet --disable-pip-version-check
UV     = $(BIN)/uv pip install --quiet --python $(BIN)/python
EXTRAS = book test lab bench
LOCKED = $$(grep -o '^$(1)==[^ ]*' requirements.lock)

# Builds and tests are strict: a result that is not the ledger's is an error.  A reader in the lab sees both.
pages book library test coverage references claim browser interactive: export SHALLOW_STRICT := 1
lab: export SHALLOW_STRICT := 0
# What they execute leaves nothing in the home.
pages book library test coverage references claim browser interactive: export IPYTHONDIR := $(CURDIR)/.venv/ipython
pages book library test coverage references claim browser interactive: export MPLCONFIGDIR := $(CURDIR)/.venv/matplotlib

# What a chapter's numbers depend on besides its own cells.
SOURCES := lib experiments records benchmarks book/claims requirements.lock

.PHONY: help pages book library test coverage mutants times lab pdf archive links records verify bench references claim browser interactive lint lock clean clean-book

help:  ## this list
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/  make \1\t\2/p' Makefile | expand -t 20
	@echo
	@echo "  make test compares the tree with the last green run and does nothing when they are equal;"
	@echo "  make test FORCE=1 runs everything again.   TORCH=auto, at the first call, installs PyTorch for your GPU."

# PyTorch comes first: its default wheel for Linux would bring gigabytes of CUDA, which nothing uses.
$(VENV)/.torch: requirements.lock
	@test -x $(BIN)/python || "$(PYTHON)" -c '$(USABLE)' 2>/dev/null || { \
	  echo "Python 3.11 or newer, with its module venv, is needed: apt install python3-venv, brew install python,"; \
	  echo "or python.org.  If it is installed under another name: make ... PYTHON=/path/to/python"; exit 1; }
	@test -x $(BIN)/python || "$(PYTHON)" -m venv $(VENV)
	@$(PIP) "$(call LOCKED,uv)"
	@why=$$(UV_HTTP_RETRIES=1 $(UV) --no-deps --torch-backend=$(TORCH) "$(call LOCKED,torch)" 2>&1) || { \
	  echo "PyTorch's build '$(TORCH)' cannot be had from here ($${why%%$$'\n'*}): installing its default one."; \
	  $(PIP) --no-deps "$(call LOCKED,torch)"; }
	@touch $@

$(EXTRAS:%=$(VENV)/.%): $(VENV)/.%: $(VENV)/.torch pyproject.toml setup.py
	@echo "Installing what pyproject.toml asks for under '$*' into $(VENV)"
	@$(UV) --constraint requirements.lock --editable ".[$*]"
	@mkdir -p $(VENV)/etc/ipython  # or every kernel would warn that what it says to this machine is not encrypted
	@echo 'c.IPKernelApp.log_level = "ERROR"' > $(VENV)/etc/ipython/ipython_kernel_config.py
	@touch $@

$(VENDOR): package.json tools/vendor.py | $(VENV)/.torch
	@$(BIN)/python tools/vendor.py

# Executed pages are kept in _build/.jupyter_cache; tools/execute.py knows which have to run again.  Where all have run in
# one build of this very tree, _build/whole names it.
pages: $(VENV)/.book  ## execute the chapters
	@tree=$$($(BIN)/python tools/fingerprint.py .); whole=; \
	if [ ! -d _build/.jupyter_cache ] || [ "$$tree" = "$$(cat _build/whole 2>/dev/null || echo none)" ]; then whole=1; fi; \
	mkdir -p _build; rm -f _build/whole; \
	$(BIN)/python tools/execute.py _build/.jupyter_cache $$(grep -ls "^kernelspec:" book/*.md book/*/*.md); \
	[ -z "$$whole" ] || echo $$tree > _build/whole

# All pages are parsed again when anything behind them has changed, and after a failed build, so that no warning is lost.
book: pages $(VENDOR)  ## execute the chapters and render _build/html
	@key=$$($(BIN)/python tools/fingerprint.py $(SOURCES)); \
	if [ "$$key" != "$$(cat _build/executed 2>/dev/null || true)" ]; then \
	  rm -rf _build/.doctrees; mkdir -p _build; echo $$key > _build/executed; fi
	@$(BIN)/jupyter-book build . -W --keep-going || { rm -rf _build/.doctrees _build/whole; exit 1; }

TEST_LIBRARY = library=$$($(BIN)/python tools/fingerprint.py .); \
  if [ -n "$(FORCE)" ] || [ "$$library" != "$$(cat _build/tested-library 2>/dev/null || echo none)" ]; then \
  mkdir -p _build; rm -f _build/tested-library; $(PYTEST) $(LIBRARY) && echo $$library > _build/tested-library; fi

library: $(VENV)/.test $(VENV)/.lab  ## run the tests that need no built page, if anything has changed since they were last green
	@$(TEST_LIBRARY)

# Pages that have all run in one build of this very tree do not run again, unless FORCE=1 says so.
test: $(VENV)/.test $(VENV)/.lab  ## run all tests, every chapter included, if anything has changed since they were last green
	@key=$$($(BIN)/python tools/fingerprint.py . _build/html)-$(shell command -v chromium google-chrome | head -1); \
	if [ -z "$(FORCE)" ] && [ "$$key" = "$$(cat _build/tested 2>/dev/null || true)" ]; then \
	  echo "Nothing has changed since the green run of $$(date -r _build/tested '+%F %H:%M'); make test FORCE=1 repeats it."; \
	else mkdir -p _build; rm -f _build/tested; failed=0; \
	  if [ -z "$(FORCE)" ] && [ "$$($(BIN)/python tools/fingerprint.py .)" = "$$(cat _build/whole 2>/dev/null || echo none)" ]; then \
	    export SHALLOW_EXECUTED="$$PWD/_build/.jupyter_cache"; fi; \
	  { $(TEST_LIBRARY); } || failed=1; \
	  $(PYTEST) --junitxml=_build/tests-book.xml tests/book tests/browser tests/interactive book || failed=1; \
	  [ $$failed = 0 ] && echo $$key > _build/tested; fi

coverage: $(VENV)/.test  ## the unit, agreement and theory tests alone, and which lines of lib/ they run
	@mkdir -p _build
	@$(PYTEST) --cov --cov-report=term:skip-covered $(LIBRARY)

mutants: $(VENV)/.test  ## change lines of library and experiments, one at a time, that were not tried yet: do tests notice? hours
	@nice -n 10 $(BIN)/python tools/mutants.py $(FILES)

times: $(VENV)/.book  ## where the time of the last build and of the last test run went
	@$(BIN)/python tools/times.py _build

lab: $(VENV)/.lab $(VENDOR)  ## open the chapters as notebooks in JupyterLab
	@JUPYTER_CONFIG_PATH="$$PWD/.jupyter" $(BIN)/jupyter lab --notebook-dir="$$PWD" \
	  --LabApp.default_url=/lab/tree/book/index.md $(ARGS)

pdf: $(VENV)/.test  ## print the chapters of the built site with Chromium: a PDF beside each page
	@$(BIN)/python tools/pdf.py $(PAGES)

archive: book $(VENV)/.test  ## the site with its notebooks, data and PDFs in one file of _build, to be read offline
	@$(BIN)/python tools/pdf.py
	@$(BIN)/python tools/archive.py

links: $(VENV)/.book $(VENDOR)  ## ask the other sites that the pages link to whether they have what is linked
	@$(BIN)/jupyter-book build . --builder linkcheck

records: $(VENV)/.book  ## compute the recorded runs that are missing or stale, at full scale
	@$(BIN)/python -m shallow record --all

verify: $(VENV)/.book  ## recompute a cell of every recorded run and compare; MINUTES=60: whole cells where least was redone
	@$(BIN)/python -m shallow verify $(if $(MINUTES),--minutes $(MINUTES) --confirm)

bench: $(VENV)/.bench  ## time all methods and sizes, on an idle machine: book/speed.md
	@env -u OPENBLAS_CORETYPE $(BIN)/python -m benchmarks  # that variable would choose the kernels of another processor

references: $(VENV)/.test  ## execute the chapters (CHAPTERS="book/x.md book/x/y.md ...") and rewrite what the tests expect of them
	@$(BIN)/python tests/references.py $(CHAPTERS)

claim: $(VENV)/.test  ## decide a claim (ID=CL-56) and renew its page's references; says what is left
	@$(BIN)/python tools/claim.py $(ID)

browser: $(VENV)/.test  ## test the built pages in Chromium
	@SHALLOW_BROWSER=required $(BIN)/pytest tests/browser

interactive: $(VENV)/.test $(VENV)/.lab  ## open, run and move every chapter in JupyterLab, and run its cells again in another order
	@SHALLOW_INTERACTIVE=all $(BIN)/pytest tests/interactive

lint: $(VENV)/.test  ## ruff over the library and the cells of the chapters
	@$(BIN)/ruff check .
	@$(BIN)/pytest --quiet tests/unit/test_lint.py

lock: $(VENV)/.torch  ## pin what pyproject.toml asks for in requirements.lock; UPGRADE=1: the newest versions
	@UV_CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/uv pip compile --quiet --universal --python-version=3.11 \
	  --fork-strategy=fewest --all-extras --group=install --generate-hashes --no-annotate $(if $(UPGRADE),--upgrade) \
	  --output-file=requirements.lock pyproject.toml
	@awk '/^[a-z]/ { torch = /^torch==/ } torch { if (/--hash/) next; sub(/ *\\$$/, "") } 1' requirements.lock > requirements.new
	@mv requirements.new requirements.lock

clean-book:
	@rm -rf _build/html _build/.doctrees _build/.jupyter_cache _build/executed _build/whole

clean:  ## remove everything that was built (the environment stays: rm -rf .venv)
	@rm -rf _build book/_static/vendor .pytest_cache .ruff_cache .hypothesis
