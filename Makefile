# make book   from a fresh clone to the rendered book (TIER=mini by default)
# make preview   a book of the stored outputs, in a minute or two; `make book` begins with it
# make test   everything that has to hold
# make test-all   and once more what takes long: every notebook alone, every variant of a network
# make run    the notebooks of a tier, without the book: make run TIER=small DATA_ROOT=...
#             or some of them, and what they need: PAPER=uimnet, STEP=uimnet/figures
# make rehearsal   tier paper with made-up images and small sizes, every notebook of it
PYTHON ?= python3
TIER ?= mini
CORES ?= $(shell $(PYTHON) -c "import os; print(len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count())")
PROFILE ?=
BIN := .venv/bin
PIPELINE = $(BIN)/python workflow/run.py --tier $(TIER) --cores $(CORES) $(if $(PROFILE),--profile $(PROFILE))
# what trains is tested as on a processor without AVX-512, too: oneDNN and torch have other code for
# each; on such a processor that was the first time already
AS_AVX2 = ONEDNN_MAX_CPU_ISA=AVX2 ATEN_CPU_CAPABILITY=avx2
TRAINS = tests/training tests/networks
# of the rehearsal the step that reads most of the archives, since it takes but half a minute
REHEARSED = unknown_detection/dataset
ALONE = openset_calibration
export PYTHONUNBUFFERED = 1
unexport PYTHONDONTWRITEBYTECODE   # byte code is written on first use; without it every start costs seconds

.PHONY: setup preview book test test-all rehearsal run notebooks bench lab clean
.DEFAULT_GOAL := book

.venv/.installed: requirements.lock pyproject.toml workflow/install.py
	@$(PYTHON) workflow/install.py .venv

setup: .venv/.installed

preview: .venv/.installed
	@$(BIN)/python workflow/run.py preview

book: .venv/.installed
	@$(PIPELINE) book
	@echo "open $(CURDIR)/runs/$(TIER)/book/_build/html/index.html"

run: .venv/.installed
	@$(PIPELINE) $(if $(PAPER),--paper $(PAPER)) $(if $(STEP),--step $(STEP)) all

# what is quick to fail comes first; what the book's notebooks said is compared with what is stored,
# and those of one chapter are executed where they lie, as their readers do (all: test-all)
# (bare: the audit, as installed, with the packages alone that it asks for)
test: .venv/.installed
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(BIN)/python -m pytest -n $(CORES)
	if grep -qsw avx512f /proc/cpuinfo; then $(AS_AVX2) $(BIN)/python -m pytest -n $(CORES) $(TRAINS); fi
	@$(PIPELINE) book
	$(BIN)/python -m pytest --nbval notebooks --executed runs/$(TIER)
	$(BIN)/python workflow/bare.py
	@$(BIN)/python workflow/rehearse.py --cores $(CORES) --step $(REHEARSED)
	$(BIN)/python -m pytest --nbval notebooks/$(ALONE) -n $(CORES) --dist loadfile

test-all: test
	$(BIN)/python -m pytest -m exhaustive -n $(CORES)
	$(BIN)/python -m pytest --nbval notebooks -n $(CORES) --dist loadfile

rehearsal: .venv/.installed
	@$(BIN)/python workflow/rehearse.py --cores $(CORES)

notebooks: .venv/.installed
	@$(BIN)/python workflow/run.py --cores $(CORES) all
	$(BIN)/python workflow/refresh.py

bench: .venv/.installed
	$(BIN)/python -m benchmarks

lab: .venv/.installed
	$(BIN)/jupyter lab --notebook-dir .

clean:
	rm -rf runs cache
